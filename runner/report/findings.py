"""What a sweep shows: which run is better, with the evidence, and where the questions of the best run fail.

The terminal says it when the sweep ends, summary.md and report.html at their top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path

from runner.metrics.paired import FEWEST
from runner.report import metric
from runner.report.blocks import EVERYWHERE, FILES, TERMINAL, Block, Cell, Note, Section, Table, section
from runner.report.comparison_words import Record, chance, interval, list_items, signed_number
from runner.report.diagnosis import withheld_note
from runner.report.document import Document
from runner.report.run import stage_name, stages_of
from runner.report.search import searched_best
from runner.report.sweep import Sweep
from runner.report.sweep_answers import ROWS
from runner.report.sweep_comparison import (
    best_of_many,
    differing_metrics,
    has_others,
    label,
    obstacles,
    run_label,
    warnings,
)
from runner.system.folder import open_run
from runner.words.wording import Wording

STAGES = 3  # of failure, the most frequent
QUESTIONS = 3  # named of each stage
READ = 2_000  # rows among which they are looked for
MOST_RUNS = 12  # named without leaving any out
BELOW_K = "below_k"  # the stage at which more chunks would help, or a better order
BETTER, WORSE = "better", "worse"


def findings(sweep: Sweep, folder: Path) -> Section | None:
    """What a sweep shows: the evidence, unless a search says what is best or there is one case; and in files the
    failing questions of the best run, whose rows are read."""
    is_told = not sweep.head.get("search") and (sweep.comparison or {}).get("n_common") != 1
    lines = evidence(sweep) if is_told else []
    best, blocks = leading_run(sweep), list[Block]()
    if best is not None and (folder / best / ROWS).is_file():
        document, more_failed = Document.of(open_run(folder / best)), has_more_k(sweep, best)
        blocks = failing_questions(document, run_label(sweep, best), more_failed=more_failed)
    failing = section("", "", *blocks, media=FILES)
    return section("findings", sweep.say("sweep.findings"), *lines, failing, media=EVERYWHERE if lines else FILES)


# --- what is better -------------------------------------------------------------------------------


def leading_run(sweep: Sweep) -> str | None:
    """The run that failing questions are named of: what a search found to be best, else the best by the first main
    metric, else the first that ended."""
    completed = [cell.folder for cell in sweep.cells if cell.status == "completed" and cell.run]
    if (found := searched_best(sweep)) in completed:
        return found
    entries = differing_metrics(sweep) if has_others(sweep) else []
    best = entries[0]["best"] if entries else None
    return best if best in completed else next(iter(completed), None)


def evidence(sweep: Sweep) -> list[Note]:
    """Which run is better by the first main metric in which runs differ, and by the others."""
    return [Note(line, "strong", EVERYWHERE) for line in _evidence_lines(sweep)]


def _evidence_lines(sweep: Sweep) -> Iterator[str]:
    """The better run by the first main metric in which runs differ, with its evidence; then the other metrics."""
    if not has_others(sweep):
        return
    say, record, entries = sweep.say, sweep.comparison or {}, differing_metrics(sweep)
    baseline = run_label(sweep, record["baseline"])
    if not entries:
        if record["metrics"]:
            yield say("brief.same", n=f"{record['n_common']:,}")
        return
    first, *further_entries = entries
    cells = [cell for cell in first["cells"] if "difference" in cell]
    decided = [cell for cell in cells if cell["verdict"] in (BETTER, WORSE)]
    values = {"metric": label(sweep, first["name"]), "baseline": baseline, "n": f"{first['n']:,}"}
    key = "differs" if decided else "few" if first["n"] < FEWEST else "open"
    yield say(f"brief.{key}", **values, fewest=FEWEST, runs=_differences(sweep, decided or cells))
    for verdict in (BETTER, WORSE):
        if names_of := [line for entry in further_entries if (line := _runs_that_are(verdict, sweep, entry))]:
            yield say(f"brief.{verdict}", baseline=baseline, metrics=list_items(names_of, say))
    if line := best_of_many(sweep):
        yield line


def obstacle_lines(sweep: Sweep) -> Iterator[str]:
    """The metrics that were not compared; all of them where nothing else can be reported."""
    if has_others(sweep):
        yield from obstacles(sweep) if differing_metrics(sweep) else warnings(sweep)


def _differences(sweep: Sweep, cells: Sequence[Record]) -> str:
    say = sweep.say
    sentences = []
    for cell in cells:
        p = chance(cell["p_holm"], say)
        numbers = say(
            "brief.evidence", difference=signed_number(cell["difference"], say, 3), interval=interval(cell, say, 3)
        )
        verdict = f"{say.name('verdict', cell['verdict'])}, " if cell["verdict"] in (BETTER, WORSE) else ""
        sentences.append(f"{run_label(sweep, cell['folder'])} {verdict}{numbers}, p {p}")
    return list_items(sentences, say, QUESTIONS) if len(sentences) > QUESTIONS else "; ".join(sentences)


def _runs_that_are(verdict: str, sweep: Sweep, entry: Record) -> str:
    folders = [cell["folder"] for cell in entry["cells"] if cell.get("verdict") == verdict]
    named = [run_label(sweep, folder) for folder in folders]
    runs_named = list_items(named, sweep.say, QUESTIONS) if len(named) > MOST_RUNS else ", ".join(named)
    return f"{_without_brackets(sweep, entry['name'])} ({runs_named})" if folders else ""


def _without_brackets(sweep: Sweep, name: str) -> str:
    """The label of a metric; the short one instead of one that ends in brackets, where brackets follow."""
    long = label(sweep, name)
    return metric.short_label(name, sweep.k, sweep.say).replace("\n", " ") if long.endswith(")") else long


# --- where questions fail -------------------------------------------------------------------------


def failing_questions(document: Document, run: str, *, more_failed: bool = False) -> list[Block]:
    """The most frequent stages of failure with some of their questions. `run`: which of several this is;
    `more_failed`: others with more chunks are no better."""
    say, stages = document.say, sorted(stages_of(document), key=lambda entry: -entry[1])[:STAGES]
    if not stages:
        return []
    if (untrusted := withheld_note(document)) is not None:
        return [untrusted]
    ids_by_stage = questions_at(document, [stage for stage, _ in stages])
    counts = document.counts["lost_at"]
    total = sum(counts.values())
    title = say("lost.total", failing=total - counts.get("none", 0), total=total)
    lead = f"{title} ({run})" if run else title
    stage = stages[0][0]
    remedy = (
        say("brief.more_failed")
        if (stage, more_failed) == (BELOW_K, True)
        else say.texts.get(f"lost_meaning.{stage}", "")
    )
    rows = [(stage_name(stage, document), count, ", ".join(ids_by_stage[stage])) for stage, count in stages]
    tables = _stage_tables(rows, say)
    block = section("", lead, *tables, Note(remedy, media=EVERYWHERE))
    return [block] if block is not None else []


def _stage_tables(stages: Sequence[tuple[str, int, str]], say: Wording) -> Iterator[Table]:
    """Stage, number of questions, some of their ids; the terminal needs no headers."""
    rows: list[list[str | Cell]] = [
        [name, f"{count:,}", Cell(ids, "quiet", is_data=True)] for name, count, ids in stages
    ]
    indented = [[f"  {name}", *others] for name, *others in rows]
    yield Table(["", "", ""], indented, right=(1,), media=TERMINAL)
    headers = [say("lost.place"), say("compare.flips.questions"), say("lost.examples")]
    yield Table(headers, rows, right=(1,), media=FILES, narrow=True)


def has_more_k(sweep: Sweep, leader: str) -> bool:
    """Whether a run differs from the best by more chunks, so that the advice to raise k is refuted. A search tried them
    with the other settings."""
    if not (has_others(sweep) and differing_metrics(sweep)):
        return False
    chunks = {cell.folder: int(cell.params.get("k") or 0) for cell in sweep.cells if cell.status == "completed"}
    is_alone = len(sweep.params) == 1 or searched_best(sweep) is not None
    return is_alone and max(chunks.values(), default=0) > chunks.get(leader, 0)


def questions_at(document: Document, stages: Sequence[str]) -> Mapping[str, list[str]]:
    """Some questions of each stage: those in the language of the reader first, then by id. They are looked for among
    the first READ rows, and behind these only where a stage has too few. Rows stand in the order in which cases ended,
    which differs from run to run."""
    ids_at: dict[str, list[tuple[bool, str]]] = {stage: [] for stage in stages}
    for number, row in enumerate(document.folder.rows()):
        if number >= READ and all(len(ids) >= QUESTIONS for ids in ids_at.values()):
            break
        ids = ids_at.get(str((row.get("labels") or {}).get("lost_at")))
        if ids is not None:
            ids.append((row.get("language") not in (document.say.language, None), str(row.get("id"))))
    return {stage: [name for _, name in nsmallest(QUESTIONS, ids)] for stage, ids in ids_at.items()}
