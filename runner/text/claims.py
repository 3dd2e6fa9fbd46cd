"""The sentences of an answer that state something."""

from __future__ import annotations

import re

from runner.text.citations import without_citations
from runner.text.courtesies import is_courtesy
from runner.text.refusals import says_unknown
from runner.text.sentences import split_sentences

_MARKER = re.compile(r"^\s*(?:>\s*)?(?:#{1,6}|[-+*•‣▪]|\(?\d{1,3}[.)])\s+|^\s*(?:```|~~~)\w*")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_LISTED_LINK = re.compile(r"\s*[-+*•]\s+\[[^\]]*\]\([^)]*\)\s*")
_EMPHASIS = re.compile(r"\*{1,3}|_{2,3}|`|(?<!\w)_|_(?!\w)")


def claims(answer: str) -> list[str]:
    """Sentences in order as plain text, without citations, Markdown, questions, courtesies and lists of links."""
    sentences = split_sentences(without_citations(answer))
    plain = (plain_text(sentence) for sentence in sentences if not _LISTED_LINK.fullmatch(sentence))
    return [sentence for sentence in plain if sentence and (says_unknown(sentence) or not _is_courtesy(sentence))]


def plain_text(sentence: str) -> str:
    """A sentence without list and heading markers, emphasis and link targets."""
    return _EMPHASIS.sub("", _LINK.sub(r"\1", _MARKER.sub("", sentence))).strip(" |")


def _is_courtesy(sentence: str) -> bool:
    return sentence.endswith(("?", "？")) or is_courtesy(sentence)
