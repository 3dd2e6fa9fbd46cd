"""What the terminal says when a run or a sweep has ended."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from runner import report
from runner.compare.sweep import compare_sweep
from runner.config.arguments import to_type
from runner.errors import install_command
from runner.report.brief import brief, brief_sweep
from runner.system.folder import open_run, open_sweep
from tests.run_folders import RUN, SUMMARY, dump, row
from tests.shown_panels import lines_of
from tests.swept_folders import write_swept

SLOW = pytest.mark.slow
N = 40
LOW = [0.5] * N
HIGH = [0.9] * (N // 2) + [0.7] * (N // 2)
UNSURE = [0.5 + (0.3 if n % 2 else -0.28) for n in range(N)]


def swept(folder: Path, **columns: Any) -> Path:
    runs = {f"k={k}": {"recall_at_10": LOW, **column} for k, column in columns["runs"].items()}
    write_swept(folder, runs, ks=tuple(columns["runs"]), language=columns.get("language", "en"))
    statuses = {cell["folder"]: cell["status"] for cell in open_sweep(folder)["cells"]}
    report.write_sweep(folder, compare_sweep(folder, statuses, baseline="0", seed=42, margin=0.02))
    return folder


def told(folder: Path) -> str:
    return " ".join(" ".join(lines_of(brief_sweep(folder))).split())


def test_what_is_better_has_its_evidence(tmp_path: Path) -> None:
    runs = {3: {"faithfulness": LOW}, 5: {"faithfulness": HIGH}, 10: {"faithfulness": UNSURE}}
    text = told(swept(tmp_path / "s", runs=runs))
    # .8 - .5
    assert "Faithfulness against k=3, 40 cases: k=5 better, +0.300 [" in text and "], p < 0.001." in text
    assert "k=10" not in text.split("against k=3")[1].split("Next")[0]


def test_a_run_that_is_not_told_apart_is_said_to_be_that(tmp_path: Path) -> None:
    text = told(swept(tmp_path / "s", runs={3: {"faithfulness": LOW}, 10: {"faithfulness": UNSURE}}))
    assert "Faithfulness: no run is shown to be better or worse than k=3 (40 cases): k=10 +0.010 [" in text


def test_fewer_than_ten_cases_are_said_to_be_too_few(tmp_path: Path) -> None:
    runs = {
        3: {"faithfulness": LOW[:9], "recall_at_10": LOW[:9]},
        5: {"faithfulness": HIGH[:9], "recall_at_10": LOW[:9]},
    }
    text = told(swept(tmp_path / "s", runs=runs))
    assert "Faithfulness: 9 cases are too few to tell runs apart (at least 10); against k=3: k=5 +0.400 [" in text


def test_runs_without_a_difference_are_said_to_be_the_same(tmp_path: Path) -> None:
    text = told(swept(tmp_path / "s", runs={3: {"faithfulness": LOW}, 5: {"faithfulness": LOW}}))
    assert "No compared metric differs between the runs (40 cases)." in text


def test_other_metrics_follow_the_first(tmp_path: Path) -> None:
    runs = {
        3: {"faithfulness": HIGH, "answer_relevancy": LOW},
        5: {"faithfulness": LOW, "answer_relevancy": HIGH},
    }
    text = told(swept(tmp_path / "s", runs=runs))
    assert "k=5 worse, −0.300 [" in text
    assert "Better than k=3: Answer Relevancy (k=5)." in text and "Worse than k=3" not in text


def test_no_sweep_says_to_raise_k_where_a_higher_k_did_not_help(tmp_path: Path) -> None:
    for name, first, second in (("no gain", HIGH, LOW), ("gain", LOW, HIGH)):
        folder = swept(tmp_path / name, runs={3: {"faithfulness": first}, 5: {"faithfulness": second}})
        for cell in ("0", "1"):
            summary = json.loads((folder / cell / "summary.json").read_text(encoding="utf-8"))
            dump(folder / cell / "summary.json", {**summary, "counts": {"lost_at": {"below_k": 4, "none": 36}}})
        assert ("A higher k did not help in this sweep." in told(folder)) == (name == "no gain")
        assert ("raise k" in told(folder)) == (name == "gain")


def test_where_no_model_was_called_the_cost_is_none(tmp_path: Path) -> None:
    swept_text = told(swept(tmp_path / "s", runs={3: {"faithfulness": LOW}, 5: {"faithfulness": HIGH}}))
    assert "Cost: none (no model was called)" in swept_text
    lines = lines_of(brief(open_run(write_run(tmp_path / "r", ["none"]))))
    assert any(line.split() == ["Cost:", "none", "(no", "model", "was", "called)"] for line in lines)
    stopped = write_run(tmp_path / "t", ["none"], status="partial", error_message="stopped by Ctrl-C")
    assert not any("Cost" in line for line in lines_of(brief(open_run(stopped))))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_commands_are_whole_and_real(tmp_path: Path, language: str) -> None:
    folder = swept(tmp_path / "s", runs={3: {"faithfulness": LOW}, 5: {"faithfulness": HIGH}}, language=language)
    shown = [str(line) for line in brief_sweep(folder) if getattr(line, "overflow", None) == "ignore"]
    assert any(f"python -m runner results {folder}" in line for line in shown)
    assert any(f"python -m runner compare {folder}/0 {folder}/1" in line for line in shown)


def write_run(folder: Path, stages: list[str], **changes: Any) -> Path:
    folder.mkdir()
    counts = {stage: stages.count(stage) for stage in {*stages}}
    choices = {"dataset": "jsonl", "tracking": "mlflow"}
    run = {**RUN, "status": "completed", "choices": choices, "overrides": ["+experiment=full_rag", "k=5"], **changes}
    cases = {"total": len(stages), "ok": len(stages), "failed": 0, "timeout": 0}
    dump(folder / "run.json", run)
    dump(folder / "summary.json", {**SUMMARY, "cases": cases, "counts": {"lost_at": counts}})
    rows = [{**row(f"q-{number}"), "labels": {"lost_at": stage}} for number, stage in enumerate(stages)]
    (folder / "per_item.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return folder


def test_the_three_most_frequent_stages_name_three_questions_each(tmp_path: Path) -> None:
    stages = ["none", *["below_k"] * 4, *["wrong_answer"] * 2, "not_retrieved", *["refused_answerable"] * 2]
    lines = [" ".join(line.split()) for line in lines_of(brief(open_run(write_run(tmp_path / "r", stages))))]
    start = lines.index("9 of 10 questions fail")
    assert lines[start + 1] == "ranked below k 4 q-1, q-2, q-3"
    assert {*lines[start + 2 : start + 4]} == {"answer wrong 2 q-5, q-6", "refused though answerable 2 q-8, q-9"}
    assert not any("not retrieved" in line for line in lines[start:])


def test_the_next_commands_of_a_run_ask_for_the_same_again(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", ["below_k"])
    shown = [str(line).partition("python -m runner") for line in brief(open_run(folder))]
    commands = ["".join(parts[1:]) for parts in shown if parts[1]]
    assert commands == [
        f"python -m runner results {folder}",
        "python -m runner +experiment=full_rag k=5 case=q-0",
        f"python -m runner +experiment=full_rag k=5 compare={folder}",
        "python -m runner ui",
    ]
    elsewhere = write_run(tmp_path / "s", ["below_k"], overrides=["tracking.uri=sqlite:///outputs/m.db"])
    assert "python -m runner ui --uri sqlite:///outputs/m.db" in "\n".join(map(str, brief(open_run(elsewhere))))


def test_where_the_pages_of_mlflow_are_not_installed_the_next_command_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["runner.report.brief"], "distributions", lambda name: iter(()))
    shown = "\n".join(str(line) for line in brief(open_run(write_run(tmp_path / "r", ["below_k"]))))
    assert f"{install_command('ui')} && python -m runner ui" in shown


def test_they_name_the_configuration_that_the_run_had(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", ["below_k"], config_folders=["my conf"])
    shown = "\n".join(str(line) for line in brief(open_run(folder)))
    assert "python -m runner --config-dir 'my conf' +experiment=full_rag k=5 case=q-0" in shown
    assert f"python -m runner --config-dir 'my conf' +experiment=full_rag k=5 compare={folder}" in shown


def test_they_write_no_file_again_and_are_typed_as_they_were(tmp_path: Path) -> None:
    words = ["+experiment=full_rag", "++provider.local.max_tries=2", "dataset.notes='노트'"]
    words += ["save_snapshot='base.json'", "fail_on_regression=true"]
    folder = write_run(tmp_path / "r", ["below_k"], overrides=[*words, "junit='rules.xml'"])
    shown = "\n".join(str(line) for line in brief(open_run(folder)))
    assert "python -m runner +experiment=full_rag provider.local.max_tries=2 dataset.notes=노트 case=q-0\n" in shown
    again = "+experiment=full_rag provider.local.max_tries=2 dataset.notes=노트 fail_on_regression=true junit=rules.xml"
    assert f"python -m runner {again} compare={folder}\n" in shown


def test_a_run_that_was_compared_is_compared_with_the_same_again(tmp_path: Path) -> None:
    words = ["+experiment=full_rag", "compare=base.json", f"save_snapshot={tmp_path}/new.json", "junit=away.xml"]
    (tmp_path / "new.json").touch()
    shown = [str(line).split() for line in brief(open_run(write_run(tmp_path / "r", ["below_k"], overrides=words)))]
    assert ["snapshot", f"{tmp_path}/new.json"] in shown and not any(line[:1] == ["JUnit"] for line in shown)
    assert ["python", "-m", "runner", "+experiment=full_rag", "junit=away.xml", "compare=base.json"] in [
        line[3:] for line in shown if line[:3] == ["after", "a", "change"]
    ]


def test_a_python_that_the_shell_does_not_find_is_named_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "my env" / "bin" / "python"))
    monkeypatch.chdir(tmp_path)
    assert to_type("results", "x") == "'my env/bin/python' -m runner results x"
    monkeypatch.chdir("/")
    monkeypatch.setattr(sys, "executable", "/opt/other/python")
    assert to_type("results", "x") == "opt/other/python -m runner results x"
    monkeypatch.chdir(tmp_path)
    assert to_type("results", "x") == "/opt/other/python -m runner results x"


@pytest.mark.parametrize(("language", "ids"), [("en", "q-1, q-3, q-0"), ("ko", "q-0, q-2, q-4")])
def test_questions_in_the_language_of_the_reader_are_named_first(tmp_path: Path, language: str, ids: str) -> None:
    folder = write_run(tmp_path / "r", ["below_k"] * 5)
    rows = [{**each, "language": ("ko", "en")[number % 2]} for number, each in enumerate(read_rows(folder))]
    (folder / "per_item.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    dump(folder / "run.json", {**run, "config": {**run["config"], "report": {"language": language}}})
    assert any(" ".join(line.split()).endswith(f"5 {ids}") for line in lines_of(brief(open_run(folder))))


def read_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "per_item.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_run_that_did_not_end_says_so_and_how_to_resume(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", ["none"], status="partial", error_message="stopped by Ctrl-C")
    text = " ".join(" ".join(lines_of(brief(open_run(folder)))).split())
    assert "Status: partial" in text and "stopped by Ctrl-C" in text
    assert "case=" not in text


@pytest.mark.parametrize(
    ("n", "values", "first", "last"),
    [
        (20, "0.0, 0.05, 0.1, …, 0.95", 0.55, 0.9),
        pytest.param(200, "0.0, 0.005, 0.01, …, 0.995", 0.955, 0.99, marks=SLOW),
    ],
)
@pytest.mark.parametrize("differ", [True, False])
def test_of_many_runs_the_best_are_shown_on_one_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, values: str, first: float, last: float, differ: bool
) -> None:
    """The baseline, 0, is the worst; the best are the last nine, of which the first eight are shown."""
    monkeypatch.chdir(tmp_path)  # whose name would take lines of its own
    right = [
        [float(case < 8 + 11 * min(number, n - 9) // (n - 9) * differ) for case in range(20)] for number in range(n)
    ]
    runs = {f"min_score={number / n}": {"right": column} for number, column in enumerate(right)}
    folder = write_swept(Path("s"), runs)
    statuses = {cell["folder"]: "completed" for cell in open_sweep(folder)["cells"]}
    report.write_sweep(folder, compare_sweep(folder, statuses, baseline="0", seed=42, margin=0.02))
    lines = lines_of(brief_sweep(folder))
    shown = "\n".join(lines)
    assert len(lines) <= 40
    assert f"{n} runs (min_score={values})" in shown
    first, last = (first, last) if differ else (1 / n, 7 / n)
    assert f" {first} " in shown and f" {last} " in shown and " 0.0 " in shown and " 0.5 " not in shown
    note = f" of {n} runs: the baseline and the best by " if differ else f" of {n} runs: the first ones"
    assert note in " ".join(shown.split()) and "`results` shows all." in shown


def framed(folder: Path) -> dict[str, list[str]]:
    """The rows of each panel at the end of a run, by its title."""
    panels: dict[str, list[str]] = {}
    for line in lines_of(brief(open_run(folder))):
        if line.startswith("╭"):
            rows = panels[line.strip("╭─╮ ")] = []
        elif line.startswith("│"):
            rows.append(" ".join(line.strip("│").split()))
    return panels


def test_a_run_ends_with_the_panels_of_the_specification(tmp_path: Path) -> None:
    """Of the eighteen of `SUMMARY`, those at other cutoffs, exact match and the like are left to `results`."""
    folder = write_run(tmp_path / "r", ["none"])
    assert {title: [row.partition(":")[0] for row in rows] for title, rows in framed(folder).items()} == {
        "Evaluation Results (k=5)": [
            "Precision@5", "Recall@5", "Hit Rate@5", "MRR", "nDCG@5", "Unanswerable F1",
        ],
        "Generation Metrics": ["Faithfulness", "Answer Relevancy"],
    }  # fmt: skip
    assert framed(folder)["Evaluation Results (k=5)"][1] == "Recall@5: 0.8500 [0.8000, 0.9000] 8/8"
    assert any("more metrics: `results`, or `verbose=true`." in line for line in lines_of(brief(open_run(folder))))


def test_a_run_of_few_metrics_shows_all(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", ["none"])
    few = {name: SUMMARY["metrics"][name] for name in ("recall_at_k", "precision_at_k", "recall_at_10")}
    dump(folder / "summary.json", {**SUMMARY, "metrics": few, "counts": {}})
    assert framed(folder) == {
        "Evaluation Results (k=5)": [
            "Precision@5: 0.2400 [0.1900, 0.2900] 8/8",
            "Recall@5: 0.8500 [0.8000, 0.9000] 8/8",
        ]
    }
    assert not any("more metrics" in line for line in lines_of(brief(open_run(folder))))


def test_failing_questions_are_named_by_id_however_the_cases_ended(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", ["below_k"] * 5)
    first = lines_of(brief(open_run(folder)))
    rows = (folder / "per_item.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "per_item.jsonl").write_text("".join(reversed(rows)), encoding="utf-8")
    assert lines_of(brief(open_run(folder))) == first


def test_results_of_a_sweep_begin_with_what_is_better(tmp_path: Path) -> None:
    folder = swept(tmp_path / "s", runs={3: {"faithfulness": LOW}, 5: {"faithfulness": HIGH}})
    lines = lines_of(report.sweep_panels(folder))
    assert lines[0].strip() == "What this sweep shows" and lines[1].startswith(
        "Faithfulness against k=3, 40 cases: k=5"
    )


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "3 of 10 questions name relevant documents that do not exist in the corpus"),
        ("ko", "질문 10개 중 3개의 관련 문서가 말뭉치에 없습니다"),
    ],
)
def test_gold_documents_that_do_not_exist_head_the_results(tmp_path: Path, language: str, line: str) -> None:
    stages = ["not_in_corpus"] * 3 + ["none"] * 7
    folder = write_run(tmp_path / "r", stages, config={**RUN["config"], "report": {"language": language}})
    text = " ".join(" ".join(lines_of(brief(open_run(folder)))).split())
    assert line in text and text.index(line) < text.index("Recall")
