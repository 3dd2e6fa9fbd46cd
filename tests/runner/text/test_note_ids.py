import unicodedata

import pytest

from runner.text.note_ids import NoteNames, note_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Policies/Approval.md", "policies/approval"),
        ("daily notes", "Daily_Notes"),
        ("daily-notes.MD", "daily notes"),
        (unicodedata.normalize("NFD", "정책/승인.md"), "정책/승인"),
        ("a\\b.md", "a/b"),
        ("./a.md", "a"),
        ("Straße", "STRASSE"),
    ],
)
def test_spellings_of_one_name(one: str, other: str) -> None:
    assert note_key(one) == note_key(other)


@pytest.mark.parametrize(("one", "other"), [("a/b", "b"), ("a.md.md", "a"), ("a b", "ab"), ("a.txt", "a")])
def test_different_names(one: str, other: str) -> None:
    assert note_key(one) != note_key(other)


@pytest.fixture
def names() -> NoteNames:
    names = NoteNames()
    names.add("guide/daily-notes.md", "Daily Notes", ["journal", "Journal"])
    names.add("guide/Daily Notes.md", "Other")
    names.add("team/승인.md", "승인 프로세스", ["approval"])
    names.add("old/승인.md", "승인 (옛)", ["guide"])
    names.add("guide.md", "Approval")
    return names


@pytest.mark.parametrize(
    ("reference", "ids"),
    [
        ("guide/daily-notes.md", ["guide/daily-notes.md"]),  # the id itself, though another differs in spelling only
        ("guide/DAILY_NOTES", ["guide/daily-notes.md", "guide/Daily Notes.md"]),
        ("TEAM/승인", ["team/승인.md"]),
        ("승인", ["team/승인.md", "old/승인.md"]),  # file names of two notes
        ("승인-프로세스", ["team/승인.md"]),  # a title
        ("Approval", ["guide.md"]),  # a title goes before an alias
        ("guide", ["guide.md"]),  # a path goes before an alias
        ("JOURNAL", ["guide/daily-notes.md"]),  # an alias
        ("uide/daily-notes", []),  # an end of a path begins at a folder
        ("nothing", []),
        ("", []),
    ],
)
def test_a_reference_means(names: NoteNames, reference: str, ids: list[str]) -> None:
    assert list(names.resolve(reference)) == ids


def test_notes_that_differ_in_spelling_only(names: NoteNames) -> None:
    assert names.same_path() == [["guide/daily-notes.md", "guide/Daily Notes.md"]]


def test_a_title_that_is_missing_matches_nothing() -> None:
    names = NoteNames()
    names.add("a.md")
    assert list(names.resolve(" ")) == []
