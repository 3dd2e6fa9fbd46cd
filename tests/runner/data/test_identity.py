from dataclasses import replace

import pytest

from runner.data.corpus import build_corpus
from runner.data.identity import (
    documents_fingerprint,
    gold_digest,
    gold_fingerprint,
    queries_fingerprint,
    queries_identity,
    slices_fingerprint,
)
from runner.records import Check, Context, Document, GivenResults, Query, Span, Turn
from runner.system.spool import Lazy
from runner.system.store import fingerprint
from runner.text.chunking import Cutter

ONE = Query(
    "1",
    "하나?",
    True,
    {"a": 2, "b": 1},
    ("a#0", "a#1"),
    (Span("a", 0, 1), Span("a", 4, 5, "x")),
    ("x", "y"),
    given=GivenResults((("a", 1.0), ("b", 0.5)), (Context("a", "text"),), "x"),
)
TWO = Query("2", "둘?", False, {})


def test_the_same_questions_have_the_same_hash_whatever_their_labels() -> None:
    assert queries_fingerprint([ONE]) == queries_fingerprint([Query("1", "하나?", False, {})])


@pytest.mark.parametrize(
    "other", [[TWO, ONE], [ONE], [replace(ONE, text="하나"), TWO], [replace(ONE, id="3"), TWO], []]
)
def test_other_questions_have_another_hash(other: list[Query]) -> None:
    assert queries_fingerprint([ONE, TWO]) != queries_fingerprint(other)


def test_what_was_said_before_is_part_of_a_question() -> None:
    said = replace(ONE, history=(Turn("user", "어디?"), Turn("assistant", "서울.")))
    others = [
        ONE,
        replace(ONE, history=said.history[::-1]),
        replace(ONE, history=(Turn("assistant", "어디?"), Turn("assistant", "서울."))),
        replace(ONE, history=said.history[:1]),
    ]
    assert len({queries_fingerprint([query]) for query in (said, *others)}) == 5
    assert gold_fingerprint([said]) == gold_fingerprint([ONE])


def test_a_question_without_history_keeps_the_hash_of_its_text() -> None:
    assert queries_fingerprint([ONE, TWO]) == fingerprint([["1", "하나?"], ["2", "둘?"]])


def test_the_order_of_labels_does_not_matter() -> None:
    turned = replace(
        ONE,
        text="other words",
        relevance={"b": 1, "a": 2},
        expected_chunks=("a#1", "a#0"),
        expected_spans=ONE.expected_spans[::-1],
        answers=("y", "x"),
        given=GivenResults(),
    )
    assert gold_fingerprint([TWO, turned]) == gold_fingerprint([ONE, TWO])


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, id="3"),
        replace(ONE, answerable=False),
        replace(ONE, relevance={"a": 1, "b": 1}),
        replace(ONE, relevance={"a": 2}),
        replace(ONE, expected_chunks=("a#0",)),
        replace(ONE, expected_spans=(Span("a", 0, 2), Span("a", 4, 5, "x"))),
        replace(ONE, expected_spans=(Span("a", 0, 1), Span("a", 4, 5))),
        replace(ONE, answers=("x",)),
    ],
)
def test_other_labels_have_another_hash(other: Query) -> None:
    assert gold_fingerprint([other, TWO]) != gold_fingerprint([ONE, TWO])


@pytest.mark.parametrize(
    "other",
    [
        GivenResults(),
        replace(ONE.given, ranking=(("b", 1.0), ("a", 0.5))),
        replace(ONE.given, ranking=()),
        replace(ONE.given, ranking=None),
        replace(ONE.given, contexts=(Context("a", "text", "title"),)),
        replace(ONE.given, contexts=None),
        replace(ONE.given, answer=None),
    ],
)
def test_what_another_system_returned_has_a_hash_of_its_own(other: GivenResults) -> None:
    changed = replace(ONE, given=other)
    before, after = queries_identity([ONE]), queries_identity([changed])
    assert {name for name in before if before[name] != after[name]} == {"given"}


def test_hashes_are_stable() -> None:
    assert queries_fingerprint([]) == gold_fingerprint([]) == fingerprint([])
    assert len(queries_fingerprint([ONE])) == 64


@pytest.mark.parametrize("queries", [[], [ONE], [ONE, TWO], [TWO, ONE], [TWO, ONE, replace(ONE, id="3")]])
def test_one_reading_comes_to_the_hashes_of_the_parts(queries: list[Query]) -> None:
    """Whether or not the queries are in the order of their ids, in which labels are hashed."""
    found = queries_identity(queries)
    assert found["queries"] == queries_fingerprint(queries)
    assert found["gold"] == gold_fingerprint(queries)
    assert found["slices"] == slices_fingerprint(queries)
    assert {*found} == {"queries", "gold", "slices", "given"}


def test_queries_are_read_once_where_they_are_in_the_order_of_their_ids() -> None:
    read = []

    class Reading(Lazy[Query]):
        def __len__(self) -> int:
            return 2

        def record(self, place: int) -> Query:
            read.append(place)
            return (ONE, TWO)[place]

    queries_identity(Reading())
    assert read[:2] == [0, 1] and not {*read[2:]} & {0, 1}


def test_checks_have_a_hash_where_there_are_some_whatever_the_order_of_their_queries() -> None:
    checked, other = replace(ONE, checks=(Check("contains", "x"),)), replace(TWO, checks=(Check("contains", "y"),))
    found = queries_identity([checked, other])["checks"]
    assert found == queries_identity([other, checked])["checks"] != queries_identity([checked, TWO])["checks"]


def test_labels_of_one_question_whatever_its_id_and_text() -> None:
    assert gold_digest(ONE) == gold_digest(replace(ONE, id="9", text="?", relevance={"b": 1, "a": 2}))
    assert len(gold_digest(ONE)) == 16
    for other in ({"relevance": {"a": 2}}, {"answerable": False}, {"answers": ()}, {"expected_chunks": ("a#0",)}):
        assert gold_digest(replace(ONE, **other)) != gold_digest(ONE)  # type: ignore[arg-type]


def test_documents_whatever_their_chunks() -> None:
    documents = [Document("a", "One. " * 20, "First"), Document("b", "두 번째 글", "")]
    found = documents_fingerprint(documents)
    corpora = [build_corpus(documents, Cutter(max_chars=size, min_chars=0, overlap=0)) for size in (30, 200)]
    assert corpora[0].fingerprint != corpora[1].fingerprint
    assert {documents_fingerprint(corpus.documents) for corpus in corpora} == {found}
    changed = [
        documents[:1],
        documents[::-1],
        [replace(documents[0], title="first"), documents[1]],
        [replace(documents[0], id="c"), documents[1]],
        [replace(documents[0], id="aO", text=documents[0].text[1:]), documents[1]],
    ]
    assert found not in {documents_fingerprint(other) for other in changed}
