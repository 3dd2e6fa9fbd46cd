from typing import Any

import orjson

from runner.report.blocks import CaseFacts
from runner.report.case import facts_of
from runner.report.cases import Store
from runner.report.page import clean, details, html
from runner.words.wording import LANGUAGES
from tests.html_pages import parse
from tests.run_folders import ROWS, row

SAY = LANGUAGES["en"]


def details_of(row: dict[str, Any]) -> list[tuple[str, Any]]:
    """As a page has them."""
    return details(facts_of(row, 5, SAY))


def told(row: dict[str, Any]) -> dict[str, Any]:
    return dict(details_of(row))


def read_back(store: Store, place: int) -> list[tuple[str, Any]]:
    """What the script of the page makes of a stored document."""

    def text(number: int | None) -> str | None:
        return None if number is None else store.texts[number]

    stored = orjson.loads(orjson.dumps(store.documents[str(place)]))
    return [
        (text(title), [(item[0], *map(text, item[1:])) for item in body] if isinstance(body, list) else text(body))
        for title, body in stored
    ]


def test_question_gold_answer_and_what_was_found() -> None:
    found = told(row("q", output={"answers": ["a", "b"]}))
    assert found["Question"] == "What is q?"
    assert found["Expected"] == "doc-1"
    assert found["Known answers"] == "a / b"
    assert found["Answer"] == "It is q. [1]"
    assert found["Retrieved, with relevance 0 to 1 (✓ expected; the context takes the best 5)"] == [
        (1, "1. 0.91 ✓", "doc-1 First", None),
        (0, "2. 0.40", "doc-2", None),
    ]
    assert found["Given to the generator (bold: cited)"] == [(1, "[1]", "doc-1#0 First", "The first text.")]
    assert found["Judge, Faithfulness"] == "1.00: All claims hold."


def test_a_question_that_was_lost_says_where() -> None:
    found = told(row("q", labels={"lost_at": "below_k"}, metrics={"recall_at_k": 0.5}))
    assert found["Why"] == "ranked below k"
    assert found["Scores"] == "Recall@5 0.50, Faithfulness 1.00, Answer Relevancy 1.00"


def test_a_judge_that_failed_says_why() -> None:
    assert told(ROWS[3])["Judge, Faithfulness"] == "no JSON in the reply"


def test_a_question_without_an_answer_in_the_corpus() -> None:
    found = told(row("q", output={"answerable": False, "expected": [], "answer": "No.", "declined": True}))
    assert found["Expected"] == "no answer: the corpus has none"
    assert found["Answer"] == "(refused) No."


def test_a_case_that_never_ended() -> None:
    late = {**row("q"), "status": "timeout", "output": {}, "judgements": {}, "metrics": {}, "error": "too late"}
    assert told(late) == {"Error": "too late"}


def test_nothing_found_is_said() -> None:
    title = "Retrieved, with relevance 0 to 1 (✓ expected; the context takes the best 5)"
    assert told(row("q", output={"retrieved": []}))[title] == "nothing"


def test_claims_stand_in_one_list() -> None:
    claims = [{"claim": "a", "verdict": "supported"}, {"claim": "b", "verdict": "contradicted", "chunk": "d#1"}]
    judged = {"faithfulness": {"score": 0.5, "reasoning": "", "error": None, "details": {"claims": claims}}}
    found = told(row("q", judgements=judged))
    assert found["Judge, Faithfulness"] == "0.50"
    assert found["Faithfulness, claims"] == [
        (0, "–", "supported: a", None),
        (0, "–", "contradicted [d#1]: b", None),
    ]


def test_turns_before_the_question_come_first() -> None:
    found = details_of(row("q", output={"history": [{"role": "user", "text": "Hi"}]}))
    assert found[0] == ("Before the question", "user: Hi")


def test_citations_of_nothing_are_told() -> None:
    found = told(row("q", output={"citations": [1, 7], "citations_out_of_range": [7]}))
    assert found["Citations"] == "[7] is cited, but there is no such source"


def test_long_texts_are_cut_and_odd_ones_cleaned() -> None:
    assert clean("a" * 5, 5) == "aaaaa"
    assert clean("a" * 6, 5) == "aaaa…"
    assert clean("a\0\ud800", 5) == "a\ufffd\ufffd"
    assert len(str(told(row("q", output={"answer": "x" * 10_000}))["Answer"])) == 3000


def test_what_was_stored_can_be_read_back() -> None:
    store = Store(100_000)
    documents = [details_of(each) for each in ROWS]
    assert all(store.add(place, document) for place, document in enumerate(documents))
    for place, document in enumerate(documents):
        assert read_back(store, place) == document


def test_a_text_is_stored_once() -> None:
    store = Store(100_000)
    for place in range(3):
        store.add(place, details_of(row("q")))
    assert len(store.texts) == len(set(store.texts))
    assert store.documents["0"] == store.documents["2"]


def test_what_does_not_fit_is_refused_and_leaves_nothing_behind() -> None:
    document: list[tuple[str, Any]] = [("Question", "x" * 100)]
    store = Store(150)
    assert store.add(0, document)
    before = list(store.texts), dict(store.documents)
    assert not store.add(1, [("Question", "y" * 100)])
    assert (store.texts, store.documents) == before
    assert store.add(2, document)  # its texts are there


def test_the_limit_holds_for_what_is_written() -> None:
    for limit in (200, 500, 1000, 5000):
        store = Store(limit)
        for place, each in enumerate(ROWS):
            store.add(place, details_of(each))
        written = len(orjson.dumps(store.texts)) + len(orjson.dumps(store.documents))
        assert written <= limit + 4  # the outer brackets


def test_shown_without_a_script_it_is_the_same_list() -> None:
    root = parse(html([CaseFacts(facts_of(row("q", output={"query": "<b>x</b>"}), 5, SAY))]))
    assert [each.text for each in root.all("dt")][:2] == ["Question", "Expected"]
    assert root.all("p")[0].text == "<b>x</b>"
    assert [each.text for each in root.all("li", class_="marked")] == [
        "1. 0.91 ✓doc-1 First",
        "[1]doc-1#0 FirstThe first text.",
    ]
    assert root.one("summary").text == "doc-1#0 First"
