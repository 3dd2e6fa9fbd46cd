"""What a run or a sweep says in the terminal when it ends, on one screen: what was asked, how many questions were
answered right, what is better, where questions fail, what it cost, and what to do next. `results` shows all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import distributions
from math import inf
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from runner.config.arguments import python_here, to_type, without_additions
from runner.errors import install_command
from runner.llm.calls import FILE as CALLS
from runner.metrics.metric import GROUPS
from runner.metrics.right import NAME as RIGHT
from runner.report import metric, thresholds, usage
from runner.report.blocks import TERMINAL, Block, Facts, Note, Section
from runner.report.case import case_brief
from runner.report.document import Document
from runner.report.findings import (
    MOST_RUNS,
    evidence,
    failing_questions,
    has_more_k,
    leading_run,
    obstacle_lines,
    questions_at,
)
from runner.report.metric import of_groups
from runner.report.metrics import clusters_line, refused_line, rows_of
from runner.report.page import FILE
from runner.report.panels import cost, data_problems, ending_rows, head, notes, panel, title, warning_first
from runner.report.right import first_line, how_decided, needs_model, undecided_line
from runner.report.run import stages_of
from runner.report.search import search
from runner.report.sweep import Sweep, read_sweep
from runner.report.sweep_comparison import differing_metrics, gap, has_others, label, run_label
from runner.report.sweep_judges import judges
from runner.report.sweep_sections import MARK, of_evaluations, runs
from runner.report.terminal import renderables
from runner.system.folder import RunFolder, case_counts, open_run
from runner.words.wording import Wording

METRICS = 10  # of a single run
MAX_WAYS = 4  # by which cases were decided, that are named
RUNS = 8  # are shown of more than MOST_RUNS
VALUES = 3  # of an option that is swept, before the last one, where runs are left out
WRITES = ("out=", "case=", "compare=", "save_snapshot=")  # files of a run: repeated, they would be written again
WRITTEN = ("save_snapshot", "junit")  # options that name a file which the run writes
GATES = ("junit=", "fail_on_regression=", "threshold.")  # of a whole run, not of one case


def brief(run: RunFolder) -> list[RenderableType]:
    """The summary of a single run in the terminal."""
    document = Document.of(run)
    is_whole = run.run.get("status") == "completed" and not (document.cases["failed"] + document.cases["timeout"])
    spent = cost(document) or ([(document.say("cost.cost"), document.say("cost.free"))] if is_whole else [])
    facts = [*([] if is_whole else ending_rows(document)), *spent, *data_problems(document)]
    blocks = [
        *(part for part in (thresholds.thresholds(document),) if part is not None),
        *_sentences(document.offer.sections(document)),
        *notes(document),
        *([Facts(facts, media=TERMINAL)] if facts else []),
        *failing_questions(document, ""),
    ]
    return [
        *warning_first(document),
        *head(document),
        *renderables(_missing_gold(document), dense=True),
        *_scores(document),
        *renderables(blocks, dense=True),
        *next_steps(_ways_of_run(document), document.say),
    ]


def _missing_gold(document: Document) -> Iterator[Note]:
    """How many questions name relevant documents that do not exist: no number below is about them."""
    count = ((document.summary.get("counts") or {}).get("lost_at") or {}).get("not_in_corpus")
    if count:
        yield Note(document.say("brief.missing_gold", n=count, total=document.cases["total"]), "alarm", TERMINAL)


def _scores(document: Document) -> list[RenderableType]:
    """The metrics of a run with their intervals; of more than METRICS, those that decide comparisons or stand for a
    run, and those that its configuration added: those of ranking and of answers in a frame each."""
    say = document.say
    names = [value.name for value in metric.values(document.metrics, of_groups(document.metrics, say, *GROUPS))]
    shown = names if len(names) <= METRICS else _chosen(names, say)
    left = len(names) - len(shown)
    notes_below = [
        Note(say("brief.more_metrics", n=left) if left else "", "quiet", TERMINAL),
        Note(undecided_line(document.summary, say), "strong", TERMINAL),
        Note(how_decided(document, MAX_WAYS), "quiet", TERMINAL),
        Note(refused_line(document), "quiet", TERMINAL),
        Note(clusters_line(document), "quiet", TERMINAL),
    ]
    return [*_framed(document, shown), *renderables([note for note in notes_below if note.text], dense=True)]


def _framed(document: Document, names: Sequence[str]) -> list[RenderableType]:
    """The rows of metrics: in a frame, those of answers in one of their own where documents are ranked, too."""
    say = document.say
    groups = {name: _group(name, say) for name in names}
    answers = [name for name in names if groups[name] == "answers"] if "retrieval" in groups.values() else []
    parts = [(title(document), [name for name in names if name not in answers]), (say("panel.generation"), answers)]
    framed = [(heading, rows_of(document, part)) for heading, part in parts if part]
    if not any(rows for _, rows in framed):
        return [panel(title(document), [Note(say("metrics.none"), media=TERMINAL)])]
    return [panel(heading, [rows]) for heading, rows in framed if rows is not None]


def _group(name: str, say: Wording) -> str:
    found = say.catalogue.variant(name).metric
    return "own" if found is None else found.group


def _chosen(names: Sequence[str], say: Wording) -> list[str]:
    variants = [say.catalogue.variant(name) for name in names]
    main = [variant.name for variant in variants if variant.is_main or variant.is_headline]
    beside = {variant.name for variant in variants if variant.is_shown("run") or _group(variant.name, say) == "own"}
    chosen = {*(main or names)[:METRICS], *beside}
    return [name for name in names if name in chosen]


def _sentences(blocks: Iterable[Block | None]) -> Iterator[Block]:
    """What sections say in sentences; their tables are shown by `results`."""
    for block in blocks:
        match block:
            case Section(blocks=inner):
                if sentences := tuple(_sentences(inner)):
                    yield replace(block, blocks=sentences)
            case Note():
                yield block


def brief_case(folder: Path) -> list[RenderableType]:
    """The summary of a run of one case in the terminal."""
    document = Document.of(open_run(folder))
    return [*case_brief(folder), *next_steps(_ways_of_case(document), document.say)]


def brief_sweep(folder: Path, sweep: Sweep | None = None, *, bold: bool | None = None) -> list[RenderableType]:
    """`sweep`: as `write_sweep` returned it; by default it is read. `bold`: what stands out is bold, not marked; by
    default where stdout shows what is bold."""
    sweep = read_sweep(folder) if sweep is None else sweep
    is_bold = Console().color_system is not None if bold is None else bold
    mark = "" if is_bold else MARK
    leader = leading_run(sweep)
    document = None if leader is None else Document.of(open_run(folder / leader))
    few = _limit_runs(sweep)
    blocks: list[Block] = [
        *(() if document is None else _missing_gold(document)),
        runs(few, folder, errors=False, mark=mark),
    ]
    if len(few.cells) < len(sweep.cells):
        blocks.append(Note(_shown_line(few, sweep), "quiet", TERMINAL))
    blocks += [Note(line, media=TERMINAL)] if (line := _undecided(few)) else []
    if (found := search(sweep)) is not None:
        blocks.append(replace(found, untitled=TERMINAL, media=TERMINAL))
    elif (sweep.comparison or {}).get("n_common") != 1:  # of one case, the values say all
        blocks += evidence(sweep)
        blocks += [Note(line, "quiet", TERMINAL) for line in obstacle_lines(sweep)]
    blocks += [each for each in (*of_evaluations(sweep), gap(sweep), judges(sweep)) if each is not None]
    if leader is not None and document is not None:
        blocks += failing_questions(document, run_label(sweep, leader), more_failed=has_more_k(sweep, leader))
    if spent := _spending(sweep):
        blocks.append(Note(spent, media=TERMINAL))
    return [
        *_open_runs(sweep),
        *_what_ran(sweep),
        *renderables(blocks, dense=True),
        *next_steps(_ways_of_sweep(sweep, folder, leader), sweep.say),
    ]


def _open_runs(sweep: Sweep) -> Iterator[Text]:
    """Why nothing follows from the headline of some runs, once for runs of which the same is said."""
    runs_of: dict[str, list[str]] = {}
    for cell in sweep.runs:
        runs_of.setdefault(first_line(cell.summary or {}, sweep.say), []).append(run_label(sweep, cell.folder))
    for line, names in runs_of.items():
        if line:
            yield Text(line if len(runs_of) == 1 else f"{', '.join(names)}: {line}", style="bold red")


def _undecided(sweep: Sweep) -> str:
    """How many questions of each run are undecided, and the range that follows; empty where all are decided."""
    say, values = sweep.say, [(cell, metric.value_of(cell.metrics, RIGHT)) for cell in sweep.runs]
    runs = [
        say(
            "right.undecided_run",
            run=run_label(sweep, cell.folder),
            undecided=f"{value.undecided:,}",
            total=f"{value.n_scored + value.undecided:,}",
            low=f"{value.if_lowest:.1%}",
            high=f"{value.if_highest:.1%}",
        )
        for cell, value in values
        if value.undecided
    ]
    return say("right.undecided_runs", runs="; ".join(runs)) if runs else ""


def _what_ran(sweep: Sweep) -> Iterator[Text]:
    """Which runs over which cases."""
    first = next((cell for cell in sweep.cells if cell.summary), None)
    if first is None:
        return
    choices = first.run.get("choices") or {}
    swept = [f"{name}={_values_of(name, sweep)}" for name in sweep.params]
    total = case_counts(first.summary)["total"]
    yield Text(
        sweep.say(
            "brief.asked_one" if total == 1 else "brief.asked",
            experiment=sweep.head.get("experiment") or "",
            dataset=choices.get("dataset") or choices.get("scenario") or sweep.say("none"),
            total=f"{total:,}",
            runs=len(sweep.cells),
            swept="; ".join(swept),
        )
    )


def _values_of(name: str, sweep: Sweep) -> str:
    values = list(dict.fromkeys(cell.params.get(name, "") for cell in sweep.cells))
    return ", ".join(values if len(values) <= MOST_RUNS else [*values[:VALUES], "…", values[-1]])


def _limit_runs(sweep: Sweep) -> Sweep:
    """Of many runs the baseline and the best by the first main metric in which they differ, in the order of the sweep;
    the first ones where they differ in none."""
    if len(sweep.cells) <= MOST_RUNS:
        return sweep
    entries = differing_metrics(sweep) if has_others(sweep) else []
    values = {cell["folder"]: cell["value"] for cell in entries[0]["cells"]} if entries else {}
    sign = -1.0 if entries and sweep.say.catalogue.direction(entries[0]["name"]) == "lower" else 1.0
    ranked = sorted(sweep.cells, key=lambda cell: -sign * values.get(cell.folder, -sign * inf))
    baseline = (sweep.comparison or {}).get("baseline")
    chosen = {cell.folder for cell in ranked[:RUNS]} | {baseline}
    return replace(sweep, cells=[cell for cell in sweep.cells if cell.folder in chosen])


def _shown_line(few: Sweep, sweep: Sweep) -> str:
    say, entries = sweep.say, differing_metrics(sweep) if has_others(sweep) else []
    counts = {"shown": len(few.cells), "n": len(sweep.cells)}
    if not entries:
        return say("brief.first_runs", **counts)
    return say("brief.best_runs", metric=label(sweep, entries[0]["name"]), **counts)


# --- cost, and what to do next --------------------------------------------------------------------


def _spending(sweep: Sweep) -> str:
    """The spending of all runs together."""
    uses = [use for cell in sweep.runs for use in cell.uses]
    if not uses:
        return f"{sweep.say('cost.cost')}: {sweep.say('cost.free')}" if sweep.runs else ""
    live, cached = usage.total(use.live for use in uses), usage.total(use.cached for use in uses)
    line = f"{sweep.say('cost.cost')}: {usage.spending(live, sweep.say)}"
    return f"{line}; {sweep.say('cost.saved')}: {usage.spending(cached, sweep.say)}" if cached.requests else line


Way = tuple[str, str | Path]  # (what for, the command or the file)


def _ways_of_run(document: Document) -> Iterator[Way]:
    run, folder = document.run, document.folder.path
    yield from _report(folder)
    yield from _written_files(run)
    yield "brief.all", to_type("results", str(folder))
    yield from _decide(document)
    if (again := _repeat_words(run)) and run.get("status") == "completed":
        yield from _case(document, again)
        yield "brief.compare_change", to_type(*again, f"compare={_setting('compare', run) or folder}")
    yield from _ui(run)


def _ways_of_sweep(sweep: Sweep, folder: Path, leader: str | None) -> Iterator[Way]:
    yield from _report(folder)
    yield "brief.all", to_type("results", str(folder))
    completed = [cell.folder for cell in sweep.cells if cell.status == "completed"]
    if leader is None:
        return
    run = open_run(folder / leader)
    yield from _decide(Document.of(run))
    yield from _case(Document.of(run), _repeat_words(run.run))
    if len(completed) > 1:
        one, other = completed[0], leader if leader != completed[0] else completed[-1]
        yield "brief.compare", to_type("compare", str(folder / one), str(folder / other))
    yield from _ui(run.run)


def _ways_of_case(document: Document) -> Iterator[Way]:
    folder, case = document.folder.path, (document.run.get("config") or {}).get("case")
    yield from _report(folder)
    if again := _repeat_words(document.run):
        yield "brief.whole_case", to_type(*_of_case(again), f"case={case}", "verbose=true")
    if (folder / CALLS).is_file():
        yield "brief.calls", to_type("calls", str(folder), str(case))


def _report(folder: Path) -> Iterator[Way]:
    if (folder / FILE).is_file():
        yield "brief.report", folder / FILE


def _written_files(run: Mapping[str, Any]) -> Iterator[Way]:
    """The files beside the run's own that its command named."""
    for name in WRITTEN:
        if (path := _setting(name, run)) and Path(path).is_file():
            yield f"brief.{name}", Path(path)


