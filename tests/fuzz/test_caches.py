"""What is stored to be used again, damaged on disk: it is made anew, or refused with the name of the file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.word import WordTokenizer
from runner.data.notes import outlines_of
from runner.domains.links.store import NoteStore
from runner.llm.cache import ReplyCache
from runner.llm.ledger import FILE, NOTHING, Account, Ledger, begin
from runner.llm.settings import CacheMode
from runner.protocols import Retriever
from runner.records import Ranking
from runner.retrieval.embeddings import BatchSink, EmbeddingStore
from runner.retrieval.rankings import rank_all
from runner.retrieval.searching import Searcher
from tests.corpora import corpus_of, question, workspace
from tests.fuzz.damage import damaged
from tests.fuzz.inputs import inputs, refused

CORPUS = corpus_of({"a": "The Moon circles the Earth.", "b": "Mars is red.", "가": "달은 지구를 돈다."})
QUESTIONS = [question("Moon", "1"), question("red Mars", "2"), question("달은", "3")]
REQUESTS = [b"one", b"two", b"three"]
TEXTS = ["one", "two", "하나"]


def damaged_file(data: st.DataObject, folder: Path) -> Path:
    """One file of a folder gets what an accident leaves, or is lost."""
    path: Path = data.draw(st.sampled_from(sorted(path for path in folder.rglob("*") if path.is_file())), label="file")
    if data.draw(st.integers(0, 9)) == 0:
        path.unlink()
    else:
        path.write_bytes(data.draw(damaged(path.read_bytes())))
    return path


def fresh(kept: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kept, folder)
    return folder


# --- answers of models --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("answers")
    cache = ReplyCache(root, "use", lambda: "sweep")
    for request in REQUESTS:
        cache.store(request, {"text": request.decode()})
    cache.close()
    return root


@inputs(35)
@given(data=st.data(), mode=st.sampled_from(["use", "read", "refresh", "replay"]))
def test_answers(answers: Path, tmp_path: Path, data: st.DataObject, mode: CacheMode) -> None:
    """A reply is the one that was stored or none. Where replies are stored nothing is refused, and the next one is
    stored; where they are only read, the file stays as it is."""
    root = fresh(answers, tmp_path / "cache")
    path = damaged_file(data, root)
    before = path.read_bytes() if path.exists() else None
    with closing(ReplyCache(root, mode, lambda: "sweep")) as cache:
        codes = () if cache.stores else (3,)
        for request in REQUESTS:
            found = refused(lambda request=request: cache.find(request), names=[str(path), str(root)], codes=codes)  # type: ignore[misc]
            assert found is None or found == {"text": request.decode()}
        if cache.stores:
            assert cache.store(b"new", {"text": "new"}) == {"text": "new"}
            assert cache.find(b"new") == {"text": "new"}
    assert cache.stores or (path.read_bytes() if path.exists() else None) == before


# --- vectors ------------------------------------------------------------------------------------------


def computed(batches: Sequence[list[str]], done: BatchSink) -> None:
    for number, batch in enumerate(batches):
        done(number, np.array([[len(text), 1.0, ord(text[0])] for text in batch], dtype=np.float32))


def embedded(root: Path) -> NDArray[np.float32]:
    return EmbeddingStore(root, {"model": "x"}).embed(TEXTS, "passage", computed, batch_size=2)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, NDArray[np.float32]]:
    root = tmp_path_factory.mktemp("vectors")
    return root, embedded(root)


@inputs(20)
@given(data=st.data())
def test_vectors(vectors: tuple[Path, NDArray[np.float32]], tmp_path: Path, data: st.DataObject) -> None:
    kept, expected = vectors
    root = fresh(kept, tmp_path / "cache")
    damaged_file(data, root)
    assert np.array_equal(embedded(root), expected)


# --- what was spent -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spent")
    begin(folder, {})
    ledger = Ledger(folder, {})
    ledger.note_cached(Account("0", "judge", "m"), NOTHING)
    ledger.close()
    assert (folder / FILE).exists()
    return folder


@inputs(20)
@given(data=st.data(), limited=st.booleans())
def test_ledgers(spent: Path, tmp_path: Path, data: st.DataObject, limited: bool) -> None:
    """Without a budget a damaged ledger is begun anew; with one it is refused and stays as it is."""
    folder = fresh(spent, tmp_path / "run")
    path = damaged_file(data, folder)
    before = path.read_bytes() if path.exists() else None
    budget = {"usd": 1.0} if limited else {}

    def opened() -> None:
        begin(folder, budget)  # type: ignore[arg-type]
        ledger = Ledger(folder, budget)  # type: ignore[arg-type]
        ledger.note_cached(Account("0", "judge", "m"), NOTHING)
        assert ledger.usage("0")
        ledger.close()

    done: list[bool] = []
    refused(lambda: done.append(opened() is None), names=[str(path)], codes=(1, 3))
    assert done or (limited and path.read_bytes() == before)


# --- indexes and rankings -----------------------------------------------------------------------------


RETRIEVERS: dict[str, Callable[[], Retriever]] = {
    "keyword": lambda: KeywordRetriever(tokenizer=WordTokenizer()),
    "semantic": lambda: SemanticRetriever(embedder=LsaEmbedder(dim=2)),
}


def ranked(root: Path, name: str) -> list[Ranking]:
    retriever = RETRIEVERS[name]()
    store = workspace(root, retriever)
    retriever.index(CORPUS, store)
    found = rank_all(Searcher(retriever, CORPUS, depth=5, timeout_ms=10_000, seed=1), QUESTIONS, store)
    return [found[query.id].ranking for query in QUESTIONS]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, list[Ranking]]]:
    roots = {name: tmp_path_factory.mktemp(name) for name in RETRIEVERS}
    return {name: (root, ranked(root, name)) for name, root in roots.items()}


@inputs(30)
@given(name=st.sampled_from(sorted(RETRIEVERS)), data=st.data())
def test_indexes_and_rankings(
    indexed: dict[str, tuple[Path, list[Ranking]]], tmp_path: Path, name: str, data: st.DataObject
) -> None:
    kept, expected = indexed[name]
    root = fresh(kept, tmp_path / "cache")
    damaged_file(data, root)
    assert ranked(root, name) == expected


# --- what was made of notes ----------------------------------------------------------------------------


NOTES = ["---\ntitle: 달\n---\n# 달\n\n[[a]]\n", "# A\n", "", "가"]


@pytest.fixture(scope="module")
def outlined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("outlined")
    NoteStore(root).outlines(NOTES)
    return root


@inputs(15)
@given(data=st.data())
def test_notes(outlined: Path, tmp_path: Path, data: st.DataObject) -> None:
    root = fresh(outlined, tmp_path / "cache")
    damaged_file(data, root)
    assert NoteStore(root).outlines(NOTES) == outlines_of(NOTES)
