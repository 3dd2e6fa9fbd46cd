"""Checks the links of notes; problems are reported by file and line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from runner.data.files import expand
from runner.data.problems import ProblemLog
from runner.domains.links.graph import Edge, LooseLink, VaultGraph
from runner.domains.links.links import Link
from runner.errors import did_you_mean
from runner.records import Document
from runner.text.markdown import anchors, headings


def check_links(folder: str, notes: Sequence[Document], graph: VaultGraph, log: ProblemLog) -> None:
    """A warning for each link that is broken, ambiguous, or leads to a heading or block that its note does not have,
    in the order of notes and lines."""
    by_id = {note.id: note for note in notes}
    problems: dict[str, list[tuple[Link, str]]] = {}
    for loose in (*graph.broken, *graph.ambiguous):
        problems.setdefault(loose.source, []).append((loose.link, _reason(loose, graph)))
    for edge in (*graph.edges, *graph.within):
        if reason := _missing_place(edge, by_id[edge.target].text):
            problems.setdefault(edge.source, []).append((edge.link, reason))
    for id in sorted(problems):
        note, path = by_id[id], str(expand(folder) / id)
        for link, reason in sorted(problems[id], key=lambda entry: entry[0].start):
            log.warning(path, f"{note.text[link.start : link.end]}: {reason}", link.line_of(note))


def links_in_code(folder: str, notes: Sequence[Document], graph: VaultGraph) -> list[str]:
    """Note names in code with the form of a link, by file and line. They count as no links."""
    by_id = {note.id: note for note in notes}
    leading = sorted((loose for loose in graph.in_code if loose.candidates), key=lambda loose: loose.source)
    return [
        f"in code: {expand(folder) / note.id}:{link.line_of(note)}: {note.text[link.start : link.end]}: "
        f"no link; would lead to {' or '.join(candidates)}"
        for note, link, candidates in ((by_id[loose.source], loose.link, loose.candidates) for loose in leading)
    ]


def _reason(loose: LooseLink, graph: VaultGraph) -> str:
    if loose.candidates:
        return f"ambiguous: {' or '.join(loose.candidates)}; write the path"
    near = did_you_mean(_name(loose.link.reference), map(_name, graph.notes))
    return f"no such note{near if near.startswith('; did') else ''}"


def _name(note: str) -> str:
    return note.removesuffix(".md").rpartition("/")[2]


def _missing_place(edge: Edge, text: str) -> str:
    """The missing heading or block of a wiki link; not of other links, since how a heading becomes the anchor of a
    Markdown link differs between programs. A heading is named by its title, in any spelling and punctuation, or by its
    id."""
    heading, block = edge.link.heading, edge.link.block
    if edge.link.kind == "markdown":
        return ""
    if (
        heading
        and heading not in anchors(text)
        and _slug(heading) not in {_slug(each.title) for each in headings(text)}
    ):
        return f"{edge.target} has no heading '{heading}'"
    if block and not re.search(rf"(?:^|\s)\^{re.escape(block)}\s*$", text, re.MULTILINE):
        return f"{edge.target} has no block '^{block}'"
    return ""


def _slug(title: str) -> str:
    """Letters and digits alone: programs leave out or replace the rest (`C++: what's new` is `#c-whats-new`)."""
    return "".join(character for character in unicodedata.normalize("NFC", title).casefold() if character.isalnum())
