"""Answers made of sentences of the contexts: a baseline without a model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from runner.domains.memory.recall import (
    Statement,
    asked_words,
    courteous_reply,
    figures,
    is_of_others,
    is_wish,
    replaces,
    statements,
    tells_something,
)
from runner.records import Answer, Context, Query
from runner.system.threads import compute
from runner.text.citations import without_citations
from runner.text.claims import plain_text
from runner.text.language import detect_language
from runner.text.refusals import REFUSAL
from runner.text.relevancy import Kind, asked_kind, holds_kind
from runner.text.sentences import split_sentences
from runner.text.words import Word, all_forms, content_words

_NO_STATEMENT = re.compile(r"\s*#{1,6}\s|.*[?？:：]\s*$", re.DOTALL)  # headings, questions, lead-ins
NEIGHBOUR = 0.5  # weight of a question word that only the sentence before holds
OTHER_KIND = 0.5  # factor of the score without the number, time or reason that the question asks for
COMPANION = 0.5  # share of the best score that a further sentence needs


@dataclass(frozen=True, slots=True)
class _Sentence:
    context: int  # number of the context, from 1
    text: str
    forms: frozenset[str]  # forms of its words and of the title of its context
    before: frozenset[str]  # forms of the sentence before it


class ExtractiveGenerator:
    """A baseline: it copies the sentences that share most words with the question, and cites them.

    A sentence scores the share (0..1) of the question's content words that it or the title of its context
    holds; words that few sentences hold weigh more, words of the sentence before it count half, and the
    score is halved when the question asks for a number, a time or a reason and the sentence has none. Ties
    go to the earlier context and sentence. Sentences with less than half of the best score are left out;
    the others stand in the order of the contexts. It refuses, in the language of the question, when the
    contexts together hold less than `min_coverage` of the question's content words, or none.

    Of a conversation it takes statements. One that holds no word of the question which a later one lacks is left out
    for that one, if both give values of one kind: the newest value wins. Ties go to what the user said, then to
    statements with a quantity, then to the newest; a further sentence must hold a word of the question that those
    before it lack. Words such as `now` or `said` count as no words of the question. What asks for nothing gets no
    refusal but an acknowledgement. With a conversation beside documents both are asked: statements of the conversation
    come first and carry no citations, and what refuses is left out.
    """

    baseline: ClassVar[bool] = True

    def __init__(
        self,
        *,
        max_sentences: Annotated[int, Field(ge=1, le=20)] = 2,
        min_coverage: Annotated[float, Field(ge=0, le=1)] = 0.5,
        refuse_below: Annotated[float, Field(ge=0, le=1)] | None = None,
    ) -> None:
        self.max_sentences = max_sentences
        self.min_coverage = min_coverage
        self.refuse_below = refuse_below

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        if query.remembered is not None:
            return await compute(self._combine_answers, query, query.remembered, contexts)
        return await compute(self._recall if query.from_memory else self._answer, query, contexts)

    def _combine_answers(self, query: Query, remembered: Sequence[Context], contexts: Sequence[Context]) -> Answer:
        recalled, answered = self._recall(query, remembered), self._answer(query, contexts)
        remembered_answer = replace(recalled, text=without_citations(recalled.text), citations=())
        if answered.refused or tells_something(query.text):
            return remembered_answer
        return answered if recalled.refused else replace(answered, text=f"{remembered_answer.text} {answered.text}")

    def _answer(self, query: Query, contexts: Sequence[Context]) -> Answer:
        sentences, words = list(_sentences(contexts)), content_words(query.text)
        scores = _scores(words, asked_kind(query.text), sentences)
        order = sorted(range(len(sentences)), key=lambda i: (-scores[i], i))[: self.max_sentences]
        if not order or scores[order[0]] == 0 or _coverage(words, sentences) < self.min_coverage:
            return Answer(REFUSAL[detect_language(query.text)], refused=True)
        return _copy([sentences[i] for i in sorted(order) if scores[i] >= COMPANION * scores[order[0]]])

    def _recall(self, query: Query, contexts: Sequence[Context]) -> Answer:
        language = detect_language(query.text)
        if tells_something(query.text):
            return Answer(courteous_reply(query.text))
        words, wishes = asked_words(query.text), is_wish(query.text)
        told = (each for each in statements(contexts) if _states(each.text))
        own = not is_of_others(query.text)
        memory_statements = [each for each in told if (wishes or not each.is_wished) and not (own and each.of_others)]
        sentences = [_sentence(each) for each in memory_statements]
        scores = _scores(words, asked_kind(query.text), sentences)
        if not any(scores) or _coverage(words, sentences) < self.min_coverage:
            return Answer(REFUSAL[language], refused=True)
        places = [
            i
            for i, score in enumerate(scores)
            if score >= COMPANION * max(scores) or (score and memory_statements[i].tells_change)
        ]
        holds = {i: _words_in(sentences[i], words) for i in places}
        current = [
            i
            for i in places
            if not any(
                (holds[i] <= holds[j] or (memory_statements[j].tells_change and holds[i] & holds[j]))
                and replaces(memory_statements[j], memory_statements[i])
                for j in places
                if j > i
            )
        ]
        current.sort(
            key=lambda i: (
                memory_statements[i].denies,
                -scores[i],
                memory_statements[i].is_reply,
                not memory_statements[i].units,
                -i,
            )
        )
        places_kept: list[int] = []
        for i in current:
            if len(places_kept) < self.max_sentences and not holds[i] <= frozenset().union(
                *(holds[j] for j in places_kept)
            ):
                places_kept.append(i)
        return _copy([sentences[i] for i in sorted(places_kept)])


def _copy(sentences: Sequence[_Sentence]) -> Answer:
    text = " ".join(f"{sentence.text} [{sentence.context}]" for sentence in sentences)
    return Answer(text, citations=tuple(dict.fromkeys(sentence.context for sentence in sentences)))


def _states(sentence: str) -> bool:
    return bool(_plain_sentence(sentence)) and not _NO_STATEMENT.match(sentence)


def _plain_sentence(sentence: str) -> str:
    return without_citations(plain_text(sentence))


def _sentence(statement: Statement) -> _Sentence:
    texts = (f"{statement.text} {statement.changed}", statement.before)
    forms = [all_forms([*content_words(text), *figures(text)]) for text in texts]
    return _Sentence(statement.context, _plain_sentence(statement.text), *forms)


def _words_in(sentence: _Sentence, words: Sequence[Word]) -> frozenset[int]:
    """Numbers of the words that the sentence holds itself."""
    return frozenset(n for n, word in enumerate(words) if not word.forms.isdisjoint(sentence.forms))


def _sentences(contexts: Sequence[Context]) -> Iterator[_Sentence]:
    """The statements of all contexts, in order; headings count as the sentence before what follows them."""
    for number, context in enumerate(contexts, 1):
        title = all_forms(content_words(context.title))
        before: frozenset[str] = frozenset()
        for sentence in split_sentences(context.text):
            sentence_forms = all_forms(content_words(sentence))
            if _states(sentence):
                yield _Sentence(number, _plain_sentence(sentence), sentence_forms | title, before)
            before = sentence_forms


def _coverage(words: Sequence[Word], sentences: Sequence[_Sentence]) -> float:
    """The share of the question's content words that the sentences hold together, 1 for a question without any."""
    held = frozenset[str]().union(*(sentence.forms for sentence in sentences))
    return sum(not word.forms.isdisjoint(held) for word in words) / len(words) if words else 1.0


def _scores(words: Sequence[Word], kind: Kind | None, sentences: Sequence[_Sentence]) -> list[float]:
    weights = [_weight(word, sentences) for word in words]
    total = sum(weights) or 1.0
    return [
        sum(weight * _share_held(word, sentence) for word, weight in zip(words, weights, strict=True))
        / total
        * (1.0 if holds_kind(sentence.text, kind) else OTHER_KIND)
        for sentence in sentences
    ]


def _weight(word: Word, sentences: Sequence[_Sentence]) -> float:
    """Inverse sentence frequency: log(1 + N / (n + 1/2))."""
    holding = sum(not word.forms.isdisjoint(sentence.forms) for sentence in sentences)
    return math.log(1 + len(sentences) / (holding + 0.5))


def _share_held(word: Word, sentence: _Sentence) -> float:
    if not word.forms.isdisjoint(sentence.forms):
        return 1.0
    return 0.0 if word.forms.isdisjoint(sentence.before) else NEIGHBOUR
