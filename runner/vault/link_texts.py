"""What notes say where they link to another one: texts about it that its own words need not have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from runner.records import Chunk, Corpus, Document
from runner.store import fingerprint
from runner.text.sentences import sentence_spans
from runner.vault.graph import Edge
from runner.vault.suggesting import Vault

LONGEST = 3000  # characters of all that is said where a note is linked to; hubs have more, of which it has the first


@dataclass(frozen=True, slots=True)
class LinkText:
    """The sentence in which `source` links to `target`, without the link."""

    source: str
    target: str
    sentence: str


def link_texts(vault: Vault) -> list[LinkText]:
    """By source in the order of the notes, then in the order of the text."""
    return [text for note in vault.corpus.documents for text in _of_note(note, vault.graph.out_links(note.id))]


def with_link_texts(corpus: Corpus, texts: Sequence[LinkText]) -> tuple[Corpus, frozenset[str]]:
    """The corpus with one more chunk for each note that is linked to; and the ids of these chunks."""
    said: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        said[text.target].append(text.sentence)
    if not said:
        return corpus, frozenset()
    more = [
        Chunk(f"{note}#links", note, whole, 0, 0)
        for note, sentences in said.items()
        if (whole := "\n".join(sentences)[:LONGEST]).strip()
    ]
    key = fingerprint([corpus.fingerprint, [[chunk.id, chunk.text] for chunk in more]])
    return Corpus(corpus.documents, [*corpus.chunks, *more], key), frozenset(chunk.id for chunk in more)


def _of_note(note: Document, edges: Sequence[Edge]) -> list[LinkText]:
    if not edges:
        return []
    spans = sentence_spans(note.text)
    found = []
    for edge in edges:
        link = edge.link
        start, end = next((span for span in spans if span[0] <= link.start < span[1]), (link.start, link.end))
        around = note.text[start : link.start] + note.text[link.end : max(end, link.end)]
        found.append(LinkText(note.id, edge.target, " ".join(around.split())))
    return found
