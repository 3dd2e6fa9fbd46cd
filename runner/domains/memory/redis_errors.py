"""Errors of a Redis, in words that say what to do about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from traceback import walk_tb

from runner.errors import StopRunError

BUSY = ("BUSY ", "MASTERDOWN", "NOREPLICAS")  # with somebody's script, or with taking over
REFUSED = ("NOAUTH", "WRONGPASS", "NOPERM", "ACL failure", "The user executing the script can't run")
NO_PRIMARY = re.compile("Redis Cluster cannot be connected|slots are not covered", re.I)
UNKNOWN_CLIENT = re.compile("certificate required|bad certificate|unknown ca|handshake failure", re.I)


@dataclass(frozen=True, slots=True)
class Place:
    """A store in messages: what it is called, what to do where it is full, or asks for another name or password, and
    what is known of it where it does not answer any more. `cluster`: the setting that says that it is one;
    `certificate` and `sentinel_access`: those by which it knows its clients, and sentinels know theirs."""

    name: str
    full: str
    access: str
    lost: Callable[[], str]
    cluster: str = ""
    certificate: str = ""
    sentinel_access: str = ""


def is_passing(error: Exception) -> bool:
    """Whether the same request may succeed when it is sent again."""
    from redis import exceptions

    passing = exceptions.ClusterDownError | exceptions.TryAgainError | exceptions.SlotNotCoveredError
    if isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError):
        return False
    taken_over = isinstance(error, passing | exceptions.ReadOnlyError) or str(error).startswith(BUSY)
    return taken_over or _is_lost(error) or is_closed_meanwhile(error)


def is_closed_meanwhile(error: Exception) -> bool:
    """Whether redis-py used a connection that it had closed itself: a task that finds a node of a cluster gone closes
    all connections, also those that other tasks are about to write to."""
    if not isinstance(error, AttributeError) or error.obj is not None:
        return False
    *_, (frame, _) = walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__")).startswith("redis.")


def _is_lost(error: Exception) -> bool:
    from redis import exceptions

    if isinstance(error, exceptions.RedisClusterException):  # also for what no cluster can do
        return NO_PRIMARY.search(str(error)) is not None
    return isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError | OSError | TimeoutError)


def stop_error(error: Exception, place: Place) -> StopRunError:
    """The error that ends a run, for what Redis raised, with what to do about it."""
    from redis import exceptions
    from redis.asyncio.sentinel import MasterNotFoundError

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
    if isinstance(error, MasterNotFoundError):
        return _without_primary(words, place)
    if place.certificate and UNKNOWN_CLIENT.search(words):
        return StopRunError(f"{place.name} does not know the certificate of this client: {words}; {place.certificate}")
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return StopRunError(f"{place.name} does not answer in time: {words}; {place.lost()}")
    if _is_lost(error):
        return StopRunError(f"{place.name} cannot be reached: {words}; {place.lost()}")
    return StopRunError(f"{place.name} does not do what it is asked: {words}")


def _without_primary(words: str, place: Place) -> StopRunError:
    """redis-py's text names the objects of its connections; a sentinel that demands a password is among them."""
    if "AuthenticationError" in words or "NOAUTH" in words:
        return StopRunError(f"{place.name}: a sentinel refuses access; {place.sentinel_access}")
    return StopRunError(f"{place.name} cannot be reached: no sentinel names a primary that is up; {place.lost()}")
