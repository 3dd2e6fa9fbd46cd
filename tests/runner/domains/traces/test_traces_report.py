import json
from pathlib import Path
from typing import Any

from runner.domains.traces import report
from runner.report import metrics
from runner.report.blocks import Cases
from runner.report.case import facts_of, worst
from runner.report.cases import cases
from runner.report.document import Document
from runner.report.markdown import markdown
from runner.report.run import facts
from runner.report.summary import render
from runner.report.sweep import read_sweep
from runner.system.folder import open_run
from runner.words.wording import LANGUAGES
from tests.run_documents import as_html, as_lines, as_markdown, document_of
from tests.run_folders import dump, estimate, row, write_run, write_sweep_folder
from tests.trace_runs import ROW, TRACE, swept

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]


CONFIG = {"evaluation": {"_target_": "plugins.evaluation.trace_quality.TraceQuality"}}


def document(folder: Path, trace: Any = TRACE, language: str = "en") -> Document:
    run = {"evaluation_type": "trace_quality", "config": {"report": {"language": language}, **CONFIG}}
    return document_of(folder, {"trace": trace}, language, run)


def test_the_section_in_english(tmp_path: Path) -> None:
    text = as_markdown(report.sections(document(tmp_path / "r")))
    assert text == (
        "## Reasoning traces\n\n"
        "### Scores by domain\n\n"
        "| Domain | Traces | Mean | 10th percentile | Median | 90th percentile |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| code | 3 | 0.5000 | 0.2000 | 0.4500 | 0.9000 |\n"
        "| 의료 | 5 | 0.6250 | 0.1000 | 0.7000 | 0.7500 |\n\n"
        "### Composition of the scores\n\n"
        "| Dimension | Share of the score |\n"
        "| --- | ---: |\n"
        "| Complexity | 25.0% |\n"
        "| Novelty | 12.5% |\n"
        "| Tool Diversity | 12.5% |\n"
        "| Outcome | 50.0% |\n\n"
        "Weighted share of each dimension in the sum of all scores, before the rules apply.\n\n"
        "### Rules that fired\n\n"
        "| Rule | Traces | Share of traces |\n"
        "| --- | ---: | ---: |\n"
        "| a single thought and nothing else (score 0.1) | 2 | 25.0% |\n"
        "| more than two recoveries from errors, and success (+0.1) | 0 | 0.0% |\n"
        "| one tool only (−0.1) | 4 | 50.0% |\n\n"
        "### Effect of the weights\n\n"
        "| Profile | default | code | medical |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| default | 1.000 | 0.750 | 0.500 |\n"
        "| code | 0.750 | 1.000 | 0.250 |\n"
        "| medical | 0.500 | 0.250 | 1.000 |\n\n"
        "Kendall's tau-b between the orders in which two profiles put the same traces: 1 the same order, 0 unrelated, "
        "−1 reversed.\n\n"
        "The orders of code and medical agree least (tau 0.250).\n\n"
        "### Agreement with ratings\n\n"
        "| Coefficient | Value | 95 % interval |\n"
        "| --- | ---: | ---: |\n"
        "| Spearman's rho | 0.800 | [0.100, 0.950] |\n"
        "| Kendall's tau | 0.600 |  |\n\n"
        "6 traces have a rating.\n\n"
        "Outliers among the traces of their domain (robust z above 3.5): a\\|b, c."
    )


def test_the_section_in_korean(tmp_path: Path) -> None:
    text = as_markdown(report.sections(document(tmp_path / "r", language="ko")))
    for line in (
        "## 추론 추적",
        "| 의료 | 5 | 0.6250 | 0.1000 | 0.7000 | 0.7500 |",
        "| 도구 다양성 | 12.5% |",
        "| 단일 단계 벌점: 생각 한 번뿐임(점수 0.1) | 2 | 25.0% |",
        "순위가 가장 다른 두 프로필은 code, medical입니다(타우 0.250).",
        "평점이 있는 추적은 6개입니다.",
        "도메인 안에서 이상치인 추적(로버스트 z 3.5 초과): a\\|b, c.",
    ):
        assert line in text.splitlines()


