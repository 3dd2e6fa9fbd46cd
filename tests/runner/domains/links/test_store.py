from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from plugins.dataset.vault import VaultDataset
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.auto import AutoTokenizer
from runner.data.notes import outlines_of
from runner.domains.links.graph import VaultGraph
from runner.domains.links.links import markups_of
from runner.domains.links.store import NoteStore
from runner.protocols import Workspace
from runner.records import Corpus, Ranking
from runner.retrieval.embeddings import EmbeddingStore, Kind, in_turn
from runner.text.chunking import Cutter
from tests.corpora import corpus_of, question, workspace
from tests.small_data import write_jsonl

TEXTS = [
    "[[a|b]] `[[c]]` #tag",
    "plain",
    "---\ntitle: 제목\naliases: [x]\n---\n# Other\n\n[t](u.md)",
    "[[a|b]] `[[c]]` #tag",
]


def upper(texts: Sequence[str]) -> list[str]:
    return [text.upper() for text in texts]


class Counting:
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[str]:
        self.asked += texts
        return upper(texts)


def test_a_text_is_worked_on_once(tmp_path: Path) -> None:
    count = Counting()
    assert NoteStore(tmp_path).recall("upper", ["가a", "b", "가a"], count) == ["가A", "B", "가A"]
    assert NoteStore(tmp_path).recall("upper", ["b", "c", "\ud800"], count) == ["B", "C", "\ud800"]
    assert NoteStore(tmp_path).recall("upper", ["\ud800"], count) == ["\ud800"]
    assert count.asked == ["가a", "b", "c", "\ud800"]
    assert NoteStore(tmp_path).recall("other name", ["b"], count) == ["B"]
    assert count.asked[4:] == ["b"]


@pytest.mark.parametrize(
    ("settings", "asked"),
    [({"cold": True}, ["a", "a"]), ({"read_only": True}, ["b", "b"]), ({}, ["b"])],
)
def test_cold_and_read_only(tmp_path: Path, settings: dict[str, bool], asked: list[str]) -> None:
    NoteStore(tmp_path).recall("upper", ["a"], upper)
    count = Counting()
    for _ in range(2):
        NoteStore(tmp_path, **settings).recall("upper", ["a"] if "cold" in settings else ["a", "b"], count)
    assert count.asked == asked


def test_nothing_is_kept_where_nothing_may_be(tmp_path: Path) -> None:
    count = Counting()
    for store in (NoteStore(None), NoteStore(tmp_path, read_only=True)):
        assert store.recall("upper", ["a"], count) == ["A"]
    assert count.asked == ["a", "a"] and not list(tmp_path.iterdir())


def test_more_texts_than_fit_into_one_question(tmp_path: Path) -> None:
    texts = [f"t{n}" for n in range(1203)]
    assert NoteStore(tmp_path).recall("upper", texts, upper) == upper(texts)
    count = Counting()
    assert NoteStore(tmp_path).recall("upper", texts, count) == upper(texts)
    assert count.asked == []


def test_damaged_and_foreign_values_are_made_again(tmp_path: Path) -> None:
    NoteStore(tmp_path).recall("upper", ["a", "b"], upper)
    with closing(sqlite3.connect(tmp_path / "notes.sqlite")) as file, file:
        file.execute("UPDATE made SET value = CAST(substr(value, 1, 4) || '\"X\"' AS BLOB)")
    assert NoteStore(tmp_path).recall("upper", ["a", "b"], upper) == ["A", "B"]
    (tmp_path / "notes.sqlite").write_bytes(b"no database at all" * 100)
    assert NoteStore(tmp_path).recall("upper", ["a", "b"], upper) == ["A", "B"]


def test_values_of_other_code_are_thrown_away(tmp_path: Path) -> None:
    NoteStore(tmp_path).recall("upper", ["a"], upper)
    with closing(sqlite3.connect(tmp_path / "notes.sqlite")) as file, file:
        file.execute("UPDATE made SET code = 'other'")
    NoteStore(tmp_path).recall("upper", ["b"], upper)
    with closing(sqlite3.connect(tmp_path / "notes.sqlite")) as file, file:
        assert file.execute("SELECT count(*) FROM made").fetchone() == (1,)


def test_what_is_remembered_is_what_would_be_made(tmp_path: Path) -> None:
    chunker = Cutter(max_chars=20, min_chars=0, headings=True)
    for _ in range(2):
        store = NoteStore(tmp_path)
        assert store.markup(TEXTS) == markups_of(TEXTS)
        assert store.outlines(TEXTS) == outlines_of(TEXTS)
        assert store.passages(chunker, TEXTS) == [chunker.passages(text) for text in TEXTS]
        assert store.terms(AutoTokenizer(), "auto", TEXTS) == AutoTokenizer().tokenize(TEXTS)
    assert NoteStore(tmp_path).passages(Cutter(), TEXTS) != store.passages(chunker, TEXTS)


