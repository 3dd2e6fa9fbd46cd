import json
from pathlib import Path
from typing import Any

from runner.report.html.cases import cases_of
from runner.report.html.cases_section import cases_section

from runner.report.document import Document
from runner.report.html.metric_sections import panels
from runner.report.html.trace_quality_sections import by_profile, traces
from runner.report.sweep import read_sweep
from runner.system.folder import open_run
from tests.run_documents import document_of
from tests.run_folders import dump, estimate, row, write_run, write_sweep_folder
from tests.trace_runs import ROW, TRACE, swept


def page(folder: Path, trace: Any) -> Document:
    return document_of(folder, {"trace": trace})


def test_the_section_of_a_run(tmp_path: Path) -> None:
    section = traces(page(tmp_path / "r", TRACE))
    assert section is not None and section.title == "Reasoning traces"
    assert section.body.count("<table") == 5
    assert section.body.count("<svg") == 2  # a bar for each domain, none for the profiles of the same names
    assert '<td class="number">0.6250</td>' in section.body
    assert "The orders of code and medical agree least (tau 0.250)." in section.body
    assert "a|b, c" in section.body


def test_names_of_domains_are_text(tmp_path: Path) -> None:
    hostile = {**TRACE, "domains": {"<script>": TRACE["domains"]["code"]}, "outliers": ["<b>"]}
    section = traces(page(tmp_path / "r", hostile))
    assert section is not None
    assert "<script>" not in section.body and "&lt;script&gt;" in section.body and "&lt;b&gt;" in section.body


def test_a_run_without_traces_has_no_section(tmp_path: Path) -> None:
    assert traces(page(tmp_path / "r", None)) is None


def test_runs_of_a_sweep_by_domain(tmp_path: Path) -> None:
    less = {**TRACE, "domains": {"code": TRACE["domains"]["code"]}}
    sweep = read_sweep(swept(tmp_path / "s", ("code", "medical"), TRACE, less))
    section = by_profile(sweep)
    assert section is not None
    assert '<th scope="row">profile=medical</th><td class="number">0.5000</td><td class="number">–</td>' in section.body
    assert (
        '<th scope="row">profile=code</th><td class="number">0.5000</td><td class="number">0.6250</td>' in section.body
    )
    assert section.body.count("The orders of code and medical agree least (tau 0.250).") == 1
    assert section.body.count('class="whisker"') == 9  # three lines for each of three values
    assert any("a higher score under another profile does not mean better traces" in text for text in sweep.warnings)


def test_a_sweep_of_something_else(tmp_path: Path) -> None:
    sweep = read_sweep(write_sweep_folder(tmp_path / "s"))
    assert by_profile(sweep) is None
    assert not any("Profiles weigh" in text for text in sweep.warnings)


def test_a_trace_ends_with_success_or_without(tmp_path: Path) -> None:
    """It is no question that somebody could have answered rightly, and its scores have no grades."""
    rows = [
        {
            **row(id),
            "labels": {"domain": "code"},
            "metrics": ROW["metrics"],
            "output": {**ROW["output"], "success": won},
        }
        for id, won in (("t1", True), ("t2", False))
    ]
    metrics = {"score": estimate(0.5, 2), "outcome": estimate(0.5, 2)}
    write_run(tmp_path, {}, {"trace": TRACE}, rows=rows)
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    dump(tmp_path / "summary.json", {**summary, "metrics": metrics})
    document = Document.of(open_run(tmp_path))
    section, data = cases_section(document, cases_of(document, {}))
    results = data["choices"]["outcome"]
    assert dict(zip(results["names"], results["bad"], strict=True)) == {"success": False, "no success": True}
    assert ">right<" not in section.body
    assert "no success (1)" in section.body and "failing (" not in section.body
    assert "<p>The lowest scores come first. " in section.body
    assert [title for _, title in data["columns"]][1:3] == ["Result", "Trace Score"]
    panel = panels(document).body
    assert "Trace Score" in panel and "Grade" not in panel
