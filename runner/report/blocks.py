"""What a report says, before anyone decides how it looks.

A report is a tree: sections hold notes, tables, charts, facts, code and further sections. It is built once from the
files of a run. runner.report.markdown, runner.report.page (HTML), runner.report.terminal and runner.report.figures
show it, and know nothing of runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from runner.report.metric import Value

Medium = Literal["markdown", "html", "terminal"]
Media = frozenset[Medium]
Mark = Literal["", "strong", "alarm", "quiet"]

FILES: Media = frozenset({"markdown", "html"})
PAGE: Media = frozenset({"html"})
MARKDOWN: Media = frozenset({"markdown"})
TERMINAL: Media = frozenset({"terminal"})
EVERYWHERE: Media = FILES | TERMINAL
FIGURE: Media = frozenset()  # of what is a figure alone


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a line from 0 to 1; `start` and `length` in 0..1."""

    start: float
    length: float
    kind: Literal["whole", "loss", "gain", "rest"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference with its interval on a line from -`widest` to `widest`; below `margin` it hardly matters."""

    value: float
    low: float | None
    high: float | None
    widest: float
    margin: float
    verdict: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table. `drawing` is shown beside the text where the medium can draw: a metric's value with its
    interval, a stretch or a difference. `limits`: its interval or the number of cases, read with the text. `detail`
    explains the text, where there is room. `verdict`: better, worse …, which colours it. `is_data`: written by a user
    or a model, in any script. `href`: the anchor of a section of the same page, or another page as `./0/report.html`.
    `short`: replaces text and limits in the terminal; lines after the first are dimmed."""

    text: str
    mark: Mark = ""
    drawing: Value | Stretch | Difference | None = None
    limits: str = ""
    detail: str = ""
    verdict: str = ""
    is_data: bool = False
    href: str = ""
    short: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph. A quiet one explains, an alarm speaks against the numbers. `verdict` colours it. `lead`
    stands before it and a colon, strong."""

    text: str
    mark: Mark = ""
    media: Media = FILES
    verdict: str = ""
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Warnings:
    """Warnings that a reader needs before the numbers; those marked alarm put the numbers in doubt."""

    notes: Sequence[Note]
    media: Media = FILES


@dataclass(frozen=True, slots=True)
class Steps:
    """Things to do or read in this order."""

    items: Sequence[str]
    media: Media = FILES


@dataclass(frozen=True, slots=True)
class Points:
    """Things to know, in no order."""

    items: Sequence[str]
    mark: Mark = ""
    media: Media = FILES


@dataclass(frozen=True, slots=True)
class Stack:
    """Columns of a table that stand below each other in one of the terminal, under `header`, which may have several
    lines."""

    header: str
    columns: Sequence[int]


@dataclass(frozen=True, slots=True)
class Fit:
    """What the terminal shows of a wide table: columns of `stacks`. The first `left` of them say what a row is; where
    there is no room, they are folded to lines of `fold` characters. The others are left out where there is still none,
    the last ones first, or those that come last in `order` (numbers of stacks behind the left ones); `kept` of them
    never."""

    stacks: Sequence[Stack]
    left: int = 1
    fold: int = 20
    order: Sequence[int] = ()
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows have a cell for each header. `right`: columns of numbers; None: all but the first. `title` names the table
    where no heading of its own stands above it: in the terminal, and for screen readers. `groups`: (title, number of
    rows) of what the rows fall into, in their order. A `narrow` one does not take the width of the page. `fit`: how a
    wide one fits the terminal. `not_in`: columns that are left out in some media, such as that of what a group's title
    says."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    groups: Sequence[tuple[str, int]] = ()
    right: Sequence[int] | None = None
    media: Media = FILES
    narrow: bool = False
    fit: Fit | None = None
    not_in: Mapping[int, Media] = field(default_factory=dict)

    @property
    def numbers(self) -> frozenset[int]:
        """Columns that hold numbers."""
        return frozenset(range(1, len(self.headers)) if self.right is None else self.right)

    def in_medium(self, medium: Medium) -> Table:
        """The table without the columns that a medium leaves out."""
        places = [place for place in range(len(self.headers)) if medium not in self.not_in.get(place, ())]
        if len(places) == len(self.headers):
            return self
        rows = [[row[place] for place in places] for row in self.rows]
        right = [number for number, place in enumerate(places) if place in self.numbers]
        return replace(self, headers=[self.headers[place] for place in places], rows=rows, right=right, not_in={})


@dataclass(frozen=True, slots=True)
class Grid:
    """Two by two: `sides` name the vertical and the horizontal dimension, `levels` their high and low; `cells` maps
    (high down, high across) to the content. `own`: the cell of the run itself."""

    sides: tuple[str, str]
    levels: tuple[str, str]
    cells: Mapping[tuple[bool, bool], Cell]
    own: tuple[bool, bool] | None = None
    own_text: str = ""
    title: str = ""
    media: Media = PAGE


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with what they are; without `headers`, a list of them. `is_key`: few, and read first."""

    pairs: Sequence[tuple[str, str]]
    headers: tuple[str, str] = ("", "")
    media: Media = FILES
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """A text to be shown as it is, in a language for highlighting."""

    text: str
    language: str = ""
    media: Media = FILES


@dataclass(frozen=True, slots=True)
class Chart:
    """Values with intervals at places along x: numbers, or names. `connected` names are an order. A value at a place
    where a line has none is None. `name`: of its figure, which charts of one name share; `sideways`, its places are
    below each other; `title`: distinguishes it from the others."""

    name: str
    x: str
    places: Sequence[int | float | str]
    lines: Mapping[str, Sequence[Value | None]]
    y: str = ""
    connected: bool = False
    sideways: bool = False
    title: str = ""
    media: Media = PAGE


@dataclass(frozen=True, slots=True)
class Charts:
    """Several with the same lines, side by side."""

    charts: Sequence[Chart]
    media: Media = PAGE


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often which value came, in ms; `marks`: values that stand out, by name. A figure alone."""

    name: str
    x: str
    values: Sequence[float]
    marks: Mapping[str, float]
    media: Media = FIGURE


@dataclass(frozen=True, slots=True)
class Matrix:
    """A number for every two of `names`, or None; `corner` names the rows, `label` the numbers. `name`: of its
    figure."""

    name: str
    names: Sequence[str]
    values: Sequence[Sequence[float | None]]
    corner: str
    label: str
    none: str
    media: Media = FILES

    def table(self) -> Table:
        """The same as a table, for media without colours."""
        rows = [
            [name, *(self.none if value is None else f"{value:.3f}" for value in values)]
            for name, values in zip(self.names, self.values, strict=True)
        ]
        return Table([self.corner, *self.names], rows, self.label, media=self.media, narrow=True)


# --- cases ----------------------------------------------------------------------------------------

# How much of a text is shown where room is scarce: what was asked, what was answered, why a judge or a stage says so,
# a chunk, what a judge left behind; `whole`: all of it.
Size = Literal["question", "answer", "reason", "context", "detail", "call", "whole"]


class Item(NamedTuple):  # a report makes hundred thousands of them and of facts, at a third of a dataclass's cost
    """One entry of a list. `lead` stands before its name: a rank, a number. `value`: its relevance. `text` belongs to
    it, `note` is said of it; both may be left out where room is scarce. `expected` and `cited` ones stand out."""

    name: str
    lead: str = ""
    title: str = ""
    value: float | None = None
    mark: Literal["", "expected", "cited"] = ""
    note: str = ""
    text: str = ""


class Fact(NamedTuple):
    """One fact of a case: a text or a list of items. `key` names it: a fact of an evaluation replaces runner's fact of
    that key, and hides it where it is empty; a fact without a key follows the fact that `after` names. `most`: the
    number of items in one line where there is no room for a list; 0: each has a line. `lead` precedes the text, and
    `long_title` replaces the title, where there is room."""

    title: str
    text: str = ""
    items: Sequence[Item] = ()
    key: str = ""
    after: str = ""
    size: Size = "whole"
    most: int = 0
    lead: str = ""
    long_title: str = ""
    media: Media = EVERYWHERE


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """All facts of one case, in the order in which they arose."""

    facts: Sequence[Fact]
    media: Media = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Filter:
    """`options`: (value for the script, text)."""

    kind: str
    title: str
    options: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class CaseRow:
    """`language`: a tag for the attribute `lang`, where that is known."""

    id: str
    question: str
    language: str | None
    cells: Sequence[Cell]
    facts: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of a run, to be filtered, sorted and paged: `data` for the script of the page, and the first `rows` for
    readers without one. `columns`: (kind, title). `search` is the title of the search for words."""

    title: str
    columns: Sequence[tuple[str, str]]
    search: str
    filters: Sequence[Filter]
    rows: Sequence[CaseRow]
    more: str
    data: Mapping[str, object]
    media: Media = PAGE


@dataclass(frozen=True, slots=True)
class Section:
    """`id` is its anchor on a page; one without an id is a part of another. A `folded` one opens on demand where a
    page can fold; `lead` stands beside its title there. `untitled`: where its blocks stand without a heading. `number`:
    its place in a list, which Markdown shows."""

    id: str
    title: str
    blocks: Sequence[Block]
    media: Media = EVERYWHERE
    folded: bool = False
    lead: str = ""
    untitled: Media = frozenset()
    number: int | None = None


Drawn = Chart | Histogram | Matrix
Block = Note | Warnings | Steps | Points | Table | Grid | Facts | Code | Drawn | Charts | CaseFacts | Cases | Section


def section(
    id: str,
    title: str,
    *blocks: Block | None,
    media: Media = EVERYWHERE,
    folded: bool = False,
    untitled: Media = frozenset(),
) -> Section | None:
    """A section of `blocks` without those that are None or empty; None when no block remains."""
    filled = tuple(block for block in blocks if block is not None and not _is_empty(block))
    return Section(id, title, filled, media, folded, untitled=untitled) if filled else None


def _is_empty(block: Block) -> bool:
    """Whether there is nothing to draw; one point is not a curve."""
    match block:
        case Note(text=text) | Code(text=text):
            return not text
        case CaseFacts(facts=facts):
            return not facts
        case Warnings(notes=items) | Steps(items=items) | Points(items=items) | Charts(charts=items):
            return not items
        case Table(rows=rows):
            return not rows
        case Facts(pairs=pairs):
            return not pairs
        case Chart(places=places):
            return len(places) < (2 if block.connected else 1)
        case Histogram(values=values):
            return not values
        case Matrix(names=names):
            return len(names) < 2
    return False


def in_medium(blocks: Iterable[Block], medium: Medium) -> Iterator[Block]:
    """The blocks shown in a medium, in their order, sections without their other blocks."""
    for block in blocks:
        if medium not in block.media:
            continue
        if isinstance(block, Section):
            inner = tuple(in_medium(block.blocks, medium))
            if medium in block.untitled:
                yield from inner
            elif inner:
                yield replace(block, blocks=inner)
        else:
            yield block.in_medium(medium) if isinstance(block, Table) else block


def figures(blocks: Iterable[Block]) -> Iterator[Drawn]:
    """The blocks of a tree that can be figures."""
    for block in blocks:
        if isinstance(block, Section):
            yield from figures(block.blocks)
        elif isinstance(block, Charts):
            yield from block.charts
        elif isinstance(block, Drawn) and not _is_empty(block):
            yield block


def text_of(cell: str | Cell) -> str:
    """The text of a cell, styled or not."""
    return cell if isinstance(cell, str) else cell.text
