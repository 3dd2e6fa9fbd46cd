from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.trec import TrecDataset
from runner.errors import CorpusError, DataError
from runner.records import DataSet

CORPUS = '{"_id":"d1","title":"Crime","text":"organized crime"}\n{"_id":"d2","title":"only a title","text":""}\n'
TOPICS = "301\torganized crime\n302\t소아마비\n303\tnobody judged this\n"
QRELS = "301 0 d1 2\n301 0 d2 0\n302 0 d1 0\n"


def load(path: Path, judgements: str = QRELS, questions: str = TOPICS, **settings: Any) -> tuple[DataSet, list[str]]:
    files = {"corpus": CORPUS, "topics": questions, "qrels": judgements}
    for name, text in files.items():
        (path / name).write_text(text, encoding="utf-8")
    data = TrecDataset(**({name: str(path / name) for name in files} | settings)).load()
    return data, [f"{problem.severity}: {problem}".replace(f"{path}/", "") for problem in data.problems]


def test_graded_relevance(tmp_path: Path) -> None:
    data, _ = load(tmp_path, language="en")
    (query,) = data.queries
    assert (query.id, query.text, query.answerable, query.language) == ("301", "organized crime", True, "en")
    assert dict(query.relevance) == {"d1": 2, "d2": 0}
    assert [chunk.id for chunk in data.corpus.chunks] == ["d1#0", "d2#0"]


def test_topics_without_a_relevant_document_are_skipped_with_a_warning(tmp_path: Path) -> None:
    assert load(tmp_path)[1] == [
        "warning: topics: skipped topics without a relevant document: '302', '303'; "
        "dataset.unjudged=unanswerable keeps them as unanswerable"
    ]


def test_topics_without_a_relevant_document_may_be_unanswerable(tmp_path: Path) -> None:
    data, problems = load(tmp_path, unjudged="unanswerable")
    assert [(query.id, query.answerable, dict(query.relevance)) for query in data.queries] == [
        ("301", True, {"d1": 2, "d2": 0}),
        ("302", False, {}),
        ("303", False, {}),
    ]
    assert problems == []


def test_judgements_that_do_not_fit_are_told(tmp_path: Path) -> None:
    qrels = QRELS + "".join(f"{topic} 0 d1 1\n" for topic in (302, 303, 901, 902, 903, 904)) + "303 0 gone 1\n"
    data, problems = load(tmp_path, qrels)
    assert [query.id for query in data.queries] == ["301", "303"]
    assert problems == [
        "error: qrels:4: grade: 'd1' is judged 0 and 1 for topic '302'; the first one counts",
        "warning: qrels: judgements for topics that are not in topics: '901', '902', '903' and 1 more",
        "warning: topics: skipped topics without a relevant document: '302'; "
        "dataset.unjudged=unanswerable keeps them as unanswerable",
        "warning: qrels:5: document: no document 'gone' in the corpus",
    ]


def test_no_topic_with_a_relevant_document(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        load(tmp_path, "999 0 d1 1\n")
    message = f"no topic of {tmp_path}/topics has a relevant document in {tmp_path}/qrels"
    assert str(raised.value) == f"dataset.qrels: {message}"


@pytest.mark.parametrize(("key", "error"), [("corpus", CorpusError), ("topics", DataError), ("qrels", DataError)])
def test_files_that_are_missing(tmp_path: Path, key: str, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        load(tmp_path, **{key: "gone"})
    assert str(raised.value) == f"dataset.{key}: file not found: gone"


def test_strict_stops_at_bad_judgements(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"qrels:4: expected 4 columns"):
        load(tmp_path, QRELS + "302 d1\n", strict=True)


def test_strict_stops_at_bad_topics(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"1 error in the data files .*\n.*topics:4: expected an id, a tab"):
        load(tmp_path, questions=TOPICS + "no tab\n", strict=True)


def test_what_is_missing_is_told_by_its_setting() -> None:
    data = TrecDataset(corpus="no corpus", topics="no topics", qrels="no qrels")
    assert [str(problem) for problem in data.preflight()] == [
        "dataset.corpus: file not found: no corpus",
        "dataset.topics: file not found: no topics",
        "dataset.qrels: file not found: no qrels",
    ]
