"""What conf says of providers, prices and limits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

CacheMode = Literal["use", "none", "read", "refresh", "replay"]

Limit = Annotated[int, Field(ge=1)] | None


@with_config(ConfigDict(extra="forbid"))
class Price(TypedDict, total=False):
    """USD for a million tokens."""

    input: Annotated[float, Field(ge=0)]
    cached_input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


@with_config(ConfigDict(extra="forbid"))
class Prices(TypedDict, total=False):
    """`usd_per_million` maps names of models (`*` any) to prices, which hold for `base_url` (null: for any)."""

    date: str | None
    base_url: str | None
    usd_per_million: dict[str, Price]


@with_config(ConfigDict(extra="forbid"))
class ProviderSettings(TypedDict, total=False):
    """conf/provider/openai.yaml says what each means."""

    base_url: str | None
    api_key_env: str | None
    max_concurrency: Limit
    requests_per_minute: Limit
    tokens_per_minute: Limit
    pinned: bool
    leave_out: dict[str, list[str]]
    add: dict[str, dict[str, Any]]
    prices: Prices


@with_config(ConfigDict(extra="forbid"))
class Budget(TypedDict, total=False):
    """Limits of a whole sweep; null or absent: none. `minutes` since the command was given."""

    usd: Annotated[float, Field(gt=0)] | None
    tokens: Limit
    requests: Limit
    minutes: Annotated[float, Field(gt=0)] | None
    confirm_over: Annotated[float, Field(ge=0)] | None
