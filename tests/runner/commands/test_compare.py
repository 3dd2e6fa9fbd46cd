import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from runner.commands import compare
from runner.commands.compare import rules_of
from runner.compare.regression import Rule
from runner.errors import ConfigError, DataError, InputError
from tests.comparison_runs import graded, run_folder

GOOD = [graded(f"q{n:02d}", 1.0) for n in range(20)]
BAD = [graded(f"q{n:02d}", 0.0 if n < 12 else 1.0) for n in range(20)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("good", GOOD), ("bad", BAD), ("same", GOOD)):
        run_folder(Path(name), rows)
    return tmp_path


def read(path: str) -> dict[str, Any]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_worse(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main(["good", "bad", "--out", "c"]) == 0
    shown = capsys.readouterr()
    assert "bad against good: worse" in shown.out and "▼ worse" in shown.out
    assert shown.err == "comparison in c\n"
    record = read("c/compare.json")
    assert (record["verdict"], record["exit_code"], record["gate"]["fired"]) == ("worse", 0, True)
    assert Path("c/compare.md").read_text(encoding="utf-8").startswith("# Comparison: bad against good\n")


def test_a_regression_ends_with_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main(["good", "bad", "--out", "c", "--fail-on-regression"]) == 4
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: bad: Regression: 3 of 4 rules fired (Hit Rate@3, MRR@10, Precision@5). See c/compare.md."
    )
    assert compare.main(["good", "same", "--out", "d", "--fail-on-regression"]) == 0
    assert compare.main(["bad", "good", "--out", "e", "--fail-on-regression"]) == 0


def test_the_latest_run_is_another_than_the_candidate() -> None:
    for number, rows in enumerate((GOOD, BAD)):
        dates = dict.fromkeys(("created_at", "updated_at"), f"2026-01-0{number + 1}T00:00:00Z")
        run_folder(Path(f"outputs/{number}"), rows, dates)
    compare.main(["latest:full_rag", "outputs/1", "--out", "c"])
    assert (read("c/compare.json")["baseline"]["label"], read("c/compare.json")["verdict"]) == ("outputs/0", "worse")


def test_several_candidates() -> None:
    assert compare.main(["good", "bad", "same", "--out", "c"]) == 0
    found = read("c/compare.json")
    assert found["kind"] == "runner.comparisons"
    assert [record["verdict"] for record in found["comparisons"]] == ["worse", "within_noise"]
    text = Path("c/compare.md").read_text(encoding="utf-8")
    assert text.startswith("# Comparisons with good\n") and text.count("\n# Comparison: ") == 2


