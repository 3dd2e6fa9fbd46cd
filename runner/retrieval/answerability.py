"""How likely the retrieved chunks answer the question: one score for all retrievers, computed from words alone.

Relevance has another scale with each retriever: a share of BM25, a cosine, a sum of both. This score looks at the text
of the best hits of any retriever: the share of the weight of the question's terms that one of the first HITS holds
(`cover`). A term weighs log(1 + (N - n + 1/2) / (n + 1/2)) where n of N passages hold it (Robertson's idf). A logistic
model of it, fitted on several sets of questions at once with each left out in turn (benchmarks/answerability.py), gives
the score. For each retriever of answerability.json the score is shifted, which preserves its order, so that .3 is the
cut with the best mean F1 for unanswerable questions.

These features made the score or its cut worse on held-out sets and were left out: the retriever's own score and its gap
to the next hit, the agreement of the legs of a fusion, the cover by all hits together and by the best sentence, the
weight of the heaviest missing term, and the length of the question.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import ComponentError
from runner.protocols import Workspace, attribute_of
from runner.records import Chunk, Corpus
from runner.text.passages import passage
from runner.text.tokens import by_script
from runner.text.words import FUNCTION_WORDS, forms, is_content

MODELS = Path(__file__).with_name("answerability.json")
DEFAULT_CUT = 0.3  # the default cut; every model is shifted to it
HITS = 3
SAMPLE = 20_000  # most passages whose terms are counted, spread evenly over the corpus

_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?(?![\w])|[가-힣]+")  # no words with digits (Atlas1)


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """Log odds that a question is answerable: constant + slope x cover. `cut`: the log odds that score DEFAULT_CUT."""

    constant: float
    slope: float
    cut: float

    def log_odds(self, cover: float) -> float:
        """The log odds for a cover in 0..1."""
        return self.constant + self.slope * cover

    def score(self, cover: float) -> float:
        """The score in 0..1 for a cover; it rises with the cover."""
        shifted = self.log_odds(cover) - self.cut + math.log(DEFAULT_CUT / (1 - DEFAULT_CUT))
        return 1 / (1 + math.exp(-shifted))


@cache
def answer_models() -> Mapping[str, AnswerModel]:
    """The models by the name that retrievers offer as `answer_model`."""
    stored: Mapping[str, Any] = json.loads(MODELS.read_text(encoding="utf-8"))["models"]
    return {name: AnswerModel(model["constant"], model["slope"], model["cut"]) for name, model in stored.items()}


def answer_model(retriever: object) -> AnswerModel | None:
    """The model that a retriever offers. Raises ComponentError for an unknown name."""
    name = attribute_of(retriever, "answer_model")
    if name is not None and name not in answer_models():
        known = f"expected one of {', '.join(answer_models())}, or None"
        raise ComponentError(f"{type(retriever).__name__}: answer_model: {known}; found {name!r}")
    return None if name is None else answer_models()[name]


class Terms:
    """The document frequency of terms. `hashes` uint32 [n_terms], ascending; `counts` int64 [n_terms]."""

    def __init__(self, n_passages: int, hashes: NDArray[np.uint32], counts: NDArray[np.int64]) -> None:
        self._n_passages, self._hashes, self._counts = n_passages, hashes, counts

    def weights(self, terms: Sequence[str]) -> list[float]:
        """Inverse document frequency of each term; 1 for all in an empty corpus."""
        if not len(self._hashes):
            return [1.0] * len(terms)
        hashes = np.array([_hash(term) for term in terms], dtype=np.uint32)
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        held = np.where(self._hashes[places] == hashes, self._counts[places], 0)
        weights: list[float] = np.log1p((self._n_passages - held + 0.5) / (held + 0.5)).tolist()
        return weights


NO_TERMS = Terms(0, np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))


def terms_of(corpus: Corpus, workspace: Workspace) -> Terms:
    """The document frequencies of a corpus, counted once (0.1 to 0.3 ms a passage)."""

    def build(folder: Path) -> None:
        counts = Counter(_hash(term) for text in texts for term in set(by_script(text)))
        hashes = np.array(sorted(counts), dtype=np.uint32)
        np.save(folder / "hashes.npy", hashes)
        np.save(folder / "counts.npy", np.array([counts[each] for each in hashes.tolist()], dtype=np.int64))

    step = math.ceil(len(corpus.chunks) / SAMPLE) or 1
    chunks = corpus.chunks[::step]
    texts = (passage(corpus, chunk) for chunk in chunks)
    folder = workspace.folder("answerability", {"corpus": corpus.fingerprint, "sample": SAMPLE}, build)
    return Terms(len(chunks), np.load(folder / "hashes.npy"), np.load(folder / "counts.npy"))


def cover_by(hits: Sequence[Chunk], question: str, corpus: Corpus, terms: Terms) -> float:
    """The largest share (0..1) of the question's weight that one of the first HITS holds; 1 for a question without
    terms."""
    question_terms = list(dict.fromkeys(by_script(content_of_question(question))))
    if not question_terms:
        return 1.0
    weights = terms.weights(question_terms)
    weighed = list(zip(question_terms, weights, strict=True))
    texts = [_holder(passage(corpus, chunk)) for chunk in hits[:HITS]]
    held = [sum(weight for term, weight in weighed if text.holds(term)) for text in texts]
    return max(held, default=0.0) / (sum(weights) or 1.0)


def content_of_question(question: str) -> str:
    """The content words of a question, Korean ones without their endings. Words that only ask (where does, 어떻게) are
    left out: in a small corpus they are rare and would weigh most."""
    return _WORD.sub(lambda match: _stem(match[0]), question)


def _stem(word: str) -> str:
    word_forms = forms(word)
    if not is_content(word) or not word_forms.isdisjoint(FUNCTION_WORDS):
        return " "
    if word[0] < "\uac00":
        return word
    return min((form for form in word_forms if len(form) > 1 and word.startswith(form)), key=len, default=word)


@dataclass(frozen=True, slots=True)
class _Holder:
    """A passage as terms and as characters: a CJK term counts also within a longer run of characters."""

    terms: frozenset[str]
    letters: str

    def holds(self, term: str) -> bool:
        return term in self.terms or (term[0] >= "\u1100" and term in self.letters)


@lru_cache(maxsize=4096)
def _holder(text: str) -> _Holder:
    return _Holder(frozenset(by_script(text)), unicodedata.normalize("NFC", text).lower())


def _hash(term: str) -> int:
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))
