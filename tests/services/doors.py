"""Models of a server of a test, and what to ask them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.llm.messages import ChatRequest, Message
from runner.llm.models import Models
from runner.llm.retry import Patience, Retry

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}, "reasoning": {"type": "string"}},
    "required": ["score", "reasoning"],
}
QUICK = Patience(first_pause_s=0.01, longest_pause_s=0.02)
PRICED: dict[str, Any] = {"provider_prices": {"usd_per_million": {"*": {"input": 1.0, "output": 10.0}}}}


def models(url: str, folder: Path, *, patience: Patience = QUICK, name: str = "test", **settings: Any) -> Models:
    """The cache in `folder`; settings that start with `provider_` are those of the one provider, `name`."""
    provider = {"base_url": url, "api_key_env": None}
    own = {"cache": "use", "budget": {}, "out": None, "timeout_ms": 5000, "max_concurrency": 8}
    for setting, value in settings.items():
        (provider if setting.startswith("provider_") else own)[setting.removeprefix("provider_")] = value
    found = Models(providers={name: provider}, cache_dir=str(folder), **own)  # type: ignore[arg-type, dict-item]
    found._servers = {name: Retry(server.provider, patience) for name, server in found._servers.items()}
    return found


def question(text: str, **settings: Any) -> ChatRequest:
    """One that a judge could ask."""
    messages = (Message("system", 'Reply with JSON: {"score": …, "reasoning": …}'), Message("user", text))
    return ChatRequest(messages, **{"max_tokens": 50, "temperature": 0.0, "schema": SCHEMA, **settings})


def score(reply: Mapping[str, Any]) -> float:
    found = reply.get("score")
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) <= 1:
        raise ValueError(f"score: expected a number, got {found!r}")
    return float(found)
