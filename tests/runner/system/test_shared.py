"""What is made once for the cells of a command."""

from pathlib import Path

from runner.system.shared import KEPT, digest_of, make_once, settings_of, settle, share_in_worker, sharing


class Part:
    """Anything that is made from settings."""


def test_what_is_made_once_lasts_as_long_as_its_command() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    for _ in range(2):
        make_once("kind", "a", lambda: make("outside"))
    assert made == ["outside", "outside"]
    with sharing():
        with sharing():
            assert [make_once("kind", "a", lambda: make("a")) for _ in range(2)] == ["a", "a"]
        assert make_once("kind", "a", lambda: make("again")) == "a"  # the inner one was no end
        assert make_once("other", "a", lambda: make("other")) == "other"
        for number in range(KEPT):
            make_once("kind", number, lambda number=number: make(str(number)))
        assert make_once("kind", "a", lambda: make("a anew")) == "a anew"  # the latest few of a kind are kept
    with sharing():
        assert make_once("kind", "a", lambda: make("next")) == "next"


def test_a_worker_shares_between_the_cells_of_one_command(monkeypatch) -> None:
    from runner.system import shared as module

    monkeypatch.setattr(module, "_command", "")
    share_in_worker("one")
    assert [make_once("kind", "a", lambda: "first"), make_once("kind", "a", lambda: "second")] == ["first", "first"]
    share_in_worker("one")
    assert make_once("kind", "a", lambda: "third") == "first"
    share_in_worker("two")
    assert make_once("kind", "a", lambda: "fourth") == "fourth"
    module._objects.clear()


def test_settings_are_those_of_one_object(tmp_path: Path) -> None:
    part = Part()
    settle(part, lambda: "settings")
    assert (settings_of(part), settings_of(Part())) == ("settings", None)
    settle(3, lambda: "settings")  # cannot be followed
    assert settings_of(3) is None


def test_what_json_can_say_has_a_digest() -> None:
    told = [digest_of(value) for value in ({"a": 1}, {"a": True}, {"a": "1"}, ["a", 1])]
    assert len(set(told)) == 4 and told[0] == digest_of({"a": 1})
    assert digest_of({"a": "\ud800"}) is digest_of({"a": object()}) is None
