import re
from typing import Any

import numpy as np
import pytest

from runner.llm.messages import ChatReply, Usage
from runner.llm.replies import chat_reply, miscounts, reply_from_json, reply_to_json, vectors_of

USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}


def said(message: Any, usage: Any = None, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop", **choice}], "usage": usage}


def test_a_chat_completion() -> None:
    reply, usage = chat_reply(said({"role": "assistant", "content": "네.", "refusal": None}, USAGE))
    assert (reply.text, reply.finish_reason, reply.refusal) == ("네.", "stop", None)
    assert usage == Usage(100, 7, 60)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({}, ""),
        ({"content": [{"type": "thinking"}, {"type": "text", "text": "a"}, {"text": "b"}]}, "ab"),
        ({"content": "a", "reasoning_content": "…"}, "a"),
    ],
)
def test_what_servers_make_of_a_message(message: Any, text: str) -> None:
    assert chat_reply(said(message))[0].text == text


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": ["text"]},
        said(None),
        said({"content": 5}),
        said({"content": {"text": "a"}}),
        said({"content": "a", "refusal": {}}),
        said({"content": "a"}, finish_reason=3),
    ],
)
def test_what_is_no_chat_completion(answer: Any) -> None:
    with pytest.raises((ValueError, KeyError, IndexError, TypeError, AttributeError)):
        chat_reply(answer)


def test_an_error_that_comes_with_status_200_is_told() -> None:
    said = {"error": {"message": "upstream is busy", "code": 502}}
    with pytest.raises(ValueError, match="upstream is busy"):
        chat_reply(said)
    with pytest.raises(ValueError, match="upstream is busy"):
        vectors_of(said, 1)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ([], None),
        ({}, None),
        ({"prompt_tokens": 5}, None),  # an answer is not free because nobody counted it
        ({"prompt_tokens": "5", "completion_tokens": 1}, None),
        ({"prompt_tokens": -5, "completion_tokens": 1}, None),
        ({"prompt_tokens": 5, "completion_tokens": 0}, Usage(5, 0, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": None}, Usage(5, 1, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 99}}, Usage(5, 1, 5)),
        ({"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": "x"}}, Usage(5, 1, 0)),
    ],
)
def test_usage_as_the_server_counted_or_not_at_all(usage: Any, expected: Usage | None) -> None:
    assert chat_reply(said({"content": "a"}, usage))[1] == expected


def test_vectors_in_the_order_of_the_texts() -> None:
    data = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0.5]}]
    vectors, usage = vectors_of({"data": data, "usage": {"prompt_tokens": 9}}, 2)
    np.testing.assert_array_equal(np.array(vectors.rows), np.array([[1, 0.5], [0, 1]], dtype=np.float32))
    assert usage == Usage(9)


ONE, OTHER = {"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2]}
ODD_INDEX = "expected a vector for each index from 0 to 1, got {}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], ODD_INDEX.format(0)),
        ([ONE], ODD_INDEX.format(1)),
        ([ONE, OTHER, OTHER], ODD_INDEX.format(3)),
        ([ONE, ONE], ODD_INDEX.format(2)),  # whose the second one is, nobody knows
        ([ONE, {"index": 2, "embedding": [1, 2]}], ODD_INDEX.format(2)),
        ([ONE, {"embedding": [1, 2]}], ODD_INDEX.format(2)),
        ([ONE, {"index": 1, "embedding": [1, "x"]}], "could not convert string to float: 'x'"),
    ],
)
def test_vectors_that_are_missing(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        vectors_of({"data": data}, 2)


@pytest.mark.parametrize("data", [None, [ONE, {"index": 1, "embedding": 1.5}]])
def test_what_is_no_list_of_vectors(data: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        vectors_of({"data": data}, 2)


def test_vectors_of_several_lengths_and_empty_ones_are_handed_on() -> None:
    data = [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": []}, {"index": 2, "embedding": [None, 2]}]
    vectors, _ = vectors_of({"data": data, "model": "large"}, 3)
    assert [len(row) for row in vectors.rows] == [1, 0, 2]
    assert vectors.sent_by == "large"


def test_what_is_stored_comes_back_as_from_the_cache() -> None:
    reply = ChatReply("글", "length", "no", Usage(), attempts=3, waited_s=1.5)
    back = reply_from_json(reply_to_json(reply, Usage(5, 6, 7)))
    assert back == ChatReply("글", "length", "no", Usage(5, 6, 7), attempts=0)
    assert back.cached


@pytest.mark.parametrize(
    "count", [-1, 2**53 + 1, 2**63, 10**400, 1e30, 1.5, True, "7", [7], float("inf"), float("nan")]
)
def test_a_count_of_tokens_that_cannot_be_is_none(count: Any) -> None:
    usage = {**USAGE, "completion_tokens": count}
    assert chat_reply(said({"content": "a"}, usage))[1] is None
    assert miscounts(said({"content": "a"}, usage)).startswith("completion_tokens=")
    assert len(miscounts(said({"content": "a"}, usage))) < 60


def test_counts_of_tokens_may_be_whole_floats_or_missing() -> None:
    usage = {"prompt_tokens": 100.0, "completion_tokens": 7.0, "prompt_tokens_details": {"cached_tokens": -1}}
    assert chat_reply(said({"content": "a"}, usage))[1] == Usage(100, 7)
    for counts in (None, {}, [], {"prompt_tokens": None}):
        assert chat_reply(said({"content": "a"}, counts))[1] is None
        assert miscounts(said({"content": "a"}, counts)) == ""
