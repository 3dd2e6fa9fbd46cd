from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.data.notes import read_notes
from runner.data.problems import ProblemLog
from runner.domains.links.graph import VaultGraph
from runner.domains.links.links import Link, Markup, markups_of
from tests.runner.domains.links.notes import documents_of

FOAM = Path(__file__).resolve().parents[5] / "shared" / "data" / "foam_vault_en"
NOTES = {
    "홈.md": "[[가]] [[가|다시]] [[a/b]] ![](x.png) [x](x.png) [[#위]] `[[가]]` `[[없음]]`\n\n#top",
    "가.md": "[up](홈.md) [[없는 노트]]",
    "a/b.md": "[[same]] [[홈]]",
    "a/same.md": "",
    "c/same.md": "",
}


def test_links_of_a_small_vault() -> None:
    graph = VaultGraph(documents_of(NOTES, 홈={"tags": ["home", "top"]}))
    assert [(edge.target, edge.link.alias) for edge in graph.out_links("홈.md")] == [
        ("가.md", None),
        ("가.md", "다시"),
        ("a/b.md", None),
    ]
    assert [edge.source for edge in graph.back_links("홈.md")] == ["가.md", "a/b.md"]
    assert graph.out_links("a/same.md") == graph.back_links("a/same.md") == ()
    assert [(loose.source, loose.link.reference) for loose in graph.broken] == [("가.md", "없는 노트")]
    assert [(loose.source, loose.candidates) for loose in graph.ambiguous] == [("a/b.md", ("a/same.md", "c/same.md"))]
    assert [(loose.link.reference, loose.candidates) for loose in graph.in_code] == [("가", ("가.md",)), ("없음", ())]
    assert graph.tags["홈.md"] == ("home", "top")
    assert graph.matrix.toarray().tolist() == [
        [0, 1, 1, 0, 0],
        [1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_front_matter_links_notes_by_their_parents_and_by_wiki_links() -> None:
    texts = {"index.md": "[[guide]]", "guide.md": "", "install.md": "", "same/a.md": "", "other/a.md": "", "b.md": ""}
    graph = VaultGraph(
        documents_of(
            texts,
            guide={"parent": "Index"},
            install={"parent": "guide", "related": ["[[b]]", "[[nowhere]]", "plain"], "up": "b"},
            a={"parent": "a"},  # two notes have that name
            b={"parent": "b"},
        )
    )
    assert [(edge.source, edge.target) for edge in graph.properties] == [
        ("guide.md", "index.md"),
        ("install.md", "guide.md"),
        ("install.md", "b.md"),
    ]
    assert graph.n_links == 4
    assert graph.links_from("install.md") == {"guide.md", "b.md"}
    assert graph.linking_to("guide.md") == {"index.md", "install.md"}
    assert graph.back_links("index.md") == graph.out_links("install.md") == ()  # of texts only
    assert graph.matrix.sum() == 4
    assert graph.broken == graph.ambiguous == []  # a field that names no note need not be a link


def test_neighbours_weigh_by_the_degrees_of_both() -> None:
    graph = VaultGraph(documents_of({"a.md": "[[b]] [[c]]", "b.md": "[[a]]", "c.md": "", "d.md": ""}))
    half = 1 / np.sqrt(2)  # a has two neighbours, b and c have one
    expected = [[0, half, half, 0], [half, 0, 0, 0], [half, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(graph.neighbourhood.toarray(), expected, rtol=1e-12)


def test_centrality_by_hand() -> None:
    graph = VaultGraph(documents_of({"a.md": "[[b]]", "b.md": "[[a]]", "c.md": "[[a]]"}))
    # c = .05; a = .05 + .85 (b + c); b = .05 + .85 a
    a = (0.05 + 0.85 * (0.05 + 0.05)) / (1 - 0.85**2)
    np.testing.assert_allclose(graph.centrality, [a, 0.05 + 0.85 * a, 0.05], rtol=1e-9)


def test_no_notes_and_no_links() -> None:
    assert VaultGraph([]).centrality.tolist() == []
    graph = VaultGraph(documents_of({"a.md": "", "b.md": ""}))
    assert graph.centrality.tolist() == [0.5, 0.5]
    assert graph.neighbourhood.nnz == graph.matrix.nnz == 0


LINKED = st.lists(st.lists(st.integers(0, 7), max_size=4), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(LINKED)
def test_centrality_is_that_of_the_whole_matrix(links: list[list[int]]) -> None:
    n = len(links)
    graph = VaultGraph(
        documents_of({f"n{a}.md": " ".join(f"[[n{b}]]" for b in out if b < n) for a, out in enumerate(links)})
    )
    step = graph.matrix.toarray()
    step[step.sum(axis=1) == 0] = 1
    step /= step.sum(axis=1, keepdims=True)
    exact = np.linalg.solve(np.eye(n) - 0.85 * step.T, np.full(n, 0.15 / n))
    np.testing.assert_allclose(graph.centrality, exact, atol=1e-7)
    for a, out in enumerate(links):
        assert {edge.target for edge in graph.out_links(f"n{a}.md")} == {f"n{b}.md" for b in out if b < n and b != a}
        assert all(edge in graph.back_links(edge.target) for edge in graph.out_links(f"n{a}.md"))


def test_each_text_is_read_once_by_the_reader_given() -> None:
    read = []

    def reading(texts: Sequence[str]) -> list[Markup]:
        read.extend(texts)
        return markups_of(texts)

    VaultGraph(documents_of(NOTES), reading)
    assert read == list(NOTES.values())


@pytest.mark.skipif(not FOAM.exists(), reason="the vault is not part of the repository")
def test_the_links_of_a_real_vault(tmp_path: Path) -> None:
    zipfile.ZipFile(FOAM / "vault.zip").extractall(tmp_path)
    lines = (FOAM / "links_raw.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [tuple(map(json.loads(line).get, ("source", "line", "link", "target"))) for line in lines]
    notes = read_notes(str(tmp_path), "notes", ProblemLog(strict=False))
    graph, texts = VaultGraph(notes), {note.id: note.text for note in notes}

    def found(source: str, link: Link, target: str) -> tuple[str, int, str, str]:
        whole, text = (tmp_path / source).read_text(encoding="utf-8"), texts[source]
        above = whole.removesuffix(text).count("\n")
        return source, link.line + above, text[link.start : link.end].removeprefix("!"), target

    wiki = [edge for edge in graph.edges if edge.link.kind != "markdown"]
    outside = Counter(found(edge.source, edge.link, edge.target) for edge in wiki)
    meant = [loose for loose in graph.in_code if loose.candidates]
    in_code = Counter(found(loose.source, loose.link, loose.candidates[0]) for loose in meant)
    assert (outside.total(), in_code.total()) == (197, 14)
    assert outside + in_code == Counter(expected)
    assert [(loose.source, loose.link.reference) for loose in graph.broken] == [
        ("dev/contribution-guide.md", "../../CONTRIBUTING.md"),
        ("dev/design/static-site-publishing-research.md", "../../user/publishing/publishing.md"),
        ("user/index.md", "publishing"),
        ("user/tools/cli/search.md", "cli-grep"),
    ]
