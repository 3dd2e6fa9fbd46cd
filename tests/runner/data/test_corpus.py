import pytest

from runner.data.corpus import EMPTY, build_corpus
from runner.errors import CorpusError
from runner.records import Chunk, Document
from runner.text.chunking import Cutter

DOCUMENTS = [
    Document("a", "# One\n\nfirst text\n\n# Two\n\nsecond text", "A"),
    Document("b", "", "only a title"),
    Document("c", " \n"),
    Document("d", "short"),
]
CHUNKER = Cutter(headings=True, min_chars=0)


def test_chunks_stand_in_document_order() -> None:
    corpus = build_corpus(DOCUMENTS, CHUNKER)
    assert corpus.chunks == [
        Chunk("a#0", "a", "# One\n\nfirst text", 0, 17, ("One",)),
        Chunk("a#1", "a", "# Two\n\nsecond text", 19, 37, ("Two",)),
        Chunk("b#0", "b", "", 0, 0),
        Chunk("d#0", "d", "short", 0, 5),
    ]
    assert corpus.documents == DOCUMENTS


def test_the_same_documents_have_the_same_fingerprint() -> None:
    again = [Document(d.id, d.text, d.title, d.language, dict(reversed(d.metadata.items()))) for d in DOCUMENTS]
    assert build_corpus(again, CHUNKER).fingerprint == build_corpus(DOCUMENTS, CHUNKER).fingerprint


def test_fingerprints_tell_apart_whatever_a_retriever_may_look_at() -> None:
    corpora = [
        [Document("a", "bc")],
        [Document("ab", "c")],
        [Document("a", "b", "c")],
        [Document("a", "c", "b")],
        [Document("a", "1"), Document("b", "2")],
        [Document("b", "2"), Document("a", "1")],
        [Document("a", "1"), Document("b", "2"), Document("c", "3")],
        [Document("a", " "), Document("b", " ")],  # without chunks
        [Document("a b", " ")],
        [Document("a", "bc", language="ko")],
        [Document("a", "bc", metadata={"team": "x"})],
        [Document("a", "bc", metadata={"team": "y"})],
    ]
    assert len({build_corpus(documents, CHUNKER).fingerprint for documents in corpora}) == len(corpora)


def test_chunk_boundaries_and_headings_are_in_the_fingerprint() -> None:
    documents = [Document("a", "# One\n\nfirst text of some length here")]
    chunkers = [Cutter(), Cutter(headings=True), Cutter(max_chars=20)]
    assert len({build_corpus(documents, chunker).fingerprint for chunker in chunkers}) == 3


def test_a_document_may_not_have_the_id_of_a_chunk() -> None:
    with pytest.raises(CorpusError) as raised:
        build_corpus([Document("a", "text"), Document("a#0", "text")], CHUNKER)
    assert str(raised.value) == (
        "the document id 'a#0' is also the id of a chunk of the document 'a'; rename one of the two documents"
    )


def test_number_signs_in_ids_are_fine_otherwise() -> None:
    corpus = build_corpus([Document("C#", "text"), Document("C#0", "text")], CHUNKER)
    assert [corpus.document_of(chunk.id) for chunk in corpus.chunks] == ["C#", "C#0"]


def test_the_empty_corpus() -> None:
    assert (EMPTY.documents, EMPTY.chunks) == ((), ())
    assert EMPTY.fingerprint == build_corpus([], CHUNKER).fingerprint
