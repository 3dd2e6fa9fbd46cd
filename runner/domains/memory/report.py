"""Sections of a report on conversational memory: how long facts are kept, what contexts consist of, the cost of keeping
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runner.metrics import right
from runner.metrics.judged import CORRECTNESS
from runner.report.blocks import EVERYWHERE, FILES, PAGE, Block, Cell, Chart, Fact, Note, Section, Table, section
from runner.report.document import Document
from runner.report.metric import Value, four, interval, label, value_of
from runner.report.metrics import measured_cell
from runner.report.reporting import Pipeline
from runner.report.sweep import Sweep
from runner.system.folder import identities
from runner.words.wording import Wording

BY = ("turns", "updates")
PIPELINE = Pipeline(
    ("dataset", "retriever", "agent", "reranker", "tokenizer", "embedder", "scenario", "memory",
     "memory/summariser", "memory/store", "generator", "judge"),
    failures=("forgotten", "refused_known", "not_asked", "stale_answer", "unused", "made_up"),
    between=("append", "update"),
)  # fmt: skip
REMEMBERED = frozenset({"memory", "entities", "recent", "retrieved"})  # sections of a context

Memory = Mapping[str, Any]  # `memory` of summary.json


def sections(document: Document) -> Iterator[Section | None]:
    """The section of a memory: retention over turns, size of contexts, cost of updates, categories of probes."""
    say, memory = document.say, document.summary.get("memory") or {}
    yield section(
        "memory",
        say("memory.title"),
        _emptiness(document, memory),
        section("", say("memory.retention"), *_retention(memory, say)),
        section("", say("memory.used"), _contexts(memory, say)),
        _upkeep(memory, say),
        section("", say("memory.by_category"), _by_category(document)),
    )


def _emptiness(document: Document, memory: Memory) -> Note:
    """A warning where nothing was remembered for any probe, although there is a memory."""
    sections = memory.get("sections") or {}
    is_empty = bool(memory) and not any(sections[name]["tokens"] for name in REMEMBERED & set(sections))
    has_memory = (document.run.get("choices") or {}).get("memory", "none") != "none"
    n = document.cases["ok"]
    text = document.say("memory.all_empty", n=f"{n:,}") if is_empty and has_memory and n else ""
    return Note(text, "alarm", EVERYWHERE)


def run_facts(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The profile, where it weighs the overall score."""
    profile = (run.get("choices") or {}).get("profile")
    if profile and "memory_weights" in identities(run)[0]:
        yield "profile", profile


def _by_category(document: Document) -> Table:
    """The judgements of the answers to each kind of probe; nothing without judgements."""
    say, groups = document.say, (document.summary.get("slices") or {}).get("tag") or {}
    n_by_category = {name: value.n for name, group in groups.items() if (value := value_of(group, CORRECTNESS)).n}
    metrics = (right.NAME, CORRECTNESS)
    rows = [
        [Cell(name, is_data=True), *(measured_cell(value_of(groups[name], each), say) for each in metrics)]
        for name in sorted(n_by_category, key=lambda name: (-n_by_category[name], name))
    ]
    return Table([say.name("slice", "tag"), *(label(name, document.k, say) for name in metrics)], rows)


def sweep_sections(sweep: Sweep) -> Iterator[Section | None]:
    """The curves of all runs in one chart."""
    memories = {
        " ".join(f"{name}={value}" for name, value in cell.params.items()) or cell.folder: cell.summary["memory"]
        for cell in sweep.cells
        if cell.status == "completed" and cell.summary.get("memory")
    }
    say = sweep.say
    curves = [_curves(memories, by, say) for by in BY]
    explained = [Note(say("memory.explain"), "quiet", PAGE)] if any(len(curve.places) > 1 for curve in curves) else []
    yield section("retention", say("memory.retention"), *curves, *explained)


def _retention(memory: Memory, say: Wording) -> Iterator[Block]:
    for by in BY:
        yield _curves({"": memory}, by, say)
        yield _shares(memory, by, say)
    if any(_points(memory, by) for by in BY):
        yield Note(say("memory.explain"), "quiet")


def _curves(memories: Mapping[str, Memory], by: str, say: Wording) -> Chart:
    """One line a memory, over the bins in which any of them has a fact."""
    points = {name: _points(memory, by) for name, memory in memories.items()}
    bins = [bin for memory in memories.values() for bin in (memory.get("retention") or {}).get(by) or ()]
    places = [
        label for label in dict.fromkeys(bin["label"] for bin in bins) if any(label in at for at in points.values())
    ]
    lines = {name: [at.get(label) for label in places] for name, at in points.items()}
    return Chart("retention", say(f"memory.{by}"), places, lines, say("memory.share"), connected=True)


def _shares(memory: Memory, by: str, say: Wording) -> Table:
    rows = [
        [label, str(value.n), four(value.value, say), interval(value.low, value.high)]
        for label, value in _points(memory, by).items()
    ]
    headers = [say(f"memory.{by}"), say("memory.facts"), say("memory.share"), say("memory.interval")]
    return Table(headers, rows, media=EVERYWHERE if by == "turns" else FILES, narrow=True)


def _points(memory: Memory, by: str) -> dict[str, Value]:
    """The points of the bins that have facts."""
    bins = (memory.get("retention") or {}).get(by) or ()
    return {
        bin["label"]: Value(bin["label"], bin["share"], bin["n"], bin["n"], bin["low"], bin["high"], bin["share"])
        for bin in bins
        if bin["n"]
    }


def _contexts(memory: Memory, say: Wording) -> Table:
    rows = [
        [
            say.name("context", name),
            f"{entry['tokens']:,.1f}",
            say("memory.no_budget") if entry["budget"] is None else f"{entry['budget']:,}",
            str(entry["cut"]),
        ]
        for name, entry in (memory.get("sections") or {}).items()
    ]
    if "sent_tokens" in memory:
        rows.append([say("memory.sent"), f"{memory['sent_tokens']:,.1f}", "", ""])
    return Table([say(f"memory.{name}") for name in ("section", "tokens", "budget", "cut")], rows, narrow=True)


def _upkeep(memory: Memory, say: Wording) -> Note:
    upkeep = memory.get("upkeep") or {}
    return Note(say("memory.upkeep", **{name: f"{number:,}" for name, number in upkeep.items()}) if upkeep else "")


# --- one probe ------------------------------------------------------------------------------------


def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
    """The facts that an answer needs and those that hold no more, with a tick where the context shows them."""
    output = row.get("output")
    if not isinstance(output, Mapping) or "after_turn" not in output or not output.get("query"):
        return
    known = _tick_facts(output.get("facts") or ()) or ", ".join(map(str, output.get("expected") or ())) or say("none")
    needed = known if output.get("answerable", True) else say("memory.needs_nothing")
    yield Fact(say("memory.needed"), needed, key="expected")
    yield Fact(say("memory.outdated"), _tick_facts(output.get("stale") or ()), after="expected")


def _tick_facts(facts: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{fact['value']} ✓" if fact["shown"] else str(fact["value"]) for fact in facts)
