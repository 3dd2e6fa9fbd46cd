"""The search space of `hydra/sweeper=optuna`: the overrides of a command line with several values.

retriever=keyword,hybrid         one of these
k=range(1,20)                    numbers in order, with their step
min_score=interval(0,0.8)        any number between two; int(interval(1,50)) a whole one, tag(log,…) by its logarithm
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from runner.config import arguments
from runner.config.choices import SEARCH, SWEEPER
from runner.errors import Problem

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from runner.config.compose import Cell

DIGITS = 4  # significant digits of a number from an interval, so that the name of a run holds its exact value
EXAMPLES = "k=range(1,20), retriever=keyword,hybrid or min_score=interval(0,0.8)"
QUESTIONS = "search.questions"
NOT_IN_SEARCH = {
    "baseline": "the default is the baseline of a search",
    "baselines": "a search has no references; expected none",
    "case": "one case decides no search",
    "junit": "a search has several runs, each with a file of its own in its folder",
    "save_snapshot": "a search has several runs, each with a file of its own in its folder",
    QUESTIONS: "a search sets it itself",
}


@dataclass(frozen=True)
class Axis:
    """One override with several values. `key` and `text` as typed. Either `words` to choose from, or numbers from `low`
    to `high`, both included."""

    key: str
    text: str
    words: Sequence[str] = ()
    low: float = 0.0
    high: float = 0.0
    step: float | None = None
    is_whole: bool = False
    is_log: bool = False

    @property
    def name(self) -> str:
        """The key without a leading +."""
        return self.key.lstrip("+")

    @property
    def count(self) -> float:
        """The number of values."""
        if self.words:
            return len(self.words)
        step = self.step or (1 if self.is_whole else 0)
        return math.floor((self.high - self.low) / step + 1e-9) + 1 if step else math.inf

    @property
    def ends(self) -> list[str]:
        """The values that are checked in place of the whole axis."""
        return list(self.words) or list(dict.fromkeys([self.word(self.low), self.word(self.high)]))

    def each(self) -> list[str]:
        """All values of a finite axis."""
        if self.words:
            return list(self.words)
        values = (self.low + place * (self.step or 1) for place in range(int(self.count)))
        return [self.word(int(value) if self.is_whole else value) for value in values]

    def word(self, value: Any) -> str:
        """The override of a value."""
        if self.words:
            return str(value)
        number = value if self.step or self.is_whole else float(f"{value:.{DIGITS}g}")
        return f"{self.key}={min(max(number, self.low), self.high):.10g}"

    def value_of(self, word: str) -> Any:
        """The value of an override of this axis, the inverse of `word`; None for another override."""
        value: Any = arguments.parse(word).value()
        for known in self.words:
            if arguments.parse(known).value() == value:
                return known
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if self.words or not is_number or not self.low <= value <= self.high:
            return None
        steps = (value - self.low) / (self.step or 1)
        if (self.step or self.is_whole) and abs(steps - round(steps)) > 1e-9:
            return None
        return int(value) if self.is_whole else float(value)


@dataclass(frozen=True)
class Space:
    """`default`: the overrides of the configuration without the axes. `checked`: cells that were checked in place of
    all: the default, then those of the ends of each axis. `compose`: makes a cell from overrides and the selection of
    questions."""

    axes: Sequence[Axis]
    default: Sequence[str]
    checked: Sequence[Cell] = ()
    compose: Callable[[Sequence[str], str], Cell] = field(repr=False, default=lambda words, questions: NotImplemented)

    @property
    def count(self) -> float:
        """The number of configurations."""
        return math.prod(axis.count for axis in self.axes)

    @property
    def checked_by_axis(self) -> list[Sequence[Cell]]:
        """The default and the cells of the ends of an axis, for each axis."""
        ends = iter(self.checked[1:])
        return [[self.checked[0], *islice(ends, len(axis.ends))] for axis in self.axes]


def is_search(overrides: Sequence[str]) -> bool:
    """Whether the command line asks for a search instead of all values."""
    return any(word.lstrip("+").partition("=")[::2] == (SWEEPER, SEARCH) for word in overrides)


def axes_of(overrides: Sequence[str]) -> tuple[list[str], list[Axis], list[Problem]]:
    """The overrides of all trials, the axes, and the problems."""
    swept = [word for word in overrides if arguments.is_sweep(word)]
    fixed = [word for word in overrides if word not in swept]
    axes = [_axis(word) for word in swept]
    problems = (
        [] if axes else [Problem(SWEEPER, f"{SEARCH} has nothing to search; expected values, such as {EXAMPLES}")]
    )
    for word in overrides:
        name = word.lstrip("+~").partition("=")[0]
        if name in NOT_IN_SEARCH and word.partition("=")[2] != "null":
            problems.append(Problem(name, NOT_IN_SEARCH[name]))
    problems += [
        Problem(axis.name, "is the same in all trials of a search; expected one value")
        for axis in axes
        if axis.name.startswith(("search.", "hydra", "budget."))
    ]
    problems += [
        Problem(axis.name, f"{axis.text.partition('=')[2]} holds no number")
        for axis in axes
        if not axis.words and (axis.low > axis.high or (axis.is_log and axis.low <= 0))
    ]
    return fixed, axes, problems


def _axis(word: str) -> Axis:
    parsed_axis: Any = arguments.parse(word)
    key, value = str(parsed_axis.get_key_element()), parsed_axis.value()
    if parsed_axis.is_interval_sweep():
        whole = isinstance(value.start, int) and isinstance(value.end, int)
        return Axis(key, word, (), value.start, value.end, None, whole, "log" in value.tags)
    words = tuple(cell[0] for cell in arguments.cells([word]))
    numbers: list[Any] = [arguments.parse(each).value() for each in words]
    if not parsed_axis.is_range_sweep() or len(numbers) < 2:
        return Axis(key, word, words)
    low, high, step = min(numbers), max(numbers), abs(numbers[1] - numbers[0])
    if value.shuffle:
        step = abs(value.step)
    return Axis(key, word, (), low, high, step, all(isinstance(number, int) for number in numbers))


def default_words(axes: Sequence[Axis], cfg: DictConfig, choices: Mapping[str, str]) -> list[str]:
    """The values that the configuration has without a search, as overrides; axes without a value are left out."""
    from omegaconf import OmegaConf

    words = []
    for axis in axes:
        group = axis.name.partition("@")[0]
        value = choices.get(axis.name, choices.get(group)) if group in choices else OmegaConf.select(cfg, axis.name)
        if value is None and group not in choices and not _stands_in(cfg, axis.name):
            continue
        plain = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
        word = arguments.quote_argument(f"{axis.key}={_text(plain)}")
        known = axis.value_of(word)
        words.append(word if known is None else axis.word(known))
    return words


def _stands_in(cfg: DictConfig, name: str) -> bool:
    from omegaconf import OmegaConf

    parent, _, last = name.rpartition(".")
    node = OmegaConf.select(cfg, parent) if parent else cfg
    return OmegaConf.is_config(node) and last in node


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return "[" + ",".join(map(_text, value)) + "]" if isinstance(value, list) else str(value)
