"""The one form of everything that goes wrong: `{"error": {"code", "message", "problems", "exit_code"}}`."""

from __future__ import annotations

from typing import Any

from runner.commands.serve.datasets import TooLargeError
from runner.commands.serve.desk import BusyError, ConflictError, MissingError
from runner.errors import ConfigError, NotComparableError, RunnerError


def body(
    code: str, message: str, problems: list[dict[str, str]] | None = None, exit_code: int | None = None
) -> dict[str, Any]:
    """The JSON body of an error."""
    return {"error": {"code": code, "message": message, "problems": problems or [], "exit_code": exit_code}}


def of_error(error: RunnerError) -> tuple[int, dict[str, Any]]:
    """Status and body of what the command line says."""
    if isinstance(error, ConfigError):
        problems = [{"key": problem.key, "message": problem.message} for problem in error.problems]
        return 422, body("configuration", str(error), problems, error.exit_code)
    kinds: list[tuple[type[RunnerError], int, str]] = [
        (MissingError, 404, "not_found"),
        (ConflictError, 409, "conflict"),
        (BusyError, 429, "busy"),
        (TooLargeError, 413, "too_large"),
        (NotComparableError, 409, "not_comparable"),
    ]
    status, code = next(((status, code) for kind, status, code in kinds if isinstance(error, kind)), (422, "input"))
    return status, body(code, str(error), [], error.exit_code)
