"""Decides which metrics can be compared between two runs.

The settings that an experiment varies (k, retriever, generator, chunks …) may differ. A metric is not comparable where
its conditions differ: documents, judge, prompt of the judge, code of the metric and, case by case, the question or its
labels. Metrics at the run's own k have different cutoffs where k differs.

Corpora and test sets are maintained during development. Unless a comparison is strict, cases with changed questions or
labels are left out, and changed documents are a note on the verdict; only metrics of chunks, whose ids belong to one
corpus, are not compared then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from runner.compare.differences import PairedRuns
from runner.compare.snapshots import Bools

Kind = Literal[
    "k", "missing", "pairs", "identity", "question", "gold", "direction", "new_question", "new_gold", "corpus",
    "chunks", "rule", "new_rule", "undecided",
]  # fmt: skip
PER_CASE = {"queries": "question", "gold": "gold"}  # identities that are compared case by case
NAMED = 20  # most cases that are named


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a metric is not comparable.

    k          the runs differ in k, `names` are the two
    missing    the run `names` ("baseline", "candidate") does not have the metric
    pairs      no pair of cases has two numbers
    identity   `names` of the identity differ
    question   `cases` ask something else
    gold       `cases` have other labels
    direction  nothing says whether more of it is better (rules of the gate)
    rule       all `cases` were decided by rules of other kinds, as by a model and by words
    new_rule   some `cases` were, and are left out
    undecided  `n_cases` of a run are undecided, more than half (rules of the gate)

    Where a comparison is not strict:

    new_question, new_gold  `cases` that ask something else or have other labels are left out
    corpus                  the documents are not the same, which is said beside the verdict
    chunks                  the metric is that of chunks, and the documents are not the same
    """

    kind: Kind
    names: tuple[str, ...] = ()
    n_cases: int = 0
    cases: tuple[str, ...] = ()

    @property
    def is_grave(self) -> bool:
        """Whether the runs were measured under different conditions."""
        return self.kind in ("identity", "question", "gold", "rule")

    @property
    def is_note(self) -> bool:
        """Whether the metric is compared nevertheless."""
        return self.kind in ("new_question", "new_gold", "corpus", "new_rule")


def reasons(runs: PairedRuns, metric: str) -> list[Reason]:
    """Args:
        runs: a pair of runs.
        metric: its name.

    Returns:
        Why the metric is not comparable; empty where it is. For a metric that a run lacks, this is the only reason.
    """
    if lacking := list(missing_reasons(runs, metric)):
        return lacking
    why = list(_other_k(runs, metric))
    depends = {*runs.baseline.depends.get(metric, ()), *runs.candidate.depends.get(metric, ())}
    before, after = runs.baseline.identity, runs.candidate.identity
    if runs.anchored is not None:
        depends.discard("chunks")
    differ = tuple(name for name in sorted(depends - PER_CASE.keys()) if before.get(name) != after.get(name))
    if not runs.strict and "documents" in differ:
        why.append(Reason("chunks") if "chunks" in differ else Reason("corpus"))
        differ = tuple(name for name in differ if name not in ("documents", "chunks"))
    if differ:
        why.append(Reason("identity", differ))
    for name, mask in (("queries", runs.pairing.new_question), ("gold", runs.pairing.new_gold)):
        if name in depends and mask.any():
            ids = [runs.candidate.cases.ids[place] for place in runs.pairing.candidate[mask]]
            kinds: tuple[Kind, Kind] = ("question", "new_question") if name == "queries" else ("gold", "new_gold")
            kind = kinds[not runs.strict]
            why.append(Reason(kind, n_cases=len(ids), cases=tuple(ids[:NAMED])))
    return [*why, *_other_rules(runs, metric)]


def _other_rules(runs: PairedRuns, metric: str) -> Iterator[Reason]:
    could_differ, differ = runs.decided_differently(metric)
    if differ.any():
        ids = [runs.candidate.cases.ids[place] for place in runs.pairing.candidate[differ]]
        kind: Kind = "rule" if differ.sum() == could_differ.sum() else "new_rule"
        yield Reason(kind, n_cases=len(ids), cases=tuple(ids[:NAMED]))


def missing_reasons(runs: PairedRuns, metric: str) -> Iterator[Reason]:
    """A reason for each of the two runs that has no values of the metric."""
    for side, snapshot in (("baseline", runs.baseline), ("candidate", runs.candidate)):
        if metric not in snapshot.cases.values:
            yield Reason("missing", (side,))


def _other_k(runs: PairedRuns, metric: str) -> Iterator[Reason]:
    if runs.catalogue.variant(metric).is_own_k and runs.baseline.k != runs.candidate.k:
        yield Reason("k", (str(runs.baseline.k), str(runs.candidate.k)))


def comparable_pairs(runs: PairedRuns, metric: str, reasons: Sequence[Reason]) -> Bools:
    """Args:
        runs: a pair of runs.
        metric: its name.
        reasons: of the metric.

    Returns:
        bool [n_pairs]: pairs with the same question and labels, as far as the metric depends on them, that were decided
        by rules of one kind.
    """
    mask = np.ones(len(runs.pairing), dtype=bool)
    masks = {"question": runs.pairing.new_question, "gold": runs.pairing.new_gold}
    for reason in reasons:
        if (kind := reason.kind.removeprefix("new_")) in masks:
            mask &= ~masks[kind]
        if reason.kind == "new_rule":
            mask &= ~runs.decided_differently(metric)[1]
    return mask
