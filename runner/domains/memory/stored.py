"""How a session lies in a Redis: its keys, and its turns and entities as JSON.

Keys are `chat:{tenant:session}:short`, `:memory` and `:entities`; `:lease` is there as long as somebody summarises the
session, and is no part of it. The braces are literal: what stands in them
decides the slot of a cluster, so those of a session are on one node. Tenant and session are percent-encoded, whatever
they hold, so a key names one session and no part of it can be taken for another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

import orjson

from runner.domains.memory.records import ChatTurn, Entity, SessionKey, SessionState
from runner.errors import EvaluationError

PATTERN = "chat:{*}:*"  # all keys of all sessions, and what looks like them
PARTS = ("short", "memory", "entities")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_KEY = re.compile(r"chat:\{([\w.~%-]+):([\w.~%-]+)\}:(?:short|memory|entities)", re.ASCII)


@lru_cache(maxsize=1024)
def keys_of(key: SessionKey) -> tuple[str, ...]:
    """The keys of a session. Raises EvaluationError for an empty name."""
    place = _place(key)
    return tuple(f"{place}:{part}" for part in PARTS)


def lease_of(key: SessionKey) -> str:
    """The key under which the right to update a session is leased."""
    return f"{_place(key)}:lease"


def _place(key: SessionKey) -> str:
    if not key.tenant or not key.session:
        raise EvaluationError(f"a session has a tenant and a name, got {key.tenant!r} and {key.session!r}")
    place = ":".join(quote(name, safe="", errors="surrogatepass") for name in (key.tenant, key.session))
    return f"chat:{{{place}}}"


def session_of(name: bytes) -> SessionKey | None:
    """The session that a key of the store belongs to; None for a key that is not ours."""
    match = _KEY.fullmatch(name.decode("ascii", "replace"))
    if match is None:
        return None
    tenant, session = (unquote(part, errors="surrogatepass") for part in match.groups())
    key = SessionKey(tenant, session)
    return key if name.decode() in keys_of(key) else None


def encode_key(text: str) -> bytes:
    """UTF-8 that also takes lone surrogates, which a key of a foreign program may hold."""
    return text.encode("utf-8", "surrogatepass")


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, or a number of more than 64 bits
        return encode_key(_ENCODER.encode(value))


def _fields(record: ChatTurn | Entity) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


def turn_of(turn: ChatTurn) -> bytes:
    """A turn without its number, which the store assigns."""
    fields = _fields(turn)
    del fields["number"]
    return _json(fields)


def entities_of(entities: Sequence[Entity]) -> bytes:
    """Entities as JSON bytes, in their order."""
    return _json([_fields(entity) for entity in entities])


def last_number_of(reply: Sequence[bytes]) -> int:
    """The number of the last turn of the session, whether or not it is still stored."""
    return int(reply[3]) if reply else 0


def state_of(reply: Sequence[bytes]) -> SessionState:
    """The state from the reply of the script that reads a session."""
    if not reply:
        return SessionState()
    generation, version, last_turn, _, memory, entities, *turns = (
        part.decode("utf-8", "surrogatepass") for part in reply
    )
    return SessionState(
        turns=tuple(ChatTurn(**json.loads(turn)) for turn in turns),
        memory=memory,
        entities=tuple(Entity(**entity) for entity in json.loads(entities)),
        version=int(version),
        generation=generation,
        last_turn=int(last_turn),
    )
