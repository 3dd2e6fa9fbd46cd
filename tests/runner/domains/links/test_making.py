"""Places made of a vault by hiding some of its links."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.domains.links.graph import VaultGraph
from runner.domains.links.hiding import Words
from runner.domains.links.making import hidden_links, window
from runner.records import Document

NOTES = [
    Document("a.md", "First one. We brew [[b]] and [[c]] daily. Then [[b|the brew]] rests.\n\n- [[d]]\n", "A"),
    Document("b.md", "# 둘\n\n우리는 매일 [[a]] 노트를 봅니다.", "B", "ko", {"tags": ["차"]}),
    Document("c.md", "Nothing.", "C"),
    Document("d.md", "[[a]]", "D only"),
]


def rows(ratio: float = 1, seed: int = 1, words: Words = "none") -> list[dict[str, Any]]:
    return hidden_links(NOTES, VaultGraph(NOTES), ratio=ratio, seed=seed, words=words)


def test_each_sentence_is_a_place_and_what_stood_in_it_is_expected() -> None:
    found = {row["id"]: row for row in rows()}
    assert list(found) == ["a.md:1", "a.md:1.2", "a.md:3", "b.md:3", "d.md:1"]
    assert found["a.md:1"]["expected_links"] == ["b.md", "c.md"]
    assert found["a.md:1"]["anchor"] == "We brew and daily."
    assert found["a.md:1.2"] == {
        "id": "a.md:1.2",
        "source_note": "a.md",
        "anchor": "Then rests.",
        "expected_links": ["b.md"],
        "anchor_range": {"start": 42, "end": 68},
        "context": "First one. We brew  and  daily. Then  rests.\n\n-",
        "language": "en",
        "tags": [],
    }
    assert NOTES[0].text[42:68] == "Then [[b|the brew]] rests."
    assert (found["b.md:3"]["language"], found["b.md:3"]["tags"]) == ("ko", ["차"])


def test_a_place_is_named_by_the_line_of_its_file() -> None:
    notes = [replace(note, line=5) if note.id == "a.md" else note for note in NOTES]
    found = hidden_links(notes, VaultGraph(notes), ratio=1, seed=1, words="none")
    assert [row["id"] for row in found] == ["a.md:5", "a.md:5.2", "a.md:7", "b.md:3", "d.md:1"]


def test_where_a_link_stands_alone_the_sentence_before_or_the_title_is_the_anchor() -> None:
    found = {row["id"]: row["anchor"] for row in rows()}
    assert (found["a.md:3"], found["d.md:1"]) == ("Then rests.", "D only")


def test_a_ratio_of_pairs_is_hidden_and_the_same_seed_hides_the_same() -> None:
    def pairs(ratio: float, seed: int) -> set[tuple[str, str]]:
        return {(row["source_note"], target) for row in rows(ratio, seed) for target in row["expected_links"]}

    assert len(pairs(1, 1)) == 5  # a-b, a-c, a-d, b-a, d-a
    assert [len(pairs(ratio, 1)) for ratio in (0.01, 0.3, 0.6)] == [1, 2, 3]
    assert rows(0.4, 7) == rows(0.4, 7)
    assert len({tuple(sorted(pairs(0.4, seed))) for seed in range(8)}) > 1


def test_every_place_from_which_a_hidden_pair_is_linked_is_a_case() -> None:
    for seed in range(10):
        found = rows(0.2, seed)
        if found[0]["expected_links"] == ["b.md"]:
            assert [row["id"] for row in found] == ["a.md:1", "a.md:1.2"]
            break
    else:
        raise AssertionError("no seed hides a-b alone")


def test_a_vault_without_links_has_no_places() -> None:
    assert hidden_links(NOTES[2:3], VaultGraph(NOTES[2:3]), ratio=1, seed=1, words="none") == []


def test_a_window_has_the_place_in_its_middle() -> None:
    text = "0123456789"
    assert [window(text, 4, 6, size) for size in (0, 2, 4, 6, 100)] == ["45", "45", "3456", "234567", text]
    assert window(text, 0, 2, 6) == "012345"
    assert window(text, 9, 10, 6) == "789"


@settings(max_examples=50)
@given(st.text("ab ", max_size=30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 40))
def test_a_window_is_a_part_of_the_text_that_holds_the_place(text: str, start: int, size: int, wide: int) -> None:
    start = min(start, len(text))
    end = min(len(text), start + size)
    found = window(text, start, end, wide)
    assert found in text and text[start:end].strip() in found
    assert len(found) <= max(wide, end - start)
