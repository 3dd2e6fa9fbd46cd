"""The folder of a small calibration, with numbers that were written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.run_folders import HOSTILE, dump, merged


def estimate(value: float | None, width: float | None = 0.05) -> dict[str, float | None]:
    if value is None or width is None:
        return {"value": value, "low": None, "high": None}
    return {"value": value, "low": round(value - width, 4), "high": round(value + width, 4)}


FAITHFULNESS: dict[str, Any] = {
    "n": 12,
    "n_judged": 11,
    "n_failed": 1,
    "n_groups": 6,
    "pearson": estimate(0.81),
    "spearman": estimate(0.77),
    "within_system": {"n": 11, "pearson": estimate(0.7), "spearman": estimate(0.66)},
    "mean_judge": 0.5,
    "mean_human": 0.6,
    "bias": estimate(-0.1),
    "kappa": 0.55,
    "kappa_quadratic": 0.62,
    "sensitivity": 5 / 7,
    "specificity": 0.75,
    "balanced_accuracy": (5 / 7 + 0.75) / 2,
    "macro_f1": (10 / 13 + 6 / 9) / 2,
    "auc": 0.79,
    "confusion": {"true_positive": 5, "false_positive": 1, "false_negative": 2, "true_negative": 3},
    "people": {
        "n": 12,
        "ratings": 3,
        "alpha": estimate(0.61),
        "noise_sd": 0.15,
        "one_left_out": {
            "n": 11,
            "person": estimate(0.6),
            "judge": estimate(0.75),
            "difference": estimate(0.15),
        },
    },
    "slices": {
        "system": {
            "m1": {"n": 6, "pearson": 0.8, "spearman": 0.7, "mean_judge": 0.6, "mean_human": 0.7},
            "m|2": {"n": 5, "pearson": None, "spearman": None, "mean_judge": 0.4, "mean_human": 0.5},
        },
        "language": {},
    },
    "worst": [{"id": "a", "judge": 0.1, "human": 0.9}, {"id": HOSTILE, "judge": 1.0, "human": 0.25}],
}
RELEVANCY: dict[str, Any] = {
    **FAITHFULNESS,
    "n": 3,
    "n_judged": 3,
    "n_failed": 0,
    "n_groups": 1,
    "pearson": estimate(None),
    "spearman": estimate(None),
    "within_system": None,
    "bias": estimate(0.2, None),
    "kappa": None,
    "kappa_quadratic": None,
    "people": None,
    "slices": {"system": {}, "language": {}},
    "worst": [],
}
USE = {"requests": 20, "input_tokens": 9000, "output_tokens": 800, "cached_input_tokens": 0, "usd": 0.002, "retries": 1}
RESULT: dict[str, Any] = {
    "schema": 1,
    "status": "completed",
    "exit_code": 0,
    "error_message": None,
    "judge": "openai",
    "baseline": False,
    "provenance": {},
    "config": {
        "judge": {"_target_": "plugins.judge.openai.OpenaiJudge", "model": "openai:x", "repeats": 2, "health": True},
        "report": {"language": "en", "high": 0.6},
        "provider": {"openai": {"prices": {"date": "2026-11-01"}}},
    },
    "words": ["라벨.jsonl", "scale=1,4", "judge=openai", "out=somewhere"],
    "labels": {
        "path": "라벨.jsonl",
        "fingerprint": "f" * 64,
        "n": 12,
        "scale": [1.0, 4.0],
        "names": {"faithfulness": "faithfulness", "answer_relevancy": "useful"},
        "problems": {"errors": 1, "warnings": 2},
    },
    "threshold": {"judge": 0.5, "human": 0.75},
    "cases": {"total": 12, "ok": 12, "failed": 0, "timeout": 0, "pending": 0, "unscored": 1},
    "rubrics": {"faithfulness": FAITHFULNESS, "answer_relevancy": RELEVANCY},
    "judging": {
        "faithfulness": {
            "n": 11,
            "votes": 2,
            "failed": 1,
            "alpha": 0.9,
            "alpha_low": 0.85,
            "alpha_high": 0.95,
            "noise_sd": 0.04,
        }
    },
    "run": {"folder": "outputs/1", "id": "run-1", "status": "completed"},
    "corrected": {
        "faithfulness": {
            "n_labelled": 11,
            "n_groups": 6,
            "n_others": 300,
            "n_shared": 4,
            "n_failed": 2,
            "mean_judge": 0.52,
            "corrected": {"value": 0.61, "low": 0.55, "high": 0.67, "weight": 0.8},
            "labels_alone": {"value": 0.6, "low": 0.45, "high": 0.75, "weight": 0.0},
        },
        "answer_relevancy": {
            "n_labelled": 3,
            "n_groups": 1,
            "n_others": 300,
            "n_shared": 0,
            "n_failed": 0,
            "mean_judge": 0.9,
            "corrected": None,
            "labels_alone": None,
        },
    },
    "versions": {"runner": "0.1.0", "python": "3.11.2"},
    "git": None,
    "timing": {
        "created_at": "2026-01-02T03:04:05Z",
        "elapsed_s": 2.5,
        "usage": {"judge": {"openai:x": {"live": USE, "cached": {**USE, "requests": 0, "usd": 0.0}}}},
    },
}


def item(id: str, **changes: Any) -> dict[str, Any]:
    said = {"judge": 0.1, "human": 0.9, "ratings": [1.0, 0.8], "reasoning": "No chunk says so.", "error": None}
    given = {"system": "m1", "group": "g", "language": "en", "question": "How long?", "answer": "27 days."}
    return {"id": id, **given, "status": "ok", "error": None, "rubrics": {"faithfulness": said}, **changes}


ITEMS = [
    item("a"),
    item("b"),
    item(
        HOSTILE,
        system=None,
        question=HOSTILE,
        answer="환불은 " * 300,
        rubrics={"faithfulness": {"judge": 1.0, "human": 0.25, "ratings": [0.25], "reasoning": "", "error": None}},
    ),
]


def write_calibration(folder: Path, changes: Mapping[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    dump(folder / "calibration.json", merged(RESULT, changes or {}))
    lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in ITEMS)
    (folder / "items.jsonl").write_text(lines, encoding="utf-8")
    return folder
