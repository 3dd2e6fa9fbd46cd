import json
from pathlib import Path
from typing import Any

from runner.report.worst_section import facts_of

from runner.report import agent_section, metric_sections
from runner.report.document import Document
from runner.system.folder import open_run
from runner.words.wording import LANGUAGES
from tests.agent_runs import AGENT, OUTPUT, TRAJECTORY
from tests.run_documents import document_of
from tests.run_folders import dump, estimate, write_run
from tests.shown_panels import lines_of

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]


def markdown(folder: Path, agent: Any = AGENT, language: str = "en") -> str:
    return agent_section.agent(document_of(folder, {"agent": agent}, language))


def test_the_section_in_english(tmp_path: Path) -> None:
    lines = markdown(tmp_path / "r").splitlines()
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
    text = markdown(tmp_path / "r", {**AGENT, "steps": steps})
    assert "| Call | Questions | Recall@5 after it | Gain | Errors |" in text
    assert "| 2 | 4 | 0.7500 | \\+0.2500 | 2 |" in text


def test_the_section_in_korean(tmp_path: Path) -> None:
    text = markdown(tmp_path / "r", language="ko")
    for part in (
        "## 에이전트가 한 일",
        "| 응답 | 질문 수 | 비율 | 답변 가능 | 답변 불가 |",
        "| “관련 문서 없음” 안내 | 4 | 40.0% | 1 | 3 |",
        "종료 이유: 호출 한도 도달 4, 컨텍스트 충분 6.",
        "| 호출 | 질문 수 | 호출 후 Recall@5 | 증가분 | 입력 토큰 | 출력 토큰 | USD | 오류 |",
    ):
        assert part in text


def test_its_ranking_stands_beside_the_one_without_it(tmp_path: Path) -> None:
    metrics = {"recall_at_k": estimate(0.9, 4), "base/recall_at_k": estimate(0.8, 4)}
    folder = write_run(tmp_path / "r")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    dump(folder / "summary.json", {**summary, "metrics": metrics})
    document = Document.of(open_run(folder))
    assert metric_sections.legs(document).splitlines() == [
        "### With and without the agent",
        "",
        "| Metric | with the agent | without |",
        "| --- | ---: | ---: |",
        "| Recall@5 | 0.9000 | 0.8000 |",
    ]


def test_a_run_without_an_agent_has_no_section(tmp_path: Path) -> None:
    assert markdown(tmp_path / "r", agent=None) == ""
    assert agent_section.panel({}, EN) is None


def test_the_panel() -> None:
    shown = agent_section.panel({"agent": AGENT, "k": 5}, EN)
    assert shown is not None
    assert lines_of([shown], width=76) == [
        "Agent: How it ended",
        "  an answer: 6 (60.0%)",
        "  “no document was found”: 4 (40.0%)",
        "Calls:",
        "  1. n=10, Recall@5 0.5000, 1,254 tokens",
        "  2. n=4, Recall@5 0.7500 (+0.2500)",
        "  3. n=1, Recall@5 –",
    ]


def test_the_way_of_one_question() -> None:
    assert agent_section.way(OUTPUT, EN) == [
        (
            "search_all(query=“EC2 비용”)",
            "2 chunks; best: guide#1 ✓, faq#0; not enough; confidence 0.40; missing: 절차, 조건; "
            "advice: search for “예약 인스턴스”; 1,034 tokens, $0.0012",
        ),
        (
            "search_by_metadata(query=“예약 인스턴스”, has_steps=true)",
            "nothing; failed: no chunk has a tag 'has_steps'; best: guide#1 ✓, faq#0",
        ),
        ("", "Stopped: nothing more to try. Result: “no document was found”. failed: request limit"),
    ]
    assert agent_section.way({"trajectory": {"calls": [], "stopped": "sufficient"}}, KO) == [
        ("", "종료 이유: 컨텍스트 충분. 결과: 일반 답변.")
    ]
    assert agent_section.way({"query": "q"}, EN) == []


def test_a_case_tells_it() -> None:
    facts = dict(facts_of({"output": OUTPUT, "metrics": {}, "status": "ok"}, 5, KO))
    assert facts["에이전트가 한 일"].startswith(
        "1. search_all(query=“EC2 비용”) → 청크 2개; 상위: guide#1 ✓, faq#0; 불충분;"
    )
    assert facts["에이전트가 한 일"].endswith("결과: “관련 문서 없음” 안내. 실패: request limit")
    section = {"tool": "get_section", "arguments": {"chunk_id": "a#1"}, "found": ["a#0"], "ranked": []}
    told = agent_section.way({"trajectory": {**TRAJECTORY, "calls": [{**section, "next_action": "get_section"}]}}, EN)
    assert told[0] == ("get_section(chunk_id=“a#1”)", "1 chunks; advice: open the section")
