"""Folders of small finished runs and sweeps, with numbers that were written by hand."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.model_runs import MODELS_RUN, MODELS_SUMMARY

KOREAN = {"config": {"report": {"language": "ko"}}}
HOSTILE = "a|b `c` <script>alert(1)</script>\n# d [e](f) *g* _h_ & \u202e i"


def estimate(value: float | None, n: int, n_scored: int | None = None, scored: float | None = None) -> dict[str, Any]:
    """An entry of summary.metrics whose interval is 0.05 wide on each side."""
    return {
        "value": value,
        "n": n,
        "n_scored": n if n_scored is None else n_scored,
        "ci_low": None if value is None else round(max(0.0, value - 0.05), 4),
        "ci_high": None if value is None else round(min(1.0, value + 0.05), 4),
        "value_scored": value if scored is None else scored,
    }


AT_K = {"precision": 0.24, "recall": 0.85, "hit_rate": 0.85, "ndcg": 0.78, "map": 0.71}
METRICS: dict[str, Any] = {
    **{f"{name}_at_k": estimate(value, 8) for name, value in AT_K.items()},
    "mrr": estimate(0.72, 8),
    **{f"{name}_at_{c}": estimate(value, 8) for c in (1, 3, 5, 10) for name, value in {**AT_K, "mrr": 0.72}.items()},
    "chunk/recall_at_k": estimate(0.5, 4),
    **{
        f"{leg}/{name}_at_k": estimate(value - 0.1, 8)
        for leg in ("keyword", "semantic")
        for name, value in AT_K.items()
    },
    "unanswerable_precision": estimate(2 / 3, 3),
    "unanswerable_recall": estimate(1.0, 2),
    "unanswerable_f1": estimate(0.8, 10),
    "mean_faithfulness": estimate(0.825, 10, 9, 0.9167),
    "mean_answer_relevancy": estimate(0.58, 10),
    "exact_match": estimate(0.375, 8),
    "token_f1": estimate(0.61, 8),
}
SLICED = ("recall_at_k", "ndcg_at_k", "mrr", "mean_faithfulness", "mean_answer_relevancy")
SUMMARY: dict[str, Any] = {
    "schema": 1,
    "status": "completed",
    "experiment": "full_rag",
    "evaluation": "full_rag",
    "k": 5,
    "fingerprint": "f" * 64,
    "cases": {"total": 10, "ok": 9, "failed": 0, "timeout": 1, "pending": 0},
    "metrics": METRICS,
    "slices": {
        "language": {name: {m: METRICS[m] for m in SLICED} for name in ("en", "ko")},
        "difficulty": {name: {m: METRICS[m] for m in SLICED} for name in ("easy", "hard")},
        "tag": {name: {m: METRICS[m] for m in SLICED} for name in ("billing", "결제", "a|b/c")},
    },
    "counts": {
        "answerability": {"true_positive": 2, "false_positive": 1, "true_negative": 7},
        "cross": {
            "retrieval_high_generation_high": 5,
            "retrieval_high_generation_low": 3,
            "retrieval_low_generation_low": 2,
        },
        "lost_at": {"none": 6, "not_retrieved": 1, "below_k": 1, "wrong_answer": 1, "refused_answerable": 1},
        "pattern": {"ideal": 5, "hallucination_risk": 1, "context_mismatch": 3, "overall_problem": 1},
    },
    "mean_faithfulness": 0.825,
    "mean_answer_relevancy": 0.58,
    "facts": {"retriever": "hybrid", "min_score": 0.3, "baselines": ["generator=extractive", "judge=lexical"]},
    "data_problems": {"errors": 1, "warnings": 2},
    "timing": {
        "latency": {
            "retrieval": {"p50_ms": 3.14, "p95_ms": 9.87, "n": 4},
            "generation": {"p50_ms": None, "p95_ms": None, "n": 0},
            "case": {"p50_ms": 12.0, "p95_ms": 20.5, "n": 9},
        },
        "index": {"build_s": 1.234, "size_bytes": 3 * 2**20},
        "created_at": "2026-01-02T03:04:05Z",
        "elapsed_s": 2.5,
    },
}
RUN: dict[str, Any] = {
    "schema": 1,
    "id": "run-1",
    "sweep_id": None,
    "status": "completed",
    "exit_code": 0,
    "error_message": None,
    "experiment": "full_rag",
    "evaluation_type": "full_rag",
    "k": 5,
    "fingerprint": "f" * 64,
    "overrides": ["+experiment=full_rag", "k=5", "out=elsewhere"],
    "choices": {
        "dataset": "demo",
        "retriever": "hybrid",
        "generator": "extractive",
        "judge": "lexical",
        "tracking": "mlflow",
    },
    "config": {
        "k": 5,
        "cutoffs": [1, 3, 5, 10],
        "min_score": 0.3,
        "sample": None,
        "out": "elsewhere",
        "report": {"language": "en", "high": 0.6},
        "tokenizer": {"_target_": "plugins.tokenizer.auto.AutoTokenizer"},
        "retriever": {
            "_target_": "plugins.retriever.keyword.KeywordRetriever",
            "k1": 1.5,
            "tokenizer": {"_target_": "plugins.tokenizer.auto.AutoTokenizer"},
        },
        "evaluation": {
            "_target_": "plugins.evaluation.full_rag.FullRag",
            "retriever": {
                "_target_": "plugins.retriever.keyword.KeywordRetriever",
                "k1": 1.5,
                "tokenizer": {"_target_": "plugins.tokenizer.auto.AutoTokenizer"},
            },
            "k": 5,
        },
        "tracking": {"_target_": "plugins.tracking.none.NoTracking"},
    },
    "versions": {"runner": "0.1.0", "python": "3.11.2"},
    "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": True},
    "identity": {"corpus": "c" * 64, "queries": "d" * 64},
    "mean_faithfulness": 0.825,
    "mean_answer_relevancy": 0.58,
    "created_at": "2026-01-02T03:04:05Z",
    "updated_at": "2026-01-02T03:04:15Z",
}


def row(id: str, **changes: Any) -> dict[str, Any]:
    """A row of a question that went well."""
    metrics = {"recall_at_k": 1.0, "faithfulness": 1.0, "answer_relevancy": 1.0, **changes.pop("metrics", {})}
    output = {
        "query": f"What is {id}?",
        "answerable": True,
        "expected": ["doc-1"],
        "retrieved": [
            {"id": "doc-1", "chunk": "doc-1#0", "title": "First", "score": 9.5, "relevance": 0.91},
            {"id": "doc-2", "chunk": "doc-2#1", "title": "", "score": 4.0, "relevance": 0.4},
        ],
        "answer": f"It is {id}. [1]",
        "declined": False,
        "citations": [1],
        "contexts": [{"id": "doc-1#0", "title": "First", "text": "The first text."}],
        "answers": [],
        **changes.pop("output", {}),
    }
    labels = {"lost_at": "none", "answerability": "true_negative", **changes.pop("labels", {})}
    return {
        "id": id,
        "status": "ok",
        "metrics": metrics,
        "output": output,
        "latency_ms": 12.0,
        "language": "en",
        "difficulty": "easy",
        "tags": ["billing"],
        "labels": labels,
        "unscored": [],
        "weights": {},
        "timings": {"retrieval": {"ms": 3.0, "live": True}},
        "judgements": {"faithfulness": {"score": 1.0, "reasoning": "All claims hold.", "error": None, "details": {}}},
        "error": None,
        "stage": None,
        **changes,
    }


ROWS = [
    row("q-1"),
    row("q-2", metrics={"recall_at_k": 0.0}, labels={"lost_at": "not_retrieved"}, output={"retrieved": []}),
    row("q-3", metrics={"answer_relevancy": 0.5}),
    row(
        "q-4",
        language="ko",
        metrics={"faithfulness": 0.0, "answer_relevancy": 0.25},
        unscored=["faithfulness"],
        labels={"lost_at": "wrong_answer"},
        output={
            "query": "환불은 며칠 안에 되나요?",
            "answer": "모릅니다.",
            "answers": ["7일"],
            "expected": ["환불-정책"],
        },
        judgements={
            "faithfulness": {"score": None, "reasoning": "", "error": "no JSON in the reply", "details": {}},
            "answer_relevancy": {"score": 0.25, "reasoning": "질문과 거의 무관", "error": None, "details": {}},
        },
    ),
    row(
        "q-5",
        labels={"lost_at": "answered_unanswerable", "answerability": "false_negative"},
        output={"answerable": False, "expected": []},
        metrics={"recall_at_k": None},
    ),
    row("q-6|x", metrics={"recall_at_k": 0.5}, labels={"lost_at": "below_k"}, output={"query": HOSTILE}),
    row("q-7", status="timeout", output={}, metrics={}, error="the case did not end before its deadline", stage="run"),
]
ERRORS = [
    {"id": None, "stage": "data", "severity": "error", "error": "no id", "path": "q.jsonl", "line": 3, "field": "id"},
    {"id": "q-4", "stage": None, "status": "ok", "error": None, "unscored": ["faithfulness"]},
    {"id": "q-7", "stage": "run", "status": "timeout", "error": "late", "unscored": []},
]


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes`; mappings are merged, everything else is replaced."""
    result = copy.deepcopy(dict(base))
    for name, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
        result[name] = merged(result[name], value) if both else value
    return result


