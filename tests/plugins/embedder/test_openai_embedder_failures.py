"""Texts, keys and servers that are to blame when there is no vector."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.errors import EvaluationError, InputError, StopRunError
from tests.plugins.embedder.embedding_server import embed, embedder, models
from tests.services.models_faults import Faults
from tests.services.models_replies import Reply, error
from tests.services.models_server import ModelsServer


def test_no_key_is_told_by_the_name_of_its_variable(
    server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed(server, tmp_path, ["known"])
    monkeypatch.delenv("TEST_KEY")
    assert embed(server, tmp_path, ["known"]).any()
    with pytest.raises(InputError, match=r"^provider\.test\.api_key_env: the environment variable TEST_KEY is not set"):
        embed(server, tmp_path, ["new"])
    assert server.count == 1


def test_a_server_without_keys(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, providers={"test": {"base_url": server.url, "api_key_env": None}})
    assert embedder(door, tmp_path).embed(["a"], "query").any()


def test_a_wrong_key_ends_all_at_once(server: ModelsServer, tmp_path: Path) -> None:
    server.api_key = "another"
    with pytest.raises(StopRunError, match=r"the server answers 401: Incorrect API key provided\. "):
        embed(server, tmp_path, ["a", "b", "c"], batch_size=1)
    assert server.count <= 3


def blame(text: str) -> Callable[[dict[str, Any]], Reply | None]:
    message = "This model's maximum context length is 8192 tokens."
    return lambda body: error(400, message, kind="invalid_request_error") if text in body["input"] else None


def test_what_one_text_is_to_blame_for_costs_its_batch_only(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = blame("3")
    texts = [str(n) for n in range(20)]
    component = embedder(models(server.url, tmp_path), tmp_path, batch_size=2)
    with pytest.raises(EvaluationError, match=r"^test:tiny at http.*: the server answers 400: This model's maximum"):
        component.embed(texts, "passage")
    assert component.is_cached(texts, "passage") == [text not in ("2", "3") for text in texts]
    assert server.count == 10


def test_what_all_texts_are_to_blame_for_is_not_asked_for_each(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(400, "no such dimensions", kind="invalid_request_error")
    with pytest.raises(EvaluationError, match="no such dimensions"):
        embedder(models(server.url, tmp_path), tmp_path, batch_size=1).embed([str(n) for n in range(50)], "passage")
    assert server.count == 4


def test_faults_of_the_server_change_nothing(server: ModelsServer, tmp_path: Path) -> None:
    texts = [f"문장 {n}" for n in range(60)]
    expected = embed(server, tmp_path / "1", texts, "passage", batch_size=1)
    server.faults = Faults(seed=1, in_a_row=1, server_error=0.05, dropped=0.05, truncated=0.05, rate_limit=0.05)
    rows = embed(server, tmp_path / "2", texts, "passage", batch_size=1)
    assert sum(server.counts.faults.values()) >= 4
    np.testing.assert_array_equal(rows, expected)
