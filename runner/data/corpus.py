"""From documents to a Corpus: chunks and the fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import orjson

from runner.errors import CorpusError
from runner.protocols import Chunker
from runner.records import Chunk, Corpus, Document
from runner.text.chunking import Passage

EMPTY = Corpus((), (), hashlib.sha256(b"").hexdigest())

METADATA = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def passages_of(chunker: Chunker, texts: Sequence[str]) -> Iterator[Sequence[Passage]]:
    """The passages of each text, in the order of the texts, one text at a time."""
    return map(chunker.passages, texts)


def build_corpus(
    documents: Sequence[Document],
    chunker: Chunker,
    passages: Callable[[Chunker, Sequence[str]], Iterable[Sequence[Passage]]] = passages_of,
) -> Corpus:
    """Chunks in document order, `{document id}#{n}`. A document with a title only is one empty chunk. `passages` may be
    a cached function.

    Raises CorpusError when a chunk would carry the id of another document.
    """
    cut = passages(chunker, [document.text for document in documents])
    chunks = [chunk for document, parts in zip(documents, cut, strict=True) for chunk in chunks_in(document, parts)]
    _reject_shared_ids(documents, chunks)
    return Corpus(documents, chunks, _fingerprint(documents, chunks))


def chunks_in(document: Document, passages: Sequence[Passage]) -> Iterator[Chunk]:
    """The chunks of one document."""
    if not passages and document.title:
        yield Chunk(f"{document.id}#0", document.id, "", 0, 0)
    for n, passage in enumerate(passages):
        text = document.text[passage.start : passage.end]
        yield Chunk(f"{document.id}#{n}", document.id, text, passage.start, passage.end, passage.headings)


def _reject_shared_ids(documents: Sequence[Document], chunks: Iterable[Chunk]) -> None:
    ids = {document.id for document in documents if "#" in document.id}
    for chunk in chunks if ids else ():
        if chunk.id in ids:
            raise shared_id(chunk.id, chunk.document_id)


def shared_id(id: str, document_id: str) -> CorpusError:
    """The error for a chunk that has the id of another document."""
    return CorpusError(
        f"the document id '{id}' is also the id of a chunk of the document '{document_id}'; "
        "rename one of the two documents"
    )


class CorpusDigest:
    """A hash over documents, then chunks; each value is preceded by its length, so that the encoding is unambiguous."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, document: Document) -> None:
        """Take in the next document."""
        metadata = orjson.dumps(document.metadata, default=str, option=METADATA).decode() if document.metadata else ""
        for part in (document.id, document.title, document.text, document.language or "", metadata):
            data = part.encode("utf-8", "surrogatepass")
            self._digest.update(b"%d:" % len(data))
            self._digest.update(data)

    @staticmethod
    def of_chunk(chunk: Chunk) -> bytes:
        """The bytes of a chunk for the hash, after all documents."""
        return f"{len(chunk.id)}:{chunk.id}{chunk.start}-{chunk.end}{chunk.headings!r}".encode()

    def update(self, data: bytes) -> None:
        """Take in what `of_chunk` returns, of one or of several."""
        self._digest.update(data)

    def hexdigest(self) -> str:
        """The hash."""
        return self._digest.hexdigest()


def _fingerprint(documents: Iterable[Document], chunks: Iterable[Chunk]) -> str:
    digest = CorpusDigest()
    for document in documents:
        digest.add(document)
    for chunk in chunks:
        digest.update(CorpusDigest.of_chunk(chunk))
    return digest.hexdigest()
