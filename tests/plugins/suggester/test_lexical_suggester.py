from pathlib import Path

import pytest

from plugins.suggester.lexical import LexicalSuggester
from tests.plugins.suggester.vaults import BREWING, Folders, notes_of, place, vault


def suggester(tmp_path: Path, beside: float = 0.7, aliases: dict[str, list[str]] | None = None) -> LexicalSuggester:
    subject = LexicalSuggester(beside=beside)
    subject.index(vault(BREWING, aliases), Folders(tmp_path))
    return subject


def test_titles_file_names_and_aliases(tmp_path: Path) -> None:
    subject = suggester(tmp_path, aliases={"bread.md": ["빵"], "kettle.md": ["water boiler"]})
    places = [
        place("home.md", "I like green tea."),
        place("home.md", "빵을 굽는다", language="ko"),
        place("home.md", "Two water boilers."),
        place("home.md", "nothing"),
    ]
    found = [each.best for each in subject.suggest(places, 5)]
    assert [notes_of(best)[:1] for best in found] == [["tea.md"], ["bread.md"], ["kettle.md"], []]
    assert [best[0].confidence for best in found[:3]] == [1.0, 1.0, 1.0]


def test_what_stands_beside_the_anchor_counts_less(tmp_path: Path) -> None:
    subject = suggester(tmp_path, beside=0.6)
    best = subject.suggest([place("home.md", "Buy bread.", "We have a kettle. Buy bread.")], 5)[0].best
    assert [(each.note, each.confidence) for each in best] == [("bread.md", 1.0), ("kettle.md", 0.6)]


def test_neither_the_note_itself_nor_what_is_skipped_and_no_more_than_asked_for(tmp_path: Path) -> None:
    text = "Bread, coffee, kettle, green tea."
    subject = suggester(tmp_path)
    (found,) = subject.suggest([place("bread.md", text, skip={"coffee.md"})], 5)
    assert notes_of(found.best) == ["tea.md", "kettle.md"]  # ties by id descending
    (found,) = subject.suggest([place("bread.md", text)], 1)
    assert notes_of(found.best) == ["tea.md"]


@pytest.mark.parametrize(
    ("anchor", "reason"),
    [
        ("Some coffee?", "The text says “coffee”, which is what the note “Coffee” is called."),
        ("Some bread?", ""),
    ],
)
def test_a_reason_names_what_is_said(tmp_path: Path, anchor: str, reason: str) -> None:
    assert suggester(tmp_path).reason(place("home.md", anchor), "coffee.md") == reason
