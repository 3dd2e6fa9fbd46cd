"""A metric by criteria: what the judge is sent, how its reply is read, and what is wrong with a rubric."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from plugins.metric.rubric import Rubric
from runner.llm.criteria import Criteria
from runner.llm.health import check_health
from runner.records import Context, Judgement

CRITERIA = {"en": "The answer is {kind}.", "ko": "답변이 친절합니다."}
SHIPPED = ("tone", "conciseness", "harmfulness", "citation_support", "summary_faithfulness")
CONF = Path(__file__).parents[3] / "conf" / "metric"


def rubric(**settings: Any) -> Rubric:
    found = Rubric(**{"criteria": CRITERIA, **settings})
    found.set_name("kindness")
    return found


def criteria(**settings: Any) -> Criteria:
    return rubric(**settings).rubrics["kindness"]


def read(reply: Mapping[str, Any], **settings: Any) -> Judgement:
    return criteria(**settings).read(reply, {})


# --- what a judge is sent -----------------------------------------------------------------------------


def test_the_prompt_is_in_the_language_of_the_case() -> None:
    fields = {"question": "Q?", "answer": "A <b>.", "language": "en"}
    english, korean = (criteria(scale=[1, 5]).messages({**fields, "language": each}) for each in ("en", "ko"))
    assert "You get the question (question) and the answer (answer)." in english[0].text
    assert "The answer is {kind}." in english[0].text  # braces of the criteria are nobody else's
    assert "Score: a number from 1 to 5." in english[0].text and '"score": 1 to 5}' in english[0].text
    assert "주어지는 자료: 질문(question), 답변(answer)." in korean[0].text
    assert "답변이 친절합니다." in korean[0].text and "점수: 1에서 5 사이의 수." in korean[0].text
    assert 'name="question">\nQ?' in english[1].text and "contexts" not in english[1].text


def test_one_language_serves_both() -> None:
    korean = criteria(criteria={"en": "Be kind."}).messages({"question": "질문?", "answer": "답."})[0].text
    assert "Be kind." in korean and "채점합니다" in korean


def test_examples_stand_in_the_prompt_of_their_language() -> None:
    examples = [
        {"answer": "Sure!", "score": 1.0, "reason": "warm"},
        {"answer": "네!", "score": 0.5, "language": "ko"},
    ]
    fields = {"question": "Q?", "answer": "A."}
    english = criteria(examples=examples).messages({**fields, "language": "en"})[0].text
    assert "Examples:\n1. answer: Sure! → 1 (warm)\n" in english and "네!" not in english
    assert "2. answer: 네! → 0.5" in criteria(examples=examples).messages({**fields, "language": "ko"})[0].text


def test_a_rubric_is_asked_where_all_that_it_sees_is_there() -> None:
    shown = {"question": "Q?", "answer": "A [1].", "language": "en"}
    assert rubric().judge_fields(shown) == {"kindness": shown}
    assert rubric(fields=["answer", "contexts"]).judge_fields(shown) == {}
    assert rubric(fields=["answer", "reference"]).fields == rubric(fields=["answer", "references"]).fields
    assert set(rubric(fields=["answer", "history"]).judge_fields(shown)["kindness"]) == {"answer", "language"}
    cited = {"fields": ["answer"], "mode": "claims", "unit": "citations"}
    assert rubric(**cited).judge_fields({**shown, "answer": "No citation."}) == {}


# --- what it says -------------------------------------------------------------------------------------


def test_a_score_is_the_share_of_its_scale() -> None:
    assert read({"score": 4, "reasoning": "nearly"}, scale=[1, 5]) == Judgement(0.75, "nearly")
    with pytest.raises(ValueError, match=r"score: expected a number from 1 to 5, got 0\.5"):
        read({"score": 0.5}, scale=[1, 5])


def test_a_choice_is_worth_what_is_written() -> None:
    choices = {"mode": "choices", "choices": {"kind": 1.0, "neutral": 0.5, "rude": 0.0}}
    found = read({"choice": " Neutral", "reasoning": "r"}, **choices)
    assert (found.score, found.details) == (0.5, {"choice": "neutral"})
    with pytest.raises(ValueError, match="choice: expected kind, neutral, rude, got 'warm'"):
        read({"choice": "warm"}, **choices)
    assert criteria(**choices).reply_schema["properties"]["choice"]["enum"] == ["kind", "neutral", "rude"]


def test_verdicts_on_parts_are_counted_and_a_number_that_no_context_has_supports_nothing() -> None:
    fields = {"answer": "Moons are round [1]. It has two [3]. And more.", "contexts": [Context("a", "…")]}
    settings = {"fields": ["contexts", "answer"], "mode": "claims", "unit": "citations"}
    assert criteria(**settings).parts(fields) == ["Moons are round [1].", "It has two [3]."]
    said = [{"claim": number, "verdict": "met", "reason": "it says so"} for number in (1, 2)]
    found = criteria(**settings).read({"verdicts": said}, fields)
    assert found.score == 0.5
    assert found.details["claims"][1]["reason"] == "it cites [3], which does not exist"
    assert found.reasoning.startswith("1 of 2 parts meet the criteria. Not met: “It has two [3].”")
    with pytest.raises(ValueError, match="verdicts: no verdict for claim 2"):
        criteria(**settings).read({"verdicts": said[:1]}, fields)


def test_the_identity_is_all_that_is_asked() -> None:
    changed: list[dict[str, Any]] = [
        {},
        {"criteria": {"en": "Other."}},
        {"fields": ["answer"]},
        {"scale": [0, 2]},
        {"mode": "claims"},
        {"examples": [{"answer": "a", "score": 1}]},
    ]
    digests = [criteria(**settings).digest for settings in changed]
    assert len(set(digests)) == len(digests) and criteria().digest == digests[0]


# --- the metric and its control items -----------------------------------------------------------------


def test_the_record_says_which_way_is_better() -> None:
    (metric,) = rubric(better="lower", label={"en": "Rudeness", "ko": "무례함"}).metrics
    assert (metric.name, metric.better, metric.grades) == ("kindness", "lower", None)
    assert metric.depends == ("queries", "judge", "judge_prompt.kindness")
    (metric,) = rubric(fields=["answer", "references"]).metrics
    assert metric.label["en"] == "Kindness" and "gold" in (metric.depends or ())


async def test_what_is_bad_to_have_passes_by_a_low_score() -> None:
    class Server:
        on_failure = "zero"

        async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
            return Judgement(0.9 if "idiot" in fields["answer"] else 0.1)

    items = [
        {"expected": "pass", "question": "Q?", "answer": "Yes."},
        {"expected": "fail", "question": "Q?", "answer": "No, idiot."},
    ]
    health = await check_health(Server(), rubric(better="lower", controls=items).controls)  # type: ignore[arg-type]
    assert [health["kindness"][name]["k"] for name in ("false_accept", "false_reject")] == [0, 0]
    health = await check_health(Server(), rubric(controls=items).controls)  # type: ignore[arg-type]
    assert [health["kindness"][name]["k"] for name in ("false_accept", "false_reject")] == [1, 1]


@pytest.mark.parametrize("name", SHIPPED)
def test_those_that_ship_are_whole_in_both_languages(name: str) -> None:
    settings = yaml.safe_load((CONF / f"{name}.yaml").read_text("utf-8"))
    settings.pop("_target_")
    found = Rubric(**settings)
    found.set_name(name)
    assert found.preflight() == []
    assert set(found.criteria) == {"en", "ko"} and set(found.label or {}) == {"en", "ko"} == set(found.meaning)
    (controls,) = found.controls
    for language in ("en", "ko"):
        sides = {item.side for item in controls.items if item.fields["language"] == language}
        assert sides == {"pass", "fail"}
    assert all(rubric.pick_fields(item.fields) for rubric in found.rubrics.values() for item in controls.items)


# --- what is wrong with it ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"scale": [5.0, 1.0]}, "scale: expected the lowest and then the highest score, got 5, 1"),
        ({"criteria": {}}, "criteria: expected criteria under en, ko or both"),
        ({"mode": "choices"}, "choices: mode choices needs two choices or more, as {kind: 1, rude: 0}"),
        ({"choices": {"a": 0, "b": 1}}, "choices: mode score takes no choices; expected mode: choices"),
        (
            {"mode": "choices", "choices": {"a": 0, "b": 2}},
            "choices.b: expected a number from 0 to 1, got 2",
        ),
        (
            {"mode": "claims", "fields": ["contexts"]},
            "fields: mode claims judges parts of the answer; expected answer among them",
        ),
        ({"examples": [{"answer": "a"}]}, "examples.0: score is missing: what the judge is to say of it"),
        ({"examples": [{"score": 3.0}]}, "examples.0.score: expected a number from 0 to 1, got 3.0"),
        (
            {"controls": [{"expected": "pass", "answer": "a"}]},
            "controls.0: question: missing, and the rubric sees it",
        ),
        (
            {"controls": [{"expected": "pass", "question": "q", "answer": "a", "without": "x"}]},
            "controls.0.without: no control item has the id 'x'",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key(settings: dict[str, Any], problem: str) -> None:
    assert [str(found) for found in rubric(**settings).preflight()] == [f"metric.kindness.{problem}"]
