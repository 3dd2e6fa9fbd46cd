"""What is hidden leaves nothing behind that tells where it led."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.links.graph import VaultGraph
from runner.domains.links.hiding import Edit, Words, apply_edits, remaining_words
from runner.domains.links.link_cases import Hiding
from runner.domains.links.links import links_of
from runner.records import Document

SOURCE = """\
See [[Target Note]] and [[target-note|what we aim at]], ![[target-note#part]], [[folder/target_note#^b|Target note]],
[the target](folder/target-note.md#part "Title"), [shown][ref] and [[other]] with `[[target-note]]`.

| [[target-note\\|aim]] | [[other]] |
| --- | --- |

[ref]: folder/target-note.md 'Target Note'
[other]: other.md 'Other'
"""
NOTES = [
    Document("source.md", SOURCE, "Source"),
    Document(
        "folder/target-note.md", "# Target Note\n\nBack to [[source]].", "Target Note", metadata={"aliases": ["Aim"]}
    ),
    Document("other.md", "See [[target-note]].", "Other"),
]
TARGET = "folder/target-note.md"


def hiding(words: Words = "none") -> Hiding:
    return Hiding(NOTES, VaultGraph(NOTES), {"source.md": {TARGET}}, words)


def test_no_link_of_any_form_is_left_and_no_other_text_is_lost() -> None:
    assert hiding().texts["source.md"].text == (
        "See  and , , ,\n,  and [[other]] with ``.\n\n|  | [[other]] |\n| --- | --- |\n\n[other]: other.md 'Other'\n"
    )


@pytest.mark.parametrize("words", ["none", "alias", "all"])
def test_the_graph_of_what_is_left_has_no_edge_to_the_target_from_there_and_all_other_edges(words: Words) -> None:
    seen = VaultGraph(hiding(words).notes())
    assert {(edge.source, edge.target) for edge in seen.edges} == {
        ("source.md", "other.md"),
        (TARGET, "source.md"),
        ("other.md", TARGET),
    }
    assert not seen.broken and not seen.in_code


def test_words_that_name_the_target_go_with_the_link_and_others_may_stay() -> None:
    text = hiding("alias").texts["source.md"].text
    assert text.startswith("See  and what we aim at, , ,\nthe target, shown and [[other]] with ``.")
    assert "| aim |" not in text  # an alias of the note
    assert (
        hiding("all")
        .texts["source.md"]
        .text.startswith("See Target Note and what we aim at, target-note, Target note,\nthe target, shown and")
    )


@pytest.mark.parametrize(
    ("link", "none", "alias", "every"),
    [
        ("[[target-note]]", "", "", "target-note"),
        ("[[folder/target-note|TARGET_note]]", "", "", "TARGET_note"),
        ("[[target-note|목표]]", "", "목표", "목표"),
        ("[aim](folder/target-note.md)", "", "", "aim"),
        ("[some aim](folder/target-note.md)", "", "some aim", "some aim"),
    ],
)
def test_what_stays_of_a_link(link: str, none: str, alias: str, every: str) -> None:
    (found,) = links_of(link)
    choices: tuple[Words, ...] = ("none", "alias", "all")
    assert [remaining_words(found, NOTES[1], words) for words in choices] == [none, alias, every]


def test_a_text_about_a_place_is_scrubbed_of_the_same_links() -> None:
    assert hiding().scrub("see [[target-note|it]]  and [[other]]", "source.md") == "see and [[other]]"
    assert hiding().scrub("see [[target-note]]", "other.md") == "see [[target-note]]"  # not expected there


def test_positions_move_with_the_text() -> None:
    found = apply_edits("ab[[x]]cd[[y]]e", [Edit(2, 7, "XY"), Edit(9, 14)])
    assert found.text == "abXYcde"
    assert [found.at(place) for place in (0, 2, 4, 7, 9, 11, 14, 15)] == [0, 2, 2, 4, 6, 6, 6, 7]


def test_an_edit_within_another_goes_with_it() -> None:
    assert apply_edits("a[b[[c]]](d)e", [Edit(3, 8, "c"), Edit(1, 12, "b")]).text == "abe"


@given(st.text("ab", max_size=20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5), st.text("x", max_size=3))))
def test_every_character_that_stays_is_found_where_it_went(text: str, spans: list[tuple[int, int, str]]) -> None:
    edits = [Edit(start, start + size, words) for start, size, words in spans if size and start + size <= len(text)]
    found = apply_edits(text, edits)
    gone = {place for edit in found.edits for place in range(edit.start, edit.end)}
    kept = [place for place in range(len(text)) if place not in gone]
    assert all(found.text[found.at(place)] == text[place] for place in kept)
    assert len(found.text) == len(kept) + sum(len(edit.words) for edit in found.edits)


def test_a_link_that_may_mean_the_target_is_hidden_as_well() -> None:
    notes = [
        Document("source.md", "The [[pot]] and [[one/pot]].", "Source"),
        Document("one/pot.md", "", "Pot"),
        Document("two/pot.md", "", "Pot"),
    ]
    found = Hiding(notes, VaultGraph(notes), {"source.md": {"one/pot.md"}}, "all").texts["source.md"]
    assert found.text == "The  and pot."


DISGUISED = """\
<a href="folder/target-note.md#part">here</a>, <!-- [[target-note]] -->, \\[[target-note]],
![pic](folder/target-note.md), <folder/target-note.md>, [so **it
[[target-note]]**](folder/target-note.md 'T') and [[other]].

<div>
[[Target Note|words]] <img src='other.md'>
</div>

```
[[target-note]] [[other]]
```
"""


def test_what_only_looks_like_a_link_does_not_tell_either() -> None:
    notes = [Document("source.md", DISGUISED, "Source"), *NOTES[1:]]
    hiding = Hiding(notes, VaultGraph(notes), {"source.md": {TARGET}}, "alias")
    assert hiding.texts["source.md"].text == (
        "<a >here</a>, <!--  -->, \\,\n![pic], , [so **it\n**] and [[other]].\n\n"
        "<div>\n <img src='other.md'>\n</div>\n\n```\n [[other]]\n```\n"
    )
    assert hiding.scrub("so ![pic](folder/target-note.md)", "source.md") == "so ![pic]"
    assert [edge.target for edge in VaultGraph(hiding.notes()).out_links("source.md")] == ["other.md"]


def test_front_matter_does_not_tell_what_is_linked_to() -> None:
    told = {"related": "[[Target Note]]", "up": [["target-note"], "[[other]]"], "see": {"also": "Aim"}, "year": 2026}
    own = {"title": "Source", "aliases": ["Target Note"], "tags": ["aim"]}
    notes = [Document("source.md", "[[target-note]]", "Source", metadata={**told, **own}), *NOTES[1:]]
    found, *others = Hiding(notes, VaultGraph(notes), {"source.md": {TARGET}}, "alias").notes()
    assert found.metadata == {"related": "", "up": [[""], "[[other]]"], "see": {"also": ""}, "year": 2026, **own}
    assert others == NOTES[1:]
