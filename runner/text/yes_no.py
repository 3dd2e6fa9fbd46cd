"""Yes and no: the stand that a text takes towards a question, by its opening and by what it denies (yes_no.yaml)."""

from __future__ import annotations

import re
from functools import lru_cache

from runner.text.cues import cue_pattern
from runner.text.normal_form import cased
from runner.text.patterns import compile_late

CUES = "runner.text/yes_no.yaml"
SHORT = 8  # words of a reference that is yes or no, with a reason
_LEAD = compile_late(r"^[\s\"'(*]*(?:(?:well|so|oh|the answer is|답은|정답은|음)[,:]?\s+)?", re.IGNORECASE)
_ASKS = compile_late(
    r"^\W*(?:so |and |but |then |ok,? )?(?:is|are|was|were|am|do|does|did|can|could|will|would|should|shall|may|might|"
    r"must|has|have|had)\b|(?:나요|까요?|가요|인지|는지|니|죠|되나|한가)\W*$",
    re.IGNORECASE,
)
_WHICH = compile_late(
    r"언제|어디|어느|누구|누가|어떻게|무엇|무슨|뭐|몇|얼마|왜\b|\b(?:or|which|what|when|who)\b", re.IGNORECASE
)


def reference_stand(reference: str) -> bool | None:
    """Whether a reference is a yes or a no, with a reason or without one; None: it is neither."""
    return _opening(cased(reference).strip()) if len(reference.split()) <= SHORT else None


@lru_cache(maxsize=4096)
def stand(question: str, answer: str) -> bool | None:
    """The stand of an answer: by its opening clause, else by whether its sentences deny or affirm something.

    Returns:
        True for yes, False for no; None where it takes none that can be told.
    """
    text = cased(answer).strip()
    opening = _opening(text)
    if opening is not None:
        return opening
    if not asks_yes_no(question) or denies(question) or cue_pattern("double_denial", CUES).search(text):
        return None
    if denies(text):
        return False
    return True if cue_pattern("affirms", CUES).search(text) else None


def asks_yes_no(question: str) -> bool:
    """Whether a question asks for yes or no."""
    return _ASKS.search(question.strip()) is not None and _WHICH.search(question) is None


def _opening(text: str) -> bool | None:
    lead = _LEAD.match(text)
    start = lead.end() if lead else 0
    if cue_pattern("no_opening", CUES).match(text, start):
        return False
    return True if cue_pattern("yes_opening", CUES).match(text, start) else None


def denies(text: str) -> bool:
    """Whether a text has a word of denial."""
    return cue_pattern("denies", CUES).search(text) is not None
