"""What the models server says: every answer is a function of the request alone."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

DIMENSIONS = 64  # of an embedding, unless the request names its own number
SOURCE = re.compile(r"\[(\d{1,2})\]")
HANGUL = re.compile("[가-힣]")
QUESTION = re.compile(r'name="question">\n(.*?)\n</data', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """`cut`: the connection ends before the headers, or in the middle of the body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: Literal["headers", "body"] | None = None


def completion(
    body: Mapping[str, Any],
    content: str | None,
    *,
    finish_reason: str = "stop",
    refusal: str | None = None,
    calls: Sequence[tuple[str, str]] = (),
) -> Reply:
    """A chat completion with this content, and with `calls` of functions: (name, arguments as JSON)."""
    usage = _usage(sum(3 + _tokens(message["content"]) for message in body["messages"]), _tokens(content or refusal))
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{n}_{digest(body['messages'])[:16]}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for n, (name, arguments) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
    answer = {
        "id": f"chatcmpl-{digest(body['messages'])[:24]}",
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": body["model"],
        "choices": [choice],
        "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 0}},
        "system_fingerprint": "fp_loopback",
    }
    return Reply(body=orjson.dumps(answer))


def error(status: int, message: str, *, kind: str, code: str | None = None, param: str | None = None) -> Reply:
    """An error as OpenAI words them."""
    answer = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Reply(status, orjson.dumps(answer))


def digest(value: Any) -> str:
    """32 hexadecimal digits for a JSON value or for bytes."""
    data = value if isinstance(value, bytes) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def fraction(text: str) -> float:
    """0 <= fraction < 1, spread evenly over texts."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48


# --- chat -------------------------------------------------------------------------------------------


def chat(body: Mapping[str, Any]) -> Reply:
    """A call of the first function that is offered, with the question as its query, and once that is answered a
    text; JSON or a text where there are no functions."""
    if not body.get("tools") or any(message["role"] == "tool" for message in body["messages"]):
        return completion(body, content_of(body))
    function = body["tools"][0]["function"]
    arguments = fitting(function["parameters"], digest(body["messages"]))
    asked = QUESTION.search(str(body["messages"][-1]["content"]))
    if asked and "query" in arguments:
        arguments["query"] = asked.group(1)
    return completion(body, None, calls=[(function["name"], json.dumps(arguments, ensure_ascii=False))])


def wants_json(body: Mapping[str, Any]) -> bool:
    return schema_of(body) is not None or "json" in str((body.get("response_format") or {}).get("type"))


def schema_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema asked for; one with a score where the messages alone speak of a "score"."""
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    if schema is None and any('"score"' in str(message["content"]) for message in body["messages"]):
        return {"type": "object", "properties": {"score": {"type": "number"}, "reasoning": {"type": "string"}}}
    return schema if isinstance(schema, Mapping) else None


def content_of(body: Mapping[str, Any]) -> str:
    """JSON that fits the schema, or a text that cites the first two of the numbered sources."""
    seed = digest(body["messages"])
    if wants_json(body):
        return json.dumps(fitting(schema_of(body) or {"type": "object"}, seed), ensure_ascii=False)
    asked = str(body["messages"][-1]["content"])
    citations = "".join(f"[{n}]" for n in sorted({int(n) for n in SOURCE.findall(asked)})[:2])
    text = f"답 {seed[:8]}은 출처에 있습니다" if HANGUL.search(asked) else f"Answer {seed[:8]} is in the sources"
    return f"{text} {citations}.".replace(" .", ".")


def fitting(schema: Mapping[str, Any], seed: str, root: Mapping[str, Any] | None = None) -> Any:
    """The smallest value that fits a JSON schema; numbers and choices depend on `seed`.

    Numbers without bounds are 0..1, whole ones 0..10. Properties that are not required are given as well.
    """
    root = root or schema
    if "$ref" in schema:
        return fitting(_resolved(str(schema["$ref"]), root), seed, root)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return fitting(schema[several][0], seed, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][int(fraction(seed) * len(schema["enum"]))]
    kind = schema.get("type", "object")
    return _value(kind if isinstance(kind, str) else kind[0], schema, seed, root)


def _value(kind: str, schema: Mapping[str, Any], seed: str, root: Mapping[str, Any]) -> Any:
    if kind == "object":
        properties: Mapping[str, Any] = schema.get("properties", {})
        return {name: fitting(inner, f"{seed}.{name}", root) for name, inner in properties.items()}
    if kind == "array":
        inner = schema.get("items", {"type": "string"})
        return [fitting(inner, f"{seed}.{n}", root) for n in range(schema.get("minItems", 1))]
    if kind == "number":
        low, high = schema.get("minimum", 0.0), schema.get("maximum", 1.0)
        return round(low + fraction(seed) * (high - low), 4)
    if kind == "integer":
        low, high = schema.get("minimum", 0), schema.get("maximum", 10)
        return low + int(fraction(seed) * (high - low + 1))
    if kind == "boolean":
        return fraction(seed) < 0.5
    return None if kind == "null" else f"Because {digest(seed.encode())[:8]}."


def _resolved(pointer: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for part in pointer.removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)


# --- embeddings -------------------------------------------------------------------------------------


def embeddings(body: Mapping[str, Any]) -> Reply:
    texts: Sequence[str] = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors = [vector(text, body.get("dimensions") or DIMENSIONS) for text in texts]
    data = [
        {"object": "embedding", "index": n, "embedding": _encoded(each) if _is_base64(body) else each}
        for n, each in enumerate(vectors)
    ]
    tokens = sum(_tokens(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Reply(body=orjson.dumps({"object": "list", "model": body["model"], "data": data, "usage": usage}))


def vector(text: str, dimensions: int) -> list[float]:
    """Counts of character bigrams, hashed into buckets; length 1. Texts that share words are near."""
    counts = [0.0] * dimensions
    for start in range(max(1, len(text) - 1)):
        counts[zlib.crc32(text[start : start + 2].encode()) % dimensions] += 1.0
    length = sum(count * count for count in counts) ** 0.5
    return [count / length for count in counts]


def _is_base64(body: Mapping[str, Any]) -> bool:
    return body.get("encoding_format") == "base64"


def _encoded(numbers: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def _tokens(text: str | None) -> int:
    return -(-len(text or "") // 4)


def _usage(prompt: int, answer: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
