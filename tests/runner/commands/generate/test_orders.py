from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.commands.generate.orders import Order, Wish, eligible, orders
from runner.records import Corpus, Document
from tests.corpora import corpus_of

SENTENCE = "The Moon circles the Earth in {} days."
CORPUS = corpus_of({f"d{n}": SENTENCE.format(n) for n in range(20)}, titles={"d0": "Moon"})
WISH = Wish(
    per_chunk=3,
    max_chunks=8,
    types=["factual", "analytical"],
    difficulties=["easy", "hard"],
    share=0.25,
    language=None,
    seed=7,
)


def ids(found: list[Order]) -> list[str]:
    return [order.chunk.id for order in found]


def test_a_sample_in_the_order_of_the_corpus_that_depends_on_the_seed() -> None:
    found = orders(CORPUS, WISH)
    places = [int(id.removeprefix("d").removesuffix("#0")) for id in ids(found)]
    assert len(places) == 8 and places == sorted(set(places))
    assert orders(CORPUS, WISH) == found
    assert ids(orders(CORPUS, replace(WISH, seed=8))) != ids(found)
    assert len(orders(CORPUS, replace(WISH, max_chunks=500))) == 20


def test_every_pair_is_wanted_equally_often() -> None:
    slots = [slot for order in orders(CORPUS, WISH) for slot in order.slots]
    assert len(slots) == 24
    assert Counter((slot.type, slot.difficulty) for slot in slots) == {
        ("factual", "easy"): 6,
        ("factual", "hard"): 6,
        ("analytical", "easy"): 6,
        ("analytical", "hard"): 6,
    }
    assert all([slot.number for slot in order.slots] == [1, 2, 3] for order in orders(CORPUS, WISH))


@given(share=st.floats(0, 1), per_chunk=st.integers(1, 10), seed=st.integers(0, 99))
def test_the_share_of_unanswerable_questions_is_kept(share: float, per_chunk: int, seed: int) -> None:
    wish = replace(WISH, share=share, per_chunk=per_chunk, seed=seed)
    slots = [slot for order in orders(CORPUS, wish) for slot in order.slots]
    assert sum(not slot.answerable for slot in slots) == round(share * len(slots))


def test_chunks_that_hold_nothing_are_left_out() -> None:
    corpus = corpus_of({"a": "Four words are few.", "b": "But five words are enough.", "c": ""})
    assert [chunk.id for chunk in eligible(corpus)] == ["b#0"]
    assert ids(orders(corpus, WISH)) == ["b#0"]
    assert orders(corpus_of({"a": "too short"}), WISH) == []


@pytest.mark.parametrize(
    ("told", "text", "wanted", "language"),
    [
        (None, "달은 지구를 스무이레에 한 바퀴 돈다.", None, "ko"),
        (None, "The Moon circles the Earth slowly.", None, "en"),
        ("en", "달은 지구를 스무이레에 한 바퀴 돈다.", None, "en"),
        ("fr", "The Moon circles the Earth slowly.", None, "en"),
        ("en", "The Moon circles the Earth slowly.", "ko", "ko"),
    ],
)
def test_the_language_of_the_questions(told: str | None, text: str, wanted: object, language: str) -> None:
    corpus = corpus_of({"d": text})
    corpus = Corpus([Document("d", text, language=told)], corpus.chunks, "")
    (order,) = orders(corpus, replace(WISH, language=wanted))
    assert order.language == language


def test_titles_and_headings_stand_above_a_chunk() -> None:
    chunk = replace(CORPUS.chunks[0], headings=("Moon", "Orbit"))
    corpus = Corpus(CORPUS.documents[:1], [chunk], "")
    assert orders(corpus, WISH)[0].title == "Moon > Orbit"
