"""A case costs the same in a large run as in a small one, and the last one what the first did."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from runner.cli import main
from runner.records import Row
from runner.system.journal import Journal
from tests.services.models_server import ModelsServer, serving_models
from tests.small_data import write_jsonl

FEW, MANY = 40, 120
WARM, PART = 10, 10  # cases after which everything is imported and cached, and the cases that are counted


def run_words(folder: Path, cases: int, url: str) -> list[str]:
    """As many documents as cases; each case answers from its own one, and no two runs have a text in common."""
    texts = [f"Station {n} of {cases} has {cases * 1000 + n + 2_000_000} platforms." for n in range(cases)]
    corpus = [{"id": f"d{n}", "title": f"Note {n}", "text": text} for n, text in enumerate(texts)]
    queries = [
        {
            "id": f"case-{n}",
            "query": f"How many platforms does station {n} of {cases} have?",
            "answerable": True,
            "language": "en",
            "expected_notes": [f"d{n}"],
            "answers": [f"{cases * 1000 + n + 2_000_000} platforms"],
            "ranking": [f"d{n}", f"d{(n + 1) % cases}"],
            "contexts": [{"id": f"d{n}", "text": texts[n]}],
            "answer": f"Station {n} of {cases} has {cases * 1000 + n + 2_000_000} platforms [1].",
        }
        for n in range(cases)
    ]
    return [
        "+experiment=full_rag",
        "dataset=jsonl",
        f"dataset.corpus={write_jsonl(folder / 'corpus.jsonl', corpus)}",
        f"dataset.queries={write_jsonl(folder / 'queries.jsonl', queries)}",
        "retriever=given",
        "generator=given",
        "judge=openai",
        "judge.health=false",
        "judge.model=local:m",
        f"provider.local.base_url={url}",
        "tracking=none",
        "warmup=0",
        "max_concurrency=1",
        f"cache_dir={folder / 'cache'}",
        f"out={folder / 'out'}",
    ]


class Counting:
    """How many functions are called, and generators resumed, for each of the `part` cases from the row `first` on."""

    def __init__(self, first: int, part: int) -> None:
        self.first, self.part = first, part
        self.rows = self.calls = 0
        self.calls_by_case: list[int] = []

    def row(self) -> None:
        self.rows += 1
        if self.first < self.rows <= self.first + self.part:
            self.calls_by_case.append(self.calls)
        self.calls = 0
        if self.rows == self.first:
            sys.setprofile(self._count)
        elif self.rows == self.first + self.part:
            sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: Any) -> None:
        self.calls += event == "call"


@pytest.fixture
def server() -> Any:
    with serving_models() as running:
        yield running


def counted(folder: Path, cases: int, server: ModelsServer, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Calls of the case with the fewest, among the first cases and among the last: what happens now and then, such as
    a line of progress or a reply that comes in two pieces, is in some cases only."""
    folder.mkdir()
    counting = [Counting(WARM, PART), Counting(cases - PART, PART)]
    append = Journal.append

    def counted_append(journal: Journal, row: Row) -> None:
        append(journal, row)
        for part in counting:
            part.row()

    monkeypatch.setattr(Journal, "append", counted_append)
    assert main(run_words(folder, cases, server.url)) == 0
    monkeypatch.setattr(Journal, "append", append)
    return [min(part.calls_by_case) for part in counting]


def test_no_step_of_a_case_goes_through_the_cases_or_the_corpus(
    tmp_path: Path, server: ModelsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times as many cases and documents: one call for each of them would be 80 more a case."""
    few = counted(tmp_path / "few", FEW, server, monkeypatch)
    many = counted(tmp_path / "many", MANY, server, monkeypatch)
    assert many == pytest.approx(few, abs=40)
