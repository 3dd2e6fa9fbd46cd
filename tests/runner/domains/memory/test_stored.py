import re

from hypothesis import given
from hypothesis import strategies as st

from runner.domains.memory.records import SessionKey
from runner.domains.memory.stored import keys_of, session_of

NAMES = st.text(st.characters(exclude_categories=()), min_size=1, max_size=20) | st.text("a:{}*%\n/.가", min_size=1)
SESSIONS = st.builds(SessionKey, NAMES, NAMES)


@given(SESSIONS)
def test_a_key_names_its_session_and_lies_in_one_slot(key: SessionKey) -> None:
    names = keys_of(key)
    assert [session_of(name.encode("ascii")) for name in names] == [key] * 3
    for name, part in zip(names, ("short", "memory", "entities"), strict=True):
        assert re.fullmatch(r"chat:\{[A-Za-z0-9_.~%-]+:[A-Za-z0-9_.~%-]+\}:" + part, name)
        assert name.count("{") == name.count("}") == 1


@given(SESSIONS, SESSIONS)
def test_other_sessions_have_other_keys(one: SessionKey, other: SessionKey) -> None:
    assert (one == other) == bool(set(keys_of(one)) & set(keys_of(other)))


@given(st.binary())
def test_what_is_no_key_of_ours_is_no_session(name: bytes) -> None:
    assert session_of(name) is None


def test_keys_as_they_lie_there() -> None:
    assert keys_of(SessionKey("가:b", "c d")) == (
        "chat:{%EA%B0%80%3Ab:c%20d}:short",
        "chat:{%EA%B0%80%3Ab:c%20d}:memory",
        "chat:{%EA%B0%80%3Ab:c%20d}:entities",
    )
    for foreign in ("{a:b}:log", "{a:b:c}:short", "{a}:short", "{%3a:b}:short", "{:b}:short", "a:b:short"):
        assert session_of(f"chat:{foreign}".encode()) is None
