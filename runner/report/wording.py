"""The words of a report in one language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.metrics.catalogue import DECLARED, built_in, declared_in
from runner.metrics.metric import Catalogue
from runner.report.english import ENGLISH
from runner.report.english_agent import ENGLISH_AGENT
from runner.report.english_comparison import ENGLISH_COMPARISON
from runner.report.english_html import ENGLISH_HTML
from runner.report.english_links import ENGLISH_LINKS
from runner.report.english_memory import ENGLISH_MEMORY
from runner.report.english_models import ENGLISH_MODELS
from runner.report.english_progress import ENGLISH_PROGRESS
from runner.report.english_sweep import ENGLISH_SWEEP
from runner.report.english_trace import ENGLISH_TRACE
from runner.report.korean import KOREAN
from runner.report.korean_agent import KOREAN_AGENT
from runner.report.korean_comparison import KOREAN_COMPARISON
from runner.report.korean_html import KOREAN_HTML
from runner.report.korean_links import KOREAN_LINKS
from runner.report.korean_memory import KOREAN_MEMORY
from runner.report.korean_models import KOREAN_MODELS
from runner.report.korean_progress import KOREAN_PROGRESS
from runner.report.korean_sweep import KOREAN_SWEEP
from runner.report.korean_trace import KOREAN_TRACE


@dataclass(frozen=True, slots=True)
class Wording:
    """`say("key", name=value)` is the sentence of that key, its placeholders filled. `declared`: what a run said of its
    metrics."""

    language: str
    texts: Mapping[str, str]
    declared: Catalogue | None = None

    @property
    def catalogue(self) -> Catalogue:
        """The metrics that are spoken of; those of the built-in evaluations where no run is."""
        return built_in() if self.declared is None else self.declared

    def about(self, declared: Catalogue) -> Wording:
        """Of a run with these metrics."""
        return replace(self, declared=declared)

    def of(self, evaluation: str | None) -> Wording:
        """In the words of one evaluation: the text of `lost.title.links` takes the place of that of `lost.title`."""
        end = f".{evaluation}"
        own = {key.removesuffix(end): text for key, text in self.texts.items() if key.endswith(end)}
        return replace(self, texts={**self.texts, **own}) if own else self

    def __call__(self, key: str, **values: Any) -> str:
        return self.texts[key].format(**values) if values else self.texts[key]

    def name(self, group: str, value: str) -> str:
        """The word for a category; a category that has none stands for itself."""
        return self.texts.get(f"{group}.{value}", value)


LANGUAGES = {
    "en": Wording(
        "en",
        ENGLISH
        | ENGLISH_AGENT
        | ENGLISH_LINKS
        | ENGLISH_MEMORY
        | ENGLISH_MODELS
        | ENGLISH_COMPARISON
        | ENGLISH_HTML
        | ENGLISH_PROGRESS
        | ENGLISH_SWEEP
        | ENGLISH_TRACE,
    ),
    "ko": Wording(
        "ko",
        KOREAN
        | KOREAN_AGENT
        | KOREAN_LINKS
        | KOREAN_MEMORY
        | KOREAN_MODELS
        | KOREAN_COMPARISON
        | KOREAN_HTML
        | KOREAN_PROGRESS
        | KOREAN_SWEEP
        | KOREAN_TRACE,
    ),
}


def wording_of(run: Mapping[str, Any]) -> Wording:
    """The language that a run was configured with (`report.language`), English where it does not say, in the words
    of its evaluation and about the metrics that this declared. Raises ValueError where those are damaged."""
    options = (run.get("config") or {}).get("report") or {}
    say = LANGUAGES.get(options.get("language", "en"), LANGUAGES["en"])
    say = say.of(run.get("evaluation_type"))
    return say.about(declared_in(run)) if DECLARED in run else say
