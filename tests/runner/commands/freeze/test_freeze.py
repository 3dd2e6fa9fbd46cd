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
from tests.record_folders import change, read
from tests.runner.commands.freeze.record_files import FILES, files


def test_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert freeze.main(["run", "새 기록/x"]) == 0
    assert set(files("새 기록/x")) == FILES
    out, err = capsys.readouterr()
    assert re.fullmatch(r"새 기록/x: 실행 1개, 파일 5개, 0\.\d MB\n재현: python -m runner reproduce '새 기록/x'\n", out)
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
    note = (
        "참고: 현재 폴더 밖의 경로입니다. 다른 컴퓨터에서 재현할 때는 경로를 지정해야 합니다: "
        f"dataset.corpus={corpus}\n"
    )
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
