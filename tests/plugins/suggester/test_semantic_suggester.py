from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.suggester.semantic import SemanticSuggester
from plugins.tokenizer.word import WordTokenizer
from runner.protocols import Workspace
from runner.records import Corpus, Query, Ranking
from tests.plugins.suggester.vaults import BREWING, Folders, notes_of, place, vault


class Fixed:
    """Always the same passages."""

    caches = True

    def __init__(self, relevance: Mapping[str, float]) -> None:
        self.relevance = relevance
        self.asked: list[str] = []

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        self.chunks = [chunk.id for chunk in corpus.chunks]
        return {"kind": "fixed"}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self.asked += [query.text for query in queries]
        values = tuple(self.relevance.values())
        return [Ranking(tuple(self.relevance), values, values)] * len(queries)

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        return [False] * len(queries)

    def warm_up(self) -> None: ...


def suggester(tmp_path: Path, retriever: Any, **settings: Any) -> SemanticSuggester:
    subject = SemanticSuggester(retriever=retriever, **settings)
    subject.index(vault(BREWING), Folders(tmp_path))
    return subject


def test_text_and_links_by_hand(tmp_path: Path) -> None:
    fixed = Fixed(
        {"tea.md#0": 0.6, "kettle.md#0": 0.5, "kettle.md#links": 0.8, "bread.md#links": 0.4, "home.md#0": 0.9}
    )
    subject = suggester(tmp_path, fixed, graph_weight=0.5)
    (found,) = subject.suggest([place("home.md", "x", "y")], 5)
    assert fixed.chunks[-4:] == ["tea.md#links", "coffee.md#links", "kettle.md#links", "bread.md#links"]
    assert {each.note: pytest.approx(each.confidence) for each in found.best} == {
        "kettle.md": (0.5 + 0.4) / 1.5,
        "tea.md": 0.6 / 1.5,
        "bread.md": 0.2 / 1.5,
    }
    assert notes_of(found.best) == ["kettle.md", "tea.md", "bread.md"]
    assert found.best[0].parts == {"text": 0.5, "links": 0.8}
    assert notes_of(found.legs["no_graph"]) == ["tea.md", "kettle.md"]
    assert [each.confidence for each in found.legs["no_graph"]] == [0.6, 0.5]
    assert fixed.asked == ["Home\nx\nx\ny"]
    assert subject.caches


def test_without_graph_only_texts_count(tmp_path: Path) -> None:
    fixed = Fixed({"tea.md#0": 0.6, "kettle.md#0": 0.5})
    (found,) = suggester(tmp_path, fixed, graph=False).suggest([place("home.md", "x")], 5)
    assert [(each.note, each.confidence) for each in found.best] == [("tea.md", 0.6), ("kettle.md", 0.5)]
    assert not found.legs and not [chunk for chunk in fixed.chunks if chunk.endswith("links")]


def test_what_others_say_where_they_link_finds_a_note_that_has_other_words(tmp_path: Path) -> None:
    keyword = KeywordRetriever(tokenizer=WordTokenizer())
    asked = place("home.md", "hums, cat, sleeps")
    (found,) = suggester(tmp_path, keyword).suggest([asked], 5)
    assert "kettle.md" in notes_of(found.best)
    assert "kettle.md" not in notes_of(found.legs["no_graph"])


def test_nearest_texts_and_their_reason(tmp_path: Path) -> None:
    subject = suggester(tmp_path, SemanticRetriever(embedder=LsaEmbedder()))
    asked = place("home.md", "When the water boils, it switches off and the cat sleeps on.")
    (found,) = subject.suggest([asked], 3)
    assert found.best[0].note == "kettle.md"
    assert not subject.caches
    assert subject.reason(asked, "kettle.md") == (
        "The note is also about “water”, “boils”, “switches”: "
        "“An electric kettle switches itself off when the water boils.” "
        "Where “Morning” links to it, it is also about “cat”, “sleeps”: “First the hums while the cat sleeps.”"
    )
