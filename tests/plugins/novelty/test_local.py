from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from plugins.embedder.none import NoEmbedder
from plugins.novelty.local import LocalNovelty
from runner.errors import DataError
from runner.trace.records import Trace
from tests.runner.trace.examples import finance


def at(id: str, minute: int | None) -> Trace:
    start = datetime(2026, 11, 3, 9, tzinfo=UTC)
    return finance(id, created_at=None if minute is None else start + timedelta(minutes=minute))


def novelty(**settings: Any) -> LocalNovelty:
    return LocalNovelty(embedder=NoEmbedder(), **settings)


def test_order_of_file_and_of_time() -> None:
    traces = [at("c", 3), at("a", 1), at("b", 3)]
    assert [trace.id for trace in novelty().ordered(traces)] == ["c", "a", "b"]
    assert [trace.id for trace in novelty(order="time").ordered(traces)] == ["a", "c", "b"]
    with pytest.raises(DataError) as caught:
        novelty(order="time").ordered([at(str(n), None) for n in range(6)])
    assert str(caught.value) == "novelty.order=time: 6 traces have no metadata.created_at: 0, 1, 2, 3, 4 …"


def test_a_ttl_needs_the_time_of_traces() -> None:
    (problem,) = novelty(ttl_ms=1000).preflight()
    assert str(problem) == ("novelty.ttl_ms: counts the time between traces: it needs novelty.order=time")
    assert novelty(ttl_ms=1000, order="time").preflight() == novelty().preflight() == []


class East:
    """Every text is the same vector."""

    def prepare(self, texts: Any, workspace: Any) -> None: ...

    def embed(self, texts: Any, kind: Any) -> NDArray[np.float32]:
        return np.tile(np.array([1, 0], dtype=np.float32), (len(texts), 1))


def test_the_time_of_traces_is_the_clock_of_the_ttl() -> None:
    traces = [at("c", 130), at("a", 0), at("b", 59)]
    subject = LocalNovelty(embedder=East(), ttl_ms=3_600_000, order="time")
    workspace: Any = None
    found = subject.of(traces, {"a", "b", "c"}, workspace)
    assert found == {"a": 0.5, "b": 0.0, "c": 0.5}


def test_configuration_writes_out_every_setting_and_its_default() -> None:
    path = Path(__file__).parents[3] / "conf/novelty/local.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert settings == {
        "_target_": "plugins.novelty.local.LocalNovelty",
        "embedder": "${embedder}",
        **LocalNovelty.__init__.__kwdefaults__,
    }
