"""What a reply says to its reader: replies as models, servers and services write them, each with its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runner.text.reply import FILE, Reply, error_in, is_cut_off, marks, read_body, read_reply, thought_in

MARKS: dict[str, Any] = yaml.safe_load((Path("runner/text") / FILE).read_text("utf-8"))
FEE = "The fee is 9 euros."


def test_each_mark_has_an_example_that_it_decides() -> None:
    for kind in ("thoughts", "answers", "tokens"):
        for entry in MARKS[kind]:
            assert read_reply(entry["example"]).answer == entry["answer"], entry["example"]
    for side in ("after", "before"):
        for entry in MARKS["speaks_of"][side]:
            assert read_reply(entry["example"]) == Reply(entry["example"])
    for kind in ("asked_for_json", "asked_for_code", "technical"):
        for entry in MARKS[kind]:
            assert getattr(marks(), kind).search(entry["example"]), entry["example"]


# text -> answer; the thought is all that is left out
THOUGHTS = [
    ("<think>9? no.</think>The fee is 3 euros.", "The fee is 3 euros."),
    ("<think>\n\n</think>\n\nThe fee is 9 euros.", FEE),  # a model that was told not to think
    ("<think>\nOkay, the user asks.\n</think>\n\nThe fee is 9 euros.", FEE),
    ("<Think>hm</Think> The fee is 9 euros.", FEE),
    ("<thinking>The note says 9.</thinking>\n\nThe fee is 9 euros.", FEE),
    ("<thought>메모를 보자.</thought>\n요금은 9유로입니다.", "요금은 9유로입니다."),
    ("[THINK]The note says 9.[/THINK]The fee is 9 euros.", FEE),
    ("<think>one</think><think>two</think>The fee is 9 euros.", FEE),
    ("<think>a <think>b</think> c</think>The fee is 9 euros.", FEE),
    ("<think>hm<\\/think>The fee is 9 euros.", FEE),
    ("<Thinking Process>\nhm\n</Thinking Process>\nThe fee is 9 euros.", FEE),
    ("<think>hm</thinking>The fee is 9 euros.", FEE),
    ("<|im_start|>assistant\n<think>\nhm\n</think>\nThe fee is 9 euros.<|im_end|>", FEE),
    ("\ufeff<think>hm</think>The fee is 9 euros.", FEE),
    ("<think>The tag </think> is not meant. So 9.</think>The fee is 9 euros.", FEE),
    # the beginning stands in the prompt
    ("Okay, the user asks for the fee. It is 9 euros.\n</think>\n\nThe fee is 9 euros.", FEE),
    ("Maybe 3? No, the note says 9.</think>The fee is 9 euros.", FEE),
    ("the note says 9 </think> The fee is 9 euros.", FEE),
    ("메모에는 9유로라고 한다</think>요금은 9유로입니다.", "요금은 9유로입니다."),
    ("메모에는 9유로라고 한다.\n</think>\n\n요금은 9유로입니다.", "요금은 9유로입니다."),
    ("First 3. </think>\n\nNo. </think>\n\nThe fee is 9 euros.", FEE),
    ("hm[/THINK]The fee is 9 euros.", FEE),
    # no end
    ("<think>Could it be 3 euros or 9 euros? I must look", ""),
    ("<think>\n메모를 보면 3유로 같기도 하고", ""),
    ("[THINK]The note", ""),
    ("<|begin_of_thought|>The note", ""),
    ("The note says 9.\n</think>", ""),
    ("<think>The note says 9.</think>", ""),
    ("<think>", ""),
    # inside of the text
    ("Let me look.\n<think>\nThe note says 9.\n</think>\nThe fee is 9 euros.", f"Let me look.\n{FEE}"),
    ("Sure!\n\n<thinking>I must look.</thinking>\n\nThe fee is 9 euros.", f"Sure!\n\n{FEE}"),
    ("The fee is 9 euros. <think>Was it right? Yes, it was.</think>", FEE),
    ("The fee is 9 euros.\n\n<think>wait, maybe I should", FEE),
    ("The fee<think>is it 3 or 9? nine</think> is 9 euros.", "The fee is 9 euros."),
    # channels
    (
        "<|channel|>analysis<|message|>Is it 3? The note says 9.<|end|><|start|>assistant<|channel|>final<|message|>"
        "The fee is 9 euros.<|return|>",
        FEE,
    ),
    ("<|channel|>analysis The note says 9. <|channel|>final<|message|>The fee is 9 euros.", FEE),
    (
        "<|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>"
        "I look.<|end|><|start|>assistant<|channel|>final<|message|>The fee is 9 euros.",
        FEE,
    ),
    ("<|channel|>final<|message|>The fee is 9 euros.<|return|>", FEE),
    ("<|channel|>analysis<|message|>Is it 3 or", ""),
    ("analysisWe need the fee. The note says 9.assistantfinalThe fee is 9 euros.", FEE),
    ("analysisWe need the fee. The note", ""),
    # other templates
    ("Thought: I must look.\nAction: search\nObservation: 9\nThought: I know.\nFinal Answer: The fee is 9 euros.", FEE),
    ("<details>\n<summary>Thought for 2 seconds</summary>\n3 or 9?\n</details>\nThe fee is 9 euros.", FEE),
    ("<think>3 or 9?</think>\n<answer>\nThe fee is 9 euros.\n</answer>", FEE),
    ("<think>3 or 9?\n<answer>The fee is 9 euros.</answer>", FEE),
    ("The note says 9, so:\n<answer>The fee is 9 euros.</answer>", FEE),
    ('{"answer": "<think>3 or 9?</think>The fee is 9 euros."}', FEE),
    ("<think>3 or 9?</think>```json\n{\"answer\": \"The fee is 9 euros.\"}\n```", FEE),
]  # fmt: skip


@pytest.mark.parametrize(("text", "answer"), THOUGHTS)
def test_a_thought_is_no_part_of_the_answer(text: str, answer: str) -> None:
    reply = read_reply(text)
    assert reply.answer == answer
    assert not reply.error
    assert reply.is_silent == (answer == "")


def test_a_thought_is_kept_beside_the_answer() -> None:
    assert read_reply("<think>3? No.</think>9 euros") == Reply("9 euros", "3? No.")
    assert read_reply("<think>one</think>9<think>two words</think>", thought="sent apart").thought == (
        "sent apart\n\none\n\ntwo words"
    )
    assert read_reply("<|channel|>analysis<|message|>3?<|end|><|start|>assistant<|channel|>final<|message|>9") == Reply(
        "9", "3?"
    )


LEFTOVERS = [
    ("The fee is 9 euros.<|im_end|>", FEE),
    ("The fee is 9 euros.</s>", FEE),
    ("<s> The fee is 9 euros. </s>", FEE),
    ("The fee is 9 euros.<eos><pad><pad>", FEE),
    ("The fee is 9 euros.<|eot_id|>", FEE),
    ("<|start_header_id|>assistant<|end_header_id|>\n\nThe fee is 9 euros.<|eot_id|>", FEE),
    ("<|im_start|>assistant\nThe fee is 9 euros.<|im_end|>\n", FEE),
    ("The fee is 9 euros.<|im_end|>\n<|im_start|>user\nAnd in summer?<|im_end|>", FEE),
    ("The fee is 9 euros.<|endoftext|>", FEE),
    ("The fee is 9 euros.</s>\n\nQuestion: And in summer?", FEE),
    ("The fee is 9 euros.<｜end▁of▁sentence｜>", FEE),
    ("요금은 9유로입니다.[|endofturn|]", "요금은 9유로입니다."),
    ("assistant\n\nThe fee is 9 euros.", FEE),
    ("<start_of_turn>model\nThe fee is 9 euros.<end_of_turn>\n", FEE),
    ("<|im_end|>", ""),
    ("<s>[INST] What is the fee? [/INST] The fee is 9 euros.</s>", FEE),
    ("<|im_start|>user\nThe fee?<|im_end|>\n<|im_start|>assistant\nThe fee is 9 euros.<|im_end|>", FEE),
    ("The fee is 9 euros.\n<|endoftext|>Human: And in summer?", FEE),
]


@pytest.mark.parametrize(("text", "answer"), LEFTOVERS)
def test_what_a_server_left_of_its_template_is_taken_out(text: str, answer: str) -> None:
    assert read_reply(text) == Reply(answer)


WRAPPED = [
    ('{"answer": "The fee is 9 euros."}', FEE),
    ('{"answer": "The fee is 9 euros.", "sources": ["a"], "confidence": 0.9}', FEE),
    ('{\n  "reasoning": "The note says 9.",\n  "answer": "The fee is 9 euros."\n}', FEE),
    ('```json\n{"answer": "The fee is 9 euros."}\n```', FEE),
    ("```\nThe fee is 9 euros.\n```", FEE),
    ("```markdown\n# Fee\n\nThe fee is 9 euros.\n```", f"# Fee\n\n{FEE}"),
    ("~~~text\nThe fee is 9 euros.\n~~~", FEE),
    ('{"response": "The fee is 9 euros."}', FEE),
    ('{"answer": 9}', "9"),
    ('{"answer": ["red", "blue"]}', "red, blue"),
    ('{"답변": "요금은 9유로입니다.", "출처": ["a"]}', "요금은 9유로입니다."),
    ("{'answer': 'The fee is 9 euros.', 'sources': []}", FEE),
    ("content='The fee is 9 euros.' additional_kwargs={} response_metadata={'model': 'x'}", FEE),
    ('{"answer": "The fee is 9 euros.", "intent": "price", "steps": []}', FEE),
    ('{"result": {"answer": "The fee is 9 euros."}}', FEE),
    ('[{"output": "The fee is 9 euros."}]', FEE),
    ('{"answer": null}', ""),
    ('{"answer": ""}', ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "answer"), WRAPPED)
def test_what_is_wrapped_around_an_answer_is_taken_off(text: str, answer: str) -> None:
    reply = read_reply(text, "What is the fee?")
    assert (reply.answer, reply.error) == (answer, "")


# What speaks of marks, is JSON or code that was asked for, or only looks like a mark: (text, question).
WHOLE = [
    ("Reasoning models wrap their thoughts in <think> and </think> tags.", ""),
    ("The <think> tag opens the thought; </think> closes it.", ""),
    ("<think> and </think> are the tags of a thought.", ""),
    ("<think> is the tag that R1 writes first.", ""),
    ("`<think>` opens the thought and `</think>` closes it.", ""),
    ("<think> 과 </think> 사이의 텍스트는 사고 과정입니다.", ""),
    ("Close the block with </think>.", ""),
    ("Use <think>...</think> before the answer.", ""),
    ("R1 puts its thoughts in <think>your reasoning</think> blocks.", ""),
    ("생각은 <think> 태그로 시작해 </think> 태그로 끝납니다.", ""),
    ("<think>는 생각을 여는 태그이고 </think>는 닫는 태그입니다.", ""),
    ("Write it like this:\n\n```\n<think>\nI must look.\n</think>\nThe fee is 9 euros.\n```\n\nThen stop.", ""),
    ("The model emitted </think> before it answered.", ""),
    ("The parser looks for </think> and keeps what follows.", ""),
    ("Each turn ends with <|im_end|>", ""),
    ("The <|im_end|> token ends a turn.", ""),
    ("GPT-2 uses <|endoftext|> as a separator.", ""),
    ("The price was <s>12</s> 9 euros.", ""),
    ("It is now <s>12 euros</s>", ""),
    ("<s>12 euros</s> 9 euros", ""),
    ("The analysis shows a fee of 9 euros.", ""),
    ("analysis of the fee: 9 euros", ""),
    ("Press <Enter> and choose [INSTALL].", ""),
    ("3 < 9 and 9 > 3", ""),
    ("List<String> names = new ArrayList<>();", "Show the code."),
    ("```python\nprint(9)\n```", "How do I print it?"),
    ("```\nSELECT fee FROM fees;\n```", "How do I find it?"),
    ("```\npip install runner\n```", "Which command installs it?"),
    ('{"answer": "9 euros"}', "Return the fee as JSON with the key answer."),
    ('{"fee": 9, "currency": "EUR"}', "What is the fee?"),
    ('{"error": "rate_limit_exceeded"}', "What does the API return when the limit is exceeded?"),
    ('```json\n{"error": "rate_limit_exceeded", "retry_after": 3}\n```', "What comes back?"),
    ('The body is {"error": "rate limited"} and the status 429.', ""),
    ('The service sends {"answer": "…", "error": null}.', ""),
    ("An error occurred in 1912 when the ship hit an iceberg.", ""),
    ("error: the field must not be empty", "What does the form say?"),
    ("Use the <answer> tag around the result.", ""),
    ("<answer> tags hold the result.", ""),
    ("```\na\n```\nand\n```\nb\n```", ""),
    ("<html> is the root element of a page.", ""),
    ("assistant professor", ""),
    ("Thought: the fee is 9 euros.", ""),
    ('[{"fee": 9}]', "What is the fee?"),
    ("[1] The fee is 9 euros.", ""),
    ("<details><summary>More</summary>9 euros</details>", ""),
    ("I think the fee is 9 euros.", ""),
    ("Here is my response: 9 euros", ""),
]


@pytest.mark.parametrize(("text", "question"), WHOLE)
def test_an_answer_that_speaks_of_marks_stays_whole(text: str, question: str) -> None:
    assert read_reply(text, question) == Reply(text)


ERRORS = [
    ('{"answer": "", "error": "rate limited"}', "rate limited"),
    ('{"answer": null, "detail": "Internal Server Error"}', "Internal Server Error"),
    ('{"error": {"message": "Rate limit reached", "type": "requests", "code": 429}}', "Rate limit reached"),
    ('{"detail": "Not authenticated"}', "Not authenticated"),
    ("<html><head><title>502 Bad Gateway</title></head><body></body></html>", "502 Bad Gateway"),
    ("<!DOCTYPE html><html><h1>Service Temporarily Unavailable</h1></html>", "Service Temporarily Unavailable"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "error"), ERRORS)
def test_an_error_in_place_of_an_answer_is_none(text: str, error: str) -> None:
    assert read_reply(text, "What is the fee?") == Reply("", error=error)


@given(st.text(alphabet=st.characters(blacklist_characters="<>[]{}`~|◁▷&｜", blacklist_categories=("Cs",))))
def test_a_text_without_marks_is_its_answer(text: str) -> None:
    if not text.strip().startswith(("analysis", "commentary", "assistant", "content=", "Here is my")):
        assert read_reply(text) == Reply(text.strip())


@given(st.text(alphabet="<>/thinkTHIK[]{}`~|\n .a\"':answer,error가"))
def test_any_text_can_be_read_and_nothing_is_made_up(text: str) -> None:
    reply = read_reply(text)
    assert {*reply.answer} <= {*text, " ", "\n"}
    assert read_reply(text) == reply


@given(st.text(alphabet="abc .\n가나"), st.text(alphabet="xyz .\n다라"))
def test_any_thought_in_front_of_any_answer_is_taken_off(thought: str, answer: str) -> None:
    assert read_reply(f"<think>{thought}</think>\n\n{answer}") == Reply(answer.strip(), thought.strip())


# --- the JSON of a service ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"answer": "", "error": "rate limited"}, "rate limited"),
        ({"answer": None, "errors": ["one", {"message": "two"}]}, "one; two"),
        ({"detail": [{"loc": ["body", "q"], "msg": "field required"}]}, "field required"),
        ({"error": {"type": "overloaded_error", "message": "Overloaded"}, "type": "error"}, "Overloaded"),
        ({"status": "error", "message": "no model"}, "no model"),
        ({"success": False, "message": "요청이 너무 많습니다"}, "요청이 너무 많습니다"),
        ([{"error": "x"}], "x"),
        ({"answer": "", "error": True, "message": "busy"}, "busy"),
        ({"answer": "", "error": "none"}, ""),
        ({"answer": "", "error": {"code": 0, "message": ""}}, ""),
        ({"answer": "", "error": None}, ""),
        ({"answer": "", "error": False, "errors": [], "detail": ""}, ""),
        ({}, ""),
        ("text", ""),
        (None, ""),
    ],
)
def test_an_error_in_the_json_of_a_service(body: Any, error: str) -> None:
    assert error_in(body) == error
    assert read_body(body, "").error == error


def test_an_error_beside_an_answer_is_one_only_where_a_setting_says_so() -> None:
    body = {"answer": "9 euros", "error": "the cache is cold"}
    assert read_body(body, "9 euros") == Reply("9 euros")
    assert read_body(body, "9 euros", error=body["error"]) == Reply("", error="the cache is cold")


@pytest.mark.parametrize(
    ("body", "thought"),
    [
        ({"choices": [{"message": {"content": "", "reasoning_content": "hm"}}]}, "hm"),  # vLLM, DeepSeek
        ({"choices": [{"message": {"content": "", "reasoning": "hm"}}]}, "hm"),  # OpenRouter, newer vLLM
        ({"choices": [{"message": {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}}]}, "hm"),
        ({"message": {"role": "assistant", "content": "", "thinking": "hm"}}, "hm"),  # Ollama
        ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]}, "hm"),  # Anthropic
        ({"message": {"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]}}, "hm"),  # Mistral
        ({"answer": "a", "thought": "hm"}, "hm"),
        ({"answer": "a"}, ""),
        ({"answer": "a", "reasoning": None}, ""),
    ],
)  # fmt: skip
def test_the_thought_that_a_service_sends_apart(body: Any, thought: str) -> None:
    assert thought_in(body) == thought


@pytest.mark.parametrize(
    ("body", "is_cut"),
    [
        ({"choices": [{"finish_reason": "length"}]}, True),
        ({"stop_reason": "max_tokens"}, True),
        ({"done_reason": "length"}, True),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, True),
        ({"stop_type": "limit"}, True),
        ({"details": {"finish_reason": "length"}}, True),
        ({"incomplete_details": {"reason": "max_output_tokens"}}, True),
        ({"answer": "a", "finish_reason": "length"}, True),
        ({"choices": [{"finish_reason": "stop"}]}, False),
        ({"choices": []}, False),
        ({"answer": "a", "length": 3}, False),
        (None, False),
    ],
)
def test_whether_a_service_says_that_its_limit_was_reached(body: Any, is_cut: bool) -> None:
    assert is_cut_off(body) is is_cut
