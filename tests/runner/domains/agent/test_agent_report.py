import json
from pathlib import Path
from typing import Any

from runner.domains.agent import report
from runner.report import metrics
from runner.report.blocks import CaseFacts, Fact, Item
from runner.report.case import facts_of
from runner.report.document import Document
from runner.report.markdown import lines_of, markdown
from runner.report.page import details, html
from runner.system.folder import open_run
from runner.words.wording import LANGUAGES, Wording
from tests.agent_runs import AGENT, OUTPUT, TRAJECTORY
from tests.run_documents import as_html, as_lines, as_markdown, document_of
from tests.run_folders import dump, estimate, write_run

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]


def text_of(folder: Path, agent: Any = AGENT, language: str = "en") -> str:
    return as_markdown(report.sections(document_of(folder, {"agent": agent}, language)))


def test_the_section_in_english(tmp_path: Path) -> None:
    lines = text_of(tmp_path / "r").splitlines()
    assert lines[0] == "## What the agent did"
    assert lines[2:10] == [
        "### How it ended",
        "",
        "| Answer | Questions | Share | answerable | unanswerable |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| an answer | 6 | 60.0% | 6 | 0 |",
        "| “no document was found” | 4 | 40.0% | 1 | 3 |",
        "",
        "Why it stopped: call limit reached 4, enough context 6.",
    ]
    steps = lines.index("### Gain of each call")
    assert lines[steps + 2 : steps + 7] == [
        "| Call | Questions | Recall@5 after it | Gain | Tokens in | Tokens out | USD | Errors |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 1 | 10 | 0.5000 | – | 1,234 | 20 | \\$0.0015 | 0 |",
        "| 2 | 4 | 0.7500 | \\+0.2500 | 0 | 0 | – | 2 |",
        "| 3 | 1 | – | – | 0 | 0 | \\$0 | 0 |",
    ]
    assert lines[-1] == "Calls of tools: get_section 3, search_all 15."


def test_tokens_are_told_where_models_were_asked(tmp_path: Path) -> None:
    steps = [{**step, "input_tokens": 0.0, "output_tokens": 0.0, "usd": 0.0} for step in AGENT["steps"]]
    text = text_of(tmp_path / "r", {**AGENT, "steps": steps})
    assert "| Call | Questions | Recall@5 after it | Gain | Errors |" in text
    assert "| 2 | 4 | 0.7500 | \\+0.2500 | 2 |" in text


def test_the_section_in_korean(tmp_path: Path) -> None:
    text = text_of(tmp_path / "r", language="ko")
    for part in (
        "## 에이전트가 한 일",
        "| 응답 | 질문 수 | 비율 | 답변 가능 | 답변 불가 |",
        "| “관련 문서 없음” 안내 | 4 | 40.0% | 1 | 3 |",
        "종료 이유: 호출 한도 도달 4, 컨텍스트 충분 6.",
        "| 호출 | 질문 수 | 호출 후 Recall@5 | 증가분 | 입력 토큰 | 출력 토큰 | USD | 오류 |",
    ):
        assert part in text


def test_its_ranking_stands_beside_the_one_without_it(tmp_path: Path) -> None:
    values = {"recall_at_k": estimate(0.9, 4), "base/recall_at_k": estimate(0.8, 4)}
    folder = write_run(tmp_path / "r")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    dump(folder / "summary.json", {**summary, "metrics": values})
    document = Document.of(open_run(folder))
    assert markdown([metrics.metrics(document)]).partition("### With")[2].splitlines() == [
        " and without the agent",
        "",
        "| Metric | with the agent | without |",
        "| --- | ---: | ---: |",
        "| Recall@5 | 0.9000 | 0.8000 |",
    ]


def test_a_run_without_an_agent_has_no_section(tmp_path: Path) -> None:
    assert text_of(tmp_path / "r", agent=None) == ""


def test_the_terminal(tmp_path: Path) -> None:
    lines = as_lines(report.sections(document_of(tmp_path / "r", {"agent": AGENT})))
    words = [" ".join(line.split()) for line in lines]
    assert words[:5] == [
        "What the agent did:",
        "How it ended:",
        "Answer Questions Share answerable unanswerable",
        "an answer 6 60.0% 6 0",
        "“no document was found” 4 40.0% 1 3",
    ]
    assert words[5:] == [
        "Gain of each call:",
        "Call Questions Recall@5 Gain",
        "1 10 0.5000 1,254 tokens",
        "2 4 0.7500 +0.2500",
        "3 1 –",
    ]


def test_the_page(tmp_path: Path) -> None:
    page = as_html(report.sections(document_of(tmp_path / "r", {"agent": AGENT})))
    assert page.count("<table") == 2 and '<td class="number">+0.2500</td>' in page
    assert "Calls of tools: get_section 3, search_all 15." in page


def told(output: dict[str, Any], say: Wording = EN) -> Fact | None:
    facts = facts_of({"output": output, "metrics": {}, "status": "ok"}, 5, say, report.case_facts)
    return next((fact for fact in facts if fact.title == say("agent.trajectory")), None)


def test_the_way_of_one_question() -> None:
    fact = told(OUTPUT)
    assert fact is not None
    assert [(item.lead, item.name, item.text) for item in fact.items] == [
        (
            "1.",
            "search_all(query=“EC2 비용”)",
            "2 chunks; best: guide#1 ✓, faq#0; not enough; confidence 0.40; missing: 절차, 조건; "
            "advice: search for “예약 인스턴스”; 1,034 tokens, $0.0012",
        ),
        (
            "2.",
            "search_by_metadata(query=“예약 인스턴스”, has_steps=true)",
            "nothing; failed: no chunk has a tag 'has_steps'; best: guide#1 ✓, faq#0",
        ),
        ("–", "Stopped: nothing more to try. Result: “no document was found”. failed: request limit", ""),
    ]
    ended = told({"trajectory": {"calls": [], "stopped": "sufficient"}}, KO)
    assert ended is not None and ended.items == [Item("종료 이유: 컨텍스트 충분. 결과: 일반 답변.", lead="–")]
    assert told({"query": "q"}) is None
    section = {"tool": "get_section", "arguments": {"chunk_id": "a#1"}, "found": ["a#0"], "ranked": []}
    advised = told({"trajectory": {**TRAJECTORY, "calls": [{**section, "next_action": "get_section"}]}})
    assert advised is not None
    assert advised.items[0] == Item("get_section(chunk_id=“a#1”)", "1.", text="1 chunks; advice: open the section")


def test_a_line_for_each_call_and_on_a_page_each_can_be_opened() -> None:
    fact = told(OUTPUT, KO)
    assert fact is not None
    lines = lines_of(fact)
    assert lines[0].startswith("1. search_all(query=“EC2 비용”) → 청크 2개; 상위: guide#1 ✓, faq#0; 불충분;")
    assert lines[-1].endswith("결과: “관련 문서 없음” 안내. 실패: request limit")
    ((_, (first, _, end)),) = details([fact])
    assert first[:3] == (0, "1.", "search_all(query=“EC2 비용”)") and "불충분" in first[3]
    assert end[1] == "–" and end[3] is None


def test_what_an_agent_wrote_is_text() -> None:
    hostile = {**TRAJECTORY["calls"][0], "arguments": {"query": "<script>"}, "missing": ["<b>"]}
    fact = told({**OUTPUT, "trajectory": {**TRAJECTORY, "calls": [hostile]}})
    assert fact is not None
    page = html([CaseFacts([fact])])
    assert "&lt;script&gt;" in page and "&lt;b&gt;" in page and "<script>" not in page
