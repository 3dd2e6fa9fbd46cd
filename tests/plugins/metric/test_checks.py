"""Checks of an answer by code: what each means, and what is wrong with one."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from plugins.metric.checks import Checks
from runner.metrics.checks import CheckInput, failure_of, read_check
from runner.metrics.json_schema import schema_problem, violation
from runner.records import Check
from runner.system.patterns import PatternSearch
from tests.plugins.evaluation.small_rag import query

ANSWER = "A day ticket costs 8 euros [1]. Dogs travel free [2]."
CHECKED = CheckInput(ANSWER, citations=(1, 2), documents=[("fare#0", "fare"), ("dogs#0", "dogs")], latency_ms=120.0)


def failure(entry: Mapping[str, Any], checked: CheckInput = CHECKED) -> str | None:
    return failure_of(read_check(entry), checked)


@pytest.mark.parametrize(
    ("entry", "passes"),
    [
        ({"contains": "8 euros"}, True),
        ({"contains": "8 Euros"}, False),
        ({"icontains": "8 EUROS"}, True),
        ({"not_contains": "refund"}, True),
        ({"type": "not-contains", "value": "ticket"}, False),
        ({"contains-any": ["nine", "Dogs"]}, True),
        ({"contains_all": ["ticket", "cat"]}, False),
        ({"icontains-all": ["TICKET", "DOGS"]}, True),
        ({"equals": ANSWER}, True),
        ({"equals": "A day ticket"}, False),
        ({"starts-with": "A day"}, True),
        ({"starts_with": "Day"}, False),
        ({"regex": r"\d+ euros?"}, True),
        ({"not-regex": r"\bcats?\b"}, True),
        ({"type": "is-json"}, False),
        ({"cites": True}, True),
        ({"cites": 2}, True),
        ({"cites": 3}, False),
        ({"cites": "dogs"}, True),
        ({"cites": "cats"}, False),
        ({"max-words": 11}, True),
        ({"max_words": 10}, False),
        ({"max_latency_ms": 120}, True),
        ({"type": "latency", "threshold": 100}, False),
    ],
)
def test_what_passes(entry: dict[str, Any], passes: bool) -> None:
    assert (failure(entry) == "") is passes


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"contains": "refund"}, "expected “refund” in the answer"),
        ({"contains-all": ["ticket", "cat"]}, "expected “cat” in the answer"),
        ({"not-contains": "free"}, "expected not: “free” in the answer"),
        ({"max-words": 3}, "expected at most 3 words, found 11"),
        ({"max-latency-ms": 100}, "expected at most 100 ms, took 120"),
        ({"cites": "cats"}, "expected a citation of cats"),
    ],
)
def test_a_failure_says_why(entry: dict[str, Any], reason: str) -> None:
    assert failure(entry) == reason


def test_a_korean_case_has_korean_reasons() -> None:
    said = {
        failure_of(read_check(entry), CHECKED, "ko")
        for entry in ({"contains": "환불"}, {"not-contains": "free"}, {"max-words": 3}, {"cites": "cats"})
    }
    assert said == {
        "기대: 답변에 “환불” 포함",
        "기대하지 않음: 답변에 “free” 포함",
        "기대: 최대 3단어, 실제 11단어",
        "기대: cats 인용",
    }


def test_json_with_and_without_a_schema() -> None:
    answer = CheckInput('{"price": 8, "dogs": ["free"]}')
    schema = {"type": "object", "required": ["price"], "properties": {"price": {"type": "integer", "maximum": 5}}}
    assert failure({"is-json": None}, answer) == "" and failure({"is_json": {"type": "object"}}, answer) == ""
    assert failure({"json_schema": schema}, answer) == (
        "expected JSON that fits the schema (price: maximum is 5, got 8)"
    )
    assert failure({"not-is-json": None}, answer) == "expected not: JSON"
    assert failure({"equals": {"dogs": ["free"], "price": 8}}, answer) == ""
    assert failure({"equals": {"price": 8}}, CheckInput("no JSON")) != ""


def test_what_was_not_measured_is_not_checked() -> None:
    assert failure({"max-cost-usd": 1}) is None and failure({"max-latency-ms": 1}, CheckInput("a")) is None
    assert failure({"similar": "fare"}) is None
    assert failure({"type": "cost", "threshold": 0.01}, CheckInput("a", cost_usd=0.02)) == (
        "expected at most $0.01, cost $0.02"
    )


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("contains", "expected a check such as {contains: TEXT}, got 'contains'"),
        ({"contain": "x"}, "type: no check 'contain'; did you mean 'contains'?"),
        ({"contains": ""}, "value: expected text, got ''"),
        ({"contains-any": "x"}, "value: expected a list of texts, got 'x'"),
        ({"regex": "("}, "value: '(' is no pattern: missing ), unterminated subpattern at position 0"),
        ({"max-words": "many"}, "value: expected a number of 0 or more, got 'many'"),
        ({"json-schema": None}, "value: expected a JSON schema, got nothing"),
        ({"is-json": {"typ": "object"}}, "value: typ: unknown keyword of a schema; did you mean 'type'?"),
        ({"contains": "x", "weigth": 2}, "weigth: unknown key; did you mean 'weight'?"),
        ({"contains": "x", "weight": -1}, "weight: expected a number of 0 or more, got -1"),
        ({"cites": 0}, "value: expected nothing, the number of a context or the id of a document, got 0"),
    ],
)
def test_a_wrong_check_is_told(entry: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^.") as error:
        read_check(entry)
    assert str(error.value).startswith(problem.partition(";")[0])
    assert problem in str(error.value)


# --- schemas ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "schema", "problem"),
    [
        (1.0, {"type": "integer"}, None),
        (True, {"type": "integer"}, "expected integer, got True"),
        ("a", {"enum": ["b", 1]}, "expected one of ['b', 1], got 'a'"),
        ([1, 1.0], {"uniqueItems": True}, "expected no item twice"),
        ({"a": 1}, {"additionalProperties": False}, "'a' is not expected"),
        ({"a": [1, "x"]}, {"properties": {"a": {"items": {"type": "number"}}}}, "a.1: expected number, got 'x'"),
        (3, {"oneOf": [{"minimum": 1}, {"maximum": 5}]}, "expected what exactly one of oneOf allows, 2 do"),
        (3, {"anyOf": [{"minimum": 9}, {"const": 3}]}, None),
        (3, {"not": {"type": "string"}}, None),
        ("x1", {"pattern": "^[a-z]\\d$"}, None),
        ({"l": {"l": {}}}, {"$defs": {"n": {"properties": {"l": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}, None),
        (0.3, {"multipleOf": 0.1}, None),
    ],
)
def test_schemas(value: Any, schema: Any, problem: str | None) -> None:
    assert schema_problem(schema) == ""
    assert violation(value, schema) == problem


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert violation(1, {"$ref": "#"}) == "nested too deeply"


# --- patterns that never end --------------------------------------------------------------------------


def test_a_pattern_that_never_ends_fails_in_time_and_the_next_is_searched() -> None:
    search = PatternSearch(seconds=0.3)
    started = time.perf_counter()
    slow = CheckInput("a" * 60 + "b", search=search)
    assert failure({"regex": "(a+)+$"}, slow) == "expected an end of the search for the pattern “(a+)+$” in time"
    assert failure({"not-regex": "(a+)+$"}, slow) != ""
    assert time.perf_counter() - started < 5
    assert search("달$", "보름달") is True and search("x", "y\nz") is False
    search.close()


# --- of a case and of the whole set -------------------------------------------------------------------


async def judged(checks: Checks, case: Any = None, answer: str = ANSWER, **shown: Any) -> Any:
    found = await checks.judge_case(case or query(), {"answer": answer, "citations": (1,), **shown})
    return found.get("checks")


async def test_the_share_that_passes_goes_by_weight() -> None:
    case = query(checks=(Check("contains", "cat", weight=3.0), Check("contains", "Dogs")))
    found = await judged(Checks(checks=[{"contains": "8"}]), case)
    assert found.score == 2 / 5
    assert found.reasoning == "2/3; contains: cat: expected “cat” in the answer"
    assert [entry["passed"] for entry in found.details["checks"]] == [True, False, True]
    assert (await judged(Checks(checks=[{"contains": "8"}], of_cases=False), case)).score == 1.0


async def test_without_a_check_that_can_be_told_there_is_no_score() -> None:
    assert await judged(Checks()) is None
    assert await judged(Checks(checks=[{"max-cost-usd": 1}])) is None


def test_wrong_checks_of_the_set_are_problems_of_the_configuration() -> None:
    wrong = Checks(checks=[{"contains": "x"}, {"regexp": "x"}, {"similar": "x"}])
    assert [str(problem).partition(";")[0] for problem in wrong.preflight()] == [
        "metric.checks.checks.1.type: no check 'regexp'",
        "metric.checks.checks.2: similar needs an embedder",
    ]


class Letters:
    """How often a, b and c occur."""

    def prepare(self, texts: Sequence[str], workspace: Any) -> None:
        self.prepared = list(texts)

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Any:
        vectors = np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def test_similar_goes_by_the_cosine_of_an_embedder() -> None:
    checks = Checks(checks=[{"similar": "ab"}, {"similar": "ab", "threshold": 0.5}], embedder=Letters())
    assert checks.preflight() == []
    checks.prepare([query()], Path())
    found = await judged(checks, answer="ac")
    assert [entry["passed"] for entry in found.details["checks"]] == [False, True]
    assert found.details["checks"][0]["reason"] == "expected a similarity of 0.75 to “ab”, found 0.50"
    assert (await judged(checks, answer="ba")).score == 1.0
