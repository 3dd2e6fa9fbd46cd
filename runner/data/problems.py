"""Problems in data files: collected while reading, shown together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from runner.errors import DataError
from runner.records import DataProblem
from runner.words.bilingual import in_language
from runner.words.wording import Wording

SHOWN = 20  # most errors in one message
NAMED = 5  # most skipped records that a command lists


class ProblemLog:
    """Collects problems in order."""

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self._problems: list[DataProblem] = []
        self._warned: set[tuple[str, str | None, str]] = set()

    @property
    def problems(self) -> tuple[DataProblem, ...]:
        """All problems, in order."""
        return tuple(self._problems)

    @property
    def errors(self) -> list[DataProblem]:
        """The problems that are errors."""
        return [problem for problem in self._problems if problem.severity == "error"]

    def error(self, path: str, message: str, line: int | None = None, field: str | None = None) -> None:
        """Log a problem that makes a record unusable."""
        self._problems.append(DataProblem("error", path, message, line, field))

    def warning(self, path: str, message: str, line: int | None = None, field: str | None = None) -> None:
        """Log a problem that does no harm."""
        self._problems.append(DataProblem("warning", path, message, line, field))

    def warn_once(self, path: str, message: str, line: int | None = None, field: str | None = None) -> None:
        """Log a warning of a field once a file, whatever the line."""
        if (path, field, message) not in self._warned:
            self._warned.add((path, field, message))
            self.warning(path, message, line, field)

    def adopt(self, problems: Iterable[DataProblem]) -> None:
        """Take over what was found wrong before."""
        self._problems.extend(problems)

    def stop_if_strict(self) -> None:
        """Raises DataError with the errors so far, if there are any and the run is strict."""
        errors = self.errors
        if self.strict and errors:
            count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
            raise DataError(f"{count} in the data files (strict=true stops at them):\n{list_problems(errors)}")


def list_problems(problems: list[DataProblem]) -> str:
    """The first `SHOWN` problems, one a line, and how many more there are."""
    lines = [f"  {problem}" for problem in problems[:SHOWN]]
    if len(problems) > SHOWN:
        lines.append(f"  … and {len(problems) - SHOWN} more")
    return "\n".join(lines)


def skipped_lines(problems: Sequence[DataProblem], say: Wording) -> Iterator[str]:
    """Lines on the first errors and the number of further skipped records; `say`: wording of the room `outcomes`."""
    errors = [problem for problem in problems if problem.severity == "error"]
    for problem in errors[:NAMED]:
        yield say("skipped", problem=in_language(str(problem), say.language))
    if len(errors) > NAMED:
        yield say("skipped_more", n=len(errors) - NAMED)


def why_empty(problems: ProblemLog, path: str) -> str:
    """The errors of a file's lines, to append to "nothing usable in this file"."""
    errors = [problem for problem in problems.errors if problem.path == path]
    return f"; its lines have errors:\n{list_problems(errors)}" if errors else ""
