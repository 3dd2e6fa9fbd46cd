import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.compare.cells import Cells, open_cells
from runner.compare.compare import compare
from runner.compare.regression import Regression
from runner.compare.sides import Place, open_place
from runner.compare.sweep import adjust_p_over_pairs, compare_sweep
from runner.metrics import paired
from runner.metrics.metric import Metric
from runner.system.folder import open_sweep
from tests.run_folders import dump
from tests.swept_folders import Values, write_swept

N = 40
NAME = "mean_faithfulness"
LOW = [0.5] * N
HIGH = [0.9] * (N // 2) + [0.7] * (N // 2)  # mean 0.8: +0.3 in every other case at least +0.2
NEAR = [value - 0.15 for value in HIGH]


def compared(folder: Path, baseline: str = "0", margin: float = 0.02) -> dict[str, Any]:
    statuses = {cell["folder"]: cell["status"] for cell in open_sweep(folder)["cells"]}
    found = compare_sweep(folder, statuses, baseline=baseline, seed=42, margin=margin)
    assert found is not None
    return found


def three(folder: Path, **more: Any) -> Path:
    return write_swept(
        folder, {"a=1": {"faithfulness": LOW}, "a=2": {"faithfulness": HIGH}, "a=3": {"faithfulness": NEAR}}, **more
    )


def only(found: Mapping[str, Any]) -> Mapping[str, Any]:
    (entry,) = found["metrics"]
    return dict(entry)


def test_two_runs_alone_are_never_told_apart_less_than_within_the_sweep(tmp_path: Path) -> None:
    """A sweep makes more tests than the comparison of two of its runs. The first metric has a family for itself:
    another metric beside it changes nothing of its p."""
    drawn = np.random.default_rng(7)
    names = ("right", "faithfulness", "answer_relevancy")
    runs = {
        f"a={run}": {name: list(drawn.binomial(1, 0.5 + 0.15 * run, N).astype(float)) for name in names}
        for run in range(3)
    }
    folder = write_swept(tmp_path / "s", runs)
    swept = {entry["name"]: {cell["folder"]: cell for cell in entry["cells"]} for entry in compared(folder)["metrics"]}
    assert list(swept) == ["right", "mean_faithfulness", "mean_answer_relevancy"]
    for candidate in ("1", "2"):
        sides = [open_place(Place(folder / name, name)) for name in ("0", candidate)]
        alone = compare(*sides, Regression(rules=[], must_not_break=[]), seed=42)
        p_alone = {found.difference.metric: found.adjusted.p for found in alone.main}
        assert p_alone["right"] == swept["right"][candidate]["p"]
        assert all(p_alone[name] <= swept[name][candidate]["p_holm"] for name in swept)
    first = sorted(cell["p_holm"] / cell["p"] for cell in (swept["right"][name] for name in ("1", "2")))
    assert first == pytest.approx([1, 2])


def test_every_run_is_compared_with_the_baseline(tmp_path: Path) -> None:
    found = compared(three(tmp_path / "s"))
    entry = only(found)
    assert (found["baseline"], found["n_common"], entry["name"], entry["n"]) == ("0", N, "mean_faithfulness", N)
    baseline, second, third = entry["cells"]
    limit = 2 * math.exp(-18)  # sum 12, squares 4; the smaller p of `third` comes first, so two pairs are left
    assert baseline == {
        "folder": "0",
        "value": 0.5,
        "from_best": {"difference": pytest.approx(-0.3), "p_holm": pytest.approx(2 * limit), "within_noise": False},
    }
    assert (second["value"], second["difference"], second["verdict"]) == (
        pytest.approx(0.8),
        pytest.approx(0.3),
        "better",
    )
    assert third["difference"] == pytest.approx(0.15)
    assert second["ci_low"] < 0.3 < second["ci_high"]


def test_the_best_of_what_is_better_the_lower_is_the_lowest(tmp_path: Path) -> None:
    swept = {"a=1": {"stale_present": HIGH}, "a=2": {"stale_present": LOW}}
    entry = only(compared(write_swept(tmp_path / "s", swept)))
    assert (entry["name"], entry["best"], entry["cells"][1]["verdict"]) == ("stale_present", "1", "better")


def test_runs_with_equal_columns_share_them_and_are_compared_once(tmp_path: Path) -> None:
    runs = {"a=1": LOW, "a=2": HIGH, "a=3": HIGH, "a=4": NEAR}
    write_swept(tmp_path, {name: {"faithfulness": values} for name, values in runs.items()})
    cells = Cells(open_cells(tmp_path, ["0", "1", "2", "3"]), 42)
    columns = [snapshot.cases.values[NAME] for snapshot in cells.snapshots.values()]
    assert columns[1] is columns[2]
    assert len({id(column) for column in columns}) == 3
    rows = {NAME: np.ones(N, dtype=bool)}
    numbers = [cells.between("0", other, rows)[NAME] for other in ("1", "2", "3")]
    assert numbers[0] is numbers[1]
    assert numbers[2] != numbers[0]
    half = {NAME: np.arange(N) < N // 2}
    assert cells.between("0", "1", half)[NAME].difference == pytest.approx(0.4)
    assert cells.between("1", "0", rows)[NAME].difference == pytest.approx(-0.3)


def test_p_is_adjusted_over_the_runs_against_the_baseline(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)
    columns = [[0.5] * N, *(list(np.clip(0.55 + drawn.normal(0, 0.2, N), 0, 1)) for _ in range(3))]
    found = compared(
        write_swept(
            tmp_path / "s", {f"a={n}": {"faithfulness": list(map(float, column))} for n, column in enumerate(columns)}
        )
    )
    cells = only(found)["cells"][1:]
    assert [cell["p_holm"] for cell in cells] == paired.holm([cell["p"] for cell in cells])
    assert {cell["p_holm"] for cell in cells} != {cell["p"] for cell in cells}


def test_within_noise_of_the_best_is_what_may_be_chance_or_does_not_matter(tmp_path: Path) -> None:
    folder = three(tmp_path / "s")
    entry = only(compared(folder, margin=0.2))
    assert (entry["best"], entry["within_noise_of_best"]) == ("1", ["1", "2"])  # 0.15 below, in every case
    assert entry["cells"][2]["from_best"]["difference"] == pytest.approx(-0.15)
    assert only(compared(folder, margin=0.1))["within_noise_of_best"] == ["1"]
    assert entry["cells"][2]["from_best"]["p_holm"] < 0.05


@pytest.mark.parametrize("reverse", [False, True])
def test_a_verdict_and_within_noise_of_the_best_never_contradict(tmp_path: Path, *, reverse: bool) -> None:
    """Over three pairs of runs p is larger than over the two runs beside the baseline, and above 0.05."""
    moved, level = [*[1.0] * 20, *[0.0] * 7, *[0.5] * (N - 27)], [0.5] * N
    columns = [level, moved] if reverse else [moved, level]
    columns.append([*level[:-1], 0.6])
    runs = {f"a={place}": {"faithfulness": column} for place, column in enumerate(columns)}
    entry = only(compared(write_swept(tmp_path / "s", runs)))
    verdicts = {cell["folder"]: cell.get("verdict") for cell in entry["cells"]}
    best, other = ("1", "0") if reverse else ("0", "1")
    assert (entry["best"], verdicts["1"]) == (best, "better" if reverse else "worse")
    assert next(cell for cell in entry["cells"] if cell["folder"] == other)["from_best"]["p_holm"] > 0.05
    assert other not in entry["within_noise_of_best"]


def test_the_lead_of_the_best_is_adjusted_over_all_pairs_of_runs(tmp_path: Path) -> None:
    """Of three runs there are three pairs, two of which hold the best run."""
    lead = [0.5 + (0.1 if n % 8 else -0.1) for n in range(N)]
    runs = {"a=1": {"faithfulness": LOW}, "a=2": {"faithfulness": lead}, "a=3": {"faithfulness": [*LOW[:-1], 0.6]}}
    entry = only(compared(write_swept(tmp_path / "s", runs)))
    first, _, third = (cell["from_best"] for cell in entry["cells"])
    assert entry["best"] == "1"
    plain = {cell["folder"]: cell.get("p") for cell in entry["cells"]}
    assert first["p_holm"] == pytest.approx(3 * plain["1"])
    assert third["p_holm"] >= first["p_holm"]


@pytest.mark.parametrize(("trials", "most"), [(50, 0.12), pytest.param(300, 0.08, marks=pytest.mark.slow)])
def test_runs_that_are_equal_are_all_near_the_best_seldom_otherwise(trials: int, most: float) -> None:
    """Over all pairs, the chance that any of four equal runs is taken for worse than the best stays below 5 %: `most`
    are 2.4 standard errors more."""
    drawn, wrong = np.random.default_rng(7), 0
    for trial in range(trials):
        values = drawn.normal(0, 1, (60, 4))
        best = int(values.mean(axis=0).argmax())
        others = [column for column in range(4) if column != best]
        found = paired.compare_means(np.repeat(values[:, [best]], 3, axis=1), values[:, others], seed=trial)
        p = adjust_p_over_pairs({str(n): one for n, one in zip(others, found, strict=True)}, 4)
        wrong += any(value < 0.05 for value in p.values())
    assert wrong / trials <= most


def test_the_best_of_fifty_runs_is_told_from_those_that_are_worse(tmp_path: Path) -> None:
    runs: dict[str, Mapping[str, Values]] = {f"a={n}": {"faithfulness": LOW} for n in range(49)}
    runs["a=49"] = {"faithfulness": HIGH}
    cells = only(compared(write_swept(tmp_path / "s", runs)))["cells"]
    assert [cell["from_best"]["within_noise"] for cell in cells if cell["folder"] != "49"] == [False] * 49


def test_another_baseline(tmp_path: Path) -> None:
    found = compared(three(tmp_path / "s"), baseline="2")
    first, second, _ = only(found)["cells"]
    assert (first["verdict"], second["verdict"]) == ("worse", "better")
    assert "verdict" not in only(found)["cells"][2]


def test_metrics_at_their_own_k_are_compared_only_where_k_is_the_same(tmp_path: Path) -> None:
    columns: dict[str, Values] = {
        "recall_at_k": LOW,
        "recall_at_5": LOW,
        "recall_at_10": HIGH,
        "mrr": LOW,
        "ndcg_at_3": LOW,
    }
    columns |= {"leg/recall_at_10": LOW}
    runs = {"k=3": columns, "k=5": {**columns, "recall_at_10": NEAR}}
    same_k = compared(write_swept(tmp_path / "same", runs))
    other_k = compared(write_swept(tmp_path / "other", runs, ks=(3, 5)))
    assert [entry["name"] for entry in same_k["metrics"]] == ["recall_at_k", "mrr"]
    assert [entry["name"] for entry in other_k["metrics"]] == ["recall_at_10"]


def test_what_is_the_same_in_all_runs_says_so(tmp_path: Path) -> None:
    runs = {f"a={n}": {"faithfulness": LOW, "answer_relevancy": column} for n, column in enumerate((LOW, HIGH))}
    found = {entry["name"]: entry["same"] for entry in compared(write_swept(tmp_path / "s", runs))["metrics"]}
    assert found == {"mean_faithfulness": True, "mean_answer_relevancy": False}


def test_no_front_where_nothing_sets_runs_apart(tmp_path: Path) -> None:
    assert (
        compared(write_swept(tmp_path / "s", {f"a={n}": {"faithfulness": LOW} for n in range(3)}))["timing"]["pareto"]
        is None
    )
    assert compared(three(tmp_path / "t"))["timing"]["pareto"] is not None
    traces = {f"a={n}": {"outcome": column} for n, column in enumerate((LOW, HIGH))}  # no quality by itself
    assert compared(write_swept(tmp_path / "u", traces))["timing"]["pareto"] is None


def test_quality_is_recall_and_ndcg_at_the_k_of_each_run(tmp_path: Path) -> None:
    """What k does not move says nothing of a sweep over k: there, all would be dominated by the smallest."""
    fixed = {"recall_at_10": HIGH, "ndcg_at_10": HIGH, "mrr": HIGH}
    runs = {
        "k=3": {"recall_at_k": LOW, "ndcg_at_k": LOW, **fixed},
        "k=5": {"recall_at_k": HIGH, "ndcg_at_k": NEAR, **fixed},
        "k=10": {"recall_at_k": HIGH, "ndcg_at_k": NEAR, **fixed},
    }
    front = compared(write_swept(tmp_path / "s", runs, ks=(3, 5, 10)))["timing"]["pareto"]
    assert (front["qualities"], front["cost"]) == (["recall_at_k", "ndcg_at_k"], "k")
    assert [cell["dominated_by"] for cell in front["cells"]] == [[], [], ["1"]]


def test_quality_is_the_answer_where_there_is_one_even_where_all_are_the_same(tmp_path: Path) -> None:
    runs = {
        f"k={k}": {"right": [1.0] * N, "faithfulness": column, "recall_at_k": column}
        for k, column in ((3, LOW), (5, HIGH))
    }
    front = compared(write_swept(tmp_path / "s", runs, ks=(3, 5)))["timing"]["pareto"]
    assert front["qualities"] == ["right"]
    assert [cell["dominated_by"] for cell in front["cells"]] == [[], ["0"]]


def test_quality_that_nothing_could_tell_gives_way_to_the_next(tmp_path: Path) -> None:
    runs = {f"a={n}": {"right": [math.nan] * N, "faithfulness": column} for n, column in enumerate((LOW, HIGH))}
    for_none = json.loads(json.dumps(runs).replace("NaN", "0.0"))
    folder = write_swept(tmp_path / "s", for_none)
    for path in folder.glob("*/per_item.jsonl"):
        path.write_text(path.read_text(encoding="utf-8").replace('"right": 0.0', '"right": null'), encoding="utf-8")
    assert compared(folder)["timing"]["pareto"]["qualities"] == ["mean_faithfulness"]


def put_out(folder: Path, outputs: Mapping[str, Any]) -> None:
    """The same in every case of a run."""
    for name, output in outputs.items():
        path = folder / name / "per_item.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows = [{**row, "output": {**row["output"], **output}} for row in rows]
        path.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)), encoding="utf-8")


