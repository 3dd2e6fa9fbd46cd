"""Every call of a model is kept with its case, and shown, whatever happens to the run."""

import contextlib
import json
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from runner.cli import main
from runner.config.compose import compose_cells
from runner.llm.calls import FILE, call_counts, read_calls
from tests.command_line.result_files import read, rows
from tests.command_line.started import begun
from tests.command_line.test_unfinished import is_judged
from tests.services.doors import QUICK
from tests.services.models_faults import Faults
from tests.services.models_replies import completion
from tests.services.models_server import ModelsServer
from tests.small_data import small_data, write_jsonl

EMBEDDED = ["retriever=semantic", "embedder=openai", "embedder.model=local:vectors"]


def asking(url: str) -> list[str]:
    asked = ["judge=openai", "judge.model=local:small", "judge.health=false"]
    asked += ["generator=openai", "generator.model=local:large", f"provider.local.base_url={url}"]
    return ["+experiment=full_rag", *small_data(Path("data")), "tracking=none", "format=json", *asked]


@pytest.fixture
def words(server: ModelsServer, empty_folder: Path) -> list[str]:
    return asking(server.url)


@pytest.fixture(scope="module")
def made_once(_models_server: ModelsServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A folder with the run `o`, and what its models were sent."""
    _models_server.renew()
    with contextlib.chdir(tmp_path_factory.mktemp("calls")):
        assert main([*asking(_models_server.url), *EMBEDDED, "out=o"]) == 0
        return Path.cwd(), list(_models_server.requests)


@pytest.fixture
def made(made_once: tuple[Path, list[Any]], words: list[str]) -> list[str]:
    """The words of the finished run `o`."""
    shutil.copytree(made_once[0], Path.cwd(), dirs_exist_ok=True)
    return [*words, *EMBEDDED, "out=o"]


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main(["calls", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def kept(folder: str) -> list[dict[str, Any]]:
    return list(read_calls(Path(folder, FILE)))


@pytest.mark.usefixtures("made")
def test_a_case_shows_what_was_sent_and_what_came_back(
    made_once: tuple[Path, list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    calls = shown(capsys, "o", "q1")
    assert [call["role"] for call in calls] == ["embedder", "generator", "judge", "judge", "judge"]
    assert {call["rubric"] for call in calls} == {"", "faithfulness", "answer_relevancy", "answer_correctness"}
    sent = [body for body in made_once[1] if "messages" in body]
    assert all(call["request"] in sent for call in calls[1:])
    assert calls[0]["request"]["input"] == ["How long does the Moon need to circle the Earth?"]
    assert calls[0]["reply"] == {"vectors": 1, "dimensions": 64, "texts_of_the_request": 1}
    row = rows("o")["q1"]
    assert calls[1]["reply"] == {"text": row["output"]["answer"], "finish_reason": "stop"}
    for role in ("generator", "judge", "embedder"):
        own = [call for call in calls if call["role"] == role]
        assert sum(call["input_tokens"] for call in own) == row["cost"][role]["input_tokens"]
        assert sum(call["output_tokens"] for call in own) == row["cost"][role]["output_tokens"]
    assert {(call["attempts"], call["cached"], call["error"]) for call in calls} == {(1, False, None)}
    assert all(call["ms"] > 0 for call in calls)
    assert shown(capsys, "o", "q1", "--role", "judge:faithfulness") == [
        call for call in calls if call["rubric"] == "faithfulness"
    ]
    assert shown(capsys, "o") == Counter(call["case"] for call in kept("o"))


def test_the_same_requests_from_the_cache_are_told_so(made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*made, "out=b"]) == 0
    first, second = (
        [call for call in shown(capsys, folder, "q2") if call["role"] != "embedder"]  # whose rankings are kept
        for folder in "ob"
    )
    assert {(call["attempts"], call["cached"]) for call in second} == {(0, True)}
    same = ("role", "rubric", "model", "request", "reply", "input_tokens", "output_tokens", "cost_usd", "id")
    assert [[call[name] for name in same] for call in first] == [[call[name] for name in same] for call in second]


def test_repeated_attempts_and_what_never_came_are_told(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.llm.models.Patience", lambda: QUICK)
    server.faults = Faults(server_error=1.0, in_a_row=1)
    words = [word for word in words if not word.startswith("judge")]
    assert main([*words, "out=o", "case=q1"]) == 0
    (call,) = shown(capsys, "o", "q1")
    assert (call["attempts"], call["error"]) == (2, None)
    server.faults = Faults(server_error=1.0, in_a_row=99)
    assert main([*words, "out=failed", "case=q2"]) == 3
    (call,) = shown(capsys, "failed", "q2")
    assert (call["attempts"], call["reply"]) == (6, None)
    assert "asked 6 times" in call["error"]
    assert main(["calls", "failed", "q2", "--language", "ko"]) == 0
    told = capsys.readouterr().out
    assert "1/1 생성, local:large" in told
    assert "시도 6회" in told
    assert "오류" in told


@pytest.mark.usefixtures("made")
def test_a_terminal_gets_all_of_it_in_two_languages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calls", "o", "질5"]) == 0
    english = capsys.readouterr().out
    assert "2/5 generator, local:large" in english
    assert "judge (Faithfulness), local:small" in english
    assert "달은 지구를 며칠에 한 바퀴 도나요?" in english
    assert "\nreply\n" in english
    assert main(["calls", "o", "질5", "language=ko"]) == 0
    korean = capsys.readouterr().out
    assert "2/5 생성, local:large" in korean
    assert "\n응답\n" in korean


def test_failed_keeps_those_of_cases_that_are_not_finished_and_none_keeps_nothing(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.respond = lambda body: (
        completion(body, None, refusal="No.") if is_judged(body) and "며칠" in str(body) else None
    )
    assert main([*words, "out=o", "calls=failed"]) == 3
    assert {id for id, row in rows("o").items() if row["error"] or row["unscored"]} == {"질5"}
    assert set(shown(capsys, "o")) == {"질5"}
    assert main(["calls", "o", "q1"]) == 1
    assert capsys.readouterr().err.startswith(
        "error: o/calls.jsonl.zst has no call of the case 'q1'; calls=failed keeps those of cases that are not finished"
    )
    server.respond = None
    assert main([*words, "out=n", "calls=none"]) == 0
    assert not Path("n", FILE).exists()
    assert main(["calls", "n"]) == 1
    assert "n has no calls.jsonl.zst: the run was made with calls=none; calls=all keeps all" in capsys.readouterr().err


@pytest.mark.usefixtures("made")
def test_wrong_words_are_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "retriever=keyword", "sample=1", "out=s", "k=1,2"]) == 0
    capsys.readouterr()
    for wrong, message in (
        (["o", "q11"], "error: o: no case has the id 'q11'; did you mean 'q1'"),
        (["o", "zzz"], "error: o: no case has the id 'zzz'; known: q1, q"),  # each once
        (["s", "q1"], "error: s is a sweep; expected one of its runs: s/0, s/1"),
        (
            ["o", "q1", "--role", "agent"],
            "no call of the case has the role 'agent'; it has embedder, generator, judge:",
        ),
        (["nothing", "q1"], "error: nothing"),
    ):
        assert main(["calls", *wrong]) == 1
        assert message in capsys.readouterr().err
    assert main([*words, "out=x", "calls=some"]) == 1
    assert "calls: expected 'all', 'failed' or 'none', got 'some'" in capsys.readouterr().err


def test_a_damaged_file_is_told_and_set_aside(made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("o", FILE)
    whole = path.read_bytes()
    path.write_bytes(whole[:40] + b"?" + whole[41:])
    assert main(["calls", "o", "q1"]) == 1
    assert "calls.jsonl.zst is damaged" in capsys.readouterr().err
    path.write_bytes(b"{}\n" * 20)
    Path("o/per_item.jsonl").write_bytes(b"".join(Path("o/per_item.jsonl").read_bytes().splitlines(True)[:4]))
    assert main(made) == 0
    assert "is now calls.jsonl.zst.damaged-" in capsys.readouterr().err
    assert len(call_counts(path)) == 4


@pytest.mark.usefixtures("made")
def test_other_tools_read_the_file() -> None:
    with Path("o", FILE).open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    assert [orjson.loads(line) for line in text.splitlines()] == kept("o")


def test_a_killed_run_loses_no_call_of_a_finished_case_and_tells_none_twice(
    words: list[str], server: ModelsServer, tmp_path: Path
) -> None:
    query = {"answerable": True, "expected_notes": ["mars"], "answers": ["Mars"]}
    queries = [{"id": f"q{n}", "query": f"Is the red planet number {n}?", **query} for n in range(50)]
    write_jsonl(tmp_path / "many.jsonl", queries)
    server.latency_s = 0.05  # so that it is not done before it is killed
    words = [f"dataset.queries={tmp_path / 'many.jsonl'}" if "queries=" in word else word for word in words]
    again = [*words, "out=o", "max_concurrency=8", "retriever=keyword"]
    process = begun(*again)
    path = tmp_path / "o/per_item.jsonl"
    while not path.exists() or path.read_bytes().count(b"\n") < 12:
        assert process.is_alive()
        time.sleep(0.02)
    process.kill()
    process.join()
    done = set(rows("o"))
    counts = call_counts(Path("o", FILE))
    assert 12 <= len(done) < 50
    assert all(counts[case] == 4 for case in done)
    with Path("o", FILE).open("ab") as file:
        file.write(Path("o", FILE).read_bytes()[:60])  # what a power cut leaves
    assert call_counts(Path("o", FILE)) == counts
    server.latency_s = 0.0
    assert main(again) == 0
    calls = kept("o")
    assert Counter(Counter(call["case"] for call in calls).values()) == {4: 50}
    assert len({(call["case"], call["id"]) for call in calls}) == len(calls)
    assert {call["case"] for call in calls if call["cached"]} <= {f"q{n}" for n in range(50)} - done
    assert read("o/summary.json")["cases"]["ok"] == 50


def test_what_is_asked_again_after_a_failure_stands_behind_it(words: list[str], server: ModelsServer) -> None:
    server.respond = lambda body: completion(body, None, refusal="No.") if "JSON" in str(body) else None
    assert main([*words, "out=o", "case=q1"]) == 3
    before = kept("o")
    assert {call["reply"].get("refusal") for call in before if call["role"] == "judge"} == {"No."}
    server.respond = None
    assert main([*words, "out=o", "case=q1"]) == 0
    after = kept("o")
    assert after[: len(before)] == before
    assert [call["role"] for call in after].count("generator") == 1
    assert [call["reply"].get("refusal") for call in after[len(before) :]] == [None] * 3


def test_calls_of_other_data_are_set_aside_with_their_rows(made: list[str]) -> None:
    before = Path("o", FILE).read_bytes()
    queries = Path("data/queries.jsonl")
    queries.write_text(queries.read_text("utf-8").replace("How long", "What time"), "utf-8")
    assert main(made) == 0
    (aside,) = Path("o").glob("calls.before-*.jsonl.zst")
    assert aside.read_bytes() == before
    assert "What time" in str(next(call for call in kept("o") if call["case"] == "q1")["request"])


def test_the_fingerprint_does_not_hang_on_what_is_kept(words: list[str]) -> None:
    prints = [cell.fingerprint for kept in ("all", "none") for cell in compose_cells([*words, f"calls={kept}"])[1]]
    assert prints[0] == prints[1]


def test_a_turn_of_a_conversation_belongs_to_the_probe_that_is_told_its_cost(server: ModelsServer) -> None:
    asked = ["memory=recursive_summary", "memory/summariser=openai", "memory.summariser.model=local:small"]
    asked += ["generator=openai", "generator.model=local:small", f"provider.local.base_url={server.url}"]
    main(["+experiment=memory", *asked, "tracking=none", "format=json", "out=o", "sample=6"])
    calls, costs = kept("o"), {id: row["cost"] for id, row in rows("o").items()}
    assert {call["role"] for call in calls} == {"summariser", "generator"}
    for role in ("summariser", "generator"):
        sums = Counter[str]()
        for call in {(call["case"], call["id"]): call for call in calls if call["role"] == role}.values():
            sums[call["case"]] += call["input_tokens"]
        assert sums == {id: cost[role]["input_tokens"] for id, cost in costs.items() if role in cost}


def test_a_page_shows_the_calls_of_its_worst_cases(words: list[str]) -> None:
    assert main([*[word for word in words if word != "format=json"], "sample=3", "out=o"]) == 0
    page = Path("o/report.html").read_text("utf-8")
    assert "Calls of models" in page
    assert re.search(r'"(system|user):\\n', page)
    assert '"generator, local:large (' in page


def test_keys_in_prompts_and_addresses_are_not_kept(
    words: list[str], server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-Kept/Nowhere+77=="
    monkeypatch.setenv("MY_KEY", key)
    server.api_key = key
    text = f"The key is {key}; see https://me:Tr0ub4dor&3@example.org/x?api_key=Abc123Def456 for Mars."
    write_jsonl(tmp_path / "c.jsonl", [{"id": "mars", "text": text}])
    server.respond = lambda body: completion(body, f"It says {key} [1].") if "JSON" not in str(body) else None
    words = [f"dataset.corpus={tmp_path / 'c.jsonl'}" if "corpus=" in word else word for word in words]
    again = [*words, "provider.local.api_key_env=MY_KEY", "out=o", "case=q2"]
    assert main(again) == 0
    told = orjson.dumps(kept("o")).decode()
    assert "The key is ***" in told
    assert "It says ***" in told
    for secret in (key, "Tr0ub4dor", "Abc123Def456", "Authorization", "Bearer"):
        assert secret not in told
