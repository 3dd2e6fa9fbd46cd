"""Guessed and named columns, and what is in a cell."""

from typing import Any

import pytest

from runner.data.columns import (
    answer_in,
    answerable_of,
    chosen_columns,
    contexts_of,
    left_columns,
    list_in,
    question_in,
)
from runner.errors import DataError


def guessed(row: dict[str, Any], **named: str) -> dict[str, str]:
    return {field: column.name for field, column in chosen_columns([row], named, "", DataError).items()}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("질문", "답변", "참고문서", "정답"), ("질문", "답변", "참고문서", "정답")),
        (("질의 내용", "질문", "AI 답변", "검색 결과", "모범답안"), ("질문", "AI 답변", "검색 결과", "모범답안")),
        (("User Question", "Response", "Retrieved Docs", "Ground Truth"),) * 2,
        (("question", "answer", "contexts", "ground_truth"),) * 2,
        (("input", "actual_output", "retrieval_context", "expected_output"),) * 2,
        (("inputs/question", "outputs/answer", "outputs/docs", "expectations/expected_response/value"),) * 2,
    ],
)
def test_guesses(names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    columns = guessed(dict.fromkeys(names, "x"))
    assert tuple(columns[field] for field in ("question", "answer", "contexts", "reference")) == expected


def test_objects_in_a_row_are_columns_too() -> None:
    row = {
        "inputs": {"question": "Q?"},
        "outputs": {"answer": "A.", "docs": ["c"]},
        "latency": 3,
        "metadata": {"id": 7},
    }
    columns = chosen_columns([row], {}, "", DataError)
    assert {field: column.read(row) for field, column in columns.items()} == {
        "question": "Q?",
        "answer": "A.",
        "contexts": ["c"],
    }
    assert left_columns([row], columns.values()) == ["latency", "metadata"]


def test_a_named_column_is_nothing_else() -> None:
    row = {"prompt": "p", "response": "r", "question": "q"}
    assert guessed(row, question="prompt", reference="response") == {"question": "prompt", "reference": "response"}


def test_a_column_may_be_named_by_a_path() -> None:
    row = {"question": "q", "log": {"steps": [{"doc": "a"}, {"doc": "b"}]}}
    columns = chosen_columns([row], {"contexts": "log.steps[].doc"}, "", DataError)
    assert columns["contexts"].read(row) == ["a", "b"]


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(DataError) as raised:
        chosen_columns([{"질문": 1, "챗봇 답변": 2}], {"answer": "챗봇답변"}, "dataset.columns.", DataError)
    assert (
        str(raised.value)
        == "dataset.columns.answer: no column '챗봇답변'; did you mean '챗봇 답변'?; it has: 질문, 챗봇 답변"
    )


@pytest.mark.parametrize(
    "cell",
    [
        ["a, b", "c"],
        '["a, b", "c"]',
        "['a, b', 'c']",
        "('a, b', 'c')",
        "['a, b' 'c']",  # numpy
        "['a, b'\n 'c']",
        "array(['a, b', 'c'], dtype=object)",
        "a, b|||c",
        "a, b\n---\nc",
        [{"page_content": "a, b"}, {"text": "c"}],
        "[Document(page_content='a, b', metadata={}), Document(metadata={}, page_content='c')]",
        {"documents": ["a, b", "c"]},
    ],
)
def test_lists_of_contexts(cell: Any) -> None:
    assert contexts_of(cell) == ["a, b", "c"]


def test_one_context_none_and_a_separator() -> None:
    assert contexts_of("a, b; c\nd") == ["a, b; c\nd"]
    assert contexts_of("[1] is a citation, not a list") == ["[1] is a citation, not a list"]
    assert contexts_of("a\n\nb", "\n\n") == ["a", "b"]
    assert contexts_of("  ") == contexts_of(None) == contexts_of("[]") == []
    assert list_in("a; b", (",", ";")) == ["a", "b"]


def test_contexts_keep_their_ids_and_titles() -> None:
    cell = [{"pageContent": "x", "metadata": {"source": "a.md", "title": "T"}}, {"content": "y", "id": 3}]
    assert contexts_of(cell) == [{"id": "a.md", "title": "T", "text": "x"}, {"id": "3", "text": "y"}]


def test_a_repr_runs_nothing() -> None:
    text = "[__import__('os').system('true')]"
    assert contexts_of(text) == [text]


def test_a_conversation_in_a_cell() -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": [{"type": "text", "text": "c"}]},
    ]
    history = [{"role": "user", "text": "a"}, {"role": "assistant", "text": "b"}]
    assert question_in({"messages": messages}) == question_in(messages) == ("c", history)
    assert question_in("[1, 2]") == ("[1, 2]", [])


@pytest.mark.parametrize(
    "value",
    [
        "A.",
        {"choices": [{"message": {"role": "assistant", "content": "A."}}]},
        '{"choices": [{"message": {"role": "assistant", "content": "A."}}]}',
        [{"role": "user", "content": "Q"}, {"type": "ai", "content": "A."}],
        {"generations": [[{"text": "A."}]]},
        {"output": "A.", "latency": 3},
        {"role": "assistant", "content": [{"type": "text", "text": "A."}]},
    ],
)
def test_what_a_model_returned(value: Any) -> None:
    assert answer_in(value) == "A."


@pytest.mark.parametrize(
    ("value", "expected"), [(None, True), ("", True), ("Y", True), ("아니오", False), (False, False), ("0", False)]
)
def test_answerable(value: Any, expected: bool) -> None:
    assert answerable_of(value) is expected
