"""Links of a note, by CommonMark with wiki links: `[[note#heading|alias]]`, `![[note#^block]]`, `[text](note.md#part)`.

Code, HTML blocks and escaped brackets hold no links. Addresses of other places (`https:` and the like) are no links
either. Tags are those of the text: `#tag`, not only digits, at the start or after a space.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from runner.records import Document
from runner.text.patterns import compile_late

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_WIKI = compile_late(r"(!?)\[\[([^\[\]\n]+)\]\]")
_BAR = compile_late(r"\\?\|")  # in a table the bar has a backslash
_ELSEWHERE = compile_late(r"[a-z][a-z0-9+.-]+:|//", re.IGNORECASE)
_MAY_HOLD_LINKS = compile_late(r"\[\[|\]\(|\]:|\]\[")
_TAG = compile_late(r"(?:^|(?<=\s))#((?:[\w-]+/)*[\w-]+)")
_LINE_END = compile_late(r"\r\n|\n|\r")
_ADDRESS = compile_late(
    r"""(?<=\])\([ \t]*<?([^\s<>()]+)>?[^()\n]*\)|<([^\s<>]+\.md(?:\#[^\s<>]*)?)>"""
    r"""|\b(?:href|src)\s*=\s*["']?([^\s"'<>]+)["']?""",
    re.IGNORECASE,
)

Kind = Literal["wiki", "markdown", "embed", "property"]
PARENT = "parent"  # the field of front matter whose whole value names a note


@dataclass(frozen=True, slots=True)
class Link:
    """`reference` is the note as it is written, without heading, block and alias; "" is the note itself. `start` and
    `end` are characters in the text, `line` is 1-based and one of the text. `alias` is the text that the link shows, if
    it gives one. A link of kind `property` is in front matter and has no place in the text: all three are 0."""

    kind: Kind
    reference: str
    heading: str | None
    block: str | None
    alias: str | None
    start: int
    end: int
    line: int
    in_code: bool = False

    def line_of(self, note: Document) -> int:
        """The line in the file, where front matter may precede the text."""
        return note.line + self.line - 1


@dataclass(frozen=True, slots=True)
class Markup:
    """The links of one note, in the order of its text. `code_links` would be wiki links if they were not in code,
    whether inline or in a block."""

    links: tuple[Link, ...] = ()
    code_links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


NOTHING = Markup()


def links_of(text: str) -> list[Link]:
    """The links of a text, in order."""
    return list(markup_of(text).links)


def written_links(text: str) -> list[Link]:
    """Everything with the form of a link, even where it does not link: in code, HTML and comments, behind a backslash,
    in the words of another link. The place of `[words](address)` is `(address)`, that of `href="address"` all of it."""
    wiki = [_wiki(match, *match.span(), 1) for match in _WIKI.finditer(text)]
    addresses = [_markdown(match[match.lastindex or 0], "", *match.span(), 1) for match in _ADDRESS.finditer(text)]
    return [link for link in (*wiki, *addresses) if link is not None]


def property_links(metadata: Mapping[str, Any]) -> list[Link]:
    """The links in front matter: `[[note]]` in any field, as in `related: ["[[a]]", "[[b]]"]`, and the note in `parent:
    Title`."""
    links = []
    for name, value in metadata.items():
        for item in (value,) if isinstance(value, str) else value if isinstance(value, list | tuple) else ():
            text = str(item)
            wiki = [_wiki(match, 0, 0, 0) for match in _WIKI.finditer(text)] if "[[" in text else []
            links += [replace(link, kind="property") for link in wiki if link is not None]
            if name == PARENT and not wiki and text.strip():
                links.append(Link("property", text.strip(), None, None, None, 0, 0, 0))
    return links


def may_hold_markup(text: str) -> bool:
    """False for most texts that hold neither links nor tags, without parsing them."""
    return may_hold_links(text) or ("#" in text and _TAG.search(text) is not None)


def may_hold_links(text: str) -> bool:
    """False only for a text without any link: a quick look before it is parsed."""
    return "[" in text and _MAY_HOLD_LINKS.search(text) is not None


def markups_of(texts: Sequence[str]) -> list[Markup]:
    """The links and tags of each text, in the order of the texts."""
    return [markup_of(text) for text in texts]


def markup_of(text: str) -> Markup:
    """The links and tags of a note in Markdown. Links in code stand apart."""
    if not may_hold_markup(text):
        return NOTHING
    lines = _Lines(text)
    links: list[Link] = []
    code_links: list[Link] = []
    tags: dict[str, None] = {}
    for block in _parser().parse(text):
        if block.type in ("fence", "code_block"):
            code_links += lines.links_in(block)
        elif block.type == "inline":
            inline = _Inline(block, lines)
            links += inline.links()
            code_links += inline.code_links()
            tags |= dict.fromkeys(inline.tags())
    return Markup(tuple(links), tuple(code_links), tuple(tags))


# --- from tokens to links -------------------------------------------------------------------------


class _Lines:
    """The lines of a text as the parser counts them."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\0", "�")  # as the parser does
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]

    def find(self, content: str, line: int) -> int:
        """Where a line of inline content, which ends the block in that line, begins in the text."""
        indent = len(content) - len(content.lstrip())
        return self._text.rfind(content.strip(), self._starts[line], self._starts[line + 1]) - indent

    def links_in(self, code: Token) -> Iterator[Link]:
        first, behind = code.map or (0, 0)
        for match in _WIKI.finditer(self._text, self._starts[first], self._starts[behind]):
            line = bisect_right(self._starts, match.start())
            link = _wiki(match, match.start(), match.end(), line)
            if link is not None:
                yield replace(link, in_code=True)


class _Inline:
    """One paragraph, heading or the like."""

    def __init__(self, block: Token, lines: _Lines) -> None:
        self._content, self._tokens = block.content, block.children or []
        self._first, self._lines = (block.map or [0])[0], lines

    def links(self) -> Iterator[Link]:
        for place, token in enumerate(self._tokens):
            if token.type == "wiki":
                yield from self._wiki_links(token)
            elif token.type == "link_open" and token.meta:  # one written <https:…> has no place
                start, line = self._position(token.meta["start"])
                href, end = str(token.attrs.get("href", "")), self._position(token.meta["end"])[0]
                link = _markdown(href, self._label(place), start, end, line)
                if link is not None:
                    yield link

    def code_links(self) -> Iterator[Link]:
        for token in self._tokens:
            if token.type == "code_inline":
                yield from (replace(link, in_code=True) for link in self._wiki_links(token))

    def tags(self) -> Iterator[str]:
        for token in self._tokens:
            if token.type == "text":
                yield from (tag for tag in _TAG.findall(token.content) if not tag.isdigit())

    def _wiki_links(self, token: Token) -> Iterator[Link]:
        for match in _WIKI.finditer(self._content, token.meta["start"], token.meta["end"]):
            start, line = self._position(match.start())
            link = _wiki(match, start, start + match.end() - match.start(), line)
            if link is not None:
                yield link

    def _label(self, opening: int) -> str:
        parts = []
        for place in range(opening + 1, len(self._tokens)):
            token = self._tokens[place]
            if token.type == "link_close":
                break
            parts.append(" " if token.type == "softbreak" else token.content)
        return "".join(parts)

    def _position(self, offset: int) -> tuple[int, int]:
        """(offset in the text, number of the line) of an offset in the content."""
        line = bisect_right(self._begins, offset) - 1
        return self._origins[line] + offset - self._begins[line], self._first + line + 1

    @cached_property
    def _begins(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self._content))]

    @cached_property
    def _origins(self) -> list[int]:
        """Where each line of the content begins in the text."""
        return [self._lines.find(line, self._first + n) for n, line in enumerate(self._content.split("\n"))]


def _wiki(match: re.Match[str], start: int, end: int, line: int) -> Link | None:
    target, *alias = _BAR.split(match[2], maxsplit=1)
    reference, heading, block = _parts(target)
    if not (reference or heading or block):
        return None
    shown = alias[0].strip() if alias else ""
    return Link("embed" if match[1] else "wiki", reference, heading, block, shown or None, start, end, line)


def _markdown(href: str, label: str, start: int, end: int, line: int) -> Link | None:
    if not href or _ELSEWHERE.match(href):
        return None
    reference, heading, block = _parts(unquote(href))
    return Link("markdown", reference, heading, block, label or None, start, end, line)


def _parts(target: str) -> tuple[str, str | None, str | None]:
    """(note, heading, block). Of several headings in a row (`note#a#b`) the last counts; a name may end with a number
    sign (`C#`)."""
    reference, _, place = target.strip().partition("#")
    place = place.rpartition("#")[2].strip()
    if not place:
        return target.strip(), None, None
    if place.startswith("^"):
        return reference.strip(), None, place[1:]
    return reference.strip(), place, None


# --- parsing --------------------------------------------------------------------------------------


@cache
def _parser() -> MarkdownIt:
    """CommonMark whose tokens of links and code have their positions in the inline content."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import backtick, link

    def rule_with_places(rule: Any, kind: str) -> Any:
        def run(state: StateInline, silent: bool) -> bool:
            start, before = state.pos, len(state.tokens)
            if not rule(state, silent):
                return False
            for token in [] if silent else state.tokens[before:]:
                if token.type == kind:
                    token.meta = {"start": start, "end": state.pos}
                    break
            return True

        return run

    parser = MarkdownIt("commonmark")
    parser.inline.ruler.at("backticks", rule_with_places(backtick, "code_inline"))
    parser.inline.ruler.at("link", rule_with_places(link, "link_open"))
    parser.inline.ruler.before("link", "wiki", _wiki_rule)
    parser.block.ruler.before("reference", "footnote", _footnote_rule)
    return parser


def _wiki_rule(state: StateInline, silent: bool) -> bool:
    match = _WIKI.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("wiki", "", 0)
        token.meta = {"start": state.pos, "end": match.end()}
    state.pos = match.end()
    return True


def _footnote_rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Keeps `[^1]: [[note]]` a paragraph: by CommonMark it would be the address of a reference, not text."""
    from markdown_it.rules_block import paragraph

    begin = state.bMarks[start_line] + state.tShift[start_line]
    return state.src.startswith("[^", begin) and paragraph(state, start_line, end_line, silent)
