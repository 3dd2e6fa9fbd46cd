from pathlib import Path
from typing import Any

import pytest

from runner.commands.generate.maker import QuestionMaker, expected_requests
from runner.llm.models import Models
from tests.runner.commands.generate.scripted import SETTINGS
from tests.small_data import CORPUS, write_jsonl


def maker(folder: Path, cache: Any = "use", **changes: Any) -> QuestionMaker:
    models = Models(
        providers={
            "test": {
                "base_url": "http://127.0.0.1:9/v1",
                "prices": {"usd_per_million": {"dear": {"input": 1e6, "output": 0.0}}},
            }
        },
        cache=cache,
        budget={},
        cache_dir=str(folder / "cache"),
        out=None,
        timeout_ms=1000,
        max_concurrency=1,
    )
    settings = {
        **SETTINGS,
        "models": models,
        "model": "test:dear",
        "corpus": str(write_jsonl(folder / "corpus.jsonl", CORPUS)),
        "out": "unused",
        "questions_per_chunk": 3,
        "max_chunks_sample": 4,
    }
    return QuestionMaker(**(settings | changes))


@pytest.mark.parametrize("cache", ["use", "none"])
async def test_one_request_a_chunk_and_one_a_question(tmp_path: Path, cache: Any) -> None:
    asked = maker(tmp_path, cache)
    found = await expected_requests(asked, asked.plan_batch())
    assert found.live == 4 + 4 * 3
    assert found.output_tokens == 4 * 360 + 12 * 120
    assert found.nano_usd == found.input_tokens * 10**9  # a dollar a token


async def test_a_model_without_a_price(tmp_path: Path) -> None:
    asked = maker(tmp_path, model="test:other")
    assert (await expected_requests(asked, asked.plan_batch())).nano_usd is None


async def test_unanswerable_questions_are_held_against_more_chunks(tmp_path: Path) -> None:
    few, many = maker(tmp_path), maker(tmp_path, unanswerable_share=1.0)
    cheap, dear = await expected_requests(few, few.plan_batch()), await expected_requests(many, many.plan_batch())
    assert dear.live == cheap.live
    assert dear.input_tokens > cheap.input_tokens + 12 * 4 * 10
