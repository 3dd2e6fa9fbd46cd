"""Judges side by side over the same answers: how far they agree, what each costs, and where they differ most.

`judges` of `Sweep.comparison` is the record of runner.compare.judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.report import metric, usage
from runner.report.blocks import EVERYWHERE, FILES, TERMINAL, Block, Cell, Code, Note, Section, Table, section
from runner.report.comparison_words import chance, interval, signed_number
from runner.report.sweep import Sweep
from runner.report.sweep_comparison import names, run_label

ROLE = ("judge",)
NAMED = 5  # answers that the terminal names

Record = Mapping[str, Any]


def judges(sweep: Sweep) -> Section | None:
    """One part for each system that several judges have judged."""
    groups: Sequence[Record] = (sweep.comparison or {}).get("judges", ())
    title = sweep.say("sweep.judges")
    heading = [Note(title, "strong", TERMINAL)] if groups else []
    parts = [block for group in groups for block in _group(sweep, group)]
    calibration = list(_calibration(sweep, groups)) if groups else []
    return section("judges", title, *heading, *parts, *calibration, untitled=TERMINAL)


def _group(sweep: Sweep, group: Record) -> Iterator[Block]:
    say, first = sweep.say, group["folders"][0]
    yield Note(say("sweep.judges_same", runs=names(sweep, group["folders"]), n=group["n"]), media=EVERYWHERE)
    if group["other_answers"]:
        yield Note(say("sweep.judges_other", count=group["other_answers"]), "alarm", EVERYWHERE)
    yield from _agreement(sweep, group)
    yield Note(say("sweep.judges_explain", first=run_label(sweep, first)), "quiet", EVERYWHERE)
    yield Table(*_costs(sweep, group), media=EVERYWHERE, narrow=True)
    if group["most"]:
        yield Note(say("sweep.judges_most", count=len(group["most"])), "strong", FILES)
        yield _disagreement_table(sweep, group)
        ids = (f"{each['id']} ({_scores(each)})" for each in group["most"][:NAMED])
        yield Note(say("sweep.judges_most_short", answers="; ".join(ids)), "quiet", TERMINAL)


def _agreement(sweep: Sweep, group: Record) -> Iterator[Table]:
    """A row for each judge on each rubric; alpha, which is that of all judges, is in the first row."""
    say, rows, short = sweep.say, list[list[str | Cell]](), list[list[str | Cell]]()
    for rubric in group["rubrics"]:
        beside = {other["folder"]: other for other in rubric["beside"]}
        for place, folder in enumerate(group["folders"]):
            name = metric.rubric(rubric["name"], say)
            mean = metric.four(rubric["means"].get(folder), say)
            alpha = metric.four(rubric["alpha"], say) if place == 0 else ""
            entry = beside.get(folder)
            numbers = ["", "", "", ""]
            if entry is not None:
                rank = metric.four(entry["spearman"], say)
                numbers = [rank, signed_number(entry["bias"], say), interval(entry, say), chance(entry["p_holm"], say)]
            counts = [str(rubric["n"]), str(rubric["failed"][folder])]
            rows.append([name, run_label(sweep, folder), mean, *counts, alpha, *numbers])
            short.append([name if place == 0 else "", run_label(sweep, folder), mean, alpha, *numbers[:2]])
    keys = ("judge.rubric", "judge", "mean", "n", "failed", "alpha", "spearman", "bias")
    heads = [say(key) if "." in key else say(f"sweep.judges_{key}") for key in keys]
    headers = [*heads, say("interval"), say("compare.p")]
    yield Table(headers, rows, say("sweep.judges"), right=range(2, len(headers)), media=FILES)
    yield Table([*heads[:3], *heads[5:]], short, right=range(2, 6), media=TERMINAL)


def _costs(sweep: Sweep, group: Record) -> tuple[list[str], list[list[str | Cell]]]:
    say, rows = sweep.say, list[list[str | Cell]]()
    for folder in group["folders"]:
        run = next(cell for cell in sweep.cells if cell.folder == folder)
        models = ", ".join(use.model for use in run.uses if use.role in ROLE) or say("none")
        spent = usage.of_a_case(run.summary, ROLE)
        usd, tokens = (0.0, 0.0) if spent is None else spent
        cost = say("cost.unknown") if usd is None else usage.dollars(usd)
        rows.append([run_label(sweep, folder), models, cost, usage.count(round(tokens))])
    headers = [say("sweep.judges_judge"), say("cost.model"), say("cost.case"), say("sweep.respect_tokens")]
    return headers, rows


def _disagreement_table(sweep: Sweep, group: Record) -> Table:
    say = sweep.say
    judged_by = [run_label(sweep, folder) for folder in group["folders"]]
    headers = [say("sweep.judges_case"), say("judge.rubric"), *judged_by]
    headers += [say("sweep.judges_question"), say("sweep.judges_answer")]
    rows: list[list[str | Cell]] = [
        [
            Cell(answer["id"], is_data=True),
            metric.rubric(answer["rubric"], say),
            *(f"{score:.2f}" for score in answer["scores"]),
            Cell(answer["question"], is_data=True),
            Cell(answer["answer"], is_data=True),
        ]
        for answer in group["most"]
    ]
    return Table(headers, rows, right=range(2, 2 + len(judged_by)), media=FILES)


def _scores(answer: Record) -> str:
    return ", ".join(f"{score:.2f}" for score in answer["scores"])


def _calibration(sweep: Sweep, groups: Sequence[Record]) -> Iterator[Block]:
    """How to find out which judge is right, and the command for it."""
    yield Note(sweep.say("sweep.judges_calibrate"), "", EVERYWHERE)
    folders = dict.fromkeys(folder for group in groups for folder in group["folders"])
    chosen = dict.fromkeys(_choice(sweep, folder) for folder in folders)
    commands = [f"python -m runner calibrate LABELS.jsonl {words}" for words in chosen]
    yield Code("\n".join(commands))
    yield from (Note(command, media=TERMINAL) for command in commands)


def _choice(sweep: Sweep, folder: str) -> str:
    """The words of the command line that chose the judge of a run."""
    run = next(cell for cell in sweep.cells if cell.folder == folder)
    words = run.run.get("overrides") or run.overrides
    own = [word for word in words if word.lstrip("+~").startswith(("judge=", "judge."))]
    return " ".join(word.replace("\\:", ":") for word in own)
