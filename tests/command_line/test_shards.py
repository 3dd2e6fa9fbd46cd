"""`shards=2`: the results of one process, and what is lost of a shard is what it had in flight."""

import json
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import pytest

from runner.cli import main
from runner.run.shards import Spare, _share, join, place_in, share_of
from runner.system.journal import ids_in
from tests.command_line.result_files import read
from tests.command_line.started import generated_by
from tests.services.models_server import ModelsServer
from tests.small_data import small_data, write_jsonl

RUN = ["+experiment=full_rag", "tracking=none", "retriever=keyword"]
N = 16  # the small questions, each under two ids
ANSWERING = """
import multiprocessing, os, signal
with open("asked.txt", "a") as file:
    file.write(f"{query.id} {os.getpid()}\\n")
with open("asked.txt") as file:
    mine = [line for line in file if line.split()[1] == str(os.getpid())]
if len(mine) == 4 and os.path.exists("kill"):
    os.unlink("kill")
    os.kill(os.getpid(), signal.SIGKILL)
if os.path.exists("kill always") and multiprocessing.current_process().name == "shard 1" and len(mine) >= 2:
    os.kill(os.getpid(), signal.SIGKILL)
return Answer("27 days")
"""


COUNTING = """
from plugins.dataset.jsonl import JsonlDataset

class Counting(JsonlDataset):
    def load(self):
        with open("loads.txt", "a") as file:
            file.write("load\\n")
        return super().load()
"""


def untimed(folder: str) -> str:
    return json.dumps({**read(f"{folder}/summary.json"), "timing": {}})


def asked() -> Counter[str]:
    return Counter(line.split()[0] for line in Path("asked.txt").read_text(encoding="utf-8").splitlines())


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Of a run over the small data. Every question is asked twice, under two ids."""
    words = [*RUN, *small_data(tmp_path / "data"), "format=json"]
    queries = [json.loads(line) for line in (tmp_path / "data/queries.jsonl").read_text(encoding="utf-8").splitlines()]
    again = [{**query, "id": f"{query['id']}-2"} for query in queries]
    write_jsonl(tmp_path / "data/queries.jsonl", [*queries, *again])
    return words


@pytest.fixture
def answering(words: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.syspath_prepend(Path.cwd())
    return [*words, *generated_by("answering", ANSWERING), "max_concurrency=2"]


def test_shards_come_to_what_one_process_does_and_go_on(
    answering: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Shards take over the data that the run has read, also where another process resumes one."""
    Path("counting.py").write_text(COUNTING, encoding="utf-8")
    answering = [*answering, "dataset._target_=counting.Counting"]
    assert main([*answering, "out=one"]) == 0
    loads = Path("loads.txt").read_text(encoding="utf-8")
    for name in ("asked.txt", "loads.txt"):
        Path(name).unlink()
    Path("kill").touch()
    assert main([*answering, "shards=2", "out=many"]) == 0
    assert Path("loads.txt").read_text(encoding="utf-8") == loads != ""
    assert "of many was lost with its process; another process resumes it" in capsys.readouterr().err
    assert untimed("one") == untimed("many")
    assert sorted(asked().values()) == [1] * (N - 1) + [2]  # one was in flight
    assert ids_in(Path("many/per_item.jsonl")) == ids_in(Path("one/per_item.jsonl"))
    assert not Path("many/.shards").exists()
    assert read("many/summary.json")["timing"]["elapsed_s"] > 0

    lines = Path("many/per_item.jsonl").read_bytes().splitlines(keepends=True)
    Path("many/per_item.jsonl").write_bytes(b"".join(lines[:8]))
    for number, rest in enumerate((lines[8:11], lines[11:13])):  # as a command leaves it that was killed
        place_in(Path("many"), number).mkdir(parents=True)
        (place_in(Path("many"), number) / "per_item.jsonl").write_bytes(b"".join(rest))
    Path("asked.txt").unlink()
    assert main([*answering, "shards=2", "out=many"]) == 0
    assert sum(asked().values()) == 3
    assert untimed("one") == untimed("many")


