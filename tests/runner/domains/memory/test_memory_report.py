from pathlib import Path
from typing import Any

import pytest

from runner.domains.memory import report
from runner.report.case import facts_of
from runner.words.wording import LANGUAGES
from tests.memory_runs import MEMORY, bin_of
from tests.run_documents import as_html, as_lines, as_markdown, document_of

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]


def markdown(folder: Path, memory: Any = MEMORY, language: str = "en") -> str:
    return as_markdown(report.sections(document_of(folder, {"memory": memory}, language)))


def test_the_section_in_english(tmp_path: Path) -> None:
    lines = markdown(tmp_path / "r").splitlines()
    assert lines[0] == "## Memory"
    assert lines[2] == "### How long facts are kept"
    assert lines[4:8] == [
        "| Turns since it was said | Facts asked for | Still shown | 95 % interval |",
        "| --- | ---: | ---: | ---: |",
        "| 0-4 | 4 | 1.0000 | [0.5100, 1.0000] |",
        "| 10-19 | 2 | 0.5000 | [0.0945, 0.9055] |",
    ]
    assert lines[9:13] == [
        "| Updates since it was said | Facts asked for | Still shown | 95 % interval |",
        "| --- | ---: | ---: | ---: |",
        "| 0 | 4 | 1.0000 | [0.5100, 1.0000] |",
        "| 1 | 2 | 0.5000 | [0.0945, 0.9055] |",
    ]
    used = lines.index("### Composition of the context")
    assert lines[used + 2 : used + 7] == [
        "| Section | Tokens (mean) | Budget | Probes with something cut |",
        "| --- | ---: | ---: | ---: |",
        "| summary | 123.5 | 500 | 0 |",
        "| recent turns | 1,234.5 | 1,500 | 3 |",
        "| retrieved turns | 0.0 | none | 0 |",
    ]
    assert lines[-1] == (
        "Turns stored: 1,200. Updates of summaries: 24. Summaries over a limit, shortened by code: 2. "
        "Failed updates (their turns stay for the next one): 1."
    )


def test_the_section_in_korean(tmp_path: Path) -> None:
    text = markdown(tmp_path / "r", language="ko")
    for part in (
        "## 메모리",
        "### 사실 유지 기간",
        "| 말한 뒤 지난 턴 수 | 물어본 사실 수 | 남아 있는 비율 | 95 % 구간 |",
        "| 말한 뒤 갱신 횟수 | 물어본 사실 수 | 남아 있는 비율 | 95 % 구간 |",
        "| 10-19 | 2 | 0.5000 | [0.0945, 0.9055] |",
        "| 최근 턴 | 1,234.5 | 1,500 | 3 |",
        "| 검색된 턴 | 0.0 | 없음 | 0 |",
        "저장한 턴 1,200개, 요약 갱신 24회, 한도를 넘어 코드로 자른 요약 2회, 실패한 갱신 1회",
    ):
        assert part in text


def test_a_run_without_a_memory_has_no_section(tmp_path: Path) -> None:
    assert markdown(tmp_path / "r", {}) == ""


def test_a_memory_that_no_fact_was_asked_of_shows_what_contexts_were_made_of(tmp_path: Path) -> None:
    """As of data sets whose probes have answers, but no planted facts."""
    nothing = {**MEMORY, "retention": {"turns": [], "updates": []}}
    text = markdown(tmp_path / "r", nothing)
    assert "How long facts are kept" not in text and "Composition of the context" in text
    assert as_lines(report.sections(document_of(tmp_path / "t", {"memory": nothing}))) == []


def test_the_terminal_shows_retention_by_turns_of_bins_with_facts(tmp_path: Path) -> None:
    lines = as_lines(report.sections(document_of(tmp_path / "r", {"memory": MEMORY}, "ko")))
    assert lines[:2] == ["메모리:", "사실 유지 기간:"]
    assert [line.split() for line in lines[3:]] == [
        ["0-4", "4", "1.0000", "[0.5100,", "1.0000]"],
        ["10-19", "2", "0.5000", "[0.0945,", "0.9055]"],
    ]


def test_the_page_draws_each_curve_above_its_table(tmp_path: Path) -> None:
    page = as_html(report.sections(document_of(tmp_path / "r", {"memory": MEMORY})))
    assert page.count('class="plot"') == 2 and page.count("<table") == 3 and "legend" not in page
    one = {**MEMORY, "retention": {"turns": [bin_of("0-4", 4, 1.0, 0.51, 1.0)], "updates": []}}
    assert "<svg" not in as_html(report.sections(document_of(tmp_path / "s", {"memory": one})))  # no curve


def test_facts_of_a_probe_say_what_the_context_shows() -> None:
    """In the place of expected documents."""
    output = {
        "query": "?", "after_turn": 7, "facts": [{"value": "a", "shown": True}, {"value": "b", "shown": False}],
        "stale": [{"value": "c", "shown": True}],
    }  # fmt: skip
    facts = [(fact.title, fact.text) for fact in facts_of({"output": output}, None, EN, report.case_facts)]
    assert facts == [
        ("Question", "?"),
        ("Facts (✓ in the context)", "a ✓, b"),
        ("Outdated facts (✓ in the context)", "c ✓"),
    ]
    never = {"output": {"query": "?", "after_turn": 7, "answerable": False}}
    assert facts_of(never, None, EN, report.case_facts)[1].text == "no answer: the conversation does not say it"


def test_both_languages_have_the_same_words() -> None:
    keys = [
        {key for key in say.texts if key.startswith(("memory.", "context.", "criterion.", "fault."))}
        for say in (EN, KO)
    ]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("chosen", "tokens", "warns"), [("http", 0.0, True), ("http", 5.0, False), ("none", 0.0, False)]
)
def test_a_memory_that_was_empty_for_all_probes_is_a_warning(
    tmp_path: Path, chosen: str, tokens: float, warns: bool
) -> None:
    empty = {"sections": {"retrieved": {"tokens": tokens, "budget": 500, "cut": 0}}}
    summary = {"memory": MEMORY | empty, "cases": {"total": 130, "ok": 127}}
    document = document_of(tmp_path / "r", summary, run={"choices": {"memory": chosen}})
    text = as_markdown(report.sections(document))
    assert ("The memory was empty for all 127 probes: these are results without a memory." in text) is warns
