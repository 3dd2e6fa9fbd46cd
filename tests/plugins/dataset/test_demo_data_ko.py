"""The Korean demo data: well formed, every gold label supported by its document, no question asked twice."""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "plugins" / "dataset" / "demo_data" / "ko"

SECTIONS = {
    "accounts",
    "admin",
    "api",
    "audit",
    "backup",
    "billing",
    "encryption",
    "errors",
    "migration",
    "mobile",
    "offline",
    "permissions",
    "ransomware",
    "residency",
    "restore",
    "sharing",
    "sla",
    "storage",
    "support",
    "sync",
    "webhooks",
}
STYLES = {"lexical", "paraphrase", "numeric", "negation", "multi-doc", "near-miss"}
UNANSWERABLE_STYLES = {"plausible", "off-topic"}
LENGTHS = {"faq": (150, 400), "guide": (350, 1000)}


def lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


def bare(text: str) -> str:
    """Letters and digits only, so that spacing and punctuation do not hide a repeated text."""
    return re.sub(r"[\W_]", "", text.lower())


@pytest.fixture(scope="module")
def corpus() -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines("corpus.jsonl")]


@pytest.fixture(scope="module")
def queries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines("queries.jsonl")]


@pytest.fixture(scope="module")
def texts(corpus: list[dict[str, Any]]) -> dict[str, str]:
    return {document["id"]: document["text"] for document in corpus}


