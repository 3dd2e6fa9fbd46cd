"""calibration.md: how far a judge says what people say, and what that makes of the means of a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.commands.calibrate.numbers import (
    Measure,
    correction_notes,
    findings,
    judged,
    measures,
    wording_of_calibration,
)
from runner.report import judge_section, metric, models_section
from runner.report.document import Document, section
from runner.report.markdown import Markdown, bold, code_block, escape, quote, shorten, table
from runner.report.metric import four, interval
from runner.report.run import cases_line
from runner.report.summary import replace_text
from runner.system.folder import RunFolder, lines, read_json
from runner.words.wording import Wording

NOT_SHOWN = ("_target_", "health", "on_failure")  # settings that change no score
QUESTION, ANSWER, REASON = 400, 600, 400  # characters shown


def write(folder: Path) -> None:
    """Write calibration.md from calibration.json and items.jsonl. The same files give the same bytes."""
    result = read_json(folder / "calibration.json", "calibration")
    replace_text(folder / "calibration.md", render(folder, result))


def render(folder: Path, result: Mapping[str, Any]) -> str:
    say = wording_of_calibration(result)
    document = Document(RunFolder(folder, result, result), say, 0.0)
    shown = {worst["id"] for entry in result["rubrics"].values() for worst in entry["worst"]}
    items = {str(item["id"]): item for item in lines(folder / "items.jsonl") if item["id"] in shown}
    sections = [
        _head(result, say),
        *(_rubric(rubric, entry, result, items, say) for rubric, entry in result["rubrics"].items()),
        _corrected(result, say),
        judge_section.judge(document),
        models_section.cost(document),
    ]
    return "\n\n".join(part for part in sections if part) + "\n"


def _head(result: Mapping[str, Any], say: Wording) -> str:
    judge, labels, threshold = result["config"]["judge"], result["labels"], result["threshold"]
    low, high = (f"{number:g}" for number in labels["scale"])
    settings = ", ".join(f"{name}={value}" for name, value in judge.items() if name not in NOT_SHOWN)
    facts = [
        (say("ran.judge"), result["judge"]),
        (say("calibration.settings"), shorten(settings, ANSWER)),
        (say("calibration.what"), labels["path"]),
        (say("calibration.scale"), say("calibration.scale_value", low=low, high=high)),
        (
            say("calibration.threshold"),
            say("calibration.threshold_value", **{k: f"{threshold[k]:g}" for k in threshold}),
        ),
        (say("calibration.answers"), cases_line(result, say)),
        (say("ran.status"), say.name("status", result["status"])),
        (say("ran.created"), result["timing"]["created_at"]),
        (say("ran.versions"), ", ".join(f"{name} {version}" for name, version in result["versions"].items())),
    ]
    if any(labels["problems"].values()):
        facts.insert(6, (say("panel.data_problems"), say("problems.data", **labels["problems"])))
    words = [word for word in result["words"] if not word.startswith("out=")]  # results of its own
    command = shlex.join(["python", "-m", "runner", "calibrate", *words])
    return "\n\n".join(
        block
        for block in (
            f"# {escape(say('calibration.title', judge=result['judge']))}",
            quote(_notes(result, say)),
            escape(say("calibration.intro")),
            section(
                say("head.ran"), table([say("head.property"), say("head.value")], facts), escape(say("ran.command"))
            ),
            code_block(command, "sh"),
        )
        if block
    )


def _notes(result: Mapping[str, Any], say: Wording) -> list[str]:
    notes: list[str] = [bold(say("note.message", message=result["error_message"]))] if result["error_message"] else []
    if result["cases"]["pending"]:
        notes.append(say("note.goes_on"))
    if result["baseline"]:
        notes.append(say("baselines", names=f"judge={result['judge']}"))
    return notes


# --- one rubric -------------------------------------------------------------------------------------


def _rubric(
    rubric: str, entry: Mapping[str, Any], result: Mapping[str, Any], items: Mapping[str, Any], say: Wording
) -> str:
    if not entry["n_judged"]:
        return section(metric.rubric(rubric, say), escape(judged(entry, say)))
    headers = [say(f"calibration.{name}") for name in ("measure", "value")]
    rows = [_measure_row(measure, say) for measure in measures(entry, result, say)]
    return section(
        metric.rubric(rubric, say),
        escape(judged(entry, say)),
        "\n".join(f"- {bold(sentence)}" for sentence in findings(entry, say)),
        table([*headers, say("interval"), say("calibration.meaning")], rows, (1, 2)),
        _confusion(entry["confusion"], say),
        *(_slices(kind, found, say) for kind, found in entry["slices"].items()),
        section(say("calibration.worst"), *_worst(rubric, entry["worst"], items, say), level=3),
    )


def _measure_row(measure: Measure, say: Wording) -> Sequence[str]:
    limits = Markdown(interval(measure.low, measure.high)) or say("none")
    return measure.name, four(measure.value, say), limits, measure.meaning


def _confusion(found: Mapping[str, int], say: Wording) -> str:
    headers = [say(f"calibration.{name}") for name in ("confusion_corner", "judge_good", "judge_bad")]
    rows = [
        (say("calibration.human_good"), str(found["true_positive"]), str(found["false_negative"])),
        (say("calibration.human_bad"), str(found["false_positive"]), str(found["true_negative"])),
    ]
    return section(say("calibration.confusion"), table(headers, rows, (1, 2)), level=3)


def _slices(kind: str, found: Mapping[str, Any], say: Wording) -> str:
    if not found:
        return ""
    names = ("pearson", "spearman", "judge", "human")
    headers = [
        say("calibration.system" if kind == "system" else f"slice.{kind}"),
        say("calibration.n"),
        *(say(f"calibration.short.{name}") for name in names),
    ]
    keys = ("pearson", "spearman", "mean_judge", "mean_human")
    rows = [(name, str(entry["n"]), *(four(entry[key], say) for key in keys)) for name, entry in found.items()]
    return section(say(f"calibration.slices.{kind}"), table(headers, rows, range(1, 6)), level=3)


def _worst(rubric: str, worst: Sequence[Mapping[str, Any]], items: Mapping[str, Any], say: Wording) -> Iterator[str]:
    for number, miss in enumerate(worst, start=1):
        item = items[str(miss["id"])]
        facts = [f"- {bold(name)}: {escape(text)}" for name, text in _miss(rubric, miss, item, say)]
        yield "\n\n".join([f"#### {number}. {escape(shorten(str(item['id']), 200))}", "\n".join(facts)])


def _miss(rubric: str, miss: Mapping[str, Any], item: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    said = item["rubrics"][rubric]
    ratings = ", ".join(f"{rating:.2f}" for rating in said["ratings"])
    yield (
        say("calibration.scores"),
        say("calibration.scores_value", judge=f"{miss['judge']:.2f}", human=f"{miss['human']:.2f}", ratings=ratings),
    )
    if item["system"]:
        yield say("calibration.system"), str(item["system"])
    yield say("worst.question"), shorten(str(item["question"]), QUESTION)
    yield say("worst.answer"), shorten(str(item["answer"]), ANSWER)
    if said["reasoning"]:
        yield say("calibration.reasoning"), shorten(str(said["reasoning"]), REASON)


# --- a run whose means are corrected ----------------------------------------------------------------


def _corrected(result: Mapping[str, Any], say: Wording) -> str:
    run, found = result.get("run"), result.get("corrected") or {}
    if run is None:
        return ""
    names = ("run_mean", "run_corrected", "run_labels", "run_weight", "run_labelled", "run_others")
    headers = [say("judge.rubric"), *(say(f"calibration.{name}") for name in names)]
    rows = [
        (
            metric.rubric(rubric, say),
            four(entry["mean_judge"], say),
            _with_interval(entry["corrected"], say),
            _with_interval(entry["labels_alone"], say),
            four(entry["corrected"] and entry["corrected"]["weight"], say),
            str(entry["n_labelled"]),
            str(entry["n_others"]),
        )
        for rubric, entry in found.items()
    ]
    return section(
        say("calibration.corrected"),
        escape(say("calibration.run", id=run["id"], folder=run["folder"])),
        escape(say("calibration.run_partial")) if run["status"] != "completed" else "",
        table(headers, rows, range(1, 7)),
        escape(say("calibration.corrected_explain")),
        *(escape(note) for note in correction_notes(found, say)),
    )


def _with_interval(found: Mapping[str, Any] | None, say: Wording) -> str:
    if found is None:
        return say("none")
    return Markdown(f"{found['value']:.4f} {interval(found['low'], found['high'])}")
