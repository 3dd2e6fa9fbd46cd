"""What every run of a command needs from outside, looked for before the first of them starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.components import Built, build
from runner.compose import Cell
from runner.errors import ConfigError, Problem
from runner.metrics.catalogue import declared_by
from runner.protocols import Preflight


def preflight(cells: Sequence[Cell]) -> None:
    """Raises ConfigError with everything that the components of any cell miss."""
    problems: dict[Problem, None] = {}
    for cell in cells:
        try:
            built = build(cell.cfg.evaluation)
        except ConfigError as error:
            problems |= dict.fromkeys(error.problems)
            continue
        except Exception:  # noqa: S112 - a bug of one component: its own run tells, with a log
            continue
        problems |= dict.fromkeys(_problems(built))
    if problems:
        raise ConfigError(list(problems))


def _problems(built: Built) -> Iterator[Problem]:
    """What components miss, and what is wrong with the metrics that the evaluation declares."""
    for part in built.parts.values():
        if isinstance(part, Preflight):
            yield from part.preflight()
    try:
        declared_by(built.root)
    except ConfigError as error:
        yield from error.problems
