"""Rubrics are files: read, checked, hashed, replaced."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.errors import EvaluationError, InputError
from runner.llm.fencing import NOTICE
from runner.llm.graded import INACCURACIES, NOISES
from runner.llm.rubrics import ASKED_FOR, FOLDER, built_in_rubric, names, read_rubric, rubrics
from runner.records import Context, Turn

FIELDS: dict[str, Any] = {
    "question": "How long do refunds take?",
    "answer": "Five days.",
    "contexts": [Context("a#0", "Refunds take five days.")],
    "claims": ["Five days."],
    "references": ["Within five days."],
    "reference_claims": ["Within five days."],
    "memory": "Refunds take five days.",
    "entities": "",
    "anchor": "Five days.",
    "context": "Refunds take five days.",
    "target": "Refunds",
    "reason": "Both are about “refunds”.",
    "language": None,
}
SCENES = [(name, mode) for name in names() for mode in built_in_rubric(name).modes]


def file_of(name: str, **changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return {**content, **changes}


def written(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "own.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True), "utf-8")
    return str(path)


def refusal(tmp_path: Path, content: Any, name: str = "faithfulness", mode: str = "score") -> str:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as raised:
        rubrics({name: path}, mode)
    return str(raised.value).replace(path, "FILE")


# --- the ones that come with the program --------------------------------------------------------------


def test_the_rubrics_and_what_they_see() -> None:
    seen = {(name, mode): [field.name for field in built_in_rubric(name).modes[mode].fields_] for name, mode in SCENES}
    assert seen == {
        ("answer_correctness", "score"): ["history", "question", "references", "answer"],
        ("answer_correctness", "claims"): [
            *("history", "question", "references", "answer", "claims", "reference_claims"),
        ],
        ("context_precision", "chunks"): ["history", "question", "references", "contexts"],
        ("context_recall", "reference"): ["history", "question", "contexts", "claims"],
        ("answer_relevancy", "score"): ["history", "question", "answer"],
        ("faithfulness", "score"): ["history", "question", "contexts", "answer"],
        ("faithfulness", "claims"): ["history", "question", "contexts", "claims"],
        ("link_reason", "score"): ["anchor", "context", "target", "reason"],
        ("memory", "graded"): ["question", "memory", "entities", "reference", "stale"],
        ("task_completion", "score"): ["objective", "steps", "result"],
    }


@pytest.mark.parametrize(("name", "mode"), SCENES)
def test_a_prompt_is_whole_in_both_languages(name: str, mode: str) -> None:
    asked = built_in_rubric(name).modes[mode]
    wanted = ASKED_FOR[mode]
    assert wanted in asked.reply_schema["required"]
    for text, hangul in ((asked.en, False), (asked.ko, True)):
        assert bool(re.search("[가-힣]", text)) is hangul
        for field in asked.fields_:
            assert field.name in text or field.name in ("question", "answer")
        assert "JSON" in text and f'"{wanted}"' in text
        if mode == "score":
            assert all(f"- {score}:" in text for score in ("1.0", "0.5", "0.0"))
        elif mode == "graded":
            bands = {"9-10": 4, "7-8": 4, "4-6": 4, "1-3": 3, "0": 3, "0-1": 1, "2-3": 1}  # noise has bands of its own
            assert {band: text.count(f"- {band}:") for band in bands} == bands
            assert all(f"- {name}" in text for name in (*set(INACCURACIES.values()), *NOISES))
        elif mode == "chunks":
            assert all(f"- {verdict}:" in text for verdict in ("true", "false"))
        else:
            assert all(f"- {verdict}:" in text for verdict in ("supported", "contradicted", "not_found"))
    assert asked.reply_schema["additionalProperties"] is False


def test_the_reason_comes_before_the_score() -> None:
    for name in ("answer_correctness", "answer_relevancy", "faithfulness"):
        assert list(built_in_rubric(name).modes["score"].reply_schema["properties"]) == ["reasoning", "score"]


# --- messages -----------------------------------------------------------------------------------------


def test_the_system_message_ends_with_the_notice_and_the_user_message_is_fenced_in_order() -> None:
    system, user = built_in_rubric("faithfulness").messages("score", FIELDS)
    assert (system.role, user.role) == ("system", "user")
    assert system.text == f"{built_in_rubric('faithfulness').modes['score'].en.strip()}\n\n{NOTICE['en']}"
    shown = re.findall(r'name="(\w+)"(?: number="(\d+)")?>\n(.*)\n', user.text)
    assert shown == [
        ("question", "", "How long do refunds take?"),
        ("contexts", "1", "Refunds take five days."),
        ("answer", "", "Five days."),
    ]


def test_answer_relevancy_never_sees_the_contexts() -> None:
    assert "Refunds take five days." not in built_in_rubric("answer_relevancy").messages("score", FIELDS)[1].text


def test_the_conversation_before_the_question_is_shown_where_there_is_one() -> None:
    plain = built_in_rubric("answer_relevancy").messages("score", FIELDS)[1].text
    assert built_in_rubric("answer_relevancy").messages("score", {**FIELDS, "history": []})[1].text == plain
    with_history = {**FIELDS, "history": [Turn("user", "Do you pay back?")]}
    assert "user: Do you pay back?" in built_in_rubric("answer_relevancy").messages("score", with_history)[1].text


@pytest.mark.parametrize(
    ("told", "question", "language"),
    [
        ("ko", "How long?", "ko"),
        ("en", "며칠 걸리나요?", "en"),
        (None, "환불은 며칠 걸리나요?", "ko"),
        (None, "How long does it take?", "en"),
        ("fr", "환불은 며칠 걸리나요?", "ko"),
    ],
)
def test_the_language_of_the_case_else_of_the_question(told: str | None, question: str, language: str) -> None:
    fields = {**FIELDS, "question": question, "language": told}
    asked = built_in_rubric("faithfulness")
    assert asked.language("score", fields) == language
    system, user = asked.messages("score", fields)
    assert system.text.endswith(NOTICE["ko" if language == "ko" else "en"])
    assert user.text.startswith("경계: " if language == "ko" else "Boundary: ")


def test_no_answer_is_an_empty_one() -> None:
    assert (
        'name="answer">\n\n</data-'
        in built_in_rubric("faithfulness").messages("score", {**FIELDS, "answer": None})[1].text
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"question": "x", "answer": "y"},
            "rubric faithfulness: the field 'contexts' is missing; given: answer, question",
        ),
        ({**FIELDS, "question": 3}, "rubric faithfulness: the field 'question' must be a text, got 3"),
        ({**FIELDS, "contexts": "a"}, "rubric faithfulness: the field 'contexts' must be a list, got 'a'"),
    ],
)
def test_fields_that_are_missing_or_of_another_kind(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        built_in_rubric("faithfulness").messages("score", fields)
    assert str(raised.value) == message


# --- rubrics of one's own -----------------------------------------------------------------------------


def test_a_rubric_of_ones_own_takes_the_place_of_one(tmp_path: Path) -> None:
    content = file_of("answer_relevancy")
    content["modes"]["score"]["en"] = "Grade as we do."
    path = written(tmp_path, content)
    chosen = rubrics({"answer_relevancy": path}, "score")
    assert chosen["faithfulness"] is built_in_rubric("faithfulness")
    assert chosen["answer_relevancy"].messages("score", FIELDS)[0].text == f"Grade as we do.\n\n{NOTICE['en']}"
    assert chosen["answer_relevancy"].digest != built_in_rubric("answer_relevancy").digest


def test_the_digest_is_that_of_the_text(tmp_path: Path) -> None:
    text = (FOLDER / "faithfulness.yaml").read_text(encoding="utf-8")
    assert read_rubric("faithfulness", written(tmp_path, text)).digest == built_in_rubric("faithfulness").digest
    assert read_rubric("faithfulness", written(tmp_path, f"{text}#")).digest != built_in_rubric("faithfulness").digest


def test_a_rubric_may_see_less(tmp_path: Path) -> None:
    content = file_of("faithfulness")
    content["modes"]["score"]["fields"] = [{"name": "answer", "kind": "text"}]
    own = rubrics({"faithfulness": written(tmp_path, content)}, "score")["faithfulness"]
    assert re.findall(r'name="(\w+)"', own.messages("score", FIELDS)[1].text) == ["answer"]


def test_a_name_of_ones_own_is_a_further_rubric(tmp_path: Path) -> None:
    path = written(tmp_path, file_of("answer_relevancy"))
    found = rubrics({"tone": path}, "claims")
    assert set(found) == {*names(), "tone"}
    assert found["tone"].name == "tone" and found["tone"].mode_for("claims") == "score"


def test_an_unknown_name() -> None:
    with pytest.raises(InputError) as raised:
        rubrics({"faithfullness": "x.yaml"}, "score")
    assert str(raised.value) == (
        "judge.rubrics.faithfullness: there is no such rubric; did you mean 'faithfulness'?"
    )  # fmt: skip


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"judge\.rubrics\.faithfulness: file not found: .*own\.yaml"):
        rubrics({"faithfulness": str(tmp_path / "own.yaml")}, "score")


def test_a_memory_rubric_is_asked_in_its_own_mode_whatever_the_judge_is_set_to(tmp_path: Path) -> None:
    assert {built_in_rubric("memory").mode_for(mode) for mode in ("score", "claims")} == {"graded"}
    assert [built_in_rubric("answer_relevancy").mode_for(mode) for mode in ("score", "claims")] == ["score", "score"]
    assert built_in_rubric("faithfulness").mode_for("claims") == "claims"
    own = file_of("memory")
    own["modes"]["graded"]["ko"] = "우리 기준대로 채점하십시오."
    asked = rubrics({"memory": written(tmp_path, own)}, "claims")["memory"].messages(
        "graded", {**FIELDS, "language": "ko"}
    )
    assert asked[0].text.startswith("우리 기준대로 채점하십시오.")
    own["modes"] = {"score": file_of("faithfulness")["modes"]["score"]}
    assert refusal(tmp_path, own, "memory") == (
        "judge.rubrics.memory: FILE: modes.graded: missing, and judge.mode=score asks for it"
    )


def test_facts_are_shown_to_the_grader_of_a_memory_where_there_are_some() -> None:
    (_, plain), (_, told) = (
        built_in_rubric("memory").messages("graded", {**FIELDS, **facts})
        for facts in ({"reference": [], "stale": ()}, {"reference": ["예산: 1.5억"], "stale": ["예산: 1억"]})
    )
    assert re.findall(r'name="(\w+)"', plain.text) == ["question", "memory", "entities"]
    assert 'name="reference" number="1">\n예산: 1.5억\n' in told.text
    assert 'name="stale" number="1">\n예산: 1억\n' in told.text


def with_mode(**changes: Any) -> dict[str, Any]:
    content = file_of("faithfulness")
    content["modes"]["score"].update(changes)
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- a\n", "the file: expected a valid dictionary or instance of _File"),
        ("version: 0\nmodes: {}\n", "version: expected 1 or more"),
        (file_of("faithfulness", versions=2), "versions: unknown field"),
        (with_mode(ko=""), "modes.score.ko: String should have at least 1 character"),
        (with_mode(kr="…"), "modes.score.kr: unknown field"),
        (with_mode(fields=[]), "modes.score.fields: List should have at least 1 item after validation, not 0"),
        (
            with_mode(fields=[{"name": "answer", "kind": "tekst"}]),
            "modes.score.fields.0.kind: expected 'text' or 'list'",
        ),
        (
            with_mode(fields=[{"name": "answr", "kind": "text"}]),
            "modes.score.fields.0.name: no field 'answr'; did you mean 'answer'?",
        ),
        (
            with_mode(fields=[{"name": "history", "kind": "list"}]),
            "modes.score.fields.0: history is a list, and optional",
        ),
        (
            with_mode(fields=[{"name": "answer", "kind": "list"}]),
            "modes.score.fields.0: answer is a text, and not optional",
        ),
        (with_mode(reply_schema={"type": "object"}), "modes.score.reply_schema.properties: 'score' is missing"),
        (
            {"version": 1, "modes": {"scores": file_of("faithfulness")["modes"]["score"]}},
            "modes.scores: there is no such mode; did you mean 'score'?",
        ),
        ({"version": 1, "modes": {"claims": file_of("faithfulness")["modes"]["claims"]}}, "modes.score: missing"),
    ],
)
def test_a_file_that_is_no_rubric(tmp_path: Path, content: Any, message: str) -> None:
    assert refusal(tmp_path, content) == f"judge.rubrics.faithfulness: FILE: {message}"


def test_a_file_that_is_no_yaml(tmp_path: Path) -> None:
    assert refusal(tmp_path, "modes:\n  score: [\n") == (
        "judge.rubrics.faithfulness: FILE:3 is not YAML: expected the node content, but found '<stream end>'"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("modes: 2026-13-45\n", "month must be in 1..12"),
        ("modes: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("modes: " + "9" * 5000, "Exceeds the limit (4300 digits) for integer string conversion"),
    ],
)
def test_yaml_with_values_that_there_are_none_of(tmp_path: Path, content: str, reason: str) -> None:
    assert refusal(tmp_path, content).startswith(f"judge.rubrics.faithfulness: FILE is not YAML: {reason}")


def test_a_mode_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    content = file_of("faithfulness")
    del content["modes"]["claims"]
    assert rubrics({"faithfulness": written(tmp_path, content)}, "score")
    assert refusal(tmp_path, content, mode="claims") == (
        "judge.rubrics.faithfulness: FILE: modes.claims: missing, and judge.mode=claims asks for it"
    )


def test_a_mode_that_the_rubric_has_not(tmp_path: Path) -> None:
    content = file_of("answer_relevancy")
    content["modes"]["claims"] = file_of("faithfulness")["modes"]["claims"]
    assert refusal(tmp_path, content, "answer_relevancy", "claims") == (
        "judge.rubrics.answer_relevancy: FILE: modes.claims: answer_relevancy has no such mode; known: score"
    )
