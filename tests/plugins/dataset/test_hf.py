"""Data sets of Hugging Face, saved on disk."""

import sys
from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.hf import HfDataset
from runner.cli import main
from runner.errors import DataError

COLUMNS = {
    "user_input": ["How long does a refund take?"],
    "response": ["14 days."],
    "retrieved_contexts": [["A refund takes 14 days."]],
    "reference": ["14 days"],
}


@pytest.fixture(scope="module", autouse=True)
def datasets() -> Any:
    """Imported by the worker that runs these tests, not by each that collects them."""
    return pytest.importorskip("datasets")


@pytest.fixture
def saved(tmp_path: Path, datasets: Any) -> str:
    datasets.Dataset.from_dict(COLUMNS).save_to_disk(str(tmp_path / "saved"))
    return str(tmp_path / "saved")


def test_a_folder(saved: str) -> None:
    (query,) = HfDataset(path=saved).load().queries
    assert (query.text, query.answers, query.given.answer) == ("How long does a refund take?", ("14 days",), "14 days.")
    assert [context.text for context in query.given.contexts or ()] == ["A refund takes 14 days."]


def test_splits(tmp_path: Path, datasets: Any) -> None:
    rows = datasets.Dataset.from_dict({"q": ["a?", "b?"], "reply": ["x", "y"]})
    path = str(tmp_path / "saved")
    datasets.DatasetDict({"train": rows, "test": rows.select([1])}).save_to_disk(path)
    columns = {"question": "q", "answer": "reply"}
    assert len(HfDataset(path=path, columns=columns).load().queries) == 1  # type: ignore[arg-type]
    assert len(HfDataset(path=path, split="train", columns=columns).load().queries) == 2  # type: ignore[arg-type]
    with pytest.raises(DataError) as raised:
        HfDataset(path=path, split="tran").load()
    assert str(raised.value) == f"dataset.split: {path} has no split 'tran'; did you mean 'train'?"


def test_a_name_that_is_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(DataError, match=r"^dataset\.path: cannot load nobody/nothing: "):
        HfDataset(path="nobody/nothing").load()


def test_without_the_extra(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError) as raised:
        HfDataset(path=saved).load()
    assert str(raised.value).startswith("dataset.path: data sets of Hugging Face need datasets: pip install ")
    assert "[hf]" in str(raised.value)


def test_from_the_command_line(saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["+experiment=full_rag", "dataset=hf", "dataset.path=saved", "retriever=given", "generator=given"]
    assert main([*words, "tracking=none", "out=run"]) == 0
