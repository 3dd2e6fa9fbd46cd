import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from plugins.scenario.synthetic import FOLDER, SyntheticScenarios
from runner.domains.memory.phrases import Phrases, Slot
from runner.domains.memory.records import Conversation, Probe
from runner.domains.memory.timeline import current_facts, text_of_turn
from runner.text.matching import shows, shows_inside

COUNT = 24
DIGEST = "import tests.plugins.scenario.test_synthetic as t; print(t.digest(t.few()))"


@cache
def conversations() -> list[Conversation]:
    return SyntheticScenarios(conversations=COUNT).load()[0]


def probes() -> list[tuple[Conversation, Probe]]:
    return [(conversation, probe) for conversation in conversations() for probe in conversation.probes]


def digest(made: list[Conversation]) -> str:
    text = json.dumps([asdict(each) for each in made], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def few(seed: int = 42) -> list[Conversation]:
    return SyntheticScenarios(conversations=8, seed=seed).load()[0]


def test_the_same_seed_makes_the_same_bytes_in_every_process() -> None:
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run([sys.executable, "-c", DIGEST], env=env, capture_output=True, text=True, check=True)
    assert digest(few()) == other.stdout.strip()
    assert digest(few(43)) != other.stdout.strip()


def test_more_conversations_leave_the_first_ones_as_they_are() -> None:
    assert SyntheticScenarios(conversations=7).load()[0] == conversations()[:7]


def test_lengths_languages_and_tenants_are_spread() -> None:
    lengths = [len(each.turns) for each in conversations()]
    assert 10 <= min(lengths) < 20
    assert 150 < max(lengths) <= 200
    assert Counter(each.language for each in conversations()) == {"ko": COUNT // 2, "en": COUNT // 2}
    assert Counter((each.language, each.tenant) for each in conversations()) == {
        (language, f"tenant-{n}"): COUNT // 8 for language in ("ko", "en") for n in (1, 2, 3, 4)
    }
    assert len({each.id for each in conversations()}) == COUNT
    assert SyntheticScenarios(conversations=7).load()[1] == ()


def test_settings_are_kept() -> None:
    made, _ = SyntheticScenarios(
        conversations=6, turns_min=12, turns_max=12, languages=["en"], tenants=1, updates=0, unanswerable=0
    ).load()
    assert {len(each.turns) for each in made} == {12}
    assert {each.language for each in made} == {"en"}
    assert all(probe.answerable and not probe.canaries for each in made for probe in each.probes)
    assert all(not probe.forbidden for each in made for probe in each.probes)
    assert all(len({fact.key for fact in each.facts.values()}) == len(each.facts) for each in made)


def test_shares_come_out_as_they_were_set() -> None:
    without = sum(not probe.answerable for _, probe in probes()) / len(probes())
    assert 0.10 < without < 0.20
    many, _ = SyntheticScenarios(conversations=COUNT // 2, updates=0.9, unanswerable=0.5).load()
    asked = [probe for each in many for probe in each.probes]
    assert 0.4 < sum(not probe.answerable for probe in asked) / len(asked) < 0.6
    assert _changed(many) > 1.5 * _changed(conversations())


def _changed(conversations: list[Conversation]) -> float:
    """Share of keys that have more than one value, with a place left to change them."""
    counts = [n for each in conversations for n in Counter(fact.key for fact in each.facts.values()).values()]
    return sum(n > 1 for n in counts) / len(counts)


def test_a_value_is_said_in_its_turn_and_in_no_other() -> None:
    for conversation in conversations():
        texts = {turn.number: text_of_turn(turn) for turn in conversation.turns}
        for fact in conversation.facts.values():
            assert [number for number, text in texts.items() if shows(text, fact.forms)] == [fact.turn], fact


def test_every_statement_names_its_key() -> None:
    for conversation in conversations():
        for fact in conversation.facts.values():
            user = conversation.turns[fact.turn - 1].user
            assert all(word in user for word in fact.key.split()), (fact, user)


def test_probes_expect_what_is_true_and_forbid_what_was() -> None:
    for conversation, probe in probes():
        current = current_facts(conversation.facts.values(), probe.after_turn)
        expected = [conversation.facts[id] for id in probe.expected]
        assert all(current[fact.key] is fact for fact in expected)
        keys = {fact.key for fact in expected}
        stale = {
            id
            for id, fact in conversation.facts.items()
            if fact.key in keys and fact.turn <= probe.after_turn and fact not in expected
        }
        assert set(probe.forbidden) == stale
        assert probe.answerable == bool(expected)
        assert probe.evidence == tuple(f"turn-{fact.turn}" for fact in expected)
        assert probe.answers == ((", ".join(fact.value for fact in expected),) if expected else ())
        assert all(fact.key in probe.question for fact in expected)


def test_what_cannot_be_answered_was_never_told() -> None:
    keys = {language: [slot.key for slot in slots_of(language)] for language in ("ko", "en")}
    for conversation, probe in probes():
        if not probe.answerable:
            asked = [key for key in keys[str(conversation.language)] if re.search(rf"(?<!\w){key}", probe.question)]
            assert asked
            assert not {fact.key for fact in conversation.facts.values()} & set(asked)


def test_ages_of_what_is_asked_for_are_spread_evenly() -> None:
    long = [each for each in conversations() if len(each.turns) >= 120]
    ages = Counter(
        sum(probe.after_turn - each.facts[probe.expected[0]].turn >= edge for edge in (5, 10, 20, 50, 100))
        for each in long
        for probe in each.probes
        if probe.answerable
    )
    assert set(ages) == set(range(6))
    assert max(ages.values()) <= 2 * min(ages.values())


def test_probes_are_asked_in_order_at_checkpoints() -> None:
    for conversation in conversations():
        turns = [probe.after_turn for probe in conversation.probes]
        assert turns == sorted(turns)
        assert all(turn % 5 == 0 or turn == len(conversation.turns) for turn in turns)
        assert [probe.id for probe in conversation.probes] == [f"p{n}" for n in range(1, len(turns) + 1)]
        assert 4 <= len(turns) <= 12


def test_the_code_of_a_tenant_is_told_to_it_alone() -> None:
    codes = {canary for _, probe in probes() for canary in probe.canaries}
    assert len(codes) == 4
    own = {}
    for conversation in conversations():
        everything = "\n".join(map(text_of_turn, conversation.turns))
        (own[conversation.tenant],) = told = {code for code in codes if shows_inside(everything, [code])}
        assert all(set(probe.canaries) == codes - told for probe in conversation.probes)
    assert set(own.values()) == codes


AFTER_CONSONANT = {"은", "을", "이", "으로", "이에요", "과", "이군요"}
AFTER_VOWEL = {"는", "를", "가", "로", "예요", "와", "군요"}


def test_korean_particles_fit() -> None:
    seen: Counter[str] = Counter()
    for conversation in conversations():
        for fact in conversation.facts.values() if conversation.language == "ko" else ():
            text = text_of_turn(conversation.turns[fact.turn - 1])
            assert not re.search(r"[\[\]{}]", text)
            for word in (fact.key, fact.value):
                for particle in re.findall(rf"{re.escape(word)}([가-힣]+)", text):
                    seen[particle] += 1
                    if particle in AFTER_CONSONANT | AFTER_VOWEL:
                        assert particle in _fitting(word[-1]), text
    assert AFTER_VOWEL | AFTER_CONSONANT - {"과"} <= seen.keys() | {"와"}


def _fitting(last: str) -> set[str]:
    final = (ord(last) - ord("가")) % 28 if last >= "가" else {"%": 0}.get(last, 8 if last in "178" else 0)
    if last in "036":
        final = 1
    if final == 8:  # ㄹ
        return AFTER_CONSONANT - {"으로"} | {"로"}
    return AFTER_CONSONANT if final else AFTER_VOWEL


def slots_of(language: str) -> list[Slot]:
    return [slot for domain in Phrases.read(FOLDER / f"{language}.yaml").domains for slot in domain.slots]


@pytest.mark.parametrize("language", ["ko", "en"])
def test_no_key_is_part_of_another_and_no_value_of_any_phrase(language: str) -> None:
    phrases = Phrases.read(FOLDER / f"{language}.yaml")
    slots = slots_of(language)
    for one, other in combinations([slot.key for slot in slots], 2):
        assert one not in other
        assert other not in one
    texts = "\n".join(each for each in _texts(phrases.data, "values") if "form" not in each)
    spoken = " | ".join([texts, *(slot.key for slot in slots)])
    shown = [value for slot in slots for value in slot.values if shows(spoken, [value])]
    assert shown == []


def _texts(data: Any, *left_out: str) -> list[str]:
    if isinstance(data, dict):
        return [text for name, each in data.items() if name not in left_out for text in _texts(each, *left_out)]
    if isinstance(data, list):
        return [text for each in data for text in _texts(each, *left_out)]
    return [data] if isinstance(data, str) else []


@pytest.mark.parametrize("language", ["ko", "en"])
def test_numbers_are_written_as_people_do(language: str) -> None:
    values = [value for slot in slots_of(language) for value in slot.values]
    assert not [value for value in values if re.search(r"\.0\D|\d\.\d{2,}|\d{5,}", value)]


def test_settings_that_contradict_each_other() -> None:
    assert SyntheticScenarios().preflight() == []
    assert [str(each) for each in SyntheticScenarios(turns_min=30, turns_max=20).preflight()] == [
        "scenario.turns_max: expected at least scenario.turns_min (30), found 20"
    ]
