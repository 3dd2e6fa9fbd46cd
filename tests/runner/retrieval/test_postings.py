from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.retrieval.postings import Bm25, Method, Postings, build

METHODS: tuple[Method, ...] = ("lucene", "robertson", "atire")
CHUNKS = st.lists(st.lists(st.sampled_from(["ab", "cd", "ef", "가나", "다"]), max_size=8), min_size=1, max_size=9)


def arrays(folder: Path) -> list[np.ndarray]:
    return [np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr")]


@settings(max_examples=60, deadline=None)
@given(CHUNKS.filter(any), st.sampled_from(METHODS), st.integers(1, 4), st.integers(1, 5))
def test_the_arrays_are_those_of_bm25s_whatever_is_held_at_a_time(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[list[str]], method: Method, batch_size: int, room: int
) -> None:
    import bm25s

    folder = tmp_path_factory.mktemp("postings")
    build(folder, iter(chunks), Bm25(method, 1.5, 0.75), batch_size=batch_size, room=room)
    vocabulary: dict[str, int] = {}
    numbered = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms] for terms in chunks]
    plain = bm25s.BM25(k1=1.5, b=0.75, method=method, dtype="float64")
    plain.index((numbered, vocabulary), create_empty_token=False, show_progress=False)
    for name, array in zip(("data", "indices", "indptr"), arrays(folder), strict=True):
        assert array.tolist() == plain.scores[name].tolist(), name
    postings = Postings(folder)
    indptr = plain.scores["indptr"].tolist()
    spans = {term: (indptr[number], indptr[number + 1]) for term, number in vocabulary.items()}
    assert postings.spans([*vocabulary, "unknown"]) == spans
    query = [term for term in ("cd", "ab", "cd") if term in vocabulary]
    scores = plain.get_scores_from_ids([vocabulary[term] for term in query])
    assert postings.scores([spans[term] for term in query]).tolist() == scores.tolist()


def test_chunks_without_a_term(tmp_path: Path) -> None:
    build(tmp_path, [[], [], []], Bm25("lucene", 1.5, 0.75))
    postings = Postings(tmp_path)
    assert (postings.n_chunks, postings.n_terms) == (3, 0)
    assert postings.spans(["a"]) == {}
    assert postings.scores([]).tolist() == [0, 0, 0]


def test_one_chunk(tmp_path: Path) -> None:
    build(tmp_path, [["a", "b", "a"]], Bm25("atire", 1.5, 0.75))
    assert Postings(tmp_path).spans(["b", "a", "b"]) == {"a": (0, 1), "b": (1, 2)}
    assert arrays(tmp_path)[2].tolist() == [0, 1, 2]


def test_more_terms_than_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.retrieval.postings.FOUND", 2)
    build(tmp_path, [["a", "b", "c", "d"]], Bm25("lucene", 1.5, 0.75))
    postings = Postings(tmp_path)
    for term, begin in (*zip("abcd", range(4), strict=True), ("b", 1), ("d", 3)):
        assert postings.spans([term]) == {term: (begin, begin + 1)}


def test_nothing_but_the_index_is_left_in_the_folder(tmp_path: Path) -> None:
    build(tmp_path, ([f"term{n % 7}", f"own{n}"] for n in range(30)), Bm25("lucene", 1.5, 0.75), batch_size=4)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("data.npy", "indices.npy", "indptr.npy", "lengths.npy"),
        *("names.bin", "names_ends.npy", "names_hashes.npy", "names_places.npy"),
    ]
