"""The sentences in which notes link to another one: texts about it that may use other words than it does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from runner.domains.links.links import Link
from runner.domains.links.suggesting import Vault
from runner.records import Chunk, Corpus
from runner.system.store import fingerprint
from runner.text.sentences import sentence_spans

LONGEST = 3000  # characters of the sentences that link to a note; of hubs, the first ones


@dataclass(frozen=True, slots=True)
class LinkText:
    """The sentence in which `source` links to `target`, without the link."""

    source: str
    target: str
    sentence: str


def link_texts(vault: Vault) -> list[LinkText]:
    """The texts by source in the order of the notes, then in the order of the text."""
    return [
        LinkText(note.id, edge.target, sentence_around(note.text, edge.link))
        for note in vault.corpus.documents
        for edge in vault.graph.out_links(note.id)
    ]


def with_link_texts(corpus: Corpus, texts: Sequence[LinkText]) -> tuple[Corpus, frozenset[str]]:
    """The corpus with one more chunk for each note that is linked to; and the ids of these chunks."""
    sentences_about: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        sentences_about[text.target].append(text.sentence)
    if not sentences_about:
        return corpus, frozenset()
    more = [
        Chunk(f"{note}#links", note, whole, 0, 0)
        for note, sentences in sentences_about.items()
        if (whole := "\n".join(sentences)[:LONGEST]).strip()
    ]
    key = fingerprint([corpus.fingerprint, [[chunk.id, chunk.text] for chunk in more]])
    return Corpus(corpus.documents, [*corpus.chunks, *more], key), frozenset(chunk.id for chunk in more)


def sentence_around(text: str, link: Link) -> str:
    """The sentence in which a link begins, without it. Of its paragraph alone: no sentence crosses an empty line."""
    before, behind = text.rfind("\n\n", 0, link.start), text.find("\n\n", link.end)
    first, last = max(0, before), len(text) if behind < 0 else behind
    spans = ((first + start, first + end) for start, end in sentence_spans(text[first:last]))
    start, end = next((span for span in spans if span[0] <= link.start < span[1]), (link.start, link.end))
    return " ".join((text[start : link.start] + text[link.end : max(end, link.end)]).split())
