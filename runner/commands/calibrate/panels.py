"""A calibration for the terminal. Fits 80 columns, needs no colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runner.commands.calibrate.numbers import correction_notes, findings, judged, measures, wording_of_calibration
from runner.report import judge_panel, metric
from runner.report.metric import four, interval
from runner.report.panels import WIDTH
from runner.words.wording import Wording


def panels(result: Mapping[str, Any]) -> list[RenderableType]:
    """One panel a rubric."""
    say = wording_of_calibration(result)
    shown = [_panel(rubric, entry, result, say) for rubric, entry in result["rubrics"].items()]
    votes = judge_panel.votes(result, say)
    return [*shown, *([votes] if votes is not None else [])]


def _panel(rubric: str, entry: Mapping[str, Any], result: Mapping[str, Any], say: Wording) -> Panel:
    parts: list[RenderableType] = [Text(judged(entry, say))]
    if entry["n_judged"]:
        parts += [Text(), _measures(entry, result, say), _confusion(entry, say)]
        parts += [Text(), *(Text(sentence, style="bold") for sentence in findings(entry, say))]
        parts += _corrected(rubric, result, say)
    if result["baseline"]:
        parts += [Text(), Text(say("baselines", names=f"judge={result['judge']}"), style="dim")]
    title = say("calibration.panel", judge=result["judge"], rubric=metric.rubric(rubric, say))
    return Panel(Group(*parts), title=Text(title, style="bold"), width=WIDTH)


def _measures(entry: Mapping[str, Any], result: Mapping[str, Any], say: Wording) -> Table:
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "left"):
        table.add_column(justify=justify, no_wrap=justify != "left")
    for measure in measures(entry, result, say):
        table.add_row(
            Text(f"{measure.name}:"),
            Text(four(measure.value, say), style="bold"),
            Text(interval(measure.low, measure.high), style="dim"),
        )
    return table


def _confusion(entry: Mapping[str, Any], say: Wording) -> Text:
    found = entry["confusion"]
    names = {"both": "true_positive", "judge": "false_positive", "human": "false_negative", "none": "true_negative"}
    return Text(say("calibration.short.confusion", **{name: found[key] for name, key in names.items()}))


def _corrected(rubric: str, result: Mapping[str, Any], say: Wording) -> list[RenderableType]:
    entry = (result.get("corrected") or {}).get(rubric)
    if entry is None:
        return []
    corrected = entry["corrected"]
    if corrected is None:
        value = say("calibration.short.none")
    else:
        limits = interval(corrected["low"], corrected["high"])
        judge = four(entry["mean_judge"], say)
        value = say(
            "calibration.short.corrected_value", judge=judge, value=f"{corrected['value']:.4f}", interval=limits
        )
    notes = [Text(note, style="dim") for note in correction_notes({rubric: entry}, say) if corrected is not None]
    return [Text(), Text(f"{say('calibration.short.corrected')}: {value}", style="bold"), *notes]
