"""Answers made of sentences of the contexts: a baseline without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from runner.records import Answer, Context, Query
from runner.text.language import Language, detect_language
from runner.text.refusals import REFUSAL
from runner.text.sentences import split_sentences
from runner.text.words import content_words

_HEADING = re.compile(r"\s*#{1,6}\s|.*[?？:：]$")


@dataclass(frozen=True, slots=True)
class _Candidate:
    score: float
    context: int
    position: int
    text: str


class ExtractiveGenerator:
    """A baseline: it copies the sentences that share most words with the question, and cites them.

    A sentence scores the weighted share of the question's content words that it or the title of its
    context holds; words that few contexts hold weigh more. Ties go to the earlier context. It refuses
    when no context came back or the best sentence scores below `min_score`.
    """

    baseline: ClassVar[bool] = True

    def __init__(
        self,
        *,
        max_sentences: Annotated[int, Field(ge=1, le=20)] = 3,
        min_score: Annotated[float, Field(ge=0, le=1)] = 0.4,
    ) -> None:
        self.max_sentences = max_sentences
        self.min_score = min_score

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        candidates = sorted(
            _candidates(query.text, contexts), key=lambda each: (-each.score, each.context, each.position)
        )
        if not candidates or candidates[0].score < self.min_score:
            language: Language = (
                "ko" if query.language == "ko" else "en" if query.language == "en" else detect_language(query.text)
            )
            return Answer(REFUSAL[language], refused=True)
        best = [each for each in candidates[: self.max_sentences] if each.score >= self.min_score]
        best.sort(key=lambda each: (each.context, each.position))
        text = " ".join(f"{each.text} [{each.context}]" for each in best)
        return Answer(text, citations=tuple(dict.fromkeys(each.context for each in best)))


def _candidates(question: str, contexts: Sequence[Context]) -> Iterator[_Candidate]:
    words = content_words(question)
    for number, context in enumerate(contexts, 1):
        title = frozenset().union(*(word.forms for word in content_words(context.title)))
        for position, sentence in enumerate(split_sentences(context.text)):
            if _HEADING.match(sentence):
                continue
            forms = frozenset().union(title, *(word.forms for word in content_words(sentence)))
            share = sum(not word.forms.isdisjoint(forms) for word in words) / max(1, len(words))
            yield _Candidate(share, number, position, sentence)
