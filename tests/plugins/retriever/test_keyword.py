from __future__ import annotations

import math
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.retriever.keyword import KeywordRetriever
from plugins.tokenizer.auto import AutoTokenizer
from plugins.tokenizer.word import WordTokenizer
from runner.errors import CorpusError
from runner.records import Corpus, Ranking
from tests.corpora import corpus_of, question, workspace


def indexed(corpus: Corpus, root: Path, **options: object) -> KeywordRetriever:
    retriever = KeywordRetriever(**({"tokenizer": WordTokenizer()} | options))  # type: ignore[arg-type]
    retriever.index(corpus, workspace(root, retriever))
    return retriever


def search(retriever: KeywordRetriever, text: str, depth: int = 10) -> Ranking:
    return retriever.search([question(text)], depth)[0]


THREE = {"a": "red red fox", "b": "red hen", "c": "blue hen and one more"}  # lengths 3, 2, 5; mean 10/3


def test_scores_by_hand(tmp_path: Path) -> None:
    ranking = search(indexed(corpus_of(THREE), tmp_path), "red fox")
    idf_red = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    idf_fox = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    norm_a, norm_b = (1.5 * (0.25 + 0.75 * length / (10 / 3)) for length in (3, 2))
    a = idf_red * 2 / (2 + norm_a) + idf_fox * 1 / (1 + norm_a)
    b = idf_red * 1 / (1 + norm_b)
    assert ranking.ids == ("a#0", "b#0")
    assert ranking.scores == pytest.approx((a, b), rel=1e-12)
    own = (idf_red + idf_fox) * 1 / (1 + norm_b)  # the query as a chunk: two words, like b
    assert ranking.relevance == pytest.approx((min(1.0, a / own), b / own), rel=1e-12)


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire"])
def test_a_chunk_that_is_the_query_is_fully_relevant(tmp_path: Path, method: str) -> None:
    corpus = corpus_of({str(n): f"word{n} other{n}" for n in range(9)})
    ranking = search(indexed(corpus, tmp_path, method=method), "other4 word4")
    assert ranking.ids == ("4#0",)
    assert ranking.relevance == pytest.approx((1.0,), rel=1e-12)


@pytest.mark.parametrize(
    ("method", "weight"),
    [
        ("lucene", math.log(1 + (3 - 1 + 0.5) / 1.5)),
        ("robertson", math.log((3 - 1 + 0.5) / 1.5)),
        ("atire", math.log(3 / 1) * 2.5),
    ],
)
def test_methods(tmp_path: Path, method: str, weight: float) -> None:
    ranking = search(indexed(corpus_of(THREE), tmp_path, method=method, b=0.0), "fox")
    assert ranking.scores == pytest.approx((weight / 2.5,), rel=1e-12)


@pytest.mark.parametrize(
    ("method", "rare", "frequent"),
    [
        ("lucene", math.log(1 + 9.5 / 1.5), math.log(1 + 6.5 / 4.5)),
        ("robertson", math.log(9.5 / 1.5), math.log(6.5 / 4.5)),
        ("atire", math.log(10 / 1), math.log(10 / 4)),
    ],
)
def test_half_of_a_query_is_worth_its_share_of_the_weight(
    tmp_path: Path, method: str, rare: float, frequent: float
) -> None:
    texts = (
        {"rare": "rare x0"}
        | {f"{n}": f"frequent x{n}" for n in range(1, 5)}
        | {f"{n}": f"y{n} z{n}" for n in range(5, 10)}
    )
    retriever = indexed(corpus_of(texts), tmp_path, method=method)
    ranking = search(retriever, "rare frequent")
    relevance = dict(zip(ranking.ids, ranking.relevance, strict=True))
    assert relevance["rare#0"] == pytest.approx(rare / (rare + frequent), rel=1e-12)
    assert relevance["3#0"] == pytest.approx(frequent / (rare + frequent), rel=1e-12)
    unknown = search(retriever, "rare nowhere").relevance  # a word of no chunk weighs like one of one chunk
    assert unknown == pytest.approx((0.5,), rel=1e-12)


def test_words_that_no_chunk_has_lower_the_relevance_not_the_score(tmp_path: Path) -> None:
    retriever = indexed(corpus_of(THREE), tmp_path)
    known, partly = search(retriever, "red hen"), search(retriever, "red hen zebra")
    assert known.ids[0] == partly.ids[0] == "b#0"
    assert known.relevance[0] == pytest.approx(1.0)
    assert partly.scores == known.scores
    assert 0 < partly.relevance[0] < 0.75


def test_a_repeated_word_counts_each_time(tmp_path: Path) -> None:
    retriever = indexed(corpus_of(THREE), tmp_path)
    assert search(retriever, "red red").scores[0] == pytest.approx(2 * search(retriever, "red").scores[0])


def test_ties_go_to_the_higher_id_also_at_the_end(tmp_path: Path) -> None:
    retriever = indexed(corpus_of(dict.fromkeys(("a", "나", "b", "가"), "fox")), tmp_path)
    assert search(retriever, "fox").ids == ("나#0", "가#0", "b#0", "a#0")
    assert search(retriever, "fox", depth=3).ids == ("나#0", "가#0", "b#0")