def test_a_shard_that_loses_every_process_ends_the_run_and_keeps_the_rest(
    answering: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("kill always").touch()
    queries = Path("data/queries.jsonl").read_text(encoding="utf-8").splitlines()
    shard_1 = {json.loads(queries[place])["id"] for place in share_of(range(N), 1, 2)}
    assert main([*answering, "shards=2", "out=many"]) == 3
    told = capsys.readouterr().err
    assert "lost its process 3 times (many/.shards/" in told
    rows = ids_in(Path("many/per_item.jsonl"))
    lost = rows & shard_1
    assert (read("many/run.json")["status"], len(lost)) == ("partial", 3)  # one row of each process
    Path("kill always").unlink()
    assert main([*answering, "out=many"]) == 0  # without shards, too
    assert (len(asked()), len(ids_in(Path("many/per_item.jsonl")))) == (N, N)
    assert {count for id, count in asked().items() if id not in shard_1} == {1}  # the other shard lost nothing


@pytest.mark.slow  # test_ledger_processes.py has that processes share a budget
def test_one_budget_holds_over_all_shards(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words, "generator=openai", "generator.model=local:large", f"provider.local.base_url={server.url}"]
    assert main([*words, "shards=2", "budget.requests=5", "out=many"]) == 3
    assert "budget.requests=5 is spent" in capsys.readouterr().err
    assert len(server.requests) <= 5
    assert main([*words, "out=many"]) == 0  # without shards, too
    assert read("many/summary.json")["cases"]["ok"] == N
    assert main([*words, "cache=replay", "out=one"]) == 0  # each was asked, and its reply stored
    assert untimed("one") == untimed("many")
    assert len(server.requests) <= N
    calls = {line["case"] for line in _calls("many")}
    assert calls == {line["case"] for line in _calls("one")}


def test_ctrl_c_ends_the_shards_keeps_their_rows_and_no_prompt_is_paid_twice(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a terminal, where all processes of the command hear it."""
    models = ["generator=openai", "generator.model=local:large", f"provider.local.base_url={server.url}"]
    words = [*words, *models, "provider.local.requests_per_minute=1000", "max_concurrency=2", "shards=2", "out=many"]

    def interrupt() -> None:
        while sum(len(ids_in(place_in(Path("many"), number) / "per_item.jsonl")) for number in (0, 1)) < 3:
            time.sleep(0.02)
        for process in multiprocessing.active_children():
            os.kill(process.pid or 0, signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    server.latency_s = 0.4
    Thread(target=interrupt, daemon=True).start()
    assert main(words) == 130
    assert "stopped; run the same command again to resume (many)" in capsys.readouterr().err
    assert not multiprocessing.active_children()
    done = ids_in(Path("many/per_item.jsonl"))
    assert 3 <= len(done) < N and read("many/run.json")["status"] == "partial"
    server.latency_s = 0.0
    assert main([word for word in words if word != "shards=2"]) == 0  # without shards, too
    assert f"resuming: {len(done)} of {N} cases are done" in capsys.readouterr().err
    sent = Counter(json.dumps(request["messages"]) for request in server.requests)
    assert sum(sent.values()) - len(sent) <= 2  # what was in flight
    assert len(sent) <= 8


def _calls(folder: str) -> list[dict[str, object]]:
    from runner.llm.calls import read_calls

    return list(read_calls(Path(folder, "calls.jsonl.zst")))


@pytest.mark.parametrize("launcher", [pytest.param("joblib", marks=pytest.mark.slow), "submitit"])
def test_a_launcher_makes_the_shards(launcher: str, words: list[str]) -> None:
    assert main([*words, f"hydra/launcher={launcher}", "shards=2", "out=many"]) == 0
    assert main([*words, "out=one"]) == 0
    assert untimed("one") == untimed("many")
    assert not Path("many/.shards").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["shards=0"], "shards: expected 1 or more, got 0"),
        (["shards=1000"], "shards: expected 256 or less, got 1000"),
        (
            ["shards=2", "k=1,2", "hydra/launcher=joblib"],
            "shards: the launcher makes whole runs of a sweep side by side; expected shards=1, or no launcher",
        ),
        (
            ["shards=8", "generator=openai", "generator.model=local:large"],
            "shards: the shards share max_concurrency=4 requests; expected max_concurrency=8 or more, or shards=4",
        ),
    ],
)
def test_what_cannot_be_cut_is_told(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, *words, "out=s"]) == 1
    assert problem in capsys.readouterr().err
    assert not Path("s").exists()


def test_a_run_that_cannot_begin_leaves_no_process(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Spare] = []
    start = Spare.start

    def noting(targets: Sequence[str] = ()) -> Spare:
        started.append(start(targets))
        return started[-1]

    monkeypatch.setattr(Spare, "start", noting)
    Path("data/queries.jsonl").write_text("{}\n", encoding="utf-8")
    assert main([*words, "shards=2", "out=none"]) != 0
    assert "no queries in" in capsys.readouterr().err
    assert [spare.process.is_alive() for spare in started] == [False, False]


def test_parts_are_even_and_make_up_the_whole(tmp_path: Path) -> None:
    places = range(7, 8007)
    parts = [share_of(places, number, 8) for number in range(8)]
    assert sorted(place for part in parts for place in part) == [*places]
    assert {len(part) for part in parts} == {1000}
    assert [share_of(range(5), number, 3) for number in range(3)] == [[0], [1, 4], [2, 3]]  # each has some
    assert share_of(range(64), 0, 2)[:9] == [0, 1, 2, 3, 12, 13, 14, 15, 16]  # neighbours stay together
    assert share_of([], 0, 2) == []
    assert [_share(10, number, 4) for number in range(4)] == [3, 3, 2, 2]
    assert join(tmp_path) == 0.0
