from pathlib import Path
from typing import Any

from runner.report.html.agent_sections import agent
from runner.report.html.details import details_of, shown

from runner.report.document import Document
from runner.words.wording import LANGUAGES
from tests.agent_runs import AGENT, OUTPUT, TRAJECTORY
from tests.run_documents import document_of

EN = LANGUAGES["en"]


def page(folder: Path, found: Any) -> Document:
    return document_of(folder, {"agent": found})


def test_the_section_of_a_run(tmp_path: Path) -> None:
    section = agent(page(tmp_path / "r", AGENT))
    assert section is not None and section.title == "What the agent did"
    assert section.body.count("<table") == 2
    assert '<td class="number">+0.2500</td>' in section.body
    assert "Calls of tools: get_section 3, search_all 15." in section.body


def test_a_run_without_an_agent_has_no_section(tmp_path: Path) -> None:
    assert agent(page(tmp_path / "r", None)) is None


def test_each_call_of_a_question_can_be_opened() -> None:
    found = dict(details_of({"output": OUTPUT, "metrics": {}, "status": "ok"}, 5, EN))
    first, second, end = found["What the agent did"]
    assert first[:3] == (0, "1.", "search_all(query=“EC2 비용”)")  # type: ignore[comparison-overlap]
    assert "not enough" in str(first[3]) and "failed" in str(second[3])
    assert end == (0, "–", "Stopped: nothing more to try. Result: “no document was found”. failed: request limit", None)


def test_what_an_agent_wrote_is_text() -> None:
    hostile = {**TRAJECTORY["calls"][0], "arguments": {"query": "<script>"}, "missing": ["<b>"]}
    output = {**OUTPUT, "trajectory": {**TRAJECTORY, "calls": [hostile]}}
    html = shown(details_of({"output": output, "metrics": {}, "status": "ok"}, 5, EN))
    assert "&lt;script&gt;" in html and "&lt;b&gt;" in html and "<script>" not in html
