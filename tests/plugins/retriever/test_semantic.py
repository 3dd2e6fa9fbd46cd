from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever import semantic
from plugins.retriever.semantic import SemanticRetriever
from runner.errors import CorpusError, StopRunError
from runner.protocols import CachedRetriever, Workspace
from runner.records import Corpus, Ranking
from tests.corpora import corpus_of, question, workspace


class Table:
    """Texts with vectors that are written down. Any other text has none."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.vectors = {text: tuple(vector) for text, vector in vectors.items()}

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
        pass

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        dim = len(next(iter(self.vectors.values())))
        rows = [self.vectors.get(text, (0.0,) * dim) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), dim)


class CachedTable(Table):
    def is_cached(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[bool]:
        return [text == "east" for text in texts]

    def warm_up(self) -> None:
        self._warm = True


COMPASS = {"east": (1, 0), "north": (0, 1), "west": (-1, 0), "northeast": (0.6, 0.8)}


def indexed(corpus: Corpus, root: Path, embedder: Any, **options: Any) -> tuple[SemanticRetriever, Mapping[str, Any]]:
    retriever = SemanticRetriever(embedder=embedder, **options)
    return retriever, retriever.index(corpus, workspace(root, retriever, embedder))


def search(retriever: SemanticRetriever, text: str, depth: int = 10) -> Ranking:
    return retriever.search([question(text)], depth)[0]


def compass() -> Corpus:
    return corpus_of({name[0] + name[-1]: name for name in COMPASS})


def test_cosines_by_hand(tmp_path: Path) -> None:
    retriever, facts = indexed(compass(), tmp_path, Table(COMPASS))
    ranking = search(retriever, "east")
    assert ranking.ids == ("et#0", "nt#0", "nh#0", "wt#0")
    assert ranking.scores == pytest.approx((1.0, 0.6, 0.0, -1.0), abs=1e-7)
    assert ranking.relevance == pytest.approx((1.0, 0.6, 0.0, 0.0), abs=1e-7)
    assert search(retriever, "east", depth=2).ids == ("et#0", "nt#0")
    assert facts["kind"] == "flat"
    assert (facts["n_chunks"], facts["dim"]) == (4, 2)


def test_a_query_without_features_finds_nothing(tmp_path: Path) -> None:
    retriever, _ = indexed(compass(), tmp_path, Table(COMPASS))
    found = retriever.search([question("nowhere"), question("north"), question("")], 1)
    assert [ranking.ids for ranking in found] == [(), ("nh#0",), ()]
    assert retriever.search([], 5) == []


def test_all_of_many_ties_are_seen(tmp_path: Path) -> None:
    same = corpus_of({f"{n:03}": "east" for n in range(300)} | {"first": "northeast"})
    retriever, _ = indexed(same, tmp_path, Table(COMPASS))
    assert search(retriever, "east", depth=3).ids == ("299#0", "298#0", "297#0")
    assert search(retriever, "northeast", depth=2).ids == ("first#0", "299#0")


@pytest.fixture
def cloud() -> tuple[Corpus, Table]:
    vectors = np.random.default_rng(5).standard_normal((400, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = {f"text {n}": vector.tolist() for n, vector in enumerate(vectors)}
    return corpus_of({f"{n:03}": text for n, text in enumerate(texts)}), Table(texts)


def test_exact_as_a_sort_has_it(tmp_path: Path, cloud: tuple[Corpus, Table]) -> None:
    corpus, table = cloud
    retriever, _ = indexed(corpus, tmp_path, table)
    vectors = table.embed(list(table.vectors), "passage").astype(np.float64)
    for n in (0, 17, 399):
        scores = vectors @ vectors[n]
        order = np.argsort(-scores)[:20]
        ranking = search(retriever, f"text {n}", depth=20)
        assert ranking.ids == tuple(f"{place:03}#0" for place in order)
        np.testing.assert_allclose(ranking.scores, scores[order], rtol=0, atol=1e-12)


def test_alone_or_in_a_batch_is_the_same_to_the_last_bit(tmp_path: Path, cloud: tuple[Corpus, Table]) -> None:
    corpus, table = cloud
    retriever, _ = indexed(corpus, tmp_path, table)
    queries = [question(f"text {n}") for n in range(64)]
    assert retriever.search(queries, 30) == [retriever.search([query], 30)[0] for query in queries]


@pytest.mark.parametrize("kind", ["hnsw", "ivf", "ivf_pq"])
def test_approximate_indexes_tell_their_recall(tmp_path: Path, cloud: tuple[Corpus, Table], kind: str) -> None:
    corpus, table = cloud
    few, facts = indexed(
        corpus, tmp_path / "1", table, index=kind, hnsw_effort=2, hnsw_links=2, ivf_lists=10, ivf_probes=1
    )
    much, better = indexed(corpus, tmp_path / "2", table, index=kind, hnsw_effort=400, ivf_lists=10, ivf_probes=10)
    assert facts["recall_at_10"] < 0.9 < better["recall_at_10"] == 1.0
    assert (
        search(much, "text 3", depth=5).ids == search(indexed(corpus, tmp_path / "3", table)[0], "text 3", depth=5).ids
    )
    assert len(search(few, "text 3", depth=5).ids) <= 5


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivf", "ivf_pq"])
def test_the_index_is_built_once_and_the_same_each_time(tmp_path: Path, cloud: tuple[Corpus, Table], kind: str) -> None:
    corpus, table = cloud
    first, _ = indexed(corpus, tmp_path / "1", table, index=kind)
    (path,) = (tmp_path / "1").rglob("index.faiss")
    before = path.stat().st_mtime_ns
    second, _ = indexed(corpus, tmp_path / "1", table, index=kind)
    assert path.stat().st_mtime_ns == before
    indexed(corpus, tmp_path / "2", table, index=kind)
    (other,) = (tmp_path / "2").rglob("index.faiss")
    assert other.read_bytes() == path.read_bytes()
    assert search(second, "text 9") == search(first, "text 9")


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        *(("ivf", {"seed": 7}), ("ivf", {"ivf_lists": 3}), ("hnsw", {"hnsw_effort": 1}), ("hnsw", {"hnsw_links": 2})),
        *(("ivf_pq", {"seed": 7}), ("ivf_pq", {"ivf_lists": 3}), ("ivf_pq", {"pq_bytes": 7})),
    ],
)
def test_settings_decide_how_an_approximate_index_turns_out(
    tmp_path: Path, cloud: tuple[Corpus, Table], kind: str, changed: dict[str, int]
) -> None:
    built = []
    for number, options in enumerate(({}, changed)):
        indexed(cloud[0], tmp_path / str(number), cloud[1], index=kind, **options)
        (path,) = (tmp_path / str(number)).rglob("index.faiss")
        built.append(path.read_bytes())
    assert built[0] != built[1]


def test_scores_of_compressed_vectors_are_those_of_whole_ones(tmp_path: Path, cloud: tuple[Corpus, Table]) -> None:
    exact, _ = indexed(cloud[0], tmp_path / "1", cloud[1])
    short, facts = indexed(cloud[0], tmp_path / "2", cloud[1], index="ivf_pq", pq_bytes=3, ivf_lists=10, ivf_probes=10)
    scores = dict(zip(*(getattr(search(exact, "text 9", depth=400), name) for name in ("ids", "scores")), strict=True))
    found = search(short, "text 9", depth=50)
    assert found.scores == tuple(scores[id] for id in found.ids)
    assert facts["recall_at_10"] < 1.0


@pytest.mark.parametrize("kind", ["hnsw", "ivf_pq"])
def test_an_index_of_several_threads_finds_as_much(tmp_path: Path, cloud: tuple[Corpus, Table], kind: str) -> None:
    recalls = [
        indexed(cloud[0], tmp_path / str(threads), cloud[1], index=kind, ivf_probes=20, build_threads=threads)[1]
        for threads in (1, None)
    ]
    assert min(facts["recall_at_10"] for facts in recalls) > 0.9


@pytest.mark.parametrize("kind", ["flat", "ivf_pq"])
def test_a_corpus_that_is_embedded_by_blocks_is_the_same(
    tmp_path: Path, cloud: tuple[Corpus, Table], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed(cloud[0], tmp_path / "1", cloud[1], index=kind)
    monkeypatch.setattr(semantic, "BLOCK", 150)
    indexed(cloud[0], tmp_path / "2", cloud[1], index=kind)
    one, other = ([path.read_bytes() for path in sorted((tmp_path / n).rglob("*.f*"))] for n in "12")
    assert one == other != []
    assert sorted(path.name for path in (tmp_path / "2").iterdir()) == [".gitignore", "semantic"]


def test_what_rankings_depend_on_besides_settings() -> None:
    class Served(Table):
        provenance = {"url": "http://localhost"}  # noqa: RUF012

    assert SemanticRetriever(embedder=Served(COMPASS)).provenance == {
        "faiss": version("faiss-cpu"),
        "embedder": {"url": "http://localhost"},
    }


@pytest.mark.parametrize("damage", ["flip", "truncate", "foreign"])
def test_a_damaged_index_is_built_again(tmp_path: Path, damage: str) -> None:
    expected = search(indexed(compass(), tmp_path, Table(COMPASS))[0], "northeast")
    (path,) = tmp_path.rglob("index.faiss")
    data = bytearray(path.read_bytes())
    data[-3] ^= 0x40
    path.unlink()  # the first index is still mapped
    path.write_bytes({"flip": bytes(data), "truncate": bytes(data[:20]), "foreign": b"something else"}[damage])
    assert search(indexed(compass(), tmp_path, Table(COMPASS))[0], "northeast") == expected


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivf", "ivf_pq"])
def test_one_chunk(tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    retriever, _ = indexed(corpus_of({"a": "east"}), tmp_path, Table(COMPASS), index=kind)
    assert search(retriever, "northeast").ids == ("a#0",)
    assert capfd.readouterr() == ("", "")  # FAISS warns on its own


def test_chunks_without_features(tmp_path: Path) -> None:
    retriever, _ = indexed(corpus_of({"a": "?", "b": "!"}), tmp_path, LsaEmbedder())
    assert search(retriever, "east").ids == ()


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"^the corpus is empty: there is nothing to index$"):
        indexed(corpus_of({}), tmp_path, Table(COMPASS))


def test_knows_whether_its_embedder_remembers(tmp_path: Path) -> None:
    plain, _ = indexed(compass(), tmp_path / "1", Table(COMPASS))
    cached, _ = indexed(compass(), tmp_path / "2", CachedTable(COMPASS))
    assert isinstance(plain, CachedRetriever)
    assert (plain.caches, cached.caches) == (False, True)
    assert plain.is_cached([question("east"), question("north")]) == [False, False]
    assert cached.is_cached([question("east"), question("north")]) == [True, False]
    cached.warm_up()
    assert cached.embedder._warm  # type: ignore[attr-defined]


class Uneven(Table):
    """Of which questions have vectors of another length than passages."""

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        vectors = super().embed(texts, kind)
        return vectors if kind == "passage" else np.hstack([vectors, vectors])


def test_vectors_of_another_length_are_told_with_their_maker(tmp_path: Path) -> None:
    retriever, _ = indexed(compass(), tmp_path, Uneven(COMPASS))
    with pytest.raises(StopRunError) as raised:
        search(retriever, "east")
    assert str(raised.value) == (
        "the index was built of vectors of 2 numbers by Uneven, and Uneven now makes vectors of 4: another model "
        "answers under this name; cold_start=true rebuilds the index"
    )
