from __future__ import annotations

from pathlib import Path

import pytest

from runner.cli import main
from runner.commands import validate
from runner.errors import CorpusError, DataError, InputError
from tests.small_data import write_jsonl, write_texts

NOTES = {
    "홈.md": "---\ntitle: 홈\ntags: [x]\n---\n# 홈\n\n[[회의]] [[같은]] `[[없음]]` `[[회의|그]]`\n\n"
    "- [[회희]] ![[회의#안건]] [[회의#없는 제목]]\n",
    "회의.md": "# 회의\n\n[go](../홈.md) [홈](홈.md)\n\n## 안건\n\n한 줄 ^here\n\n[[홈#^here]] [[회의#^here]]\n\n"
    "[[회의#없는 곳]] [[#어디]] [[#안건]]\n",
    "a/같은.md": "[[회의#^here]]",
    "b/같은.md": "",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "notes", NOTES)


def test_links_of_notes(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(notes)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"warning: {notes}/홈.md:7: [[같은]]: ambiguous: a/같은.md or b/같은.md; write the path",
        f"warning: {notes}/홈.md:9: [[회희]]: no such note",
        f"warning: {notes}/홈.md:9: [[회의#없는 제목]]: 회의.md has no heading '없는 제목'",
        f"warning: {notes}/회의.md:3: [go](../홈.md): no such note; did you mean '홈'?",
        f"warning: {notes}/회의.md:9: [[홈#^here]]: 홈.md has no block '^here'",
        f"warning: {notes}/회의.md:11: [[회의#없는 곳]]: 회의.md has no heading '없는 곳'",
        f"warning: {notes}/회의.md:11: [[#어디]]: 회의.md has no heading '어디'",
        f"in code: {notes}/홈.md:7: [[회의|그]]: no link; would lead to 회의.md",
        f"{notes}: notes: 4, links: 6, broken: 2, ambiguous: 1; 2 in code, which count as none",
    ]


