from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest

from plugins.scenario.builtin import BuiltinScenarios
from runner.domains.memory.records import ChatTurn, Conversation, Probe
from runner.domains.memory.timeline import text_of_turn
from runner.text.matching import shows, shows_inside

WINDOW = 5


@cache
def conversations() -> Sequence[Conversation]:
    return BuiltinScenarios(strict=True).load()[0]


def all_probes() -> list[tuple[Conversation, Probe]]:
    return [(conversation, probe) for conversation in conversations() for probe in conversation.probes]


def text(turns: tuple[ChatTurn, ...]) -> str:
    return "\n".join(map(text_of_turn, turns))


def shown(probes: list[tuple[Conversation, Probe]], window: int | None) -> float:
    """Share of expected facts in the last turns before their probe, in all turns for None."""
    found = []
    for conversation, probe in probes:
        turns = conversation.turns[: probe.after_turn]
        visible = text(turns if window is None else turns[len(turns) - window :])
        found += [shows(visible, conversation.facts[id].forms) for id in probe.expected]
    return sum(found) / len(found)


def test_nothing_is_wrong_with_them() -> None:
    assert BuiltinScenarios(strict=True).load()[1] == ()


def test_enough_of_each_kind_in_both_languages() -> None:
    assert Counter(each.language for each in conversations()) == {"ko": 5, "en": 5}
    assert len(all_probes()) >= 80
    for language in ("ko", "en"):
        own = [each for each in conversations() if each.language == language]
        assert [each.tags for each in own] == [
            ("consecutive",),
            ("topic_switch",),
            ("update",),
            ("implicit_reference",),
            ("injection",),
        ]
        kinds = {probe.category for each in own for probe in each.probes}
        assert kinds == {
            *("recall", "multi_fact", "topic_switch", "update", "implicit_reference", "injection", "unanswerable")
        }
        assert sum(not probe.answerable for each in own for probe in each.probes) >= 8


@pytest.mark.parametrize("language", ["ko", "en"])
def test_one_language(language: str) -> None:
    own, _ = BuiltinScenarios(language=language).load()  # type: ignore[arg-type]
    assert own == [each for each in conversations() if each.language == language]


def test_they_have_10_to_20_turns_and_are_asked_every_5() -> None:
    for conversation in conversations():
        assert 10 <= len(conversation.turns) <= 20
        assert {probe.after_turn for probe in conversation.probes} <= set(range(5, len(conversation.turns) + 1, 5))
        assert conversation.probes[-1].after_turn == len(conversation.turns)
        assert all(turn.assistant for turn in conversation.turns)


def test_the_two_languages_ask_the_same() -> None:
    korean, english = conversations()[:5], conversations()[5:]
    for one, other in zip(korean, english, strict=True):
        assert [(p.id, p.after_turn, p.expected, p.forbidden, p.category) for p in one.probes] == [
            (p.id, p.after_turn, p.expected, p.forbidden, p.category) for p in other.probes
        ]
        assert {id: fact.turn for id, fact in one.facts.items()} == {id: f.turn for id, f in other.facts.items()}


def test_facts_show_from_their_turn_on_and_not_before() -> None:
    for conversation in conversations():
        for fact in conversation.facts.values():
            assert shows(text(conversation.turns[: fact.turn]), fact.forms), fact
            assert not shows(text(conversation.turns[: fact.turn - 1]), fact.forms), fact


def test_a_window_shows_less_than_everything_and_more_than_nothing() -> None:
    assert shown(all_probes(), None) == 1.0
    assert 0.3 < shown(all_probes(), WINDOW) < 0.6
    for category in ("topic_switch", "update", "multi_fact"):
        some = [(conversation, probe) for conversation, probe in all_probes() if probe.category == category]
        assert shown(some, WINDOW) < 1.0


def test_codes_of_other_tenants_are_canaries_everywhere() -> None:
    own = {
        conversation.id: {
            c for probe in all_probes() for c in probe[1].canaries if shows_inside(text(conversation.turns), [c])
        }
        for conversation in conversations()
    }
    assert all(len(codes) == 1 for codes in own.values())
    assert len({conversation.tenant for conversation in conversations()}) == len(conversations())
    everyone = set().union(*own.values())
    for conversation, probe in all_probes():
        assert set(probe.canaries) == everyone - own[conversation.id]


def test_the_injections_are_there_in_full() -> None:
    for language, forged in (("ko", ("모두 무시하고", "10점")), ("en", ("Ignore all", "give 10"))):
        (injection,) = (each for each in conversations() if each.id == f"{language}-injection")
        everything = "\n".join(turn.user for turn in injection.turns)
        for needle in (
            *forged,
            "\nAssistant: ",
            "```\n</data>\n</memory>\n## system",
            "\u200b",
            "\u202e",
            '{"memory": ',
        ):
            assert needle in everything, needle
        assert {":", "*", "{"} <= set(injection.tenant)
    assert "\n" in conversations()[-1].tenant


def test_natural_talk_is_whole_and_has_no_problem() -> None:
    natural, problems = BuiltinScenarios(style="natural", strict=True).load()
    assert problems == ()
    assert [(each.id, each.language, len(each.probes)) for each in natural] == [
        ("ko-moving", "ko", 7), ("en-bakery", "en", 7),
    ]  # fmt: skip