def write_run(
    folder: Path,
    run: Mapping[str, Any] | None = None,
    summary: Mapping[str, Any] | None = None,
    rows: Sequence[Mapping[str, Any]] = ROWS,
    errors: Sequence[Mapping[str, Any]] = ERRORS,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    dump(folder / "run.json", merged(RUN, run or {}))
    dump(folder / "summary.json", merged(SUMMARY, summary or {}))
    for name, lines in (("per_item.jsonl", rows), ("errors.jsonl", errors)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_sweep_folder(folder: Path, ks: Sequence[int] = (3, 5), language: str = "en") -> Path:
    """A sweep over k whose recall is k / 10."""
    cells = []
    for number, k in enumerate(ks):
        run = {"id": f"{folder.name}-{number}", "sweep_id": folder.name, "k": k}
        run |= {"config": {"k": k, "report": {"language": language}}}
        summary = {"k": k, "metrics": {"recall_at_k": estimate(k / 10, 8)}}
        write_run(folder / str(number), run, summary)
        cells.append({"folder": str(number), "overrides": [f"k={k}"], "status": "completed", "exit_code": 0})
    head = {"schema": 1, "id": folder.name, "experiment": "full_rag", "status": "completed"}
    dump(folder / "sweep.json", {**head, "created_at": "2026-01-02T03:04:05Z", "cells": cells})
    return folder


def write_stopped_sweep(folder: Path, done: Mapping[int, Sequence[int]], language: str = "en") -> Path:
    """A sweep over k that a budget has stopped: `done` maps k to the numbers of the cases (of 10) that it has
    finished. The recall of case n is 0.1 n at k = 3 and twice that at k = 5; all of them done is completed."""
    write_sweep_folder(folder, list(done), language)
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    for cell, (k, cases) in zip(head["cells"], done.items(), strict=True):
        ended = {"status": "completed", "exit_code": 0, "error_message": None}
        if len(cases) < 10:
            ended = {"status": "partial", "exit_code": 3, "error_message": "budget.usd=1 is spent (0.9980 used)"}
            head["status"] = "partial"
        run = merged(MODELS_RUN, {"k": k, "config": {"k": k, "seed": 1, "report": {"language": language}}, **ended})
        counts = {"total": 10, "ok": len(cases), "failed": 0, "timeout": 0, "pending": 10 - len(cases)}
        recall = {"recall_at_k": estimate(k / 10, len(cases))}
        summary = {"k": k, "cases": counts, "metrics": recall, **ended}
        rows = [row(f"q-{n}", metrics={"recall_at_k": 0.1 * n * (2 if k == 5 else 1)}) for n in cases]
        write_run(folder / cell["folder"], run, merged(MODELS_SUMMARY, summary), rows)
        cell |= ended
    dump(folder / "sweep.json", head)
    return folder


def dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2), encoding="utf-8")
