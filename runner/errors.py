"""What can go wrong, and the exit code each kind ends the process with.

RunnerError                      3
├── InputError                   1   arguments, configuration, data files
│   ├── ConfigError              1   every problem of a configuration at once
│   └── DataError                1   a line or field of a data file
├── CorpusError                  2   documents or index missing, empty or unusable
├── ComponentError           1 2 3   a component raised or returned what none may: the code of its stage
├── EvaluationError              3   the run itself failed
│   ├── ReplyError               3   a model answered, but not with what was asked for
│   ├── UncertainWriteError      3   a service may have stored what was sent, or not
│   └── StopRunError             3   what is wrong for one case is wrong for all: ends the run early
│       ├── BudgetSpentError     3   a limit of `budget` is reached
│       └── FallsShortError      3   what was measured before the first case is below what is demanded
├── TrackingError                3   a tracking store refused a finished run (the run itself stands)
└── NotComparableError           5   two runs that measure different things
"""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

from runner import DISTRIBUTION

NAMED = 30  # known names in one message
SIMILAR = 5  # near names that are looked at closer
OURS = {"runner", "plugins", *sys.stdlib_module_names}


class RunnerError(Exception):
    """Base of all errors that are shown to the user as one message, without a traceback."""

    exit_code = 3


class InputError(RunnerError):
    """The command line, configuration or a file that it names is wrong."""

    exit_code = 1


class CorpusError(RunnerError):
    """Documents cannot be read, or there are none."""

    exit_code = 2


class ComponentError(RunnerError):
    """A component raised an unexpected error, or returned a value that its protocol does not allow. The message names
    its key, its class and its method. `exit_code`: that of the stage (1 settings and data, 2 an index, 3 the rest). No
    EvaluationError: errors that a model may make are not allowed to a component."""

    def __init__(self, message: str, exit_code: int = 3) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class EvaluationError(RunnerError):
    """`attempts`: how often a model was asked that did not answer; None where that is not what failed."""

    exit_code = 3
    attempts: int | None = None


class ReplyError(EvaluationError):
    """A model refused, was cut off, or did not keep to the form asked for, after every repeat."""


class UncertainWriteError(EvaluationError):
    """A service did not say whether it stored what was sent; sent again, it might be stored twice. `can_begin_anew`:
    whether the whole session can be written again, apart from what is stored."""

    can_begin_anew: bool = True


class StopRunError(EvaluationError):
    """Wrong for every case (a refused key, an unknown model, a server that is down): one message, not one a case.
    Finished cases stay, and the same command resumes from them."""


class BudgetSpentError(StopRunError):
    """The next request would pass a limit of `budget`."""


# what the message of such an end tells; each command has the whole budget of minutes
SPENT = re.compile(r"\bbudget\.(usd|tokens|requests)=\S+ is spent")
# the same command meets it again, until the address, the model or the key that it names is another; in all languages
REFUSED = re.compile(r"(?:\bthe (?:server|service) answers|서비스 응답) (?:3\d\d|401|403|404|405)\b")


class FallsShortError(StopRunError):
    """`measured`: by the id of a case, the metrics that it is demanded to have."""

    def __init__(self, message: str, measured: Mapping[str, Mapping[str, float | None]]) -> None:
        super().__init__(message)
        self.measured = measured


class TrackingError(RunnerError):
    """A tracking store cannot be reached or used. The run folder is complete and can be uploaded later."""


class NotComparableError(RunnerError):
    """The two sides have no metric that may be compared."""

    exit_code = 5


class DataError(InputError):
    """A data file that cannot be used; the message names file, line and field."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a configuration: its key, the fault, and values that would work."""

    key: str
    message: str
    exit_code: int = InputError.exit_code

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


