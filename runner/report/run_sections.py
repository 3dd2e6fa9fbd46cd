"""Sections of summary.md about the run itself: what ran, how fast, and what was lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.config.arguments import command_of
from runner.report import metric
from runner.report.document import Document, section
from runner.report.markdown import Markdown, bold, code_block, escape, quote, table
from runner.report.panels import cases_line, lost_counts, models_line, stages, two_by_two
from runner.report.trust import warnings
from runner.system.folder import identities
from runner.words.wording import Wording

UNFINISHED = ("partial", "failed", "running")
CHOICES = (
    "dataset", "retriever", "agent", "reranker", "tokenizer", "embedder", "scenario", "memory",
    "memory/summariser", "memory/store", "generator", "judge",
)  # fmt: skip
WEIGHED = frozenset({"trace_weights", "memory_weights"})  # identities of runs whose scores depend on a profile
BETWEEN = ("append", "update")  # stages that happen between cases, not once in each


def head(document: Document) -> str:
    say = document.say
    title = f"# {escape(say('title', experiment=document.run.get('experiment', '')))}"
    told = quote(bold(text) if grave else text for text, grave in notes(document))
    shown = table([say("head.property"), say("head.value")], facts(document))
    blocks = [title, told, section(say("head.ran"), shown, escape(say("ran.command")))]
    return "\n\n".join(block for block in [*blocks, code_block(command(document), "sh")] if block)


def command(document: Document) -> str:
    run = document.run
    return command_of(list(map(str, run.get("overrides") or ())), run.get("frozen"), run.get("config_folders") or ())


def notes(document: Document) -> list[tuple[str, bool]]:
    """(text, whether it is grave): what a reader must know before the numbers."""
    say, status, cases = document.say, document.run.get("status"), document.cases
    found: list[tuple[str, bool]] = []
    if document.run.get("reference"):
        found.append((say(f"reference.{document.run['reference']}"), True))
    measured = document.summary.get("measured")
    if measured:
        found.append((say("note.measured", total=cases["total"]), True))
    elif status in UNFINISHED:
        found.append((say(f"note.{status}", done=cases["done"], total=cases["total"]), True))
    if document.run.get("error_message"):
        found.append((say("note.message", message=document.run["error_message"]), False))
    if status in UNFINISHED and cases["pending"] and not measured:
        found.append((say("note.goes_on"), False))
    found += [(warning, True) for warning in warnings(document.summary, say)]
    baselines = (document.summary.get("facts") or {}).get("baselines")
    if baselines:
        found.append((say("baselines", names=", ".join(baselines)), False))
    return found


def facts(document: Document) -> list[tuple[str, str]]:
    say, run, choices = document.say, document.run, document.run.get("choices") or {}
    k, (data, parts) = document.k, identities(run)
    values = {
        "run": run.get("id"),
        "sweep": run.get("sweep_id"),
        "status": say.name("status", str(run.get("status"))),
        "evaluation": run.get("evaluation_type"),
        **{name: choices.get(name) for name in CHOICES},
        "profile": choices.get("profile") if WEIGHED & set(data) else None,
        "novelty": _novelty(run, choices.get("novelty")),
        "models": models_line(run, say),
        "k": None if k is None else str(k),
        "cases": cases_line(document.summary, say) if document.summary else None,
        "git": _git(document),
        "fingerprint": run.get("fingerprint"),
        "identity": _digests(data),
        "prompts": _digests(parts),
        "versions": ", ".join(f"{name} {version}" for name, version in (run.get("versions") or {}).items()),
        "created": run.get("created_at"),
        "updated": run.get("updated_at"),
    }
    return [(say(f"ran.{name}"), str(value)) for name, value in values.items() if value]


def _novelty(run: Mapping[str, Any], choice: str | None) -> str | None:
    """With the order of traces, which is part of the result."""
    settings = (run.get("config") or {}).get("novelty") or {}
    return f"{choice} (order={settings.get('order')})" if choice and settings else choice


def _digests(identity: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {digest[:12]}" for name, digest in identity.items())


def _git(document: Document) -> str | None:
    git = document.run.get("git")
    if not git:
        return None
    commit = str(git.get("commit"))[:12]
    return document.say("ran.git_dirty", commit=commit) if git.get("dirty") else commit


def lost(document: Document) -> str:
    say, counts = document.say, document.counts.get("lost_at")
    if not counts:
        return ""
    failing, total = lost_counts(counts), sum(counts.values())
    if not failing:
        return section(say("lost.title"), escape(say("lost.nothing")))
    rows = [
        (say.name("lost_at", place), str(count), f"{count / total:.1%}", say.texts.get(f"lost_meaning.{place}", ""))
        for place, count in failing
    ]
    headers = [say("lost.place"), say("diagnosis.count"), say("diagnosis.share"), say("lost.meaning")]
    line = say("lost.total", failing=sum(count for _, count in failing), total=total)
    return section(say("lost.title"), escape(f"{line}."), table(headers, rows, right=(1, 2)))


def unanswerable(document: Document) -> str:
    say, counts = document.say, document.counts.get("answerability")
    if not counts or not metric.values(document.metrics, metric.of_groups(document.metrics, say, "unanswerable")):
        return ""
    headers = [say(f"answerability.{name}") for name in ("corner", "predicted_yes", "predicted_no")]
    rows = [(say(f"answerability.{name}"), *map(str, cells)) for name, cells in two_by_two(counts)]
    called = "" if document.min_score is None else escape(say("answerability.called", min_score=document.min_score))
    return section(say("answerability.title"), table(headers, rows, right=(1, 2)), called)


def latency(document: Document) -> str:
    headers, rows = latencies(document)
    return section(document.say("head.latency"), table(headers, rows, right=(1, 2, 3)) if rows else "")


def latencies(document: Document) -> tuple[list[str], Sequence[Sequence[str]]]:
    """(headers, rows)"""
    say = document.say
    rows = [
        (
            say.name("stage", stage),
            *_percentiles(entry),
            str(entry.get("n") or 0),
            _latency_note(document, stage, entry),
        )
        for stage, entry in stages(document.summary)
    ]
    return [say("latency.stage"), "p50 (ms)", "p95 (ms)", "n", say("latency.note")], rows


def _percentiles(entry: Mapping[str, Any]) -> tuple[str, str]:
    if not entry.get("n"):
        return "–", "–"
    return f"{entry['p50_ms']:.1f}", f"{entry['p95_ms']:.1f}"


def _latency_note(document: Document, stage: str, entry: Mapping[str, Any]) -> str:
    say, n, total = document.say, entry.get("n") or 0, document.cases["ok"]
    if n == 0:
        return say("latency.shared" if total else "panel.latency_none")
    if stage in BETWEEN:
        return ""
    notes = [say("latency.some", n=n, total=total)] if n < total else []
    if stage == "retrieval" and (document.summary.get("timing") or {}).get("rankings_reused"):
        notes.append(say("latency.earlier"))
    return "; ".join(notes)


def index(document: Document) -> str:
    say, rows = document.say, index_facts(document)
    return section(say("head.index"), table([say("head.property"), say("head.value")], rows) if rows else "")


def index_facts(document: Document) -> list[tuple[str, str]]:
    """What the index is made of and what it cost: facts that the retriever told, times of this run."""
    say, timing = document.say, document.summary.get("timing") or {}
    rows = list(_flat((document.summary.get("facts") or {}).get("index") or {}, say))
    rows += [(say(f"index.{name}"), f"{timing[name]:.2f}") for name in ("index_s", "ranking_s") if name in timing]
    if "rankings_reused" in timing:
        rows.append((say("index.rankings_reused"), say("yes" if timing["rankings_reused"] else "no")))
    return rows


def _flat(facts: Mapping[str, Any], say: Wording, parts: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """`chunks (keyword)`; facts that the program has no word for keep their names, `keyword.n_stems`."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, say, (*parts, name))
            continue
        word, part = say.texts.get(f"fact.{name}"), ", ".join(say.name("fact", each) for each in parts)
        shown = ".".join((*parts, name)) if word is None else f"{word} ({part})" if part else word
        if name == "size_bytes" and value is not None:
            yield shown, f"{value / 2**20:.1f} MiB"
        else:
            yield shown, f"{value:.4f}" if isinstance(value, float) else str(value)


def problems(document: Document) -> str:
    say, found = document.say, document.summary.get("data_problems") or {}
    rows = failures(document)
    blocks: list[str] = []
    if any(found.values()):
        blocks.append(escape(say("problems.data", **found)))
    if rows:
        blocks.append(table([say("problems.stage"), say("problems.count")], rows, right=(1,)))
        blocks.append(escape(say("problems.pointer")))
    return section(say("head.problems"), *(blocks or [Markdown(say("problems.none"))]))


def failures(document: Document) -> list[tuple[str, str]]:
    """(stage, number of entries in errors.jsonl)"""
    counts = Counter(_stage(entry) for entry in document.folder.errors())
    return [(document.say.name("stage", stage), str(count)) for stage, count in sorted(counts.items())]


def _stage(entry: Mapping[str, Any]) -> str:
    """A case that ended but whose judge failed carries no stage of its own."""
    return "timeout" if entry.get("status") == "timeout" else str(entry.get("stage") or "judge")
