"""Metrics of agents: their calls, and the gain of each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.metrics.metric import Grades, Metric
from runner.records import Trajectory

METRICS = (
    Metric(
        name="tool_calls",
        better="lower",
        label={"en": "Tool Calls", "ko": "도구 호출 수"},
        range=(0.0, float("inf")),
        depends=("queries", "gold", "documents", "metric_code.agent"),
        group="agent",
        shown=frozenset(),
    ),
    Metric(
        name="sufficiency_precision",
        better="higher",
        label={"en": "Sufficiency Precision", "ko": "충분성 정밀도"},
        grades=Grades(),
        depends=("queries", "gold", "documents", "metric_code.agent"),
        group="agent",
        shown=frozenset(),
    ),
    Metric(
        name="sufficiency_recall",
        better="higher",
        label={"en": "Sufficiency Recall", "ko": "충분성 재현율"},
        grades=Grades(),
        depends=("queries", "gold", "documents", "metric_code.agent"),
        group="agent",
        shown=frozenset(),
    ),
)

NO_FALLBACK = "none"


def trajectory_values(
    trajectory: Trajectory, gold: Collection[str], document_of: Callable[[str], str]
) -> dict[str, float | None]:
    """The metric values of one question.

    `sufficiency_precision` is a mean over the questions for which the agent claimed in the end that it had enough,
    `sufficiency_recall` over those for which it had: enough means that a gold document is among what it ranked. Both
    are missing where nobody assessed whether there was enough.

    Args:
        trajectory: the calls of the agent.
        gold: ids of the gold documents.
        document_of: chunk id -> id of its document.

    Returns:
        Values 0..1 by metric, and `tool_calls`, the number of calls.
    """
    assessments = [call.assessment for call in trajectory.calls if call.assessment.sufficient is not None]
    if not assessments:
        return {"tool_calls": float(len(trajectory.calls))}
    claims_enough = bool(assessments[-1].sufficient)
    has_gold = any(document_of(id) in gold for id in assessments[-1].ranked)
    return {
        "tool_calls": float(len(trajectory.calls)),
        "sufficiency_precision": float(has_gold) if claims_enough else None,
        "sufficiency_recall": float(claims_enough) if has_gold else None,
    }


def trajectory_labels(trajectory: Trajectory) -> dict[str, str]:
    """How the search of an agent ended.

    Args:
        trajectory: the calls of the agent.

    Returns:
        `stopped` and `fallback`.
    """
    return {"fallback": trajectory.fallback or NO_FALLBACK, "stopped": trajectory.stopped}


# --- over all questions -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Step:
    """All questions for which there was such a step."""

    n: int = 0
    errors: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    usd: float | None = 0.0
    n_gold: int = 0  # questions with gold documents
    recall: float = 0.0
    gain: float = 0.0

    def add(self, call: Mapping[str, Any]) -> None:
        self.n += 1
        self.errors += "error" in call
        self.tokens.update({name: call.get(name, 0) for name in ("input_tokens", "output_tokens")})
        usd = call.get("cost_usd", 0.0)
        self.usd = None if self.usd is None or usd is None else self.usd + usd

    def add_recall(self, recall: float, gain: float) -> None:
        self.n_gold += 1
        self.recall += recall
        self.gain += gain

    def as_block(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "n_gold": self.n_gold,
            "recall": self.recall / self.n_gold if self.n_gold else None,
            "gain": self.gain / self.n_gold if self.n_gold else None,
            "input_tokens": self.tokens["input_tokens"] / self.n,
            "output_tokens": self.tokens["output_tokens"] / self.n,
            "usd": None if self.usd is None else self.usd / self.n,
            "errors": self.errors,
        }


class AgentSums:
    """Over rows as they pass. `told`: `agent` of summary.json, nothing where no question was found by an agent.

    n           questions
    calls       {calls: questions}
    tools       {tool: calls}
    fallbacks   {kind: {n, answerable, unanswerable}}; kind `none` for an ordinary answer
    stopped     {reason: questions}
    steps       of each step: n questions that came to it, n_gold of them with gold documents, the recall of the best k
                documents after it and what it gained (means over n_gold; the first gains all that it has), means over n
                of tokens and usd (null: a price is unknown), errors
    """

    def __init__(self, k: int) -> None:
        self._k = k
        self._counts = _Counts()
        self._steps: list[_Step] = []

    def pass_through(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """The same rows; those with a trajectory are counted on their way."""
        for row in rows:
            output = row.get("output")
            if isinstance(output, Mapping) and "trajectory" in output:
                self._add(output)
            yield row

    def over(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """`as_block` of all rows. A first question without a trajectory ends the walk: then no question has one."""
        for row in self.pass_through(rows):
            output = row.get("output")
            if isinstance(output, Mapping) and "retrieved" in output and "trajectory" not in output:
                return {}
        return self.as_block()

    def as_block(self) -> dict[str, Any]:
        """The block `agent` of summary.json; empty where no row had a trajectory."""
        if not self._counts.n:
            return {}
        return {"agent": {**self._counts.as_block(), "steps": [step.as_block() for step in self._steps]}}

    def _add(self, output: Mapping[str, Any]) -> None:
        self._counts.add(output)
        gold, before = output["expected"] if output["answerable"] else (), 0.0
        for place, call in enumerate(output["trajectory"]["calls"]):
            if place == len(self._steps):
                self._steps.append(_Step())
            step = self._steps[place]
            step.add(call)
            if gold:
                recall = recall_of(call["ranked"], gold, self._k)
                step.add_recall(recall, recall - before)
                before = recall


def recall_of(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Args:
        ranked: ids of documents of ranked chunks, best first; repeats count once.
        gold: ids of the gold documents, at least one.
        k: >= 1.

    Returns:
        The share of the gold documents among the first k documents, 0..1.
    """
    documents = list(dict.fromkeys(id.rpartition("#")[0] or id for id in ranked))[:k]
    return len(set(documents) & set(gold)) / len(set(gold))


class _Counts:
    def __init__(self) -> None:
        self.n = 0
        self.calls: Counter[int] = Counter()
        self.tools: Counter[str] = Counter()
        self.stopped: Counter[str] = Counter()
        self.fallbacks: dict[str, Counter[str]] = {}

    def add(self, output: Mapping[str, Any]) -> None:
        trajectory = output["trajectory"]
        self.n += 1
        self.calls[len(trajectory["calls"])] += 1
        self.tools.update(call["tool"] for call in trajectory["calls"])
        self.stopped[trajectory["stopped"]] += 1
        counts = self.fallbacks.setdefault(trajectory.get("fallback") or NO_FALLBACK, Counter())
        counts.update(["n", "answerable" if output["answerable"] else "unanswerable"])

    def as_block(self) -> dict[str, Any]:
        kinds = ("n", "answerable", "unanswerable")
        return {
            "n": self.n,
            "calls": {str(calls): n for calls, n in sorted(self.calls.items())},
            "tools": dict(sorted(self.tools.items())),
            "fallbacks": {
                name: {kind: counts[kind] for kind in kinds} for name, counts in sorted(self.fallbacks.items())
            },
            "stopped": dict(sorted(self.stopped.items())),
        }