class ConfigError(InputError):
    """All problems of one configuration (or of all cells of a sweep), with the most severe of their exit codes."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        self.exit_code = max(problem.exit_code for problem in problems)
        count = len(self.problems)
        head = "1 problem" if count == 1 else f"{count} problems"
        super().__init__(f"{head} in the configuration:\n" + "\n".join(f"  {problem}" for problem in self.problems))


def expectation(message: str) -> str:
    """The expectation in a message of pydantic, in plain words: `1 or more` for "Input should be greater than or equal
    to 1"."""
    reason = message.removeprefix("Value error, ").removeprefix("Input should be ").partition(", unable to ")[0]
    for pattern, plain in PLAIN:
        if match := pattern.fullmatch(reason):
            return match.expand(plain)
    return reason


def rephrase(message: str) -> str:
    """`expected 1 or more`; what pydantic says otherwise stays as it is."""
    return f"expected {expectation(message)}" if message.startswith("Input should be ") else message


PLAIN = [
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"greater than or equal to (\S+)", r"\1 or more"),
        (r"less than or equal to (\S+)", r"\1 or less"),
        (r"greater than (\S+)", r"more than \1"),
        (r"a valid integer", "a whole number"),
        (r"a valid number", "a number"),
        (r"a valid boolean", "true or false"),
        (r"a valid string", "text"),
    )
]


def describe_unexpected(error: BaseException) -> str:
    """Type and text of an unexpected error, and the line that it came through: of the foreign component where there is
    one, for its author, else the deepest line of this program."""
    text = f"{type(error).__name__}: {text_of(error)}".rstrip(": ")
    lines = [(str(frame.f_globals.get("__name__")), line) for frame, line in walk_tb(error.__traceback__)]
    foreign = [(name, line) for name, line in lines if name.partition(".")[0] not in OURS]
    package = foreign[0][0].partition(".")[0] if foreign else ""
    own = [(name, line) for name, line in lines if name.partition(".")[0] in ("runner", "plugins")]
    places = [each for each in foreign if each[0].partition(".")[0] == package] or own
    if not places:
        return text
    name, line = places[-1]
    return f"{text} ({name}, line {line})"


def text_of(error: BaseException) -> str:
    """The text of an error on one line. The `__str__` of a foreign class may raise itself."""
    try:
        return " ".join(str(error).split())
    except Exception as again:
        return f"(its text cannot be read: {type(again).__name__})"


def install_command(extra: str) -> str:
    """The command that installs an extra: into a clone by its folder, else by the name of the distribution."""
    clone = Path(__file__).resolve().parent.parent
    if not (clone / "pyproject.toml").is_file():
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    place = f"'.[{extra}]'" if clone == Path.cwd() else shlex.quote(f"{clone}[{extra}]")
    return f"pip install -e {place}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` or, without a near name, `; known: a, b, c`: the first NAMED (empty when nothing is
    known)."""
    names = sorted(known)
    folded = {known_name.casefold(): known_name for known_name in names}
    if near := similar(name.casefold(), folded):
        return f"; did you mean '{folded[near]}'?"
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"; known: {', '.join(names[:NAMED])}{more}" if names else ""


def similar(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that `name` is most likely a slip of the keys for; None where none comes near.

    `cutoff`: the least ratio of difflib. Of the near ones, that with the fewest letters to add, drop, replace or swap
    with their neighbour; then one of the same letters (`modle`: `model`, not `mode`); then that of the highest ratio.
    """

    def slips(candidate: str) -> tuple[int, bool, int]:
        return _edits(name, candidate), sorted(name) != sorted(candidate), near.index(candidate)

    near = difflib.get_close_matches(name, names, n=SIMILAR, cutoff=cutoff)
    return min(near, key=slips, default=None)


def _edits(word: str, target: str) -> int:
    """Letters to add, drop, replace or swap with their neighbour, none of them twice (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(target) + 1))
    for i, letter in enumerate(word, start=1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(target, start=1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != wanted)))
            if last and j > 1 and word[i - 2 : i] == target[j - 1] + target[j - 2]:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]


def not_a_mapping(key: str, got: str, names: Iterable[str]) -> Problem:
    """`names` of what may stand in it; none where any may."""
    return Problem(key, f"expected a mapping ({key}.NAME=VALUE){got}{did_you_mean('', names)}")
