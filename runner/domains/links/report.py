"""Sections of a report on suggested links: how many were accepted, over time and by language, team and tag; and facts
of a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.report.blocks import EVERYWHERE, FILES, MARKDOWN, TERMINAL, Fact, Note, Section, Table, section
from runner.report.document import Document
from runner.words.wording import Wording

GROUPS = ("time", "language", "team", "tag")
SHOWN = 24  # rows of a table: the latest of a time, the largest of the others

Groups = Mapping[str, Mapping[str, Any]]


def sections(document: Document) -> Iterator[Section | None]:
    """The section of a vault: what was hidden, and what part of the suggestions is accepted."""
    say, summary = document.say, document.summary
    vault = (summary.get("facts") or {}).get("vault")
    if not vault or "expected" not in vault:
        return
    acceptance = (summary.get("links") or {}).get("acceptance")
    counts = {name: f"{count:,}" for name, count in vault.items()}
    yield section(
        "links",
        say("links.title"),
        Note(say("links.vault_line", **counts)),
        Note(_overall(acceptance["all"], say) if acceptance else "", media=EVERYWHERE),
        section("", say("links.acceptance"), *_rates(acceptance, say)) if acceptance else None,
    )


def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
    """The place for a link, and why the first suggestion was made."""
    output = row.get("output")
    if not isinstance(output, Mapping) or "source_note" not in output:
        return
    yield Fact(say("links.note"), str(output["source_note"]), after="question", size="question")
    yield Fact(say("links.context"), str(output.get("context") or ""), after="question", size="question")
    hits = output.get("retrieved")
    if hits and hits[0].get("reason"):  # a page has each with its suggestion
        yield Fact(say("links.reason"), str(hits[0]["reason"]), after="retrieved", media=MARKDOWN | TERMINAL)


def _overall(entry: Mapping[str, Any], say: Wording) -> str:
    shares = {name: f"{entry[name]:.1%}" for name in ("rate", "low", "high")}
    return say("links.all", n=f"{entry['n']:,}", accepted=f"{entry['accepted']:,}", **shares)


def _rates(acceptance: Mapping[str, Any], say: Wording) -> Iterator[Table | Note]:
    for name in GROUPS:
        groups: Groups = acceptance[name]
        if groups:
            title = say(f"links.{acceptance['period'] if name == 'time' else name}")
            headers = [title, *(say(f"links.{column}") for column in ("n", "accepted", "rate", "interval"))]
            media = EVERYWHERE if name == "time" else FILES
            yield Table(
                headers, [_rate(key, entry) for key, entry in _choose_groups(groups, name)], media=media, narrow=True
            )
    yield Note(say("links.explain"), "quiet")


def _choose_groups(groups: Groups, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    if name == "time":
        return list(groups.items())[-SHOWN:]
    return sorted(groups.items(), key=lambda item: (-item[1]["n"], item[0]))[:SHOWN]


def _rate(key: str, entry: Mapping[str, Any]) -> list[str]:
    shares = f"{entry['rate']:.1%}", f"{entry['low']:.1%} – {entry['high']:.1%}"
    return [key, f"{entry['n']:,}", f"{entry['accepted']:,}", *shares]
