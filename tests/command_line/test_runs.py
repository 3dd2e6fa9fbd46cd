"""Whole commands as a person types them, in an empty folder."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.small_data import small_data, write_jsonl

FILES = {"run.json", "summary.json", "summary.md", "report.html", "per_item.jsonl", "errors.jsonl"}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    return [*small_data(tmp_path / "자료 (1)"), "tracking=none", "retriever=keyword"]


def read(path: Path | str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def rows(folder: str) -> dict[str, Any]:
    lines = Path(folder, "per_item.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def test_retrieval_only(data: list[str]) -> None:
    assert main([*data, "k=2", "out=결과"]) == 0
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
    assert main([*data, "k=1,2", "format=json", "out=s"]) == 0
    for folder in ("s", "s/0", "s/1"):
        assert "summary.json" in os.listdir(folder)
        assert "report.html" not in os.listdir(folder)
    assert "summary.md" not in os.listdir("s/0")


def test_full_rag_sweep_ranks_once_and_numbers_its_folders(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["+experiment=full_rag", *data, "k=1,2", "out=sweep"]) == 0
    assert {"0", "1", "sweep.json", "summary.md", "report.html", "summary.json"} <= set(os.listdir("sweep"))
    first, second = read("sweep/0/summary.json"), read("sweep/1/summary.json")
    assert (first["k"], second["k"]) == (1, 2)
    assert first["metrics"]["recall_at_10"] == second["metrics"]["recall_at_10"]
    assert (first["timing"]["rankings_reused"], second["timing"]["rankings_reused"]) == (False, True)
    assert 0 < first["metrics"]["mean_faithfulness"]["value"] <= 1
    assert first["facts"]["baselines"] == ["generator=extractive", "judge=lexical"]
    assert [cell["status"] for cell in read("sweep/sweep.json")["cells"]] == ["completed", "completed"]
    assert "Faithfulness" in capsys.readouterr().out


def test_the_same_again_resumes_and_runs_no_case_twice(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "out=x"]) == 0
    before = Path("x/per_item.jsonl").read_bytes()
    assert main([*data, "out=x"]) == 0
    assert Path("x/per_item.jsonl").read_bytes() == before
    assert "resuming: 8 of 8 cases are done" in capsys.readouterr().err


def test_resume_after_a_kill_equals_an_uninterrupted_run(data: list[str]) -> None:
    main([*data, "out=whole"])
    main([*data, "out=torn"])
    journal = Path("torn/per_item.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    assert main([*data, "out=torn"]) == 0
    whole, torn = read("whole/summary.json"), read("torn/summary.json")
    assert whole.pop("timing") and torn.pop("timing")
    assert whole == torn


def test_a_default_folder_that_is_not_done_is_taken_up_again(data: list[str]) -> None:
    main(data)
    (folder,) = Path("outputs").iterdir()
    run = read(folder / "run.json")
    (folder / "run.json").write_text(json.dumps({**run, "status": "partial"}), encoding="utf-8")
    main(data)
    assert list(Path("outputs").iterdir()) == [folder]
    main(data)
    assert len(list(Path("outputs").iterdir())) == 2


def test_changed_data_starts_over_and_keeps_the_earlier_rows(data: list[str], tmp_path: Path) -> None:
    main([*data, "out=x"])
    queries = tmp_path / "자료 (1)" / "queries.jsonl"
    queries.write_text(queries.read_text(encoding="utf-8").replace("How long", "What time"), encoding="utf-8")
    assert main([*data, "out=x"]) == 0
    assert len(list(Path("x").glob("per_item.before-*.jsonl"))) == 1
    assert rows("x")["q1"]["output"]["query"].startswith("What time")


def test_another_run_in_the_same_folder_is_refused(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*data, "out=x"])
    assert main([*data, "out=x", "k=3"]) == 1
    assert "out: x holds another run or sweep; choose another folder or remove it" in capsys.readouterr().err
    assert read("x/run.json")["k"] == 5


def test_all_problems_of_all_cells_come_before_the_first_run(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["+experiment=full_rag", *data, "k=3,99", "retriver=keyword", "judge.modle=x", "generator=extractiv"]) == 1
    )
    assert capsys.readouterr().err == (
        "error: 4 problems in the configuration:\n"
        "  generator: no choice 'extractiv'; did you mean 'extractive'?\n"
        "  retriver: unknown option; did you mean 'retriever'?\n"
        "  judge.modle: unknown setting; known: health, on_failure, supported\n"
        "  k: expected less than or equal to 50, got 99\n"
    )
    assert not Path("outputs").exists()


def test_a_component_that_the_evaluation_does_not_use(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "judge=lexical"]) == 1
    expected = "judge: retrieval_only has no judge; it uses dataset, tokenizer, embedder, retriever\n"
    assert expected in capsys.readouterr().err


def test_a_component_that_no_cell_uses_is_noted(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "embedder=lsa", "out=x"]) == 0
    assert "note: embedder is set but no run of this command uses it\n" in capsys.readouterr().err


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
    assert "달은 지구를 며칠에 한 바퀴 도나요?" in shown and "27일" in shown
    assert list(rows("x")) == ["질5"]


def test_an_unknown_case_names_its_neighbour(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "case=질55", "out=x"]) == 1
    assert "case: no case has the id '질55'; did you mean '질5'?" in capsys.readouterr().err
    assert read("x/run.json")["exit_code"] == 1


def test_dry_run_checks_the_data_and_leaves_nothing(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = set(os.listdir())
    assert main([*data, "k=1,2", "dry_run=true"]) == 0
    assert "8 of 8 cases would run" in capsys.readouterr().out
    assert set(os.listdir()) == before


def test_a_bad_line_is_skipped_counted_and_listed_or_stops_a_strict_run(data: list[str], tmp_path: Path) -> None:
    queries = tmp_path / "자료 (1)" / "queries.jsonl"
    queries.write_text("{broken\n" + queries.read_text(encoding="utf-8"), encoding="utf-8")
    assert main([*data, "out=x"]) == 0
    (problem,) = [json.loads(line) for line in Path("x/errors.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (problem["stage"], problem["line"]) == ("data", 1)
    assert read("x/summary.json")["data_problems"] == {"errors": 1, "warnings": 0}
    assert main([*data, "dry_run=true"]) == 1
    assert main([*data, "strict=true", "out=y"]) == 1
    assert read("y/run.json")["status"] == "failed"


@pytest.mark.parametrize(
    ("missing", "code"), [("dataset.corpus=nowhere.jsonl", 2), ("dataset.queries=nowhere.jsonl", 1)]
)
@pytest.mark.parametrize("dry", ["true", "false"])
def test_missing_files(data: list[str], missing: str, code: int, dry: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, missing, "out=x", f"dry_run={dry}"]) == code
    key = missing.partition("=")[0]
    expected = f"error: 1 problem in the configuration:\n  {key}: file not found: nowhere.jsonl\n"
    assert capsys.readouterr().err == expected
    assert not Path("x").exists()


def test_the_missing_files_of_all_runs_are_told_before_the_first_starts(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for word in data if not word.startswith("dataset.")]
    (good,) = [word.partition("=")[2] for word in data if word.startswith("dataset.queries=")]
    words += [f"dataset.queries='{good}',a.jsonl", "dataset.corpus=b.jsonl,c.jsonl"]
    assert main([*words, "out=s"]) == 2
    assert capsys.readouterr().err == (
        "error: 3 problems in the configuration:\n"
        "  dataset.corpus: file not found: b.jsonl\n"
        "  dataset.corpus: file not found: c.jsonl\n"
        "  dataset.queries: file not found: a.jsonl\n"
    )
    assert not Path("s").exists()


def test_a_sweep_ends_with_the_gravest_code_and_lists_every_failure(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = next(word for word in data if word.startswith("dataset.queries=")).partition("=")[2]
    empty = write_jsonl(tmp_path / "empty.jsonl", [])
    useless = write_jsonl(tmp_path / "useless.jsonl", [{"id": "a"}])
    words = [word for word in data if not word.startswith("dataset.queries=")]
    assert main([*words, f"dataset.queries='{good}',{empty},{useless}", "out=s"]) == 1
    errors = capsys.readouterr().err
    assert "run 1 (" in errors and "run 2 (" in errors
    state = read("s/sweep.json")
    assert [cell["exit_code"] for cell in state["cells"]] == [0, 1, 1]
    assert state["status"] == "partial"


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["resluts", "x"], "no command 'resluts'; did you mean 'results'?"),
        (["links_datasets", "x"], "no command 'links_datasets'; did you mean 'links-dataset'?"),
        (["--hlep"], "unknown option --hlep; did you mean '--help'?"),
        (["experiment=full_rag"], "1 problem in the configuration:\n  experiment: expected +experiment=full_rag"),
        (["k"], "no command 'k'"),
        (["--nope"], "unknown option --nope"),
        (["--run", "k=5"], "unknown option --run"),
        (["--config-dir", "nowhere"], "--config-dir: expected a folder, got 'nowhere'"),
        ([""], "'': expected KEY=VALUE, +KEY=VALUE or ~KEY"),
        (["K=5"], "K: unknown option; did you mean 'k'?"),
        (["+foo=1"], "foo: unknown option; known: "),
        (["hydra.run.dir=zz"], "hydra.run.dir: set by the runner: out=FOLDER chooses the folder"),
        (["cache_dir=/proc/nowhere"], "cache_dir: cannot write to /proc/nowhere"),
        (["k=3", "5"], "5: expected KEY=VALUE"),
        (["+experiment=full_ragg"], "experiment: no choice 'full_ragg'; did you mean 'full_rag'?"),
        (["regression.margin=inf"], "regression.margin: expected a finite number, got inf"),
        (["budget.usd=1e999"], "budget.usd: expected a finite number, got inf"),
        (
            ["provider.openai.prices.usd_per_million.x.input=inf"],
            "provider.openai.prices.usd_per_million.x.input: expected a finite number, got inf",
        ),
        (["k=range(5,1)"], "k: goes over no value; expected some, such as k=1,2 or k=range(1,4)"),
        (["dataset=jsonl"], "dataset.corpus: a value is required; give one with dataset.corpus=VALUE"),
    ],
)
def test_usage_errors_end_with_1(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("_target_: x\ntokenizer", "cannot be read: while scanning a simple key in "),
        ("- 1\n", "expected a mapping"),
        ("k1: " + "9" * 5000, "cannot be read: Exceeds the limit (4300 digits) for integer string conversion"),
        ("k1: " + "[" * 2000, "cannot be read: maximum recursion depth exceeded"),
        ("k1: \0", "cannot be read: unacceptable character #x0000: special characters are not allowed in "),
    ],
)
def test_a_choice_of_ones_own_that_is_no_yaml(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own" / "retriever" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    assert main(["-cd", "own", "retriever=mine", "dry_run=true"]) == 1
    assert f"error: own/retriever/mine.yaml: {message}" in capsys.readouterr().err


def test_a_choice_of_ones_own_that_is_no_component(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own" / "retriever" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("target: plugins.retriever.keyword.KeywordRetriever\n", encoding="utf-8")
    assert main(["-cd", "own", "retriever=mine", "dry_run=true"]) == 1
    assert "  retriever: expected a component (a mapping with _target_)\n" in capsys.readouterr().err


def test_standard_streams_that_were_closed() -> None:
    words = shlex.join(command("chat", "memory/store=local"))
    done = subprocess.run(["sh", "-c", f"{words} <&-"], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "runner", *words]


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from runner.cli import main; main(['--help']); print([m for m in sys.modules if m in HEAVY])"
    heavy = "{'mlflow', 'faiss', 'sklearn', 'matplotlib', 'hydra', 'pydantic', 'numpy', 'scipy'}"
    done = subprocess.run(
        [sys.executable, "-c", code.replace("HEAVY", heavy)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "+experiment=NAME" in done.stdout and "retriever" in done.stdout


def test_a_foreign_package_in_the_working_directory_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "__init__.py").touch()
    done = subprocess.run(command("k=3"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{tmp_path / 'plugins'} hides the package 'plugins' of runner" in done.stderr


def test_ctrl_c_keeps_what_was_done_and_the_same_command_goes_on(tmp_path: Path, data: list[str]) -> None:
    (tmp_path / "slow.py").write_text(
        "import asyncio\n"
        "from runner.records import Answer\n"
        "class Slow:\n"
        "    async def generate(self, query, contexts):\n"
        "        await asyncio.sleep(0.4)\n"
        "        return Answer('The Moon circles the Earth in 27 days.')\n",
        encoding="utf-8",
    )
    words = command("+experiment=full_rag", *data, "generator._target_=slow.Slow", "out=x", "max_concurrency=1")
    words += [f"~generator.{name}" for name in generator_settings()]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    journal = tmp_path / "x" / "per_item.jsonl"
    deadline = time.monotonic() + 60
    while (
        running.poll() is None
        and time.monotonic() < deadline
        and (not journal.exists() or journal.read_bytes().count(b"\n") < 2)
    ):
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    run = read("x/run.json")
    assert (run["status"], run["exit_code"]) == ("partial", 130)
    done = read("x/summary.json")["cases"]["ok"]
    assert 2 <= done < 8 and read("x/summary.json")["cases"]["pending"] == 8 - done
    again = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert again.returncode == 0, again.stderr
    assert f"resuming: {done} of 8 cases are done" in again.stderr
    assert read("x/summary.json")["cases"]["ok"] == 8


def generator_settings() -> list[str]:
    import yaml

    conf = yaml.safe_load((Path(__file__).resolve().parents[2] / "conf/generator/extractive.yaml").read_text("utf-8"))
    return [name for name in conf if name != "_target_"]


def test_without_a_usable_case_the_lines_are_named(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "a"}\n', encoding="utf-8")
    words = [word for word in data if not word.startswith("dataset.queries=")]
    assert main([*words, f"dataset.queries={broken}", "out=x"]) == 1
    assert f"{broken}:1: query: expected text, found nothing" in capsys.readouterr().err


def test_answers_of_another_system_that_change_start_over(tmp_path: Path) -> None:
    query = {"id": "g", "query": "How long?", "answerable": True, "expected_notes": ["moon"], "ranking": ["moon"]}
    queries = write_jsonl(tmp_path / "given.jsonl", [{**query, "answer": "27 days"}])
    words = ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={queries}", "tracking=none", "out=x"]
    words += ["+experiment=full_rag", "retriever=given", "generator=given"]
    assert main(words) == 0
    write_jsonl(queries, [{**query, "answer": "28 days"}])
    assert main(words) == 0
    assert rows("x")["g"]["output"]["answer"] == "28 days"


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


def test_a_bug_is_one_line_and_a_log_never_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "buggy.py").write_text("class Buggy:\n    def load(self):\n        return 1 / 0\n", encoding="utf-8")
    settings = ["~dataset.language", "~dataset.chunker", "~dataset.strict", "dataset._target_=buggy.Buggy"]
    words = ["retriever=keyword", "tracking=none", "out=x", *settings]
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr == (
        "error: unexpected ZeroDivisionError: division by zero; x/error.log has the details\n"
        "not all is done; the same command keeps what is, and does the rest again (x)\n"
    )
    assert "Traceback" in Path("x/error.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["--cfg", "foo"], ["--cfg"], ["--resolve"]])
def test_wrong_use_of_hydras_own_options_ends_with_1(words: list[str]) -> None:
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_the_composed_configuration_is_shown() -> None:
    done = subprocess.run(command("--cfg", "job", "k=7", "case=질문 (1)"), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "\nk: 7\n" in done.stdout and "case: 질문 (1)" in done.stdout


@pytest.mark.parametrize("damage", ["removed", "{", "[]"])
def test_rows_of_unknown_origin_are_never_mixed_in(data: list[str], damage: str) -> None:
    main([*data, "k=1", "out=x"])
    for name in ("run.json", ".journal.json"):
        if damage == "removed":
            Path("x", name).unlink()
        else:
            Path("x", name).write_text(damage, encoding="utf-8")
    assert main([*data, "k=2", "out=x"]) == 0
    assert read("x/summary.json")["metrics"]["precision_at_k"]["value"] == 0.5
    assert len(list(Path("x").glob("per_item.before-*.jsonl"))) == 1


def test_rows_of_other_code_are_never_mixed_in(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*data, "out=x"])
    origin = read("x/.journal.json")
    Path("x/.journal.json").write_text(json.dumps({**origin, "code": "of last week"}), encoding="utf-8")
    assert main([*data, "out=x"]) == 0
    assert "starting over: the code changed since" in capsys.readouterr().err


def test_provenance_that_is_none_starts_over(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*data, "out=x"])
    origin = read("x/.journal.json")
    Path("x/.journal.json").write_text(json.dumps({**origin, "data": ["queries"]}), encoding="utf-8")
    assert main([*data, "out=x"]) == 0
    assert "starting over: the data" in capsys.readouterr().err
    assert len(list(Path("x").glob("per_item.before-*.jsonl"))) == 1


def test_changed_tags_start_over(data: list[str], tmp_path: Path) -> None:
    main([*data, "out=x"])
    queries = tmp_path / "자료 (1)" / "queries.jsonl"
    queries.write_text(queries.read_text(encoding="utf-8").replace("space", "sky"), encoding="utf-8")
    assert main([*data, "out=x"]) == 0
    assert set(read("x/summary.json")["slices"]["tag"]) == {"sky"}


def test_a_case_past_its_deadline_is_a_timeout_even_while_it_computes(data: list[str]) -> None:
    Path("busy.py").write_text(
        "import time\n"
        "from runner.records import Answer\n"
        "from runner.threads import compute\n"
        "class Busy:\n"
        "    async def generate(self, query, contexts):\n"
        "        return await compute(self.answer, query)\n"
        "    def answer(self, query):\n"
        "        time.sleep(1 if query.id == 'q1' else 0)\n"
        "        return Answer('27 days')\n",
        encoding="utf-8",
    )
    words = command("+experiment=full_rag", *data, "generator._target_=busy.Busy", "case_timeout_ms=500", "out=x")
    words += ["max_failure_rate=0.5", "max_concurrency=1", *(f"~generator.{name}" for name in generator_settings())]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    assert {id: row["status"] for id, row in rows("x").items() if row["status"] != "ok"} == {"q1": "timeout"}
    recall = read("x/summary.json")["metrics"]["recall_at_k"]
    assert (recall["n"], recall["n_scored"]) == (6, 5)


def test_a_comma_in_out_is_part_of_the_name(data: list[str]) -> None:
    assert main([*data, "out=실험,둘"]) == 0
    assert read("실험,둘/run.json")["status"] == "completed"


def test_a_plus_in_front_of_what_is_there_is_no_mistake(data: list[str]) -> None:
    assert main([*data, "+k=3", "out=x"]) == 0
    assert read("x/run.json")["k"] == 3


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
    (folder,) = Path("outputs").iterdir()
    assert "-length_rag-" in folder.name
    assert read(str(folder / "run.json"))["experiment"] == "length_rag"


def test_a_misspelt_key_in_a_file_of_ones_own(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine" / "experiment" / "mine.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("# @package _global_\nkk: 3\nreport: {langauge: ko}\n", encoding="utf-8")
    assert main(["--config-dir=mine", "+experiment=mine", *data, "out=y"]) == 1
    errors = capsys.readouterr().err
    assert "kk: unknown option; did you mean 'k'?" in errors
    assert "report.langauge: unknown setting; did you mean 'language'?" in errors


def test_a_query_without_a_given_ranking_fails(data: list[str]) -> None:
    words = [word for word in data if not word.startswith("retriever")]
    assert main([*words, "retriever=given", "out=x"]) == 3
    row = rows("x")["q1"]
    expected = "query q1: ranking: missing, and no contexts either; retriever=given needs one"
    assert (row["status"], row["error"]) == ("failed", expected)


def test_a_case_run_is_not_uploaded(data: list[str]) -> None:
    words = [word for word in data if not word.startswith("tracking")]
    assert main([*words, "case=q1", "out=x"]) == 0
    assert not Path("x/.mlflow_run.json").exists()


def test_a_tracking_store_that_breaks_costs_no_result(data: list[str], tmp_path: Path) -> None:
    (tmp_path / "tracker.py").write_text(
        "class Broken:\n"
        "    def prepare(self):\n        raise ConnectionError('prepare')\n"
        "    def upload(self, folder):\n        raise ConnectionError('upload')\n"
        "    def upload_sweep(self, folder):\n        raise ConnectionError('upload_sweep')\n",
        encoding="utf-8",
    )
    words = command(*data, "tracking._target_=tracker.Broken", "k=1,2", "out=x")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert "warning: tracking failed: ConnectionError: upload_sweep" in done.stderr


def test_a_worker_that_is_killed_leaves_a_failed_run(data: list[str], tmp_path: Path) -> None:
    (tmp_path / "killer.py").write_text(
        "import os, signal\n"
        "class Killer:\n"
        "    def __init__(self, *, at: int, graph_rerank: bool | None): self.at = at\n"
        "    def index(self, corpus, workspace):\n"
        "        if self.at == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return {}\n"
        "    def search(self, queries, depth):\n"
        "        from runner.records import Ranking\n"
        "        return [Ranking((), (), ()) for _ in queries]\n",
        encoding="utf-8",
    )
    words = [word for word in data if not word.startswith("retriever")]
    settings = [f"~retriever.{name}" for name in ("tokenizer", "method", "k1", "b", "graph_weight")]
    words += ["retriever=keyword", *settings, "retriever._target_=killer.Killer", "++retriever.at=1,2"]
    words += ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "out=x"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 3, done.stderr
    assert "did not run to its end" in done.stderr and "Traceback" not in done.stderr
    assert read("x/sweep.json")["status"] == "partial"


def test_failed_judgements_count_in_the_failure_share(data: list[str], tmp_path: Path) -> None:
    (tmp_path / "mute.py").write_text(
        "from runner.records import Judgement\n"
        "class Mute:\n"
        "    on_failure = 'exclude'\n"
        "    async def judge(self, rubric, fields):\n"
        "        return Judgement(None, error='no JSON')\n",
        encoding="utf-8",
    )
    settings = [f"~judge.{name}" for name in ("on_failure", "supported", "health")]
    words = command("+experiment=full_rag", *data, "judge._target_=mute.Mute", *settings)
    done = subprocess.run([*words, "out=x"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "8 of 8 cases failed (100.0%, max_failure_rate is 5.0%)" in done.stderr
    faithfulness = read("x/summary.json")["metrics"]["mean_faithfulness"]
    assert (faithfulness["value"], faithfulness["n"], faithfulness["n_scored"]) == (None, 8, 0)
    assert read("x/summary.json")["metrics"]["recall_at_k"]["n_scored"] == 6
    errors = [json.loads(line) for line in Path("x/errors.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(errors) == 8 and errors[0]["unscored"] == ["faithfulness", "answer_relevancy"]