def test_summary_md_holds_it_and_without_traces_it_does_not(tmp_path: Path) -> None:
    assert "\n## Reasoning traces\n" in render(document(tmp_path / "r"))
    assert "Reasoning traces" not in render(document(tmp_path / "s", trace={}))


def test_one_profile_no_ratings_and_no_outliers(tmp_path: Path) -> None:
    found = {**TRACE, "sensitivity": {"profiles": ["default"], "tau": [[1.0]]}, "outliers": []}
    del found["agreement"]
    text = as_markdown(report.sections(document(tmp_path / "r", found)))
    assert "Effect of the weights" not in text and "Agreement" not in text
    assert text.endswith("No trace is an outlier in its domain (robust z above 3.5).")


def test_profiles_that_put_traces_in_no_order_or_the_same(tmp_path: Path) -> None:
    none = {"sensitivity": {"profiles": ["a", "b"], "tau": [[1.0, None], [None, 1.0]]}}
    text = as_markdown(report.sections(document(tmp_path / "r", {**TRACE, **none})))
    assert "| a | 1.000 | – |\n| b | – | 1.000 |" in text and "agree least" not in text
    same = {"sensitivity": {"profiles": ["a", "b"], "tau": [[1.0, 1.0], [1.0, 1.0]]}}
    assert "agree least" not in as_markdown(report.sections(document(tmp_path / "s", {**TRACE, **same})))


def test_many_outliers_are_counted(tmp_path: Path) -> None:
    found = {**TRACE, "outliers": [f"t{number}" for number in range(23)]}
    assert as_markdown(report.sections(document(tmp_path / "e", found))).endswith("t18, t19 and 3 more.")
    assert as_markdown(report.sections(document(tmp_path / "k", found, "ko"))).endswith("t18, t19 외 3개.")


def test_the_terminal(tmp_path: Path) -> None:
    lines = as_lines(report.sections(document(tmp_path / "e")), 74)
    words = [" ".join(line.split()) for line in lines]
    assert "code 3 0.5000 0.2000 0.4500 0.9000" in words
    assert "one tool only (−0.1) 4 50.0%" in words
    assert "The orders of code and medical agree least (tau 0.250)." in words
    assert max(map(len, lines)) <= 74
    korean = [" ".join(line.split()) for line in as_lines(report.sections(document(tmp_path / "k", language="ko")))]
    assert "제로 다양성 벌점: 도구를 한 가지만 씀(−0.1) 4 50.0%" in korean


def test_the_page(tmp_path: Path) -> None:
    page = as_html(report.sections(document(tmp_path / "r")))
    assert page.count("<table") == 5 and page.count('class="bar"') == 2 and page.count('class="plot"') == 1
    assert "The orders of code and medical agree least (tau 0.250)." in page and "a|b, c" in page
    hostile = {**TRACE, "domains": {"<script>": TRACE["domains"]["code"]}, "outliers": ["<b>"]}
    page = as_html(report.sections(document(tmp_path / "h", hostile)))
    assert "<script>" not in page and "&lt;script&gt;" in page and "&lt;b&gt;" in page


def test_runs_of_a_sweep_by_domain(tmp_path: Path) -> None:
    less = {**TRACE, "domains": {"code": TRACE["domains"]["code"]}}
    sweep = read_sweep(swept(tmp_path / "s", ("code", "medical"), TRACE, less))
    text, page = (show(report.sweep_sections(sweep)) for show in (as_markdown, as_html))
    assert "| profile=medical | 0.5000 [0.2000, 0.9000] | – |" in text
    assert page.count("The orders of code and medical agree least (tau 0.250).") == 1
    assert page.count('class="whisker"') == 9  # three lines for each of three values
    assert any("a higher score under another profile does not mean better traces" in text for text in sweep.warnings)
    other = read_sweep(write_sweep_folder(tmp_path / "o"))
    assert list(report.sweep_sections(other)) == []
    assert not any("Profiles weigh" in text for text in other.warnings)


