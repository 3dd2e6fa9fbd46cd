"""The regression rules of comparisons, and the values that a run was to reach, as JUnit XML, which systems of
continuous integration show as tests.

One test suite for each comparison: a test for whether the runs are comparable, one for each rule, one for each case
that must not break. A rule that was not evaluated, or that is underpowered, is skipped, not passed. One test suite for
the thresholds of a run.
The file of a sweep has one test suite for each of its runs, with all of these tests, and one for whether it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from runner.report.comparison import RULE_HEADERS, rule_cells
from runner.report.comparison_words import (
    Record,
    changes,
    cluster_lines,
    gate_lines,
    headline,
    own_wording,
    reason_text,
    rule_name,
    underpowered_text,
    unfired_lines,
    warnings,
)
from runner.report.document import Document
from runner.report.thresholds import limit_text, line_of, name_of, records_of
from runner.system.terminal import visible
from runner.system.writing import no_place_for_a_file, replacing
from runner.words.wording import Wording

START = b"<?xml"


def no_place_for_junit(path: Path) -> str | None:
    """Why the rules cannot be written there: earlier ones are written over, another file is not."""
    if (problem := no_place_for_a_file(path)) is not None:
        return problem
    with suppress(OSError), path.open("rb") as file:
        if file.read(len(START)) not in (START, b""):
            return f"{path} exists and is not an XML file; name another one, or remove it"
    return None


@dataclass(frozen=True, slots=True)
class CellResult:
    """One run of a sweep: what it was made with; why it did not end, if so; its comparison and its thresholds."""

    name: str
    error: str
    record: Record | None
    run: Document | None


def write_junit(path: Path, records: Sequence[Record], say: Wording, run: Document | None = None) -> None:
    """Write a JUnit file of comparisons, and of the thresholds of a run that has some."""
    root = Element("testsuites", name="runner compare" if records else "runner")
    for record in records:
        own = own_wording(say, record)
        name = own("compare.panel", baseline=record["baseline"]["label"], candidate=record["candidate"]["label"])
        suite = SubElement(root, "testsuite", name=_clean(name))
        _add_comparison(suite, record, say)
    if run is not None and records_of(run):
        name = f"{run.say('threshold.title')}: {run.run.get('id', '')}"
        _add_thresholds(SubElement(root, "testsuite", name=_clean(name)), run)
    _write(root, path)


def write_junit_of_sweep(path: Path, cells: Sequence[CellResult], say: Wording) -> None:
    """Write a JUnit file with a test suite for each run of a sweep."""
    root = Element("testsuites", name="runner")
    for cell in cells:
        suite = SubElement(root, "testsuite", name=_clean(cell.name))
        ended = _case(suite, "run", "run")
        if cell.error:
            _failure(ended, cell.error, "run")
        if cell.record is not None:
            _add_comparison(suite, cell.record, say)
        if cell.run is not None and records_of(cell.run):
            _add_thresholds(suite, cell.run)
    _write(root, path)


def _write(root: Element, path: Path) -> None:
    for suite in root:
        suite.set("tests", str(len(suite.findall("testcase"))))
        for kind, name in (("failure", "failures"), ("skipped", "skipped")):
            suite.set(name, str(len(suite.findall(f"testcase/{kind}"))))
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name) or 0) for suite in root)))
    indent(root)
    with replacing(path) as scratch:
        ElementTree(root).write(scratch, encoding="utf-8", xml_declaration=True)


def _add_comparison(suite: Element, record: Record, say: Wording) -> None:
    say = own_wording(say, record)
    comparable = _case(suite, "comparable")
    problems = warnings(record, say)
    if record["exit_code"] == 5:
        _failure(comparable, " ".join(problems))
    for message in unfired_lines(record, say):
        SubElement(_case(suite, "verdict"), "skipped", message=_clean(message))
    for rule in record["gate"]["rules"]:
        _rule(_case(suite, rule_name(rule, record, say)), rule, record, say)
    for case in record["gate"]["cases"]:
        test = _case(suite, say("compare.case", id=case["id"]))
        if case["status"] == "fired":
            lost_at = say.name("lost_at", case["lost_at"]) if case["lost_at"] else say("none")
            _failure(test, say("compare.case_fired", lost_at=lost_at))
        elif case["status"] != "passed":
            SubElement(test, "skipped", message=say("compare.case_not_evaluated"))
    SubElement(suite, "system-out").text = _clean(
        "\n".join([headline(record, say), *changes(record, say), *cluster_lines(record, say), *gate_lines(record, say)])
    )


def _add_thresholds(suite: Element, run: Document) -> None:
    say = run.say
    for record in records_of(run):
        test = _case(suite, f"{name_of(record, run)} {limit_text(record, say)}", "threshold")
        if record["status"] == "undecided":
            SubElement(test, "skipped", message=_clean(line_of(record, run)))
        elif record["status"] != "passed":
            _failure(test, record["problem"] or line_of(record, run), "threshold")
    SubElement(suite, "system-out").text = _clean("\n".join(line_of(record, run) for record in records_of(run)))


def _case(suite: Element, name: str, kind: str = "regression") -> Element:
    return SubElement(suite, "testcase", classname=kind, name=_clean(name))


def _failure(test: Element, message: str, kind: str = "regression") -> None:
    SubElement(test, "failure", message=_clean(message), type=kind)


def _rule(test: Element, rule: Record, record: Record, say: Wording) -> None:
    if rule["status"] == "passed":
        return
    if rule["status"] == "underpowered":
        text = underpowered_text(rule, record, say)
        SubElement(test, "skipped", message=_clean(f"{say.name('gate', rule['status'])}: {text}"))
        return
    if rule["status"] != "fired":
        reasons = "; ".join(reason_text(reason, say) for reason in rule["reasons"])
        status = say.name("gate", rule["status"])
        SubElement(test, "skipped", message=_clean(f"{status}: {reasons}" if reasons else status))
        return
    cells = zip(RULE_HEADERS[1:-1], rule_cells(rule, record, say)[1:-1], strict=True)
    _failure(test, ", ".join(f"{say(f'compare.{name}')} {cell}" for name, cell in cells if cell != say("none")))


def _clean(text: str) -> str:
    """A text without characters that XML does not allow, and without invisible ones."""
    return "".join("\ufffd" if each in "\ufffe\uffff" else each if each == "\n" else visible(each) for each in text)
