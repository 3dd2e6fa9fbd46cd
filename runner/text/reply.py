"""What a reply says to its reader, apart from what its model thought, an error in its place, and what a server left.

Models think aloud in front of their answers, servers leave marks of their templates, services wrap an answer in JSON or
report an error in its place. `read_reply` takes a text apart, `read_body` the JSON of a service. The marks are data:
reply_marks.yaml.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple

from runner.system.shipped import shipped_yaml

FILE = "reply_marks.yaml"

MAX_LAYERS = 4  # of fences, JSON and tags around one answer
MAX_MARKS = 100  # of one text that are looked at
NEAR = 200  # characters beside a mark that are looked at
MAX_JSON_CHARS = 200_000  # of a text that is read as JSON
PROSE_WORDS = 3  # between two marks that are spoken of: <think> and </think>
MAX_ERROR_CHARS = 500
BLANKS = " \t\r\n\v\f\ufeff\u200b\u00a0\u3000"  # around a reply

LIMIT_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "max_length", "model_length", "limit", "token_limit"}
)
ERROR_KEYS = ("error", "errors", "detail")
NO_ERRORS = frozenset({"none", "null", "false", "no", "0", "ok", "success", "no error", "n/a", "-", "없음", "정상"})
FAILED = frozenset({"error", "errored", "fail", "failed", "failure"})


@dataclass(frozen=True, slots=True)
class Reply:
    """`answer`: what the reader gets, empty where the reply has none; `thought`: what the model thought, which nobody
    judges; `error`: what a service reports in place of an answer; `cut_off`: the reply ended at its limit."""

    answer: str
    thought: str = ""
    error: str = ""
    cut_off: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether there is neither an answer nor an error."""
        return not self.answer and not self.error


def read_reply(text: str, question: str = "", *, thought: str = "", cut_off: bool = False) -> Reply:
    """Takes a reply apart.

    Marks that the answer itself speaks of stay, and so do a block of code and JSON that the question asks for.

    Args:
        text: as a model or a service sent it.
        question: that it answers; empty where it is not known.
        thought: what the server sent apart from the text.
        cut_off: whether the server says that the reply reached its limit.

    Returns:
        The parts. A thought without an end takes all of the rest: then there is no answer.
    """
    answer, thoughts, error = text.strip(BLANKS), [thought.strip()], ""
    for _ in range(MAX_LAYERS):
        before = answer
        answer, found = split_thought(answer)
        layer = _unwrap(answer, question)
        thoughts += [found, layer.thought]
        answer, error = layer.answer.strip(), layer.error
        if answer == before or error:
            break
    return Reply(answer, "\n\n".join(filter(None, thoughts)), error, cut_off)


def read_body(body: Any, answer: str, question: str = "", *, error: Any = None) -> Reply:
    """Takes the JSON of a service apart.

    Args:
        body: the JSON.
        answer: the text of the answer in it; empty where it has none.
        question: that it answers.
        error: what a setting finds as an error, which is one beside an answer, too.

    Returns:
        The parts, with an error of `error`, or of the usual keys beside an empty answer.
    """
    reply = read_reply(answer, question, thought=thought_in(body), cut_off=is_cut_off(body))
    message = error_text(error) or reply.error or ("" if reply.answer else error_in(body))
    return replace(reply, answer="", error=message) if message else reply


# --- the JSON of a service ------------------------------------------------------------------------


def error_in(body: Any) -> str:
    """The error that the JSON of a service reports by `error`, `errors` or `detail`, or by `message` where a field says
    that it failed; empty where it reports none."""
    fields = _first(body)
    for key in ERROR_KEYS:
        if message := error_text(fields.get(key)):
            return error_text(_why(fields)) or message if fields.get(key) is True else message
    has_failed = str(fields.get("status")).lower() in FAILED or fields.get("type") in FAILED
    if has_failed or fields.get("success") is False or fields.get("ok") is False:
        return error_text(_why(fields)) or "failed"
    return ""


def _why(fields: Mapping[str, Any]) -> Any:
    return fields.get("message") or fields.get("msg") or fields.get("reason")


