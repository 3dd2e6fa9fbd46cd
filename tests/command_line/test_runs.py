"""Whole commands as a person types them, in an empty folder."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.result_files import read, rows
from tests.command_line.started import command
from tests.run_folders import KOREAN, write_run
from tests.small_data import write_jsonl

FILES = {"run.json", "summary.json", "summary.md", "report.html", "per_item.jsonl", "errors.jsonl"}


def test_retrieval_only(data: list[str]) -> None:
    assert main([*data, "format=both", "k=2", "out=결과"]) == 0
    assert set(os.listdir("결과")) >= FILES
    summary = read("결과/summary.json")
    recall = summary["metrics"]["recall_at_k"]
    assert (recall["value"], recall["n"], recall["n_scored"]) == (1.0, 6, 6)
    assert summary["metrics"]["precision_at_k"]["value"] == 0.5
    assert summary["metrics"]["mrr_at_10"]["value"] == 1.0
    assert summary["mean_faithfulness"] is None
    assert summary["metrics"]["mean_faithfulness"]["n"] == 0
    assert set(summary["slices"]["language"]) == {"en", "ko"}
    assert summary["slices"]["language"]["ko"]["recall_at_k"]["n"] == 3
    run = read("결과/run.json")
    assert (run["status"], run["exit_code"], run["k"], run["error_message"]) == ("completed", 0, 2, None)
    assert run["created_at"] <= run["updated_at"]
    row = rows("결과")["질5"]
    assert row["status"] == "ok" and row["language"] == "ko" and row["output"]["retrieved"][0]["id"] == "달"


def test_reports_can_be_left_out(data: list[str]) -> None:
    assert main([*data, "k=1,2", "out=s"]) == 0
    for folder in ("s", "s/0", "s/1"):
        assert "summary.json" in os.listdir(folder)
        assert "report.html" not in os.listdir(folder)
    assert "summary.md" not in os.listdir("s/0")


def test_full_rag_sweep_ranks_once_and_numbers_its_folders(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["+experiment=full_rag", *data, "format=both", "k=1,2", "out=sweep"]) == 0
    assert {"0", "1", "sweep.json", "summary.md", "report.html", "summary.json"} <= set(os.listdir("sweep"))
    first, second = read("sweep/0/summary.json"), read("sweep/1/summary.json")
    assert (first["k"], second["k"]) == (1, 2)
    assert first["metrics"]["recall_at_10"] == second["metrics"]["recall_at_10"]
    assert (first["timing"]["rankings_reused"], second["timing"]["rankings_reused"]) == (False, True)
    assert 0 < first["metrics"]["mean_faithfulness"]["value"] <= 1
    assert first["facts"]["baselines"] == ["generator=extractive", "judge=lexical"]
    assert [cell["status"] for cell in read("sweep/sweep.json")["cells"]] == ["completed", "completed"]
    assert "Faithfulness" in capsys.readouterr().out


def test_a_sweep_ends_as_it_would_though_nobody_reads_what_it_says(data: list[str]) -> None:
    """`… | head -1`, which is gone before the first line."""
    words = command(*data, "k=1,2", "out=s")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None and started.stderr is not None
        started.stdout.close()
        told = started.stderr.read()
    assert started.returncode == 0 and "error" not in told and "not finished" not in told
    assert read("s/sweep.json")["status"] == "completed" and read("s/1/run.json")["error_message"] is None


def test_sample_is_seeded_and_in_file_order(data: list[str]) -> None:
    for out in ("a", "b"):
        main([*data, "sample=3", f"out={out}"])
    main([*data, "sample=3", "seed=1", "out=c"])
    assert set(rows("a")) == set(rows("b")) != set(rows("c"))
    main([*data, "sample=0.5", "out=d"])
    assert len(rows("d")) == 4


def test_one_case_verbosely(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["+experiment=full_rag", *data, "case=질5", "out=x"]) == 0
    shown = capsys.readouterr().out
    assert "달은 지구를 며칠에" in shown and "27일" in shown and "(rank 1)" in shown
    assert shown.count("\n") < 40
    assert list(rows("x")) == ["질5"]


def test_dry_run_checks_the_data_and_leaves_nothing(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = set(os.listdir())
    assert main([*data, "k=1,2", "dry_run=true"]) == 0
    assert "8 of 8 cases would run" in capsys.readouterr().out
    assert set(os.listdir()) == before


def test_given_rankings_and_answers(tmp_path: Path) -> None:
    queries = write_jsonl(
        tmp_path / "given.jsonl",
        [
            {
                "id": "g1",
                "query": "How long does the Moon need?",
                "answerable": True,
                "expected_notes": ["moon"],
                "ranking": [{"id": "mars", "score": 2}, {"id": "moon", "score": 0.5}],
                "contexts": ["Mars is red.", {"id": "moon", "text": "The Moon needs 27 days."}],
                "answer": "The Moon needs 27 days.",
            },
            {"id": "g2", "query": "And Mars?", "answerable": True, "expected_notes": ["mars"], "ranking": ["mars"]},
        ],
    )
    words = ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={queries}", "tracking=none", "out=x"]
    code = main(["+experiment=full_rag", "retriever=given", "generator=given", *words])
    found = rows("x")
    assert found["g1"]["metrics"]["mrr"] == 0.5 and found["g1"]["metrics"]["faithfulness"] == 1.0
    assert found["g2"]["status"] == "failed" and "answer" in found["g2"]["error"]
    assert code == 3 and read("x/run.json")["status"] == "failed"
    assert read("x/summary.json")["metrics"]["recall_at_k"]["n"] == 2


def test_deterministic_runs_are_byte_identical_apart_from_timing(data: list[str]) -> None:
    texts = []
    for out in ("a", "b"):
        assert main(["+experiment=full_rag", *data, "deterministic=true", "cold_start=true", f"out={out}"]) == 0
        summary = read(f"{out}/summary.json")
        assert summary.pop("timing")["rankings_reused"] is False
        texts.append(json.dumps(summary))
    assert texts[0] == texts[1]


def test_standard_streams_that_were_closed() -> None:
    words = shlex.join(command("chat", "memory/store=local"))
    done = subprocess.run(["sh", "-c", f"{words} <&-"], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [pytest.param("cp949", "평가 결과", marks=pytest.mark.slow), ("ascii", "\\ud3c9\\uac00 \\uacb0\\uacfc")],
)
def test_a_terminal_without_some_characters(encoding: str, shown: str, tmp_path: Path) -> None:
    folder = write_run(tmp_path / os.fsdecode(b"\xea\xb0"), KOREAN)  # a name that is no UTF-8
    words = command("results", str(folder))
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert shown in done.stdout.decode(encoding)


def test_help_imports_nothing_heavy() -> None:
    heavy = {"mlflow", "faiss", "sklearn", "matplotlib", "hydra", "pydantic", "numpy", "scipy"}
    heavy |= {"omegaconf", "antlr4", "yaml", "rich", "subprocess", "runner.metrics", "runner.report"}
    assert not loaded(["--help"]) & heavy
    assert not loaded(["compare", "--help"]) & (heavy - {"yaml"})


def test_a_run_that_is_only_checked_reads_no_report(data: list[str]) -> None:
    heavy = {"mlflow", "sklearn", "matplotlib", "openai", "aiohttp", "pandas", "xml.etree"}
    heavy |= {"runner.report.page", "runner.report.brief", "runner.report.sweep", "runner.report.comparison"}
    assert not loaded([*data, "dry_run=true"]) & heavy


def loaded(words: list[str]) -> set[str]:
    """The modules that a command has loaded when it ends."""
    code = "import sys; from runner.cli import main; code = main(sys.argv[1:]); print(*sys.modules); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_a_run_speaks_the_language_of_its_report_and_of_places_below_the_working_folder(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*data, "report.language=ko", f"out={tmp_path / 'x'}"]
    assert main(words) == 0
    said = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"retrieval_only: 사례 8/8, 실패 0, [\d.]+초", said[0])
    assert said[1:] == ["결과: x"]
    assert main(words) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "이어서 실행합니다. 사례 8개 중 8개는 이미 끝났습니다"


def test_the_composed_configuration_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cfg", "job", "k=7", "case=질문 (1)"]) == 0
    shown = capsys.readouterr().out
    assert "\nk: 7\n" in shown and "case: 질문 (1)" in shown


def test_a_comma_in_out_is_part_of_the_name(data: list[str]) -> None:
    assert main([*data, "out=실험,둘"]) == 0
    assert read("실험,둘/run.json")["status"] == "completed"


def test_experiments_of_ones_own(data: list[str], tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "experiment" / "mine.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("# @package _global_\ndefaults: [override /evaluation: full_rag]\nk: 3\n", encoding="utf-8")
    assert main(["--config-dir", "mine", "+experiment=mine", *data, "out=x"]) == 0
    assert (read("x/run.json")["k"], read("x/run.json")["experiment"]) == (3, "mine")


def test_a_run_of_an_evaluation_of_ones_own_is_called_as_that_was_chosen(data: list[str], tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "evaluation" / "length_rag.yaml"
    mine.parent.mkdir(parents=True)
    target = "plugins.evaluation.retrieval_only.RetrievalOnly"
    mine.write_text(f"defaults: [retrieval_only, _self_]\n_target_: {target}\n", encoding="utf-8")
    assert main(["--config-dir", "mine", "evaluation=length_rag", *data]) == 0
    (folder,) = Path("outputs").glob("2*")
    assert "-length_rag-" in folder.name
    assert read(str(folder / "run.json"))["experiment"] == "length_rag"


def test_a_case_run_is_not_uploaded(data: list[str]) -> None:
    words = [word for word in data if not word.startswith("tracking")]
    assert main([*words, "case=q1", "out=x"]) == 0
    assert not Path("x/.mlflow_run.json").exists()
    assert not list(Path().glob("ml*"))  # nor is there a store that nothing is in
