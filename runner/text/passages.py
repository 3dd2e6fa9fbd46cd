"""What is indexed of a corpus."""

from __future__ import annotations

from collections.abc import Sequence

from runner.records import Chunk, Corpus
from runner.system.spool import Lazy


def passages(corpus: Corpus) -> Sequence[str]:
    """One text for each chunk; those of a corpus on disk are made on access."""
    made = _Passages(corpus)
    return [*made] if corpus.shelf is None else made


class _Passages(Lazy[str]):
    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._corpus.chunks)

    def record(self, place: int) -> str:
        return passage(self._corpus, self._corpus.chunks[place])


def passage(corpus: Corpus, chunk: Chunk) -> str:
    """The title of its document, the headings above it, and its own text.

    A title or heading that the text begins with is not repeated.
    """
    start = chunk.text[:300].lstrip("# \n")
    document = corpus.document_by_id.get(chunk.document_id)
    above = dict.fromkeys(("" if document is None else document.title, *chunk.headings))
    return "\n".join([part for part in above if part and not start.startswith(part)] + [chunk.text])
