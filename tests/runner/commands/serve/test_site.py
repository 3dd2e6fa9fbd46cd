"""The pages, as the server renders them, and what they ask of the API."""

from __future__ import annotations

import csv
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from runner.cli import main
from runner.commands.serve.runs import Place
from runner.commands.serve.sides import Shelf, marked_words
from tests.record_folders import change, read
from tests.runner.commands.serve.conftest import Serving

API = "/evaluation"
FORBIDDEN = r"""<script(?! src="/static/serve\.js")|<[^>]+\s(?:on\w+|style)=|(?:src|href)="https?:"""
PAGES = ("/", "/runs/run", "/sweeps/sweep", "/side?runs=run&runs=sweep", "/label/run", "/start", "/evaluation/docs")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_pages_speak_both_languages_and_run_no_script_of_their_own(client: TestClient, language: str) -> None:
    for path in PAGES:
        page = client.get(path, headers={"accept-language": f"{language},en;q=.5", "accept": "text/html"})
        assert page.status_code == 200, path
        assert f'<html lang="{language}">' in page.text
        assert not re.search(
            r"<script(?! src=\"/static/serve\.js\")|\son\w+=|style=\"|https?://(?!www\.w3\.org)", page.text
        ), path
    assert client.get("/runs/none", headers={"accept": "text/html"}).status_code == 404
    report = client.get("/runs/run/report.html")
    assert report.headers["content-security-policy"].startswith("sandbox allow-scripts; default-src 'none'")


def test_a_list_without_runs_says_how_to_begin(serving: Serving, root: Path) -> None:
    client = serving()
    change(root / "sweep" / "sweep.json", status="failed")
    assert 'data-post="/evaluation/sweeps/sweep/resume"' in client.get("/sweeps/sweep").text
    page = client.get("/?q=nothing").text
    assert "No run matches." in page and 'id="beside"' not in page
    for folder in ("run", "sweep"):
        shutil.rmtree(root / folder)
    client.app_state["desk"].runs.look_again()
    page = client.get("/").text
    assert "No runs yet" in page and '<a class="button" href="/start">' in page


