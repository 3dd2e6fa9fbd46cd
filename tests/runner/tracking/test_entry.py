import json
from pathlib import Path
from typing import Any

import pytest

from runner import report
from runner.errors import InputError
from runner.metrics.catalogue import catalogue_in
from runner.system.folder import open_run
from runner.tracking.entry import Entry, draw, run_entry, sweep_entry
from runner.tracking.metrics import logged_name
from tests.model_runs import MODELS_RUN, MODELS_SUMMARY, rate
from tests.run_folders import RUN, SUMMARY, merged, write_run, write_stopped_sweep, write_sweep_folder


def test_params_are_choices_and_settings_without_what_is_shared_or_not_of_the_experiment(tmp_path: Path) -> None:
    assert run_entry(write_run(tmp_path)).params == {
        "dataset": "demo",
        "retriever": "hybrid",
        "generator": "extractive",
        "judge": "lexical",
        "k": "5",
        "cutoffs": "[1, 3, 5, 10]",
        "min_score": "0.3",
        "retriever.k1": "1.5",
    }


def test_params_name_nested_choices_by_their_place_and_keep_classes_of_others(tmp_path: Path) -> None:
    run = {
        "choices": {"retriever@retriever.keyword": "keyword", "dataset/chunker": "sections"},
        "config": {
            "generator": {"_target_": "mine.Generator", "prompt": None, "filter": {}},
            "evaluation": {
                "metrics": {
                    "recall": {"_target_": "plugins.metric.offered.Offered", "names": ["recall"]},
                    "tone": {"_target_": "plugins.metric.rubric.Rubric", "threshold": 0.5},
                }
            },
        },
    }
    params, before = run_entry(write_run(tmp_path / "a", run)).params, run_entry(write_run(tmp_path / "b")).params
    assert {name: value for name, value in params.items() if name not in before} == {
        "retriever.keyword": "keyword",
        "dataset.chunker": "sections",
        "generator._target_": "mine.Generator",
        "evaluation.metrics.tone.threshold": "0.5",
    }


def test_models_are_params_by_role_and_what_is_no_property_of_the_experiment_is_not(tmp_path: Path) -> None:
    models = {"providers": {"openai": {"api_key_env": "OPENAI_API_KEY"}}, "cache": "use", "budget": {"usd": 1.0}}
    judge = {"_target_": "plugins.judge.panel.PanelJudge", "judges": {"first": {"models": models, "repeats": 2}}}
    speed = {"warmup": 0, "timeout_ms": 9, "max_concurrency": 32, "run_timeout_ms": 7, "cold_start": True}
    config = {"models": models, "judge": judge, "evaluation": {"judge": judge}, **speed, "seed": 7}
    run = merged(MODELS_RUN, {"models": {"judge": ["openai:a", "local:b"]}, "config": config})
    before, after = run_entry(write_run(tmp_path / "a")).params, run_entry(write_run(tmp_path / "b", run)).params
    assert {name: value for name, value in after.items() if before.get(name) != value} == {
        "generator": "openai",
        "judge": "openai",
        "generator_model": "openai:gpt-4o",
        "judge_model": "openai:a, local:b",
        "judge.judges.first.repeats": "2",
        "seed": "7",
    }
    assert before.keys() <= after.keys()