def test_chunks_without_a_word_of_the_query_are_no_hits(tmp_path: Path) -> None:
    retriever = indexed(corpus_of(THREE), tmp_path)
    assert search(retriever, "fox").ids == ("a#0",)
    for text in ("", "  ", "zebra 얼룩말", "?!", "\ud800"):
        assert search(retriever, text) == Ranking((), (), ())


def test_words_without_weight_are_no_hits(tmp_path: Path) -> None:
    corpus = corpus_of({"a": "red fox", "b": "red hen"})
    assert search(indexed(corpus, tmp_path, method="atire"), "red").ids == ()


def test_titles_and_headings_are_searched(tmp_path: Path) -> None:
    retriever = indexed(corpus_of({"a": "15일", "b": "20일"}, titles={"a": "연차 휴가"}), tmp_path)
    assert search(retriever, "휴가").ids == ("a#0",)


def test_one_chunk(tmp_path: Path) -> None:
    ranking = search(indexed(corpus_of({"a": "red fox"}), tmp_path), "fox")
    assert ranking.ids == ("a#0",)
    assert ranking.scores[0] > 0


def test_chunks_without_any_word(tmp_path: Path) -> None:
    assert search(indexed(corpus_of({"a": "?!", "b": ""}), tmp_path), "fox").ids == ()
    assert search(indexed(corpus_of({"a": "?!", "b": "fox"}), tmp_path / "some"), "fox").ids == ("b#0",)


def test_a_huge_chunk(tmp_path: Path) -> None:
    huge = "red fox 여우 " * 250_000
    retriever = indexed(corpus_of({"a": huge, "b": "red"}), tmp_path, tokenizer=AutoTokenizer())
    assert set(search(retriever, "red").ids) == {"a#0", "b#0"}
    assert search(retriever, "여우").ids == ("a#0",)


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"^the corpus is empty: there is nothing to index$"):
        indexed(corpus_of({}), tmp_path)


def test_what_scores_depend_on_besides_settings() -> None:
    class Versioned(WordTokenizer):
        provenance = {"dictionary": 7}  # noqa: RUF012

    assert KeywordRetriever(tokenizer=Versioned()).provenance == {
        "bm25s": version("bm25s"),
        "tokenizer": {"dictionary": 7},
    }


def test_facts(tmp_path: Path) -> None:
    retriever = KeywordRetriever(tokenizer=WordTokenizer())
    facts = retriever.index(corpus_of(THREE), workspace(tmp_path, retriever))
    assert {name: facts[name] for name in ("kind", "n_chunks", "n_terms")} == {
        "kind": "bm25",
        "n_chunks": 3,
        "n_terms": 7,
    }
    assert facts["size_bytes"] > 0


# --- the index on disk ------------------------------------------------------------------------------


def files(root: Path) -> list[Path]:
    return sorted(path for path in (root / "keyword").rglob("*") if path.is_file() and path.suffix != ".lock")


def test_the_index_is_built_once_and_the_same_each_time(tmp_path: Path) -> None:
    indexed(corpus_of(THREE), tmp_path / "1")
    before = {path: path.stat().st_mtime_ns for path in files(tmp_path / "1")}
    indexed(corpus_of(THREE), tmp_path / "1")
    assert {path: path.stat().st_mtime_ns for path in files(tmp_path / "1")} == before
    indexed(corpus_of(THREE), tmp_path / "2")
    assert [path.read_bytes() for path in files(tmp_path / "2")] == [path.read_bytes() for path in before]


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "foreign"])
def test_a_damaged_index_is_built_again(tmp_path: Path, damage: str) -> None:
    expected = search(indexed(corpus_of(THREE), tmp_path), "red fox")
    for number in range(len(files(tmp_path))):
        path = files(tmp_path)[number]
        data = bytearray(path.read_bytes())
        if damage == "remove":
            path.unlink()
        elif damage == "foreign":
            path.write_bytes(b"{}")
        else:
            data[len(data) // 2] ^= 1
            path.write_bytes(bytes(data if damage == "flip" else data[: len(data) // 2]))
        assert search(indexed(corpus_of(THREE), tmp_path), "red fox") == expected, path.name


# --- against plain bm25s ----------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij", "kl"]), max_size=8).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=8).filter(any), WORDS.filter(bool))
def test_as_bm25s_scores_it(tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str) -> None:
    import bm25s

    corpus = corpus_of({f"{n}": text for n, text in enumerate(texts)})
    ranking = search(indexed(corpus, tmp_path_factory.mktemp("index")), query)
    plain = bm25s.BM25(k1=1.5, b=0.75)
    plain.index([text.split() for text in texts], show_progress=False)
    scores = plain.get_scores(query.split())
    expected = sorted(((score, f"{n}#0") for n, score in enumerate(scores) if score > 0), reverse=True)
    np.testing.assert_allclose(ranking.scores, [score for score, _ in expected], rtol=1e-5)
    assert set(ranking.ids) == {id for _, id in expected}
    assert all(0 < relevance <= 1 for relevance in ranking.relevance)
