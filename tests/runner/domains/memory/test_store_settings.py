import pytest
from pydantic import TypeAdapter, ValidationError

from runner.domains.memory.store_settings import Hours, Url, Variable

PLACES = "expected an address such as redis://127.0.0.1:6379/0, rediss://HOST:PORT/0 or unix:///PATH; "


def problem(kind: object, value: object) -> str:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    (error,) = caught.value.errors()
    return str(error["msg"])


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0", "redis://localhost", "redis://localhost/", "rediss://cache.example.org:6380/15",
        "redis://[::1]:6379", "unix:///run/redis/redis.sock", "unix:///tmp/%EC%86%8C%EC%BC%93",
    ],
)  # fmt: skip
def test_addresses(url: str) -> None:
    assert TypeAdapter(Url).validate_python(url) == url


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("redis://:s3cret@host", "this one holds user:password@, ? or #"),
        ("redis://host?password=s3cret", "this one holds user:password@, ? or #"),
        ("redis://host#s3cret", "this one holds user:password@, ? or #"),
        ("http://s3cret", "this one is none of them"),
        ("s3cret:6379", "this one is none of them"),
        ("redis://", "this one is none of them"),
        ("redis://s3cret:0", "this one is none of them"),
        ("redis://host:s3cret", "its host or its port cannot be read"),
        ("redis://[s3cret", "its host or its port cannot be read"),
        ("redis://host/s3cret", "after the slash stands the number of a database"),
        ("redis://host:1/ 0", "this one holds a space or a character that cannot be seen"),
        ("unix://s3cret/sock", "this one names no socket: three slashes, and PATH"),
        ("unix:///", "this one names no socket: three slashes, and PATH"),
    ],
)
def test_what_is_no_address_is_not_repeated(url: str, fault: str) -> None:
    told = problem(Url, url)
    assert told.startswith(PLACES + fault)
    assert "s3cret" not in told


def test_the_name_of_a_variable_not_what_it_holds() -> None:
    assert TypeAdapter(Variable).validate_python("REDIS_PASSWORD") == "REDIS_PASSWORD"
    for password in ("correct horse", "hunter2!", "a1b2c3d4e5f6a7b8c9d0e1f2", ""):
        told = problem(Variable, password)
        assert told.startswith("expected the NAME of the environment variable that holds the password")
        assert not password or password not in told


@pytest.mark.parametrize("hours", [0, -1.0, 100_000.0, float("nan")])
def test_hours(hours: float) -> None:
    assert problem(Hours, hours)
