"""What is wrong with a command or with YAML of one's own is told before anything runs."""

import subprocess
from pathlib import Path

import pytest

from runner import __version__
from runner.cli import main
from tests.command_line.result_files import read
from tests.command_line.started import command, ended


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
        "  judge.modle: unknown setting; known: health, on_failure, supported; did you mean 'model' of judge=openai?\n"
        "  k: expected 50 or less, got 99\n"
    )
    assert not Path("outputs").exists()


def test_a_component_that_the_evaluation_does_not_use(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "judge=lexical"]) == 1
    expected = "judge: retrieval_only has no judge; it uses dataset, tokenizer, embedder, store, retriever\n"
    assert expected in capsys.readouterr().err


def test_a_component_that_no_cell_uses_is_noted(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "embedder=lsa", "out=x"]) == 0
    assert "note: embedder is set but no run of this command uses it\n" in capsys.readouterr().err


def test_an_unknown_case_names_its_neighbour(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "case=질55", "out=x"]) == 1
    assert "case: no case has the id '질55'; did you mean '질5'?" in capsys.readouterr().err
    assert read("x/run.json")["exit_code"] == 1


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["resluts", "x"], "no command 'resluts'; did you mean 'results'?"),
        (["links_datasets", "x"], "no command 'links_datasets'; did you mean 'links-dataset'?"),
        (["--hlep"], "unknown option --hlep; did you mean '--help'?"),
        (
            ["experiment=full_rag"],
            "1 problem in the configuration:\n  experiment: missing a plus; expected +experiment=full_rag",
        ),
        (
            ["full_rag", "k=3"],
            "no command 'full_rag'; an experiment is run with python -m runner +experiment=full_rag\n",
        ),
        (["Full-RAG"], "no command 'Full-RAG'; an experiment is run with python -m runner +experiment=full_rag\n"),
        (["plan", "full_rag"], "full_rag: an experiment; expected +experiment=full_rag\n"),
        (["k=3", "full_rag"], "full_rag: an experiment; expected +experiment=full_rag\n"),
        (
            ["cutoffs=1,3", "k=3,99"],
            "error: 2 problems in the configuration:\n"
            "  cutoffs: expected a list; cutoffs=1,3 is a sweep, cutoffs=[1,3] is a list\n"
            "  k: expected 50 or less, got 99\n",
        ),
        (["cutoffs=3"], "cutoffs: expected a list (cutoffs=[3]), got 3\n"),
        (["scenario=locomo", "+experiment=memory", "scenario.categories=single,multi"], "scenario.categories=[single,"),
        (["--verison"], "unknown option --verison; did you mean '--version'?"),
        (["k", "=", "5"], "no command 'k'; expected k=VALUE, without spaces\n"),
        (["clean", "output"], "no command 'clean output'; did you mean 'outputs'?\n"),
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
        (["k=range(5,1)"], "k: has no value; expected some, such as k=1,2 or k=range(1,4)"),
        (["~" + "k" * 201], f"{'k' * 201}: unknown: no name is longer than 200 characters"),
        (["dataset." + "x" * 201 + "=1"], f"dataset.{'x' * 201}: unknown: no name is longer than 200 characters"),
        (["--config-dir", "x" * 400], f"--config-dir: expected a folder, got '{'x' * 400}'"),
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
        ("k1: " + "[" * 700, "cannot be read: maximum recursion depth exceeded"),
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


def test_a_foreign_package_in_the_working_directory_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "__init__.py").touch()
    done = subprocess.run(command("k=3"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{tmp_path / 'plugins'} hides the package 'plugins' of runner" in done.stderr


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_the_version_is_that_of_the_package(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (f"runner-rag-experiments {__version__}\n", "")


@pytest.mark.parametrize("words", [["--cfg", "foo"], ["--cfg"], ["--resolve"]])
def test_wrong_use_of_hydras_own_options_ends_with_1(words: list[str]) -> None:
    done = ended(*words)
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_a_plus_in_front_of_what_is_there_is_no_mistake(data: list[str]) -> None:
    assert main([*data, "+k=3", "out=x"]) == 0
    assert read("x/run.json")["k"] == 3


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
