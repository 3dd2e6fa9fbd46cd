"""calibration.md and terminal panels: how far a judge agrees with people, and the corrected means of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from runner.commands.calibrate.numbers import (
    answer_count,
    correction_notes,
    findings,
    measures,
    selection_warnings,
    wording_of_calibration,
)
from runner.config.arguments import shell
from runner.report import metric
from runner.report.blocks import (
    TERMINAL,
    Block,
    Cell,
    Code,
    Facts,
    Note,
    Points,
    Section,
    Table,
    Warnings,
    in_medium,
    section,
)
from runner.report.cost import cost
from runner.report.document import Document
from runner.report.judge import judge_of
from runner.report.markdown import markdown, shorten
from runner.report.metric import four, interval
from runner.report.run import cases_line
from runner.report.summary import replace_text
from runner.report.terminal import renderables
from runner.system.folder import RunFolder, lines, read_json
from runner.words.wording import Wording

NOT_SHOWN = ("_target_", "health", "on_failure")  # settings that do not change scores
QUESTION, ANSWER, REASON = 400, 600, 400  # characters shown
WIDTH = 78  # of a panel


def write(folder: Path) -> None:
    """Write calibration.md from calibration.json and items.jsonl. The same files give the same bytes."""
    result = read_json(folder / "calibration.json", "calibration")
    replace_text(folder / "calibration.md", render(folder, result))


def render(folder: Path, result: Mapping[str, Any]) -> str:
    """calibration.md as text; `folder` has the items.jsonl that the result was made of."""
    head, *rest = sections(folder, result)
    return markdown([replace(head, blocks=[*head.blocks, *rest])], level=1) + "\n"


def panels(result: Mapping[str, Any]) -> list[RenderableType]:
    """The panels of the terminal: one for each rubric, and the agreement of several votes. Fits 80 columns, needs no
    colour."""
    say = wording_of_calibration(result)
    rubric_panels: list[RenderableType] = []
    for rubric, entry in result["rubrics"].items():
        title = say("calibration.panel", judge=result["judge"], rubric=metric.rubric(rubric, say))
        parts = renderables(_in_short(rubric, entry, result, say), dense=True)
        rubric_panels.append(Panel(Group(*parts), title=Text(title, style="bold"), width=WIDTH))
    judge = judge_of(result, say)
    return [*rubric_panels, *renderables([*in_medium(judge.blocks, "terminal")] if judge else [])]


def sections(folder: Path, result: Mapping[str, Any]) -> list[Section]:
    """The sections of a calibration: agreement, each rubric, corrected scores, health of the judge, cost."""
    say = wording_of_calibration(result)
    document = Document(RunFolder(folder, result, result), say, 0.0)
    shown = {worst["id"] for entry in result["rubrics"].values() for worst in entry["worst"]}
    items = {str(item["id"]): item for item in lines(folder / "items.jsonl") if item["id"] in shown}
    blocks = (
        _head(result, say),
        *(_rubric(rubric, entry, result, items, say) for rubric, entry in result["rubrics"].items()),
        _correction(result, say),
        judge_of(result, say),
        cost(document),
    )
    return [each for each in blocks if each is not None]


def _head(result: Mapping[str, Any], say: Wording) -> Section:
    words = [word for word in result["words"] if not word.startswith("out=")]  # a repeated command gets its own folder
    ran = section(
        "",
        say("head.ran"),
        Facts(_facts(result, say), (say("head.property"), say("head.value"))),
        Note(say("ran.command")),
        Code(" ".join(map(shell, ["python", "-m", "runner", "calibrate", *words])), "sh"),
    )
    head = section(
        "",
        say("calibration.title", judge=result["judge"]),
        Warnings(list(_notes(result, say))),
        Note(say("calibration.intro")),
        ran,
    )
    assert head is not None  # noqa: S101  it has an introduction
    return head


def _facts(result: Mapping[str, Any], say: Wording) -> list[tuple[str, str]]:
    judge, labels, threshold = result["config"]["judge"], result["labels"], result["threshold"]
    low, high = (f"{number:g}" for number in labels["scale"])
    settings = ", ".join(f"{name}={value}" for name, value in judge.items() if name not in NOT_SHOWN)
    good = say("calibration.threshold_value", **{name: f"{value:g}" for name, value in threshold.items()})
    facts = [
        (say("ran.judge"), result["judge"]),
        (say("calibration.settings"), shorten(settings, ANSWER)),
        (say("calibration.what"), labels["path"]),
        (say("calibration.scale"), say("calibration.scale_value", low=low, high=high)),
        (say("calibration.threshold"), good),
        (say("calibration.answers"), cases_line(result, say)),
        (say("ran.status"), say.name("status", result["status"])),
        (say("ran.created"), result["timing"]["created_at"]),
        (say("ran.versions"), ", ".join(f"{name} {version}" for name, version in result["versions"].items())),
    ]
    if any(labels["problems"].values()):
        facts.insert(6, (say("panel.data_problems"), say("problems.data", **labels["problems"])))
    return facts


def _notes(result: Mapping[str, Any], say: Wording) -> Iterator[Note]:
    if result["error_message"]:
        yield Note(say("note.message", message=result["error_message"]), "alarm")
    if result["cases"]["pending"]:
        yield Note(say("note.goes_on"))
    if result["baseline"]:
        yield Note(say("baselines", names=f"judge={result['judge']}"))


# --- one rubric -------------------------------------------------------------------------------------


def _rubric(
    rubric: str, entry: Mapping[str, Any], result: Mapping[str, Any], items: Mapping[str, Any], say: Wording
) -> Section | None:
    title, count_note = metric.rubric(rubric, say), Note(answer_count(entry, say))
    if not entry["n_judged"]:
        return section(rubric, title, count_note)
    rows = [
        [each.name, four(each.value, say), interval(each.low, each.high) or say("none"), each.meaning]
        for each in measures(entry, result, say)
    ]
    headers = [say("calibration.measure"), say("calibration.value"), say("interval"), say("calibration.meaning")]
    return section(
        rubric,
        title,
        count_note,
        Points(list(findings(entry, say)), "strong"),
        Table(headers, rows, title, right=(1, 2)),
        _confusion(entry["confusion"], say),
        *(_slices(kind, found, say) for kind, found in entry["slices"].items()),
        section("", say("calibration.worst"), *_worst_notes(rubric, entry["worst"], items, say)),
    )


def _confusion(counts: Mapping[str, int], say: Wording) -> Section | None:
    headers = [say(f"calibration.{name}") for name in ("confusion_corner", "judge_good", "judge_bad")]
    rows = [
        [say("calibration.human_good"), str(counts["true_positive"]), str(counts["false_negative"])],
        [say("calibration.human_bad"), str(counts["false_positive"]), str(counts["true_negative"])],
    ]
    return section("", say("calibration.confusion"), Table(headers, rows, narrow=True))


def _slices(kind: str, entries: Mapping[str, Any], say: Wording) -> Section | None:
    names = ("pearson", "spearman", "judge", "human")
    headers = [
        say("calibration.system" if kind == "system" else f"slice.{kind}"),
        say("calibration.n"),
        *(say(f"calibration.short.{name}") for name in names),
    ]
    keys = ("pearson", "spearman", "mean_judge", "mean_human")
    rows = [[name, str(entry["n"]), *(four(entry[key], say) for key in keys)] for name, entry in entries.items()]
    return section("", say(f"calibration.slices.{kind}"), Table(headers, rows)) if rows else None


def _worst_notes(
    rubric: str, worst: Sequence[Mapping[str, Any]], items: Mapping[str, Any], say: Wording
) -> Iterator[Section]:
    for number, miss in enumerate(worst, start=1):
        item = items[str(miss["id"])]
        facts = Facts(list(_miss(rubric, miss, item, say)))
        yield Section("", shorten(str(item["id"]), 200), [facts], folded=True, number=number)


def _in_short(rubric: str, entry: Mapping[str, Any], result: Mapping[str, Any], say: Wording) -> list[Block]:
    blocks: list[Block] = [Note(answer_count(entry, say))]
    if entry["n_judged"]:
        blocks += [Note(""), _measures(entry, result, say), Note(_confusion_counts(entry["confusion"], say)), Note("")]
        blocks += [Points(list(findings(entry, say)), "strong"), *_corrected_notes(rubric, result, say)]
    if result["baseline"]:
        blocks += [Note(""), Note(say("baselines", names=f"judge={result['judge']}"), "quiet")]
    return [replace(block, media=TERMINAL) for block in blocks]


def _measures(entry: Mapping[str, Any], result: Mapping[str, Any], say: Wording) -> Table:
    rows: list[list[str | Cell]] = [
        [f"{each.name}:", Cell(four(each.value, say), "strong"), Cell(interval(each.low, each.high), "quiet")]
        for each in measures(entry, result, say)
    ]
    return Table([""] * 3, rows, right=(1,))


def _confusion_counts(counts: Mapping[str, int], say: Wording) -> str:
    names = {"both": "true_positive", "judge": "false_positive", "human": "false_negative", "none": "true_negative"}
    return say("calibration.short.confusion", **{name: counts[key] for name, key in names.items()})


def _corrected_notes(rubric: str, result: Mapping[str, Any], say: Wording) -> Iterator[Note]:
    entry = (result.get("corrected") or {}).get(rubric)
    if entry is None:
        return
    corrected, value = entry["corrected"], say("calibration.short.none")
    if corrected is not None:
        values = {"judge": four(entry["mean_judge"], say), "value": f"{corrected['value']:.4f}"}
        limits = interval(corrected["low"], corrected["high"])
        value = say("calibration.short.corrected_value", interval=limits, **values)
    yield Note("")
    yield Note(f"{say('calibration.short.corrected')}: {value}", "strong")
    yield from (Note(warning, "strong") for warning in selection_warnings({rubric: entry}, say))
    if corrected is not None:
        yield from (Note(note, "quiet") for note in correction_notes({rubric: entry}, say))


def _miss(rubric: str, miss: Mapping[str, Any], item: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    rated = item["rubrics"][rubric]
    ratings = ", ".join(f"{rating:.2f}" for rating in rated["ratings"])
    yield (
        say("calibration.scores"),
        say("calibration.scores_value", judge=f"{miss['judge']:.2f}", human=f"{miss['human']:.2f}", ratings=ratings),
    )
    if item["system"]:
        yield say("calibration.system"), str(item["system"])
    yield say("worst.question"), shorten(str(item["question"]), QUESTION)
    yield say("worst.answer"), shorten(str(item["answer"]), ANSWER)
    if rated["reasoning"]:
        yield say("calibration.reasoning"), shorten(str(rated["reasoning"]), REASON)


# --- a run whose means are corrected ----------------------------------------------------------------


def _correction(result: Mapping[str, Any], say: Wording) -> Section | None:
    run, corrected = result.get("run"), result.get("corrected") or {}
    if run is None:
        return None
    names = ("run_mean", "run_corrected", "run_labels", "run_weight", "run_labelled", "run_others")
    headers = [say("judge.rubric"), *(say(f"calibration.{name}") for name in names)]
    rows = [
        [
            metric.rubric(rubric, say),
            four(entry["mean_judge"], say),
            _with_interval(entry["corrected"], say),
            _with_interval(entry["labels_alone"], say),
            four(entry["corrected"] and entry["corrected"]["weight"], say),
            str(entry["n_labelled"]),
            str(entry["n_others"]),
        ]
        for rubric, entry in corrected.items()
    ]
    return section(
        "corrected",
        say("calibration.corrected"),
        Note(say("calibration.run", id=run["id"], folder=run["folder"])),
        Note(say("calibration.run_partial") if run["status"] != "completed" else ""),
        Table(headers, rows),
        *(Note(warning, "strong") for warning in selection_warnings(corrected, say)),
        Note(say("calibration.corrected_explain"), "quiet"),
        *(Note(note, "quiet") for note in correction_notes(corrected, say)),
    )


def _with_interval(found: Mapping[str, Any] | None, say: Wording) -> str:
    return say("none") if found is None else f"{found['value']:.4f} {interval(found['low'], found['high'])}"