def test_korean(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main(["good", "bad", "--out", "c", "--language", "ko"]) == 0
    assert "▼ 악화" in capsys.readouterr().out
    assert "후보가 더 나쁩니다" in Path("c/compare.md").read_text(encoding="utf-8")
    run_folder(Path("korean"), BAD, {"config": {"report": {"language": "ko"}}})
    assert compare.main(["good", "korean", "--out", "d"]) == 0
    assert "후보가 더 나쁩니다" in Path("d/compare.md").read_text(encoding="utf-8")


STRICT = ("--comparability", "strict")


def test_not_comparable_ends_with_5(capsys: pytest.CaptureFixture[str]) -> None:
    run_folder(Path("elsewhere"), BAD, {"identity": {"documents": "x" * 64}})
    assert compare.main(["good", "elsewhere", "--out", "c", "--fail-on-regression", *STRICT]) == 5
    assert "error: elsewhere: Not comparable: the two runs were not measured in the same way (different documents)" in (
        capsys.readouterr().err
    )
    assert compare.main(["good", "elsewhere", "--out", "d", "--allow-incomparable", *STRICT]) == 0
    assert "Recall@5 \\*" in Path("d/compare.md").read_text(encoding="utf-8")
    assert compare.main(["good", "elsewhere", "bad", "--out", "e", "--fail-on-regression", *STRICT]) == 5


def test_junit() -> None:
    compare.main(["good", "bad", "same", "--out", "c", "--junit", "reports/gate.xml"])
    compare.main(["good", "bad", "same", "--out", "c", "--junit", "reports/gate.xml"])  # over the earlier one
    root = ElementTree.parse("reports/gate.xml").getroot()
    assert {name: root.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "10", "failures": "3", "skipped": "0",
    }  # fmt: skip
    first, second = root
    assert first.get("name") == "bad against good" and second.get("failures") == "0"
    failed = [case.get("name") for case in first if case.find("failure") is not None]
    assert failed == ["Hit Rate@3", "MRR@10", "Precision@5"]
    message = first.find("testcase/failure").get("message")  # type: ignore[union-attr]
    assert message == "Baseline 1.0000, Candidate 0.4000, Loss 0.6000, Accepted 0.05, Finds 0.14"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (".", ". is a folder; expected the name of a file"),
        ("good", "good is a folder; expected the name of a file"),
        ("rules.txt", "rules.txt exists and is not an XML file; name another one, or remove it"),
        ("rules.txt/gate.xml", "cannot write rules.txt/gate.xml: .*rules.txt is not a folder that can be written to"),
    ],
)
def test_no_place_for_junit(name: str, problem: str) -> None:
    Path("rules.txt").write_text("rules", encoding="utf-8")
    with pytest.raises(InputError, match=f"^--junit: {problem}$"):
        compare.main(["good", "bad", "--out", "c", "--junit", name])
    assert not Path("c").exists()


def test_the_default_folder_is_a_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        compare.main(["good", "bad"])
    folders = sorted(Path("outputs").glob("2*"))
    assert len(folders) == 2 and all(re.fullmatch(r"\d{8}-\d{6}(\.2)?-compare", folder.name) for folder in folders)


def test_a_folder_that_holds_a_run() -> None:
    with pytest.raises(InputError, match=r"^--out: bad holds a run; choose another folder$"):
        compare.main(["good", "bad", "--out", "bad"])
    assert not Path("bad/compare.json").exists()


# --- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", ["10000000000000000000", "1e99"])
def test_a_margin_that_no_whole_number_of_a_file_holds(margin: str) -> None:
    """Nothing is lost of it, and everything is written."""
    rules = f"rules:\n  - {{metric: hit_rate_at_3, margin: {margin}}}\nmust_not_break: []\nmargin: {margin}\n"
    Path("rules.yaml").write_text(rules, encoding="utf-8")
    assert compare.main(["good", "bad", "--rules", "rules.yaml", "--out", "c"]) == 0
    assert read("c/compare.json")["gate"]["rules"][0]["margin"] == float(margin)


@pytest.mark.parametrize("margin", ["1" + "0" * 101, "1" + "0" * 400, "-1", ".inf"])
def test_a_margin_that_is_none(margin: str) -> None:
    Path("rules.yaml").write_text(f"rules: []\nmust_not_break: []\nmargin: {margin}\n", encoding="utf-8")
    with pytest.raises((ConfigError, InputError), match="margin"):
        rules_of("rules.yaml")


def test_rules_of_conf() -> None:
    default, strict, none = (rules_of(name) for name in ("default", "strict", "none"))
    assert list(default.rules) == [
        Rule("hit_rate_at_3", None, 0.05),
        Rule("mrr_at_10", None, 0.05),
        Rule("precision_at_5", None, 0.05),
        Rule("latency.case.p95_ms", None, 500, significant=True),
    ]
    assert [(rule.metric, rule.margin, rule.significant) for rule in strict.rules] == [
        ("main", 0, True), ("latency.case.p95_ms", 500, True),
    ]  # fmt: skip
    assert list(none.rules) == [] and none.margin == default.margin == 0.02


