from __future__ import annotations

import pytest

from runner.domains.links.links import links_of
from runner.domains.links.resolving import means_no_note, meant_notes
from runner.text.note_ids import NoteNames


@pytest.fixture
def names() -> NoteNames:
    names = NoteNames()
    names.add("index.md", "Home")
    names.add("guide/daily-notes.md", "Daily Notes", ["일지"])
    names.add("guide/index.md", "Guide")
    names.add("guide/deep/회의 노트.md", "주간 회의")
    names.add("a/same.md")
    names.add("b/same.md")
    return names


@pytest.mark.parametrize(
    ("link", "meant"),
    [
        ("[[Daily_Notes]]", ["guide/daily-notes.md"]),
        ("[[guide/daily notes.md#Part|x]]", ["guide/daily-notes.md"]),
        ("![[일지]]", ["guide/daily-notes.md"]),
        ("[[주간-회의]]", ["guide/deep/회의 노트.md"]),
        ("[[index]]", ["index.md"]),
        ("[[/guide/index]]", ["guide/index.md"]),
        ("[[same]]", ["a/same.md", "b/same.md"]),
        ("[[nothing]]", []),
        ("[[#Part]]", ["guide/deep/here.md"]),
        ("[[../index]]", ["guide/index.md"]),
        ("[[./회의 노트]]", ["guide/deep/회의 노트.md"]),
        ("[[./index]]", []),
        ("[x](../index.md)", ["guide/index.md"]),
        ("[x](../../index.md#part)", ["index.md"]),
        ("[x](../../../index.md)", []),
        ("[x](회의%20노트.md)", ["guide/deep/회의 노트.md"]),
        ("[x](회의-노트)", ["guide/deep/회의 노트.md"]),
        ("[x](guide/index.md)", ["guide/index.md"]),
        ("[x](/guide/index.md)", ["guide/index.md"]),
        ("[x](index.md)", ["index.md"]),
        ("[x](daily-notes.md)", []),
        ("[x](<Daily Notes>)", []),
        ("[x](#part)", ["guide/deep/here.md"]),
    ],
)
def test_what_a_link_means(names: NoteNames, link: str, meant: list[str]) -> None:
    (found,) = links_of(link)
    assert list(meant_notes(found, "guide/deep/here.md", names)) == meant


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[[picture.png]]", True),
        ("![[film.mp4]]", True),
        ("[x](LICENSE.txt)", True),
        ("[x](../docs/)", True),
        ("[x](a.drawio.svg)", True),
        ("[[note]]", False),
        ("[[note.md]]", False),
        ("[[v1.2]]", False),
        ("[x](note.MD)", False),
        ("[x](LICENSE)", False),
    ],
)
def test_other_files_are_no_broken_notes(link: str, expected: bool) -> None:
    (found,) = links_of(link)
    assert means_no_note(found) is expected
