from pathlib import Path

import pytest

from runner import report
from runner.errors import InputError
from runner.tracking.entry import draw, run_entry, sweep_entry
from tests.run_folders import write_run, write_sweep_folder


def test_params_are_choices_and_settings_without_what_is_shared_or_not_of_the_experiment(tmp_path: Path) -> None:
    assert run_entry(write_run(tmp_path)).params == {
        "dataset": "demo",
        "retriever": "hybrid",
        "generator": "extractive",
        "judge": "lexical",
        "k": "5",
        "cutoffs": "[1, 3, 5, 10]",
        "min_score": "0.3",
        "sample": "null",
        "tokenizer._target_": "plugins.tokenizer.auto.AutoTokenizer",
        "retriever._target_": "plugins.retriever.keyword.KeywordRetriever",
        "retriever.k1": "1.5",
        "evaluation._target_": "plugins.evaluation.full_rag.FullRag",
    }


def test_a_part_that_differs_from_the_shared_one_is_kept(tmp_path: Path) -> None:
    params = run_entry(write_run(tmp_path, {"config": {"evaluation": {"k": 7}}})).params
    assert (params["k"], params["evaluation.k"]) == ("5", "7")


def test_metrics(tmp_path: Path) -> None:
    metrics = run_entry(write_run(tmp_path), slices=["language"]).metrics
    assert metrics["recall_at_k"] == 0.85
    assert metrics["recall_at_10"] == 0.85
    assert (metrics["recall_at_k_ci_low"], metrics["recall_at_k_ci_high"]) == (0.8, 0.9)
    assert metrics["mean_faithfulness"] == 0.825
    assert metrics["via.keyword.recall_at_k"] == 0.75
    assert metrics["time.retrieval_p50_ms"] == 3.14
    assert metrics["where.language.ko.mrr"] == 0.72
    assert "time.generation_p50_ms" not in metrics  # nothing was live
    assert not any("tag" in name or ("ci_" in name and "_at_5" in name) for name in metrics)


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


def test_the_data_set_is_known_by_a_hash_over_all_that_was_read(tmp_path: Path) -> None:
    first = run_entry(write_run(tmp_path / "a")).dataset
    other = run_entry(write_run(tmp_path / "b", {"identity": {"queries": "e" * 64}})).dataset
    assert first is not None
    assert other is not None
    assert (first.name, first.n_cases, len(first.digest)) == ("demo", 10, 16)
    assert first.digest != other.digest
    assert run_entry(write_run(tmp_path / "c", {"choices": {"dataset": None}})).dataset is not None


def test_hidden_files_locks_and_leftovers_are_not_files_of_a_run(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    for name in (".outcome.json", "x.lock", "errors.writing", "multirun.yaml", "compare.md"):
        (folder / name).touch()
    (folder / ".hydra").mkdir()
    names = [path.name for path in run_entry(folder).files]
    assert names == ["compare.md", "errors.jsonl", "per_item.jsonl", "run.json", "summary.json"]


def test_times_are_those_of_the_run(tmp_path: Path) -> None:
    entry = run_entry(write_run(tmp_path))
    assert entry.created_ms == 1767323045000
    assert entry.updated_ms - entry.created_ms == 10_000


def test_a_cell_is_named_by_what_was_swept_and_a_run_by_what_it_is(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    cell = run_entry(folder / "1")
    assert (cell.name, cell.tags["sweep_id"], cell.tags["sweep_role"]) == ("k=5", "s", "cell")
    assert run_entry(write_run(tmp_path / "r")).name == "full_rag hybrid k=5"


def test_the_summary_of_a_sweep(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s", (3, 5, 10))
    report.write_sweep(folder)
    entry = sweep_entry(folder)
    assert entry.name == "summary of k=3,5,10"
    assert entry.tags == {
        "experiment": "full_rag",
        "status": "completed",
        "sweep_id": "s",
        "sweep_role": "summary",
        "baselines": "generator=extractive, judge=lexical",
    }
    assert (entry.params, entry.metrics, entry.dataset) == ({}, {}, None)
    assert "| 2 | 10 | completed |" in entry.description
    assert [path.name for path in entry.files] == ["cells.csv", "summary.json", "summary.md", "sweep.json"]
    assert [path.name for path in draw(folder, tmp_path)] == ["metrics_against_k.png"]


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a run folder: no run\.json in it"):
        run_entry(tmp_path)