# --- a vault that changes -----------------------------------------------------------------------------

WORDS = st.sampled_from(["여우", "hen", "[[n1]]", "[[n2|암탉]]", "숲", "#tag", "`[[n3]]`", "\n\n## 머리\n\n", "red"])
TEXT = st.lists(WORDS, max_size=8).map(" ".join)
VAULT = st.dictionaries(st.sampled_from(["n1.md", "n2.md", "a/n3.md", "b/n4.md"]), TEXT, min_size=2)


class CountingTokenizer(AutoTokenizer):
    def __init__(self) -> None:
        self._asked: list[str] = []

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        self._asked += texts
        return super().tokenize(texts)


def indexed(folder: Path, cache: Path) -> tuple[Corpus, VaultGraph, Ranking, list[str]]:
    tokenizer = CountingTokenizer()
    retriever = KeywordRetriever(tokenizer=tokenizer)
    dataset = VaultDataset(
        notes=str(folder / "notes"),
        queries=str(folder / "q.jsonl"),
        chunker=Cutter(max_chars=40, min_chars=0, headings=True),
        cache_dir=str(cache),
    )
    corpus = dataset.load().corpus
    retriever.index(corpus, workspace(cache, retriever))
    asked = list(tokenizer._asked)
    ranking = retriever.search([question("red 여우 hen 숲")], 10)[0]
    return corpus, VaultGraph(corpus.documents, NoteStore(cache).markup), ranking, asked


def write(folder: Path, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        (folder / "notes" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "notes" / path).write_text(f"---\ntitle: {path[:-3]}\n---\n{text} word{path}\n", encoding="utf-8")


@settings(max_examples=12, deadline=None)
@given(st.lists(VAULT, min_size=2, max_size=3))
def test_after_changes_everything_is_as_if_built_anew(versions: list[dict[str, str]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        query = {"id": "q", "query": "여우", "answerable": False, "expected_notes": []}
        write_jsonl(folder / "q.jsonl", [query])
        for number, version in enumerate(versions):
            write(folder, version)
            corpus, graph, ranking, _ = indexed(folder, folder / "kept")
            anew, graph_anew, ranking_anew, _ = indexed(folder, folder / f"new{number}")
            assert corpus.fingerprint == anew.fingerprint and corpus.documents == anew.documents
            assert (graph.edges, graph.broken, graph.tags) == (graph_anew.edges, graph_anew.broken, graph_anew.tags)
            assert ranking == ranking_anew


def test_only_the_changed_note_is_tokenised_again(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "q.jsonl", [{"id": "q", "query": "x", "answerable": False, "expected_notes": []}])
    write(tmp_path, {"n1.md": "one", "n2.md": "two", "a/n3.md": "three"})
    assert len(indexed(tmp_path, tmp_path / "kept")[3]) == 3
    write(tmp_path, {"n2.md": "2"})
    (asked,) = indexed(tmp_path, tmp_path / "kept")[3]
    assert asked.endswith("2 wordn2.md")


class RememberingEmbedder:
    """As those that ask a model: each text is embedded once."""

    def __init__(self) -> None:
        self._asked: list[str] = []

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
        self._store = EmbeddingStore(workspace.root, {"model": "letters"})

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        return self._store.embed(texts, kind, in_turn(self._letters), batch_size=8)

    def _letters(self, texts: list[str]) -> NDArray[np.float32]:
        self._asked += texts
        return np.array([[1.0 + text.count(letter) for letter in "aeiou"] for text in texts], dtype=np.float32)


def test_only_the_changed_note_is_embedded_again(tmp_path: Path) -> None:
    texts = {"n1.md": "one", "n2.md": "two", "n3.md": "three"}
    for asked, changed in ((["one", "two", "three"], {}), (["changed"], {"n2.md": "changed"})):
        embedder = RememberingEmbedder()
        retriever = SemanticRetriever(embedder=embedder)  # type: ignore[arg-type]
        retriever.index(corpus_of(texts | changed), workspace(tmp_path, retriever))
        assert embedder._asked == asked


def test_a_dry_run_keeps_nothing(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "q.jsonl", [{"id": "q", "query": "x", "answerable": False, "expected_notes": []}])
    write(tmp_path, {"n1.md": "one"})
    cache = tmp_path / "cache"
    VaultDataset(
        notes=str(tmp_path / "notes"), queries=str(tmp_path / "q.jsonl"), cache_dir=str(cache), dry_run=True
    ).load()
    assert not cache.exists()
