"""Compares finished runs: is one of them better, and where?

snapshots       reading snapshot.json, whole or not at all
sides           what a reference names: a file, a folder, a run of MLflow, the latest one
pairing         which case of one run is which of the other
comparability   which metrics mean the same in both
corpus          which documents changed, and which cases met them
differences     a metric over the pairs: difference, interval, p
verdicts        from numbers to better, worse, within noise, inconclusive
expense         latency, cost and tokens
slices          pairs by language, difficulty and tag
flips           questions that went from right to wrong and back
texts           what was asked and answered there
configs         what was set differently
anchoring       gold chunks in two corpora that are cut differently
gate            regression rules held against a comparison
compare         all of it together
record          compare.json

Of the runs of a sweep:

chosen          which of them is the baseline
cells           their means over the very same cases
front           those that no other beats in quality, cost and latency at once
gap             how far each gets from a floor to a ceiling
sweep           all of it together
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import runner


class _Callable(ModuleType):
    """`runner.compare(…)` stays a function of runner.commands._api after this package of the same name is imported."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return runner.__getattr__("compare")(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
