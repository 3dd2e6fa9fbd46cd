"""Memories evaluated on files as people bring them: LongMemEval's, and what another system remembered and said."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.command_line.result_files import read, rows
from tests.small_data import write_jsonl

WORDS = ["+experiment=memory", "tracking=none", "format=md"]


# --- LongMemEval ----------------------------------------------------------------------------------


def said(user: str, reply: str, *, has_answer: bool = False) -> list[dict[str, Any]]:
    told = {"role": "user", "content": user, "has_answer": has_answer}
    return [told, {"role": "assistant", "content": reply, "has_answer": False}]


HOBBIES = said("Yesterday I baked bread.", "How was it?")
MOVE = said("I moved to Busan last week.", "How is the sea?", has_answer=True)
CAT = said("My cat is called Tom.", "A good name for a cat.")


def instance(id: str, kind: str, question: str, answer: str, answered_in: list[str]) -> dict[str, Any]:
    """Three sessions, the latest first."""
    return {
        "question_id": id,
        "question_type": kind,
        "question": question,
        "answer": answer,
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/22 (Mon) 18:05", "2023/05/21 (Sun) 08:00", "2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["s_move", "s_cat", "s_bread"],
        "haystack_sessions": [MOVE, CAT, HOBBIES],
        "answer_session_ids": answered_in,
    }


@pytest.fixture
def longmemeval(empty_folder: Path) -> list[str]:
    instances = [
        instance("q1", "single-session-user", "Where have I moved to?", "Busan", ["s_move"]),
        instance("q2_abs", "multi-session", "What is the name of my dog?", "You never told me.", []),
    ]
    Path("longmemeval_s.json").write_text(json.dumps(instances), encoding="utf-8")
    return ["scenario=longmemeval", "scenario.path=longmemeval_s.json"]


def test_longmemeval_is_run_with_recall_of_turns_and_sessions(longmemeval: list[str]) -> None:
    assert main([*WORDS, "out=o", *longmemeval, "memory=retrieved_turns", "memory.n=1"]) == 0
    found, row = read("o/summary.json"), rows("o")
    answerable = {id: each["output"]["answerable"] for id, each in row.items()}
    assert answerable == {"q1/question": True, "q2_abs/question": False}
    for name in ("turn_recall_at_1", "session_recall_at_1", "evidence_recall"):
        assert (found["metrics"][name]["value"], found["metrics"][name]["n"]) == (1.0, 1)  # one is never answered
    assert {"single-session-user", "multi-session", "abstention"} <= found["slices"]["tag"].keys()


def test_a_choice_of_its_types(longmemeval: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, *longmemeval, "scenario.types=[single-session-user]", "out=o"]) == 0
    assert list(rows("o")) == ["q1/question"]
    assert main([*WORDS, *longmemeval, "scenario.types=[temporal-reasoning]"]) == 1
    assert (
        "scenario.path: no questions in longmemeval_s.json: all 2 are left out by types and abstention"
        in capsys.readouterr().err
    )
    assert main([*WORDS, *longmemeval, "scenario.types=[multi-sesion]"]) == 1
    assert "scenario.types: unknown type 'multi-sesion'; did you mean 'multi-session'?" in capsys.readouterr().err


def test_a_broken_question_is_told_and_the_others_are_run(
    longmemeval: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    instances = read("longmemeval_s.json")
    instances[1]["question_type"] = "multi_session"
    Path("longmemeval_s.json").write_text(json.dumps(instances), encoding="utf-8")
    assert main([*WORDS, *longmemeval, "dry_run=true"]) == 1
    assert "question_type: expected one of single-session-user, " in capsys.readouterr().out
    assert main([*WORDS, *longmemeval, "out=o"]) == 0
    assert list(rows("o")) == ["q1/question"]


# --- what another system remembered and said ------------------------------------------------------

GIVEN = [*WORDS, "out=o", "scenario=file", "scenario.path=logged.jsonl", "memory=none", "generator=given"]


def logged(**changes: Any) -> None:
    budget = {
        "id": "budget",
        "question": "What is my budget?",
        "after_turn": 2,
        "expected": ["budget"],
        "evidence": ["turn-1"],
        "contexts": [{"id": "turn-1", "text": "My budget is $5,000."}, "The user has a cat."],
        "answer": "Your budget is $5,000.",
        **changes,
    }
    dog = {"id": "dog", "question": "What is my dog called?", "after_turn": 2, "answerable": False}
    turns = [{"user": "My budget is $5,000.", "assistant": "Noted."}, {"user": "My cat is called Tom."}]
    conversation = {
        "id": "c1",
        "language": "en",
        "turns": turns,
        "facts": [{"id": "budget", "key": "budget", "value": "$5,000", "turn": 1}],
        "probes": [
            {name: value for name, value in budget.items() if value is not None},
            {**dog, "contexts": [], "answer": "I do not know."},
        ],
    }
    write_jsonl(Path("logged.jsonl"), [conversation])


def test_another_system_is_evaluated_by_what_it_remembered_and_said() -> None:
    logged()
    assert main(GIVEN) == 0
    found, row = read("o/summary.json")["metrics"], rows("o")
    values = {name: found[name]["value"] for name in ("right", "facts_present", "answer_facts", "turn_recall_at_1")}
    assert values == dict.fromkeys(values, 1.0)
    assert row["c1/budget"]["output"]["answer"] == "Your budget is $5,000."
    assert read("o/summary.json")["counts"]["memory"] == {"held": 1, "empty": 1}


def test_a_memory_that_gave_what_was_asked_for_wrongly_is_told() -> None:
    logged(contexts=["The budget is $9,000."], answer="Your budget is $9,000.")
    assert main(GIVEN) == 0
    found = read("o/summary.json")["metrics"]
    assert [found[name]["value"] for name in ("right", "facts_present", "answer_facts", "turn_recall_at_1")] == [
        0.5,  # the dog is unknown, as it should be
        0.0,
        0.0,
        0.0,
    ]


def test_a_probe_without_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    logged(answer=None)
    assert main(GIVEN) == 3
    assert "probe c1/budget: answer: missing, and generator=given needs in it what " in capsys.readouterr().err
    assert rows("o")["c1/dog"]["status"] == "ok"


def test_contexts_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    logged(contexts=[7])
    assert main([*GIVEN, "dry_run=true"]) == 1
    told = """logged.jsonl:1: probes[0].contexts[0]: expected text or {"id", "text"}, found number 7"""
    assert told in capsys.readouterr().err
