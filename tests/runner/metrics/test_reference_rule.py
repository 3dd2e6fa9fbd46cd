"""Whether an answer gives a reference, decided without a model."""

from __future__ import annotations

from runner.metrics.reference_rule import decide_by_reference
from runner.metrics.right import Decision


def test_nothing_decides_without_references() -> None:
    assert decide_by_reference("How long?", (), "14 days.") is None


def test_a_reference_of_a_sentence_needs_a_model_unless_it_stands_there() -> None:
    sentence = "The refund is paid to the account that the order came from"
    assert decide_by_reference("Where to?", [sentence], "To your card.") == Decision(None, "needs_model")
    assert decide_by_reference("Where to?", [sentence], f"{sentence}.") == Decision(True, "reference")
