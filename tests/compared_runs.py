"""Two runs of twelve questions, compared: the candidate has lost q-00 and won q-01."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runner.compare.compare import compare
from runner.compare.record import record_of
from runner.compare.regression import Regression
from runner.compare.sides import Place, open_place
from runner.compare.snapshot import write_snapshot
from tests.run_folders import row, write_run


def compared(folder: Path, language: str = "en", **rule: Any) -> tuple[Path, dict[str, Any]]:
    """The folder of the candidate, and compare.json. The labels of the runs are `<baseline>` and `<candidate>`."""
    names = [f"q-{n:02}" for n in range(12)]
    rows = {
        "baseline": [_answered(name, right=name != "q-01") for name in names],
        "candidate": [_answered(name, right=name != "q-00") for name in names],
    }
    sides = []
    for name, found in rows.items():
        path = write_run(folder / name, {"config": {"report": {"language": language}}}, rows=found)
        write_snapshot(path)
        sides.append(open_place(Place(path, f"<{name}>")))
    rules = Regression(rules=[{"metric": "recall_at_k", "margin": 0.5, **rule}], must_not_break=["q-00", "q-02"])
    return folder / "candidate", record_of(compare(*sides, rules, seed=1), fail_on_regression=False)


def _answered(id: str, *, right: bool) -> dict[str, Any]:
    place, recall = ("none", 1.0) if right else ("below_k", 0.0)
    return row(id, metrics={"recall_at_k": recall}, labels={"lost_at": place}, output={"answer": f"<b>{place}</b>"})