@pytest.fixture(scope="module")
def answerable(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [query for query in queries if query["answerable"]]


@pytest.fixture(scope="module")
def unanswerable(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [query for query in queries if not query["answerable"]]


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_file_is_composed_unicode_without_escapes(name: str) -> None:
    for number, line in enumerate(lines(name), 1):
        assert unicodedata.is_normalized("NFC", line), f"{name}:{number}"
        assert json.dumps(json.loads(line), ensure_ascii=False) == line, f"{name}:{number}"


def test_counts(
    corpus: list[dict[str, Any]], queries: list[dict[str, Any]], unanswerable: list[dict[str, Any]]
) -> None:
    assert len(corpus) >= 80
    assert len(queries) >= 160
    assert 0.18 <= len(unanswerable) / len(queries) <= 0.20


def test_unanswerable_questions_are_half_plausible_half_off_topic(unanswerable: list[dict[str, Any]]) -> None:
    plausible = sum("plausible" in query["tags"] for query in unanswerable)
    assert 0.45 <= plausible / len(unanswerable) <= 0.55


def test_at_least_a_third_of_the_questions_are_hard(queries: list[dict[str, Any]]) -> None:
    levels = Counter(query["difficulty"] for query in queries)
    assert levels["hard"] >= len(queries) / 3
    assert min(levels["easy"], levels["mid"]) >= len(queries) / 6


def test_ids_are_consecutive(corpus: list[dict[str, Any]], queries: list[dict[str, Any]]) -> None:
    for doc_type in LENGTHS:
        ids = [document["id"] for document in corpus if document["doc_type"] == doc_type]
        assert ids == [f"ko-{doc_type}-{number:03d}" for number in range(1, len(ids) + 1)]
    assert [query["id"] for query in queries] == [f"ko-q-{number:03d}" for number in range(1, len(queries) + 1)]


def test_document_fields(corpus: list[dict[str, Any]]) -> None:
    for document in corpus:
        assert list(document) == ["id", "title", "text", "lang", "doc_type", "section"], document["id"]
        assert document["lang"] == "ko"
        assert document["section"] in SECTIONS, document["id"]
        assert document["title"].strip() == document["title"] != ""
        shortest, longest = LENGTHS[document["doc_type"]]
        assert shortest <= len(document["text"]) <= longest, document["id"]


def test_documents_differ(corpus: list[dict[str, Any]]) -> None:
    assert len({bare(document["title"]) for document in corpus}) == len(corpus)
    assert len({bare(document["text"]) for document in corpus}) == len(corpus)


def test_guides_are_markdown_with_headings_and_mostly_steps(corpus: list[dict[str, Any]]) -> None:
    guides = [document for document in corpus if document["doc_type"] == "guide"]
    for guide in guides:
        assert len(re.findall(r"^## \S", guide["text"], re.MULTILINE)) >= 2, guide["id"]
    with_steps = [guide for guide in guides if re.search(r"^1\. .+\n2\. ", guide["text"], re.MULTILINE)]
    assert len(with_steps) >= 0.75 * len(guides)


def test_some_guides_are_long_enough_for_several_chunks(corpus: list[dict[str, Any]]) -> None:
    assert sum(len(document["text"]) >= 700 for document in corpus) >= 8


def test_faq_entries_have_no_headings(corpus: list[dict[str, Any]]) -> None:
    assert [d["id"] for d in corpus if d["doc_type"] == "faq" and re.search(r"^#", d["text"], re.MULTILINE)] == []


def test_query_fields(queries: list[dict[str, Any]]) -> None:
    for query in queries:
        assert list(query) == [
            "id",
            "query",
            "answerable",
            "expected_notes",
            "answers",
            "language",
            "difficulty",
            "tags",
            "related_notes",
        ], query["id"]
        assert query["language"] == "ko"
        assert query["difficulty"] in {"easy", "mid", "hard"}, query["id"]
        assert query["query"].strip() == query["query"] != ""


def test_tags_are_a_topic_and_styles(queries: list[dict[str, Any]]) -> None:
    for query in queries:
        tags = set(query["tags"])
        assert len(tags) == len(query["tags"]), query["id"]
        if query["answerable"]:
            assert query["tags"][0] in SECTIONS, query["id"]
            assert tags - SECTIONS <= STYLES and tags & STYLES, query["id"]
        else:
            assert tags - SECTIONS - UNANSWERABLE_STYLES == {"unanswerable"}, query["id"]
            assert ("off-topic" in tags) is not bool(tags & SECTIONS), query["id"]


def test_no_question_is_asked_twice(queries: list[dict[str, Any]]) -> None:
    seen = Counter(bare(query["query"]) for query in queries)
    assert [text for text, count in seen.items() if count > 1] == []


def test_gold_and_related_documents_exist_and_do_not_overlap(
    queries: list[dict[str, Any]], texts: dict[str, str]
) -> None:
    for query in queries:
        named = [*query["expected_notes"], *query["related_notes"]]
        assert set(named) <= texts.keys(), query["id"]
        assert len(set(named)) == len(named), query["id"]


def test_answerable_questions_have_one_or_two_gold_documents(answerable: list[dict[str, Any]]) -> None:
    for query in answerable:
        assert len(query["expected_notes"]) == (2 if "multi-doc" in query["tags"] else 1), query["id"]


def test_unanswerable_questions_have_neither_gold_nor_answer(unanswerable: list[dict[str, Any]]) -> None:
    for query in unanswerable:
        assert query["expected_notes"] == query["answers"] == [], query["id"]
        assert bool(query["related_notes"]) is ("plausible" in query["tags"]), query["id"]


def test_near_misses_are_named(answerable: list[dict[str, Any]]) -> None:
    assert [q["id"] for q in answerable if "near-miss" in q["tags"] and not q["related_notes"]] == []


def test_every_answer_stands_in_a_gold_document(answerable: list[dict[str, Any]], texts: dict[str, str]) -> None:
    for query in answerable:
        assert query["answers"], query["id"]
        for answer in query["answers"]:
            assert any(answer in texts[note] for note in query["expected_notes"]), (query["id"], answer)


def test_every_gold_document_holds_an_answer(answerable: list[dict[str, Any]], texts: dict[str, str]) -> None:
    for query in answerable:
        for note in query["expected_notes"]:
            assert any(answer in texts[note] for answer in query["answers"]), (query["id"], note)


def test_every_document_answers_some_question(answerable: list[dict[str, Any]], texts: dict[str, str]) -> None:
    assert texts.keys() - {note for query in answerable for note in query["expected_notes"]} == set()


def test_an_error_code_in_an_answerable_question_stands_in_its_gold_document(
    answerable: list[dict[str, Any]], corpus: list[dict[str, Any]]
) -> None:
    whole = {document["id"]: document["title"] + document["text"] for document in corpus}
    for query in answerable:
        for code in re.findall(r"HD-\d{4}", query["query"]):
            assert any(code in whole[note] for note in query["expected_notes"]), (query["id"], code)


@pytest.mark.parametrize(
    ("plan", "days"),
    [("베이직", 30), ("팀", 90), ("비즈니스", 365)],
)
def test_versions_and_backups_are_kept_equally_long(texts: dict[str, str], plan: str, days: int) -> None:
    versions = {"베이직": "ko-faq-049", "팀": "ko-faq-050", "비즈니스": "ko-faq-051"}
    assert f"{days}일 동안" in texts[versions[plan]]
    assert f"{plan} {days}일" in texts["ko-faq-056"]
