"""What every run of a command needs from outside, looked for before the first of them starts."""

from __future__ import annotations

from collections.abc import Sequence

from runner.components import build
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
            parts = built.parts.values()
            declared_by(built.root)
        except ConfigError as error:
            problems |= dict.fromkeys(error.problems)
            continue
        except Exception:  # noqa: S112 - a bug of one component: its own run tells, with a log
            continue
        for part in parts:
            if isinstance(part, Preflight):
                problems |= dict.fromkeys(part.preflight())
    if problems:
        raise ConfigError(list(problems))
