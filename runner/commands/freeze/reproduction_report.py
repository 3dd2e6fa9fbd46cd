"""The report of a repeated record: reproduction.md and .json, compare.md and .json of each run, and the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from runner.commands.freeze.reproduction import Changes, RepeatedRun, Reproduction
from runner.compare.record import record_of
from runner.config.arguments import to_type
from runner.report import comparison, metric, next_steps
from runner.report.blocks import EVERYWHERE, TERMINAL, Block, Cell, Fit, Note, Section, Stack, Table
from runner.report.brief import Way
from runner.report.markdown import markdown
from runner.report.page import FILE as PAGE_FILE
from runner.report.summary import replace_text
from runner.report.terminal import renderables
from runner.system import terminal
from runner.system.metadata import write_json
from runner.words.wording import LANGUAGES, Wording, wording

SCHEMA = 1
KIND = "runner.reproduction"
NAMED = 8  # most names in a sentence; the JSON file has all


def write(reproduction: Reproduction, language: str) -> None:
    """Write reproduction.md and .json, and compare.md and .json of each run."""
    for run in reproduction.runs:
        record = record_of(run.comparison, fail_on_regression=False)
        write_json(run.folder / "compare.json", record)
        comparison.write(run.folder / "compare.md", [record], LANGUAGES[language])
    write_json(reproduction.folder / "reproduction.json", _json(reproduction))
    replace_text(reproduction.folder / "reproduction.md", markdown(sections(reproduction, language), level=1) + "\n")


def show(reproduction: Reproduction, language: str, *, verbose: bool) -> None:
    """Show a reproduction in the terminal; `verbose`: with the comparison of each run whose numbers changed."""
    for run in reproduction.runs if verbose else ():
        if run.changes.in_numbers:
            record = record_of(run.comparison, fail_on_regression=False)
            terminal.show(*comparison.panels(record, LANGUAGES[language]))
    terminal.show(*renderables(sections(reproduction, language), dense=True))
    terminal.show(*next_steps(_ways(reproduction), LANGUAGES[language]))


def _ways(reproduction: Reproduction) -> Iterator[Way]:
    yield "brief.record", reproduction.folder / "reproduction.md"
    if (reproduction.folder / PAGE_FILE).is_file():
        yield "brief.report", reproduction.folder / PAGE_FILE
    yield "brief.all", to_type("results", str(reproduction.folder))
    if changed := next((run for run in reproduction.runs if run.changes.in_numbers), None):
        yield "brief.compare", to_type("compare", reproduction.record, str(changed.folder))


def sections(reproduction: Reproduction, language: str) -> list[Section]:
    """The report of a reproduction: outcome, runs, environment, and the places of the reports."""
    say = _Say(language)
    title, outcome, sentence = (
        say("title", record=reproduction.record),
        say(reproduction.outcome),
        say(f"say.{reproduction.outcome}"),
    )
    folders = ", ".join(str(run.folder) for run in reproduction.runs)
    blocks: list[Block] = [
        Note("", media=TERMINAL),
        Note(outcome, media=TERMINAL, verdict=reproduction.outcome, lead=title),
        Note(sentence, lead=outcome),
        _runs(reproduction, say),
        Note(sentence, media=TERMINAL),
        *(Note(line, media=EVERYWHERE) for line in _all_where(reproduction.runs, say)),
        Note(_environment(reproduction, say), media=EVERYWHERE),
        Note(say("reports", folders=folders)),
    ]
    return [Section("", title, blocks, untitled=TERMINAL)]


def _runs(reproduction: Reproduction, say: _Say) -> Table:
    rows: list[list[str | Cell]] = [
        [run.label, Cell(say(run.outcome), "strong", verdict=run.outcome), *_counts(run)] for run in reproduction.runs
    ]
    headers = [say(name) for name in ("run", "outcome", "metrics_changed", "cases_changed")]
    stacks = [Stack(header, (place,)) for place, header in enumerate(headers)]
    return Table(headers, rows, right=(2, 3), media=EVERYWHERE, fit=Fit(stacks, kept=len(headers)))


class _Say:
    def __init__(self, language: str) -> None:
        self._words, self.language = wording(language, "records"), language

    def __call__(self, key: str, **values: Any) -> str:
        return self._words(key, **values)

    def join_items(self, items: Sequence[str]) -> str:
        shown = ", ".join(items[:NAMED])
        return self("and_more", items=shown, n=len(items) - NAMED) if len(items) > NAMED else shown


def _counts(run: RepeatedRun) -> list[str]:
    was = run.comparison.baseline.snapshot
    changes = run.changes
    return [
        f"{len(changes.metrics)}/{len(was.metrics)}",
        f"{len(changes.cases) + len(changes.removed)}/{len(was.cases)}",
    ]


def _all_where(runs: Sequence[RepeatedRun], say: _Say) -> Iterator[str]:
    """Where the runs differ; lines that are the same for all runs appear once."""
    alike: dict[tuple[str, ...], list[RepeatedRun]] = {}
    for run in runs:
        if lines := tuple(_differences(run, say)):
            alike.setdefault((str(run.changes.in_numbers), *lines), []).append(run)
    for shared_lines, runs_alike in alike.items():
        labels = ", ".join(run.label for run in runs_alike)
        yield f"{say('where' if runs_alike[0].changes.in_numbers else 'where_same', run=labels)}:"
        yield from shared_lines[1:]


def _differences(run: RepeatedRun, say: _Say) -> Iterator[str]:
    changes, total = run.changes, len(run.comparison.baseline.snapshot.cases)
    items = {
        "metrics": _metrics(changes, run, say),
        "cases": changes.cases,
        "gone": changes.removed,
        "new": changes.new,
        "identities": changes.identities,
    }
    for name, found in items.items():
        if found:
            yield f"  {say(f'where.{name}', items=say.join_items(found), n=len(found), total=total)}"


def _metrics(changes: Changes, run: RepeatedRun, say: _Say) -> list[str]:
    words = LANGUAGES[say.language].about(run.comparison.catalogue)
    ks = run.comparison.baseline.snapshot.k, run.comparison.candidate.snapshot.k
    return [_change(name, ks, was, now, words) for name, was, now in changes.metrics]


def _change(name: str, ks: tuple[int | None, int | None], was: float | None, now: float | None, words: Wording) -> str:
    """A metric with both values, each at its own k."""
    recorded, again = (metric.label(name, k, words) for k in ks)
    before, after = metric.four(was, words), metric.four(now, words)
    return f"{recorded} {before} → {after}" if recorded == again else f"{recorded} {before} → {again} {after}"


def _environment(reproduction: Reproduction, say: _Say) -> str:
    if not reproduction.environment:
        return say("environment.same")
    items = [f"{name} {was} → {now}" for name, was, now in reproduction.environment]
    return f"{say('environment')}: {say('environment.changed', items=say.join_items(items))}"


def _json(reproduction: Reproduction) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "record": reproduction.record,
        "outcome": reproduction.outcome,
        "exit_code": reproduction.exit_code,
        "runs": [
            {"run": run.label, "folder": str(run.folder), "outcome": run.outcome, **asdict(run.changes)}
            for run in reproduction.runs
        ],
        "environment": [
            dict(zip(("name", "record", "here"), change, strict=True)) for change in reproduction.environment
        ],
    }
