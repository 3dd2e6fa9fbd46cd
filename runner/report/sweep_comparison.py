"""The runs of a sweep against its baseline and against the best of them, which of them are worth their price, and how
much of the gap between a floor and a ceiling they close.

`Sweep.comparison` is the record of runner.compare.sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from statistics import NormalDist, median
from typing import Any

from runner.report import metric
from runner.report.blocks import EVERYWHERE, PAGE, TERMINAL, Block, Cell, Fit, Note, Section, Stack, Table, section
from runner.report.comparison_metrics import draw_difference
from runner.report.comparison_words import (
    MARKS,
    chance,
    differs,
    interval,
    plain,
    reason_text,
    signed_number,
    two_digits,
    verdict_word,
)
from runner.report.markdown import Markdown
from runner.report.sweep import Sweep
from runner.system.folder import case_counts

MANY_RUNS = 4  # from which the best one looks better than it is by more than its own standard error
SHOWN = 5  # metrics in the terminal; more do not fit 80 columns
EQUAL = "="
NOT_WORDS = ("true", "false", "null", "none", "auto")

Record = Mapping[str, Any]


def names(sweep: Sweep, folders: Iterable[str]) -> str:
    """`k=3, k=5`; the number of a run where no setting distinguishes it."""
    return ", ".join(run_label(sweep, folder) for folder in folders)


def run_label(sweep: Sweep, folder: str) -> str:
    """The settings that distinguish the run; a word that is the value of one of several settings is shown without the
    name of the setting."""
    params = next((cell.params for cell in sweep.cells if cell.folder == folder), {})
    names_all = len(params) == 1
    words = (
        f"{name}={value}" if names_all or value in NOT_WORDS or not value.replace("_", "").isalpha() else value
        for name, value in params.items()
    )
    return " ".join(words) or folder


def has_others(sweep: Sweep) -> bool:
    """Whether there is a run to compare with the baseline."""
    return sweep.comparison is not None and len(sweep.comparison["cells"]) > 1


def label(sweep: Sweep, name: str) -> str:
    """The label of a metric in a sweep."""
    return metric.label(name, sweep.k, sweep.say)


def differing_metrics(sweep: Sweep) -> list[Record]:
    """Metrics in which runs differ."""
    return in_order(sweep, (entry for entry in (sweep.comparison or {}).get("metrics", ()) if not entry["same"]))


def in_order(sweep: Sweep, entries: Iterable[Record]) -> list[Record]:
    """Entries of metrics, the most important first."""
    return sorted(entries, key=lambda entry: sweep.say.catalogue.variant(entry["name"]).priority)


def heading(sweep: Sweep, name: str) -> str:
    """The heading of a narrow column."""
    short = metric.short_label(name, sweep.k, sweep.say)
    return short if short != label(sweep, name) else short.replace(" ", "\n")


# --- sentences ------------------------------------------------------------------------------------


def warnings(sweep: Sweep) -> Iterator[str]:
    """Warnings of metrics that were not compared, with the reasons."""
    yield from obstacles(sweep)
    say, names_compared = sweep.say, {entry["name"] for entry in (sweep.comparison or {})["metrics"]}
    at_own_k = [name for name in sweep.metrics if say.catalogue.variant(name).is_own_k]
    if sweep.k is None and at_own_k:
        yield say("sweep.no_winner", metrics=", ".join(label(sweep, name) for name in at_own_k))
    judged = judged_metrics(sweep)
    beside = [name for name in sweep.metrics if name not in (*names_compared, *at_own_k, *judged)]
    if beside:
        yield say("sweep.beside", metrics=", ".join(label(sweep, name) for name in beside))


def obstacles(sweep: Sweep) -> Iterator[str]:
    """Reasons why runs, or comparable metrics, were not compared as requested."""
    say, record = sweep.say, sweep.comparison or {}
    if record["baseline"] != record["baseline_given"]:
        wanted, used = (run_label(sweep, record[name]) for name in ("baseline_given", "baseline"))
        yield say("sweep.other_baseline", given=wanted, used=used)
    if record["left_out"]:
        yield say("sweep.only_common", runs=names(sweep, record["left_out"]))
    if record["apart"]:
        yield say("sweep.apart", runs=names(sweep, record["apart"]), baseline=run_label(sweep, record["baseline"]))
    compared_names = {entry["name"] for entry in record["metrics"]}
    if judged := [name for name in judged_metrics(sweep) if name not in compared_names]:
        yield say("sweep.judged_apart", metrics=", ".join(label(sweep, name) for name in judged))
    for entry in record["metrics"]:
        runs_by_reason: dict[str, list[str]] = {}
        for folder, reasons in entry["not_comparable"].items():
            runs_by_reason.setdefault("; ".join(reason_text(reason, say) for reason in reasons), []).append(folder)
        for reasons, folders in runs_by_reason.items():
            values = {"metric": label(sweep, entry["name"]), "runs": names(sweep, folders), "reasons": reasons}
            yield say("sweep.not_comparable", **values)


def same_line(sweep: Sweep) -> str:
    """The note that runs over different samples are compared on their common cases only."""
    record = sweep.comparison or {}
    metrics = ", ".join(label(sweep, entry["name"]) for entry in record["metrics"] if entry["same"])
    compared = [cell for cell in sweep.cells if cell.folder in record["cells"]]
    is_part = any(case_counts(cell.summary)["done"] > record["n_common"] for cell in compared)
    return (
        sweep.say("sweep.same_common" if is_part else "sweep.same", metrics=metrics, n=record["n_common"])
        if metrics
        else ""
    )


def judged_metrics(sweep: Sweep) -> list[str]:
    """Metrics that depend on the judge, where runs differ in nothing but the judge."""
    if not (sweep.comparison or {}).get("judges"):
        return []
    return [name for name in sweep.metrics if "judge" in (sweep.say.catalogue.variant(name).depends or ())]


def alike_lines(sweep: Sweep) -> Iterator[str]:
    """The runs with identical outputs."""
    for group in (sweep.comparison or {}).get("alike", ()):
        *first, last = (sweep.say(f"sweep.alike_{part}") for part in group["parts"])
        parts = sweep.say("sweep.alike_and").join([*filter(None, [", ".join(first)]), last])
        yield sweep.say("sweep.alike", parts=parts, runs=names(sweep, group["folders"]))


def near_best(sweep: Sweep) -> str:
    """The runs that may be the best, for each metric."""
    say, sets = sweep.say, []
    for entry in differing_metrics(sweep):
        near = entry["within_noise_of_best"]
        runs = say("sweep.near_all") if len(near) == len(entry["cells"]) else names(sweep, near)
        sets.append(f"{label(sweep, entry['name'])}: {runs}")
    return say("sweep.near_best", sets="; ".join(sets)) if sets else ""


def best_of_many(sweep: Sweep) -> str:
    """By how much the best of many runs looks too good where all are equal; empty for few runs."""
    entries = differing_metrics(sweep) if has_others(sweep) else []
    cells = entries[0]["cells"] if entries else []
    widths = [cell["ci_high"] - cell["ci_low"] for cell in cells if cell.get("ci_low") is not None]
    if len(cells) < MANY_RUNS or not widths:
        return ""
    best = next(cell for cell in cells if cell["folder"] == entries[0]["best"])
    return sweep.say(
        "sweep.best_of_many",
        run=run_label(sweep, best["folder"]),
        metric=label(sweep, entries[0]["name"]),
        value=metric.four(best["value"], sweep.say),
        count=len(cells),
        excess=metric.four(excess_of_best(widths, len(cells)), sweep.say),
    )


def excess_of_best(widths: Sequence[float], n_runs: int) -> float:
    """By how much the best mean of equal runs is expected to be above their common mean.

    Args:
        widths: of the 95 % intervals of differences between runs over the same cases.
        n_runs: runs.

    Returns:
        The standard error of a mean beside what the cases have in common, which is that of a difference divided by the
        root of 2, times the expected largest of n standard normal numbers (Blom 1958: quantile (n - 3/8) / (n + 1/4)).
    """
    normal = NormalDist()
    own_error = median(widths) / (2 * normal.inv_cdf(0.975)) / sqrt(2)
    return own_error * normal.inv_cdf((n_runs - 0.375) / (n_runs + 0.25))


def would_find(sweep: Sweep) -> str:
    """The smallest difference from the baseline that every run would have shown, for each metric."""
    sets = []
    for entry in differing_metrics(sweep):
        sizes = [cell["mde"] for cell in entry["cells"] if cell.get("mde") is not None]
        if sizes:
            sets.append(f"{label(sweep, entry['name'])} {two_digits(max(sizes))}")
    return sweep.say("sweep.would_find", sets=", ".join(sets)) if sets else ""


def front_lines(sweep: Sweep) -> list[str]:
    """Which runs no other run beats in every respect, and which are beaten by whom."""
    say, pareto = sweep.say, _pareto(sweep)
    if pareto is None:
        return []
    best = [cell["folder"] for cell in pareto["cells"] if not cell["dominated_by"]]
    lines = [say("sweep.front_line", respects=_respects(sweep, pareto), runs=names(sweep, best))]
    dominated = [
        say("sweep.dominated_one", run=run_label(sweep, cell["folder"]), others=names(sweep, cell["dominated_by"]))
        for cell in pareto["cells"]
        if cell["dominated_by"]
    ]
    return [*lines, *([say("sweep.dominated_line", runs="; ".join(dominated))] if dominated else [])]


def _front_notes(sweep: Sweep, pareto: Record) -> list[str]:
    say = sweep.say
    margin = plain((sweep.comparison or {})["margin"])
    notes = [say("sweep.front_explain", respects=_respects(sweep, pareto), margin=margin)]
    notes += [say("sweep.front_cost")] if pareto["cost"] in ("usd", "tokens") else []
    return [*notes, say("sweep.front_latency" if pareto["latency"] else "sweep.front_no_latency")]


def _pareto(sweep: Sweep) -> Record | None:
    """The dominance between runs depends on measured latency, where latency counts. Older summaries do not say so."""
    comparison = sweep.comparison or {}
    pareto: Record | None = (comparison.get("timing") or comparison).get("pareto")
    return pareto


def _qualities(pareto: Record) -> list[str]:
    """Summaries of earlier versions have one."""
    return list(pareto.get("qualities") or [pareto["quality"]])


def _respects(sweep: Sweep, pareto: Record) -> str:
    say = sweep.say
    respects = [
        *(label(sweep, name) for name in _qualities(pareto)),
        *([say(f"sweep.respect_{pareto['cost']}")] if pareto["cost"] else []),
    ]
    return ", ".join([*respects, *([say("sweep.respect_p95")] if pareto["latency"] else [])])


# --- sections -------------------------------------------------------------------------------------


def comparison_with_baseline(sweep: Sweep) -> Section | None:
    """Every compared run on every metric in which runs differ; in the terminal one row for each run but the
    baseline."""
    if not has_others(sweep):
        return None
    say, record, entries = sweep.say, sweep.comparison or {}, differing_metrics(sweep)
    common = [Note(line) for line in [*warnings(sweep), *alike_lines(sweep), same_line(sweep)] if line]
    values = {"n": record["n_common"], "margin": plain(record["margin"])}
    explained = [Note(say("sweep.against_full", **values), "quiet"), Note(near_best(sweep), "quiet")] if entries else []
    explained += [Note(would_find(sweep), "quiet")] if entries else []
    title = say("sweep.against", run=run_label(sweep, record["baseline"]))
    in_short = _in_short(sweep, title, common)
    blocks = [*common, _comparison_table(sweep, title, entries), *explained, *in_short]
    return section("compared", title, *blocks, untitled=TERMINAL)


def _comparison_table(sweep: Sweep, title: str, entries: Sequence[Record]) -> Table:
    """A page groups it by metric, with one scale for the bars of each."""
    say, params = sweep.say, sweep.params
    headers = [say("compare.metric"), say("sweep.folder"), *params, say("sweep.n"), say("sweep.value")]
    headers += [say("compare.difference"), say("interval"), say("compare.p"), say("compare.mde")]
    headers += [say("compare.verdict"), say("sweep.from_best"), say("sweep.is_near")]
    rows = [_run_row(sweep, entry, cell) for entry in entries for cell in entry["cells"]]
    groups = [(f"{label(sweep, entry['name'])} (n={entry['n']:,})", len(entry["cells"])) for entry in entries]
    right = range(2 + len(params), len(headers) - 3)
    # A page says metric and n above a group, and has the interval below the difference.
    on_a_page = dict.fromkeys((0, 2 + len(params), headers.index(say("interval"))), PAGE)
    return Table(headers, rows, title, groups, right, not_in=on_a_page)


def _run_row(sweep: Sweep, entry: Record, cell: Record) -> list[str | Cell]:
    say, best = sweep.say, cell["from_best"]
    lead = signed_number(best["difference"], say) if cell["folder"] != entry["best"] else ""
    return [
        label(sweep, entry["name"]),
        *_run(sweep, cell["folder"]),
        str(entry["n"]),
        metric.four(cell["value"], say),
        *_from_baseline(sweep, entry, cell),
        lead,
        Cell(say("yes"), verdict="better") if best["within_noise"] else say("no"),
    ]


def _from_baseline(sweep: Sweep, entry: Record, cell: Record) -> list[str | Cell]:
    say, record = sweep.say, sweep.comparison or {}
    if cell["folder"] == record["baseline"]:
        return ["", "", "", "", say("sweep.baseline")]
    ends = [abs(each.get(end) or 0.0) for each in entry["cells"] for end in ("ci_low", "ci_high", "difference")]
    matters = record["margin"] * say.catalogue.span(entry["name"])
    bar = draw_difference(cell, max(*ends, 1.5 * matters) or 1.0, matters)
    return [
        Cell(signed_number(cell["difference"], say), drawing=bar, detail=interval(cell, say)),
        interval(cell, say),
        chance(cell["p_holm"], say),
        Markdown(metric.four(cell["mde"], say)),
        Cell(verdict_word(cell, record["alpha"], say), verdict=cell["verdict"] or "none"),
    ]


def _in_short(sweep: Sweep, title: str, common: Sequence[Note]) -> list[Block]:
    record, entries = sweep.comparison or {}, differing_metrics(sweep)[:SHOWN]
    lines, blocks = [note.text for note in common], list[Block]()
    if entries:
        values = {
            "run": run_label(sweep, record["baseline"]),
            "n": record["n_common"],
            "margin": plain(record["margin"]),
        }
        lines = [sweep.say("sweep.against_explain", **values), *lines, near_best(sweep), would_find(sweep)]
        blocks = [Note(title, "strong", TERMINAL), _differences(sweep, entries)]
    return [*blocks, *(Note(line, "quiet", TERMINAL) for line in [*lines, *front_lines(sweep)] if line)]


def _differences(sweep: Sweep, entries: Sequence[Record]) -> Table:
    """A run a row, a metric a column."""
    record, params = sweep.comparison or {}, sweep.params
    folders = [folder for folder in record["cells"] if folder not in (record["baseline"], *record["apart"])]
    rows: list[list[str | Cell]] = [
        [*(_run(sweep, folder)[1:] or [folder]), *(_difference(sweep, entry, folder) for entry in entries)]
        for folder in folders
    ]
    headers = [*(params or [sweep.say("sweep.folder")]), *(heading(sweep, entry["name"]) for entry in entries)]
    left = len(params) or 1
    return Table(headers, rows, right=range(left, len(headers)), media=TERMINAL, fit=single_columns(headers, left))


def single_columns(headers: Sequence[str], left: int) -> Fit:
    """Every column by itself."""
    return Fit([Stack(header, (place,)) for place, header in enumerate(headers)], left)


def _difference(sweep: Sweep, entry: Record, folder: str) -> Cell:
    """Difference and verdict, over interval and p where any case differs."""
    cell = next((cell for cell in entry["cells"] if cell["folder"] == folder), None)
    if cell is None or "difference" not in cell:
        return Cell(sweep.say("none"))
    verdict = cell["verdict"]
    mark = {**MARKS, "within_noise": EQUAL}.get(verdict, " ")
    if not differs(cell):
        return Cell(f"0 {EQUAL}")
    ends = [cell[name] for name in ("ci_low", "ci_high") if cell[name] is not None]
    limits = " ".join(metric.drop_zero(f"{end:+.2f}").replace("-", "−") for end in ends)
    p = metric.drop_zero(chance(cell["p_holm"], sweep.say).replace(" ", ""))
    first = f"{signed_number(cell['difference'], sweep.say, 3)} {mark}"
    return Cell(first, verdict=verdict or "", short="\n".join([first, *([f"[{limits}]"] if limits else []), f"p {p}"]))


def front(sweep: Sweep) -> Section | None:
    """The Pareto front as a table; None where fewer than two runs can be compared."""
    say, pareto = sweep.say, _pareto(sweep)
    if pareto is None or not has_others(sweep):
        return None
    shows_cost = pareto["cost"] is not None and pareto["cost"] not in sweep.params
    cost = [say(f"sweep.respect_{pareto['cost']}")] if shows_cost else []
    headers = [say("sweep.folder"), *sweep.params, *(label(sweep, name) for name in _qualities(pareto))]
    headers += [*cost, say("sweep.p95")]
    rows: list[list[str | Cell]] = []
    for cell in pareto["cells"]:
        cost_cells = [_amount(pareto["cost"], cell["cost"])] if cost else []
        p95 = say("none") if cell["p95_ms"] is None else f"{cell['p95_ms']:.1f}"
        dominated = names(sweep, cell["dominated_by"])
        folder, *params = _run(sweep, cell["folder"])
        run = Cell(folder, verdict="" if dominated else "better")
        means = cell.get("qualities") or {pareto["quality"]: cell["quality"]}
        values = [metric.four(means[name], say) for name in _qualities(pareto)]
        rows.append([run, *params, *values, *cost_cells, p95, dominated or say("none")])
    right = range(1 + len(sweep.params), len(headers))
    table = Table([*headers, say("sweep.dominated_by")], rows, say("sweep.front"), right=right)
    first, *lines = front_lines(sweep)
    notes = [Note(line, "quiet") for line in [*lines, *_front_notes(sweep, pareto)]]
    return section("front", say("sweep.front"), table, Note(first), *notes)


def _amount(unit: str, cost: float) -> str:
    return f"{cost:.6f}" if unit == "usd" else f"{cost:,.0f}"


def _run(sweep: Sweep, folder: str) -> list[str]:
    params = next((cell.params for cell in sweep.cells if cell.folder == folder), {})
    return [folder, *(params.get(name, "") for name in sweep.params)]


# --- the gap between a floor and a ceiling --------------------------------------------------------


def gap(sweep: Sweep) -> Section | None:
    """How much of it the runs close (runner.compare.sweep): floor, ceiling and the share of every run for each metric;
    in the terminal one row for each run, below those of floor and ceiling."""
    say, folders = sweep.say, list((sweep.comparison or {}).get("cells", ()))
    gaps = in_order(sweep, (sweep.comparison or {}).get("gaps", ()))
    headers = [say("compare.metric"), say("sweep.n"), say("gap.floor"), say("gap.ceiling"), say("gap.p")]
    headers += [run_label(sweep, folder) for folder in folders]
    rows = []
    for entry in gaps:
        ends = [_end(sweep, entry[end]) for end in ("floor", "ceiling")]
        shares = [_share(sweep, entry, folder) for folder in folders]
        rows.append([label(sweep, entry["name"]), str(entry["n"]), *ends, chance(entry["p"], say), *shares])
    explained = Note(say("gap.explain"), "quiet", EVERYWHERE) if rows else None
    blocks = (Table(headers, rows, say("gap.title")), _shares(sweep, gaps[:SHOWN], folders), explained)
    return section("gap", say("gap.title"), *blocks)


def _shares(sweep: Sweep, gaps: Sequence[Record], folders: Sequence[str]) -> Table:
    ends: list[list[str | Cell]] = [[Cell(text, "quiet") for text in row] for row in _ends(sweep, gaps)] if gaps else []
    runs: list[list[str | Cell]] = [
        [run_label(sweep, folder), *(_share(sweep, each, folder) for each in gaps)] for folder in folders
    ]
    headers = [", ".join(sweep.params) or sweep.say("sweep.folder"), *(heading(sweep, each["name"]) for each in gaps)]
    groups = [("", len(ends)), ("", len(runs))]
    rows = [*ends, *runs] if gaps else []
    return Table(headers, rows, "", groups, media=TERMINAL, fit=single_columns(headers, 1))


def _ends(sweep: Sweep, gaps: Sequence[Record]) -> list[list[str]]:
    """Rows of floors and ceiling; the floor of a metric is in the row of the reference that reached it."""
    say, rows = sweep.say, []
    for name in dict.fromkeys(gap["floor"]["folder"] for gap in gaps):
        values = [gap["floor"]["value"] if gap["floor"]["folder"] == name else None for gap in gaps]
        rows.append([say(f"gap.row_{name}"), *("" if value is None else metric.four(value, say) for value in values)])
    return [*rows, [say("gap.row_gold"), *(metric.four(gap["ceiling"]["value"], say) for gap in gaps)]]


def _end(sweep: Sweep, end: Record) -> str:
    called = sweep.say(f"gap.{end['folder']}")
    return f"{metric.four(end['value'], sweep.say)} ({called})"


def _share(sweep: Sweep, gap: Record, folder: str) -> str:
    if not gap["is_significant"]:
        return sweep.say("gap.too_small")
    share = gap["shares"].get(folder)
    return sweep.say("none") if share is None else f"{100 * share:.0f} %"