def told(row: dict[str, Any], language: str = "en") -> dict[str, str]:
    say = LANGUAGES[language].of("trace_quality")
    return {fact.title: fact.text for fact in facts_of(row, None, say, report.case_facts)}


def test_how_a_trace_came_to_its_score() -> None:
    assert told(ROW) == {
        "Objective": "Find the fault",
        "Weights of code": "Complexity 0.8 × 0.25 + Novelty 0.5 × 0.4 + Tool Diversity 1 × 0.1 "
        "+ Outcome 0.5 × 0.2 = 0.6000",
        "Rules that fired": "one tool only (−0.1): 0.5000",
        "What the agent reported": "success, confidence 0.5, steps: 4",
        "Scores": "Trace Score 0.50",
    }
    plain = {**ROW, "output": {**ROW["output"], "rules": [], "success": False}}
    found = told(plain, "ko")
    assert found["적용된 규칙"] == "없음" and found["에이전트가 보고한 내용"] == "실패, 확신도 0.5, 4단계"


def test_what_scores_hang_on_stands_beside_what_ran(tmp_path: Path) -> None:
    run = {
        "choices": {"profile": "medical", "novelty": "local"},
        "config": {
            "novelty": {"order": "time"},
            "evaluation": {"_target_": "plugins.evaluation.trace_quality.TraceQuality"},
        },
        "identity": {"trace_weights": "f967d21e87c8"},
    }
    found = dict(facts(Document.of(open_run(write_run(tmp_path / "r", run)))))
    assert (found["Profile"], found["Novelty"]) == ("medical", "local (order=time)")
    unweighed = dict(facts(Document.of(open_run(write_run(tmp_path / "s", {"choices": {"profile": "auto"}})))))
    assert not {"Profile", "Novelty"} & set(unweighed)


def test_traces_are_no_questions_that_fail(tmp_path: Path) -> None:
    for say, line in ((EN, "The lowest scores first."), (KO, "점수가 낮은 순입니다.")):
        section = worst(document(tmp_path / say.language, language=say.language))
        assert section is not None and as_markdown([section]).split("\n\n")[1].startswith(line)


def test_scores_of_traces_have_no_grades(tmp_path: Path) -> None:
    write_run(tmp_path, {}, {"trace": TRACE})
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    dump(tmp_path / "summary.json", {**summary, "metrics": {"score": estimate(0.5, 2)}})
    assert markdown([metrics.metrics(Document.of(open_run(tmp_path)))]) == (
        "## Metrics\n\n"
        "| Metric | Value | 95 % interval | Scored |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| Trace Score | **0.5000** | [0.4500, 0.5500] | 2/2 |"
    )


def test_a_trace_ends_with_success_or_without(tmp_path: Path) -> None:
    """It is no question that somebody could have answered rightly."""
    rows = [
        {**row(id), "labels": {}, "metrics": ROW["metrics"], "output": {**ROW["output"], "success": won}}
        for id, won in (("t1", True), ("t2", False))
    ]
    write_run(tmp_path, {"evaluation_type": "trace_quality", "config": CONFIG}, {"trace": TRACE}, rows=rows)
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    dump(tmp_path / "summary.json", {**summary, "metrics": {"score": estimate(0.5, 2), "outcome": estimate(0.5, 2)}})
    section = cases(Document.of(open_run(tmp_path)), {})
    (table,) = (block for block in section.blocks if isinstance(block, Cases))
    results: Any = table.data["choices"]
    assert dict(zip(results["outcome"]["names"], results["outcome"]["bad"], strict=True)) == {
        "success": False, "no success": True
    }  # fmt: skip
    page = as_html([section])
    assert ">right<" not in page and "no success (1)" in page and "failing (" not in page
    assert "<p>The lowest scores come first. " in page
    assert [title for _, title in table.columns][1:3] == ["Result", "Trace Score"]
