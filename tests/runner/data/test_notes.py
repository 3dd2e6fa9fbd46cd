import os
import unicodedata
from pathlib import Path

import pytest

from runner.data.notes import note_names, read_notes
from runner.data.problems import ProblemLog
from runner.errors import CorpusError, DataError
from runner.records import Document


def write(root: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def read(root: Path, *, strict: bool = False) -> tuple[list[Document], list[str]]:
    log = ProblemLog(strict=strict)
    documents = read_notes(str(root), "dataset.notes", log)
    return documents, [str(problem).replace(f"{root}/", "") for problem in log.problems]


def test_notes_are_all_markdown_files_that_are_not_hidden(tmp_path: Path) -> None:
    files = (
        "b.md",
        "a/c.MD",
        "a/.hidden.md",
        ".obsidian/x.md",
        ".git/y.md",
        "a/image.png",
        "a/text.txt",
        "z/.trash/n.md",
    )
    documents, problems = read(write(tmp_path, **dict.fromkeys(files, "text")))
    assert [document.id for document in documents] == ["a/c.MD", "b.md"]
    assert problems == []


def test_title_comes_from_front_matter_then_heading_then_file_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "1.md": "---\ntitle: 앞글 제목\n---\n# Heading\n",
            "2.md": "## Small\n\n# Big *one*\n",
            "my note.md": "## Small\n",
            "4.md": "---\ntitle:\n---\n```\n# code\n```\n",
        },
    )
    documents, _ = read(tmp_path)
    assert [(document.id, document.title) for document in documents] == [
        ("1.md", "앞글 제목"),
        ("2.md", "Big one"),
        ("4.md", "4"),
        ("my note.md", "my note"),
    ]


def test_front_matter_becomes_metadata_and_leaves_the_text(tmp_path: Path) -> None:
    matter = "---\naliases: 결재, approval\ntags: '#hr ops'\nlang: ko\nowner: kim\n---\n"
    documents, _ = read(write(tmp_path, **{"n.md": matter + "본문\n"}))
    metadata = {"lang": "ko", "owner": "kim", "aliases": ["결재", "approval"], "tags": ["hr", "ops"]}
    assert documents == [Document("n.md", "본문\n", "n", "ko", metadata, line=7)]


def test_line_ends_byte_order_marks_and_composition(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "한글.md")
    text = "\ufeff---\r\ntitle: T\r\n---\r\n" + unicodedata.normalize("NFD", "가\r\n나\r다\0")
    documents, problems = read(write(tmp_path, **{name: text}))
    assert [(document.id, document.title, document.text) for document in documents] == [
        ("한글.md", "T", "가\n나\n다\ufffd")
    ]
    assert problems == []


def test_notes_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    write(tmp_path, **{"good.md": "text", "latin.md": b"caf\xe9", "matter.md": "---\na: b: c\n---\nbody"})
    (tmp_path / "gone.md").symlink_to("nowhere.md")
    (tmp_path / os.fsdecode(b"bad\xff.md")).write_text("text")
    documents, problems = read(tmp_path)
    assert [document.id for document in documents] == ["good.md", "matter.md"]
    assert problems == [
        "'bad\\udcff.md': the file name is not UTF-8",
        "gone.md: cannot read the note: No such file or directory",
        "latin.md: not UTF-8: byte 0xe9 at offset 3 of the file",
        "matter.md:1: front matter is not YAML (line 2): mapping values are not allowed here; ignored",
    ]


def test_two_files_of_one_name_in_nfc(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "é.md")
    documents, problems = read(write(tmp_path, **{"é.md": "1", decomposed: "2"}))
    assert [document.id for document in documents] == ["é.md"]
    assert len(problems) == 1
    assert problems[0].endswith("the name is already the id of another note: 'é.md'")


def test_linked_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, **{"a/n.md": "text"})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert [document.id for document in read(tmp_path)[0]] == ["a/n.md"]


def test_a_folder_without_notes(tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as raised:
        read(tmp_path)
    assert str(raised.value) == f"dataset.notes: no notes (*.md) in {tmp_path}"
    write(tmp_path, **{"a.md": b"\xff"})
    with pytest.raises(CorpusError) as raised:
        read(tmp_path)
    assert str(raised.value) == (
        f"dataset.notes: no notes (*.md) in {tmp_path}; what was found cannot be read:\n"
        f"  {tmp_path}/a.md: not UTF-8: byte 0xff at offset 0 of the file"
    )


def test_strict_stops_at_a_note_that_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, **{"a.md": b"\xff", "b.md": "text"})
    with pytest.raises(DataError, match="1 error in the data files"):
        read(tmp_path, strict=True)


def test_names_of_notes(tmp_path: Path) -> None:
    write(tmp_path, **{"team/hr-approval.md": "---\ntitle: 승인 절차\naliases: [결재]\n---\n"})
    names = note_names(read(tmp_path)[0])
    for name in ("team/hr-approval.md", "HR approval", "승인-절차", "결재"):
        assert list(names.resolve(name)) == ["team/hr-approval.md"]
