"""How many inputs each test gets, and the law that every input is held to.

RUNNER_FUZZ is the number of inputs in all (default: 150; up to 1000 are always the same ones, more are drawn anew).
"""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings

from runner.errors import RunnerError

T = TypeVar("T")

WHOLE = 1000  # what the shares are of
TOTAL = int(os.environ.get("RUNNER_FUZZ", 150))
SEEN: Counter[str] = Counter()  # by test: inputs it was given
FOREIGN = re.compile(r"^(?!InputError|DataError)\w+(Error|Exception)\b|Traceback|^unexpected ")
ERROR = re.compile(r"error: ")
SURPRISE = re.compile(r"Traceback|unexpected [A-Z]\w+:")


def inputs(share: int, *, shrinks: bool = True) -> Callable[[T], T]:
    """A test gets so many inputs of each thousand. What fails is made smaller unless that takes too long."""

    def decorate(test: Any) -> Any:
        quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
        phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if shrinks else [])]
        drawn = settings(
            max_examples=max(1, round(share * TOTAL / WHOLE)),
            derandomize=TOTAL <= WHOLE,
            deadline=None,
            suppress_health_check=quiet,
            database=None,
            phases=phases,
        )
        return drawn(_counted(test))

    return decorate


def _counted(test: Any) -> Any:
    inner = test.hypothesis.inner_test

    @functools.wraps(inner)
    def counted(*args: Any, **drawn: Any) -> Any:
        seen(test.__name__)
        return inner(*args, **drawn)

    test.hypothesis.inner_test = counted
    return test


def seen(name: str) -> None:
    SEEN[name] += 1


def refused(action: Callable[[], T], *, names: Collection[str], codes: Collection[int] = (1, 2)) -> T | None:
    """What `action` returns; None where it raises an error for people, with an exit code of `codes` and a message
    that tells one of `names`. Any other exception fails the test."""
    try:
        return action()
    except RunnerError as error:
        message = str(error)
        assert error.exit_code in codes, (error.exit_code, message)  # noqa: PT017 - it may also end well
        assert message and not FOREIGN.search(message), message
        assert any(name in message for name in names), message
        return None


def ended(
    main: Callable[[], int], said: Callable[[], str], *, codes: Collection[int], why: re.Pattern[str] = ERROR
) -> int:
    """The exit code of a command, which is one of `codes`; what it said has no traceback and no surprise in it, and
    a line that begins with `why` where the code is not 0: one error in the form of all of them."""
    code = main()
    text = said()
    assert code in codes, (code, text)
    assert not SURPRISE.search(text), text
    assert code == 0 or any(map(why.match, text.splitlines())), (code, text)
    return code
