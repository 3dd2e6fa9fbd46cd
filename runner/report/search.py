"""The result of a search: its trials and their questions, the best one, and whether it holds on the held-out questions.
`Sweep.head["search"]` is the record of runner.run.search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.report import metric
from runner.report.blocks import EVERYWHERE, FILES, Note, Section, Table, section
from runner.report.comparison_words import chance, interval, signed_number
from runner.report.sweep import Sweep
from runner.report.sweep_comparison import label, names, run_label

Record = Mapping[str, Any]
PREFIX = "held_out-"


def search(sweep: Sweep) -> Section | None:
    """The section of a search; None for any other sweep."""
    record = sweep.head.get("search")
    if not isinstance(record, Mapping):
        return None
    lines = list(sentences(sweep, record))
    notes = [Note(line, "strong" if place == len(lines) - 1 else "", EVERYWHERE) for place, line in enumerate(lines)]
    return section("search", sweep.say("search.title"), *notes, _table(sweep, record))


def searched_best(sweep: Sweep) -> str | None:
    """The run to go on with: the first of the best, or the default where the held-out questions say that the best is
    worse. None for a sweep without a search, and where nothing is best."""
    record = sweep.head.get("search")
    if not isinstance(record, Mapping) or not record["best"]:
        return None
    best = str(record["best"][0])
    cells = (cell for entry in record["compared"][:1] for cell in entry["cells"])
    is_worse = any(cell["folder"] == f"{PREFIX}{best}" and cell.get("verdict") == "worse" for cell in cells)
    return str(record["default"]) if is_worse else best


def sentences(sweep: Sweep, record: Record) -> Iterator[str]:
    """The trials; the best one; its result on the held-out questions."""
    say = sweep.say
    space = ", ".join(f"{name}={values}" for name, values in record["space"].items())
    if record["n_searched"] is not None:
        share = f"{record['holdout']:.0%}"
        yield say("search.tried", trials=record["trials"], space=space, n=record["n_searched"], share=share)
    if record["stopped"]:
        yield say("search.stopped", reason=record["stopped"])
    if not record["best"]:
        yield say("search.nothing")
        return
    yield _best(sweep, record)
    if record["completed"] > 1:
        yield say("search.best_of_many", trials=record["completed"])
    if record["best"] == [record["default"]]:
        yield say("search.is_default", run=run_label(sweep, record["default"]))
    elif not record["compared"]:
        yield say("search.unknown")
    else:
        yield from _verdicts(sweep, record)


def _best(sweep: Sweep, record: Record) -> str:
    say, best, default = sweep.say, record["best"], record["default"]
    if len(record["metrics"]) > 1:
        metrics = ", ".join(label(sweep, name) for name in record["metrics"])
        return say("search.front", metrics=metrics, runs=names(sweep, best))
    values = (metric.four(record["values"][name][0], say) for name in (best[0], default))
    value, of_default = values
    run, name = run_label(sweep, best[0]), label(sweep, record["metrics"][0])
    return say(
        "search.best", metric=name, run=run, value=value, default=run_label(sweep, default), of_default=of_default
    )


def _verdicts(sweep: Sweep, record: Record) -> Iterator[str]:
    for entry in record["compared"]:
        of_default = next(each for each in entry["cells"] if "difference" not in each)
        for cell in entry["cells"]:
            if "difference" in cell:
                yield sweep.say(
                    f"search.{cell['verdict']}",
                    run=run_label(sweep, str(cell["folder"]).removeprefix(PREFIX)),
                    default=run_label(sweep, record["default"]),
                    n=entry["n"],
                    metric=label(sweep, entry["name"]),
                    value=metric.four(cell["value"], sweep.say),
                    of_default=metric.four(of_default["value"], sweep.say),
                    difference=signed_number(cell["difference"], sweep.say, 3),
                    interval=interval(cell, sweep.say, 3),
                    p=chance(cell["p_holm"], sweep.say),
                )


def _table(sweep: Sweep, record: Record) -> Table:
    """Runs, the best first, by the first metric."""
    say, labels = sweep.say, [label(sweep, name) for name in record["metrics"]]
    on_held_out = [say("search.on_held_out", metric=name) for name in labels]
    headers = [say("search.run"), *labels, *on_held_out]
    direction = -1 if sweep.say.catalogue.direction(record["metrics"][0]) == "lower" else 1
    values = record["values"]
    runs = sorted(values, key=lambda name: (values[name] is None, -direction * (values[name] or [0])[0]))
    rows = [
        [
            run_label(sweep, name),
            *_values(sweep, values[name], labels),
            *_values(sweep, record["held_out"].get(name), labels),
        ]
        for name in runs
    ]
    return Table(headers, rows, say("search.title"), right=range(1, len(headers)), media=FILES)


def _values(sweep: Sweep, values: Sequence[float] | None, labels: Sequence[str]) -> list[str]:
    return [sweep.say("none")] * len(labels) if values is None else [metric.four(value, sweep.say) for value in values]
