"""Finds questions that repeat others in nearly the same words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from runner.text.ngrams import count_ngrams
from runner.text.words import FUNCTION_WORDS, Word, all_forms, content_words

OVERLAP = 0.5  # least Jaccard index of the character 2- and 3-grams

_MARK = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])|\d+(?:[.,:]\d+)*")


def duplicates(questions: Sequence[str]) -> list[bool]:
    """True for each question that repeats an earlier one.

    Two questions are the same when half of their n-grams are, every content word of each occurs in the other,
    and both hold the same numbers and single letters: "plan A" is not "plan B".
    """
    repeats = [False] * len(questions)
    features = [(_words(question), frozenset(_MARK.findall(question))) for question in questions]
    for place, near in enumerate(_similar_questions(questions)):
        words, marks = features[place]
        repeats[place] = any(
            not repeats[other] and marks == features[other][1] and _same_words(words, features[other][0])
            for other in near
        )
    return repeats


def _words(question: str) -> list[Word]:
    """The content words of a question; a function word with a particle (며칠이) is left out."""
    return [word for word in content_words(question) if word.forms.isdisjoint(FUNCTION_WORDS)]


def _same_words(one: Sequence[Word], other: Sequence[Word]) -> bool:
    return _has_all(one, all_forms(other)) and _has_all(other, all_forms(one))


def _has_all(words: Sequence[Word], forms: frozenset[str]) -> bool:
    return all(not word.forms.isdisjoint(forms) for word in words)


def _similar_questions(questions: Sequence[str]) -> Iterator[list[int]]:
    """The earlier questions, for each question, with a Jaccard index of at least NEAR."""
    ngrams = count_ngrams(questions)
    sizes = np.diff(ngrams.offsets)
    owners = np.repeat(np.arange(len(questions)), sizes)
    order = np.argsort(ngrams.codes, kind="stable")
    codes, owners = ngrams.codes[order], owners[order]
    starts, ends = (np.searchsorted(codes, ngrams.codes, side) for side in ("left", "right"))
    empty = np.empty(0, dtype=owners.dtype)
    for place in range(len(questions)):
        own = range(ngrams.offsets[place], ngrams.offsets[place + 1])
        holders = np.concatenate([empty, *(owners[starts[n] : ends[n]] for n in own)])
        shared = np.bincount(holders, minlength=len(questions))[:place]
        either = sizes[place] + sizes[:place] - shared
        yield np.flatnonzero(shared >= OVERLAP * either).tolist()
