from pathlib import Path

import pytest

from plugins.dataset.none import NoDataset
from runner.cli import main


def test_there_are_neither_documents_nor_questions() -> None:
    data = NoDataset().load()
    assert (list(data.corpus.documents), list(data.corpus.chunks), list(data.queries)) == ([], [], [])


def test_a_run_has_nothing_to_evaluate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["dataset=none", "tracking=none", "retriever=keyword", "dry_run=true"]) == 1
    assert "the data set has no usable case: no questions (dataset.queries)" in capsys.readouterr().err
