"""The real command against a real small model. It is no good judge; what it says must be counted and accounted for."""

import json
import os
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.llm.messages import ChatRequest, Message
from runner.llm.models import Models

URL = os.environ.get("RUNNER_TEST_LLM_URL", "")
MODEL = "local:smollm2"
CASES = 4
RUBRICS = ("faithfulness", "answer_relevancy")

pytestmark = pytest.mark.skipif(not URL, reason="needs a model at RUNNER_TEST_LLM_URL, as `make test-llm` serves one")


@dataclass(frozen=True, slots=True)
class Run:
    folder: Path
    exit_code: int
    prompt_tokens: int  # that the server has read for it

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "per_item.jsonl").read_text(encoding="utf-8").splitlines()]

    @property
    def summary(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "summary.json").read_text(encoding="utf-8")))


def prompt_tokens() -> int:
    """All that the server has read since it started."""
    with urllib.request.urlopen(f"{URL.removesuffix('/v1')}/metrics", timeout=60) as answer:
        lines = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
    return int(float(lines["llamacpp:prompt_tokens_total"]))


def run(folder: Path, cache: Path, *more: str) -> Run:
    before = prompt_tokens()
    exit_code = main(
        [
            *("+experiment=full_rag", "dataset=demo_en", f"sample={CASES}", "retriever=keyword", "k=2"),
            *("generator=openai", f"generator.model={MODEL}", "generator.max_tokens=100"),
            *("judge=openai", f"judge.model={MODEL}", "judge.max_tokens=200", "judge.health=false"),
            *(f"provider.local.base_url={URL}", "max_concurrency=2", "timeout_ms=300000", "max_failure_rate=1"),
            *("warmup=0", "tracking=none", f"cache_dir={cache}", f"out={folder}", *more),
        ]
    )
    return Run(folder, exit_code, prompt_tokens() - before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("llm")


@pytest.fixture(scope="module")
def first(folder: Path) -> Run:
    return run(folder / "first", folder / "cache")


def test_every_case_is_scored_or_failed_with_a_reason(first: Run) -> None:
    assert first.exit_code == 0
    assert len(first.rows) == CASES
    for row in first.rows:
        assert row["status"] == "ok"
        assert row["output"]["answer"]
        for rubric in RUBRICS:
            judgement = row["judgements"][rubric]
            assert judgement["error"] or 0 <= judgement["score"] <= 1
    scored = sum(row["judgements"][rubric]["score"] is not None for row in first.rows for rubric in RUBRICS)
    assert scored >= CASES  # half of all; with a schema nearly all are


def test_what_the_model_reads_and_writes_is_counted(first: Run) -> None:
    usage = first.summary["timing"]["usage"]
    for role in ("generator", "judge"):
        live = usage[role][MODEL]["live"]
        assert live["requests"] >= CASES * (1 if role == "generator" else len(RUBRICS))
        assert live["output_tokens"] >= live["requests"]
        assert live["usd"] == 0
    total = first.summary["timing"]["usage_total"]["live"]
    assert total["input_tokens"] >= first.prompt_tokens > 0  # the server reads the beginnings of prompts once


def test_the_same_run_again_asks_nothing(first: Run, folder: Path) -> None:
    again = run(folder / "again", folder / "cache", "cache=replay")
    assert again.exit_code == 0
    assert again.prompt_tokens == 0
    assert again.summary["timing"]["usage_total"]["live"]["requests"] == 0
    assert _without_timing(again.summary) == _without_timing(first.summary)


def test_verdicts_on_claims_are_reconciled_or_a_failure_says_why(first: Run, folder: Path) -> None:
    claims = run(folder / "claims", folder / "cache", "judge.mode=claims")
    assert claims.exit_code == 0
    assert claims.summary["timing"]["usage"]["generator"][MODEL]["live"]["requests"] == 0  # the answers of the first
    for row in claims.rows:
        judgement = row["judgements"]["faithfulness"]
        verdicts = [claim["verdict"] for claim in judgement["details"].get("claims", [])]
        assert judgement["error"] or set(verdicts) <= {"supported", "contradicted", "not_found"}
        if verdicts and not judgement["error"]:
            assert judgement["score"] == pytest.approx(verdicts.count("supported") / len(verdicts))


async def test_the_schema_reaches_the_model(tmp_path: Path) -> None:
    """No model says such a thing of its own accord."""
    models = Models(
        providers={"local": {"base_url": URL, "api_key_env": None}},
        cache="none",
        budget={},
        cache_dir=str(tmp_path),
        out=None,
        timeout_ms=300_000,
        max_concurrency=1,
    )
    kinds = ["zirconium-40", "praseodymium-59"]
    schema = {
        "type": "object",
        "properties": {"kind": {"type": "string", "enum": kinds}},
        "required": ["kind"],
        "additionalProperties": False,
    }
    async with models.open():
        asked = ChatRequest((Message("user", "How are you?"),), max_tokens=50, temperature=0.0, schema=schema)
        assert await models.model(MODEL, "judge").ask_for_json(asked, lambda said: said["kind"]) in kinds


def _without_timing(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name != "timing"}