def error_text(error: Any) -> str:
    """One line of an error, whatever its form; empty for null, false, 0, an empty text or list."""
    if not error or (isinstance(error, str) and error.strip().lower() in ("", *NO_ERRORS)):
        return ""
    if isinstance(error, Mapping):
        if not any(error.values()):
            return ""
        named = [error_text(error.get(key)) for key in ("message", "msg", "detail", "error", "reason", "type", "code")]
        error = next(filter(None, named), None) or json.dumps(error, ensure_ascii=False, default=str)
    elif isinstance(error, list | tuple):
        error = "; ".join(filter(None, map(error_text, error)))
    return " ".join(str(error).split())[:MAX_ERROR_CHARS]


def thought_in(body: Any) -> str:
    """What the JSON of a service tells of the thoughts of its model, as OpenAI-compatible servers do."""
    fields = _first(body)
    return _thought_of(_message_in(fields)) or _thought_of(fields)


def refusal_in(body: Any) -> str:
    """What a model says instead of an answer that it refuses, as OpenAI sends it apart; empty where it does not."""
    refusal = _message_in(_first(body)).get("refusal")
    return refusal.strip() if isinstance(refusal, str) else ""


def _thought_of(fields: Mapping[str, Any]) -> str:
    texts = [fields[key] for key in marks().keys["thoughts"] if isinstance(fields.get(key), str)]
    if texts:
        return str(texts[0]).strip()
    details = fields.get("reasoning_details")
    parts = details if isinstance(details, list) else fields.get("content")
    return text_of_parts(parts, thoughts=True).strip() if isinstance(parts, list) else ""


def text_of_parts(parts: Iterable[Any], *, thoughts: bool = False) -> str:
    """The text of content in parts, as OpenAI, Anthropic and Mistral send it; with `thoughts` that of the thoughts."""
    return "".join(_part_text(part, thoughts) for part in parts)


def _part_text(part: Any, thoughts: bool) -> str:
    if isinstance(part, str):
        return "" if thoughts else part
    if not isinstance(part, Mapping):
        return ""
    kind = str(part.get("type", "text"))
    if thoughts != ("thinking" in kind or "reasoning" in kind):
        return ""
    text = next((part[key] for key in ("thinking", "text", "summary", "content") if part.get(key)), "")
    return text_of_parts(text) if isinstance(text, list) else str(text)


def is_cut_off(body: Any) -> bool:
    """Whether the JSON of a service says that its answer reached a limit: `finish_reason` of OpenAI, `stop_reason` of
    Anthropic, `done_reason` of Ollama, `finishReason` of Gemini, `stop_type` of llama.cpp."""
    fields = _first(body)
    places = [fields, *(_first(fields.get(key)) for key in ("choices", "candidates", "details", "incomplete_details"))]
    places += [_first(fields.get("response_metadata")), _first(fields.get("meta")), _first(fields.get("metadata"))]
    names = ("finish_reason", "stop_reason", "done_reason", "finishReason", "stop_type", "reason")
    return any(is_limit(place.get(name)) for place in places for name in names)


def is_limit(reason: Any) -> bool:
    """Whether the reason for which a model stopped is its limit."""
    return isinstance(reason, str) and reason.lower() in LIMIT_REASONS


def _first(value: Any) -> Mapping[str, Any]:
    """The object, or the first of a list of objects; without any, an empty one."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, Mapping) else {}


def _message_in(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message of a chat completion, else the object itself."""
    choice = _first(fields.get("choices"))
    message = choice.get("message") or fields.get("message") or fields
    return message if isinstance(message, Mapping) else fields


# --- marks ----------------------------------------------------------------------------------------


# Where a mark may begin. Almost no answer has such a character.
_PLACES = re.compile(r"[<\[◁&]")
_PLACES_AND_WORDS = re.compile(r"[<\[◁&]|^(?:Here is my |assistant)|\A(?:analysis|commentary)", re.MULTILINE)
_FIRST_WORDS = ("Here is my ", "assistant", "analysis", "commentary")


