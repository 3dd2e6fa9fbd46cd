"""Other ways to search for a question, without a model: words that no chunk holds dropped, words of what was found
added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.coverage import Coverage
from runner.text.words import all_forms, content_words

_HOW = re.compile(
    r"\bhow (?:do|does|can|could|should|would|to)\b|\bsteps?\b|\bprocedure\b|방법|어떻게|하려면|절차|순서", re.I
)
TOLD_BY = 2  # chunks: a word of one chunk alone leads nowhere else


def asks_for_steps(question: str) -> bool:
    return _HOW.search(question) is not None


def refined(question: str, ranked: Sequence[Candidate], coverage: Coverage, n_words: int) -> Iterator[str]:
    """The content words of the question that some chunk holds; then these with the `n_words` rarest words of the best
    candidate that are in some other chunk, too (ties in their order)."""
    words = [word for word in content_words(question) if coverage.chunks_with(word)]
    kept = list(dict.fromkeys(word.text for word in words))
    if kept:
        yield " ".join(kept)
    if not ranked or not n_words:
        return
    known, told = set(all_forms(content_words(question))), {}
    for word in content_words(ranked[0].passage):
        if word.forms.isdisjoint(known) and coverage.chunks_with(word) >= TOLD_BY:
            told[word.text] = coverage.chunks_with(word)
            known |= word.forms
    added = sorted(told, key=lambda text: told[text])[:n_words]
    if added:
        yield " ".join([*kept, *added])