def test_what_is_written_of_a_run_is_text_on_every_page(client: TestClient, root: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>\u202e"
    for folder in (root / "run", root / "sweep" / "0"):
        kept = rows(folder / "per_item.jsonl")
        kept[0]["id"] = kept[0]["output"]["query"] = kept[0]["output"]["answer"] = kept[0]["error"] = hostile
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
        (folder / "per_item.jsonl").write_text(text, encoding="utf-8")
    client.put(f"{API}/runs/run/tags", json={"tags": ["a-b"]})
    for path in ("/", "/runs/run", "/side?runs=run&runs=sweep~0", f"/side?runs=run&q={hostile}"):
        page = client.get(path).text
        assert ("<img" in page, "\u202e" in page) == (False, False)
    assert "&lt;img" in client.get("/side?runs=run").text


def test_cases_stand_side_by_side(client: TestClient, root: Path) -> None:
    kept = rows(root / "sweep" / "1" / "per_item.jsonl")
    for row in kept:
        if row["id"] == "q1":
            row["metrics"]["right"] = 0.0
            row["output"]["answer"] = row["output"]["answer"].replace("27 days", "thirty days")
            row["output"]["contexts"] = [{"id": "other#0", "title": "Other", "text": "new"}]
            row["judgements"]["faithfulness"]["details"]["votes"] = {"a": 0.0, "b": 1.0}
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
    (root / "sweep" / "1" / "per_item.jsonl").write_text(text, encoding="utf-8")

    def asked(**params: Any) -> Any:
        return client.get(f"{API}/cases", params={"runs": "sweep", **params}).json()

    changed = asked(show="changed")
    assert [case["id"] for case in changed["cases"]] == ["q1"]
    first, second = changed["cases"][0]["cells"]
    assert (first["right"], second["right"]) == (True, False)
    assert [text for mark, text in first["answer"] if mark] == ["27"]
    assert [text for mark, text in second["answer"] if mark] == ["thirty"]
    assert ("other#0", "came") in [(each["id"], each["change"]) for each in second["contexts"]]
    assert "went" in [each["change"] for each in second["contexts"]]
    assert changed["counts"]["all"] == 8
    assert "q1" in [case["id"] for case in asked(show="disagreeing")["cases"]]
    assert [case["id"] for case in asked(q="RED PLANET")["cases"]] == ["q2"]
    assert [case["id"] for case in asked(case="질5")["cases"]] == ["질5"]
    assert [len(asked(offset=n, limit=5)["cases"]) for n in (0, 5)] == [5, 3]
    many = client.get(f"{API}/cases", params={"runs": ["sweep"] * 7})
    assert many.json()["error"]["message"] == "runs: at most 12 stand side by side, got 14"
    page = client.get("/side?runs=sweep&show=changed").text
    assert ("<ins>thirty</ins>" in page, page.count('class="case"')) == (True, 1)


def test_answers_that_any_rubric_judged_can_be_labelled(client: TestClient, root: Path) -> None:
    metrics = read(root / "run" / "summary.json")["metrics"]
    change(root / "run" / "summary.json", metrics={"right": metrics["right"]})
    assert 'href="/label/run"' in client.get("/runs/run").text


def test_words_that_differ_are_marked() -> None:
    assert marked_words("a b c", "a x y c") == [("", "a "), ("new", "x y"), ("", " c")]
    assert marked_words("환불은 7일", "환불은 14일") == [("", "환불은 "), ("new", "14일")]
    assert marked_words("same", "same") == [("", "same")]
    assert "".join(text for _, text in marked_words("a\n b", " a\tc b ")) == " a\tc b "
    assert marked_words("", " ") == [("", " ")]
    long, began = " ".join(f"w{number * 7919 % 97}" for number in range(600)), time.perf_counter()
    marked_words(long, " ".join(reversed(long.split())))
    assert time.perf_counter() - began < 1, "spaces are no words, of which an answer has one twice"


def test_labels_are_saved_at_once_and_read_by_calibrate(serving: Serving, root: Path) -> None:
    client = serving(jobs=1)
    asked = {"rater": "가영", "rubric": "faithfulness"}
    missing = client.get(f"{API}/runs/run/labels", params=asked)
    assert (missing.status_code, list((root / ".serve").rglob("*.csv"))) == (404, []), "to look makes nothing"
    told = "rater: 가영 has no sheet for faithfulness of this run; POST opens one"
    assert missing.json()["error"]["message"] == told
    sheet = client.post(f"{API}/runs/run/labels", json={**asked, "n": 4}).json()
    assert (sheet["rubric"], sheet["rated"], len(sheet["answers"])) == ("faithfulness", 0, 4)
    again = client.post(f"{API}/runs/run/labels", json={**asked, "rater": "ben", "n": 4}).json()
    assert [each["id"] for each in again["answers"]] == [each["id"] for each in sheet["answers"]]
    body = {"rubric": "faithfulness", "rater": "가영", "case_id": sheet["answers"][0]["id"], "rating": 0.75}
    assert client.put(f"{API}/runs/run/labels", json={**body, "comment": "=1+1"}).json() == {"rated": 1, "answers": 4}
    paths = sorted((root / ".serve" / "labels" / "run").iterdir())
    written = [list(csv.DictReader(path.read_text("utf-8-sig").splitlines())) for path in paths]
    rated = [row for table in written for row in table if row["rating"]]
    assert [(row["rater"], row["rating"], row["comment"]) for row in rated] == [("가영", "0.75", "'=1+1")]
    kept = client.get(f"{API}/runs/run/labels", params=asked).json()
    assert (kept["rated"], kept["answers"][0]["comment"]) == (1, "=1+1")
    wrong = client.put(f"{API}/runs/run/labels", json={**body, "case_id": "q99"})
    assert wrong.json()["error"]["message"] == "case_id: the sheet has no answer 'q99'"
    wrong = client.post(f"{API}/runs/run/labels", json={"rater": "../a"})
    assert wrong.json()["error"]["message"].startswith("rater: expected a name of at most 40 letters")
    started = client.post(f"{API}/runs/run/calibrations", json={"rubric": "faithfulness"}).json()
    job = client.app_state["desk"].jobs.get(started["id"])
    assert job.words[:1] == ["calibrate"]
    assert job.words[1].endswith(".csv") and "," not in job.words[1]  # the sheet of who has rated
    assert job.words[2:5] == [f"run={root / 'run'}", "ratings=faithfulness", "report.language=ko"]
    none = client.post(f"{API}/runs/run/calibrations", json={"rubric": "answer_relevancy"})
    assert none.json()["error"]["message"] == "run run: nobody has rated an answer for answer_relevancy yet"


def test_a_hundred_thousand_cases_are_filtered_at_once(tmp_path: Path) -> None:
    """What is read once is read again only when the rows have changed."""
    folder = tmp_path / "big"
    folder.mkdir()
    row = '{"id":"q%d","status":"ok","metrics":{"right":%d},"output":{"query":"question %d","answer":"a"}}\n'
    (folder / "per_item.jsonl").write_text("".join(row % (n, n % 10 > 0, n) for n in range(100_000)))
    place = Place("big", folder, is_sweep=False)
    Shelf(writes=True).sides([place])
    began = time.perf_counter()
    sides = Shelf(writes=False).sides([place, place])
    opened = time.perf_counter() - began
    began = time.perf_counter()
    failing, found = sides.numbers_of("failing"), sides.numbers_of("failing", "9990")
    filtered = time.perf_counter() - began
    assert np.array_equal(failing, np.arange(0, 100_000, 10))
    assert [int(n) for n in found] == [9990, *(n for n in range(10_000, 100_000, 10) if "9990" in str(n))]
    assert sides.numbers_of("all", case="q70000").tolist() == [70_000]
    assert opened < 1 and filtered < 0.3


def test_a_root_becomes_a_site_of_files(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = tmp_path / "site"
    assert main(["export", str(root), str(site), "--language", "ko"]) == 0
    assert capsys.readouterr().out == f"{site}: 실행 3개, 8쪽\n"
    pages = sorted(site.rglob("*.html"))
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in pages
        for link in re.findall(r'(?<!\w)href="([^"#?]+)', page.read_text(encoding="utf-8"))
    }
    reached = {page.resolve() for page in pages if "side" not in page.parts or page.stem.endswith("-1")}
    assert linked == {*reached, site / "serve.css"}
    assert all("Content-Security-Policy" in page.read_text(encoding="utf-8") for page in pages)
    assert main(["export", str(root), str(site)]) == 0, "it is brought up to date"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    assert main(["export", str(root), str(tmp_path / "mine")]) == 1
    assert main(["export", str(tmp_path / "mine"), str(tmp_path / "other")]) == 1
    told = capsys.readouterr().err
    assert f"error: SITE: {tmp_path / 'mine'} is there and was not made by export" in told
    assert f"error: ROOT: no run below {tmp_path / 'mine'}" in told


def test_a_site_leaves_out_a_damaged_run_and_keeps_the_others(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    shutil.copytree(root / "sweep" / "0", root / "sweep" / "2")
    (root / "sweep" / "1" / "per_item.jsonl").write_text('{"id": "q1", "metrics": [], "output": "a"}\n')
    assert main(["export", str(root), str(site)]) == 0
    assert "left out: sweep~1 (" in capsys.readouterr().err
    pages = list(site.rglob("*.html"))
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in pages
        for link in re.findall(r'(?<!\w)href="([^"#?]+)', page.read_text(encoding="utf-8"))
    }
    assert all(path.exists() for path in linked)
    assert any(page.parent.parent.name == "side" for page in pages), "the two runs that are whole stand side by side"


def test_the_form_has_every_group_of_the_configuration(serving: Serving) -> None:
    """Also those that come with a choice, such as the reranker of an agent; not what the server's own words fix."""
    client = serving(words=("judge=lexical",))
    page, schema = client.get("/start").text, client.get(f"{API}/schema").json()
    groups = set(re.findall(r'<fieldset data-group="([^"]+)"', page))
    assert groups == set(schema["groups"]) - {"system", "judge"}
    assert {"agent", "reranker", "metric", "memory/summariser", "dataset/chunker"} <= groups
    assert not any(group.startswith(("hydra", "provider", "tracking")) for group in schema["groups"])
    assert schema["brings"]["retriever=agentic"] == {"agent": "scripted", "reranker": "lexical"}
    assert schema["uses"]["retrieval_only"]["retriever"] == "hybrid"
    assert "right" in schema["uses"]["full_rag"]["metric"]
    asked = {name for names in (*schema["uses"].values(), *schema["brings"].values()) for name in names}
    assert asked - {"dataset", "scenario", "evaluation"} == set(schema["groups"])
    keys = set(re.findall(r'data-key="([^"]+)"', page))
    assert {"reranker.max_candidate_tokens", "seed", "report.language", "metric.rbp.p"} <= keys
    assert 'data-choice="demo_ko" selected' in client.get("/start?dataset=demo_ko").text
    desk = client.app_state["desk"]
    desk.datasets.folder.joinpath("0" * 32).mkdir(parents=True)
    kept = {"id": "0" * 32, "name": "logs", "format": "traces", "words": ["dataset=traces"]}
    desk.datasets.folder.joinpath("0" * 32, "dataset.json").write_text(json.dumps(kept))
    assert "<option selected>trace_quality</option>" in client.get(f"/start?dataset={'0' * 32}").text
    desk.jobs.add("run", "trace_quality", [], dataset_id="0" * 32)
    assert "<td>logs</td>" in client.get("/").text
    words = ["retriever=agentic", "agent=scripted", "reranker=none,lexical", "metric=[right,recall]", "agent.expand=2"]
    assert desk.makes_sweep(desk.words(desk.dataset("faq_guide"), "full_rag", 3, words)) is True
