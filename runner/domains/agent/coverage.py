"""How much of a question a text covers, by words alone.

Coverage is the mean of two shares (0..1) of the question's content words, weighted by how few chunks of the corpus hold
them (log(1 + (N - n + 1/2) / (n + 1/2)), Robertson's idf): of those in the whole text, and of those in its best
sentence, where words of the sentences next to it count half. Confidence is 1 where half of the words are there
(`ENOUGH`, as in runner.text.relevancy: a text need not repeat its question), and less in proportion. A text that lacks
a name or figure of the question, or affirms what the question denies, speaks of something else: what is left is
`ELSEWHERE` of its confidence, below any doubt.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.protocols import Workspace
from runner.records import Corpus
from runner.text.names import NameIndex, names
from runner.text.negation import denied_words
from runner.text.passages import passages
from runner.text.sentences import split_sentences
from runner.text.words import Word, all_forms, content_words

ENOUGH = 0.5
ELSEWHERE = 0.4
NEIGHBOUR = 0.5
FILE = "counts.json"
FIGURE = 3  # digits; shorter numbers are counts, which may be written as words

_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
_LATIN = re.compile(r"[A-Za-z]")  # without capitals a possible name may be any word


@dataclass(frozen=True, slots=True)
class WeightedQuestion:
    """A question. `weights` float64 [n_words], of its content words."""

    words: Sequence[Word]
    weights: NDArray[np.float64]
    names: Sequence[str]
    figures: frozenset[str]
    denied: Sequence[Word]

    @property
    def total(self) -> float:
        """The sum of the weights, 1 for a question without words."""
        return float(self.weights.sum()) or 1.0


@dataclass(frozen=True, slots=True)
class CoverageResult:
    """`missing`: the words of the question that the text lacks, in their order."""

    coverage: float
    confidence: float
    missing: tuple[str, ...]


def coverage_of(corpus: Corpus, workspace: Workspace) -> Coverage:
    """The coverage over the chunks of a corpus, whose words are counted once (about 2 ms a chunk of 500 characters)."""

    def build(folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(form_counts(corpus), ensure_ascii=False), encoding="utf-8")

    folder = workspace.folder("coverage", {"corpus": corpus.fingerprint}, build)
    return Coverage(len(corpus.chunks), json.loads((folder / FILE).read_text(encoding="utf-8")))


def form_counts(corpus: Corpus) -> Mapping[str, int]:
    """Form of a word -> number of chunks that contain it."""
    counts: Counter[str] = Counter()
    for text in passages(corpus):
        counts.update(all_forms(content_words(text)))
    return counts


class Coverage:
    """`counts` of `n_chunks` are as of `form_counts`."""

    def __init__(self, n_chunks: int, counts: Mapping[str, int]) -> None:
        self._n_chunks, self._counts = n_chunks, counts

    def chunks_with(self, word: Word) -> int:
        """The number of chunks that contain the most frequent form of a word."""
        return max(self._counts.get(form, 0) for form in word.forms)

    def analyse(self, question: str) -> WeightedQuestion:
        """The content words of a question with their weights, its names, figures and denied words."""
        words = content_words(question)
        total = self._n_chunks
        frequencies = [self.chunks_with(word) for word in words]
        weights = np.array([math.log(1 + (total - frequency + 0.5) / (frequency + 0.5)) for frequency in frequencies])
        named = [name for name in names(question) if _LATIN.search(name)]
        figures = frozenset(figure for figure in _figures(question) if len(figure) >= FIGURE)
        return WeightedQuestion(words, weights, named, figures, denied_words(question))

    def of(self, question: WeightedQuestion, text: str) -> CoverageResult:
        """The cover of a question by a text; a question without content words is covered by any text."""
        source = _read(text)
        inside = _has_each(question.words, source.forms)
        if not question.words:
            return CoverageResult(1.0, 1.0, ())
        share = float(question.weights @ inside) / question.total
        best, place = source.best(question)
        coverage = (share + best) / 2
        confidence = min(1.0, coverage / ENOUGH) * (ELSEWHERE if source.speaks_of_else(question, place) else 1.0)
        missing = tuple(word.text for word, there in zip(question.words, inside, strict=True) if not there)
        return CoverageResult(coverage, confidence, missing)


@lru_cache(maxsize=20_000)
def _read(text: str) -> _ParsedText:
    return _ParsedText(text)


def forms_in(text: str) -> frozenset[str]:
    """The forms of the content words of a text."""
    return _read(text).forms


class _ParsedText:
    """A text, parsed once for all questions."""

    def __init__(self, text: str) -> None:
        sentences = split_sentences(text)
        self.text, self.sentences = text, sentences
        self.by_sentence = [all_forms(content_words(sentence)) for sentence in sentences]
        self.forms = frozenset[str]().union(*self.by_sentence)
        self.names = NameIndex(text)

    @cached_property
    def figures(self) -> frozenset[str]:
        return frozenset(_figures(self.text))

    @cached_property
    def denied(self) -> frozenset[str]:
        return all_forms(denied_words(self.text))

    def best(self, question: WeightedQuestion) -> tuple[float, int]:
        """The share of the weight that the best sentence holds, and its place; 0 without sentences."""
        if not self.sentences:
            return 0.0, 0
        has_word = np.array([_has_each(question.words, forms) for forms in self.by_sentence])
        beside = np.zeros_like(has_word)
        beside[1:] = has_word[:-1]
        beside[:-1] = np.maximum(beside[:-1], has_word[1:])
        shares = np.maximum(has_word, NEIGHBOUR * beside) @ question.weights / question.total
        place = int(shares.argmax())
        return float(shares[place]), place

    def speaks_of_else(self, question: WeightedQuestion, place: int) -> bool:
        if any(name not in self.names for name in question.names) or not question.figures <= self.figures:
            return True
        around = frozenset[str]().union(*self.by_sentence[max(0, place - 1) : place + 2])
        return any(word.forms.isdisjoint(self.denied) and not word.forms.isdisjoint(around) for word in question.denied)


def _has_each(words: Sequence[Word], forms: frozenset[str]) -> NDArray[np.float64]:
    return np.array([not word.forms.isdisjoint(forms) for word in words], dtype=np.float64)


def _figures(text: str) -> list[str]:
    return [match[0].replace(",", "").rstrip(".") for match in _FIGURE.finditer(text)]
