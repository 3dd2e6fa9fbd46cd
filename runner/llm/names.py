"""Names of models: `provider:model`."""

from __future__ import annotations

import re
from collections.abc import Collection

from runner.errors import did_you_mean

DATE = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4})$|@\d+$")  # gpt-4o-mini-2024-07-18, gpt-4-0613


def without_date(model: str) -> str:
    """The name without the date of its version."""
    return DATE.sub("", model)


def name_problem(name: str, providers: Collection[str], *, must_be_dated: bool = False) -> str | None:
    """The fault of the name of a model; None for a right one. `must_be_dated`: the name must pin one version."""
    provider, colon, own_name = name.partition(":")
    if not colon or not own_name:
        return f"expected provider:model, such as openai:gpt-4o-mini, got {name!r}"
    if provider not in providers:
        return f"no provider '{provider}'{did_you_mean(provider, providers)}"
    if must_be_dated and without_date(own_name) == own_name:
        return f"deterministic=true needs a dated name, such as gpt-4o-mini-2024-07-18, got {own_name!r}"
    return None
