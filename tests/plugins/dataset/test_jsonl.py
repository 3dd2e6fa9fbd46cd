import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.jsonl import JsonlDataset
from runner.errors import CorpusError, DataError
from runner.records import Span
from runner.text.chunking import Cutter

CORPUS = (
    '{"id":"a","title":"승인","text":"휴가는 팀장이 승인한다. 출장은 부서장이 승인한다."}\n'
    '{"id":"b","text":"Lunch is at noon."}\n'
)
QUERIES = (
    '{"id":"1","query":"휴가는 누가 승인해?","answerable":true,"expected_notes":["a"],"expected_spans":["팀장"]}\n'
    '{"id":"2","query":"회식은 언제야?","answerable":false,"expected_notes":[]}\n'
)


def dataset(path: Path, *, corpus_text: str = CORPUS, queries_text: str = QUERIES, **settings: Any) -> JsonlDataset:
    (path / "corpus.jsonl").write_text(corpus_text, encoding="utf-8")
    (path / "queries.jsonl").write_text(queries_text, encoding="utf-8")
    files = {"corpus": str(path / "corpus.jsonl"), "queries": str(path / "queries.jsonl")}
    return JsonlDataset(**(files | settings))


def test_a_corpus_and_its_queries(tmp_path: Path) -> None:
    data = dataset(tmp_path).load()
    assert [document.id for document in data.corpus.documents] == ["a", "b"]
    assert [chunk.id for chunk in data.corpus.chunks] == ["a#0", "b#0"]
    assert [(query.id, dict(query.relevance)) for query in data.queries] == [("1", {"a": 1}), ("2", {})]
    assert data.queries[0].expected_spans == (Span("a", 4, 6, "팀장"),)
    assert data.problems == ()


def test_documents_without_questions(tmp_path: Path) -> None:
    without = dataset(tmp_path, queries=None)
    assert without.preflight() == []
    data = without.load()
    assert ([document.id for document in data.corpus.documents], list(data.queries)) == (["a", "b"], [])


def test_documents_are_cut_as_the_settings_say(tmp_path: Path) -> None:
    data = dataset(tmp_path, chunker=Cutter(max_chars=20)).load()
    assert [chunk.text for chunk in data.corpus.chunks] == [
        "휴가는 팀장이 승인한다.",
        "출장은 부서장이 승인한다.",
        "Lunch is at noon.",
    ]


