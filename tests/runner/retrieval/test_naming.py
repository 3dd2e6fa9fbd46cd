"""Which documents a running system answered from, told from ids and from texts."""

from __future__ import annotations

import pytest

from runner.records import Chunk, Corpus, Document, NamedContext, Query, SystemReply
from runner.retrieval.naming import Naming

TEXTS = {
    "a": "Alpha is first.\n\nIt was  the first letter of all.",
    "b": "Beta is second. It follows the first letter closely.",
    "c": "Gamma is third. Both of them say: see the appendix for more.",
    "d": "Delta is fourth. Both of them say: see the appendix for more.",
}
CORPUS = Corpus(
    documents=[Document(id, text, title=id.upper()) for id, text in TEXTS.items()],
    chunks=[Chunk(f"{id}#0", id, text[:15], 0, 15) for id, text in TEXTS.items()],
    fingerprint="f",
)
EMPTY = Corpus((), (), "")
QUERY = Query("q", "which?", True, {"b": 1})


def named(*contexts: NamedContext, corpus: Corpus = CORPUS):
    return Naming(corpus).of(QUERY, SystemReply("So.", contexts))


def test_nothing_said_and_nothing_found_differ() -> None:
    silent = Naming(CORPUS).of(QUERY, SystemReply("So."))
    assert (silent.by, silent.is_ranked, silent.has_texts, silent.contexts) == ("nothing", False, False, ())
    empty = named()
    assert (empty.by, empty.is_ranked, empty.has_texts, empty.ranking.ids) == ("ids", True, True, ())


def test_ids_of_documents_and_chunks() -> None:
    found = named(
        NamedContext("c", "C."), NamedContext("b#0", "B."), NamedContext("a#7"), NamedContext("c", "C. again")
    )
    assert (found.by, found.strange) == ("ids", ())
    assert found.ranking.ids == ("c", "b#0", "a")  # a#7 is no chunk of this corpus, and one of this document
    assert found.ranking.scores == (1.0, 1 / 2, 1 / 3)
    assert [(each.id, each.text, each.title) for each in found.contexts] == [
        ("c", "C.", "C"),
        ("b#0", "B.", "B"),
        ("a", TEXTS["a"], "A"),
        ("c", "C. again", "C"),
    ]  # fmt: skip  in the order of the system, with the text of the corpus where it said none


def test_notes_are_named_as_labels_name_them() -> None:
    ids = {"faq/Refunds.md": "Money back", "Opening hours.md": "", "a/twin.md": "", "b/twin.md": "", "v1.2": ""}
    notes = Corpus([Document(id, "text", title=title) for id, title in ids.items()], (), "f")
    found = named(
        *map(NamedContext, ("Refunds", "opening-hours", "money back", "twin", "b/twin", "v1", "v1.2")), corpus=notes
    )
    assert found.ranking.ids == ("faq/Refunds.md", "Opening hours.md", "twin", "b/twin.md", "v1", "v1.2")
    assert found.strange == ("twin", "v1")  # one of two notes; no note


def test_scores_order_where_all_have_one() -> None:
    found = named(NamedContext("a", score=0.2), NamedContext("b", score=0.9))
    assert (found.ranking.ids, found.ranking.relevance) == (("b", "a"), (0.9, 0.2))
    assert [each.id for each in found.contexts] == ["a", "b"]
    found = named(NamedContext("a", score=0.2), NamedContext("b"))
    assert found.ranking.ids == ("a", "b")
    assert named(NamedContext("a", score=12.0), NamedContext("b", score=7.0)).ranking.relevance == (1.0, 1.0)


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("Alpha is first.", "a#0"),  # a chunk, to the letter
        ("It was the first letter of all.", "a"),  # a stretch of a document, spaces aside
        ("the first letter", None),  # too short to tell, and in two
        ("Both of them say: see the appendix for more.", None),  # in two documents
        ("It was the last letter of all.", None),
        ("of all. Beta is second. It", None),  # from one document into the next
    ],
)
def test_a_text_names_the_one_document_that_holds_it(text: str, id: str | None) -> None:
    for context in (NamedContext(None, text), NamedContext("uuid-1", text)):
        found = named(context)
        assert found.by == ("unidentified" if id is None else "texts")
        assert found.is_ranked is (id is not None)
        assert found.contexts[0].text == text
        if id is not None:
            assert found.ranking.ids == (id,)
    assert named(NamedContext(None, text)).contexts[0].id == (id or "context-1")


def test_one_context_that_nobody_knows_leaves_the_ranking_unknown() -> None:
    found = named(NamedContext("b", "B."), NamedContext(None, "A summary of a page."))
    assert (found.by, found.strange) == ("unidentified", ("A summary of a page.",))


def test_an_unknown_id_among_known_ones_is_not_relevant() -> None:
    found = named(NamedContext("x9"), NamedContext("b"))
    assert (found.by, found.strange, found.ranking.ids) == ("ids", ("x9",), ("x9", "b"))
    assert named(NamedContext("x9"), NamedContext("x8")).by == "unidentified"  # ids of another kind


def test_without_a_corpus_ids_are_those_of_the_labels() -> None:
    found = named(NamedContext("b#3", "B."), NamedContext("x9", "X."), corpus=EMPTY)
    assert (found.by, found.strange, found.ranking.ids) == ("ids", (), ("b", "x9"))
    assert named(NamedContext(None, TEXTS["b"]), corpus=EMPTY).by == "unidentified"
    only_ids = named(NamedContext("b"), corpus=EMPTY)
    assert (only_ids.has_texts, only_ids.contexts) == (False, ())