def test_headings_are_named_by_title_and_by_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = {
        "a.md": "# 설치 {#install}\n\n## C++: what's new?\n\n<h2 id='old-name'>Other</h2>\n\n### N\n{: #next-step}\n",
        "b.md": "---\nparent: a\n---\n"
        "[[a#install]] [[a#설치]] [[a#c-whats-new]] [[a#old-name]] [[a#next-step]] [[a#no]]\n",
    }
    folder = write_texts(tmp_path / "notes", notes)
    assert main(["validate", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"warning: {folder}/b.md:4: [[a#no]]: a.md has no heading 'no'",
        f"{folder}: notes: 2, links: 7, broken: 0, ambiguous: 0",
    ]


def test_files_against_notes(notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notes.parent)
    queries = [
        {"id": "1", "query": "안건은?", "answerable": True, "expected_notes": ["회의"]},
        {"id": "2", "query": "어디?", "answerable": True, "expected_notes": ["같은"]},
    ]
    links = [
        {"id": "1", "source_note": "홈", "anchor": "회의", "expected_links": ["회의"]},
        {"id": "2", "source_note": "nowhere", "anchor": "회의", "expected_links": ["회의"]},
    ]
    write_jsonl(Path("queries.jsonl"), queries)
    write_jsonl(Path("links.jsonl"), links)
    before = sorted(notes.parent.rglob("*"))
    assert main(["validate", "notes", "queries.jsonl", "links.jsonl"]) == 1
    told = capsys.readouterr().out
    assert "error: queries.jsonl:2: expected_notes: '같은' may be 'a/같은.md' or 'b/같은.md'; write the path\n" in told
    assert "\nqueries.jsonl: 1 usable, 1 unusable\n" in told
    assert "error: links.jsonl:2: source_note: no note 'nowhere'" in told
    assert told.endswith("\nlinks.jsonl: 1 usable, 1 unusable\n")
    assert main(["validate", "notes", "queries.jsonl", "sample=1"]) == 1
    assert main(["validate", "dataset=vault", "dataset.notes=notes", "dataset.queries=queries.jsonl"]) == 1
    assert sorted(notes.parent.rglob("*")) == before


def test_an_unreadable_note_is_an_error_and_told_once(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (notes / "z.md").write_bytes(b"\xff")
    assert main(["validate", str(notes)]) == 1
    error = f"error: {notes}/z.md: not UTF-8: byte 0xff at offset 0 of the file\n"
    assert error in capsys.readouterr().out
    queries = notes.parent / "queries.jsonl"
    write_jsonl(queries, [{"id": "1", "query": "안건은?", "answerable": True, "expected_notes": ["회의"]}])
    assert main(["validate", str(notes), str(queries)]) == 1
    told = capsys.readouterr().out
    assert told.count(error) == 1
    assert told.endswith(f"\n{queries}: 1 usable, 0 unusable\n")


def test_wrong_arguments(notes: Path) -> None:
    with pytest.raises(InputError, match=r"^expected a folder of notes, or the words of a run \(OPTION=VALUE\)$"):
        validate.main([])
    with pytest.raises(InputError, match=r"notes: options say how a data file is read, but none is given; expected"):
        validate.main([str(notes), "k=3"])
    with pytest.raises(CorpusError, match=r"^notes: folder not found: .*/note; did you mean 'notes'\?$"):
        validate.main([str(notes.with_name("note"))])
    with pytest.raises(DataError, match=r"^FILE: file not found: "):
        validate.main([str(notes), str(notes / "no.jsonl")])


def test_labels_that_name_nothing_are_told_and_fail(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run keeps such questions, and counts what they ask for as lost."""
    monkeypatch.chdir(notes.parent)
    question = {"id": "1", "query": "어디?", "answerable": True, "expected_notes": ["nowhere"]}
    write_jsonl(Path("queries.jsonl"), [question])
    assert main(["validate", "notes", "queries.jsonl"]) == 1
    told = capsys.readouterr().out
    assert "warning: queries.jsonl:1: expected_notes: no document 'nowhere' in the corpus" in told
    assert told.endswith("\nqueries.jsonl: 1 usable, 0 unusable\n")
    words = ["dataset=vault", "dataset.notes=notes", "dataset.queries=queries.jsonl"]
    assert main(["validate", *words]) == 1
    assert main([*words, "dry_run=true"]) == 0


def test_the_first_problems_are_shown_and_all_of_them_by_verbose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_texts(tmp_path / "notes", {f"{n:02}.md": f"[[없음{n}]]" for n in range(12)})
    (folder / "zz.md").write_bytes(b"\xff")
    assert main(["validate", str(folder)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"error: {folder}/zz.md: not UTF-8: byte 0xff at offset 0 of the file"  # before warnings
    assert lines[9:] == [
        f"warning: {folder}/08.md:1: [[없음8]]: no such note",
        "… and 3 more; verbose=true shows all",
        f"{folder}: notes: 12, links: 0, broken: 12, ambiguous: 0",
    ]
    assert main(["validate", str(folder), "verbose=true", "report.language=ko"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 14 and lines[0].startswith("오류: ") and lines[1].startswith("경고: ")
    assert lines[-1] == f"{folder}: 노트 12개, 링크 0개, 끊긴 링크 12개, 모호한 링크 0개"


def test_what_is_sound_is_followed_by_how_to_run_it(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = notes.parent / "my queries.jsonl"
    write_jsonl(queries, [{"id": "1", "query": "안건은?", "answerable": True, "expected_notes": ["회의"]}])
    assert main(["validate", str(notes), str(queries), "k=3"]) == 0
    words = f"+experiment=full_rag dataset=vault dataset.notes={notes} 'dataset.queries={queries}' k=3"
    shown = capsys.readouterr().out
    assert shown.endswith(f"Next\n  its cost  python -m runner plan {words}\n  run it    python -m runner {words}\n")
