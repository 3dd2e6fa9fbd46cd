"""Sections of a report on a running system: what its replies state, what was not judged, and how far its answers to one
question differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from runner.metrics.repeats import END, LABEL
from runner.report.blocks import EVERYWHERE, Fact, Item, Note, Section, Table, section
from runner.report.document import Document
from runner.report.markdown import shorten
from runner.report.metric import four, label
from runner.words.wording import Wording

EXAMPLES = 3
SHOWN = 300  # characters of an answer


def sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`system` of summary.json: how the replies named what they answered from. Empty where none came."""
    by = dict.fromkeys(("ids", "texts", "unidentified", "nothing"), 0)
    counts = {"questions": 0, "replies": 0, "without_texts": 0, "strange": 0, "without_gold": 0}
    examples: dict[str, None] = {}
    retrieved_ids: dict[str, None] = {}
    gold: set[str] = set()
    keys: dict[str, None] = {}
    for row in rows:
        output = row.get("output") or {}
        replies_named = output.get("named") or ()
        counts["questions"] += bool(replies_named)
        retrieved_ids |= dict.fromkeys(hit["id"] for hit in output.get("retrieved") or ())
        gold |= {*(output.get("expected") or ())}
        counts["without_gold"] += bool(replies_named) and output["answerable"] and not output["expected"]
        for naming, reply in zip(replies_named, output.get("replies") or (), strict=False):
            by[naming["by"]] += 1
            counts["replies"] += 1
            counts["without_texts"] += not naming["texts"] and naming["by"] != "nothing"
            counts["strange"] += bool(naming["strange"]) and naming["by"] != "unidentified"
            if naming["by"] == "nothing":
                keys |= dict.fromkeys(reply["keys"])
            examples |= dict.fromkeys(naming["strange"])
    if not counts["replies"]:
        return {}
    foreign = [] if not gold.isdisjoint(retrieved_ids) or not gold else list(islice(retrieved_ids, EXAMPLES))
    shown = {"keys": list(keys), "examples": list(islice(examples, EXAMPLES)), "foreign": foreign}
    return {"system": {**counts, "by": by, **shown}}


def sections(document: Document) -> Iterator[Section | None]:
    """The section of a running system: its requests and failures, and how far repeated answers agree."""
    facts = document.summary.get("system")
    if not facts:
        return
    yield section("system", document.say("head.system"), *_notes(document, facts))
    yield _repeats(document)


def _notes(document: Document, numbers: Mapping[str, Any]) -> Iterator[Note]:
    say, by = document.say, numbers["by"]
    settings = (document.run.get("config") or {}).get("system") or {}
    names = ", ".join((document.run.get("models") or {}).get("system") or ())
    yield Note(say("system.asked", name=names), media=EVERYWHERE)
    total, setting = numbers["replies"], "system.contexts"
    examples = say("system.examples", ids=", ".join(numbers["examples"])) if numbers["examples"] else ""
    if by["nothing"]:
        values = {"n": by["nothing"], "total": total, "keys": ", ".join(numbers["keys"])}
        shown = f"{setting}={settings.get('contexts')}"
        yield Note(say("system.no_contexts", setting=shown, **values), "alarm", EVERYWHERE)
    if numbers["without_texts"]:
        yield Note(say("system.no_texts", n=numbers["without_texts"], total=total), "alarm", EVERYWHERE)
    if by["unidentified"]:
        yield Note(
            say("system.unidentified", n=by["unidentified"], total=total, examples=examples), "alarm", EVERYWHERE
        )
    if by["texts"]:
        yield Note(say("system.by_text", n=by["texts"], total=total), media=EVERYWHERE)
    if numbers["strange"]:
        yield Note(say("system.unknown_ids", n=numbers["strange"], total=total, examples=examples), "alarm", EVERYWHERE)
    if numbers["foreign"] and not numbers["strange"]:
        ids = say("system.examples", ids=", ".join(numbers["foreign"]))
        yield Note(say("system.foreign", examples=ids), "alarm", EVERYWHERE)
    if numbers["without_gold"]:
        yield Note(say("system.no_gold", n=numbers["without_gold"], total=numbers["questions"]), media=EVERYWHERE)
    if settings.get("price_usd") is None:
        yield Note(say("system.price", setting=f"system.usage={settings.get('usage')}"), "quiet")


def _repeats(document: Document) -> Section | None:
    say, metrics = document.say, document.metrics
    names = [name.removesuffix(END) for name in metrics if name.endswith(END) and name.removesuffix(END) in metrics]
    if not names:
        return None
    n = int(((document.run.get("config") or {}).get("system") or {}).get("repeats") or 0)
    rows = [
        [label(name, document.k, say), four(metrics[name]["value"], say), four(metrics[f"{name}{END}"]["value"], say)]
        for name in names
    ]
    table = Table([say(f"system.{name}") for name in ("metric", "mean", "spread")], rows, media=EVERYWHERE, narrow=True)
    steady = document.counts.get(LABEL) or {}
    counts = {f"n_{name}": f"{steady.get(name, 0):,}" for name in ("all", "some", "never")}
    words = {"all": say("system.all", n=n), "some": say("system.some"), "never": say("system.never")}
    return section(
        "repeats",
        say("system.repeats", n=n),
        Note(say("system.steady", **words, **counts), media=EVERYWHERE),
        table,
        Note(say("system.repeats_explain", n=n), "quiet"),
    )


def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
    """The further answers to a question."""
    replies = ((row.get("output") or {}).get("replies") or ())[1:]
    items = [Item(shorten(reply["answer"], SHOWN), lead=f"{number}.") for number, reply in enumerate(replies, start=2)]
    if items:
        yield Fact(say("system.again"), items=items, after="answer", size="reason")