def test_runs_that_put_out_the_very_same_are_named(tmp_path: Path) -> None:
    folder = write_swept(tmp_path / "s", {f"a={n}": {"faithfulness": LOW} for n in range(3)})
    hit, other = {"id": "a", "chunk": "a#0", "score": 1.0}, {"id": "b", "chunk": "b#0", "score": 1.0}
    same = {"retrieved": [hit, other], "answer": "Yes."}
    scored = [{**hit, "score": 0.5}, other]
    put_out(folder, {"0": same, "1": {**same, "retrieved": scored}, "2": {**same, "retrieved": [other, hit]}})
    assert compared(folder)["alike"] == [
        {"folders": ["0", "1", "2"], "parts": ["chunks", "answer"]},
        {"folders": ["0", "1"], "parts": ["retrieved"]},
    ]


def test_one_other_answer_is_no_identity(tmp_path: Path) -> None:
    folder = write_swept(tmp_path / "s", {f"a={n}": {"faithfulness": LOW} for n in range(2)})
    put_out(folder, {"0": {"answer": "Yes."}, "1": {"answer": "Yes."}})
    path = folder / "1" / "per_item.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("Yes.", "No.", 1), encoding="utf-8")
    assert "answer" not in [part for group in compared(folder).get("alike", []) for part in group["parts"]]


