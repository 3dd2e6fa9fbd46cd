"""The English demo data set is well formed and agrees with itself."""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[3] / "plugins" / "dataset" / "demo_data" / "en"
CORPUS_FIELDS = {"id", "title", "text", "lang", "doc_type", "section"}
QUERY_FIELDS = {
    "id",
    "query",
    "answerable",
    "expected_notes",
    "answers",
    "language",
    "difficulty",
    "tags",
    "related_notes",
}
STYLES = {"paraphrase", "lexical", "numeric", "negation", "multi-doc", "near-miss", "unanswerable"}
WORDS = {"faq": (60, 160), "guide": (120, 350)}


def read(name: str) -> list[dict[str, Any]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def corpus() -> list[dict[str, Any]]:
    return read("corpus.jsonl")


@pytest.fixture(scope="module")
def queries() -> list[dict[str, Any]]:
    return read("queries.jsonl")


@pytest.fixture(scope="module")
def texts(corpus: list[dict[str, Any]]) -> dict[str, str]:
    return {doc["id"]: doc["text"] for doc in corpus}


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_files_are_utf8_nfc_with_one_object_a_line(name: str) -> None:
    raw = (DATA / name).read_bytes()
    text = raw.decode("utf-8")
    assert not raw.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in raw
    assert text.endswith("\n")
    assert unicodedata.is_normalized("NFC", text)
    assert all(isinstance(json.loads(line), dict) for line in text.splitlines())


def test_counts(corpus: list[dict[str, Any]], queries: list[dict[str, Any]]) -> None:
    assert len(corpus) >= 80
    assert len(queries) >= 160
    share = sum(not q["answerable"] for q in queries) / len(queries)
    assert 0.17 <= share <= 0.21
    levels = Counter(q["difficulty"] for q in queries)
    assert levels["hard"] >= len(queries) / 3
    assert min(levels.values()) >= 20


def test_ids_are_unique_and_in_form(corpus: list[dict[str, Any]], queries: list[dict[str, Any]]) -> None:
    doc_ids = [doc["id"] for doc in corpus]
    query_ids = [q["id"] for q in queries]
    assert len(set(doc_ids)) == len(doc_ids)
    assert len(set(query_ids)) == len(query_ids)
    assert all(re.fullmatch(rf"en-{doc['doc_type']}-\d{{3}}", doc["id"]) for doc in corpus)
    assert all(re.fullmatch(r"en-q-\d{3}", id_) for id_ in query_ids)


def test_document_fields(corpus: list[dict[str, Any]]) -> None:
    for doc in corpus:
        assert set(doc) == CORPUS_FIELDS, doc["id"]
        assert doc["lang"] == "en"
        assert doc["doc_type"] in WORDS
        assert re.fullmatch(r"[a-z]+", doc["section"]), doc["id"]
        assert doc["title"] == doc["title"].strip() != ""
        assert doc["text"] == doc["text"].strip()
        low, high = WORDS[doc["doc_type"]]
        assert low <= len(doc["text"].split()) <= high, doc["id"]


def test_documents_differ(corpus: list[dict[str, Any]]) -> None:
    assert len({doc["title"] for doc in corpus}) == len(corpus)
    assert len({plain(doc["text"]) for doc in corpus}) == len(corpus)


def test_guides_have_headings_and_most_have_steps(corpus: list[dict[str, Any]]) -> None:
    guides = [doc for doc in corpus if doc["doc_type"] == "guide"]
    assert guides
    for doc in guides:
        assert len(re.findall(r"^## \S", doc["text"], re.MULTILINE)) >= 3, doc["id"]
    stepped = [doc for doc in guides if re.search(r"^1\. .+\n2\. ", doc["text"], re.MULTILINE)]
    assert len(stepped) >= 0.8 * len(guides)


def test_query_fields(queries: list[dict[str, Any]], corpus: list[dict[str, Any]]) -> None:
    sections = {doc["section"] for doc in corpus}
    for q in queries:
        assert set(q) == QUERY_FIELDS, q["id"]
        assert q["language"] == "en"
        assert isinstance(q["answerable"], bool)
        assert q["difficulty"] in {"easy", "mid", "hard"}
        assert q["query"] == q["query"].strip() != ""
        assert len(set(q["tags"])) == len(q["tags"])
        assert q["tags"][0] in sections | {"off-topic"}, q["id"]
        assert set(q["tags"]) & STYLES, q["id"]
        assert all(a == a.strip() != "" for a in q["answers"])


def test_no_question_is_asked_twice(queries: list[dict[str, Any]]) -> None:
    repeated = [text for text, n in Counter(plain(q["query"]) for q in queries).items() if n > 1]
    assert repeated == []


def test_gold_and_related_documents_exist(queries: list[dict[str, Any]], texts: dict[str, str]) -> None:
    for q in queries:
        gold, related = q["expected_notes"], q["related_notes"]
        assert set(gold) | set(related) <= set(texts), q["id"]
        assert not set(gold) & set(related), q["id"]
        assert len(set(gold)) == len(gold)
        assert len(set(related)) == len(related)


def test_answerable_questions_have_gold_and_answers(queries: list[dict[str, Any]]) -> None:
    for q in queries:
        if q["answerable"]:
            assert 1 <= len(q["expected_notes"]) <= 2, q["id"]
            assert q["answers"], q["id"]
            assert "unanswerable" not in q["tags"], q["id"]
        else:
            assert q["expected_notes"] == [], q["id"]
            assert q["answers"] == [], q["id"]
            assert "unanswerable" in q["tags"], q["id"]


def test_unanswerable_questions_are_half_plausible_half_off_topic(queries: list[dict[str, Any]]) -> None:
    unanswerable = [q for q in queries if not q["answerable"]]
    plausible = [q for q in unanswerable if "plausible" in q["tags"]]
    off_topic = [q for q in unanswerable if "off-topic" in q["tags"]]
    assert len(plausible) + len(off_topic) == len(unanswerable)
    assert 0.4 <= len(plausible) / len(unanswerable) <= 0.6
    assert all(q["related_notes"] == [] for q in off_topic)
    assert all(q["related_notes"] for q in plausible)


def test_answers_stand_word_for_word_in_gold_documents(queries: list[dict[str, Any]], texts: dict[str, str]) -> None:
    missing = [
        (q["id"], answer)
        for q in queries
        for answer in q["answers"]
        if not any(answer in texts[id_] for id_ in q["expected_notes"])
    ]
    assert missing == []


def test_every_gold_document_holds_an_answer(queries: list[dict[str, Any]], texts: dict[str, str]) -> None:
    idle = [
        (q["id"], id_)
        for q in queries
        for id_ in q["expected_notes"]
        if not any(answer in texts[id_] for answer in q["answers"])
    ]
    assert idle == []


def test_every_document_is_asked_about(queries: list[dict[str, Any]], texts: dict[str, str]) -> None:
    asked = {id_ for q in queries for id_ in q["expected_notes"]}
    assert asked == set(texts)
