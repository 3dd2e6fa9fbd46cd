"""The score that min_score is held against, by hand: shares of the weight of a question's terms."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from runner.errors import ComponentError
from runner.records import Chunk, Corpus, Document
from runner.retrieval.answerability import (
    DEFAULT_CUT,
    MODELS,
    NO_TERMS,
    AnswerModel,
    answer_model,
    answer_models,
    cover_by,
    terms_of,
)
from runner.system.store import Store

TEXTS = {
    "moon": "The Moon circles the Earth.",
    "mars": "Mars has two moons.",
    "sun": "Light needs eight minutes to the Earth.",
    "달": "달은 지구를 돈다.",
}
CORPUS = Corpus(
    [Document(id, text) for id, text in TEXTS.items()],
    [Chunk(f"{id}#0", id, text, 0, len(text)) for id, text in TEXTS.items()],
    "f",
)
N = len(TEXTS)


def idf(n: int) -> float:
    return math.log(1 + (N - n + 0.5) / (n + 0.5))


def cover(tmp_path: Path, question: str, *ids: str) -> float:
    hits = [CORPUS.chunk_by_id[f"{id}#0"] for id in ids]
    return cover_by(hits, question, CORPUS, terms_of(CORPUS, Store(tmp_path, {})))


def test_a_term_weighs_more_the_fewer_passages_hold_it(tmp_path: Path) -> None:
    # earth: 2 of 4 passages; light: 1; comet: none
    whole = idf(2) + idf(1) + idf(0)
    assert cover(tmp_path, "Earth light comet", "moon") == pytest.approx(idf(2) / whole)
    assert cover(tmp_path, "Earth light comet", "sun") == pytest.approx((idf(2) + idf(1)) / whole)


def test_the_best_of_the_first_three_hits_counts(tmp_path: Path) -> None:
    assert cover(tmp_path, "eight minutes", "mars", "moon", "sun") == 1.0
    assert cover(tmp_path, "eight minutes", "mars", "moon", "달", "sun") == 0.0


@pytest.mark.parametrize(
    ("question", "id", "held"),
    [
        ("Moon?", "mars", 1.0),  # moons has the same stem
        ("art", "sun", 0.0),  # of Earth
        ("지구본", "달", idf(1) / (idf(1) + idf(0))),  # 지구 is held, 구본 is not
        ("지구는 어디에 있나요?", "달", 1.0),  # what only asks, and endings, are in no text that answers
        ("Where does the moon shine?", "moon", idf(2) / (idf(2) + idf(0))),
        ("?!", "moon", 1.0),  # nothing is asked
    ],
)
def test_latin_terms_are_stems_of_words_and_pairs_of_hangul_stand_anywhere(
    tmp_path: Path, question: str, id: str, held: float
) -> None:
    assert cover(tmp_path, question, id) == pytest.approx(held)


def test_a_word_whose_stem_is_spelt_otherwise_is_held_where_it_stands(tmp_path: Path) -> None:
    text = "The company's policy keeps the history of each query."
    corpus = Corpus([Document("d", text)], [Chunk("d#0", "d", text, 0, len(text))], "g")
    terms = terms_of(corpus, Store(tmp_path, {}))
    assert cover_by(corpus.chunks, "company policy history queries", corpus, terms) == 1.0  # compani, polici, histori


def test_nothing_found_covers_nothing(tmp_path: Path) -> None:
    assert cover(tmp_path, "Moon") == 0.0
    assert cover_by([CORPUS.chunks[0]], "Moon Mars", CORPUS, NO_TERMS) == 0.5  # without counts all weigh the same


def test_the_cut_scores_the_default_and_the_order_stays() -> None:
    model = AnswerModel(constant=-2.0, slope=5.0, cut=0.5)  # the cut lies at a cover of .5
    assert model.score(0.5) == pytest.approx(DEFAULT_CUT)
    scores = [model.score(cover) for cover in np.linspace(0, 1, 11)]
    assert scores == sorted(scores) and 0 < scores[0] < DEFAULT_CUT < scores[-1] < 1


def test_every_model_rises_with_the_cover_and_says_what_it_was_fitted_on() -> None:
    stored = json.loads(MODELS.read_text(encoding="utf-8"))
    assert set(stored["models"]) == set(answer_models()) == {"keyword", "semantic", "hybrid"}
    assert {"fitted", "by", "sets"} == set(stored["provenance"])
    for name, model in answer_models().items():
        assert model.score(0.0) < DEFAULT_CUT < model.score(1.0)
        assert set(stored["models"][name]["left_out"]) == set(stored["provenance"]["sets"])


def test_a_retriever_without_a_model_keeps_its_relevance_and_an_unknown_one_is_named() -> None:
    class Plain:
        pass

    class Unknown:
        answer_model = "sematic"

    assert answer_model(Plain()) is None
    with pytest.raises(ComponentError) as raised:
        answer_model(Unknown())
    expected = "Unknown: answer_model: expected one of keyword, semantic, hybrid, or None; found 'sematic'"
    assert str(raised.value) == expected