def test_runs_that_stopped_are_compared_over_what_all_have_finished(tmp_path: Path) -> None:
    runs: dict[str, Mapping[str, Values]] = {
        "a=1": {"faithfulness": [0.0, 0.2, 0.4, None]},
        "a=2": {"faithfulness": [None, 0.6, 0.6, 1.0]},
    }
    partial = {"status": "partial", "exit_code": 3}
    found = compared(write_swept(tmp_path / "s", runs, changes={"a=1": partial, "a=2": partial}))
    entry = only(found)
    assert (found["n_common"], entry["n"]) == (2, 2)
    assert [cell["value"] for cell in entry["cells"]] == [pytest.approx(0.3), pytest.approx(0.6)]
    assert entry["cells"][1]["difference"] == pytest.approx(0.3)


def test_a_run_that_stopped_is_left_out_where_two_have_not(tmp_path: Path) -> None:
    folder = three(tmp_path / "s", changes={"a=3": {"status": "partial", "exit_code": 3}})
    found = compared(folder)
    assert (found["cells"], found["left_out"]) == (["0", "1"], ["2"])
    chosen = compared(folder, baseline="2")
    assert (chosen["cells"], chosen["baseline"]) == (["0", "1", "2"], "2")


def test_a_baseline_without_results_gives_its_place_to_the_first_run_that_has_some(tmp_path: Path) -> None:
    folder = three(tmp_path / "s", changes={"a=1": {"status": "failed", "exit_code": 3}})
    for name in ("summary.json", "per_item.jsonl"):
        (folder / "0" / name).unlink()
    found = compared(folder)
    assert (found["baseline"], found["baseline_given"], found["left_out"]) == ("1", "0", ["0"])


