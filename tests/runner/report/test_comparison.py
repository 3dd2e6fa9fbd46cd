"""compare.md, the terminal table and JUnit XML of comparisons made from hand-written runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
from markdown_it import MarkdownIt
from rich.table import Table

from runner import report
from runner.compare.compare import compare_all
from runner.compare.record import record_of
from runner.compare.regression import Regression
from runner.compare.sides import Finder
from runner.report.comparison import panels as comparison_panels
from runner.report.comparison import render
from runner.report.comparison_junit import write_junit
from runner.report.comparison_words import headline, interval, metrics_of, reason_text, signed_number, warnings
from runner.words.wording import LANGUAGES
from tests.comparison_runs import graded, run_folder
from tests.model_runs import used
from tests.run_folders import HOSTILE
from tests.shown_panels import lines_of

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]
PARSER = MarkdownIt("commonmark").enable("table")
RULES = [
    {"metric": "hit_rate_at_3", "margin": 0.05},
    {"metric": "mrr_at_10", "margin": 0.1, "relative": True, "significant": True, "slice": {"language": "ko"}},
    {"metric": "latency.case.p95_ms", "margin": 500},
    {"metric": "mean_answer_relevancy", "margin": 0.05},
]


def judged(score: float, reason: str, votes: tuple[float, float] | None = None) -> dict[str, Any]:
    details = {} if votes is None else {"votes": {"1": votes[0], "2": votes[1]}}
    return {"faithfulness": {"score": score, "reasoning": reason, "error": None, "details": details}}


def hits(*ids: str) -> list[dict[str, Any]]:
    return [{"id": id, "chunk": f"{id}#0", "title": f"About {id}", "score": 1.0, "relevance": 0.5} for id in ids]


def baseline_rows() -> list[dict[str, Any]]:
    rows = [graded(f"q-{n:02d}", 1.0, language="ko" if n % 2 else "en") for n in range(18)]
    context = {"contexts": [{"id": "doc-1#0", "title": "Refunds", "text": "x"}], "retrieved": hits("doc-1", "doc-2")}
    first = {"query": "환불은 며칠 안에 되나요?", "answer": "7일입니다. [1]", "answers": ["7일"], **context}
    rows[1] = graded("q-01", 1.0, language="ko", output=first, judgements=judged(1.0, "All claims hold.", (0.9, 1.0)))
    rows[2] = graded("q-02|x", 1.0, output={"query": HOSTILE, "answer": HOSTILE})
    rows[17] = graded("q-17", 0.0, language="ko")
    return rows


def candidate_rows() -> list[dict[str, Any]]:
    lost = {f"q-{n:02d}" for n in range(3, 12)}
    rows = [
        graded(f"q-{n:02d}", 0.0 if f"q-{n:02d}" in lost else 1.0, language="ko" if n % 2 else "en") for n in range(18)
    ]
    refused = {"query": "환불은 며칠 안에 되나요?", "answer": "찾을 수 없습니다.", "declined": True, "answers": ["7일"]}
    refused["retrieved"] = hits("doc-3", "doc-1")
    rows[1] = graded(
        "q-01", 0.5, language="ko", output=refused, judgements=judged(0.5, "Claims nothing.", (0.4, 0.6)),
        labels={"lost_at": "refused_answerable"}, metrics={"faithfulness": 0.5},
    )  # fmt: skip
    rows[2] = graded("q-02|x", 0.0, output={"query": HOSTILE, "answer": HOSTILE})
    rows[16] = graded("q-16", 1.0, status="failed", error="the model refused", metrics={}, unscored=["faithfulness"])
    return rows


def made(
    folder: Path,
    changes: Sequence[Mapping[str, Any]] = ({},),
    rules: Sequence[Any] = RULES,
    allow: bool = False,
    strict: bool = True,
) -> list[dict[str, Any]]:
    """Records of candidates that differ from the baseline in `changes` to their run.json, as compare.json has them."""
    usage = {"judge": {"local:small": {"live": used(18, 9000, 1000, 0.018), "cached": used(0, 0, 0, 0.0)}}}
    timing = {"timing": {"latency": {"retrieval": {"p50_ms": 3.0, "p95_ms": 10.0, "n": 18}}, "usage": usage}}
    roles = {"judge": {"requests": 18, "input_tokens": 9000, "output_tokens": 1000, "usd": 0.018}}
    timing["cost"] = {"cases": 18, "roles": roles}
    run_folder(folder / "baseline", baseline_rows(), {"config": {"retriever": {"k1": 1.2}}}, timing)
    finder = Finder(folder)
    sides = [finder.open(str(folder / "baseline"))]
    for number, change in enumerate(changes):
        cutoff = {"k": change["k"]} if "k" in change else {}
        run_folder(folder / f"candidate-{number}", candidate_rows(), change, {**timing, **cutoff})
        sides.append(finder.open(str(folder / f"candidate-{number}")))
    regression = Regression(rules=list(rules), must_not_break=["q-00", "q-03", "q-17"])
    found = compare_all(sides[0], sides[1:], regression, seed=1, allow_incomparable=allow, strict=strict)
    records = [record_of(each, fail_on_regression=True) for each in found]
    for record in records:
        for side in ("baseline", "candidate"):
            record[side]["label"] = Path(record[side]["label"]).name
    return [orjson.loads(orjson.dumps(record)) for record in records]


@pytest.mark.parametrize(
    ("low", "high", "shown"), [(-0.0066, -0.0002, "[−0.007, −0.000]"), (0.0, 0.0004, "[0, +0.000]")]
)
def test_an_end_that_is_rounded_to_zero_keeps_its_side(low: float, high: float, shown: str) -> None:
    assert interval({"ci_low": low, "ci_high": high}, EN, 3) == shown


def test_english(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    golden("report/compare.en.md", render(made(tmp_path), EN))


def test_korean(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    golden("report/compare.ko.md", render(made(tmp_path), KO))


def test_in_the_terminal(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    for name, say in (("en", EN), ("ko", KO)):
        golden(f"report/compare.{name}.txt", shown(made(tmp_path)[0], say))


def shown(record: dict[str, Any], say: Any) -> str:
    return "\n".join(line.rstrip() for line in lines_of(comparison_panels(record, say))) + "\n"


@pytest.mark.parametrize("say", [EN, KO], ids=["en", "ko"])
def test_hostile_texts_break_out_of_nothing(tmp_path: Path, say: Any) -> None:
    tokens = PARSER.parse(render(made(tmp_path), say))
    inline = [child for token in tokens for child in token.children or ()]
    assert not [child for child in inline if child.type in ("html_inline", "link_open", "image", "code_inline")]
    assert not [token for token in tokens if token.type in ("html_block", "fence", "code_block")]
    assert any("<script>" in child.content for child in inline)


def test_every_row_of_a_table_has_the_cells_of_its_head(tmp_path: Path) -> None:
    text = render(made(tmp_path), EN)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        rows = [re.split(r"(?<!\\)\|", line) for line in block.splitlines()]
        assert len({len(row) for row in rows}) == 1, block


def test_what_was_measured_differently(tmp_path: Path) -> None:
    change = {"identity": {"documents": "x" * 64, "gold": "y" * 64}}
    (record,) = made(tmp_path, [change])
    (warning,) = warnings(record, EN)
    assert warning.startswith("Not comparable: the two runs were not measured in the same way (different documents)")
    assert "두 실행의 측정 조건이 다릅니다(문서 다름)" in warnings(record, KO)[0]
    assert "| different documents | Recall@k, nDCG@k," in render([record], EN)
    (anyway,) = made(tmp_path, [change], allow=True)
    assert warnings(anyway, EN) == [
        "The two runs were not measured in the same way (different documents). Metrics marked with * are shown "
        "although they are not comparable."
    ]
    assert "| Recall@5 \\* |" in render([anyway], EN)


def test_without_a_metric_in_common(tmp_path: Path) -> None:
    """The warning is what the exit code 5 is explained with; there is no table without rows."""
    (record,) = made(tmp_path)
    record |= {"metrics": [], "verdict": "not_comparable", "exit_code": 5}
    assert warnings(record, EN) == ["No metric can be compared."]
    assert warnings(record, KO) == ["비교할 수 있는 메트릭이 없습니다."]
    assert not any(isinstance(part, Table) for part in comparison_panels(record, EN))


def test_a_cutoff_that_is_k_of_both_runs_is_shown_once() -> None:
    names = ["recall_at_k", "recall_at_5", "recall_at_10", "mrr", "mrr_at_5", "chunk/ndcg_at_5", "chunk/ndcg_at_k"]
    record = {"metrics": [{"name": name} for name in names], "baseline": {"k": 5}, "candidate": {"k": 5}}
    assert [entry["name"] for entry in metrics_of(record)] == ["recall_at_k", "recall_at_10", "mrr", "chunk/ndcg_at_k"]
    assert len(metrics_of({**record, "candidate": {"k": 3}})) == len(names)


def test_a_candidate_that_did_not_come_to_its_end(tmp_path: Path) -> None:
    (record,) = made(tmp_path, [{"status": "partial"}])
    assert warnings(record, EN) == [
        "Candidate did not finish (status: partial): cases that only one run has are left out."
    ]


def test_several_candidates(tmp_path: Path) -> None:
    text = render(made(tmp_path, [{}, {"k": 3}]), EN)
    assert re.findall(r"^# (.+)$", text, re.M) == [
        "Comparisons with baseline",
        "Comparison: candidate-0 against baseline",
        "Comparison: candidate-1 against baseline",
    ]
    assert "| k differs (5, 3); compare the fixed cutoffs instead | Recall@k, nDCG@k, MRR |" in text
    assert text.count("## Overview") == 1


def test_junit(tmp_path: Path) -> None:
    write_junit(tmp_path / "gate.xml", made(tmp_path), KO)
    (suite,) = ElementTree.parse(tmp_path / "gate.xml").getroot()
    found = {case.get("name"): next((child.tag for child in case), "passed") for case in suite.findall("testcase")}
    assert found == {
        "comparable": "passed", "Hit Rate@3": "failure", "MRR@10 [ko]": "skipped", "사례 전체, p95 (ms)": "passed",
        "답변 관련성 (Relevancy)": "passed", "사례 q-00": "passed", "사례 q-03": "failure", "사례 q-17": "passed",
    }  # fmt: skip
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("8", "2", "1")


def test_junit_tells_a_relative_loss_as_a_share(tmp_path: Path) -> None:
    """0.5278 of 0.9444. Of 2**12 ways to swap 12 cases that differ, 13 lose as much: p is 13 / 4096."""
    rules = [{"metric": "hit_rate_at_3", "margin": 0.1, "relative": True, "significant": True}]
    write_junit(tmp_path / "gate.xml", made(tmp_path, rules=rules), EN)
    failure = ElementTree.parse(tmp_path / "gate.xml").getroot().find(".//failure")
    assert failure is not None and failure.get("message") == (
        "Baseline 0.9444, Candidate 0.4167, Loss 55.9%, Accepted 10.0%, unless it may be chance, Finds 44.9%, "
        "p (Holm) 0.006"
    )


def test_a_verdict_that_no_rule_stands_up_for_is_said_last(tmp_path: Path) -> None:
    """The exit code would not tell of it."""
    record = made(tmp_path, rules=[{"metric": "mrr_at_10", "margin": 1.0}])[0]
    record["gate"]["cases"], record["gate"]["fired"], record["verdict"] = [], False, "worse"
    last = EN("compare.worse_unfired", verdict="worse")
    assert " ".join(shown(record, EN).split()).endswith(last)
    assert f"**{last}**" in render([record], EN).partition("## ")[0]
    write_junit(tmp_path / "gate.xml", [record], EN)
    (suite,) = ElementTree.parse(tmp_path / "gate.xml").getroot()
    (said,) = [case for case in suite.findall("testcase") if case.get("name") == "verdict"]
    assert said.find("skipped").get("message") == last  # type: ignore[union-attr]
    record["gate"]["fired"] = True
    assert last not in " ".join(shown(record, EN).split())


def test_junit_of_what_is_not_comparable(tmp_path: Path) -> None:
    rules = [*RULES, {"metric": "cost.generator.usd", "margin": 1}][:1]
    records = made(tmp_path, [{"identity": {"documents": "x" * 64}}], rules)
    records[0]["baseline"]["label"] = "a\x00\ufffe<b>"
    write_junit(tmp_path / "gate.xml", records, EN)
    (suite,) = ElementTree.parse(tmp_path / "gate.xml").getroot()
    assert suite.get("name") == "candidate-0 against a\ufffd\ufffd<b>"
    cases = suite.findall("testcase")
    assert "Not comparable" in str(cases[0].find("failure").get("message"))  # type: ignore[union-attr]
    assert cases[1].find("skipped").get("message") == "not comparable: different documents"  # type: ignore[union-attr]


def test_the_headline_of_runs_that_do_not_differ(tmp_path: Path) -> None:
    run_folder(tmp_path / "one", baseline_rows())
    finder = Finder(tmp_path)
    side = finder.open(str(tmp_path / "one"))
    (comparison,) = compare_all(side, [side], Regression(rules=[], must_not_break=[]), seed=1, allow_incomparable=False)
    record = record_of(comparison, fail_on_regression=True)
    assert headline(record, EN) == (
        "No difference that matters: every main metric is within ±0.02 of the baseline. 18 pairs find a difference of "
        "0.4 in Recall@5 in four of five tries, and one of 0.05 in 0 of 100."
    )
    text = render([record], EN)
    assert "Both runs have the same settings." in text and "Regression rules" not in text


def test_in_summary_md(tmp_path: Path) -> None:
    (record,) = made(tmp_path)
    folder = tmp_path / "candidate-0"
    (folder / "compare.json").write_bytes(orjson.dumps(record))
    report.write(folder)
    text = (folder / "summary.md").read_text(encoding="utf-8")
    assert "## Comparison with baseline\n" in text and "### Main metrics\n" in text
    assert "Regression: 1 of 4 rules fired" in text
    (folder / "compare.json").unlink()
    report.write(folder)
    assert "Comparison with" not in (folder / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [(None, 4, "–"), (0.0, 4, "0"), (0.00001, 4, "0"), (-0.00001, 4, "0"), (0.5, 2, "+0.50"), (-0.125, 3, "−0.125")],
)
def test_signed_numbers(value: float | None, digits: int, expected: str) -> None:
    assert signed_number(value, EN, digits) == expected


@pytest.mark.parametrize(
    ("reason", "english", "korean"),
    [
        ({"kind": "k", "names": ["3", "5"]}, "k differs (3, 5); compare the fixed cutoffs instead", None),
        ({"kind": "missing", "names": ["baseline"]}, "the baseline does not have it", "기준에 없음"),
        ({"kind": "pairs", "names": []}, "no case has a value in both runs", "두 실행 모두 값이 있는 사례가 없음"),
        (
            {"kind": "identity", "names": ["judge_prompt.faithfulness", "metric_code.ranking", "metric_code.answers"]},
            "different judge prompt, code of the metric", "판정 프롬프트, 메트릭 코드 다름",
        ),
        ({"kind": "gold", "names": [], "n_cases": 3}, "other labels in cases: 3", "사례 3개의 정답 라벨이 다름"),
    ],
)  # fmt: skip
def test_reasons(reason: dict[str, Any], english: str, korean: str | None) -> None:
    entry = {"n_cases": 0, **reason}
    assert reason_text(entry, EN) == english
    assert korean is None or reason_text(entry, KO) == korean
