"""What every section of summary.md reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.report.reporting import Offer, offer_of, words_of
from runner.system.folder import RunFolder, case_counts
from runner.words.wording import Wording

HIGH = 0.6  # `report.high` of runs that do not say it


@dataclass(frozen=True, slots=True)
class Document:
    """One run, the words of its language, and the mean above which a metric counts as high."""

    folder: RunFolder
    say: Wording
    high: float

    @classmethod
    def of(cls, folder: RunFolder) -> Document:
        options = (folder.run.get("config") or {}).get("report") or {}
        return cls(folder, words_of(folder.run), float(options.get("high", HIGH)))

    @property
    def run(self) -> Mapping[str, Any]:
        return self.folder.run

    @property
    def offer(self) -> Offer:
        """The reporting of the evaluation of the run."""
        return offer_of(self.run)

    @property
    def summary(self) -> Mapping[str, Any]:
        """summary.json; empty for a run without results."""
        return self.folder.summary

    @property
    def metrics(self) -> Mapping[str, Any]:
        return self.summary.get("metrics") or {}

    @property
    def counts(self) -> Mapping[str, Any]:
        """The block `counts` of the summary."""
        return self.summary.get("counts") or {}

    @property
    def cases(self) -> Mapping[str, int]:
        """How many cases are ok, failed, pending and unscored."""
        return case_counts(self.summary)

    @property
    def k(self) -> int | None:
        """None where no metric depends on it."""
        return k_of(self.summary, self.run)

    @property
    def min_score(self) -> float | None:
        """The threshold for the best hit of a question; None where only a refusal says "no answer here"."""
        score: float | None = (self.summary.get("facts") or {}).get("min_score")
        return score


def k_of(summary: Mapping[str, Any], run: Mapping[str, Any]) -> int | None:
    """The cutoff k of a run; None where none of its metrics has one."""
    metrics = summary.get("metrics")
    if metrics and not any(name.endswith("_at_k") for name in metrics):
        return None
    k = summary.get("k", run.get("k"))
    return None if k is None else int(k)


def section(heading: str, *blocks: str, level: int = 2) -> str:
    """A heading and the blocks below it; nothing at all when every block is empty."""
    filled = [block for block in blocks if block]
    return "\n\n".join([f"{'#' * level} {heading}", *filled]) if filled else ""