def test_one_run_with_results_is_compared_with_nothing(tmp_path: Path) -> None:
    folder = write_swept(tmp_path / "s", {"a=1": {"faithfulness": LOW}})
    assert compare_sweep(folder, {"0": "completed"}, baseline="0", seed=1, margin=0.02) is None


def test_runs_on_other_data_are_apart(tmp_path: Path) -> None:
    folder = three(tmp_path / "s")
    path = folder / "2" / "per_item.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"q-', '"x-'), encoding="utf-8")
    found = compared(folder)
    assert (found["apart"], found["n_common"]) == (["2"], N)
    assert [cell["folder"] for cell in only(found)["cells"]] == ["0", "1"]


def test_another_judge_is_not_comparable_and_the_others_are(tmp_path: Path) -> None:
    folder = three(tmp_path / "s")
    for number in range(3):
        path = folder / str(number) / "run.json"
        run = json.loads(path.read_text(encoding="utf-8"))
        dump(path, {**run, "judged_by": {"judge": "x" if number == 2 else "y", "prompts": {}}})
    entry = only(compared(folder))
    assert [cell["folder"] for cell in entry["cells"]] == ["0", "1"]
    assert entry["not_comparable"].keys() == {"2"}
    assert entry["not_comparable"]["2"][0]["names"] == ("judge",)


