from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plugins.embedder.lsa import LsaEmbedder
from tests.corpora import workspace

TEXTS = [
    "환불은 구매 후 7일 안에 신청할 수 있습니다",
    "배송은 주문 다음 날 시작됩니다",
    "Points expire one year after the purchase",
    "Refunds are paid within seven days",
    "회원 등급은 매달 첫날 다시 계산합니다",
]


def fitted(texts: Sequence[str], root: Path, **options: Any) -> LsaEmbedder:
    embedder = LsaEmbedder(**options)
    embedder.prepare(texts, workspace(root, embedder))
    return embedder


def test_rows_have_length_one_and_no_more_columns_than_the_rank(tmp_path: Path) -> None:
    vectors = fitted(TEXTS, tmp_path).embed(TEXTS, "passage")
    assert vectors.dtype == np.float32
    assert vectors.shape == (5, 5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


def test_dim_is_a_limit(tmp_path: Path) -> None:
    assert fitted(TEXTS, tmp_path, dim=2).embed(TEXTS, "passage").shape == (5, 2)


def test_with_all_dimensions_the_cosines_are_those_of_tf_idf(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["aab ab", "ab abc bc", "xyz ab"]
    vectors = fitted(texts, tmp_path).embed(texts, "passage")
    padded = TfidfVectorizer(analyzer="char", ngram_range=(2, 3), sublinear_tf=True)
    expected = padded.fit_transform([f" {text} " for text in texts]).toarray()
    np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=1e-6)


def test_with_fewer_the_cosines_are_those_of_a_truncated_svd(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["aab ab", "ab abc bc", "xyz ab", "xyz zzz bc bc xyz xyz"]
    vectors = fitted(texts, tmp_path, dim=2).embed(texts, "passage")
    padded = TfidfVectorizer(analyzer="char", ngram_range=(2, 3), sublinear_tf=True)
    left, singular, _ = np.linalg.svd(padded.fit_transform([f" {text} " for text in texts]).toarray())
    expected = left[:, :2] * singular[:2]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=1e-6)


def test_copies_add_no_dimension(tmp_path: Path) -> None:
    assert fitted([TEXTS[0]] * 4 + [TEXTS[1]], tmp_path).embed(TEXTS, "query").shape == (5, 2)


def test_a_question_is_near_its_passage(tmp_path: Path) -> None:
    embedder = fitted(TEXTS, tmp_path)
    cosines = embedder.embed(["환불 신청", "point expiry"], "query") @ embedder.embed(TEXTS, "passage").T
    assert cosines.argmax(axis=1).tolist() == [0, 2]


def test_the_same_alone_and_in_a_batch(tmp_path: Path) -> None:
    embedder = fitted(TEXTS, tmp_path)
    alone = np.concatenate([embedder.embed([text], "query") for text in TEXTS * 60])
    np.testing.assert_array_equal(embedder.embed(TEXTS * 60, "query"), alone)


@pytest.mark.parametrize("texts", [["환불"], ["?!"], [""], ["", "환불", "\ud800"], ["a"]])
def test_tiny_corpora(tmp_path: Path, texts: list[str]) -> None:
    embedder = fitted(texts, tmp_path)
    vectors = embedder.embed([*texts, "zzz 모름", ""], "query")
    assert vectors.shape == (len(texts) + 2, 1)
    assert [bool(row.any()) for row in vectors] == [any(map(str.isalpha, text)) for text in texts] + [False, False]


def test_nothing_to_embed(tmp_path: Path) -> None:
    assert fitted(TEXTS, tmp_path).embed([], "query").shape == (0, 5)


def test_a_large_corpus_is_fitted_on_a_sample_drawn_with_the_seed(tmp_path: Path) -> None:
    texts = [f"글 {n} 번 {'가나다라마바사'[n % 7] * 3}" for n in range(60)]
    first = fitted(texts, tmp_path / "1", fit_sample=10).embed(texts, "passage")
    again = fitted(texts, tmp_path / "2", fit_sample=10).embed(texts, "passage")
    other = fitted(texts, tmp_path / "3", fit_sample=10, seed=7).embed(texts, "passage")
    np.testing.assert_array_equal(first, again)
    assert first.shape[1] <= 10
    assert first.shape != other.shape or not np.array_equal(first, other)


def test_only_the_most_widespread_features_take_part(tmp_path: Path) -> None:
    texts = ["가나 다라", "가나 마바", "가나 사아"]
    vectors = fitted(texts, tmp_path, max_features=5).embed(["가나", "다라"], "query")
    assert [bool(row.any()) for row in vectors] == [True, False]


def state(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.rglob("*.npy")}


def test_the_state_is_kept_and_the_same_each_time(tmp_path: Path) -> None:
    fitted(TEXTS, tmp_path / "1")
    fitted(TEXTS, tmp_path / "2")
    assert sorted(state(tmp_path / "1")) == ["projection.npy", "vocabulary.npy"]
    assert state(tmp_path / "1") == state(tmp_path / "2")
    (projection,) = (tmp_path / "1").rglob("projection.npy")
    before = projection.stat().st_mtime_ns
    fitted(TEXTS, tmp_path / "1")
    assert projection.stat().st_mtime_ns == before


@pytest.mark.parametrize(("texts", "others"), [(["ab", "c"], ["a", "bc"]), (["ab"], ["ac"]), (["ab"], ["ab", "ab"])])
def test_other_texts_have_another_state(tmp_path: Path, texts: list[str], others: list[str]) -> None:
    fitted(texts, tmp_path)
    fitted(others, tmp_path)
    assert len(list(tmp_path.rglob("projection.npy"))) == 2


@pytest.mark.parametrize("name", ["projection.npy", "vocabulary.npy"])
def test_a_damaged_state_is_fitted_again(tmp_path: Path, name: str) -> None:
    expected = fitted(TEXTS, tmp_path).embed(TEXTS, "passage")
    (path,) = tmp_path.rglob(name)
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(bytes(data))
    np.testing.assert_array_equal(fitted(TEXTS, tmp_path).embed(TEXTS, "passage"), expected)
