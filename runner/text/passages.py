"""What is indexed of a corpus."""

from __future__ import annotations

from runner.records import Chunk, Corpus


def passages(corpus: Corpus) -> list[str]:
    """One text for each chunk."""
    return [passage(corpus, chunk) for chunk in corpus.chunks]


def passage(corpus: Corpus, chunk: Chunk) -> str:
    """The title of its document, the headings above it, and its own text.

    A title or heading that the text begins with is not repeated.
    """
    start = chunk.text[:300].lstrip("# \n")
    above = dict.fromkeys((corpus.title_of(chunk.id), *chunk.headings))
    return "\n".join([part for part in above if part and not start.startswith(part)] + [chunk.text])
