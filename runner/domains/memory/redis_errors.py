"""What a Redis says when it does not do what it was asked, in words that say what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.errors import StopRunError

BUSY = "BUSY "  # with somebody's script
REFUSED = ("NOAUTH", "WRONGPASS", "NOPERM", "ACL failure", "The user executing the script can't run")


@dataclass(frozen=True, slots=True)
class Place:
    """A store in messages: what it is called, what to do where it is full, or asks for another name or password, and
    what is known of it where it does not answer any more. `cluster`: the setting that says that it is one."""

    name: str
    full: str
    access: str
    lost: Callable[[], str]
    cluster: str = ""


def is_passing(error: Exception) -> bool:
    """Whether the same request may succeed when it is sent again."""
    from redis import exceptions

    passing = exceptions.ClusterDownError | exceptions.TryAgainError | exceptions.SlotNotCoveredError
    if isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError):
        return False
    return _is_lost(error) or isinstance(error, passing) or str(error).startswith(BUSY)


def _is_lost(error: Exception) -> bool:
    from redis import exceptions

    return isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError | OSError | TimeoutError)


def in_words(error: Exception, place: Place) -> StopRunError:
    """The error that ends a run, for what Redis raised, with what to do about it."""
    from redis import exceptions

    words = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    refusals = (
        exceptions.AuthenticationError,
        exceptions.AuthorizationError,
        exceptions.AuthenticationWrongNumberOfArgsError,
        exceptions.NoPermissionError,
    )
    if isinstance(error, refusals) or words.startswith(REFUSED):
        return StopRunError(f"{place.name} refuses access: {words}; {place.access}")
    if isinstance(error, exceptions.OutOfMemoryError):
        return StopRunError(f"{place.name} is full, and did not take what it was given: {words}; {place.full}")
    if isinstance(error, exceptions.MovedError):
        return StopRunError(f"{place.name} is one node of a cluster: set {place.cluster}")
    if str(error).startswith("TORN"):
        return StopRunError(f"{place.name} does not have all of a session any more; {place.full}")
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return StopRunError(f"{place.name} does not answer in time: {words}; {place.lost()}")
    if _is_lost(error):
        return StopRunError(f"{place.name} cannot be reached: {words}; {place.lost()}")
    return StopRunError(f"{place.name} does not do what it is asked: {words}")
