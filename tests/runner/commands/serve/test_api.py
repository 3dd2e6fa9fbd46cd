"""The API over runs of the command line, in this process."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from runner.cli import main
from runner.commands.serve.jobs import Jobs, error_in, run_command
from tests.record_folders import change, read

API = "/evaluation"
SPEC_RUN = (
    "id", "dataset_id", "status", "k", "evaluation_type", "metrics", "mean_faithfulness", "mean_answer_relevancy",
    "error_message", "results", "created_at", "updated_at",
)  # fmt: skip
SPEC_METRICS = ("precision_at_k", "recall_at_k", "hit_rate_at_k", "mrr", "k")
SPEC_CASE = (
    "id", "test_case_id", "retrieved_chunk_ids", "precision", "recall", "hit", "reciprocal_rank", "generated_answer",
    "faithfulness", "answer_relevancy",
)  # fmt: skip


def message(response: object, status: int) -> str:
    assert response.status_code == status, response.text  # type: ignore[attr-defined]
    found = response.json()["error"]  # type: ignore[attr-defined]
    assert set(found) == {"code", "message", "problems", "exit_code"}
    return str(found["message"])


def test_runs_of_the_command_line_are_told_in_the_names_of_the_specification(client: TestClient, root: Path) -> None:
    run = client.get(f"{API}/runs/run").json()
    assert (tuple(run), tuple(run["metrics"]), tuple(run["results"][0])) == (SPEC_RUN, SPEC_METRICS, SPEC_CASE)
    rows = list(map(json.loads, (root / "run" / "per_item.jsonl").read_text().splitlines()))
    summary, place = read(root / "run" / "summary.json"), next(n for n, row in enumerate(rows) if row["id"] == "q1")
    assert run["metrics"]["recall_at_k"] == summary["metrics"]["recall_at_k"]["value"]
    assert run["mean_faithfulness"] == summary["mean_faithfulness"]
    assert (run["status"], run["k"], run["evaluation_type"]) == ("completed", 2, "full_rag")
    case, told = rows[place], run["results"][place]
    assert (told["id"], told["test_case_id"]) == (f"result_{place + 1:03d}", "q1")
    assert told["retrieved_chunk_ids"] == [hit["chunk"] for hit in case["output"]["retrieved"][:2]]
    assert (told["recall"], told["hit"], told["reciprocal_rank"]) == (1.0, True, 1.0)
    assert told["generated_answer"] == case["output"]["answer"]


def test_lists_filter_and_page(client: TestClient) -> None:
    listed = client.get(f"{API}/runs")
    assert {run["id"] for run in listed.json()} == {"run", "sweep~0", "sweep~1"}
    assert listed.headers["x-total-count"] == "3"
    assert [run["label"] for run in client.get(f"{API}/runs", params={"q": "hybrid"}).json()] == ["retriever=hybrid"]
    assert client.get(f"{API}/runs", params={"status": "failed"}).json() == []
    assert [len(client.get(f"{API}/runs", params={"offset": n, "limit": 2}).json()) for n in (0, 2)] == [2, 1]
    assert client.get(f"{API}/sweeps/sweep").json()["runs"] == ["sweep~0", "sweep~1"]
    assert client.put(f"{API}/runs/run/tags", json={"tags": ["기준", "기준", "v1"]}).json()["tags"] == ["기준", "v1"]
    assert [run["id"] for run in client.get(f"{API}/runs", params={"tag": "기준"}).json()] == ["run"]
    results = client.get(f"{API}/runs/run", params={"offset": 1, "limit": 1})
    assert [each["id"] for each in results.json()["results"]] == ["result_002"]
    assert int(results.headers["x-total-count"]) > 2


def test_progress_ends_with_the_run(client: TestClient, root: Path) -> None:
    text = client.get(f"{API}/runs/sweep/events").text
    assert text.startswith("event: end\n")
    told = json.loads(text.partition("data: ")[2])
    rows = sum((root / "sweep" / n / "per_item.jsonl").read_bytes().count(b"\n") for n in "01")
    assert (told["status"], told["done"], told["total"], told["usd"]) == ("completed", rows, rows, 0.0)


def test_a_run_that_was_killed_at_the_command_line_is_not_called_running(client: TestClient, root: Path) -> None:
    change(root / "run" / "run.json", status="running")
    assert client.get(f"{API}/runs/run").json()["status"] == "partial"


def test_a_damaged_run_is_told_as_one_and_hides_no_other(client: TestClient, root: Path) -> None:
    change(root / "run" / "summary.json", metrics=[1])
    change(root / "sweep" / "0" / "run.json", k="many", status="running")
    (root / "sweep" / "1" / "per_item.jsonl").write_text('{"id": "q1", "metrics": [], "output": "a"}\n')
    listed = {run["id"]: run for run in client.get(f"{API}/runs").json()}
    assert {id: run["status"] for id, run in listed.items()} == {
        "run": "failed", "sweep~0": "failed", "sweep~1": "completed",
    }  # fmt: skip
    assert listed["run"]["error_message"].startswith("run: its files are damaged or were edited (AttributeError")
    assert "its files are damaged" in message(client.get(f"{API}/runs/sweep~1"), 422)
    assert "its files are damaged" in message(client.get(f"{API}/cases", params={"runs": "sweep~1"}), 422)
    assert client.get("/").status_code == client.get("/runs/run").status_code == 200


WRONG = [
    ("dataset.path=/etc/passwd", "dataset.path: cannot be set by a request; did you mean 'dataset.language'?"),
    ("judge._target_=os.system", "judge._target_: cannot be set by a request"),
    ("threshold._target_=this.s", "threshold._target_: cannot be set by a request"),
    ("threshold.language.ko._args_=[1]", "threshold.language.ko._args_: cannot be set by a request"),
    ("out=/tmp/x", "out: cannot be set by a request"),
    ("cache_dir=/tmp", "cache_dir: cannot be set by a request"),
    ("hydra.searchpath=[file:///tmp]", "hydra.searchpath: cannot be set by a request"),
    ("provider.openai.base_url=http://a", "provider.openai.base_url: cannot be set by a request"),
    ("system=command", "system: 'command' cannot be chosen by a request; known: none"),
    ("retriever=keywrd", "retriever: 'keywrd' cannot be chosen by a request; did you mean 'keyword'?"),
    ("k=${oc.env:HOME}", "k: expected a plain value: numbers, words, true or false, or a list of them"),
    ("judge.model=/etc/passwd", "judge.model: expected PROVIDER:MODEL"),
    ("hydra/launcher=submitit", "hydra/launcher: cannot be set by a request"),
    ("budget.usd=1000", "budget.usd: is set by the server"),
    ("seed=1", "seed: is set by the server"),
    ("~judge", "~judge: expected KEY=VALUE"),
    ("--config-dir=/tmp", "--config-dir=/tmp: expected KEY=VALUE"),
    ("dataset@x=jsonl", "dataset@x=jsonl: expected KEY=VALUE"),
]


def test_a_request_sets_choices_and_plain_settings_alone(serving, root: Path) -> None:  # type: ignore[no-untyped-def]
    client = serving(words=("seed=7",))
    body = {"evaluation_type": "full_rag", "overrides": [override for override, _ in WRONG]}
    told = client.post(f"{API}/datasets/demo_en/runs", json=body)
    assert message(told, 422).startswith(f"{len(WRONG)} problems in the configuration:")
    lines = [f"{each['key']}: {each['message']}" for each in told.json()["error"]["problems"]]
    for (_, expected), line in zip(WRONG, lines, strict=True):
        assert line.startswith(expected)
    body = {"evaluation_type": "retrieval_only", "overrides": ["judge=lexical"]}
    told = message(client.post(f"{API}/datasets/demo_en/runs", json=body), 422)
    assert "judge: retrieval_only has no judge; it uses dataset, tokenizer, embedder, store, retriever" in told
    assert not list((root / ".serve" / "jobs").iterdir())


def test_what_is_not_there_or_does_not_fit_says_so(client: TestClient) -> None:
    def told(method: str, path: str, status: int, **more: object) -> str:
        return message(client.request(method, f"{API}/{path}", **more), status)  # type: ignore[arg-type]

    assert told("GET", "runs/rum", 404) == "run_id: no run 'rum'; did you mean 'run'?"
    korean = {"accept-language": "ko-KR,ko"}
    expected = "run_id: no run 'rum'; did you mean 'run'?\nrun_id: 없는 실행입니다: rum(비슷한 이름: run)"
    assert told("GET", "runs/rum", 404, headers=korean) == expected
    assert told("GET", "runs/..%2Fdata", 404) != ""
    assert told("GET", "nothing", 404) == "Not Found"
    assert told("POST", "datasets/nope/runs", 404, json={}).startswith("dataset_id: no data set 'nope'; known: demo")
    assert told("POST", "datasets/demo/runs", 422, json={"k": 51}) == "k: expected 50 or less"
    assert told("POST", "datasets/demo/runs", 422, json={"k": True}) == "k: expected a whole number"
    assert told("POST", "datasets/demo/runs", 422, json={"a": 1}) == "a: Extra inputs are not permitted"
    assert told("DELETE", "datasets/demo", 409) == "data set demo: it comes with the configuration"
    json_type = {"content-type": "application/json"}
    assert told("POST", "plan", 400, content=b"\xff", headers=json_type) == "There was an error parsing the body"
    refused = client.request("PATCH", f"{API}/runs/run/labels")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, POST, PUT")
    assert "started at a command line" in told("POST", "runs/run/cancel", 409)
    assert told("DELETE", "runs/sweep~0", 409) == "run sweep~0: it is a part of the sweep sweep; delete the sweep"
    sweep = {"overrides": ["k=3,5"]}
    many = {"overrides": ["k=range(1,50)", "seed=range(0,200)"]}
    expected = "overrides: they make 9,800 runs; expected at most 100 in one request"
    assert told("POST", "datasets/demo/sweeps", 422, json=many) == expected
    assert "they make a sweep" in told("POST", "datasets/demo/runs", 422, json=sweep)
    assert "they make a single run" in told("POST", "datasets/demo/sweeps", 422, json={"overrides": ["k=3"]})


def test_folders_outside_of_the_root_are_not_reached(client: TestClient, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (root / "run").rename(outside)
    (root / "run").symlink_to(outside)
    assert client.get(f"{API}/runs/run").status_code == 404
    (root / "sweep" / "0" / "per_item.jsonl").unlink()
    (root / "sweep" / "0" / "per_item.jsonl").symlink_to(outside / "per_item.jsonl")
    shutil.copytree(root / "sweep" / "1", root / "mlruns" / "full_rag" / "f00" / "artifacts")  # that MLflow keeps
    client.app_state["desk"].runs.look_again()  # or a second later
    assert [run["id"] for run in client.get(f"{API}/runs").json()] == ["sweep~1"]
    assert client.delete(f"{API}/runs/run").status_code == 404
    assert client.delete(f"{API}/sweeps/sweep").status_code == 204
    assert ((root / "sweep").exists(), outside.is_dir()) == (False, True)


def test_what_is_written_stays_below_the_root(client: TestClient, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name, path, sent in (
        ("labels", f"{API}/runs/run/labels", {"json": {"rater": "anna"}}),
        ("datasets", f"{API}/datasets", {"data": {"name": "a"}, "files": {"queries": ("q.jsonl", b"{}")}}),
    ):
        (root / ".serve" / name).symlink_to(outside)
        refused = client.post(path, **sent)
        assert refused.status_code == 422
        assert "a symbolic link on its way leads out of" in refused.json()["error"]["message"]
    assert list(outside.iterdir()) == []


def test_halves_of_characters_are_no_error_of_the_server(client: TestClient, root: Path) -> None:
    rows = [json.loads(line) for line in (root / "run" / "per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    half = next(row for row in rows if "faithfulness" in row["judgements"])
    half["output"]["answer"] = "half \ud800"
    (root / "run" / "per_item.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for path in ("runs/run", f"runs/run/cases/{half['id']}", "cases?runs=run"):
        assert "half ?" in client.get(f"{API}/{path}").text, path
    assert "half ?" in client.post(f"{API}/runs/run/labels", json={"rater": "anna"}).text
    sent = {"content": b'{"dataset_id": "\\ud800"}', "headers": {"content-type": "application/json"}}
    assert "no data set '?'" in client.post(f"{API}/plan", **sent).json()["error"]["message"]


def test_whoever_waits_for_a_configuration_others_are_answered(client: TestClient) -> None:
    desk = client.app_state["desk"]
    with ThreadPoolExecutor(50) as pool:
        with desk._composing:  # somebody composes, and does not end
            asked = {"json": {"overrides": ["k=3,5"]}}
            plans = [pool.submit(client.post, f"{API}/datasets/demo_en/runs", **asked) for _ in range(50)]
            refused = [plan.result(timeout=60) for _, plan in zip(range(42), as_completed(plans), strict=False)]
            assert {answer.status_code for answer in refused} == {429}
            assert client.get(f"{API}/runs").status_code == 200
        assert {plan.result().status_code for plan in plans} == {422, 429}


def test_uploads_are_bounded_and_stay_in_their_folder(serving, root: Path) -> None:  # type: ignore[no-untyped-def]
    from runner.commands.serve.datasets import Bounds

    client = serving(bounds=Bounds(n_bytes=2000, n_rows=5))
    line = b'{"id": "q", "query": "a"}\n'

    def told(**files: bytes) -> tuple[int, str]:
        names = {"notes": ("notes", "notes.zip"), "xlsx": ("queries", "q.xlsx")}
        sent = []
        for kind, data in files.items():
            part, name = names.get(kind, (kind, f"{kind}.jsonl"))
            sent.append((part, (name, data)))
        answer = client.post(f"{API}/datasets", data={"name": "a"}, files=sent)
        return answer.status_code, answer.json()["error"]["message"]

    assert told(queries=line * 6) == (413, "queries.jsonl: more than 5 rows")
    assert told(queries=b"a" * 2001) == (413, "queries.jsonl: more than 2,000 bytes")
    assert told(corpus=line) == (422, "queries: no file; format jsonl needs queries")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../evil.md", "# a")
    assert (
        told(notes=packed.getvalue(), queries=line)[1]
        == "'../../evil.md': expected the name of a file below the folder"
    )
    assert told(queries=gzip.compress(b"a" * 2001)) == (413, "queries.jsonl: more than 2,000 bytes")
    assert told(queries=gzip.compress(line * 6)) == (413, "queries.jsonl: more than 5 rows")
    twice = gzip.compress(gzip.compress(b"a" * 9000))
    message_of = ": packed in what is packed, or a packed note; expected plain files"
    assert told(queries=twice) == (422, f"queries.jsonl{message_of}")
    note = io.BytesIO()
    with zipfile.ZipFile(note, "w") as archive:
        archive.writestr("a.md", twice)
    assert told(notes=note.getvalue(), queries=line) == (422, f"a.md{message_of}")
    assert told(corpus=b"a" * 1500, queries=b"a" * 1500) == (413, "queries.jsonl: more than 2,000 bytes")
    assert told(queries=gzip.compress(line)[:-3]) == (422, "queries.jsonl: its gzip data are damaged or cut off")
    sheet = io.BytesIO()
    with zipfile.ZipFile(sheet, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 2001)
    assert told(xlsx=sheet.getvalue()) == (413, "queries.xlsx: it holds more than 2,000 bytes")
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", "# a " * 50)
        archive.writestr("a.md/b.md", "# b")
    assert told(notes=whole.getvalue())[1] == "a.md: the name of a file and of a folder"
    damaged, central = bytearray(whole.getvalue()), whole.getvalue().find(b"PK\x01\x02")
    damaged[central + 10] = damaged[8] = 99  # a way of packing that nobody knows
    status, text = told(notes=bytes(damaged))
    assert (status, text) == (422, "notes.zip: cannot be unpacked: That compression method is not supported")
    damaged = bytearray(whole.getvalue())
    damaged[central + 16] ^= 0xFF  # its checksum
    status, text = told(notes=bytes(damaged))
    assert (status, text[:31]) == (422, "notes.zip: cannot be unpacked: ")
    answer = client.post(
        f"{API}/datasets",
        data={"name": "a", "format": "csv", "columns": json.dumps({"question": "${oc.env:HOME}"})},
        files=[("corpus", ("c.jsonl", line)), ("queries", ("q.csv", b"id,question\n"))],
    )
    assert message(answer, 422) == "columns: '${oc.env:HOME}': the name of a column has no ${"
    assert list((root / ".serve" / "datasets").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [("a\nerror: one\n  two\n", "one\n  two"), ("only\nthis\n", "this"), ("", "the command ended without a word")],
)
def test_the_last_error_of_a_command_is_told(words: str, message: str) -> None:
    assert error_in(words) == message


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound no other process")
def test_a_command_that_is_waited_for_has_only_so_much_memory(tmp_path: Path) -> None:
    with (tmp_path / "q.csv").open("wb") as file:
        file.truncate(16 << 30)  # which takes no room on the disk
    ended = run_command(["import", str(tmp_path / "q.csv"), "--out", str(tmp_path / "q.jsonl")], 60, 4 << 30)
    assert (ended.code, ended.error) == (3, "error: the memory that this process may use is full\n")


def test_a_queue_is_found_again_and_waits_in_order(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, limit=0)
    first, second = (jobs.add("run", "a", [f"k={n}"]) for n in (1, 2))
    jobs.cancel(first)
    found = Jobs(tmp_path, limit=0)
    assert [(job.id, job.status) for job in found.all()] == [
        (job.id, status) for job, status in sorted([(first, "cancelled"), (second, "queued")], key=lambda e: e[0].id)
    ]
    assert found.get(second.id).words == ["k=2", f"out={tmp_path / second.id}"]  # type: ignore[union-attr]


def test_a_job_outlives_its_server_is_started_again_when_it_is_killed_and_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a command that takes long, whatever its words are."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    before = Jobs(tmp_path / "root", limit=1)
    id = before.add("run", "a", []).id
    before.tick()
    child = before._children[id]
    after = Jobs(tmp_path / "root", limit=1)  # as a server finds it that is started when the first was killed
    after.tick()
    assert (after.get(id).pid, after.get(id).starts) == (child.pid, 1)  # type: ignore[union-attr]
    child.kill()
    child.wait()
    after.tick()
    again = after.get(id)
    assert again is not None and (again.status, again.starts) == ("running", 2)
    after.cancel(again)
    after._children[id].wait()
    after.tick()
    assert after.get(id).status == "cancelled"  # type: ignore[union-attr]


def test_jobs_of_one_second_start_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, limit=1)
    begun: list[str] = []
    jobs._start = lambda job: begun.append(job.id)  # type: ignore[method-assign]
    came = [jobs.add("run", "a", []).id for _ in range(8)]
    for id in came:
        jobs.tick()
        jobs.cancel(jobs.get(id))  # type: ignore[arg-type]
    assert begun == came


def test_a_run_of_the_command_line_is_resumed_where_a_request_could_have_started_it(
    serving, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(root.parent)
    words = ["+experiment=retrieval_only", "dataset=demo_en", "sample=12", "k=3", "tracking=none", "format=md"]
    assert main([*words, f"out={root / 'mine' / 'first'}"]) == 0
    rows, head = root / "mine" / "first" / "per_item.jsonl", root / "mine" / "first" / "run.json"
    whole = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join(whole[:5]))
    change(head, status="partial")
    client = serving(words=("tracking=none",))

    def resumed(status: int) -> str:
        client.app_state["desk"].runs.look_again()
        answer = client.post(f"{API}/runs/mine~first/resume")
        assert answer.status_code == status, answer.text
        return str(answer.json()["error"]["message"]) if status != 202 else ""

    kept = read(head)
    for stored, expected in (
        ({"overrides": [*kept["overrides"], "dataset.path=/etc/passwd"]}, "dataset.path: cannot be set by a request"),
        ({"overrides": [*kept["overrides"], "system=command"]}, "system: 'command' cannot be chosen by a request"),
        ({"overrides": ["k=3"]}, "its command is not known"),
        ({"overrides": {"k": 3}}, "its command is not known"),
        ({"overrides": [*kept["overrides"], "k=5"]}, "this server would run something else"),
        ({"frozen": "/tmp/frozen.yaml"}, "it is that of a record"),
        ({"fingerprint": "0" * 64}, "this server would run something else"),
    ):
        change(head, **stored)
        text = resumed(409)
        assert text.startswith("run mine~first: it was started at a command line, which resumes it; ")
        assert expected in text, text
        change(head, **{name: kept[name] for name in stored})
    assert "its sweep" not in resumed(202)
    job = client.app_state["desk"].jobs.get("mine~first")
    assert (job.status, job.words[-1]) == ("queued", f"out={root / 'mine' / 'first'}")
    assert "started at a command line" in message(client.post(f"{API}/sweeps/sweep/resume"), 409)
    assert main(job.words) == 0
    assert sorted(row.partition(b",")[0] for row in rows.read_bytes().splitlines()) == sorted(
        row.partition(b",")[0] for row in whole
    )


def test_a_run_that_outlived_its_server_and_completed_has_no_error(tmp_path: Path) -> None:
    first = Jobs(tmp_path, limit=0)
    job = first.add("run", "a", ["k=1"])
    path = first.folder / f"{job.id}.json"
    change(path, status="running", pid=2**22 + 1, starts=1)
    first.log(job.id).write_text("results in outputs/a\n")
    first.place(job.id).mkdir()
    (first.place(job.id) / "run.json").write_text('{"status": "completed"}')
    found = Jobs(tmp_path, limit=0)
    found.tick()
    ended = found.get(job.id)
    assert ended is not None
    assert (ended.status, ended.error_message) == ("ended", None)
