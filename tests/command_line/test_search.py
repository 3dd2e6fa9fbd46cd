"""hydra/sweeper=optuna: trials are named by what they were made with, and nothing that was held out is seen."""

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.config.space import Axis, axes_of
from runner.metrics.catalogue import built_in_catalogue
from runner.run.search import Objective, _beats
from runner.run.selection import is_held_out
from tests.command_line.result_files import read
from tests.small_data import small_data

DEMO = ["+experiment=retrieval_only", "dataset=demo", "tracking=none", "retriever=keyword"]
SPACE = ["hydra/sweeper=optuna", "retriever.b=interval(0,1)", "retriever.k1=range(1,9)"]


def ids(folder: Path) -> set[str]:
    return {json.loads(line)["id"] for line in (folder / "per_item.jsonl").read_text(encoding="utf-8").splitlines()}


def swept(folder: str) -> list[Any]:
    return [cell["overrides"] for cell in read(f"{folder}/sweep.json")["cells"]]


def test_a_search_names_its_trials_holds_questions_out_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    few = [*DEMO, *SPACE, "sample=40", "format=json"]
    assert main([*few, "search.trials=2", "out=s"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    found = read("s/sweep.json")
    runs = [read(f"s/{cell['folder']}/run.json") for cell in found["cells"]]
    assert swept("s")[0] == ["retriever.b=0.75", "retriever.k1=1.5"]  # the default
    for names, run in zip(swept("s"), runs, strict=True):
        config = run["config"]
        assert names == [f"retriever.{name}={config['retriever'][name]}" for name in ("b", "k1")]

    record = found["search"]
    whole = [ids(Path("s", str(number))) for number in range(2)]
    assert whole[0] == whole[1]
    held_out = ids(Path("s/held_out-0"))
    assert held_out.isdisjoint(whole[0]) and len(held_out | whole[0]) == 40
    assert all(is_held_out(id, 0.3) for id in held_out) and not any(is_held_out(id, 0.3) for id in whole[0])
    assert (record["n_searched"], record["n_held_out"]) == (len(whole[0]), len(held_out))
    assert record["metrics"] == ["recall_at_k"]

    values = [read(f"s/{number}/summary.json")["metrics"]["recall_at_k"]["value"] for number in range(2)]
    assert record["values"] == {str(number): [value] for number, value in enumerate(values)}
    assert record["best"] == [str(values.index(max(values)))]
    if record["best"] != ["0"]:
        (entry,) = record["compared"]
        verdict = next(cell["verdict"] for cell in entry["cells"] if "difference" in cell)
        assert ("within noise of the default" in shown) == (verdict in ("within_noise", "inconclusive"))
    assert f"over {len(whole[0])} questions. About 30% of all questions were held out" in shown

    rows = Path("s/1/per_item.jsonl").read_bytes()
    assert main([*few, "search.trials=3", "search.batch=1", "out=s"]) == 0
    assert Path("s/1/per_item.jsonl").read_bytes() == rows
    assert main([*few, "search.trials=3", "out=whole"]) == 0
    assert swept("s") == swept("whole")  # what was interrupted goes on as it would have
    again = read("s/1/run.json")["overrides"]
    assert main([*again, "out=alone"]) == 0  # by what run.json says, one trial can be made again
    assert ids(Path("alone")) == whole[0]
    assert read("alone/summary.json")["metrics"] == read("s/1/summary.json")["metrics"]


def test_several_metrics_have_a_front(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["hydra/sweeper=optuna", "retriever.b=0,1", "search.metric=[mrr,recall_at_3]", "search.batch=4", "out=s"]
    assert main([*DEMO, "sample=40", "format=json", *words]) == 0
    assert len(swept("s")) == 3  # the two that there are, and the default, which is neither
    record = read("s/sweep.json")["search"]
    values = {name: tuple(each) for name, each in record["values"].items()}
    dominated = {one for one in values if any(_beats(other, values[one]) for other in values.values())}
    assert set(record["best"]) == set(values) - dominated
    assert "MRR, Recall@3" in capsys.readouterr().out
    assert [entry["name"] for entry in record["compared"]] == (["mrr", "recall_at_3"] if len(values) > 1 else [])
    assert read("s/summary.json")["search"] == record


def test_values_that_do_not_go_together_are_passed_over(tmp_path: Path) -> None:
    """Each goes with the defaults of the others."""
    data = ["+experiment=retrieval_only", *small_data(tmp_path / "data"), "tracking=none", "retriever=keyword"]
    words = ["hydra/sweeper=optuna", "sample=null,7", "deterministic=true,false", "search.holdout=0.5", "out=s"]
    assert main([*data, *words, "format=json"]) == 0
    tried, refused = {tuple(each) for each in swept("s")}, ("sample=7", "deterministic=true")
    assert {*tried, refused} == set(product(["sample=null", "sample=7"], ["deterministic=false", "deterministic=true"]))
    assert refused not in tried


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            [],
            "hydra/sweeper: optuna has nothing to search; expected values, such as k=range(1,20), "
            "retriever=keyword,hybrid or min_score=interval(0,0.8)",
        ),
        (["k=1,2", "search.holdout=1"], "search.holdout: expected less than 1, got 1"),
        (["k=1,2", "search.holdout=0"], "search.holdout: expected more than 0, got 0"),
        (["k=1,2", "search.hold=0.1"], "search.hold: unknown setting; did you mean 'holdout'?"),
        (["k=1,2", "search.metric=tone"], "search.metric: nothing declares which way 'tone' is better; declared are "),
        (
            ["k=1,2", "search.metric=recal_at_10"],
            "search.metric: nothing declares which way 'recal_at_10' is better; did you mean 'recall_at_10'?",
        ),
        (
            ["k=1,2", "search.metric=recall_at_k"],
            "search.metric: 'recall_at_k' is cut off at another k in each trial; expected recall_at_10",
        ),
        (
            ["k=1,2", "search.metric=recall_at_7"],
            "search.metric: the run has no cutoff 7; cutoffs=[1, 3, 5, 10], or _at_k",
        ),
        (["k=1,2"], "k: does not move recall_at_10; expected search.metric=unanswerable_f1, which it moves"),
        (
            ["retriever.b=0,1", "k=1,2", "search.metric=[mrr@3,recall@10]"],
            "k: does not move mrr@3, recall@10; expected search.metric=unanswerable_f1, which it moves",
        ),
        (["k=1,2", "search.metric=[mrr,mrr]"], "search.metric: the same metric twice"),
        (["k=1,99"], "k: expected 50 or less, got 99"),
        (["k=range(1,99)"], "k: expected 50 or less, got 98"),
        (["retriever=keyword,nope"], "retriever: no choice 'nope'; known: agentic, "),
        (["k=1,2", "retriever.weight=1,2"], "retriever.weight: unknown setting; it is a setting of retriever=hybrid"),
        (["min_score=interval(1,0)"], "min_score: interval(1,0) holds no number"),
        (["k=1,2", "search.trials=3,4"], "search.trials: is the same in all trials of a search; expected one value"),
        (["k=1,2", "search.questions=all"], "search.questions: a search sets it itself"),
        (["k=1,2", "baselines=auto"], "baselines: a search has no references; expected none"),
        (["k=1,2", "case=q1"], "case: one case decides no search"),
        (["k=1,2", "hydra/sweeper=ax"], "hydra/sweeper: no choice 'ax'; known: basic, optuna"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_told_before_anything_runs(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sweeper = [] if any(word.startswith("hydra/") for word in words) else ["hydra/sweeper=optuna"]
    data = ["+experiment=retrieval_only", *small_data(tmp_path / "data"), "tracking=none", "retriever=keyword"]
    assert main([*data, *sweeper, *words, "out=s"]) == 1
    assert problem in capsys.readouterr().err
    assert not Path("s").exists()


def test_without_the_package_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from runner.config import choices

    monkeypatch.setattr(choices, "find_spec", lambda name: None)
    assert main([*DEMO, "hydra/sweeper=optuna", "k=1,2", "out=s"]) == 1
    assert "hydra/sweeper: optuna needs the extra `optuna`: pip install " in capsys.readouterr().err


def test_no_question_may_be_left(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = ["+experiment=retrieval_only", *small_data(tmp_path / "data"), "tracking=none", "retriever=keyword"]
    assert main([*data, "sample=1", "search.questions=held_out", "search.holdout=0.001", "out=s"]) == 1
    assert "search.holdout=0.001: of 1 questions, none is held out" in capsys.readouterr().err
    shutil.rmtree("s")


def test_values_of_an_axis() -> None:
    fixed, axes, problems = axes_of(
        [
            *("a=1", "k=range(1,20,2)", "x=interval(0,0.8)", "y=tag(log,interval(0.001,1))", "n=int(interval(1,9))"),
            *("+r=keyword,hybrid", "f=range(0,1,0.25)"),
        ]
    )
    assert (fixed, problems) == (["a=1"], [])
    k, x, y, n, r, f = axes
    assert (k.low, k.high, k.step, k.count, k.ends) == (1, 19, 2, 10, ["k=1", "k=19"])
    assert (k.value_of("k=5"), k.value_of("k=4"), k.value_of("k=21"), k.value_of("k=true")) == (5, None, None, None)
    assert (x.word(0.123456), x.word(0.79999999), x.value_of("x=0.3")) == ("x=0.1235", "x=0.8", 0.3)
    assert (y.is_log, n.is_whole, n.count, n.word(4)) == (True, True, 9, "n=4")
    assert (r.words, r.name, r.value_of("r=hybrid"), r.value_of("r=x")) == (
        ("+r=keyword", "+r=hybrid"), "r", "+r=hybrid", None,
    )  # fmt: skip
    assert (f.each(), f.value_of("f=0.5"), f.value_of("f=0.6")) == (["f=0", "f=0.25", "f=0.5", "f=0.75"], 0.5, None)
    assert Axis("k", "k=1", ("k=1",)).count == 1


def test_the_direction_is_that_of_the_metric() -> None:
    catalogue = built_in_catalogue()
    lower = next(metric.name for metric in catalogue.metrics if metric.better == "lower")
    assert Objective(lower, catalogue).direction == "minimize"
    faithfulness = Objective(catalogue.normal_name("faithfulness"), catalogue)
    assert (faithfulness.name_in(["right", "mean_faithfulness"]), faithfulness.direction) == (
        "mean_faithfulness", "maximize",
    )  # fmt: skip
    assert Objective(catalogue.normal_name("MRR"), catalogue).name_in(["mrr_at_5", "mrr"]) == "mrr"
