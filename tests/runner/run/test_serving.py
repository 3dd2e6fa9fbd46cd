import time
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from runner.records import Preparation, Row
from runner.run.engine import Stop
from runner.run.job import Job, Outcome
from runner.run.serving import PREPARATION, Service, keep_preparation, kept_preparation
from runner.run.waves import Wave
from runner.system.journal import Journal


class Case:
    language = difficulty = None
    tags = ()

    def __init__(self, id: str) -> None:
        self.id = id


class Options:
    seed = 42


def service(folder: Path, **job: Any) -> Service:
    with Journal(folder / "per_item.jsonl") as journal:
        for id in ("q1", "q2"):
            journal.append(Row(id=id, status="ok", metrics={}, output=None, latency_ms=None))
    cases = [Case(f"q{number}") for number in range(10)]
    started = time.perf_counter()
    return Service(Job(OmegaConf.create(), folder, **job), Options(), None, cases, journal, started)  # type: ignore[arg-type]


def test_pending_are_the_cases_of_the_wave_that_have_no_row(tmp_path: Path) -> None:
    whole = service(tmp_path)
    assert [case.id for case in whole.pending] == ["q0", *(f"q{number}" for number in range(3, 10))]
    assert whole.n_done == 2
    chosen = Wave(6).of(whole.cases, 42)
    half = service(tmp_path, wave=Wave(6))
    assert [case.id for case in half.pending] == [case.id for case in chosen if case.id not in ("q1", "q2")]


def test_the_time_of_earlier_waves_counts(tmp_path: Path) -> None:
    before = Outcome("running", 0, elapsed_s=100.0, wave=3)
    assert 100.0 <= service(tmp_path, wave=Wave(4), before=before).elapsed_s < 160
    assert service(tmp_path).elapsed_s < 60


def test_a_run_is_closed_for_a_reason_of_its_own_or_for_that_of_the_sweep(tmp_path: Path) -> None:
    closing = Wave(3, "run 1: the budget is spent")
    own = Outcome("partial", 1, "the model is unknown", wave=3)
    assert service(tmp_path, wave=closing, before=own).job.stop == Stop(1, "the model is unknown")
    expected = Stop(3, "the sweep ended early: run 1: the budget is spent")
    assert service(tmp_path, wave=closing, before=Outcome("running", 0, wave=3)).job.stop == expected
    assert service(tmp_path, wave=closing).job.stop == expected


def test_what_preparing_told_is_taken_as_it_was_written_or_not_at_all(tmp_path: Path) -> None:
    told = Preparation({"index": {"n": 3, "by length": {2: 1, 10: 2}}}, {"index_s": 0.25})
    assert kept_preparation(tmp_path) is None
    keep_preparation(told, tmp_path)
    kept = kept_preparation(tmp_path)
    assert kept is not None
    assert (kept.facts["index"]["by length"], kept.timing) == ({"2": 1, "10": 2}, {"index_s": 0.25})
    path = tmp_path / PREPARATION
    text = path.read_text(encoding="utf-8")
    for other in ('{"id": {}}', "NaN", "1e999"):
        path.write_text(text.replace("0.25", other), encoding="utf-8")
        assert kept_preparation(tmp_path) is None
