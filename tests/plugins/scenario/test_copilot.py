"""The talks that come with the program, held against the documents that they are about."""

from collections import Counter

import pytest

from plugins.dataset.demo import DemoDataset
from plugins.scenario.copilot import CopilotScenarios
from runner.memory.following import search_text
from runner.memory.records import Remembered
from runner.text.language import detect_language

CATEGORIES = {"document", "follow_up", "by_plan", "recall", "mixed", "unanswerable"}


@pytest.fixture(scope="module")
def documents() -> dict[str, str]:
    return {document.id: document.text for document in DemoDataset().load().corpus.documents}


def test_talks_are_read_without_a_problem() -> None:
    talks, problems = CopilotScenarios().load()
    assert problems == ()
    assert [talk.id for talk in talks] == [
        f"{lang}-{name}" for lang in ("ko", "en") for name in ("team", "usage", "security")
    ]
    assert [talk.id for talk in CopilotScenarios(language="ko").load()[0]] == ["ko-team", "ko-usage", "ko-security"]


def test_notes_are_documents_in_the_language_of_the_talk_and_hold_the_known_answers(documents: dict[str, str]) -> None:
    for talk in CopilotScenarios().load()[0]:
        for probe in talk.probes:
            assert all(note in documents and note.startswith(f"{talk.language}-") for note in probe.notes)
            where = " ".join([*(documents[note] for note in probe.notes), *(turn.user for turn in talk.turns)])
            assert all(answer.casefold() in where.casefold() for answer in probe.answers), probe.id


def test_every_question_is_a_turn_and_says_what_its_category_says() -> None:
    for talk in CopilotScenarios().load()[0]:
        assert {probe.category for probe in talk.probes} <= CATEGORIES
        for probe in talk.probes:
            assert probe.question == talk.turns[probe.after_turn].user
            assert detect_language(probe.question) == talk.language
            assert (
                bool(probe.notes) == (probe.category in ("document", "by_plan", "mixed"))
                or probe.category == "follow_up"
            )
            assert probe.answerable == (probe.category != "unanswerable")
            assert bool(probe.expected) >= (probe.category in ("recall", "mixed"))


def test_both_languages_have_all_categories() -> None:
    talks = CopilotScenarios().load()[0]
    counts = Counter((talk.language, probe.category) for talk in talks for probe in talk.probes)
    assert {category for language, category in counts if language == "ko"} == CATEGORIES
    assert {category for language, category in counts if language == "en"} == CATEGORIES
    assert sum(counts.values()) == 66


def test_codes_of_other_tenants_are_those_of_the_other_talks() -> None:
    for language in ("ko", "en"):
        talks = CopilotScenarios(language=language).load()[0]  # type: ignore[arg-type]
        for talk in talks:
            others = " ".join(turn.user for other in talks if other is not talk for turn in other.turns)
            assert all(canary in others for probe in talk.probes for canary in probe.canaries)


def test_questions_that_go_on_are_searched_with_the_question_before() -> None:
    talks = {talk.id: talk for talk in CopilotScenarios().load()[0]}
    found = {}
    for talk in talks.values():
        for probe in talk.probes:
            recent = talk.turns[max(0, probe.after_turn - 5) : probe.after_turn]
            found[f"{talk.id}/{probe.id}"] = search_text(probe.question, Remembered(recent=recent))
    assert found["ko-team/versions"] == "휴지통에 들어간 파일은 며칠 뒤에 지워지나요? 그럼 버전 기록은요?"
    assert found["ko-team/expiry"] == "공유 링크에 비밀번호를 걸 수 있나요? 그 링크는 언제 만료돼요?"
    assert found["ko-usage/january"] == "11월 API 호출을 정리해 줘 1월은?"
    assert found["en-team/expiry"] == "How do I protect a link with a password? When does it expire?"
    assert found["en-usage/january"] == "Summarize the API calls of November. And January?"
    assert found["ko-security/backup"] == "컴퓨터 백업은 얼마나 자주 실행되나요?"
    assert found["en-security/ransomware"] == "What should we do after a ransomware attack?"
