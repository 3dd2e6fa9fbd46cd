from collections.abc import Mapping

import pytest

from runner.data.corpus import EMPTY, build_corpus
from runner.data.gold import SUGGESTED, check_gold
from runner.data.problems import ProblemLog
from runner.records import Corpus, Document, Query, Span
from runner.text.chunking import Cutter

DOCUMENTS = {"guide/승인": "하나 둘 하나 셋", "guide/other": "text", "laugh": "ㅋㅋ"}
CORPUS = build_corpus([Document(id, text) for id, text in DOCUMENTS.items()], Cutter())


def query(relevance: Mapping[str, int], *spans: Span, chunks: tuple[str, ...] = ()) -> Query:
    return Query("q", "?", True, relevance, chunks, spans)


def check(checked: Query, corpus: Corpus = CORPUS, line: int | None = 7) -> tuple[Query, list[str]]:
    log = ProblemLog()
    (result,) = check_gold([(line, checked)], corpus, "q.jsonl", log)
    assert log.errors == []
    return result, [str(problem) for problem in log.problems]


def test_labels_that_fit() -> None:
    labelled = query({"guide/승인": 1}, Span("guide/승인", 0, 2), chunks=("guide/other#0",))
    assert check(labelled) == (labelled, [])


@pytest.mark.parametrize(
    ("checked", "warning"),
    [
        (
            query({"guide/승일": 1}),
            "expected_notes: no document 'guide/승일' in the corpus; did you mean 'guide/승인'?",
        ),
        (query({"zzz": 1}), "expected_notes: no document 'zzz' in the corpus"),
        (
            query({"guide/승인": 1, "y1": 2, "y2": 1, "y3": 1, "y4": 1, "y5": 0}),
            "expected_notes: no documents 'y1', 'y2', 'y3' and 1 more in the corpus",
        ),
        (query({"guide/승인": 1}, chunks=("guide/승인#9",)), "expected_chunks: no chunk 'guide/승인#9' in the corpus"),
        (query({"guide/승인": 1}, Span("zzz", 0, 1)), "expected_spans[0]: no document 'zzz' in the corpus"),
        (
            query({"guide/승인": 1}, Span("guide/승인", 0, 10)),
            "expected_spans[0]: ends at 10, but 'guide/승인' has 9 characters",
        ),
        (
            query({"guide/승인": 1}, Span("guide/승인", 0, 2), Span("guide/승인", text="넷" * 61)),
            f"expected_spans[1]: 'guide/승인' does not contain the text '{'넷' * 59}…'",
        ),
        (
            query({"guide/승인": 1}, Span("guide/승인", text="넷" * 60)),
            f"expected_spans[0]: 'guide/승인' does not contain the text '{'넷' * 60}'",
        ),
    ],
)
def test_labels_that_do_not_fit_are_warnings_and_stay(checked: Query, warning: str) -> None:
    assert check(checked) == (checked, [f"q.jsonl:7: {warning}"])


def test_a_judged_document_that_is_not_relevant_may_be_missing() -> None:
    assert check(query({"guide/승인": 1, "gone": 0, "bad": -1}))[1] == []


@pytest.mark.parametrize(
    ("span", "place"),
    [
        (Span("guide/승인", text="하나"), (0, 2)),
        (Span("laugh", text="ㅋ"), (0, 1)),  # without a place, the first
        (Span("guide/승인", 5, 7, "하나"), (5, 7)),
        (Span("guide/승인", 3, 5, "하나"), (5, 7)),  # the nearer of two
        (Span("guide/승인", 2, 4, "하나"), (0, 2)),
        (Span("guide/승인", 99, 101, "하나"), (5, 7)),
        (Span("guide/승인", 0, 9), (0, 9)),
    ],
)
def test_a_span_is_placed_where_its_text_stands(span: Span, place: tuple[int, int]) -> None:
    checked, problems = check(query({"guide/승인": 1}, span))
    assert [(each.start, each.end) for each in checked.expected_spans] == [place]
    assert problems == []


def test_where_there_are_no_lines_the_query_is_named() -> None:
    assert check(query({"zzz": 1}), line=None)[1] == [
        "q.jsonl: expected_notes: no document 'zzz' in the corpus (query 'q')"
    ]


def test_without_documents_nothing_can_be_checked() -> None:
    labelled = query({"zzz": 1}, Span("zzz", text="x"))
    assert check(labelled, EMPTY) == (labelled, [])


def test_similar_ids_are_looked_up_for_the_first_ones_only() -> None:
    log = ProblemLog()
    check_gold([(line, query({"guide/othr": 1})) for line in range(SUGGESTED + 2)], CORPUS, "q.jsonl", log)
    assert sum("did you mean" in problem.message for problem in log.problems) == SUGGESTED
    assert log.problems[-1].message == "no document 'guide/othr' in the corpus"


def test_the_field_is_the_one_of_the_file() -> None:
    log = ProblemLog()
    check_gold([(3, query({"zzz": 1}))], CORPUS, "qrels.txt", log, "document")
    assert str(log.problems[0]) == "qrels.txt:3: document: no document 'zzz' in the corpus"
