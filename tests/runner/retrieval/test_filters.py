"""What a filter leaves of a corpus, and what is said of one that leaves nothing."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from plugins.retriever.hybrid import HybridRetriever
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.word import WordTokenizer
from runner.cli import main
from runner.errors import InputError
from runner.records import Document, Ranking
from runner.retrieval.filters import LONGEST, facets_of, facets_of_chunks, passing_mask, where_of
from tests.command_line.result_files import read
from tests.corpora import question, workspace
from tests.runner.retrieval.test_stores import ListStore
from tests.small_data import small_data
from tests.store_kinds import FILTERS, TEAMS, Cloud, corpus


def test_facets_are_the_plain_values_of_a_document() -> None:
    metadata = {"year": 2024, "draft": False, "tags": ["a", "b", "a"], "nested": {"x": 1}, "none": None, "share": 0.5}
    long = {"summary": "x" * (LONGEST + 1), "날짜": "가을"}
    assert facets_of(Document("d", "text", "title", "ko", {**metadata, **long})) == (
        *("draft=false", "language=ko", "share=0.5", "tags=a", "tags=b", "year=2024", "날짜=가을"),
    )
    assert facets_of(Document("d", "text")) == ()


def test_a_filter_asks_for_one_value_of_each_name() -> None:
    assert where_of({"year": 2024, "tags": ["a", "b"], "draft": True}) == (
        *(("draft=true",), ("tags=a", "tags=b"), ("year=2024",)),
    )
    assert where_of(None) == where_of({}) == ()
    facets = [("tags=a", "year=1"), ("tags=b", "year=2"), ("year=1",)]
    assert passing_mask(facets, where_of({"tags": ["a", "b"]}), "f").tolist() == [True, True, False]
    assert passing_mask(facets, where_of({"tags": ["a", "b"], "year": 1}), "f").tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"taem": "support"}, "retriever.filter: no document has a value of 'taem'; did you mean 'team'?"),
        ({"team": "suport"}, "retriever.filter: no document has team=suport; did you mean 'support'?"),
        ({"years": [1, 2]}, "retriever.filter: no document has years=1 or years=2; known: 2020, 2021, 2025"),
        ({"language": "ko", "years": 2020}, "retriever.filter: no document has all of these values"),
    ],
)
def test_a_filter_that_leaves_nothing_is_told(wanted: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError) as raised:
        passing_mask(facets_of_chunks(corpus()), where_of(wanted), "retriever.filter")  # type: ignore[arg-type]
    assert str(raised.value) == problem


def test_each_leg_ranks_among_what_passes(tmp_path: Path) -> None:
    wanted = {"team": TEAMS[0]}
    legs = {
        "keyword": KeywordRetriever(tokenizer=WordTokenizer(), filter=wanted),
        "semantic": SemanticRetriever(embedder=Cloud(), filter=wanted),
    }
    hybrid = HybridRetriever(**legs, filter=wanted)
    facts = hybrid.index(corpus(), workspace(tmp_path, *legs.values()))
    assert (facts["keyword"]["n_candidates"], facts["semantic"]["n_candidates"]) == (40, 40)
    passing_ids = {f"{n:03}#0" for n in range(0, 120, 3)}
    (found,) = hybrid.search([question("text 7")], 100)
    assert set(found.ids) == set(found.legs["semantic"].ids) == set(found.legs["keyword"].ids) == passing_ids
    plain = KeywordRetriever(tokenizer=WordTokenizer())
    plain.index(corpus(), workspace(tmp_path / "plain", plain))
    scores = dict(zip(*(lambda one: (one.ids, one.scores))(plain.search([question("text 7")], 120)[0]), strict=True))
    leg = found.legs["keyword"]
    assert all(scores[id] == score for id, score in zip(leg.ids, leg.scores, strict=True))


@pytest.mark.parametrize("kind", ["hnsw", "ivf", "ivf_pq"])
def test_every_kind_of_index_searches_among_what_passes(tmp_path: Path, kind: Literal["hnsw", "ivf", "ivf_pq"]) -> None:
    """One that looks at all of the vectors, by its settings, finds what the exact one does, with its scores."""
    settings: dict[str, Any] = {"embedder": Cloud(), "filter": {"team": TEAMS[0]}}
    exact = SemanticRetriever(**settings)
    other = SemanticRetriever(**settings, index=kind, hnsw_effort=128, ivf_lists=3, ivf_probes=3)
    for retriever in (exact, other):
        retriever.index(corpus(), workspace(tmp_path, retriever))
    queries = [question(f"text {n}") for n in (7, 8, 100)]
    expected = exact.search(queries, 10)
    assert other.search(queries, 10) == expected
    assert all(int(id[:3]) % 3 == 0 for ranking in expected for id in ranking.ids)


@pytest.mark.parametrize("name", ["keyword", "semantic"])
def test_filters_share_one_index(tmp_path: Path, name: str) -> None:
    """And rank to the last bit as with an index of their own."""

    def ranked(folder: Path, wanted: Any) -> list[Ranking]:
        keyword = KeywordRetriever(tokenizer=WordTokenizer(), filter=wanted)
        retriever = keyword if name == "keyword" else SemanticRetriever(embedder=Cloud(), filter=wanted)
        retriever.index(corpus(), workspace(folder, retriever))
        return retriever.search([question(f"text {n}") for n in (7, 8, 100)], 20)

    for number, wanted in enumerate((None, *FILTERS)):
        assert ranked(tmp_path / "shared", wanted) == ranked(tmp_path / str(number), wanted)
    assert len(list((tmp_path / "shared" / name).glob("*/manifest.json"))) == 1


def test_a_store_without_filters_or_texts_is_told_before_the_run() -> None:
    retriever = SemanticRetriever(embedder=Cloud(), store=ListStore(), filter={"team": "x"}, texts="store")
    assert [str(each) for each in retriever.preflight()] == [
        "store: this one searches without filters; expected retriever.filter=null",
        "store: this one gives no texts back; expected retriever.texts=corpus",
    ]
    within = SemanticRetriever(embedder=Cloud(), texts="store")
    assert [str(each) for each in within.preflight()] == [
        "store: this one gives no texts back; expected retriever.texts=corpus"
    ]


def test_a_run_filters_both_legs_by_one_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = small_data(tmp_path / "data")
    path = tmp_path / "data" / "corpus.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        row["part"] = "even" if number % 2 == 0 else "odd"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    words = ["+experiment=retrieval_only", *data, "tracking=none", "retriever=hybrid", "embedder=lsa", "format=json"]
    assert main([*words, "retriever.filter.part=even", "out=o"]) == 0
    metrics = read("o/summary.json")["metrics"]
    recalls = {name: found["value"] for name, found in metrics.items() if name.endswith("recall_at_k")}
    assert len(recalls) >= 3 and set(recalls.values()) == {0.5}  # of six, and in each leg
    capsys.readouterr()
    assert main([*words, "retriever.filter.part=evn", "out=p"]) == 1
    assert "retriever.filter: no document has part=evn; did you mean 'even'?" in capsys.readouterr().err
