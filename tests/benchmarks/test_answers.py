"""The benchmark of `right` against people: its reader of rows, and its columns, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

LINES = [
    {"style": "own", "query": "How long?", "answers": ["14 days"], "answer": "It takes **14** days.", "label": 1},
    {"style": "own", "query": "How long?", "answers": ["14 days"], "answer": "Not 14 days, but 20.", "label": 0},
    {"style": "own", "query": "Who?", "answers": ["Toni Morrison"], "answer": "Morrison.", "label": 1},
    {"style": "own", "query": "Who?", "answers": ["Toni Morrison"], "answer": "Toni Morrison.", "label": 1},
    {"style": "own", "query": "Who?", "answers": ["Toni Morrison"], "answer": "arguable", "label": None},
]


def test_agreement_is_that_of_what_is_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.answers import main

    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    main([str(path)])
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["set", "n", "string", "match", "string", "match,", "refusals", "rule"]
    # string match: one of three right ones is found in one piece, and the denied one as well
    assert row.split()[:5] == ["own", "4", "1.000:", "0.500", "/"]
    assert row.split()[-4:] == ["0.750:", "1.000", "/", "1.000"]
