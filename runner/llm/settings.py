"""The settings of providers, prices and limits in conf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, with_config
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from runner.llm.address import NOT_SHOWN, address_problem, variable_problem

CacheMode = Literal["use", "none", "read", "refresh", "replay"]


def _sound(problem: Callable[[str], str | None]) -> AfterValidator:
    def check(value: str) -> str:
        if message := problem(value):
            raise PydanticCustomError(NOT_SHOWN, "{message}", {"message": message})
        return value

    return AfterValidator(check)


Address = Annotated[str, _sound(address_problem)]
Variable = Annotated[str, _sound(variable_problem)]
Limit = Annotated[int, Field(ge=1)] | None


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class Price(TypedDict, total=False):
    """USD for a million tokens."""

    input: Annotated[float, Field(ge=0)]
    cached_input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class Prices(TypedDict, total=False):
    """`usd_per_million` maps names of models (`*` any) to prices, which hold for `base_url` (null: for any)."""

    date: str | None
    base_url: Address | None
    usd_per_million: dict[str, Price]


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class ProviderSettings(TypedDict, total=False):
    """conf/provider/openai.yaml explains the settings."""

    base_url: Address | None
    api_key_env: Variable | None
    max_concurrency: Limit
    requests_per_minute: Limit
    tokens_per_minute: Limit
    pinned: bool
    client: Literal["openai"] | None
    key_header: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*$")] | None
    query: dict[str, str]
    leave_out: dict[str, list[str]]
    rename: dict[str, dict[str, str]]
    response_format: dict[str, Literal["json_schema", "json_object"]]
    add: dict[str, dict[str, Any]]
    prices: Prices


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class Budget(TypedDict, total=False):
    """Limits of a whole sweep; null or absent: none. `minutes` since the command was given."""

    usd: Annotated[float, Field(gt=0)] | None
    tokens: Limit
    requests: Limit
    minutes: Annotated[float, Field(gt=0)] | None
    confirm_over: Annotated[float, Field(ge=0)] | None