def test_rules_that_are_not_named_are_those_of_the_first_candidate() -> None:
    rules = [{"metric": "mrr", "margin": 0.7}]
    config = {"config": {"regression": {"_target_": "x", "rules": rules, "must_not_break": [], "margin": 0.01}}}
    run_folder(Path("own"), BAD, config)
    assert compare.main(["good", "own", "bad", "--out", "c", "--fail-on-regression"]) == 0
    assert [each["gate"]["fired"] for each in read("c/compare.json")["comparisons"]] == [False, False]
    assert compare.main(["good", "bad", "own", "--out", "d", "--fail-on-regression"]) == 4
    assert compare.main(["good", "own", "--rules", "default", "--out", "e", "--fail-on-regression"]) == 4
    for odd in ("${", "${nothing}", 1):
        run_folder(Path("odd"), BAD, {"config": {"regression": {"rules": odd}}})
        with pytest.raises(InputError, match="regression"):
            compare.main(["good", "odd", "--out", "f"])


def test_rules_of_a_file() -> None:
    Path("규칙.yaml").write_text(
        "rules:\n  - {metric: mrr, margin: 0.7}\n  - {metric: mrr, margin: 0.5, slice: {language: en}}\n"
        "must_not_break: [q19, q00]\nmargin: 0.1\n",
        encoding="utf-8",
    )
    assert compare.main(["good", "bad", "--rules", "규칙.yaml", "--out", "c", "--fail-on-regression"]) == 4
    gate = read("c/compare.json")["gate"]
    assert [rule["status"] for rule in gate["rules"]] == ["passed", "fired"]
    assert [case["status"] for case in gate["cases"]] == ["passed", "fired"]


CASES = "\nmust_not_break: []"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("rules: [{metric: mrr, margin: -1}]" + CASES, ConfigError, "regression.rules.0.margin: expected"),
        ("rules: [{metric: mrr}]" + CASES, ConfigError, "regression.rules.0.margin: a value is required"),
        ("rules: [{metric: mrr, margin: 0, sice: x}]" + CASES, ConfigError, "did you mean 'slice'"),
        ("rules: []\nmust_not_break: []\nmargni: 1", ConfigError, "did you mean 'margin'"),
        ("rules: [{metric: mrr, margin: 0, slice: {lang: ko}}]" + CASES, ConfigError, "regression.rules.0.slice"),
        ("rules: [{metric: mrrr, margin: 0}]" + CASES, InputError, "did you mean 'mrr'?"),
        ("- a\n- b", InputError, "--rules: rules.yaml: expected a mapping"),
        ("1e999", InputError, "--rules: rules.yaml: cannot be read: "),
        ("rules: [", InputError, "--rules: rules.yaml: cannot be read: "),
    ],
)  # fmt: skip
def test_wrong_rules(text: str, error: type[Exception], message: str) -> None:
    Path("rules.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(error, match=re.escape(message)):
        compare.main(["good", "bad", "--rules", "rules.yaml", "--out", "c"])
    assert not Path("c").exists()


def test_no_such_rules() -> None:
    with pytest.raises(InputError, match=r"^--rules: no rules 'stricd' and no such file; did you mean 'strict'\?$"):
        compare.main(["good", "bad", "--rules", "stricd"])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["good"], InputError, "missing: CANDIDATE\nusage: python -m runner compare "),
        (["good", "none"], InputError, "'none' is no run: expected a snapshot.json"),
        (["good", "bad", "--language", "fr"], InputError, "--language: expected en or ko, found 'fr'\nusage: "),
        (["good", "good/run.json"], DataError, "good/run.json: not a snapshot of a run"),
    ],
)
def test_wrong_arguments(arguments: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^{re.escape(message)}"):
        compare.main(arguments)
    assert not Path("outputs").exists()


@pytest.mark.parametrize("text", ["rules: " + "[" * 3000, "margin: " + "9" * 5000])
def test_rules_that_no_yaml_reader_takes(tmp_path: Path, text: str) -> None:
    (tmp_path / "rules.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"^--rules: .*rules\.yaml: cannot be read: "):
        compare.rules_of(str(tmp_path / "rules.yaml"))
