"""The table of a comparison in terminals of several widths."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from runner.report.comparison import panels as comparison_panels
from runner.words.wording import LANGUAGES
from tests.shown_panels import lines_of

LONG = "mean_of_what_a_plugin_of_somebody_else_measures"


def entry(name: str, verdict: str, values: tuple[float, float], interval: tuple[float, float]) -> dict[str, Any]:
    return {
        "name": name, "role": "main", "verdict": verdict, "n_paired": 1124, "caveats": [],
        "baseline": values[0], "candidate": values[1], "difference": values[1] - values[0],
        "ci_low": interval[0], "ci_high": interval[1], "p": 0.0004, "p_holm": 0.0004,
        "tests": 1, "effect_size": -0.25, "mde": 0.051,
    }  # fmt: skip


RECORD = {
    "baseline": {"label": "outputs/one", "k": 5, "status": "completed"},
    "candidate": {"label": "outputs/two", "k": 5, "status": "completed"},
    "verdict": "mixed", "margin": 0.02, "alpha": 0.05, "pairing": {"n_paired": 1124}, "not_comparable": [],
    "gate": {"fired": False, "rules": [], "cases": []}, "flips": {"by": None, "lost": [], "won": []},
    "metrics": [
        entry("mean_answer_relevancy", "inconclusive", (0.6188, 0.5692), (-0.0825, 0.0235)),
        entry("mean_faithfulness", "better", (0.8727, 0.8797), (0.0025, 0.0115)),
        entry("unanswerable_f1", "within_noise", (0.5, 0.5), (-0.0115, 0.0115)),
        entry(LONG, "worse", (22.2500, 10.1250), (-15.2505, -10.1255)),
    ],
}  # fmt: skip
VERDICTS = {
    "en": ["inconclusive", "▲ better", "(below ±0.02)", "within noise", "▼ worse"],
    "ko": ["판단 불가", "▲ 개선", "(±0.02 미만)", "잡음 범위", "▼ 악화"],
}
DIFFERENCES = ["−0.0496", "[−0.083, +0.024]", "−12.1250", "[−15.251, −10.126]"]
SIDES = ["0.6188", "→ 0.5692", "22.2500", "→ 10.1250"]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    ("width", "shown", "left_out"),
    [
        (50, DIFFERENCES, [*SIDES, "< 0.001"]),
        (64, [*DIFFERENCES, *SIDES], ["< 0.001"]),
        (80, [*DIFFERENCES, *SIDES, "< 0.001", "−0.25"], []),
        (100, [*DIFFERENCES, *SIDES, "< 0.001", "−0.25"], []),
    ],
)
def test_no_verdict_and_no_number_is_cut(
    monkeypatch: pytest.MonkeyPatch, language: str, width: int, shown: list[str], left_out: list[str]
) -> None:
    """Where there is no room for all columns, whole ones are left out, the verdict never."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = lines_of(comparison_panels(RECORD, LANGUAGES[language]), width)
    text = "\n".join(lines)
    assert "…" not in text
    assert max(map(cell_len, lines)) <= width
    assert [each for each in [*VERDICTS[language], *shown, "n=1124", "0.051"] if each not in text] == []
    assert [each for each in left_out if each in text] == []


@pytest.mark.parametrize(("language", "lines"), [("en", ["Answer Relevancy"]), ("ko", ["답변 관련성", "(Relevancy)"])])
def test_names_of_metrics_are_broken_between_words(
    monkeypatch: pytest.MonkeyPatch, language: str, lines: list[str]
) -> None:
    """The numbers leave room enough for most of them."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = lines_of(comparison_panels(RECORD, LANGUAGES[language]))
    names = [line[1:].partition("  ")[0].strip() for line in shown]
    start = names.index(lines[0])
    assert names[start : start + len(lines) + 1] == [*lines, "n=1124"]
    start = next(number for number, name in enumerate(names) if name.startswith("mean_"))
    assert "".join(names[start : names.index("n=1124", start)]) == LONG
