"""How far texts support the claims of an answer, judged by words alone.

A claim is a sentence of the answer that states something: no heading, no question, no courtesy and no
remark that the sources do not tell. Its coverage is the share of its content words that stand in the
sources. A claim is contradicted, whatever its coverage, when it holds a number or a name that the
sources do not have, or denies what the best matching sentence says (or the other way round).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runner.text.citations import without_citations
from runner.text.names import contains_name, names
from runner.text.negation import is_negated
from runner.text.numbers import Quantity, quantities
from runner.text.refusals import is_courtesy, says_unknown
from runner.text.sentences import split_sentences
from runner.text.words import Word, content_words

_MARKUP = re.compile(r"[*_`#>|]+|^\s*(?:[-+•‣▪]|\(?\d{1,3}[.)])\s+|\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The best matching sentence: number of its source from 1 (0: none), its text, words it shares (0..1)."""

    source: int
    text: str
    overlap: float


@dataclass(frozen=True, slots=True)
class Support:
    """`score` 0..1: the coverage of the claim, or 0 when `conflict` says what contradicts the sources."""

    claim: str
    score: float
    coverage: float
    evidence: Evidence
    missing: tuple[str, ...] = ()
    conflict: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    source: int
    text: str
    forms: frozenset[str]


class Sources:
    """Texts that claims are held against; sources are numbered from 1 in the order given."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = "\n".join(texts)
        self.sentences = [
            Sentence(number, sentence, _forms(content_words(sentence)))
            for number, text in enumerate(texts, 1)
            for sentence in split_sentences(text)
        ]
        self.forms = frozenset().union(*(sentence.forms for sentence in self.sentences))
        self.quantities = quantities(self.text)

    def support(self, claim: str) -> Support:
        words = content_words(claim)
        missing = tuple(word.text for word in words if word.forms.isdisjoint(self.forms))
        coverage = 1 - len(missing) / len(words) if words else 0.0
        evidence = self._evidence(words)
        conflict = self._conflict(claim, evidence)
        return Support(claim, 0.0 if conflict else coverage, coverage, evidence, missing, conflict)

    def _evidence(self, words: Sequence[Word]) -> Evidence:
        best = Evidence(0, "", 0.0)
        for sentence in self.sentences:
            shared = sum(not word.forms.isdisjoint(sentence.forms) for word in words) / max(1, len(words))
            if shared > best.overlap:
                best = Evidence(sentence.source, sentence.text, shared)
        return best

    def _conflict(self, claim: str, evidence: Evidence) -> str:
        if wrong := [q.text for q in quantities(claim) if not _has(self.quantities, q)]:
            return f"number not in the sources: {', '.join(wrong)}"
        if wrong := [name for name in names(claim) if not contains_name(self.text, name)]:
            return f"name not in the sources: {', '.join(wrong)}"
        if evidence.overlap >= 0.5 and is_negated(claim) != is_negated(evidence.text):
            return "negated where the source is not, or the other way round"
        return ""


def _has(known: Sequence[Quantity], quantity: Quantity) -> bool:
    return any(quantity.matches(other) for other in known)


def _forms(words: Sequence[Word]) -> frozenset[str]:
    return frozenset().union(*(word.forms for word in words))


def claims(answer: str) -> list[str]:
    """Sentences of an answer that state something, without citations and Markdown."""
    found = []
    for sentence in split_sentences(without_citations(answer)):
        plain = " ".join(_MARKUP.sub(r"\1", sentence).split())
        if content_words(plain) or quantities(plain):
            if not (plain.endswith((":", "?", "？")) or is_courtesy(plain) or says_unknown(plain)):
                found.append(plain)
    return found
