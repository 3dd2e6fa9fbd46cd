"""What summary.json says of a few reasoning traces, with numbers that were written by hand."""

import json
from pathlib import Path
from typing import Any

from tests.run_folders import dump, write_sweep_folder

TRACE: dict[str, Any] = {
    "domains": {
        "code": {"n": 3, "mean": 0.5, "p10": 0.2, "p50": 0.45, "p90": 0.9},
        "의료": {"n": 5, "mean": 0.625, "p10": 0.1, "p50": 0.7, "p90": 0.75},
    },
    "shares": {"complexity": 0.25, "novelty": 0.125, "diversity": 0.125, "outcome": 0.5},
    "rules": {"single_thought": 2, "recovery_bonus": 0, "one_tool": 4},
    "sensitivity": {
        "profiles": ["default", "code", "medical"],
        "tau": [[1.0, 0.75, 0.5], [0.75, 1.0, 0.25], [0.5, 0.25, 1.0]],
    },
    "agreement": {
        "n": 6,
        "spearman": 0.8,
        "spearman_low": 0.1,
        "spearman_high": 0.95,
        "kendall": 0.6,
        "kendall_low": None,
        "kendall_high": None,
    },
    "outliers": ["a|b", "c"],
}

ROW: dict[str, Any] = {
    "id": "t1",
    "status": "ok",
    "metrics": {"score": 0.5, "complexity": 0.8, "novelty": 0.5, "diversity": 1.0, "outcome": 0.5},
    "output": {
        "query": "Find the fault",
        "domain": "code",
        "profile": "code",
        "rules": ["one_tool"],
        "weights": {"complexity": 0.25, "novelty": 0.4, "diversity": 0.1, "outcome": 0.2},
        "before_rules": 0.6,
        "rating": None,
        "steps": 4,
        "success": True,
        "confidence": 0.5,
    },
}


def swept(folder: Path, profiles: tuple[str, str], *found: dict[str, Any]) -> Path:
    write_sweep_folder(folder)
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    for cell, profile, trace in zip(head["cells"], profiles, found, strict=True):
        cell["overrides"] = [f"profile={profile}"]
        path = folder / cell["folder"] / "summary.json"
        dump(path, {**json.loads(path.read_text(encoding="utf-8")), "trace": trace})
        run = json.loads(path.with_name("run.json").read_text(encoding="utf-8"))
        run["config"]["evaluation"] = {"_target_": "plugins.evaluation.trace_quality.TraceQuality"}
        dump(path.with_name("run.json"), run)
    dump(folder / "sweep.json", head)
    return folder
