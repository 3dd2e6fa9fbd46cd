"""Whether an answer gives a reference, decided without a model."""

from __future__ import annotations

from collections.abc import Sequence

from runner.metrics.answers import answer_matches
from runner.metrics.right import Decision

LONG = 9  # words of a reference from which words do not decide


def decide_by_reference(question: str, references: Sequence[str], answer: str) -> Decision | None:
    """Decides by the words, amounts and stand of an answer whether it gives one of its references.

    Args:
        question: what was asked; its words say nothing in an answer.
        references: right answers, of which one is enough.
        answer: of the system.

    Returns:
        A decision whose `by` is one of the rules from `reference` to `needs_model`; None without references.
    """
    if not references:
        return None
    if answer_matches(answer, references):
        return Decision(True, "reference")
    if all(len(reference.split()) >= LONG for reference in references):
        return Decision(None, "needs_model")
    return Decision(False, "absent")
