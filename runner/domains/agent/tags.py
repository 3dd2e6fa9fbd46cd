"""Derives tags from text by rules: whether there are steps to follow, and the kind of guide."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from runner.records import Corpus

GuideType = Literal["how_to", "troubleshooting", "reference", "concept"]

_NUMBERED = re.compile(
    r"^\s*(?:\(?\d{1,2}[.)](?!\d)|[①-⑳]|(?:step|단계)\s*\d{1,2}\b|\d{1,2}\s*단계)", re.MULTILINE | re.IGNORECASE
)
_IN_ORDER = re.compile(  # at the start of a clause, or "you first …": not "the first … until then"
    r"(?:^|[.:!?]\s+|\n\s*\n|\b(?:you|must|should|can|to)\s+)first\b"
    r".*(?:[.,;:]\s+|\band |\n\s*\n)(?:then|next|finally)\b"
    r"|먼저.*(?:다음|그런 다음|이어서|마지막)",
    re.IGNORECASE | re.DOTALL,
)
_TROUBLE = re.compile(
    r"\b(?:troubleshoot\w*|errors?|fail(?:s|ed|ure)?|problems?|not work\w*|cannot|can['’]t)\b"
    r"|오류|에러|문제|실패|장애|(?<![가-힣])안 ?(?:되|돼|될|됨|된|됩)|(?<![가-힣])안 보",
    re.IGNORECASE,
)
_CONCEPT = re.compile(
    r"\b(?:what is|what are|overview|introduction|about|concepts?)\b|개요|소개|이란|란\?|무엇|개념|이해", re.IGNORECASE
)
_TABLE = re.compile(r"^\s*\|.*\|\s*$", re.MULTILINE)
STEPS = 2


def has_steps(text: str) -> bool:
    """Whether a text has at least two numbered lines, or words that give an order."""
    return len(_NUMBERED.findall(text)) >= STEPS or _IN_ORDER.search(text) is not None


def guide_type(title: str, text: str) -> GuideType:
    """The kind of a guide by its title, else by its text."""
    if _TROUBLE.search(title):
        return "troubleshooting"
    if _CONCEPT.search(title):
        return "concept"
    if has_steps(text):
        return "how_to"
    return "reference" if len(_TABLE.findall(text)) > STEPS else "concept"


def chunk_tags(corpus: Corpus) -> Mapping[str, Mapping[str, Any]]:
    """Chunk id -> the metadata of its document with `has_steps` of the chunk itself, `section` (its headings) and
    `language`, where the document has one."""
    documents = corpus.document_by_id
    tags = {}
    for chunk in corpus.chunks:
        document = documents[chunk.document_id]
        language = {} if document.language is None else {"language": document.language}
        own = {"has_steps": has_steps(chunk.text), "section": " > ".join(chunk.headings)}
        tags[chunk.id] = {**document.metadata, **language, **own}
    return tags
