"""What goes wrong at the models server, when, and what it looks like."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from email.utils import formatdate
from typing import Any

from tests.services.models_replies import Reply, completion, content_of, error, fraction, wants_json

SETTINGS = ("seed", "in_a_row", "stall_s", "retry_after_s")
OF_CHAT = {"malformed", "wrong_schema", "cut_off", "empty", "refusal", "fenced"}
OF_JSON = {"malformed", "wrong_schema", "fenced"}
WRONG = (
    '{"verdict": "good"}',
    '{"score": "high", "reasoning": "r"}',
    '{"score": NaN, "reasoning": "r"}',
    '{"score": 1e999, "reasoning": "r"}',
    '{"score": true, "reasoning": "r"}',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Shares of requests, 0..1, that meet each fault; together at most 1.

    Which request meets what follows from `seed`, the body and how often that body has come: neither from
    the clock nor from the order of arrival. A body is faulted at most `in_a_row` times in a row, then
    answered. Faults of chat leave embeddings alone, faults of JSON leave plain text alone.
    """

    seed: int = 0
    in_a_row: int = 2
    stall_s: float = 20.0
    retry_after_s: float = 0.05  # what 429 asks for; as a date: the next full second after it

    rate_limit: float = 0.0  # 429 with Retry-After in seconds
    rate_limit_date: float = 0.0  # 429 with Retry-After as an HTTP date
    rate_limit_ms: float = 0.0  # 429 with retry-after-ms
    server_error: float = 0.0  # 500
    unavailable: float = 0.0  # 503
    request_timeout: float = 0.0  # 408
    dropped: float = 0.0  # connection closed before the headers
    truncated: float = 0.0  # connection closed in the middle of the body
    not_json: float = 0.0  # 200 with a body that is no JSON
    stalled: float = 0.0  # answers after `stall_s`
    quota: float = 0.0  # 429 with code insufficient_quota
    no_model: float = 0.0  # 404

    malformed: float = 0.0  # 200; the message is half a JSON object
    wrong_schema: float = 0.0  # 200; the message is an object with wrong fields
    cut_off: float = 0.0  # finish_reason length, half the text
    empty: float = 0.0  # an empty message
    refusal: float = 0.0  # message.refusal
    fenced: float = 0.0  # a good object between prose and code fences

    def shares(self) -> dict[str, float]:
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in SETTINGS}

    def fault(self, digest: str, arrival: int) -> str | None:
        """What the request with this body meets when it comes for the `arrival`th time (0: the first)."""
        in_a_row = 0
        for number in range(arrival):
            in_a_row = 0 if self._drawn(digest, number) is None or in_a_row == self.in_a_row else in_a_row + 1
        return None if in_a_row == self.in_a_row else self._drawn(digest, arrival)

    def _drawn(self, digest: str, arrival: int) -> str | None:
        left = fraction(f"{self.seed}/{digest}/{arrival}")
        for name, share in self.shares().items():
            left -= share
            if left < 0:
                return name
        return None


def applies(fault: str, body: Mapping[str, Any]) -> bool:
    if "messages" not in body:
        return fault not in OF_CHAT
    return fault not in OF_JSON or wants_json(body)


def faulted(fault: str, body: Mapping[str, Any], good: Reply, faults: Faults) -> Reply:
    """`good` is the answer without the fault."""
    if fault in OF_CHAT:
        return _message(fault, body)
    if fault == "stalled":
        return replace(good, delay_s=faults.stall_s)
    if fault in ("dropped", "truncated"):
        return replace(good, cut="headers" if fault == "dropped" else "body")
    if fault == "not_json":
        return replace(good, body=b"<html><body>502 Bad Gateway</body></html>")
    return _error(fault, str(body["model"]), faults)


def _message(fault: str, body: Mapping[str, Any]) -> Reply:
    content = content_of(body)
    if fault == "malformed":
        return completion(body, content[: len(content) // 2])
    if fault == "wrong_schema":
        return completion(body, WRONG[int(fraction(content) * len(WRONG))])
    if fault == "cut_off":
        return completion(body, content[: len(content) // 2], finish_reason="length")
    if fault == "fenced":
        return completion(body, f"Sure! As {{JSON}}, with [1]:\n\n```json\n{content}\n```\n\nAnything else?")
    return completion(body, *([""] if fault == "empty" else [None]), refusal=_refusal(fault))


def _refusal(fault: str) -> str | None:
    return "I'm sorry, I can't help with that." if fault == "refusal" else None


def _error(fault: str, model: str, faults: Faults) -> Reply:
    if fault == "quota":
        message = "You exceeded your current quota, please check your plan and billing details."
        return error(429, message, kind="insufficient_quota", code="insufficient_quota")
    if fault == "no_model":
        message = f"The model `{model}` does not exist or you do not have access to it."
        return error(404, message, kind="invalid_request_error", code="model_not_found")
    if fault.startswith("rate_limit"):
        message = f"Rate limit reached for {model} on requests per min (RPM): Limit 500, Used 500, Requested 1."
        return replace(
            error(429, message, kind="requests", code="rate_limit_exceeded"), headers=_retry_after(fault, faults)
        )
    status = {"server_error": 500, "unavailable": 503, "request_timeout": 408}[fault]
    return error(
        status, "The server had an error while processing your request. Sorry about that!", kind="server_error"
    )


def _retry_after(fault: str, faults: Faults) -> dict[str, str]:
    if fault == "rate_limit_ms":
        return {"retry-after-ms": f"{1000 * faults.retry_after_s:g}"}
    if fault == "rate_limit_date":
        return {"Retry-After": formatdate(math.ceil(time.time() + faults.retry_after_s), usegmt=True)}
    return {"Retry-After": f"{faults.retry_after_s:g}"}


def refused(parameter: str, body: Mapping[str, Any]) -> Reply:
    """400 for a parameter of the body that the model does not take."""
    code: str | None = "unsupported_parameter"
    message = f"Unsupported parameter: '{parameter}' is not supported with this model."
    if parameter == "temperature":
        code = "unsupported_value"
        message = f"Unsupported value: 'temperature' does not support {body[parameter]} with this model. Only the default (1) value is supported."  # noqa: E501
    elif parameter == "max_tokens":
        message += " Use 'max_completion_tokens' instead."
    elif parameter == "response_format":
        code = None
        message = f"Invalid parameter: 'response_format' of type '{body[parameter]['type']}' is not supported with this model."  # noqa: E501
    return error(400, message, kind="invalid_request_error", code=code, param=parameter)