def test_a_run_that_goes_on_with_another_budget_has_the_same_params(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", merged(MODELS_RUN, {"config": {"models": {"budget": {"usd": 1.0}}}}))
    changed = {"budget": {"usd": 9.0}, "cache": "replay", "models": {"budget": {"usd": 9.0}}, "max_concurrency": 8}
    second = write_run(tmp_path / "b", merged(MODELS_RUN, {"config": changed}))
    assert run_entry(first).params == run_entry(second).params


def test_a_part_that_differs_from_the_shared_one_is_kept(tmp_path: Path) -> None:
    params = run_entry(write_run(tmp_path, {"config": {"evaluation": {"k": 7}}})).params
    assert (params["k"], params["evaluation.k"]) == ("5", "7")


def numbers(entry: Entry) -> dict[str, list[Any]]:
    """The table of all numbers: value, interval, cases by name."""
    (table,) = (table for table in entry.tables if table.name == "metrics")
    return {name: rest for name, *rest in table.rows}


def values(entry: Entry) -> dict[str, Any]:
    return {name: rest[0] for name, rest in numbers(entry).items()}


def test_every_metric_is_logged_and_the_headline_stands_first(tmp_path: Path) -> None:
    entry = run_entry(write_run(tmp_path), slices=["language"])
    assert list(entry.metrics)[:5] == list(entry.headline)[:5] == [
        "recall_at_k", "ndcg_at_k", "mrr", "mean_faithfulness", "mean_answer_relevancy",
    ]  # fmt: skip
    assert {name: entry.metrics[name] for name in ("recall_at_k/low", "recall_at_k/high")} == {
        "recall_at_k/low": 0.8, "recall_at_k/high": 0.9,
    }  # fmt: skip
    assert entry.metrics["cutoff/recall_at_10"] == 0.85
    assert entry.metrics["leg/keyword/recall_at_k"] == 0.75
    assert entry.metrics["time/retrieval_p50_ms"] == 3.14
    assert entry.metrics["slice/language/ko/mrr"] == 0.72
    assert entry.metrics["cases/timeout"] == 1
    assert "time/generation_p50_ms" not in entry.metrics  # nothing was live
    assert not any("tag" in name for name in entry.metrics)
    bounds = {name for name in entry.metrics if name.endswith(("/low", "/high"))}
    assert values(entry) == {name: value for name, value in entry.metrics.items() if name not in bounds}
    assert numbers(entry)["recall_at_k"][:3] == [0.85, 0.8, 0.9]


def test_each_metric_of_the_summary_is_logged(tmp_path: Path) -> None:
    """Under its own name, or in a group."""
    folder = open_run(write_run(tmp_path))
    catalogue, entry = catalogue_in(folder.run), run_entry(tmp_path)
    measured = {name: each["value"] for name, each in folder.summary["metrics"].items() if each["value"] is not None}
    assert {name: entry.metrics.get(logged_name(catalogue.variant(name), entry.headline)) for name in measured} == (
        measured
    )


def test_undecided_cases_are_logged_beside_the_headline(tmp_path: Path) -> None:
    entry = {"value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": 10, "n_scored": 8}
    right = {**entry, "undecided": 2, "if_lowest": 0.4, "if_highest": 0.6}
    metrics = run_entry(write_run(tmp_path, RUN, merged(SUMMARY, {"metrics": {"right": right}}))).metrics
    assert [metrics[f"right{name}"] for name in ("", "/low", "/undecided", "/if_lowest", "/if_highest")] == [
        0.5, 0.4, 2, 0.4, 0.6,
    ]  # fmt: skip


def test_an_added_metric_is_in_the_headline(tmp_path: Path) -> None:
    entry = {"value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": 4, "n_scored": 4}
    summary = merged(SUMMARY, {"metrics": {"tone": entry, "success_at_k": entry, "success_at_3": entry}})
    run = merged(RUN, {"config": {"metric": {"tone": {}, "success": {}, "hit_rate": {"names": ["hit_rate"]}}}})
    headline = run_entry(write_run(tmp_path, run, summary)).headline
    assert {"tone", "success_at_k"} <= {*headline} and not {"success_at_3", "hit_rate_at_k"} & {*headline}


COST = (
    "cost/usd", "cost/saved_usd", "cost/requests_live", "cost/requests_cached", "cost/input_tokens",
    "cost/output_tokens",
)  # fmt: skip
JUDGE = (
    "judge/false_accept_rate", "judge/false_reject_rate", "judge/injection_rate", "judge/alpha", "judge/noise_sd",
)  # fmt: skip


def test_cost_and_judge(tmp_path: Path) -> None:
    metrics = values(run_entry(write_run(tmp_path, MODELS_RUN, MODELS_SUMMARY)))
    assert [metrics[name] for name in COST] == [pytest.approx(0.0132), 0.041, 1124, 2000, 1_159_000, 51_000]
    assert [metrics.get(name) for name in JUDGE] == [6 / 9, 0.0, 5 / 6, 0.7125, 0.05]


def test_the_judge_is_as_good_as_its_worst_rubric(tmp_path: Path) -> None:
    nothing = {"n": 0, "k": 0, "rate": None}
    relevancy = {"false_accept": rate(3, 4), "injection": nothing}
    inner = {"n": 9, "votes": 2, "alpha": 0.1, "noise_sd": 0.9}
    changes = {
        "facts": {"judge_health": {"answer_relevancy": relevancy}},
        "judging": {"answer_relevancy": {"alpha": 0.3, "judges": {"a": inner}}},
    }
    metrics = values(run_entry(write_run(tmp_path, MODELS_RUN, merged(MODELS_SUMMARY, changes))))
    assert [metrics[name] for name in JUDGE] == [0.75, 0.0, 5 / 6, 0.3, 0.05]


def test_an_unknown_price_is_no_metric(tmp_path: Path) -> None:
    usage = {"judge": {"openai:gpt-4o-mini": {"live": {"usd": None}}}}
    entry = run_entry(write_run(tmp_path, MODELS_RUN, merged(MODELS_SUMMARY, {"timing": {"usage": usage}})))
    metrics = values(entry)
    assert "cost/usd" not in metrics and "cost/usd" not in entry.metrics
    assert (metrics["cost/saved_usd"], metrics["cost/requests_live"]) == (0.041, 1124)


def test_without_models_there_is_nothing_of_them(tmp_path: Path) -> None:
    entry = run_entry(write_run(tmp_path))
    assert not {*COST, *JUDGE} & {*entry.metrics, *values(entry)}
    assert not any("model" in name for name in entry.params)


def test_metrics_without_a_value_are_left_out(tmp_path: Path) -> None:
    nothing = {"value": None, "n": 0, "n_scored": 0, "ci_low": None, "ci_high": None}
    metrics = run_entry(write_run(tmp_path, summary={"metrics": {"mean_faithfulness": nothing}})).metrics
    assert not any("faithfulness" in name for name in metrics)


def test_tags(tmp_path: Path) -> None:
    assert run_entry(write_run(tmp_path)).tags == {
        "experiment": "full_rag",
        "evaluation": "full_rag",
        "dataset": "demo",
        "retriever": "hybrid",
        "generator": "extractive",
        "judge": "lexical",
        "git_commit": "0123456789abcdef0123456789abcdef01234567",
        "git_dirty": "true",
        "fingerprint": "f" * 64,
        "status": "completed",
        "cases": "total 10, ok 9, failed 0, timeout 1, pending 0",
        "baselines": "generator=extractive, judge=lexical",
    }


def test_outside_of_a_repository_and_without_baselines(tmp_path: Path) -> None:
    entry = run_entry(write_run(tmp_path, {"git": None}, {"facts": {"baselines": []}}))
    assert entry.tags["baselines"] == "none"
    assert entry.commit is None
    assert not {"git_commit", "git_dirty"} & entry.tags.keys()
    assert "Baselines" not in entry.description


def test_the_description_names_baselines_and_the_command_but_no_folder(tmp_path: Path) -> None:
    description = run_entry(write_run(tmp_path, {"status": "failed", "error_message": "boom"})).description
    assert description == (
        "Baselines without a language model: generator=extractive, judge=lexical. Their scores are rough estimates."
        "\n\nfailed: boom\n\n    python -m runner +experiment=full_rag k=5"
    )


def test_the_description_warns_of_the_judge(tmp_path: Path) -> None:
    korean = merged(MODELS_RUN, {"config": {"report": {"language": "ko"}}})
    description = run_entry(write_run(tmp_path, korean, MODELS_SUMMARY)).description
    assert description.startswith("Warning: instructions hidden in texts changed the judgement of control items")


def test_a_run_that_a_budget_has_stopped(tmp_path: Path) -> None:
    folder = write_stopped_sweep(tmp_path / "s", {3: range(10), 5: [1, 2]})
    report.write_sweep(folder)
    entry = run_entry(folder / "1")
    assert entry.status == entry.tags["status"] == "partial"
    assert entry.tags["error_message"] == "budget.usd=1 is spent (0.9980 used)"
    assert entry.tags["cases"] == "total 10, ok 2, failed 0, timeout 0, pending 8"
    summary = sweep_entry(folder)
    assert (summary.status, summary.tags["cells"]) == ("partial", "completed 1, partial 1")
    assert "These are means over the 2 cases that all of them have finished." in summary.description


def test_the_data_set_is_known_by_a_hash_over_all_that_was_read(tmp_path: Path) -> None:
    first = run_entry(write_run(tmp_path / "a")).dataset
    other = run_entry(write_run(tmp_path / "b", {"identity": {"queries": "e" * 64}})).dataset
    assert first is not None
    assert other is not None
    assert (first.name, first.n_cases, len(first.digest)) == ("demo", 10, 16)
    assert first.digest != other.digest
    assert run_entry(write_run(tmp_path / "c", {"choices": {"dataset": None}})).dataset is not None


def test_who_answered_and_judged_is_no_property_of_the_data(tmp_path: Path) -> None:
    asked = run_entry(write_run(tmp_path / "a", MODELS_RUN)).dataset
    assert asked is not None
    assert asked == run_entry(write_run(tmp_path / "b")).dataset
    assert asked.source.keys() == {"corpus", "queries"}


def test_every_file_of_a_run_is_kept_but_locks_caches_and_states(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / ".hydra").mkdir()
    local = (".outcome.json", ".progress.json", ".state.json", ".cases.index", ".lock", "x.lock", "errors.writing")
    for name in (*local, "multirun.yaml", "compare.md", "calls.jsonl.zst", ".journal.json", ".hydra/config.yaml"):
        (folder / name).touch()
    assert [str(path.relative_to(folder)) for path in run_entry(folder).files] == [
        ".hydra/config.yaml", ".journal.json", "calls.jsonl.zst", "compare.md", "errors.jsonl", "multirun.yaml",
        "per_item.jsonl", "run.json", "summary.json",
    ]  # fmt: skip


def test_times_are_those_of_the_run(tmp_path: Path) -> None:
    entry = run_entry(write_run(tmp_path))
    assert entry.created_ms == 1767323045000
    assert entry.updated_ms - entry.created_ms == 10_000


def test_run_names_say_what_was_set(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    cell = run_entry(folder / "1")
    assert (cell.name, cell.tags["sweep_id"], cell.tags["sweep_role"]) == ("k=5 · demo · s", "s", "cell")
    assert run_entry(write_run(tmp_path / "r")).name == "k=5 · demo · 0102-030405"


def test_a_run_name_leaves_out_recipe_data_set_and_what_is_no_property(tmp_path: Path) -> None:
    for number, (overrides, name) in enumerate(
        (
            (["+experiment=full_rag", "dataset=demo", "tracking=none", "out='x'"], "baseline · demo · 0102-030405"),
            (["retriever=keyword", "compare='a=b.json'"], "retriever=keyword · demo · 0102-030405"),
        )
    ):
        assert run_entry(write_run(tmp_path / str(number), {"overrides": overrides})).name == name


def test_cells_of_two_sweeps_and_of_two_data_sets_have_names_of_their_own(tmp_path: Path) -> None:
    names = set()
    for id in ("20260102-030405-full_rag-0a1b2c3d", "20260102-030559-full_rag-0a1b2c3d"):
        folder = write_sweep_folder(tmp_path / id)
        report.write_sweep(folder)
        names |= {run_entry(folder / "0").name, sweep_entry(folder).name}
    assert names == {
        "k=3 · demo · 0102-030405", "summary of k=3,5 · 0102-030405",
        "k=3 · demo · 0102-030559", "summary of k=3,5 · 0102-030559",
    }  # fmt: skip
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    head["cells"][0]["overrides"] = ["dataset=faq_guide", "k=3"]
    (folder / "sweep.json").write_text(json.dumps(head), encoding="utf-8")
    assert run_entry(folder / "0").name == "dataset=faq_guide, k=3 · 0102-030559"


def test_the_step_is_k_whatever_a_sweep_varies(tmp_path: Path) -> None:
    """One experiment holds runs of several sweeps and single ones, and a chart of them has one axis."""
    folder = write_sweep_folder(tmp_path / "s")
    assert [(run_entry(folder / name).step, run_entry(folder / name).axes) for name in "01"] == [(3, []), (5, [])]
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    for cell, chars in zip(head["cells"], (500, 900), strict=True):
        cell["overrides"] = [f"dataset.chunker.max_chars={chars}"]
    (folder / "sweep.json").write_text(json.dumps(head), encoding="utf-8")
    assert [run_entry(folder / name).step for name in "01"] == [3, 5]
    assert run_entry(folder / "0").axes == ["dataset.chunker.max_chars"]
    assert run_entry(write_run(tmp_path / "r")).step == 5
    assert run_entry(write_run(tmp_path / "n", {"k": None})).step == 0


def test_the_summary_of_a_sweep(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s", (3, 5, 10))
    report.write_sweep(folder)
    entry = sweep_entry(folder)
    assert entry.name == "summary of k=3,5,10 · s"
    assert entry.tags == {
        "experiment": "full_rag",
        "status": "completed",
        "sweep_id": "s",
        "sweep_role": "summary",
        "cells": "completed 3",
        "baselines": "generator=extractive, judge=lexical",
    }
    assert (entry.params, entry.metrics, entry.dataset) == ({"k": "3,5,10"}, {}, None)  # its runs share no case
    assert "| 2 | 10 | completed |" in entry.description
    assert "] (" in (folder / "summary.md").read_text(encoding="utf-8")
    assert "] (" not in entry.description and r"] \(" in entry.description  # no link for the UI
    assert [path.name for path in entry.files] == [
        "cells.csv", "report.html", "summary.json", "summary.md", "sweep.json",
    ]  # fmt: skip
    assert [path.name for path in draw(folder, tmp_path)] == ["metrics_against_k.png"]


def test_the_summary_of_a_sweep_holds_its_best_run(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s", (3, 5, 10))
    report.write_sweep(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    cells = [{"folder": "0"}, {"folder": "1", "verdict": "better"}, {"folder": "2", "verdict": "better"}]
    compared = {"name": "recall_at_k", "best": "2", "within_noise_of_best": ["1", "2"], "cells": cells}
    summary["comparison"] = {"metrics": [compared, {"name": "mrr", "best": "0", "cells": cells}]}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    entry = sweep_entry(folder)
    assert (entry.step, entry.metrics["recall_at_k"]) == (10, summary["cells"][2]["metrics"]["recall_at_k"]["value"])
    assert {name: entry.tags[name] for name in ("best", "best_by", "verdict", "tied_with_best")} == {
        "best": "k=10", "best_by": "recall_at_k", "verdict": "better", "tied_with_best": "k=5",
    }  # fmt: skip


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a run folder: no run\.json in it"):
        run_entry(tmp_path)
