"""A service, a function and a program that run, evaluated as they stand, over real connections."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.command_line.result_files import rows, summary
from tests.command_line.started import command
from tests.services.rag_service import RagService, serving_answers
from tests.small_data import QUERIES, small_data

FULL = ["+experiment=full_rag", "tracking=none", "format=md", "judge.health=false"]


@pytest.fixture(scope="module")
def started() -> Iterator[RagService]:
    with serving_answers() as service:
        yield service


@pytest.fixture
def service(started: RagService) -> RagService:
    started.reset()
    return started


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    return [*small_data(tmp_path / "data"), *FULL]


def http(service: RagService, path: str = "/ask") -> list[str]:
    return ["system=http", f"system.url={service.url}{path}"]


# --- over HTTP ------------------------------------------------------------------------------------


def test_a_service_is_evaluated_by_what_it_says(
    service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, *http(service), "out=o"]) == 0
    said = capsys.readouterr()
    assert f"data goes to {service.url} (system)" in said.err
    assert f"{service.url}/ask: 8" in said.err  # the plan
    assert sorted(each["question"] for each in service.asked) == sorted(query["query"] for query in QUERIES)
    assert service.asked[0].keys() == {"question", "top_k", "shift"}  # no history where there is none
    found = summary("o")["metrics"]
    assert {name: found[name]["value"] for name in ("right", "recall_at_k", "mrr")} == dict.fromkeys(
        ("right", "recall_at_k", "mrr"), 1.0
    )
    assert found["mean_faithfulness"]["n_scored"] == 8
    row = rows("o")["q1"]
    assert row["output"]["contexts"][0]["id"] == "moon" and row["timings"].keys() == {"system"}
    usage = summary("o")["timing"]["usage"]["system"][f"{service.url}/ask"]["live"]
    assert (usage["requests"], usage["input_tokens"], usage["output_tokens"]) == (8, 600, 60)
    shown = Path("o/summary.md").read_text("utf-8")
    assert f"Asked: {service.url}/ask. Nothing was retrieved or generated here" in shown
    assert "generator=extractive" not in shown and "Baselines without a language model: judge=lexical" in shown


def test_killed_half_way_and_resumed_no_question_is_answered_twice(service: RagService, words: list[str]) -> None:
    """What was in flight when the process was killed was not answered; it is asked again with the same key."""
    line = [*words, *http(service), "out=o", "max_concurrency=2", "format=json"]
    service.hold_after = 4
    process = subprocess.Popen(command(*line), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(service.asked) == 6 and len(finished("o")) == 4)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    assert len(service.answered) == 4
    service.hold_after = None
    service.gate.set()
    wait_until(lambda: service.in_flight == 0)
    assert sum(service.answered.values()) == 4
    assert main(line) == 0
    assert service.answered == dict.fromkeys((query["query"] for query in QUERIES), 1)
    assert len(service.asked) == 10
    twice = {question: keys for question, keys in service.keys.items() if len(keys) > 1}
    assert len(twice) == 2 and all(first == second != "" for first, second in twice.values())
    assert summary("o")["metrics"]["right"]["value"] == 1.0


def test_a_reply_that_was_not_judged_yet_is_not_paid_twice(service: RagService, words: list[str]) -> None:
    """The journal is lost; what the service said is not."""
    line = [*words, *http(service), "out=o", "format=json"]
    assert main(line) == 0
    Path("o/per_item.jsonl").unlink()
    assert main(line) == 0
    assert len(service.asked) == 8


@pytest.mark.parametrize(("cache", "asked"), [("false", 16), ("true", 8)])
def test_another_run_asks_anew_unless_told_otherwise(
    service: RagService, words: list[str], cache: str, asked: int
) -> None:
    for out in ("a", "b"):
        assert main([*words, *http(service), f"system.cache={cache}", f"out={out}", "format=json"]) == 0
    assert len(service.asked) == asked


def test_two_deployments_are_compared(
    service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "system=http", f"system.url={service.url}/ask,{service.url}/old", "out=s"]) == 0
    assert [summary(f"s/{cell}")["metrics"]["right"]["value"] for cell in (0, 1)] == [1.0, 0.25]
    shown = " ".join(capsys.readouterr().out.split())
    assert "Compared with system.url=" in shown and "−0.750" in shown


def test_a_field_of_the_body_is_swept(service: RagService, words: list[str]) -> None:
    assert main([*words, *http(service), "+system.fields.top_k=1,2", "out=s", "format=json"]) == 0
    assert [summary(f"s/{cell}")["metrics"]["precision_at_1"]["value"] for cell in (0, 1)] == [1.0, 1.0]
    assert sorted(each["top_k"] for each in service.asked) == [1] * 8 + [2] * 8


def test_a_budget_of_requests_holds(service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    line = [*words, *http(service), "out=o", "max_concurrency=1", "format=json"]
    assert main([*line, "budget.requests=3"]) == 3
    assert "budget.requests=3 is spent" in capsys.readouterr().err
    assert len(service.asked) == 3
    assert main([*line, "budget.requests=8"]) == 0
    assert len(service.asked) == 8


def test_what_is_too_much_is_waited_for_and_what_fails_is_tried_again(service: RagService, words: list[str]) -> None:
    service.faults.extend([(429, {"Retry-After": "0.2"}), (503, {})])
    assert main([*words, *http(service), "out=o", "format=json"]) == 0
    assert len(service.asked) == 10
    assert summary("o")["timing"]["latency"]["system"]["n"] == 6  # the others needed a second attempt


def test_so_many_at_once(service: RagService, words: list[str]) -> None:
    service.delay_s = 0.05
    assert main([*words, *http(service), "out=o", "max_concurrency=3", "format=json"]) == 0
    assert service.most_in_flight == 3


def test_a_plan_asks_nothing(service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *words, *http(service), "system.repeats=2"]) == 0
    assert f"{service.url}/ask: 16" in capsys.readouterr().out
    assert service.asked == []


def wait_until(is_so: Any) -> None:
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def finished(folder: str) -> dict[str, Any]:
    return rows(folder) if Path(folder, "per_item.jsonl").exists() else {}