def _setting(name: str, run: Mapping[str, Any]) -> str:
    """What the command of the run set an option to; empty where it did not."""
    words = [without_additions(word) for word in run.get("overrides") or ()]
    values = [word.partition("=")[2] for word in words if word.partition("=")[0] == name]
    return values[-1] if values and values[-1] != "null" else ""


def _decide(document: Document) -> Iterator[Way]:
    """The command by which a model decides what words leave undecided."""
    again = [word for word in _repeat_words(document.run) if not word.startswith("judge=")]
    if again and needs_model(document.summary):
        yield "brief.decide", to_type(*again, "judge=openai")


def _case(document: Document, again: Sequence[str]) -> Iterator[Way]:
    stages = sorted(stages_of(document), key=lambda entry: -entry[1])
    ids = questions_at(document, [stages[0][0]])[stages[0][0]] if stages else []
    if again and ids:
        yield "brief.case", to_type(*_of_case(again), f"case={ids[0]}")


def _ui(run: Mapping[str, Any]) -> Iterator[Way]:
    if (run.get("choices") or {}).get("tracking") == "mlflow":
        has_pages = any(distributions(name="mlflow"))  # runs are tracked by mlflow-skinny, which has none
        stores = [word.partition("=")[2] for word in run.get("overrides") or () if word.startswith("tracking.uri=")]
        ui = to_type("ui", *(word for store in stores for word in ("--uri", store)))
        pip = install_command("ui") if python_here() == "python" else f"{python_here()} -m {install_command('ui')}"
        yield "brief.ui", ui if has_pages else f"{pip} && {ui}"


def _repeat_words(run: Mapping[str, Any]) -> list[str]:
    """The words of a run, without the settings of its folder; empty for a run that became a record."""
    if run.get("frozen"):
        return []
    folders = [word for folder in run.get("config_folders") or () for word in ("--config-dir", folder)]
    words = run.get("overrides") or ()
    repeated = [without_additions(word) for word in words if not word.lstrip("+").startswith(WRITES)]
    return [*folders, *repeated] if repeated else []


def _of_case(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.lstrip("+").startswith(GATES)]


def next_steps(ways: Iterable[Way], say: Wording) -> list[Text]:
    """The next commands or files: (key of a word, a command or a file). Unbroken, so that they can be copied; a file is
    a link where the terminal has links."""
    rows = [(say(key), way) for key, way in ways]
    width = max((cell_len(name) for name, _ in rows), default=0)
    lines = [Text(say("panel.next"), style="bold", end="\n")] if rows else []
    for name, way in rows:
        link = f"link {way.absolute().as_uri()}" if isinstance(way, Path) else ""
        padded = f"  {name}{' ' * (width - cell_len(name))}  "
        lines.append(Text.assemble(padded, (str(way), link), no_wrap=True, overflow="ignore"))
    return lines
