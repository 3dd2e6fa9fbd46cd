"""Places in a folder of notes: from a file, or made by hiding links."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.links import FOLDER, LinksDataset
from runner.domains.links.links import links_of
from runner.errors import CorpusError, DataError, InputError
from tests.small_data import write_texts

NOTES = {
    "tea.md": "---\naliases: [차]\n---\n# Tea\n\nBoil the [[water]]. Warm the [pot](things/pot.md).\n",
    "water.md": "# Water\n\nFor [[tea]] and [[things/pot|the pot]].\n",
    "things/pot.md": "# Pot\n\nFor [[차]].\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> str:
    return str(write_texts(tmp_path / "notes", NOTES))


def written(tmp_path: Path, *rows: Any, name: str = "links.jsonl") -> str:
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return str(path)


def test_it_hides_links_itself_and_no_suggester_sees_them(notes: str) -> None:
    for seed in range(5):
        data = LinksDataset(notes=notes, remove_ratio=0.5, seed=seed).read()
        hidden = {(case.note, note) for case in data.cases for concept in case.expected for note in concept}
        left = {(edge.source, edge.target) for edge in data.vault.graph.edges}
        assert len(hidden) == 2 and hidden.isdisjoint(left) and len(hidden | left) == 5
        for case in data.cases:
            text = data.vault.corpus.document_by_id[case.note].text
            assert len(links_of(text)) == sum(source == case.note for source, _ in left)
            assert "".join(chunk.text for chunk in data.vault.corpus.chunks_of(case.note)) == text.rstrip()


def test_places_of_a_file(notes: str, tmp_path: Path) -> None:
    row = {"id": "l1", "source_note": "차", "anchor": "Boil the [[water]].", "expected_links": ["Water"]}
    event = {"time": "2026-01-01", "action": "accept", "source_note": "tea", "target": "water"}
    events = written(tmp_path, event, name="events.jsonl")
    data = LinksDataset(notes=notes, links=written(tmp_path, row), events=events).read()
    (case,) = data.cases
    text = data.vault.corpus.document_by_id["tea.md"].text
    assert (case.note, case.anchor, text[case.start : case.end]) == ("tea.md", "Boil the .", "Boil the .")
    assert case.expected == (frozenset({"water.md"}),)
    assert case.accepted == {"water.md"}
    assert [(edge.source, edge.target) for edge in data.vault.graph.out_links("tea.md")] == [
        ("tea.md", "things/pot.md")
    ]


def test_what_stays_of_a_link_is_a_setting(notes: str) -> None:
    data = LinksDataset(notes=notes, remove_ratio=1, link_text="all").read()
    assert "Boil the water." in data.vault.corpus.document_by_id["tea.md"].text
    data = LinksDataset(notes=notes, remove_ratio=1).read()
    assert "For  and the pot." in data.vault.corpus.document_by_id["water.md"].text


def test_what_is_missing_is_told_before_anything_is_read(tmp_path: Path) -> None:
    missing = {name: str(tmp_path / name) for name in ("nowhere", "no.jsonl", "events.jsonl")}
    found = LinksDataset(
        notes=missing["nowhere"], links=missing["no.jsonl"], events=missing["events.jsonl"]
    ).preflight()
    assert [str(each) for each in found] == [
        f"dataset.notes: folder not found: {missing['nowhere']}",
        f"dataset.links: file not found: {missing['no.jsonl']}",
        f"dataset.events: file not found: {missing['events.jsonl']}",
    ]


def test_notes_without_links_and_files_without_places_are_errors(tmp_path: Path, notes: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError):
        LinksDataset(notes=str(tmp_path / "empty")).read()
    (tmp_path / "empty" / "a.md").write_text("alone", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"^dataset\.notes: no note in .*empty links to another one, so there is nothing"
    ):
        LinksDataset(notes=str(tmp_path / "empty")).read()
    row = {"id": "l1", "source_note": "nobody", "anchor": "x", "expected_links": ["tea"]}
    with pytest.raises(DataError, match=r"^dataset\.links: no links in .*; its lines have errors:\n.*no note 'nobody'"):
        LinksDataset(notes=notes, links=written(tmp_path, row)).read()


def test_there_are_no_questions(notes: str) -> None:
    with pytest.raises(InputError, match="dataset=links has no questions"):
        LinksDataset(notes=notes).load()


def test_the_notes_of_the_program_are_in_both_languages_and_link_soundly() -> None:
    data = LinksDataset().read()
    graph = data.vault.graph
    assert not graph.broken and not graph.ambiguous and not data.problems
    languages = [case.language for case in data.cases]
    assert min(languages.count("ko"), languages.count("en")) >= len(data.cases) // 3
    for path in FOLDER.rglob("*.md"):
        assert bool(re.search("[가-힣]", path.read_text(encoding="utf-8"))) is (path.parent.name == "ko")
