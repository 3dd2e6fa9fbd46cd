"""snapshot.json from the rows of a run: hand-written rows in, columns out."""

import json
from pathlib import Path
from typing import Any

import pytest

import conf
from runner.compare.snapshot import NOT_IDENTITY, TREATMENTS, content_hash, depends_on, encode, write_snapshot
from runner.compare.snapshots import read_snapshot
from runner.errors import InputError
from runner.metrics.catalogue import built_in_catalogue
from runner.system.folder import open_run
from tests.comparison_runs import RUN
from tests.run_folders import merged, row, write_run


def written(folder: Path, rows: list[dict[str, Any]], run: dict[str, Any] | None = None) -> dict[str, Any]:
    write_run(folder, merged(RUN, run or {}), rows=rows)
    return json.loads(write_snapshot(folder).read_text(encoding="utf-8"))


VOTES = {"score": 0.5, "reasoning": "", "error": None, "details": {"votes": {"1": 0.4, "2": 0.6}}}


def test_columns_are_by_id(tmp_path: Path) -> None:
    rows = [
        row("b", language="ko", metrics={"mrr": 0.5}, output={"gold": "g2"}, judgements={"faithfulness": VOTES}),
        row("a", metrics={"recall_at_k": None}, unscored=["faithfulness"], weights={"unanswerable_f1": 2.0}),
    ]
    found = written(tmp_path, rows)
    cases = found["cases"]
    assert cases["ids"] == ["a", "b"]
    assert cases["content"] == [content_hash("What is a?"), content_hash("What is b?")]
    assert (cases["gold"], cases["status"], cases["language"]) == ([None, "g2"], ["ok", "ok"], ["en", "ko"])
    assert (cases["difficulty"], cases["tags"]) == (["easy", "easy"], [["billing"], ["billing"]])
    assert cases["latency_ms"] == [12.0, 12.0]
    assert cases["values"] == {
        "mean_answer_relevancy": [1.0, 1.0],
        "mean_faithfulness": [1.0, 1.0],
        "mrr": [None, 0.5],
        "recall_at_k": [None, 1.0],
    }
    assert cases["unscored"] == {"mean_faithfulness": {"0": 1}}
    assert cases["weights"] == {"unanswerable_f1": {"0": 2.0}}
    assert cases["noise"] == {"mean_faithfulness": {"1": pytest.approx(0.1)}}  # sd .1414 over the root of 2 votes
    assert cases["labels"] == {"answerability": ["true_negative"] * 2, "lost_at": ["none"] * 2}


def test_no_text_of_the_data_is_in_it(tmp_path: Path) -> None:
    rows = [
        row(
            "a",
            output={"query": "비밀 질문", "answer": "secret answer", "contexts": [{"id": "x", "text": "top secret"}]},
        )
    ]
    written(tmp_path, rows)
    text = (tmp_path / "snapshot.json").read_text(encoding="utf-8")
    assert not any(word in text for word in ("비밀", "secret", "All claims hold"))


def test_a_failed_case_tells_neither_question_nor_labels(tmp_path: Path) -> None:
    failed = row("a", status="failed", metrics={"recall_at_k": None}, unscored=["recall_at_k"], labels={})
    cases = written(tmp_path, [{**failed, "output": None}])["cases"]
    assert (cases["content"], cases["gold"], cases["status"], cases["latency_ms"]) == (
        [None],
        [None],
        ["failed"],
        [None],
    )
    assert cases["unscored"] == {"recall_at_k": {"0": 1}}
    assert cases["values"]["recall_at_k"] == [None]


def test_latency_of_what_was_live(tmp_path: Path) -> None:
    cached = {"retrieval": {"ms": 3.0, "live": True}, "generation": {"ms": 0.1, "live": False}}
    untold = {"retrieval": {"ms": 3.0}}
    rows = [row("a", timings=cached), row("b"), row("c", latency_ms=None), row("d", timings=untold)]
    assert written(tmp_path, rows)["cases"]["latency_ms"] == [None, 12.0, None, 12.0]


def test_a_label_stays_with_its_case_where_others_have_none(tmp_path: Path) -> None:
    labels = [{"lost_at": "none"}, {}, {"lost_at": "below_k", "right_by": "judge"}, {}]
    rows = [{**row(id), "labels": told} for id, told in zip("abcd", labels, strict=True)]
    assert written(tmp_path, rows)["cases"]["labels"] == {
        "lost_at": ["none", None, "below_k", None],
        "right_by": [None, None, "judge", None],
    }


