"""The messages in place of an answer where nothing useful was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.records import Assessment, Fallback, Stopped
from runner.text.language import Language


@dataclass(frozen=True, slots=True)
class Fallbacks:
    """`messages`: kind of fallback -> language -> text. `menu`: language -> [(title, address)], best first."""

    messages: Mapping[str, Mapping[Language, str]]
    menu: Mapping[Language, Sequence[tuple[str, str]]]
    min_confidence: float

    def of(self, assessment: Assessment | None, n_ranked: int, stopped: Stopped) -> Fallback | None:
        """The kind of fallback. In this order: nothing ranked -> not_ready; confidence below `min_confidence` ->
        not_found; stopped without sufficient results -> best_effort, which is an answer from what was found. Without a
        confidence, or without any assessment because the reranker always failed, not_found is never returned."""
        if n_ranked == 0:
            return "not_ready"
        if assessment is not None and assessment.confidence is not None and assessment.confidence < self.min_confidence:
            return "not_found"
        if assessment is None or assessment.sufficient is False or stopped == "failed":
            return "best_effort"
        return None

    def message(self, fallback: Fallback | None, language: Language) -> str | None:
        """The message of a fallback; None where there is an answer."""
        if fallback is None or fallback == "best_effort":
            return None
        text = self.messages[fallback][language]
        links = self.menu[language] if fallback == "not_found" else ()
        return "\n".join([text, *(f"- [{title}]({address})" for title, address in links)])
