"""The talks that come with the program, held against the documents that they are about."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from plugins.dataset.demo import DemoDataset
from plugins.dataset.faq_guide import FaqGuideDataset
from plugins.scenario.copilot import CopilotScenarios
from runner.domains.memory.copilot import search_text
from runner.domains.memory.records import Conversation, MemoryContent
from runner.text.language import detect_language
from runner.text.words import all_forms, content_words

ROOT = Path(__file__).resolve().parents[3]
About = Literal["faq_guide", "demo"]
DATA: Mapping[About, Any] = {"faq_guide": FaqGuideDataset, "demo": DemoDataset}
TALKS = {"faq_guide": ("cost", "setup", "billing", "hops"), "demo": ("team", "usage", "security")}
CATEGORIES = {
    "faq_guide": {"document", "follow_up", "multi_hop", "recall", "mixed", "unanswerable"},
    "demo": {"document", "follow_up", "by_plan", "recall", "mixed", "unanswerable"},
}
both = pytest.mark.parametrize("about", list(DATA))


def talks(about: About) -> list[Conversation]:
    return CopilotScenarios(about=about).load()[0]


@both
def test_talks_are_read_without_a_problem(about: About) -> None:
    found, problems = CopilotScenarios(about=about).load()
    assert problems == ()
    assert [talk.id for talk in found] == [f"{language}-{name}" for language in ("ko", "en") for name in TALKS[about]]
    korean = CopilotScenarios(about=about, language="ko").load()[0]
    assert [talk.id for talk in korean] == [f"ko-{name}" for name in TALKS[about]]


@both
def test_notes_are_documents_in_the_language_of_the_talk_and_hold_the_known_answers(about: About) -> None:
    texts = {document.id: document.text for document in DATA[about]().load().corpus.documents}
    for talk in talks(about):
        for probe in talk.probes:
            assert all(note in texts and note.startswith(f"{talk.language}-") for note in probe.notes), probe.id
            where = " ".join([*(texts[note] for note in probe.notes), *(turn.user for turn in talk.turns)])
            assert all(answer.casefold() in where.casefold() for answer in probe.answers), probe.id


@both
def test_every_question_is_a_turn_and_what_is_known_of_it_fits_its_category(about: About) -> None:
    for talk in talks(about):
        for probe in talk.probes:
            assert probe.question == talk.turns[probe.after_turn].user
            assert detect_language(probe.question) == talk.language
            if probe.category != "follow_up":  # with another question of either kind
                assert bool(probe.notes) == (probe.category in ("document", "by_plan", "multi_hop", "mixed")), probe.id
            assert probe.answerable == (probe.category != "unanswerable")
            assert probe.expected or probe.category not in ("recall", "mixed")


@both
@pytest.mark.parametrize("language", ["ko", "en"])
def test_both_languages_have_all_categories(about: About, language: str) -> None:
    counts = Counter(probe.category for talk in talks(about) if talk.language == language for probe in talk.probes)
    assert set(counts) == CATEGORIES[about] and sum(counts.values()) == {"faq_guide": 45, "demo": 33}[about]


@both
def test_codes_of_other_tenants_are_those_of_the_other_talks(about: About) -> None:
    for language in ("ko", "en"):
        found = [talk for talk in talks(about) if talk.language == language]
        for talk in found:
            others = " ".join(turn.user for other in found if other is not talk for turn in other.turns)
            assert all(canary in others for probe in talk.probes for canary in probe.canaries)


def searched(about: About) -> dict[str, str]:
    """What a retriever is asked by a memory of the last five turns."""
    return {
        f"{talk.id}/{probe.id}": search_text(
            probe.question, MemoryContent(recent=talk.turns[max(0, probe.after_turn - 5) : probe.after_turn])
        )
        for talk in talks(about)
        for probe in talk.probes
    }


@both
def test_questions_that_go_on_are_searched_behind_the_one_before_and_others_are_not(about: About) -> None:
    found = searched(about)
    for talk in talks(about):
        for probe in talk.probes:
            text = found[f"{talk.id}/{probe.id}"]
            if probe.category in ("document", "multi_hop", "mixed"):
                assert text == probe.question
    follow_ups = [id for talk in talks(about) for probe in talk.probes if probe.category == "follow_up"
                  if found[id := f"{talk.id}/{probe.id}"] == probe.question]  # fmt: skip
    left = {"faq_guide": [], "demo": ["ko-security/grace", "ko-security/how-far", "en-security/grace"]}
    assert follow_ups == left[about]  # nothing in their words shows that they go on


def hops() -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Question, gold documents in the order in which one leads to the next, and known answers."""
    return [
        (probe.question, probe.notes, probe.answers)
        for talk in talks("faq_guide")
        for probe in talk.probes
        if probe.category == "multi_hop" and probe.answers
    ]


def test_what_needs_several_searches_is_answered_by_the_last_document_alone() -> None:
    texts = {document.id: document.text for document in FaqGuideDataset().load().corpus.documents}
    assert len(hops()) == 20
    for question, notes, (answer,) in hops():
        assert answer in texts[notes[-1]], question
        assert all(answer not in texts[note] for note in notes[:-1]), question


def test_a_document_names_what_leads_to_the_next() -> None:
    """A word that the question lacks, and that few other documents hold."""
    documents = FaqGuideDataset().load().corpus.documents
    forms = {each.id: all_forms(content_words(f"{each.title} {each.text}")) for each in documents}
    for question, notes, _ in hops():
        asked = all_forms(content_words(question))
        for one, other in pairwise(notes):
            shared = (forms[one] & forms[other]) - asked
            assert any(sum(form in held for held in forms.values()) <= 4 for form in shared), (question, one, other)


def test_the_example_of_the_design() -> None:
    found = searched("faq_guide")
    assert found["ko-cost/january"] == "11월 비용을 분석해 줘 1월은?"
    assert found["en-cost/january"] == "Analyze the cost of November. And January?"
    assert found["ko-setup/token"] == "API는 1분에 몇 번까지 요청할 수 있나요? 토큰은요?"


def test_configuration_writes_out_every_setting_and_its_default() -> None:
    conf = yaml.safe_load((ROOT / "conf/scenario/copilot.yaml").read_text(encoding="utf-8"))
    assert conf.pop("_target_") == "plugins.scenario.copilot.CopilotScenarios"
    assert conf == {"about": "faq_guide", "language": "both", "strict": "${strict}"}
