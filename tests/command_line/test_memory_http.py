"""The memory of another system: it dies in the middle of a run and is there again, is planned, and has a budget."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.command_line.result_files import read, rows
from tests.services.memory_server import AfterDoing, MemoryServer, memory_process, serving_memories
from tests.services.ports import free_port
from tests.small_data import write_jsonl


@pytest.fixture
def server() -> Iterator[MemoryServer]:
    with serving_memories() as server:
        yield server


@pytest.fixture
def words(server: MemoryServer, empty_folder: Path) -> list[str]:
    """Two conversations with two probes each: of two turns each the first is asked about after the first, too."""
    turns = [{"user": "My budget is $5,000."}, {"user": "My cat is called Tom."}]
    probes = [
        {"id": "early", "question": "What is my budget?", "after_turn": 1, "answers": ["$5,000"]},
        {"id": "late", "question": "What is my cat called?", "after_turn": 2, "answers": ["Tom"]},
    ]
    told = {"language": "en", "turns": turns, "probes": probes}
    write_jsonl(Path("s.jsonl"), [{"id": id, **told} for id in ("c1", "c2")])
    scenario = ["scenario=file", "scenario.path=s.jsonl", "memory=http", f"memory.url={server.url}"]
    return ["+experiment=memory", *scenario, "tracking=none", "format=json", "max_concurrency=1", "out=o"]


def methods(server: MemoryServer) -> Counter[str]:
    return Counter(f"{method} {path.partition('?')[0]}" for method, path, _ in server.requests)


def test_a_plan_counts_what_the_memory_is_asked_and_sends_nothing(
    server: MemoryServer, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert (
        f"10 requests to memory services ({server.url}: 10), which may cost something of their own, about 15 s" in told
    )
    assert "requests to models" not in told and server.requests == []
    assert main([*words, "format=md"]) == 0
    assert methods(server) == {"POST /memories": 4, "POST /search": 4, "DELETE /memories": 2}
    said = capsys.readouterr().err
    assert f"10 requests to memory services ({server.url}: 10)" in said  # before the first of them
    used = read("o/summary.json")["timing"]["usage"]["memory"][server.url]
    assert (used["live"]["requests"], used["live"]["usd"], used["cached"]["requests"]) == (10, None, 0)
    assert read("o/run.json")["models"] == {"memory": [server.url]}
    report = Path("o/summary.md").read_text("utf-8")
    assert f"| memory service | {server.url} | 10 |" in report and "usd_per_million" not in report


def test_a_plan_is_told_in_korean(server: MemoryServer, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *words, "report.language=ko", "memory.delete=null"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"메모리 서비스에 보낼 요청 8건({server.url}: 8), 서비스 자체의 비용은 제외" in told


SLOW = [pytest.param(limit, marks=pytest.mark.slow) for limit in (2, 3, 5)]


@pytest.mark.parametrize("limit", [1, 4, 7, *SLOW])
def test_a_budget_of_requests_holds_and_leaves_no_session_there(
    server: MemoryServer, words: list[str], capsys: pytest.CaptureFixture[str], limit: int
) -> None:
    """The deletion of a session is paid with its first turn."""
    assert main([*words, f"budget.requests={limit}"]) == 3
    assert f"budget.requests={limit} is spent" in capsys.readouterr().err
    assert len(server.requests) <= limit
    assert not any(server.sessions.values())


def test_a_budget_that_is_enough(server: MemoryServer, words: list[str]) -> None:
    assert main([*words, "budget.requests=10", "budget.usd=1"]) == 0  # what the service costs is for it to say
    assert len(server.requests) == 10


def test_attempts_count_for_the_budget(
    server: MemoryServer, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults.extend([None, (503, {}), (503, {})])  # of the first question
    assert main([*words, "budget.requests=11"]) == 3
    assert "budget.requests=11 is spent (11 used)" in capsys.readouterr().err
    assert len(server.requests) <= 11


def contents(server: MemoryServer) -> list[list[str]]:
    return [[told["messages"][0]["content"] for told in turns] for turns in server.sessions.values()]


@pytest.mark.parametrize("fault", [(503, {}), AfterDoing(503), AfterDoing()])
def test_no_turn_is_stored_twice(server: MemoryServer, words: list[str], fault: Any) -> None:
    """A session with a turn that may be stored is deleted, and the conversation is said again."""
    stored: list[list[str]] = []
    server.before_search = lambda: stored.extend(contents(server))
    server.faults.extend([None, None, fault])  # of the second turn
    assert main(words) == 0
    assert stored and all(len(turns) == len(set(turns)) for turns in stored)
    assert not any(server.sessions.values())
    assert read("o/summary.json")["cases"]["ok"] == 4


def test_a_reply_without_the_path_fails_its_case_and_names_the_keys(server: MemoryServer, words: list[str]) -> None:
    """All of them: no run that looks like one with a memory."""
    server.reply = {"memories": [], "count": 0}
    assert main(words) == 3
    failed = Path("o/errors.jsonl").read_text("utf-8").splitlines()
    assert len(failed) == 4
    assert all("matches nothing: no key results, only memories, count" in each for each in failed)


def test_replies_that_are_all_empty_are_a_warning(
    server: MemoryServer, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    server.reply = {"results": []}
    assert main([*words, "format=md"]) == 0
    assert "returned nothing in all 4 replies" in " ".join(capsys.readouterr().err.split())
    assert "The memory was empty for all 4 probes" in Path("o/summary.md").read_text("utf-8")


def test_stored_replies_of_models_are_no_reason_not_to_ask_a_memory(server: MemoryServer, words: list[str]) -> None:
    assert main([*words, "cache=replay"]) == 0
    assert len(server.requests) == 10


def test_a_service_that_dies_and_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    """The first run ends where nobody answers, the same command goes on with what is missing."""
    port = free_port()
    words = [
        "+experiment=memory", "memory=http", f"memory.url=http://127.0.0.1:{port}", "memory.retries=0",
        "scenario.language=en", "tracking=none", "format=json", "out=o", "max_concurrency=1",
    ]  # fmt: skip
    with memory_process(port, ends_after=40):
        assert main(words) == 3
    said = capsys.readouterr()
    assert f"http://127.0.0.1:{port} (memory)" in said.err  # who gets what is said
    assert "Run the same command again to resume" in said.out + said.err
    finished = rows("o")
    with memory_process(port):
        assert main(words) == 0
    summary = read("o/summary.json")
    assert summary["cases"]["total"] == len(rows("o")) > len(finished)
    assert summary["metrics"]["facts_present"]["value"] > 0.5
    assert summary["metrics"]["leakage"]["value"] == 0
