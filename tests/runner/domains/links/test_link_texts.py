"""What notes say where they link to another one."""

from runner.data.corpus import build_corpus
from runner.domains.links.graph import VaultGraph
from runner.domains.links.link_texts import LONGEST, LinkText, link_texts, with_link_texts
from runner.domains.links.suggesting import Vault
from runner.records import Document
from runner.text.chunking import Cutter

NOTES = [
    Document("a.md", "Nothing here. Boil the water for [[b]] first.", "A"),
    Document("b.md", "- [[a]]\n", "B"),
    Document("c.md", "See [[b|the\nbrew]] and [[a]].", "C"),
]


def vault(notes: list[Document]) -> Vault:
    return Vault(build_corpus(notes, Cutter()), VaultGraph(notes))


def test_the_sentence_without_the_link() -> None:
    assert link_texts(vault(NOTES)) == [
        LinkText("a.md", "b.md", "Boil the water for first."),
        LinkText("b.md", "a.md", "-"),
        LinkText("c.md", "a.md", "See [[b|the brew]] and ."),
    ]


def test_a_note_that_is_linked_to_has_one_more_chunk() -> None:
    corpus = vault(NOTES).corpus
    more, ids = with_link_texts(corpus, link_texts(vault(NOTES)))
    assert ids == {"a.md#links", "b.md#links"}
    assert more.chunk_by_id["a.md#links"].text == "-\nSee [[b|the brew]] and ."
    assert [chunk.id for chunk in more.chunks_of("b.md")] == ["b.md#0", "b.md#links"]
    assert more.chunks[: len(corpus.chunks)] == corpus.chunks
    assert more.fingerprint != corpus.fingerprint
    assert with_link_texts(corpus, [])[0] is corpus


def test_hubs_have_the_first_texts() -> None:
    texts = [LinkText("a.md", "b.md", "x" * 999)] * 9
    more, _ = with_link_texts(vault(NOTES).corpus, texts)
    assert len(more.chunk_by_id["b.md#links"].text) == LONGEST