def test_several_files_are_one_corpus(tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text('{"id":"c","text":"text"}\n{"id":"a","text":"again"}\n')
    paths = [str(tmp_path / "corpus.jsonl"), str(tmp_path / "more.jsonl")]
    loaded = dataset(tmp_path, corpus=paths).load()
    assert [document.id for document in loaded.corpus.documents] == ["a", "b", "c"]
    assert [problem.line for problem in loaded.problems] == [2]


def test_given_rankings_need_no_corpus(tmp_path: Path) -> None:
    queries = '{"id":"1","query":"?","answerable":true,"expected_notes":["x"],"ranking":["y","x"],"answer":"z"}'
    data = JsonlDataset(corpus=None, queries=dataset(tmp_path, queries_text=queries).queries).load()
    assert (data.corpus.documents, data.corpus.chunks, data.problems) == ((), (), ())
    assert data.queries[0].given.ranking == (("y", 1.0), ("x", 0.5))


def test_bad_lines_are_told_and_skipped(tmp_path: Path) -> None:
    corpus = CORPUS + '{"id":"c"}\n'
    queries = QUERIES + '{"id":"3","query":"?","answerable":true,"expected_notes":["c"]}\n{"id":"4"}\n'
    data = dataset(tmp_path, corpus_text=corpus, queries_text=queries).load()
    assert [query.id for query in data.queries] == ["1", "2", "3"]
    assert [(problem.severity, str(problem).replace(f"{tmp_path}/", "")) for problem in data.problems] == [
        ("error", "corpus.jsonl:3: text: expected text, found nothing"),
        ("error", "queries.jsonl:4: query: expected text, found nothing"),
        ("error", "queries.jsonl:4: answerable: expected true or false, found nothing"),
        ("warning", "queries.jsonl:3: expected_notes: no document 'c' in the corpus"),
    ]


def test_strict_stops_at_bad_lines_but_not_at_warnings(tmp_path: Path) -> None:
    unknown = QUERIES + '{"id":"3","query":"?","answerable":true,"expected_notes":["c"]}\n'
    assert len(dataset(tmp_path, queries_text=unknown, strict=True).load().queries) == 3
    with pytest.raises(DataError) as raised:
        dataset(tmp_path, queries_text=QUERIES + "{}\n", strict=True).load()
    assert str(raised.value).startswith(
        f"3 errors in the data files (strict=true stops at them):\n  {tmp_path}/queries.jsonl:3: id: "
    )


@pytest.mark.parametrize(
    ("settings", "error", "message", "exit_code"),
    [
        ({"corpus": "no/corpus.jsonl"}, CorpusError, "dataset.corpus: file not found: no/corpus.jsonl", 2),
        ({"queries": "no/queries.jsonl"}, DataError, "dataset.queries: file not found: no/queries.jsonl", 1),
        ({"corpus": []}, CorpusError, "dataset.corpus: expected at least one file, found an empty list", 2),
        ({"corpus": "/"}, CorpusError, "dataset.corpus: expected a file, found a folder: /", 2),
        ({"queries": "/"}, DataError, "dataset.queries: expected a file, found a folder: /", 1),
    ],
)
def test_files_that_cannot_be_used(
    tmp_path: Path, settings: dict[str, Any], error: type[Exception], message: str, exit_code: int
) -> None:
    with pytest.raises(error) as raised:
        dataset(tmp_path, **settings).load()
    assert str(raised.value).startswith(message)
    assert getattr(raised.value, "exit_code", None) == exit_code


def test_a_large_file_is_not_held_twice(tmp_path: Path) -> None:
    """The documents themselves, and a few lines at a time."""
    import tracemalloc

    with (tmp_path / "corpus.jsonl").open("w") as file:
        for n in range(100):
            file.write(json.dumps({"id": str(n), "text": "word" * 25_000}) + "\n")
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    data = JsonlDataset(
        corpus=str(tmp_path / "corpus.jsonl"),
        queries=str(tmp_path / "queries.jsonl"),
        chunker=Cutter(max_chars=2_000_000),
    )
    tracemalloc.start()
    loaded = data.load()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(loaded.corpus.chunks) == 100
    assert peak < 1.6 * sum(len(document.text) for document in loaded.corpus.documents)


def test_what_is_missing_is_told_by_its_setting(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    data = JsonlDataset(corpus=[f"{tmp_path}/here", f"{tmp_path}/gone"], queries=f"{tmp_path}/also gone")
    assert [(problem.key, problem.exit_code) for problem in data.preflight()] == [
        ("dataset.corpus", 2),
        ("dataset.queries", 1),
    ]
    assert JsonlDataset(corpus=None, queries=f"{tmp_path}/here").preflight() == []


def test_questions_and_what_was_given_for_them_wait_on_disk(tmp_path: Path) -> None:
    def kept(count: int) -> int:
        given = json.dumps({"answer": "long " * 200, "contexts": ["text " * 200], "answerable": False})
        lines = [f'{{"id": "{n}", "query": "question {n}", {given[1:]}\n' for n in range(count)]
        chosen = dataset(tmp_path, queries_text="".join(lines))
        tracemalloc.start()
        try:
            queries = chosen.load().queries
            assert sum(len(query.given.answer or "") for query in queries) == 1000 * count
            gc.collect()  # lists of freed tuples too
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    kept(10)  # what is made once, whatever the number of questions
    assert (kept(1000) - kept(200)) / 800 < 50
