"""From lines of links.jsonl to places in the notes as a suggester sees them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from runner.data.problems import ProblemLog
from runner.domains.links.events import LinkEvent
from runner.domains.links.graph import VaultGraph
from runner.domains.links.link_cases import Cases, LinkCase
from runner.domains.links.link_files import written_case
from runner.records import Document

TEXT = "# 차\n\n우리는 아침마다 [[brew|차]]를 마십니다. Then we rest. Then we rest."
NOTES = [
    Document("tea.md", TEXT, "차 마시기"),
    Document("brew.md", "Brewing.", "Brew", metadata={"aliases": ["우리기"]}),
    Document("one/pot.md", "A pot.", "Pot"),
    Document("two/pot.md", "A pot.", "Teapot"),
]


def cases(*rows: dict[str, Any], events: tuple[LinkEvent, ...] = ()) -> tuple[tuple[LinkCase, ...], list[str], str]:
    """Cases, problems, and the text of tea.md as it is seen."""
    log = ProblemLog()
    written = {
        number: written_case({"id": f"l{number}", "source_note": "tea", "anchor": "Then we rest.", **row})
        for number, row in enumerate(rows, start=1)
    }
    found, notes = Cases(NOTES, VaultGraph(NOTES), "FILE", log).hide(written, events, "none")
    return found, [f"{each.severity}: {each}" for each in log.problems], notes[0].text


def test_names_are_resolved_and_spellings_of_one_concept_are_one() -> None:
    row = {"source_note": "차 마시기", "expected_links": ["Brew", "우리기", "BREW.md", ["one/pot", "teapot"]]}
    (case,), wrong, _ = cases(row)
    assert not wrong
    assert case.note == "tea.md"
    assert case.expected == (frozenset({"brew.md"}), frozenset({"one/pot.md", "two/pot.md"}))


def test_the_link_is_gone_and_the_place_is_where_it_stood() -> None:
    start = TEXT.index("우리는")
    row = {"expected_links": ["brew"], "anchor": "x", "anchor_range": {"start": start, "end": TEXT.index(" Then")}}
    (case,), wrong, seen = cases(row)
    assert not wrong
    assert "brew" not in seen
    assert seen[case.start : case.end] == "우리는 아침마다 를 마십니다."
    assert case.language == "en"  # of the anchor that the line names


@pytest.mark.parametrize(
    ("anchor", "shown", "text"),
    [
        ("우리는 아침마다 [[brew|차]]를 마십니다.", "우리는 아침마다 를 마십니다.", "우리는 아침마다 를 마십니다."),
        ("아침마다 를 마십니다", "아침마다 를 마십니다", "아침마다 를 마십니다"),  # as it is seen
        ("Then we rest.", "Then we rest.", "Then we rest."),
    ],
)
def test_an_anchor_is_found_with_and_without_the_link(anchor: str, shown: str, text: str) -> None:
    (case,), wrong, seen = cases({"expected_links": ["brew"], "anchor": anchor})
    assert not wrong
    assert (case.anchor, seen[case.start : case.end]) == (shown, text)


def test_an_anchor_that_is_not_there_has_the_context_of_the_file_without_the_link() -> None:
    row = {"expected_links": ["brew"], "anchor": "elsewhere [[brew]]", "context": "so [[brew|it]] was"}
    (case,), wrong, _ = cases(row)
    assert (case.anchor, case.start, case.context) == ("elsewhere", None, "so was")
    assert wrong == [
        "warning: FILE:1: anchor: 'tea.md' does not contain the anchor; its context is taken from the file"
    ]
    _, wrong, _ = cases({"expected_links": ["brew"], "anchor": "elsewhere"})
    assert wrong == ["warning: FILE:1: anchor: 'tea.md' does not contain the anchor; it has no context"]


@pytest.mark.parametrize(
    ("row", "message", "n_cases"),
    [
        ({"source_note": "teas.md"}, "error: FILE:1: source_note: no note 'teas.md'; did you mean 'tea.md'?", 0),
        ({"source_note": "pot"},
         "error: FILE:1: source_note: 'pot' may be 'one/pot.md' or 'two/pot.md'; write the path", 0),
        ({"expected_links": ["pot"]},
         "error: FILE:1: expected_links: 'pot' may be 'one/pot.md' or 'two/pot.md'; write the path", 0),
        ({"expected_links": ["brew", "nothing like it"]},
         "warning: FILE:1: expected_links: no note 'nothing like it'", 1),
        ({"anchor_range": {"start": 1, "end": 999}},
         f"error: FILE:1: anchor_range: ends at 999, but 'tea.md' has {len(TEXT)} characters", 0),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_vault_is_told(row: dict[str, Any], message: str, n_cases: int) -> None:
    found, wrong, _ = cases({"expected_links": ["brew"], **row})
    assert wrong[0] == message
    assert len(found) == n_cases


def test_what_is_no_note_stays_expected() -> None:
    (case,), _, _ = cases({"expected_links": ["brew", "nothing like it"]})
    assert case.expected == (frozenset({"brew.md"}), frozenset())


def event(day: int, target: str, is_accepted: bool, anchor: str | None = None, note: str = "tea.md") -> LinkEvent:
    return LinkEvent(datetime(2026, 1, day, tzinfo=UTC), note, target, is_accepted, anchor)


def test_labels_of_events_hold_where_they_were_given_and_the_last_word_counts() -> None:
    events = (
        event(1, "brew.md", True),
        event(2, "brew.md", False),
        event(3, "one/pot.md", True, "Then we rest."),
        event(4, "two/pot.md", True, "another place"),
        event(5, "two/pot.md", True, note="brew.md"),
    )
    (case,), _, _ = cases({"expected_links": ["brew"]}, events=events)
    assert (case.accepted, case.rejected) == ({"one/pot.md"}, {"brew.md"})
    (case,), _, _ = cases({"expected_links": ["brew"], "accepted": ["brew"], "rejected": ["one/pot"]}, events=events)
    assert (case.accepted, case.rejected) == ({"brew.md"}, {"one/pot.md"})


def test_the_gold_of_a_case_is_what_is_expected_and_what_people_said() -> None:
    def gold(**row: Any) -> str:
        return cases({"expected_links": ["brew", "one/pot"], **row})[0][0].gold

    assert gold() == gold(expected_links=["one/pot", "우리기"]) == gold(anchor="elsewhere")
    assert len({gold(), gold(accepted=["brew"]), gold(rejected=["brew"]), gold(expected_links=["brew"])}) == 4