def test_identity(tmp_path: Path) -> None:
    found = written(tmp_path, [row("a")], {"components": {"dataset": "x", "evaluation": "y", "judge": "z"}})
    assert found["identity"] == {
        "chunks": "c" * 64, "documents": "o" * 64, "queries": "d" * 64, "gold": "e" * 64, "retriever": "6" * 64,
        "judge": "4" * 64, "judge_prompt.faithfulness": "5" * 64, "metric_code.ranking": "1" * 64,
        "metric_code.answers": "2" * 64, "metric_code.diagnosis": "3" * 64,
    }  # fmt: skip
    depends = found["depends"]
    assert (
        depends["recall_at_k"] == depends["keyword/map_at_k"] == ["queries", "gold", "documents", "metric_code.ranking"]
    )
    assert depends["chunk/recall_at_k"] == [*depends["recall_at_k"], "chunks"]
    assert depends["mean_faithfulness"] == ["queries", "judge", "judge_prompt.faithfulness"]
    assert depends["mean_answer_relevancy"] == ["queries", "judge"]
    assert depends["token_f1"] == ["queries", "gold", "metric_code.answers"]
    assert depends["unanswerable_f1"] == ["queries", "gold", "documents", "metric_code.diagnosis"]
    assert depends_on("steps", found["identity"], built_in_catalogue()) == (
        "documents", "gold", "judge", "judge_prompt.faithfulness", "metric_code.answers", "metric_code.diagnosis",
        "metric_code.ranking", "queries",
    )  # fmt: skip


def test_what_metrics_of_a_memory_hang_on() -> None:
    known = (
        "conversations",
        "queries",
        "gold",
        "memory",
        "judge",
        "judge_prompt.memory",
        "memory_weights",
        "metric_code.memory",
        "metric_code.ranking",
    )
    for metric in ("facts_present", "stale_present", "leakage", "memory_tokens", "context_tokens", "answer_facts"):
        assert depends_on(metric, known, built_in_catalogue()) == (
            "conversations",
            "queries",
            "gold",
            "metric_code.memory",
        )
    judged = ("conversations", "queries", "gold", "metric_code.memory", "judge", "judge_prompt.memory")
    assert depends_on("memory_noise", known, built_in_catalogue()) == judged
    assert depends_on("memory_overall", known, built_in_catalogue()) == (*judged, "memory_weights")
    assert not {"memory", "memory_weights"} & {*depends_on("steps", known, built_in_catalogue())}


def test_what_metrics_of_a_trace_hang_on() -> None:
    known = ("tasks", "traces", "trace_weights", "profile", "metric_code.trace")
    assert depends_on("score", known, built_in_catalogue()) == ("tasks", "metric_code.trace", "trace_weights")
    for metric in ("complexity", "novelty", "diversity", "outcome"):
        assert depends_on(metric, known, built_in_catalogue()) == ("tasks", "metric_code.trace")


def test_a_case_counts_once_and_a_torn_or_damaged_row_does_not(tmp_path: Path) -> None:
    write_run(tmp_path, RUN, rows=[row("a", metrics={"mrr": 0.25}), row("a", metrics={"mrr": 1.0})])
    with (tmp_path / "per_item.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**row("b"), "metrics": {"mrr": "high"}}) + "\n")
        file.write(json.dumps(row("c"))[:80])
    cases = json.loads(encode(open_run(tmp_path)))["cases"]
    assert (cases["ids"], cases["values"]["mrr"]) == (["a"], [0.25])


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    write_run(tmp_path, RUN)
    found = read_snapshot(write_snapshot(tmp_path))
    assert list(found.cases.ids) == sorted(found.cases.ids) and len(found.cases) == 7
    assert (found.k, found.run["id"]) == (5, "run-1")
    assert found.timing["latency"]["retrieval"]["p95_ms"] == 9.87
    assert not list(tmp_path.glob(".snapshot*"))


def test_the_same_question_whatever_its_form() -> None:
    assert content_hash("달은  몇 일?\n") == content_hash("\u1103\u1161\u11af은 몇 일?") != content_hash("해는 몇 일?")
    assert content_hash("\ud800")


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a run folder: no run\.json in it"):
        write_snapshot(tmp_path)


def test_a_component_of_a_kind_that_only_another_package_has_may_vary(tmp_path: Path) -> None:
    run = {"components": {"critic": "1"}, "identity": {"panel": "3"}, "declared": []}
    write_run(tmp_path, merged(RUN, run), {"metrics": {"charm": {"value": 0.5, "n": 1}}})
    depends = json.loads(encode(open_run(tmp_path)))["depends"]["charm"]
    assert "panel" in depends and "critic" not in depends


def test_every_group_of_the_configuration_is_something_that_may_vary_or_named_otherwise() -> None:
    told_otherwise = {"experiment", "hydra", "metric", "provider", "regression", "tracking"}  # no part of a measurement
    groups = {
        path.name for path in Path(conf.__file__).parent.iterdir() if path.is_dir() and not path.name.startswith("__")
    }
    assert groups - TREATMENTS - set(NOT_IDENTITY) - told_otherwise == set()
