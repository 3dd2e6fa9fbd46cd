"""What came of running a record again: reproduction.md and .json, compare.md and .json of each run, the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from runner.commands.freeze.reproduction import Changes, Reproduced, Reproduction
from runner.compare.record import record_of
from runner.report import comparison, metric
from runner.report.markdown import bold, escape, table
from runner.report.summary import replace_text
from runner.system import terminal
from runner.system.metadata import write_json
from runner.words.wording import LANGUAGES, wording

SCHEMA = 1
KIND = "runner.reproduction"
NAMED = 8  # things that are named; the JSON file has all
STYLES = {"identical": "bold green", "within_noise": "bold green", "different": "bold red", "not_comparable": "bold"}


def write(found: Reproduction, language: str) -> None:
    for run in found.runs:
        told = record_of(run.comparison, fail_on_regression=False)
        write_json(run.folder / "compare.json", told)
        comparison.write(run.folder / "compare.md", [told], LANGUAGES[language])
    write_json(found.folder / "reproduction.json", _json(found))
    replace_text(found.folder / "reproduction.md", _markdown(found, language))


def show(found: Reproduction, language: str) -> None:
    say = _Say(language)
    for run in found.runs:
        if run.changes.in_numbers:
            told = record_of(run.comparison, fail_on_regression=False)
            terminal.show(*comparison.panels(told, LANGUAGES[language]))
    title = Text.assemble((f"{say('title', record=found.record)}: ", "bold"), _outcome(found, say))
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for header in _headers(say):
        shown.add_column(header)
    for run in found.runs:
        shown.add_row(run.label, Text(say(run.outcome), style=STYLES[run.outcome]), *_counts(run))
    lines = [line for run in found.runs for line in _where(run, say)]
    terminal.show(Text(), title, shown, say(f"say.{found.outcome}"), *lines, _environment(found, say))
    terminal.note(str(found.folder / "reproduction.md"))


class _Say:
    def __init__(self, language: str) -> None:
        self._words, self.language = wording(language, "records"), language

    def __call__(self, key: str, **values: Any) -> str:
        return self._words(key, **values)

    def listed(self, items: Sequence[str]) -> str:
        shown = ", ".join(items[:NAMED])
        return self("and_more", items=shown, n=len(items) - NAMED) if len(items) > NAMED else shown


def _outcome(found: Reproduction, say: _Say) -> tuple[str, str]:
    return say(found.outcome), STYLES[found.outcome]


def _headers(say: _Say) -> list[str]:
    return [say(name) for name in ("run", "outcome", "metrics_changed", "cases_changed")]


def _counts(run: Reproduced) -> list[str]:
    was = run.comparison.baseline.snapshot
    changes = run.changes
    return [
        f"{len(changes.metrics)}/{len(was.metrics)}",
        f"{len(changes.cases) + len(changes.gone)}/{len(was.cases)}",
    ]


def _where(run: Reproduced, say: _Say) -> Iterator[str]:
    changes, total = run.changes, len(run.comparison.baseline.snapshot.cases)
    items = {
        "metrics": _metrics(changes, run, say),
        "cases": changes.cases,
        "gone": changes.gone,
        "new": changes.new,
        "identities": changes.identities,
    }
    told = [(name, found) for name, found in items.items() if found]
    if told:
        yield f"{say('where' if changes.in_numbers else 'where_same', run=run.label)}:"
    for name, found in told:
        yield f"  {say(f'where.{name}', items=say.listed(found), n=len(found), total=total)}"


def _metrics(changes: Changes, run: Reproduced, say: _Say) -> list[str]:
    words = LANGUAGES[say.language].about(run.comparison.catalogue)
    k = run.comparison.candidate.snapshot.k
    return [
        f"{metric.label(name, k, words)} {metric.four(was, words)} → {metric.four(now, words)}"
        for name, was, now in changes.metrics
    ]


def _environment(found: Reproduction, say: _Say) -> str:
    if not found.environment:
        return say("environment.same")
    items = [f"{name} {was} → {now}" for name, was, now in found.environment]
    return f"{say('environment')}: {say('environment.changed', items=say.listed(items))}"


def _markdown(found: Reproduction, language: str) -> str:
    say = _Say(language)
    rows = [[run.label, bold(say(run.outcome)), *_counts(run)] for run in found.runs]
    where = [line.strip() for run in found.runs for line in _where(run, say)]
    blocks = [
        f"# {escape(say('title', record=found.record))}",
        f"{bold(say(found.outcome))}: {escape(say(f'say.{found.outcome}'))}",
        table(_headers(say), rows, right=(2, 3)),
        *map(escape, where),
        escape(_environment(found, say)),
        escape(say("reports", folders=", ".join(str(run.folder) for run in found.runs))),
    ]
    return "\n\n".join(blocks) + "\n"


def _json(found: Reproduction) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "record": found.record,
        "outcome": found.outcome,
        "exit_code": found.exit_code,
        "runs": [
            {"run": run.label, "folder": str(run.folder), "outcome": run.outcome, **asdict(run.changes)}
            for run in found.runs
        ],
        "environment": [dict(zip(("name", "record", "here"), change, strict=True)) for change in found.environment],
    }
