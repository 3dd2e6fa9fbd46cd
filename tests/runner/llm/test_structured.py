import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import EvaluationError, ReplyError
from runner.llm.loose_json import score_in
from runner.llm.messages import ChatReply, ChatRequest, Message, Usage
from runner.llm.structured import ask_for_json, last_object

ENGLISH = ChatRequest((Message("system", "Judge the answer."), Message("user", "…")), max_tokens=64)
KOREAN = ChatRequest((Message("system", "답변을 평가하세요."), Message("user", "…")), max_tokens=64)
SCORE = {"score": 0.7, "reasoning": "근거 있음"}


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 0.7, "reasoning": "근거 있음"}',
        '```json\n{"score": 0.7, "reasoning": "근거 있음"}\n```',
        'Sure! As {JSON}, {a: b}, {"x": 1}:\n```\n{"score": 0.7, "reasoning": "근거 있음"}\n```\nAnything else? {a}}{',
        '<think>{"score": 0.1}, or {"score": 0.2, "reas…</think>\n{"score": 0.7, "reasoning": "근거 있음"}',
        '평가 결과는 다음과 같습니다. {"score": 0.7, "reasoning": "근거 있음"} 감사합니다.',
        '{"score": 0.3, "reasoning": }\n{"score": 0.7, "reasoning": "근거 있음"}',
        'Reply as {"score": <0..1>, "reasoning": "<why>"}. {"score": 0.7, "reasoning": "근거 있음"}',
        '{"score": 0.7, "reasoning": "근거 있음"} {"score": 0.9, "reaso',
        '[{"score": 0.1}, {"score": 0.7, "reasoning": "근거 있음"}]',
    ],
)
def test_the_last_object_wherever_it_stands(text: str) -> None:
    assert last_object(text) == SCORE


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the reply is empty"),
        (" \n", "the reply is empty"),
        ('<think>{"score": 1}</think> ', "the reply is empty"),
        ("점수는 0.7점입니다.", "the reply holds no JSON object"),
        ('"score": 0.7', "the reply holds no JSON object"),
        ('{"score": 0.7, "reasoning": "half', "the reply holds no JSON object"),
        ("{'score': 0.7}", "the reply holds no JSON object"),
        ('<think>{"score": 1}</think> I cannot say.', "the reply holds no JSON object"),
        ('{"a": {"score": 1}, "b" 2}', "the reply holds no JSON object"),
        ('{"score": 0, "score": 1}', "the reply says 'score' twice"),
        ('{"score": 0} {"reasoning": "", "score": 0, "score": 1}', "the reply says 'score' twice"),
        ('{"a":' * 100_000, "the reply is nested too deeply"),
    ],
)
def test_no_object_that_can_be_used(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        last_object(text)


def test_what_is_inside_of_a_broken_object_is_not_taken_for_it() -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        last_object('{"verdicts": [{"claim": 1, "verdict": "supported"}, {"claim": 2, "ver')


def test_line_breaks_in_strings_and_numbers_that_are_none_come_through() -> None:
    found = last_object('{"reasoning": "first\nsecond\t", "score": NaN, "other": -Infinity, "huge": 1e999}')
    assert found["reasoning"] == "first\nsecond\t"
    assert found["score"] != found["score"]
    assert (found["other"], found["huge"]) == (float("-inf"), float("inf"))


def test_integers_of_any_length_and_half_characters_come_through() -> None:
    digits = "9" * 5000
    found = last_object(f'{{"score": {digits}, "low": -{digits}, "text": "half \\ud83d, \\ud83d\\ude00"}}')
    assert found == {"score": sys.float_info.max, "low": -sys.float_info.max, "text": "half ?, 😀"}


@pytest.mark.parametrize("piece", ["{", '{"', '{"a', '{"a":', '{"a":{', '{ "a" ', '{"a":"', "{\\", '{"a":1}', "{} "])
def test_huge_texts_take_no_quadratic_time(piece: str) -> None:
    """A million characters: what looks at each of them for each of them takes hours."""
    with suppress(ValueError):
        last_object(piece * (1_000_000 // len(piece)))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
PROSE = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(st.text(), VALUES, max_size=4), PROSE, PROSE, st.booleans())
def test_any_object_in_any_prose_comes_back(found: dict[str, Any], before: str, after: str, ascii_only: bool) -> None:
    text = f"{before} {json.dumps(found, ensure_ascii=ascii_only)} {after}"
    assert last_object(text) == found


# --- asking again -----------------------------------------------------------------------------------


class Replies:
    """Gives these in turn and remembers what it was asked."""

    def __init__(self, *replies: ChatReply | str) -> None:
        self.replies, self.asked = list(replies), list[ChatRequest]()

    async def ask(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        reply = self.replies.pop(0)
        return ChatReply(reply, "stop", None, Usage()) if isinstance(reply, str) else reply


def score(reply: Mapping[str, Any]) -> float:
    if not isinstance(reply.get("score"), float):
        raise ValueError(f"score: expected a number, got {reply.get('score')!r}")
    return float(reply["score"])


async def test_a_good_reply_is_asked_for_once() -> None:
    replies = Replies('{"score": 0.7}')
    assert await ask_for_json(replies.ask, ENGLISH, score) == 0.7
    assert replies.asked == [ENGLISH]


async def test_the_identical_request_twice_more_then_one_with_what_is_wrong() -> None:
    replies = Replies("no", '{"score": "high"}', "", '{"score": 0.4}')
    assert await ask_for_json(replies.ask, ENGLISH, score) == 0.4
    assert replies.asked[:3] == [replace(ENGLISH, attempt=attempt) for attempt in range(3)]
    *_, said, wish = replies.asked[3].messages
    assert replies.asked[3] == replace(ENGLISH, attempt=3, messages=(*ENGLISH.messages, said, wish))
    assert said == Message("assistant", "-")
    assert wish == Message(
        "user",
        "Your reply could not be used: the reply is empty. "
        "Reply again with nothing but one JSON object of the form asked for.",
    )


def share(reply: Mapping[str, Any]) -> float:
    return score_in(0.0, 1.0, reply.get("score"), "score")


def clamped_share(reply: Mapping[str, Any]) -> float:
    return score_in(0.0, 1.0, reply.get("score"), "score", {})


@pytest.mark.parametrize(
    ("replies", "score", "n"),
    [
        (['{"score": 8}', '{"score": 0.8}'], 0.8, 2),  # the other scale is mended
        (['{"score": 1.7}', '{"score": 1.7}'], 1.0, 2),
        (['{"score": -3}', '{"score": 1.7}'], 1.0, 2),  # the last word counts
        (["no", '{"score": 1.7}', "no", '{"score": -3}'], 0.0, 4),
        (['{"score": 1.7}', "no", "no", "no"], 1.0, 4),
    ],
)
async def test_scores_outside_their_range_are_asked_for_once_more_then_clamped(
    replies: list[str], score: float, n: int
) -> None:
    server = Replies(*replies)
    assert await ask_for_json(server.ask, ENGLISH, share, clamped_share) == score
    assert len(server.asked) == n


async def test_the_second_request_says_what_is_outside() -> None:
    server = Replies('{"score": 8}', '{"score": 0.8}')
    await ask_for_json(server.ask, ENGLISH, share, clamped_share)
    assert "score: expected a number from 0 to 1, got 8" in server.asked[1].messages[-1].text


async def test_without_clamping_a_score_outside_its_range_is_no_answer() -> None:
    with pytest.raises(ReplyError, match="no usable answer in 4 replies: score: expected a number from 0 to 1"):
        await ask_for_json(Replies(*['{"score": 1.7}'] * 4).ask, ENGLISH, share)


async def test_a_korean_request_is_repaired_in_korean() -> None:
    replies = Replies("no", "no", '{"score": "높음"}' + "가" * 5000, '{"score": 0.4}')
    assert await ask_for_json(replies.ask, KOREAN, score) == 0.4
    *_, said, wish = replies.asked[3].messages
    assert said.text == '{"score": "높음"}' + "가" * (2000 - 15)
    assert wish.text == (
        "방금 응답은 사용할 수 없습니다: score: expected a number, got '높음'. "
        "요청한 형식의 JSON 객체 하나만 다시 출력하세요."
    )


async def test_when_nothing_helps_the_last_reply_is_told() -> None:
    replies = Replies("no", "no", "no", "점수는\n아주   높습니다. " + "네 " * 100)
    with pytest.raises(ReplyError) as error:
        await ask_for_json(replies.ask, ENGLISH, score)
    assert str(error.value).startswith(
        "no usable answer in 4 replies: the reply holds no JSON object; the last was '점수는 아주 높습니다. 네 네"
    )
    assert len(str(error.value)) < 220


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (
            ChatReply('{"score": 1.0}', "length", None, Usage()),
            "the reply was cut off at a limit of the server: '{\"score\": 1.0}'",
        ),
        (ChatReply('{"score": 1.0}', "content_filter", None, Usage()), "withheld by the server's content filter"),
        (ChatReply('{"score": 1.0}', "stop", "I can't help with that.", Usage()), "refused: I can't help with that."),
    ],
)
async def test_what_no_repeat_would_change_is_final(reply: ChatReply, reason: str) -> None:
    replies = Replies(reply)
    with pytest.raises(ReplyError) as error:
        await ask_for_json(replies.ask, ENGLISH, score)
    assert reason in str(error.value)


# --- replies that end before they are done ----------------------------------------------------------


def ended(tokens: int, limit: int, text: str = '{"score": 0.') -> ChatReply:
    """A reply that a server calls too long."""
    return ChatReply(text, "length", None, Usage(9, tokens), limit=limit)


async def test_a_reply_that_used_its_limit_is_asked_for_once_more_with_twice_the_limit() -> None:
    replies = Replies(ended(64, 64), '{"score": 0.4}')
    assert await ask_for_json(replies.ask, ENGLISH, score) == 0.4
    assert replies.asked == [ENGLISH, replace(ENGLISH, max_tokens=128)]


async def test_twice_the_limit_is_the_last_that_is_tried() -> None:
    replies = Replies("no", ended(64, 64), ended(130, 128))
    with pytest.raises(ReplyError) as error:
        await ask_for_json(replies.ask, ENGLISH, score)
    assert str(error.value) == "the reply was cut off at max_tokens=128: '{\"score\": 0.'"
    assert [(asked.attempt, asked.max_tokens) for asked in replies.asked] == [(0, 64), (1, 64), (1, 128)]


async def test_what_comes_after_a_longer_reply_may_be_as_long() -> None:
    replies = Replies(ended(64, 64), "no", '{"score": 0.4}')
    assert await ask_for_json(replies.ask, ENGLISH, score) == 0.4
    assert [(asked.attempt, asked.max_tokens) for asked in replies.asked] == [(0, 64), (0, 128), (1, 128)]


async def test_a_reply_that_breaks_off_before_its_limit_cannot_be_used() -> None:
    replies = Replies(*[ended(25, 64, '{"score": 0.4}')] * 3, '{"score": 0.4}')
    assert await ask_for_json(replies.ask, ENGLISH, score) == 0.4
    assert [(asked.attempt, asked.max_tokens) for asked in replies.asked] == [(n, 64) for n in range(4)]
    assert "the reply broke off after 25 of 64 tokens" in replies.asked[3].messages[-1].text


async def test_a_model_that_cannot_say_more_is_told() -> None:
    asked: list[ChatRequest] = []

    async def ask(request: ChatRequest) -> ChatReply:
        asked.append(request)
        if request.max_tokens == 128:
            raise EvaluationError("the server answers 400: max_tokens is too large")
        return ended(64, 64)

    with pytest.raises(EvaluationError) as error:
        await ask_for_json(ask, ENGLISH, score)
    assert str(error.value) == (
        "the reply was cut off at max_tokens=64: '{\"score\": 0.'; asked with max_tokens=128: the server answers 400: "
        "max_tokens is too large"
    )
    assert len(asked) == 2