def test_a_case_that_failed_in_one_run_counts_in_none(tmp_path: Path) -> None:
    folder = three(tmp_path / "s")
    path = folder / "1" / "per_item.jsonl"
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    row = json.loads(first)
    row |= {"status": "failed", "metrics": {}, "unscored": ["faithfulness"]}
    path.write_text(json.dumps(row) + "\n" + "".join(rest), encoding="utf-8")
    entry = only(compared(folder))
    assert entry["n"] == N - 1
    assert entry["cells"][1]["value"] == pytest.approx((0.8 * N - 0.9) / (N - 1))


def test_less_of_a_metric_may_be_better(tmp_path: Path) -> None:
    """The best run is the one with the lowest mean, it dominates the others, and a rise is worse."""
    columns = {
        "a=1": {"toxicity": HIGH},
        "a=2": {"toxicity": LOW},
        "a=3": {"toxicity": [value + 0.1 for value in HIGH]},
    }
    folder = write_swept(tmp_path / "s", columns)
    declared = [Metric(name="toxicity", better="lower", label={"en": "Toxicity"}).record()]
    for path in folder.glob("*/run.json"):
        dump(path, {**json.loads(path.read_text(encoding="utf-8")), "declared": declared})
    found = compared(folder)
    entry = only(found)
    assert (entry["best"], entry["within_noise_of_best"]) == ("1", ["1"])
    assert [cell.get("verdict") for cell in entry["cells"]] == [None, "better", "worse"]
    front = {cell["folder"]: cell["dominated_by"] for cell in found["timing"]["pareto"]["cells"]}
    assert front == {"0": ["1"], "1": [], "2": ["0", "1"]}


def test_without_a_direction_nothing_is_compared(tmp_path: Path) -> None:
    folder = write_swept(tmp_path / "s", {"a=1": {"toxicity": HIGH}, "a=2": {"toxicity": LOW}})
    found = compared(folder)
    assert (found["metrics"], found["timing"]["pareto"]) == ([], None)
