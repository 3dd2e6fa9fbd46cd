from pathlib import Path
from typing import Any

import pytest

from runner.domains.links import report
from runner.report.case import facts_of
from runner.report.document import Document
from runner.report.markdown import lines_of
from runner.report.page import details
from runner.system.folder import open_run
from runner.words.wording import LANGUAGES
from tests.run_documents import as_html, as_lines, as_markdown, document_of
from tests.run_folders import write_run

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]
VAULT = {"notes": 1200, "links": 40, "expected": 13, "broken": 2, "ambiguous": 1}


def rate(n: int, accepted: int) -> dict[str, Any]:
    return {"n": n, "accepted": accepted, "rate": accepted / n, "low": 0.1, "high": 0.9}


ACCEPTANCE: dict[str, Any] = {
    "all": rate(8, 6),
    "period": "day",
    "time": {"2026-03-01": rate(4, 2), "2026-03-02": rate(4, 4)},
    "language": {"en": rate(2, 1), "ko": rate(6, 5)},
    "team": {},
    "tag": {"a|b": rate(3, 3)},
}
ROW: dict[str, Any] = {
    "id": "l1",
    "status": "ok",
    "metrics": {"recall_at_k": 0.0},
    "labels": {"lost_at": "suggested_below_k"},
    "output": {
        "query": "We boil it.",
        "source_note": "tea.md",
        "context": "First we boil it.",
        "expected": ["water.md"],
        "retrieved": [
            {"id": "pot.md", "title": "Pot", "relevance": 0.5, "linked": True, "reason": "Both are round."},
            {"id": "water.md", "title": "Water", "relevance": 0.25, "linked": False},
        ],
    },
}


def document(folder: Path, language: str = "en", acceptance: Any = ACCEPTANCE) -> Document:
    more = {"links": {"acceptance": acceptance}} if acceptance else {}
    return document_of(folder, {"facts": {"vault": VAULT}, **more}, language)


def test_the_section_in_english(tmp_path: Path) -> None:
    assert as_markdown(report.sections(document(tmp_path / "r"))) == (
        "## Suggested links\n\n"
        "1,200 notes and 40 links between them (without those under test); 13 expected links. Broken: 2, "
        "ambiguous: 1.\n\n"
        "6 of 8 suggestions were accepted (75.0%, 95 % interval 10.0% to 90.0%).\n\n"
        "### What people did with suggestions\n\n"
        "| Day | Suggestions | Accepted | Share | 95 % interval |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| 2026-03-01 | 4 | 2 | 50.0% | 10.0% – 90.0% |\n"
        "| 2026-03-02 | 4 | 4 | 100.0% | 10.0% – 90.0% |\n\n"
        "| Language | Suggestions | Accepted | Share | 95 % interval |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| ko | 6 | 5 | 83.3% | 10.0% – 90.0% |\n"
        "| en | 2 | 1 | 50.0% | 10.0% – 90.0% |\n\n"
        "| Tag | Suggestions | Accepted | Share | 95 % interval |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| a\\|b | 3 | 3 | 100.0% | 10.0% – 90.0% |\n\n"
        "From the events in dataset.events, independent of what this run suggests. Times are in UTC; an event counts "
        "under each of "
        "its tags."
    )


def test_the_section_in_korean_on_the_page_and_in_the_summary(tmp_path: Path) -> None:
    sections = list(report.sections(document(tmp_path / "r", "ko")))
    assert "제안 8건 가운데 6건이 수락되었습니다" in as_markdown(sections)
    page = as_html(sections)
    assert "링크 제안" in page and "2026-03-01" in page and "95 % 구간" in page


def test_without_events_only_the_vault_is_told_and_nothing_of_other_runs(tmp_path: Path) -> None:
    text = as_markdown(report.sections(document(tmp_path / "r", acceptance=None)))
    assert text.count("\n\n") == 1 and "1,200 notes" in text
    other = Document.of(open_run(write_run(tmp_path / "o", {}, {})))
    assert list(report.sections(other)) == []


def test_a_long_time_is_told_by_its_end(tmp_path: Path) -> None:
    days = {f"2026-{month:02}": rate(2, 1) for month in range(1, 13)} | {
        f"2027-{m:02}": rate(2, 1) for m in range(1, 14)
    }
    found = {**ACCEPTANCE, "period": "month", "time": days}
    text = as_markdown(report.sections(document(tmp_path / "r", acceptance=found)))
    rows = [line.split(" ")[1] for line in text.splitlines() if line.startswith("| 202")]
    assert "| Month |" in text and (len(rows), rows[0], rows[-1]) == (24, "2026-02", "2027-13")


@pytest.mark.parametrize(("language", "line"), [("en", "6 of 8 suggestions"), ("ko", "제안 8건 가운데 6건")])
def test_the_terminal_shows_all_and_time(tmp_path: Path, language: str, line: str) -> None:
    lines = [" ".join(each.split()) for each in as_lines(report.sections(document(tmp_path / "r", language)))]
    assert any(line in each for each in lines)
    assert "2026-03-02 4 4 100.0% 10.0% – 90.0%" in lines and not any("a|b" in each for each in lines)


def test_a_case_is_told_as_a_place_with_suggestions() -> None:
    facts = facts_of(ROW, 5, EN.of("links"), report.case_facts)
    found = {fact.title: "".join(lines_of(fact)) for fact in facts}
    assert found["Place"] == "We boil it."
    assert (found["Note"], found["Text around it"]) == ("tea.md", "First we boil it.")
    assert (found["Expected links"], found["Reason of the first suggestion"]) == ("water.md", "Both are round.")
    assert found["Suggested (✓ expected)"] == "1. pot.md Pot (0.50); 2. water.md ✓ Water (0.25)"
    assert found["Why"] == "ranked below k"
    page = dict(details(facts_of(ROW, 5, KO.of("links"), report.case_facts)))
    assert page["제안 (✓ 기대 링크)"] == [
        (0, "1. 0.50", "pot.md Pot (이미 링크됨)", "Both are round."),
        (1, "2. 0.25 ✓", "water.md Water", None),
    ]
