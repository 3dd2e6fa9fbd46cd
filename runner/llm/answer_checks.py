"""Checks of answers by code as judgements, beside those of a judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from runner.metrics.checks import CheckInput, Cosine, Search, failure_of, title
from runner.records import Check, Judgement
from runner.system.patterns import PatternSearch
from runner.system.threads import in_thread
from runner.text.language import Language, detect_language

CHECKED = "checks"  # of the details of a judgement
CASE_CHECKS = "case_checks"


async def judge_checks(
    checks: Sequence[Check], fields: Mapping[str, Any], search: Search, cosine: Cosine | None = None
) -> Judgement | None:
    """Judges an answer by checks, in a thread.

    Args:
        checks: of the answer.
        fields: of the case, with `answer`; `citations`, `documents`, `latency_ms` and `cost_usd` where known.
        search: whether a pattern is found in a text.
        cosine: the similarity of two texts; None: checks of similarity are not evaluated.

    Returns:
        The share of the checks that pass, by their weights, with the result of each; None where none was evaluated.
    """
    if not checks or "answer" not in fields:
        return None
    checked = CheckInput(
        answer=str(fields["answer"] or ""),
        citations=fields.get("citations", ()),
        documents=fields.get("documents", ()),
        latency_ms=fields.get("latency_ms"),
        cost_usd=fields.get("cost_usd"),
        search=search,
        cosine=cosine,
    )
    return await in_thread(_judgement, checks, checked, _language(fields))


class CaseChecks:
    """The checks that a case brings, by which `right` is decided where no metric reports them."""

    def __init__(self) -> None:
        self._search = PatternSearch()

    async def judge_case(self, case: Any, fields: Mapping[str, Any]) -> Mapping[str, Judgement]:
        """The judgement CASE_CHECKS; empty where the case brings no check that could be evaluated."""
        judgement = await judge_checks(case.checks, fields, self._search)
        return {} if judgement is None else {CASE_CHECKS: judgement}


def _judgement(checks: Sequence[Check], checked: CheckInput, language: Language) -> Judgement | None:
    results = [(check, failure_of(check, checked, language)) for check in checks]
    decided = [(check, failure) for check, failure in results if failure is not None]
    weight = math.fsum(check.weight for check, _ in decided)
    if not weight:
        return None
    passed_weight = math.fsum(check.weight for check, failure in decided if not failure)
    failures = [f"{title(check)}: {failure}" for check, failure in decided if failure]
    entries = [
        {"check": title(check), "passed": None if failure is None else not failure, "reason": failure or None}
        for check, failure in results
    ]
    share = f"{len(decided) - len(failures)}/{len(decided)}"
    return Judgement(passed_weight / weight, "; ".join([share, *failures]), details={CHECKED: entries})


def _language(fields: Mapping[str, Any]) -> Language:
    """The language of the case, else of its question."""
    if fields.get("language") in ("en", "ko"):
        return "ko" if fields["language"] == "ko" else "en"
    return detect_language(str(fields.get("question") or ""))
