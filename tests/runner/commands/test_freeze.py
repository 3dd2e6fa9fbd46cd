"""From the folder of a run or a sweep to a record."""

import os
import re
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from runner.cli import main
from runner.commands import freeze
from runner.errors import DataError, InputError
from runner.freezing.words import ENGLISH, KOREAN
from tests.record_folders import change, copy_of, read, small_runs

FILES = {"frozen.yaml", "snapshot.json", "summary.md", "environment.json", "README.md"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`run` and `sweep`, and the records `experiments/한` and `experiments/s` of them. Not to be changed."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        small_runs(Path("자료 (1)"))
        assert freeze.main(["run", "experiments/한", "--question", "두 개면 충분한가? <b>|"]) == 0
        assert freeze.main(["sweep", "experiments/s"]) == 0
    return folder


@pytest.fixture(autouse=True)
def here(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which all of it is and the commands are given."""
    copy_of(runs, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path | str) -> dict[str, str]:
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert freeze.main(["run", "새 기록/x"]) == 0
    assert set(files("새 기록/x")) == FILES
    out, err = capsys.readouterr()
    assert re.fullmatch(r"새 기록/x: 1 run, 5 files, 0\.\d MB\nagain: python -m runner reproduce 새 기록/x\n", out)
    assert err == ""
    assert os.listdir("새 기록") == ["x"]  # nothing is left of the writing


def test_every_default_is_written_out_and_interpolations_stand() -> None:
    frozen = yaml.safe_load(files("experiments/한")["frozen.yaml"])
    before = yaml.safe_load(files("run")[".hydra/config.yaml"])
    head = frozen.pop("frozen")
    assert head["choices"]["retriever"] == "keyword"
    assert head["choices"]["experiment"] == "full_rag"
    assert "sweep" not in head
    assert frozen["evaluation"]["retrieval"]["k"] == "${k}"
    assert frozen == {**before, "out": None}


def test_nothing_of_the_machine_is_in_it(here: Path) -> None:
    path = here / "run/.hydra/config.yaml"
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    values["dataset"]["corpus"] = f"{here}/{values['dataset']['corpus']}"
    with initialize_config_module("conf", version_base="1.3"):
        values["tracking"] = OmegaConf.to_container(compose("config").tracking)
    values["tracking"]["uri"] = f"sqlite:///{here}/m.db"
    values |= {"out": f"{here}/run", "cache_dir": f"{here}/cache", "cold_start": True}
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    run = read("run/run.json")
    absolute = [word.replace("자료 (1)/corpus", f"{here}/자료 (1)/corpus") for word in run["overrides"]]
    change(
        "run/run.json", choices={**run["choices"], "tracking": "mlflow"}, overrides=[*absolute, f"cache_dir={here}/c"]
    )
    assert freeze.main([str(here / "run"), str(here / "experiments/a")]) == 0
    written = files("experiments/a")
    assert [name for name, text in written.items() if str(here) in text] == []
    frozen = yaml.safe_load(written["frozen.yaml"])
    assert frozen["dataset"]["corpus"] == "자료 (1)/corpus.jsonl"
    assert frozen["tracking"]["uri"] == "sqlite:///m.db"
    assert (frozen["out"], frozen["cache_dir"], frozen["cold_start"]) == (None, ".runner_cache", False)
    shown = "python -m runner +experiment=full_rag k=2 dataset=jsonl 'dataset.corpus=자료 (1)/corpus.jsonl' "
    assert shown in written["README.md"]
    assert "runner -cd experiments/a -cn frozen" in written["frozen.yaml"]


def test_files_elsewhere_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = here.parent / f"{here.name}.jsonl"
    corpus.write_bytes((here / "자료 (1)/corpus.jsonl").read_bytes())
    path = Path("run/.hydra/config.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("자료 (1)/corpus.jsonl", str(corpus)), encoding="utf-8")
    assert freeze.main(["run", "x"]) == 0
    note = f"note: dataset.corpus={corpus} is not below this folder; elsewhere, its place must be given\n"
    assert capsys.readouterr().err == note
    assert f"- `dataset.corpus={corpus}`\n" in files("x")["README.md"]


def test_the_snapshot_is_that_of_the_run_but_for_the_machine() -> None:
    was, kept = read("run/snapshot.json"), read("experiments/한/snapshot.json")
    for name in ("schema", "kind", "identity", "metrics", "cases", "slices", "counts", "depends"):
        assert kept[name] == was[name], name
    assert kept["config"]["out"] is None
    assert kept["config"]["models"]["out"] is None
    assert not any(word.startswith("out=") for word in kept["run"]["overrides"])
    assert "+experiment=full_rag" in kept["run"]["overrides"]


def test_a_sweep_is_one_record() -> None:
    inner = {f"{number}/{name}" for number in range(2) for name in ("snapshot.json", "summary.md")}
    assert set(files("experiments/s")) == FILES - {"snapshot.json"} | {"sweep.json"} | inner
    head = yaml.safe_load(files("experiments/s")["frozen.yaml"])["frozen"]
    assert head["sweep"] == {"retriever": "keyword,hybrid"}
    assert head["others"]["retriever/hybrid"]["keyword"]["tokenizer"] == "${tokenizer}"
    assert "retriever/keyword" not in head["others"]
    for number, name in enumerate(["keyword.KeywordRetriever", "hybrid.HybridRetriever"]):
        kept = read(f"experiments/s/{number}/snapshot.json")
        assert kept["metrics"] == read(f"sweep/{number}/snapshot.json")["metrics"]
        assert kept["config"]["retriever"]["_target_"] == f"plugins.retriever.{name}"


def test_a_later_run_of_a_sweep_may_have_parts_that_the_first_lacks() -> None:
    words = ["dataset=faq_guide", "retriever=hybrid,agentic", "sample=3", "tracking=none", "format=json", "out=agents"]
    assert main(words) == 0
    assert freeze.main(["agents", "x"]) == 0
    choices = yaml.safe_load(files("x")["frozen.yaml"])["frozen"]["choices"]
    assert {name: choices[name] for name in ("retriever", "agent", "reranker")} == {
        "retriever": "hybrid",
        "agent": "scripted",
        "reranker": "lexical",
    }


def test_what_a_sweep_is_held_against_is_no_part_of_its_record() -> None:
    change("sweep/sweep.json", references=[{"folder": "gold", "overrides": ["retriever=oracle"]}])
    assert freeze.main(["sweep", "x"]) == 0
    assert set(files("x")) == set(files("experiments/s"))
    assert set(read("x/sweep.json")) == set(read("experiments/s/sweep.json"))


def test_one_run_of_a_sweep_is_a_record_of_its_own() -> None:
    assert freeze.main(["sweep/1", "x"]) == 0
    assert set(files("x")) == FILES
    frozen = yaml.safe_load(files("x")["frozen.yaml"])
    assert frozen["frozen"]["choices"]["retriever"] == "hybrid"
    assert "sweep" not in frozen["frozen"]


def test_a_sweep_of_one_run_is_that_run() -> None:
    change("sweep/sweep.json", cells=[{**read("sweep/sweep.json")["cells"][0], "overrides": []}])
    assert freeze.main(["sweep", "x"]) == 0
    assert set(files("x")) == FILES


# --- README ---------------------------------------------------------------------------------------


def test_the_readme_in_korean() -> None:
    text = files("experiments/한")["README.md"]
    assert text.startswith("# 한\n\n## 무엇을 물었나\n\n두 개면 충분한가? &lt;b&gt;\\|\n")
    assert "python -m runner +experiment=full_rag k=2 dataset=jsonl 'dataset.corpus=자료 (1)/corpus.jsonl' " in text
    assert "tracking=none retriever=keyword report.language=ko\n" in text
    value = read("run/summary.json")["metrics"]["recall_at_k"]
    shown = f"{value['value']:.3f} [{value['ci_low']:.3f}, {value['ci_high']:.3f}] ({value['n']})"
    assert f"| Recall@2 | {shown} |" in text
    assert "python -m runner reproduce experiments/한\n" in text
    assert "python -m runner -cd experiments/한 -cn frozen k=7 retriever=hybrid\n" in text


def test_the_readme_of_a_sweep_in_english() -> None:
    text = files("experiments/s")["README.md"]
    assert "\n\nHow good are the answers, and is it retrieval or generation that limits them?\n\n" in text
    assert "python -m runner +experiment=full_rag k=2 dataset=jsonl " in text
    assert " tracking=none retriever=keyword,hybrid\n" in text
    assert "| metric | retriever=keyword | retriever=hybrid |\n" in text
    assert "[retriever=hybrid](1/summary.md)." in text
    assert "python -m runner compare experiments/s/0 RUN\n" in text


def test_both_languages_have_the_same_words() -> None:
    fields = [{name: set(re.findall(r"{(\w+)}", text)) for name, text in words.items()} for words in (ENGLISH, KOREAN)]
    assert fields[0] == fields[1]


def test_a_run_of_a_record_names_the_record() -> None:
    assert main(["-cd", "experiments/한", "-cn", "frozen", "k=1", "out=again"]) == 0
    assert freeze.main(["again", "experiments/k1"]) == 0
    command = "python -m runner -cd experiments/한 -cn frozen k=1\n"
    assert command in files("experiments/k1")["README.md"]
    assert command in files("again")["summary.md"]


def test_models_and_their_variables_are_named() -> None:
    change("run/run.json", models={"judge": ["openai:gpt-4o-mini"]})
    freeze.main(["run", "x"])
    assert read("x/environment.json")["variables"] == ["OPENAI_API_KEY"]
    assert "openai:gpt-4o-mini에 요청합니다." in files("x")["README.md"]
    assert "필요한 환경 변수: OPENAI_API_KEY." in files("x")["README.md"]


# --- what is there stays --------------------------------------------------------------------------


def test_the_same_again_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    record = Path("experiments/s")
    before = {name: (record / name).stat().st_mtime_ns for name in files(record)}
    assert freeze.main(["sweep", "experiments/s"]) == 0
    assert capsys.readouterr() == ("", "experiments/s is this record already; nothing was written\n")
    assert {name: (record / name).stat().st_mtime_ns for name in files(record)} == before


@pytest.mark.parametrize("what", ["record", "folder", "file"])
def test_a_place_that_is_taken(what: str) -> None:
    if what == "record":
        Path("experiments/s").rename("experiments/x")
    elif what == "folder":
        Path("experiments/x").mkdir()
        Path("experiments/x/notes.txt").write_text("mine", encoding="utf-8")
    else:
        Path("experiments/x").write_text("mine", encoding="utf-8")
    before = files("experiments")
    expected = r"^experiments/x is there already; a record is not overwritten: choose another name, or remove it$"
    with pytest.raises(InputError, match=expected):
        freeze.main(["run", "experiments/x"])
    assert files("experiments") == before


def test_an_empty_folder_is_free() -> None:
    Path("x").mkdir()
    assert freeze.main(["run", "x"]) == 0
    assert set(files("x")) == FILES


def test_a_setting_is_no_name() -> None:
    expected = r"^FOLDER: 'name=x' is a setting; expected the place of the record: experiments/NAME$"
    with pytest.raises(InputError, match=expected):
        freeze.main(["run", "name=x"])
    assert not Path("name=x").exists()


def test_a_place_that_cannot_be_written(here: Path) -> None:
    Path("file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"^cannot write to file/x: "):
        freeze.main(["run", "file/x"])


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["partial", "failed"])
def test_what_did_not_end_well_is_frozen_on_demand_only(status: str) -> None:
    change("run/run.json", status=status, error_message="budget.usd=1 is spent")
    goes_on = "the same command goes on with it; " if status == "partial" else ""
    message = f"run: the run is {status} (budget.usd=1 is spent); {goes_on}--partial freezes what is there"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        freeze.main(["run", "x"])
    assert not Path("x").exists()
    assert freeze.main(["run", "x", "--partial"]) == 0
    word = {"partial": "일부 완료", "failed": "실패"}[status]
    told = files("x")["README.md"].replace("\\", "")
    assert f"일부는 끝까지 실행되지 않았습니다: 실행 .: 사례 8개 중 8개({word}). " in told


def test_all_runs_of_a_sweep_that_did_not_end_well() -> None:
    change("sweep/0/run.json", status="partial", error_message="out of time")
    Path("sweep/1/summary.json").unlink()
    change("sweep/1/run.json", status="failed", error_message="no such file")
    with pytest.raises(InputError) as caught:
        freeze.main(["sweep", "x"])
    assert str(caught.value).splitlines() == [
        "sweep/0: the run is partial (out of time); the same command goes on with it; --partial freezes what is there",
        "sweep/1: the run has no results (failed: no such file)",
    ]
    with pytest.raises(InputError, match=r"^sweep/1: the run has no results"):
        freeze.main(["sweep", "x", "--partial"])


def test_a_run_at_work() -> None:
    change("run/run.json", status="running")
    expected = r"^run: the run is at work, or was killed \(running\); the same command goes on with it$"
    for words in (["run", "x"], ["run", "x", "--partial"]):
        with pytest.raises(InputError, match=expected):
            freeze.main(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: RUN, FOLDER\nusage: python -m runner freeze"),
        (["nowhere", "x"], "nowhere: no such folder (a run folder holds"),
        (["자료 (1)", "x"], "자료 (1): not a run folder: no run.json in it (a run folder holds"),
    ],
)
def test_wrong_arguments(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        freeze.main(words)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "run/.hydra/config.yaml: no such file; without it, what the run was told is not known"),
        ("k: [1", "run/.hydra/config.yaml: cannot be read: "),
        ("", "run/.hydra/config.yaml: damaged: no configuration of a run"),
        ("k: 3\n", "run/.hydra/config.yaml: damaged: no configuration of a run"),
    ],
)
def test_a_damaged_configuration(content: str | None, message: str) -> None:
    path = Path("run/.hydra/config.yaml")
    path.unlink() if content is None else path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        freeze.main(["run", "x"])
    assert not Path("x").exists()


def test_a_damaged_snapshot() -> None:
    path = Path("run/snapshot.json")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DataError, match=r"^run/snapshot\.json: damaged or cut off"):
        freeze.main(["run", "x"])
    assert not Path("x").exists()


def test_numbers_that_are_none() -> None:
    metrics = {name: {**metric, "value": []} for name, metric in read("run/summary.json")["metrics"].items()}
    change("run/summary.json", metrics=metrics)
    with pytest.raises(InputError, match=r"^run: its files are damaged or were edited "):
        freeze.main(["run", "x"])
    assert not Path("x").exists()


def test_a_run_from_before_there_were_snapshots() -> None:
    Path("run/snapshot.json").unlink()
    freeze.main(["run", "x"])
    assert read("x/snapshot.json")["cases"] == read("experiments/한/snapshot.json")["cases"]


def test_a_run_without_a_report_gets_one() -> None:
    Path("run/summary.md").unlink()
    freeze.main(["run", "x"])
    assert files("x")["summary.md"] == files("experiments/한")["summary.md"]


def test_a_configuration_that_is_another_one_by_now() -> None:
    path = Path("run/.hydra/config.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("\nk: 2\n", "\nk: 2\nkk: 3\n"), encoding="utf-8")
    with pytest.raises(InputError, match=r"kk: unknown option; did you mean 'k'\?"):
        freeze.main(["run", "x"])


def test_a_sweep_that_is_no_product(here: Path) -> None:
    cells = read("sweep/sweep.json")["cells"]
    change("sweep/sweep.json", cells=[*cells, cells[0]])
    with pytest.raises(InputError, match=r"^sweep: its 3 runs are not all combinations of .*; freeze them one by one"):
        freeze.main(["sweep", "x"])


def test_a_sweep_over_what_cannot_be_told_apart() -> None:
    """As over experiments, whose values are in the configuration and not in a choice."""
    path = Path("sweep/1/.hydra/config.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("min_score: 0.3\n", "min_score: 0.4\n"), encoding="utf-8")
    expected = r"^sweep/1: would not be composed again as it was: min_score would differ: freeze sweep/0 FOLDER$"
    with pytest.raises(InputError, match=expected):
        freeze.main(["sweep", "x"])


# --- secrets --------------------------------------------------------------------------------------


def test_passwords_in_addresses_are_left_out() -> None:
    path = Path("run/.hydra/config.yaml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("http://127.0.0.1:8080/v1", "http://me:hunter2@127.0.0.1:8080/v1"), encoding="utf-8")
    overrides = [*read("run/run.json")["overrides"], "provider.local.base_url=http://me:hunter2@127.0.0.1:8080/v1"]
    change("run/run.json", overrides=overrides)
    change("run/snapshot.json", run={**read("run/snapshot.json")["run"], "overrides": overrides})
    freeze.main(["run", "x"])
    assert [name for name, text in files("x").items() if "hunter2" in text] == []
    assert "provider.local.base_url=http://127.0.0.1:8080/v1" in files("x")["README.md"]


def test_the_value_of_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-git-0001")
    path = Path("run/.hydra/config.yaml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("8080/v1", "8080/v1/sk-not-for-git-0001"), encoding="utf-8")
    expected = (
        "frozen.yaml would hold the value of the environment variable OPENAI_API_KEY; "
        "run it with the name of the variable where its value stands"
    )
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        freeze.main(["run", "x"])
    assert not Path("x").exists()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-one-0002")
    assert freeze.main(["run", "x"]) == 0
