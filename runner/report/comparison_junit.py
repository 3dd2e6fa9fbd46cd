"""The regression rules of comparisons, and the values that a run was to reach, as JUnit XML, which systems of
continuous integration show as tests.

One test suite for each comparison: a test for whether the runs are comparable, one for each rule, one for each case
that must not break. A rule that was not evaluated, or that is underpowered, is skipped, not passed. One test suite for
the thresholds of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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


def write_junit(path: Path, records: Sequence[Record], say: Wording, run: Document | None = None) -> None:
    """Write a JUnit file of comparisons, and of the thresholds of a run that has some."""
    root = Element("testsuites", name="runner compare" if records else "runner")
    for record in records:
        _suite(root, record, say)
    if run is not None and records_of(run):
        _thresholds(root, run)
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name) or 0) for suite in root)))
    indent(root)
    with replacing(path) as scratch:
        ElementTree(root).write(scratch, encoding="utf-8", xml_declaration=True)


def _suite(root: Element, record: Record, say: Wording) -> None:
    say = own_wording(say, record)
    name = say("compare.panel", baseline=record["baseline"]["label"], candidate=record["candidate"]["label"])
    suite = SubElement(root, "testsuite", name=_clean(name))
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
    _count(suite)


def _thresholds(root: Element, run: Document) -> None:
    say = run.say
    suite = SubElement(root, "testsuite", name=_clean(f"{say('threshold.title')}: {run.run.get('id', '')}"))
    for record in records_of(run):
        test = _case(suite, f"{name_of(record, run)} {limit_text(record, say)}", "threshold")
        if record["status"] != "passed":
            _failure(test, record["problem"] or line_of(record, run), "threshold")
    SubElement(suite, "system-out").text = _clean("\n".join(line_of(record, run) for record in records_of(run)))
    _count(suite)


def _count(suite: Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name in ("failure", "skipped"):
        suite.set("failures" if name == "failure" else name, str(len(suite.findall(f"testcase/{name}"))))


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
