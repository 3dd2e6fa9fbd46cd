"""How far an answer responds to its question, judged from the words of both alone.

relevancy = topic x kind, 0..1
  topic  how much of what the question is about the answer takes up: the share of the question's content
         words in it, where half of them count as all (an answer need not repeat the question)
  kind   1/2 where the question asks for a number, a time or a reason and the answer has none, else 1

A bare answer such as "임수경" or "5 business days" cannot repeat the question: its topic is 1 when it is
of the kind that the question asks for, else 1/2 at least. So any short phrase answers who and where: which of
them are names, words alone do not tell. A short sentence ("Particles are ignored.") is no phrase: it could have
repeated the question. An answer that adds nothing to the words of the question scores 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from runner.text.numbers import quantities
from runner.text.words import all_forms, content_words, words

Kind = Literal["quantity", "time", "name", "reason", "polarity"]

BARE = 5  # words: an answer up to this long is a phrase, not a sentence
_SENTENCE = re.compile(
    r"\b(?:is|are|am|was|were|be|been|has|have|had|do|does|did|can|could|will|would|shall|should|may|might|must)(?:n't)?\b"
    r"|(?<![이입])니다\W*$|(?<!이)[가-힣](?<![이니])다\W*$|(?<![이예])[가-힣](?<![이예])요\W*$",
    re.IGNORECASE,
)  # a verb; "입니다", "이다" and "이에요" only close a phrase
ENOUGH = 0.5  # share of the question's words that puts an answer on topic

# The first kind whose pattern a question matches.
_KINDS: dict[Kind, str] = {
    "time": r"\bwhen\b(?=.*\?|$)|\b(?:what|which) (?:year|date|day|month|time)\b|언제|몇 ?(?:년|월|시)(?!간)|날짜|연도",
    "quantity": r"\bhow (?:many|much|long|old|often|far|large|big|high|tall|deep|fast|soon)\b|몇|며칠|얼마",
    "name": r"^\W*(?:who|whose|whom|where)\b|누구|누가|어디|인물은|사람은|곳은|이름은",
    "reason": r"\bwhy\b|\bwhat (?:is|was|are) the (?:reason|cause)|(?<![가-힣])왜(?![가-힣])|이유|까닭",
    "polarity": r"^\W*(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|may|must)\b",
}
_REASON = re.compile(
    r"\b(?:because|since|due to|so that|in order to|as a result|reasons?|caused?|therefore"
    r"|to (?:keep|avoid|prevent|protect|allow|make|reduce))\b"
    r"|때문|므로|[가-힣]서(?![가-힣])|니까|위해|위하여|덕분|탓|이유|도록|원인",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:1\d|20)\d\d\b|\b(?:after|before|during|until|once|as soon as|every|daily|weekly|monthly|today|tomorrow"
    r"|yesterday|immediately|always|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:in|by) (?:spring|summer|autumn|winter)|century|when)\b"
    r"|매[일주월년달]|오늘|내일|어제|이후|이전|[월화수목금토일]요일|직후|즉시|마다|때|후에|전에|(?:봄|여름|가을|겨울)에",
    re.IGNORECASE,
)
_TIME_UNITS = {"date.year", "date.month", "date.day", "date.decade", "clock", "second", "month"}
_NO_NUMBER = re.compile(r"무료|\bfree\b|\bno (?:limit|fee|charge)|무제한|제한[이은]? 없|\bunlimited\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Relevancy:
    """How far an answer takes a question up, 0..1, and what that rests on."""

    score: float
    topic: float
    kind: Kind | None  # what the question asks for, where its words tell
    responds: bool  # whether the answer has what is asked for (True where nothing is)
    n_shared: int = 0  # words of the question that the answer has,
    question_words: int = 0  # of how many
    is_phrase: bool = False  # too short to repeat the question


def relevancy(question: str, answer: str) -> Relevancy:
    """Compare the words of an answer with those of its question. An answer that adds nothing to it scores 0."""
    question_words, answer_words = content_words(question), content_words(answer)
    kind = asked_kind(question)
    responds = holds_kind(answer, kind)
    about, taken_up = all_forms(question_words), all_forms(answer_words)
    adds = any(word.forms.isdisjoint(about) for word in answer_words) or bool(quantities(answer)) or kind == "polarity"
    n_shared = sum(not word.forms.isdisjoint(taken_up) for word in question_words)
    if not adds:
        return Relevancy(0.0, 0.0, kind, False, n_shared, len(question_words))
    topic = min(1.0, n_shared / (ENOUGH * len(question_words))) if question_words else 1.0
    is_phrase = len(words(answer)) <= BARE and not _SENTENCE.search(answer)
    if is_phrase:
        topic = max(topic, 1.0 if kind and responds else 0.5)
    return Relevancy(
        topic * (1.0 if responds else 0.5), topic, kind, responds, n_shared, len(question_words), is_phrase
    )


def asked_kind(question: str) -> Kind | None:
    """The kind of answer that a question asks for, where its words show it."""
    return next((kind for kind, pattern in _KINDS.items() if re.search(pattern, question, re.IGNORECASE)), None)


def holds_kind(answer: str, kind: Kind | None) -> bool:
    """Whether a text holds an answer of the kind. A name cannot be ruled out: Korean has no capitals."""
    if kind == "quantity":
        return bool(quantities(answer)) or _NO_NUMBER.search(answer) is not None
    if kind == "time":
        units = {quantity.unit for quantity in quantities(answer)}
        return bool(units & _TIME_UNITS) or _TIME.search(answer) is not None
    return kind != "reason" or _REASON.search(answer) is not None