class Marks(NamedTuple):
    """Compiled reply_marks.yaml. `opening` and `closing`: of thoughts, `lone`: closing marks that need no opening
    one;
    `any_mark`: all of these, and tokens."""

    any_mark: re.Pattern[str]
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    lone: re.Pattern[str]
    answer_opening: re.Pattern[str]
    answer_closing: re.Pattern[str]
    leading: re.Pattern[str]
    trailing: re.Pattern[str]
    token: re.Pattern[str]
    after: re.Pattern[str]
    before: re.Pattern[str]
    asked_for_json: re.Pattern[str]
    asked_for_code: re.Pattern[str]
    technical: re.Pattern[str]
    keys: Mapping[str, tuple[str, ...]]


@cache
def marks() -> Marks:
    """The marks, read once."""
    data = shipped_yaml((files("runner") / "text" / FILE).read_text(encoding="utf-8"))
    opening, closing = (_any(entry[side] for entry in data["thoughts"]) for side in ("open", "close"))
    lone = _any(entry["close"] for entry in data["thoughts"] if not entry.get("paired"))
    answer_opening, answer_closing = (_any(entry[side] for entry in data["answers"]) for side in ("open", "close"))
    token = _any(entry["mark"] for entry in data["tokens"])
    leading = rf"(?:(?!{opening}|{answer_opening}){token}(?:(?:assistant|model)(?=\s|<|$))?\s*)+|assistant\s*\n+"
    return Marks(
        any_mark=re.compile(_any((opening, closing, answer_opening, token)), re.MULTILINE),
        opening=re.compile(opening),
        closing=re.compile(closing, re.MULTILINE),
        lone=re.compile(lone),
        answer_opening=re.compile(answer_opening),
        answer_closing=re.compile(answer_closing),
        leading=re.compile(leading),
        trailing=re.compile(rf"(?:\s*{token})+\s*\Z"),
        token=re.compile(token),
        after=_compiled(data["speaks_of"]["after"]),
        before=_compiled(data["speaks_of"]["before"]),
        asked_for_json=_compiled(data["asked_for_json"]),
        asked_for_code=_compiled(data["asked_for_code"]),
        technical=_compiled(data["technical"]),
        keys={name: tuple(keys) for name, keys in data["keys"].items()},
    )


def _compiled(entries: Iterable[Mapping[str, str]]) -> re.Pattern[str]:
    return re.compile(_any(entry["mark"] for entry in entries))


