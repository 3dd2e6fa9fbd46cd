"""The runs of a sweep against its baseline and against the best of them, and which of them are worth their price.

`Sweep.comparison` is the record of runner.compare.sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from runner.report import metric
from runner.report.columns import fitted, grid
from runner.report.comparison_words import MARKS, chance, differs, interval, plain, reason_text, signed
from runner.report.markdown import Markdown, escape, table
from runner.report.sweep import Sweep

SHOWN = 5  # metrics in the terminal; more do not fit 80 columns
EQUAL = "="
NOT_WORDS = ("true", "false", "null", "none", "auto")

Record = Mapping[str, Any]
Rows = tuple[list[str], list[list[str]]]


def names(sweep: Sweep, folders: Iterable[str]) -> str:
    """`k=3, k=5`; the number of a run where nothing else tells it apart."""
    return ", ".join(called(sweep, folder) for folder in folders)


def called(sweep: Sweep, folder: str) -> str:
    """By what sets the run apart; a word that is the value of one of several settings says enough by itself."""
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
    return metric.label(name, sweep.k, sweep.say)


def compared(sweep: Sweep) -> list[Record]:
    """Metrics in which runs differ."""
    return in_order(sweep, (entry for entry in (sweep.comparison or {}).get("metrics", ()) if not entry["same"]))


def in_order(sweep: Sweep, entries: Iterable[Record]) -> list[Record]:
    return sorted(entries, key=lambda entry: sweep.say.catalogue.variant(entry["name"]).priority)


def heading(sweep: Sweep, name: str) -> Text:
    """Of a narrow column."""
    short = metric.short(name, sweep.k, sweep.say)
    return Text(short if short != label(sweep, name) else short.replace(" ", "\n"))


# --- tables ---------------------------------------------------------------------------------------


def against(sweep: Sweep) -> Rows:
    """Every compared run on every metric in which runs differ."""
    say, record = sweep.say, sweep.comparison or {}
    headers = [say("compare.metric"), say("sweep.folder"), *sweep.params, say("sweep.n"), say("sweep.value")]
    headers += [say("compare.difference"), say("interval"), say("compare.p"), say("compare.mde")]
    headers += [say("compare.verdict"), say("sweep.from_best"), say("sweep.is_near")]
    rows = []
    for entry in compared(sweep):
        for cell in entry["cells"]:
            head = [label(sweep, entry["name"]), *_run(sweep, cell["folder"]), str(entry["n"])]
            best = cell["from_best"]
            lead = signed(best["difference"], say) if cell["folder"] != entry["best"] else Markdown("")
            near = say("yes") if best["within_noise"] else say("no")
            rows.append([*head, metric.four(cell["value"], say), *_numbers(cell, record, sweep), lead, near])
    return headers, rows


def _numbers(cell: Record, record: Record, sweep: Sweep) -> list[str]:
    say = sweep.say
    if cell["folder"] == record["baseline"]:
        return ["", "", "", "", say("sweep.baseline")]
    mde = Markdown(metric.four(cell["mde"], say))
    verdict = say.name("verdict", cell["verdict"])
    return [signed(cell["difference"], say), interval(cell, say), chance(cell["p_holm"], say), mde, verdict]


def front(sweep: Sweep) -> Rows:
    say, pareto = sweep.say, _pareto(sweep)
    if pareto is None:
        return [], []
    shows_cost = pareto["cost"] is not None and pareto["cost"] not in sweep.params
    cost = [say(f"sweep.respect_{pareto['cost']}")] if shows_cost else []
    headers = [say("sweep.folder"), *sweep.params, label(sweep, pareto["quality"]), *cost, say("sweep.p95")]
    rows = []
    for cell in pareto["cells"]:
        spent = [_spent(pareto["cost"], cell["cost"])] if cost else []
        p95 = say("none") if cell["p95_ms"] is None else f"{cell['p95_ms']:.1f}"
        dominated = names(sweep, cell["dominated_by"]) or Markdown(say("none"))
        rows.append([*_run(sweep, cell["folder"]), metric.four(cell["quality"], say), *spent, p95, dominated])
    return [*headers, say("sweep.dominated_by")], rows


def _spent(unit: str, cost: float) -> str:
    return f"{cost:.6f}" if unit == "usd" else f"{cost:,.0f}"


def _run(sweep: Sweep, folder: str) -> list[str]:
    params = next((cell.params for cell in sweep.cells if cell.folder == folder), {})
    return [folder, *(params.get(name, "") for name in sweep.params)]


# --- sentences ------------------------------------------------------------------------------------


def warnings(sweep: Sweep) -> Iterator[str]:
    """What was not compared, and why."""
    say, record = sweep.say, sweep.comparison or {}
    if record["baseline"] != record["baseline_given"]:
        given, used = (called(sweep, record[name]) for name in ("baseline_given", "baseline"))
        yield say("sweep.other_baseline", given=given, used=used)
    if record["left_out"]:
        yield say("sweep.only_common", runs=names(sweep, record["left_out"]))
    if record["apart"]:
        yield say("sweep.apart", runs=names(sweep, record["apart"]), baseline=called(sweep, record["baseline"]))
    at_own_k = [name for name in sweep.metrics if say.catalogue.variant(name).is_own_k]
    if sweep.k is None and at_own_k:
        yield say("sweep.no_winner", metrics=", ".join(label(sweep, name) for name in at_own_k))
    compared = {entry["name"] for entry in record["metrics"]}
    if beside := [name for name in sweep.metrics if name not in compared and name not in at_own_k]:
        yield say("sweep.beside", metrics=", ".join(label(sweep, name) for name in beside))
    for entry in record["metrics"]:
        together: dict[str, list[str]] = {}
        for folder, reasons in entry["not_comparable"].items():
            together.setdefault("; ".join(reason_text(reason, say) for reason in reasons), []).append(folder)
        for reasons, folders in together.items():
            values = {"metric": label(sweep, entry["name"]), "runs": names(sweep, folders), "reasons": reasons}
            yield say("sweep.not_comparable", **values)


def title(sweep: Sweep) -> str:
    return sweep.say("sweep.against", run=called(sweep, (sweep.comparison or {})["baseline"]))


def notes(sweep: Sweep) -> list[str]:
    """What the table of `against` means, and what it amounts to."""
    record = sweep.comparison or {}
    values = {"n": record["n_common"], "margin": plain(record["margin"])}
    return [sweep.say("sweep.against_full", **values), near_best(sweep)]


def same(sweep: Sweep) -> str:
    found = [label(sweep, entry["name"]) for entry in (sweep.comparison or {})["metrics"] if entry["same"]]
    return sweep.say("sweep.same", metrics=", ".join(found)) if found else ""


def near_best(sweep: Sweep) -> str:
    """The runs that may be the best, for each metric."""
    say, sets = sweep.say, []
    for entry in compared(sweep):
        near = entry["within_noise_of_best"]
        runs = say("sweep.near_all") if len(near) == len(entry["cells"]) else names(sweep, near)
        sets.append(f"{label(sweep, entry['name'])}: {runs}")
    return say("sweep.near_best", sets="; ".join(sets)) if sets else ""


def front_lines(sweep: Sweep) -> list[str]:
    say, pareto = sweep.say, _pareto(sweep)
    if pareto is None:
        return []
    best = [cell["folder"] for cell in pareto["cells"] if not cell["dominated_by"]]
    lines = [say("sweep.front_line", respects=_respects(sweep, pareto), runs=names(sweep, best))]
    dominated = [
        say("sweep.dominated_one", run=called(sweep, cell["folder"]), others=names(sweep, cell["dominated_by"]))
        for cell in pareto["cells"]
        if cell["dominated_by"]
    ]
    return [*lines, *([say("sweep.dominated_line", runs="; ".join(dominated))] if dominated else [])]


def front_notes(sweep: Sweep) -> list[str]:
    say, pareto = sweep.say, _pareto(sweep) or {}
    notes = [say("sweep.front_explain", respects=_respects(sweep, pareto))]
    notes += [say("sweep.front_cost")] if pareto["cost"] in ("usd", "tokens") else []
    return [*notes, *([] if pareto["latency"] else [say("sweep.front_no_latency")])]


def _pareto(sweep: Sweep) -> Record | None:
    """Which run dominates which hangs on the clock, where latency counts; summaries that do not say so are older."""
    comparison = sweep.comparison or {}
    found: Record | None = (comparison.get("timing") or comparison).get("pareto")
    return found


def _respects(sweep: Sweep, pareto: Record) -> str:
    say = sweep.say
    found = [label(sweep, pareto["quality"]), *([say(f"sweep.respect_{pareto['cost']}")] if pareto["cost"] else [])]
    return ", ".join([*found, *([say("sweep.respect_p95")] if pareto["latency"] else [])])


# --- as Markdown, and for the terminal ------------------------------------------------------------


def sections(sweep: Sweep) -> list[str]:
    """Of summary.md."""
    if not has_others(sweep):
        return []
    headers, rows = against(sweep)
    right = range(2 + len(sweep.params), len(headers) - 3)
    blocks = [f"## {escape(title(sweep))}", *map(escape, warnings(sweep)), escape(same(sweep))]
    blocks += [table(headers, rows, right=right), *map(escape, notes(sweep))] if rows else []
    headers, rows = front(sweep)
    if rows:
        right = range(1 + len(sweep.params), len(headers) - 1)
        lines = [*front_lines(sweep), *front_notes(sweep)]
        blocks += [f"## {escape(sweep.say('sweep.front'))}", table(headers, rows, right=right), *map(escape, lines)]
    return blocks


def panels(sweep: Sweep) -> list[RenderableType]:
    """One row for each run but the baseline; fits 80 columns."""
    record = sweep.comparison or {}
    if not has_others(sweep):
        return []
    say, entries = sweep.say, compared(sweep)[:SHOWN]
    lines = [*warnings(sweep), same(sweep)]
    baseline = called(sweep, record["baseline"])
    shown: list[RenderableType] = []
    if entries:
        margin = plain(record["margin"])
        lines = [say("sweep.against_explain", run=baseline, n=record["n_common"], margin=margin), *lines]
        lines.append(near_best(sweep))
        shown = [Text(title(sweep), style="bold"), _panel(sweep, entries)]
    lines += front_lines(sweep)
    return [*shown, *(Text(line, style="dim") for line in lines if line)]


def _panel(sweep: Sweep, entries: Sequence[Record]) -> Table:
    record = sweep.comparison or {}
    found = grid()
    folders = [folder for folder in record["cells"] if folder not in (record["baseline"], *record["apart"])]
    columns = [
        [heading(sweep, entry["name"]).plain, *(_difference(sweep, entry, folder).plain for folder in folders)]
        for entry in entries
    ]
    rows = [sweep.params or [sweep.say("sweep.folder")], *(_run(sweep, folder)[1:] or [folder] for folder in folders)]
    left, fitting = fitted(list(zip(*rows, strict=True)), columns)
    entries = entries[:fitting]
    for name, *_ in left:
        found.add_column(Text(name), overflow="fold")
    for entry in entries:
        found.add_column(heading(sweep, entry["name"]), justify="right", no_wrap=True)
    for folder, *texts in zip(folders, *(texts for _, *texts in left), strict=True):
        found.add_row(*map(Text, texts), *(_difference(sweep, entry, folder) for entry in entries))
    return found


def _difference(sweep: Sweep, entry: Record, folder: str) -> Text:
    """Difference and verdict, over interval and p where any case differs."""
    cell = next((cell for cell in entry["cells"] if cell["folder"] == folder), None)
    if cell is None or "difference" not in cell:
        return Text(sweep.say("none"))
    verdict = cell["verdict"]
    mark = {**MARKS, "within_noise": EQUAL}.get(verdict, " ")
    style = {"better": "green", "worse": "red"}.get(verdict, "")
    if not differs(cell):
        return Text(f"0 {EQUAL}")
    ends = [cell[name] for name in ("ci_low", "ci_high") if cell[name] is not None]
    limits = " ".join(metric.narrow(f"{end:+.2f}").replace("-", "−") for end in ends)
    p = metric.narrow(chance(cell["p_holm"], sweep.say).replace(" ", ""))
    first = f"{signed(cell['difference'], sweep.say, 3)} {mark}"
    return Text.assemble((first, style), (f"\n[{limits}]\np {p}" if limits else f"\np {p}", "dim"))
