"""What is told before models are asked, and what holds a command back."""

import io
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import pytest
from omegaconf import DictConfig, OmegaConf

from runner.errors import ConfigError, InputError, StopRunError
from runner.llm.ledger import Account
from runner.llm.models import Models
from runner.llm.rehearsal import ExpectedRequests
from runner.run.cost import agree
from runner.run.planning import CellPlan, CommandPlan

LIVE = ExpectedRequests(live=6, input_tokens=900, output_tokens=100, nano_usd=2 * 10**9)


def planned(*expected: ExpectedRequests) -> CommandPlan:
    accounts = [Account(".", f"role {number}", "test:m") for number in range(len(expected))]
    return CommandPlan([CellPlan((), 3, dict(zip(accounts, expected, strict=True)))], concurrency=1)


def models(folder: Path, cache: Literal["use", "replay"] = "use", key: str | None = None) -> Models:
    return Models(
        providers={"test": {"base_url": "http://127.0.0.1:9/v1", "api_key_env": key}},
        cache=cache,
        budget={},
        cache_dir=str(folder),
        out=None,
        timeout_ms=1000,
        max_concurrency=1,
    )


def settings(language: str = "en", **budget: Any) -> DictConfig:
    nothing = dict.fromkeys(("usd", "tokens", "requests", "confirm_over"))
    return OmegaConf.create({"report": {"language": language}, "budget": {**nothing, **budget}})


def test_limits_that_will_not_hold_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two dollars, 1,000 tokens and 6 requests; what comes to exactly the limit is within it."""
    agree(planned(LIVE), models(tmp_path), settings(usd=1.5, tokens=1000, requests=5))
    line, *notes = capsys.readouterr().err.splitlines()
    assert "test:m: 6" in line and "1,000" in line
    assert notes == [
        "note: budget.usd=1.5 will run out before the end",
        "note: budget.requests=5 will run out before the end",
    ]


def test_limits_are_those_of_all_roles_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agree(planned(LIVE, LIVE), models(tmp_path), settings("ko", usd=4.0, tokens=1999, requests=12))
    assert capsys.readouterr().err.splitlines()[1:] == ["참고: 끝나기 전에 예산이 소진됩니다(budget.tokens=1999)"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("limit", "answer", "starts"),
    [
        (1.99, "y\n", True),
        (1.99, " 예 \n", True),
        (1.99, "n\n", False),
        (1.99, "", False),
        (2.0, "", True),
        (None, "", True),
    ],
)
def test_a_person_is_asked_above_a_limit(
    limit: float | None, answer: str, starts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", screen)
    with nullcontext() if starts else pytest.raises(InputError, match=r"^not started"):
        agree(planned(LIVE), models(tmp_path), settings(confirm_over=limit))
    assert ("?" in screen.getvalue()) is (limit == 1.99)


def test_no_limit_of_money_is_held_against_an_unknown_price(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = ExpectedRequests(live=6, nano_usd=None)
    agree(planned(unknown), models(tmp_path), settings(usd=0.01, confirm_over=0.01))
    assert "note:" not in capsys.readouterr().err


def test_a_reply_that_is_not_stored_ends_a_replay(tmp_path: Path) -> None:
    agree(planned(ExpectedRequests(stored=6)), models(tmp_path, "replay"), settings())
    with pytest.raises(StopRunError, match=r"^cache=replay: replies are not stored: 12 of test:m$"):
        agree(planned(LIVE, LIVE), models(tmp_path, "replay"), settings())
    service = CellPlan((), 3, {Account(".", "system", "a service"): ExpectedRequests(live=2)})
    with pytest.raises(StopRunError, match=r": 2 of a service$"):
        agree(CommandPlan([service], concurrency=1), models(tmp_path, "replay"), settings())


def test_a_key_that_is_missing_is_told_where_anything_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOBODYS_KEY", raising=False)
    agree(planned(ExpectedRequests(stored=6)), models(tmp_path, key="NOBODYS_KEY"), settings())
    with pytest.raises(ConfigError, match="NOBODYS_KEY"):
        agree(planned(LIVE), models(tmp_path, key="NOBODYS_KEY"), settings())