def _any(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


def split_thought(text: str) -> tuple[str, str]:
    """(answer, thought) of a text, without the marks of either and of the server's template. A thought that does not
    end takes the rest of the text."""
    text = _without_prompt(text)
    has_words = text.startswith(_FIRST_WORDS)
    if text.startswith(("{", '"')) or not (has_words or _search(marks().any_mark, text)):
        return text, ""
    channels = _split_channels(text)
    if channels is not None:
        return channels
    rest, thoughts = _split_leading(text)
    rest, more = _split_lone_closing(rest)
    rest, within = _split_within(rest)
    thought = "\n\n".join(filter(None, [*thoughts, *more, *within]))
    return _without_tokens(rest), _without_tokens(thought)


def _places(text: str) -> re.Pattern[str]:
    return _PLACES_AND_WORDS if text.startswith(_FIRST_WORDS) else _PLACES


def _search(pattern: re.Pattern[str], text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
    return next(_find(pattern, text, start, end), None)


def _find(pattern: re.Pattern[str], text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """Marks of a kind, in order; at most MAX_MARKS."""
    places = _places(text).finditer(text, start, len(text) if end is None else end)
    return islice(filter(None, (pattern.match(text, place.start()) for place in places)), MAX_MARKS)


_PROMPT = re.compile(
    r"\A(?:<s>)?\s*(?:<\|im_start\|>\s*(?:system|user)\b.*<\|im_start\|>\s*assistant\s*\n|\[INST\].*\[/INST\])",
    re.DOTALL,
)


def _without_prompt(text: str) -> str:
    """The text without the prompt in its template, where the server sends that, too."""
    prompt = _PROMPT.match(text) if text.startswith(("<s>", "<|im_start|>", "[INST]")) else None
    return text if prompt is None else text[prompt.end() :].lstrip()


# --- channels -------------------------------------------------------------------------------------

_CHANNEL = re.compile(
    r"(?:<\|start\|>\s*assistant)?[^\S\n]*<\|channel\|>\s*(?P<name>\w+)(?P<head>[^<]*)"
    r"(?:<\|constrain\|>[^<]*)?(?P<message><\|message\|>)?"
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|channel|start|im_end|endoftext)\|>")
# The same where the server took the special tokens out: analysisWe need …assistantfinalThe fee is 9 euros.
_BARE_CHANNEL = re.compile(r"(?:analysis|commentary)(?=[A-Z가-힣\"'(])")
_BARE_FINAL = re.compile(r"assistant\s*final(?=\W|[A-Z가-힣\d]|$)")


def _split_channels(text: str) -> tuple[str, str] | None:
    """The parts of a text in channels, as gpt-oss writes them; None for another one."""
    start = _CHANNEL.search(text) if "<|channel|>" in text else None
    if start is None or text[: start.start()].strip()[:2] not in ("", "<|"):
        return _split_bare_channels(text)
    parts: dict[bool, list[str]] = {True: [], False: []}
    while start is not None:
        end = _CHANNEL_END.search(text, start.end())
        content = text[start.end() : end.start() if end else len(text)]
        if not start["message"]:
            content = start["head"] + content
        parts[start["name"] == "final"].append(content.strip())
        start = _CHANNEL.search(text, start.end())
    return "\n".join(filter(None, parts[True])), "\n\n".join(filter(None, parts[False]))


def _split_bare_channels(text: str) -> tuple[str, str] | None:
    if (start := _BARE_CHANNEL.match(text)) is None:
        return None
    finals = list(_BARE_FINAL.finditer(text))
    if not finals:
        return "", text[start.end() :].strip()
    return text[finals[-1].end() :].strip(), text[start.end() : finals[-1].start()].strip()


# --- thoughts -------------------------------------------------------------------------------------


def _split_leading(text: str) -> tuple[str, list[str]]:
    """The text behind the thoughts that it begins with."""
    thoughts: list[str] = []
    rest = _without_leading_tokens(text)
    while (opening := marks().opening.match(rest)) is not None:
        closing = _closing_of(rest, opening.end())
        if closing is None:
            if marks().after.match(rest, opening.end()):
                break
            if (answer := _search(marks().answer_opening, rest, opening.end())) is not None:
                return rest[answer.start() :], [*thoughts, rest[opening.end() : answer.start()].strip()]
            return "", [*thoughts, rest[opening.end() :].strip()]
        if _is_spoken_of(rest, opening, closing):
            break
        thoughts.append(rest[opening.end() : closing.start()].strip())
        rest = _without_leading_tokens(rest[closing.end() :].lstrip())
    return rest, thoughts


def _closing_of(text: str, start: int) -> re.Match[str] | None:
    """The end of the thought that begins there; behind the ends of thoughts within it, and ends that it speaks of."""
    closings = list(_find(marks().closing, text, start))
    closing = next((each for each in closings if not marks().after.match(text, each.end())), None)
    closing = closing or (closings[0] if closings else None)
    inner = _search(marks().opening, text, start, closing.start()) if closing is not None else None
    if inner is None or closing is None or not _at_border(text, inner.start()):
        return closing
    return _search(marks().closing, text, closing.end()) or closing


def _is_spoken_of(text: str, opening: re.Match[str], closing: re.Match[str]) -> bool:
    """Whether a pair of marks is what the text is about: <think> and </think> are tags."""
    content = text[opening.end() : closing.start()].strip()
    if "\n" in content:
        return False
    if marks().after.match(text, closing.end()) is not None:
        return True
    return len(content.split()) <= PROSE_WORDS and text[closing.end() : closing.end() + 1] in tuple(".,;:)")


def _split_lone_closing(text: str) -> tuple[str, list[str]]:
    """The text behind the last end of a thought whose beginning the server put into the prompt."""
    opening = _search(marks().opening, text)
    lone = _find(marks().lone, text, 0, None if opening is None else opening.start())
    ends = [closing for closing in lone if _ends_thought(text, closing)]
    if not ends:
        return text, []
    rest = _without_leading_tokens(text[ends[-1].end() :].lstrip())
    return rest, [text[: ends[-1].start()].strip()]


def _ends_thought(text: str, closing: re.Match[str]) -> bool:
    """Whether a closing mark ends a thought, and is not spoken of."""
    before, after = _beside(text, closing)
    if _in_code(text, closing.start()) or _is_quoted(before, after):
        return False
    stands_alone = before.rstrip(" \t")[-1:] in ("", "\n")
    if not after.strip(" \t") or after.lstrip(" \t")[0] in "\r\n":
        return stands_alone or _ends_sentence(before) or not _named_before(before)
    if marks().after.match(text, closing.end()):
        return False
    if stands_alone or _ends_sentence(before) or (_is_word(before[-1:]) and _is_word(after[:1])):
        return True
    following = after.lstrip()[0]
    return not (_named_before(before) or following in ".,;:!?)]}'\"`" or following.islower())


def _split_within(text: str) -> tuple[str, list[str]]:
    """The text without the thoughts that stand inside of it."""
    thoughts: list[str] = []
    place = 0
    while (opening := _search(marks().opening, text, place)) is not None and len(thoughts) < MAX_MARKS:
        closing = _search(marks().closing, text, opening.end())
        if not _begins_thought(text, opening, closing):
            place = closing.end() if closing is not None else opening.end()
            continue
        end = len(text) if closing is None else closing.end()
        thoughts.append(text[opening.end() : closing.start() if closing is not None else end].strip())
        before, after = text[: opening.start()].rstrip(), text[end:].lstrip()
        gap = text[len(before) : opening.start()]
        glue = "\n\n" if "\n\n" in gap else "\n" if "\n" in gap else " "
        text, place = before + (glue if after else "") + after, len(before)
    return text, thoughts


def _begins_thought(text: str, opening: re.Match[str], closing: re.Match[str] | None) -> bool:
    """Whether a mark inside a text begins a thought: after a sentence or on a line of its own, not in code."""
    before, after = _beside(text, opening)
    if _in_code(text, opening.start()) or _is_quoted(before, after) or marks().after.match(text, opening.end()):
        return False
    if closing is None:
        return _at_border(text, opening.start())
    n_words = len(text[opening.end() : closing.start()].split())
    if _is_word(before[-1:]):
        return n_words > 1
    return n_words != 1 and _at_border(text, opening.start()) and not _is_spoken_of(text, opening, closing)


def _beside(text: str, mark: re.Match[str]) -> tuple[str, str]:
    """What stands directly before and behind a mark."""
    return text[max(0, mark.start() - NEAR) : mark.start()], text[mark.end() : mark.end() + NEAR]


def _at_border(text: str, place: int) -> bool:
    """Whether a line or a sentence begins there."""
    before = text[max(0, place - NEAR) : place].rstrip(" \t")
    return not before or before[-1] == "\n" or _ends_sentence(before)


def _ends_sentence(text: str) -> bool:
    return text.rstrip()[-1:] in tuple(".!?…。！？>")


def _is_word(character: str) -> bool:
    return character.isalnum()


def _named_before(text: str) -> bool:
    return marks().before.search(text[-40:]) is not None


def _is_quoted(before: str, after: str) -> bool:
    return before[-1:] in tuple("`'\"“‘«「『(") and after[:1] in tuple("`'\"”’»」』).,")


def _in_code(text: str, place: int) -> bool:
    """Whether a place is inside a fence, or between two backticks of its line."""
    if text.count("```", 0, place) % 2 and "```" in text[place:]:
        return True
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line.count("`") % 2 == 1 and "`" in text[place:].partition("\n")[0]


# --- leftovers of a template ----------------------------------------------------------------------


def _without_leading_tokens(text: str) -> str:
    """The text without the tokens that it begins with; one that it speaks of stays."""
    leading = marks().leading.match(text)
    if leading is None or marks().after.match(text, leading.end() - 1) or marks().after.match(text, leading.end()):
        return text
    if leading[0].strip() == "<s>" and "</s>" in text and not text.rstrip().endswith("</s>"):
        return text  # struck out
    return text[leading.end() :]


def _without_tokens(text: str) -> str:
    """The text without special tokens at its ends, and without what follows the end of its turn."""
    if _search(marks().token, text) is None:
        return text.strip()
    text = _until_end_of_turn(_without_leading_tokens(text))
    trailing = _trailing(text)
    if trailing is None or _named_before(text[: trailing.start()][-NEAR:] + " ") or _is_struck_out(text, trailing):
        return text.strip()
    return text[: trailing.start()].strip()


def _trailing(text: str) -> re.Match[str] | None:
    """The tokens at the end of a text."""
    return marks().trailing.search(text, max(0, len(text) - NEAR))


def _is_struck_out(text: str, token: re.Match[str]) -> bool:
    """Whether `</s>` closes an `<s>` of HTML."""
    return token[0].strip() == "</s>" and "<s>" in text[: token.start()]


_END_OF_TURN = re.compile(
    r"(?:<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|eos|END_OF_TURN_TOKEN|user|human)\|>|</s>|<eos>"
    r"|<end_of_turn>|<turn\|>|<｜end▁of▁sentence｜>|\[\|endofturn\|\])(?=\s*(?:\Z|\n|<|\[|(?:Human|User|Assistant|Question|Q)\s?:))"
)


def _until_end_of_turn(text: str) -> str:
    for end in _find(_END_OF_TURN, text):
        if not (_in_code(text, end.start()) or _is_struck_out(text, end) or _named_before(_beside(text, end)[0])):
            return text[: end.start()]
    return text


# --- what is wrapped around an answer -------------------------------------------------------------

_FENCE = re.compile(
    r"\A(?P<fence>`{3,}|~{3,})(?P<kind>[\w+-]*)[^\S\n]*\n(?P<content>.*?)\n?[^\S\n]*(?P=fence)\s*\Z", re.DOTALL
)
_PLAIN_KINDS = frozenset({"", "text", "txt", "plaintext", "plain", "markdown", "md"})
_CODE_SIGNS = re.compile(r"[;{}=<>$\\|]|^\s*(?:[#/]{1,2}\s|[$>]\s|\w+\(|import |def |SELECT )|\)\s*$", re.MULTILINE)
_LANGCHAIN = re.compile(
    r"""\Acontent=(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") (?:additional_kwargs|response_metadata)="""
)
# Thought: … Action: … Observation: … Final Answer: … (arXiv:2210.03629)
_REACT = re.compile(
    r"\A(?:Thought|Question|생각)\s?:.*^(?P<final>(?:Final Answer|최종 답변|최종 답)\s?:\s*)", re.DOTALL | re.MULTILINE
)
_ERROR_PAGE = re.compile(
    r"<(?:title|h1)[^>]*>\s*(?P<title>[^<]*(?:\b[45]\d\d\b|error|unavailable|bad gateway|timed? ?out|오류)[^<]*)<",
    re.IGNORECASE,
)


def _unwrap(text: str, question: str) -> Reply:
    """One layer less around an answer; the text itself where there is none."""
    if not text:
        return Reply("")
    first = text[0]
    if first in "`~" and (fence := _FENCE.match(text)) is not None:
        return _in_fence(text, fence, question)
    if first == "{" and not marks().asked_for_json.search(question):
        return _in_json(text, question)
    if first == "c" and (message := _LANGCHAIN.match(text)) is not None:
        return Reply(str(ast.literal_eval(message["text"])))
    if first == "[" and (entry := _only_entry(text)) is not None:
        inner = _in_json(entry, question)
        return Reply(text) if inner.answer == entry else inner
    if first in "<[":
        return _in_tags(text)
    return _behind_reasoning(text)


def _in_fence(text: str, fence: re.Match[str], question: str) -> Reply:
    """A fence around all of an answer goes, one around code stays."""
    content, kind = fence["content"].strip(), fence["kind"].lower()
    if fence["fence"] in content:
        return Reply(text)
    if kind in ("json", "") and content.startswith("{") and not marks().asked_for_json.search(question):
        inner = _in_json(content, question, may_be_error=False)
        return Reply(text) if inner.answer == content else inner
    is_code = kind not in _PLAIN_KINDS or (not kind and _CODE_SIGNS.search(content) is not None)
    return Reply(text if is_code or marks().asked_for_code.search(question) else content)


def _in_json(text: str, question: str, *, may_be_error: bool = True) -> Reply:
    """The answer in a JSON object that holds it beside its sources and the like; the text itself for another one."""
    fields = _object(text)
    if not fields:
        return Reply(text)
    key = _answer_key(fields)
    if key is None:
        keys = {str(name).lower() for name in fields}
        is_error = may_be_error and keys <= {*marks().keys["error_companions"]} and not _asks_of_errors(question)
        error = error_in(fields) if is_error else ""
        return Reply("" if error else text, error=error)
    answer = _as_text(fields[key])
    if answer is None:
        return Reply(text)
    thought = next((str(fields[name]) for name in marks().keys["thoughts"] if isinstance(fields.get(name), str)), "")
    return Reply(answer, thought, "" if answer.strip() else error_in(fields))


def _asks_of_errors(question: str) -> bool:
    return bool(marks().technical.search(question) or marks().asked_for_code.search(question))


def _object(text: str) -> Mapping[str, Any]:
    """The object that all of a text is, as JSON or as Python prints it; an empty one for another text."""
    if not text.endswith("}") or len(text) > MAX_JSON_CHARS:
        return {}
    try:
        value = ast.literal_eval(text) if text.startswith("{'") else json.loads(text, strict=False)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _only_entry(text: str) -> str | None:
    """The object, as JSON, that is alone in a list which all of a text is."""
    try:
        entries = json.loads(text, strict=False) if text.endswith("]") and len(text) <= MAX_JSON_CHARS else None
    except (ValueError, RecursionError):
        return None
    is_alone = isinstance(entries, list) and len(entries) == 1 and isinstance(entries[0], Mapping)
    return json.dumps(entries[0], ensure_ascii=False) if is_alone and entries else None


def _answer_key(fields: Mapping[str, Any]) -> str | None:
    """The key of the answer; one of another meaning only where all other keys are such as stand beside an answer."""
    keys = marks().keys
    for group in ("answers", "other_answers"):
        if (key := next((name for name in keys[group] if name in fields), None)) is not None:
            others = [str(name).lower() for name in fields if name != key]
            return key if group == "answers" or all(name in keys["companions"] for name in others) else None
    return None


def _as_text(value: Any) -> str | None:
    """The text of an answer in JSON; None where it has no plain one."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, Mapping):
        key = _answer_key(value)
        return None if key is None else _as_text(value[key])
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(value) if all(isinstance(item, str) for item in value) else None
    return value if isinstance(value, str) else None


def _in_tags(text: str) -> Reply:
    """The text inside tags around all of it; an error for the page of a gateway."""
    if text[:9].lower() == "<!doctype" or text[:5].lower() == "<html":
        page = _ERROR_PAGE.search(text[:5000])
        return Reply(text) if page is None else Reply("", error=error_text(page["title"]))
    opening = marks().answer_opening.match(text)
    if opening is None or marks().after.match(text, opening.end()):
        return Reply(text)
    closing = _search(marks().answer_closing, text, opening.end())
    if closing is None:
        return Reply(text[opening.end() :])
    return Reply(text[opening.end() : closing.start()] if not text[closing.end() :].strip() else text)


def _behind_reasoning(text: str) -> Reply:
    """The answer at the end of a text that leads to it: in tags, or as agents write it."""
    if (final := _REACT.match(text)) is not None:
        return Reply(text[final.end() :], text[: final.start("final")].strip())
    closings = list(_find(marks().answer_closing, text)) if text[-1] in ">]" else []
    if not closings or closings[-1].end() != len(text):
        return Reply(text)
    opening = _search(marks().answer_opening, text)
    if opening is None or not _at_border(text, opening.start()) or _in_code(text, opening.start()):
        return Reply(text)
    return Reply(text[opening.end() : closings[-1].start()], text[: opening.start()].strip())
