from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.links import LinksDataset
from plugins.dataset.vault import VaultDataset
from runner.errors import CorpusError, DataError
from runner.records import DataSet, Span
from runner.text.chunking import Cutter
from tests.small_data import write_texts

NOTES = {
    "policies/approval.md": "---\ntitle: 승인 절차\naliases: [결재]\n---\n"
    "# 휴가\n\n팀장이 승인한다.\n\n# 출장\n\n부서장이 승인한다.\n",
    "guide/daily-notes.md": "# Daily notes\n\nOne note a day.\n",
    "old/daily notes.md": "# Old\n\nGone.\n",
    ".obsidian/config.md": "hidden",
}


def load(root: Path, *queries: str, **settings: Any) -> tuple[DataSet, list[str]]:
    write_texts(root / "notes", NOTES)
    (root / "q.jsonl").write_text("\n".join(queries), encoding="utf-8")
    settings = {"notes": str(root / "notes"), "queries": str(root / "q.jsonl")} | settings
    data = VaultDataset(**settings).load()
    return data, [f"{problem.severity}: {problem}".replace(f"{root}/", "") for problem in data.problems]


def question(gold: str, extra: str = "", id: str = "1") -> str:
    return f'{{"id":"{id}","query":"?","answerable":true,"expected_notes":{gold}{extra}}}'


@pytest.mark.parametrize("name", ["policies/approval.md", "Policies/APPROVAL", "approval", "승인_절차", "결재"])
def test_a_note_may_be_named_in_many_ways(tmp_path: Path, name: str) -> None:
    data, problems = load(tmp_path, question(f'["{name}"]'))
    assert dict(data.queries[0].relevance) == {"policies/approval.md": 1}
    assert problems == []


def test_notes_are_cut_at_headings(tmp_path: Path) -> None:
    data, _ = load(tmp_path, question('["approval"]'), chunker=Cutter(min_chars=0, headings=True))
    chunks = [chunk for chunk in data.corpus.chunks if chunk.document_id == "policies/approval.md"]
    assert [(chunk.text, chunk.headings) for chunk in chunks] == [
        ("# 휴가\n\n팀장이 승인한다.", ("휴가",)),
        ("# 출장\n\n부서장이 승인한다.", ("출장",)),
    ]


def test_an_ambiguous_gold_note_is_an_error(tmp_path: Path) -> None:
    data, problems = load(tmp_path, question('["Daily_Notes"]'), question('["guide/daily_notes"]', id="2"))
    assert [query.id for query in data.queries] == ["2"]
    assert problems == [
        "error: q.jsonl:1: expected_notes: 'Daily_Notes' may be 'guide/daily-notes.md' or 'old/daily notes.md'; "
        "write the path"
    ]


def test_strict_stops_at_an_ambiguous_gold_note(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"1 error in the data files .*\n.*write the path"):
        load(tmp_path, question('["Daily_Notes"]'), question('["결재"]', id="2"), strict=True)


def test_nothing_is_left_when_all_gold_notes_are_ambiguous(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        load(tmp_path, question('["Daily_Notes"]'))
    assert str(raised.value).startswith(f"dataset.queries: no queries in {tmp_path}/q.jsonl; its lines have errors:\n")


def test_an_unknown_gold_note_is_a_warning(tmp_path: Path) -> None:
    data, problems = load(tmp_path, question('["policies/aproval.md"]'))
    assert dict(data.queries[0].relevance) == {"policies/aproval.md": 1}
    near = "did you mean 'policies/approval.md'?"
    assert problems == [f"warning: q.jsonl:1: expected_notes: no document 'policies/aproval.md' in the corpus; {near}"]


def test_two_names_of_one_note_count_once_with_the_higher_grade(tmp_path: Path) -> None:
    data, problems = load(tmp_path, question('{"approval":1,"결재":3,"승인 절차":2}'))
    assert dict(data.queries[0].relevance) == {"policies/approval.md": 3}
    assert problems[1:] == ["warning: q.jsonl:1: expected_notes: 'policies/approval.md' is named twice"] * 2


def test_chunks_spans_and_given_rankings_are_resolved_too(tmp_path: Path) -> None:
    extra = (
        ',"expected_chunks":["결재#0"],"expected_spans":[{"note":"승인 절차","text":"팀장"}]'
        ',"ranking":["guide/Daily Notes","결재#0","daily notes","elsewhere"]'
    )
    (query,) = load(tmp_path, question('["결재"]', extra))[0].queries
    assert query.expected_chunks == ("policies/approval.md#0",)
    assert query.expected_spans == (Span("policies/approval.md", 6, 8, "팀장"),)
    assert query.given.ranking is not None
    assert [hit for hit, _ in query.given.ranking] == [
        "guide/daily-notes.md",
        "policies/approval.md#0",
        "daily notes",
        "elsewhere",
    ]


def test_notes_that_differ_in_spelling_only_are_told(tmp_path: Path) -> None:
    (tmp_path / "notes" / "guide").mkdir(parents=True)
    (tmp_path / "notes" / "guide" / "Daily Notes.md").write_text("text")
    _, problems = load(tmp_path, question('["결재"]'))
    assert problems == [
        "warning: notes: notes that differ in spelling only: 'guide/Daily Notes.md' and 'guide/daily-notes.md'"
    ]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"notes": "no/notes"}, CorpusError, "dataset.notes: folder not found: no/notes (there is no folder no)"),
        ({"queries": "no.jsonl"}, DataError, "dataset.queries: file not found: no.jsonl"),
    ],
)
def test_folders_and_files_that_are_missing(
    tmp_path: Path, settings: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        load(tmp_path, question('["결재"]'), **settings)
    assert str(raised.value) == message


def test_what_is_missing_is_told_by_its_setting() -> None:
    assert [str(problem) for problem in VaultDataset(notes="no notes", queries="no queries").preflight()] == [
        "dataset.notes: folder not found: no notes",
        "dataset.queries: file not found: no queries",
    ]


@pytest.mark.parametrize("kind", [partial(VaultDataset, notes="n", queries="q"), LinksDataset])
def test_what_was_read_of_notes_is_kept_unless_it_is_said_otherwise(kind: Callable[..., Any], tmp_path: Path) -> None:
    def recalled(made: str, **settings: Any) -> str:
        (found,) = kind(cache_dir=str(tmp_path), **settings).store.recall("what", ["text"], lambda _: [made])
        return str(found)

    assert recalled("at first", dry_run=True) == "at first"
    assert recalled("then") == "then"
    assert recalled("later") == recalled("dry", dry_run=True) == "then"
    assert recalled("cold", cold_start=True) == "cold"
    assert kind().store.recall("what", ["text"], lambda _: ["nowhere"]) == ["nowhere"]
