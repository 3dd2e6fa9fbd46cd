from __future__ import annotations

import pytest

from runner.domains.agent.fallbacks import Fallbacks
from runner.records import Assessment, Fallback, Stopped

MESSAGES = {"not_ready": {"ko": "준비 중", "en": "not ready"}, "not_found": {"ko": "없음", "en": "not found"}}
FALLBACKS = Fallbacks(MESSAGES, {"ko": [("비용", "/cost"), ("문의", "/help")], "en": []}, 0.5)  # type: ignore[arg-type]


def said(confidence: float | None, sufficient: bool | None) -> Assessment:
    return Assessment(("a#0",), sufficient, confidence)


@pytest.mark.parametrize(
    ("assessment", "n_ranked", "stopped", "fallback"),
    [
        (said(0.9, True), 1, "sufficient", None),
        (said(0.5, True), 1, "sufficient", None),
        (said(0.49, True), 1, "sufficient", "not_found"),
        (said(0.0, False), 1, "calls_spent", "not_found"),
        (said(0.0, False), 0, "calls_spent", "not_ready"),  # nothing ranked goes before everything
        (None, 0, "failed", "not_ready"),
        (said(0.7, False), 1, "calls_spent", "best_effort"),
        (said(0.7, False), 1, "nothing_new", "best_effort"),
        (said(None, None), 1, "sufficient", None),  # it only orders
        (said(None, False), 1, "calls_spent", "best_effort"),
        (None, 1, "calls_spent", "best_effort"),  # the reranker failed each time
        (said(0.9, True), 1, "failed", "best_effort"),
    ],
)
def test_which_fallback(
    assessment: Assessment | None, n_ranked: int, stopped: Stopped, fallback: Fallback | None
) -> None:
    assert FALLBACKS.of(assessment, n_ranked, stopped) == fallback


def test_what_is_said_in_place_of_an_answer() -> None:
    assert FALLBACKS.message("not_ready", "ko") == "준비 중"
    assert FALLBACKS.message("not_found", "ko") == "없음\n- [비용](/cost)\n- [문의](/help)"
    assert FALLBACKS.message("not_found", "en") == "not found"
    assert FALLBACKS.message("best_effort", "ko") is None
    assert FALLBACKS.message(None, "ko") is None
