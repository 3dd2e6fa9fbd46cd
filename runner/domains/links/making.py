"""Cases from a vault itself: some of its links are hidden, and expected where they stood."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from runner.domains.links.graph import Edge, VaultGraph
from runner.domains.links.hiding import EditedText, Words
from runner.domains.links.link_cases import Hiding
from runner.records import Document
from runner.text.language import detect_language
from runner.text.sentences import sentence_spans

Row = dict[str, Any]
Span = tuple[int, int]


def hidden_links(
    notes: Sequence[Document], graph: VaultGraph, *, ratio: float, seed: int, words: Words, context_chars: int = 400
) -> list[Row]:
    """Lines of links.jsonl, by note and place: `ratio` of the pairs (note, note it links to), at least one, drawn with
    `seed`. Each sentence from which a pair is linked is a case; where nothing else stands in it, the sentence before
    it, or the title of the note, is the anchor. Empty for a vault without links."""
    pairs = sorted({(edge.source, edge.target) for edge in graph.edges})
    if not pairs:
        return []
    drawn = sorted(random.Random(seed).sample(pairs, max(1, round(ratio * len(pairs)))))
    hidden: dict[str, list[str]] = defaultdict(list)
    for source, target in drawn:
        hidden[source].append(target)
    hiding = Hiding(notes, graph, hidden, words)
    by_id = {note.id: note for note in notes}
    return [
        row
        for source, targets in hidden.items()
        for row in _rows(by_id[source], targets, hiding.texts[source], graph, context_chars)
    ]


def _rows(
    note: Document, targets: Sequence[str], edited_note: EditedText, graph: VaultGraph, context_chars: int
) -> Iterator[Row]:
    spans = sentence_spans(note.text)
    expected: dict[Span, list[Edge]] = defaultdict(list)
    for edge in graph.out_links(note.id):
        if edge.target in targets:
            expected[_around(edge, spans)].append(edge)
    numbered: Counter[int] = Counter()
    for span, edges in sorted(expected.items()):
        line = edges[0].link.line_of(note)
        numbered[line] += 1
        anchor = _anchor(span, spans, note, edited_note)
        context = window(edited_note.text, edited_note.at(span[0]), edited_note.at(span[1]), context_chars)
        again = f".{numbered[line]}" if numbered[line] > 1 else ""
        yield {
            "id": f"{note.id}:{line}{again}",
            "source_note": note.id,
            "anchor": anchor,
            "expected_links": list(dict.fromkeys(edge.target for edge in edges)),
            "anchor_range": {"start": span[0], "end": span[1]},
            "context": context,
            "language": note.language or detect_language(f"{anchor}\n{context}"),
            "tags": list(graph.tags.get(note.id, ())),
        }


def _around(edge: Edge, spans: Sequence[Span]) -> Span:
    """The sentence in which a link begins; the link itself where it is in none."""
    link = edge.link
    return next((span for span in spans if span[0] <= link.start < span[1]), (link.start, link.end))


def _anchor(span: Span, spans: Sequence[Span], note: Document, edited: EditedText) -> str:
    before = [other for other in spans if other[1] <= span[0]]
    for start, end in (span, *before[:-4:-1]):
        text = " ".join(edited.text[edited.at(start) : edited.at(end)].split())
        if any(character.isalnum() for character in text):
            return text
    return note.title


def window(text: str, start: int, end: int, size: int) -> str:
    """`size` characters of a text with a place in their middle; fewer at the ends of the text. A longer place is kept
    whole."""
    around = max(0, size - (end - start))
    first = max(0, start - around // 2)
    return text[first : max(end, min(len(text), first + max(size, end - start)))].strip()
