"""Find the `min_score` that separates answerable from unanswerable questions best, on your own questions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group

from runner.commands import Command, Place
from runner.config import arguments
from runner.config.components import build
from runner.config.compose import Cell, plan_of
from runner.config.options import options_of
from runner.errors import EvaluationError, InputError
from runner.metrics import agreement
from runner.report.blocks import EVERYWHERE, Note, Points, Table
from runner.report.terminal import renderables
from runner.run.selection import select_cases
from runner.system import terminal
from runner.system.metadata import write_json
from runner.system.store import Store
from runner.system.writing import make_folder, relative_path
from runner.words.wording import LANGUAGES, Wording, wording

COMMAND = Command("calibrate min_score", (Place("data"),), words="OPTION=VALUE")
FILES = ("corpus.jsonl", "queries.jsonl")
RETRIEVERS = "retriever=keyword,semantic,hybrid"
FOLDS = 5
LEAST = 10  # least questions of each kind

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def main(argv: Sequence[str]) -> int:
    """Raises InputError for too few questions of a kind, ConfigError for wrong options."""
    arguments = COMMAND.read(argv)
    cells = _cells(Path(arguments.data), arguments.words)
    options = cells[0].cfg
    results = [asyncio.run(_entry(cell, _choice(cell, arguments.words))) for cell in cells]
    say = LANGUAGES[str(options.report.language)]
    terminal.show(Group(*renderables(_blocks(results, wording(say.language, "calibrate")))))
    folder = Path(options.out or Path("outputs") / f"{time.strftime('%Y%m%d-%H%M%S')}-calibrate-min_score")
    make_folder(folder)
    write_json(folder / "min_score.json", {"data": arguments.data, "retrievers": results})
    terminal.note(say("progress.results", label="", folder=relative_path(folder)))
    return 0


def _cells(folder: Path, words: Sequence[str]) -> Sequence[Cell]:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"calibrate min_score: {folder} has no {' and no '.join(missing)}; expected {' and '.join(FILES)}"
        )
    data = [f"dataset.{name.removesuffix('.jsonl')}={folder / name}" for name in FILES]
    chosen = [] if any(word.startswith("retriever=") for word in words) else [RETRIEVERS]
    line = arguments.read(["evaluation=retrieval_only", "dataset=jsonl", *data, *chosen, *words])
    if line.asks_hydra:
        raise InputError("calibrate composes no run; use python -m runner --cfg job to print a configuration")
    return plan_of(line).cells


async def _entry(cell: Cell, name: str) -> dict[str, Any]:
    """An entry of `retrievers` in min_score.json."""
    options = options_of(cell.cfg)
    components = build(cell.cfg.evaluation)
    cases = select_cases(components.root.load().cases, options)
    await components.root.prepare(cases, Store(Path(options.cache_dir), components.identities, cold=options.cold_start))
    scores, unanswerable, failed = [], [], 0
    for case in cases:
        try:
            record = (await components.root.run(case)).record()
        except (EvaluationError, TimeoutError):
            failed += 1
            continue
        if "answer_score" not in record:
            raise InputError(
                "calibrate min_score: an agent decides itself whether there is an answer; choose a retriever"
            )
        scores.append(record["answer_score"] or 0.0)  # nothing was found
        unanswerable.append(not record["answerable"])
    numbers = measure(np.array(scores), np.array(unanswerable, dtype=bool), options.min_score, options.seed)
    return {"retriever": name, "failed": failed, **numbers}


def _choice(cell: Cell, words: Sequence[str]) -> str:
    """The chosen retriever, which only the cells of a sweep state."""
    asked = dict(word.partition("=")[::2] for word in (*words, *cell.swept))
    return asked["retriever"]


def measure(scores: Floats, unanswerable: Flags, min_score: float, seed: int) -> dict[str, Any]:
    """Raises InputError where there are too few questions of a kind."""
    n_unanswerable, n_answerable = int(unanswerable.sum()), int((~unanswerable).sum())
    if min(n_unanswerable, n_answerable) < LEAST:
        counts = f"found {n_answerable} answerable and {n_unanswerable} unanswerable ones"
        raise InputError(f"calibrate min_score: expected at least {LEAST} questions of each kind; {counts}")
    best, always = min(1.0, round(best_cut(scores, unanswerable), 3)), f1_always(unanswerable)
    numbers = {
        "n": len(scores),
        "n_unanswerable": n_unanswerable,
        "auc": auc(scores, unanswerable),
        "f1_always_no": always,
        "min_score": min_score,
        "f1": f1_below(scores, unanswerable, min_score),
        "declined_of_answerable": float(np.mean(scores[~unanswerable] < min_score)),
        "best_min_score": best,
        "best_f1": _cross_validate(scores, unanswerable, seed),
        "best_declined_of_answerable": float(np.mean(scores[~unanswerable] < best)),
    }
    return {**numbers, "beats_always_no": numbers["best_f1"] > always}


def _cross_validate(scores: Floats, unanswerable: Flags, seed: int) -> float:
    """Cross-validated F1: each part is classified with the best cut of the others. The parts are stratified."""
    order = np.random.default_rng(seed).permutation(len(scores))
    order = order[np.argsort(unanswerable[order], kind="stable")]
    predicted = np.zeros(len(scores), dtype=bool)
    for fold in range(FOLDS):
        own = order[fold::FOLDS]
        others = np.setdiff1d(order, own)
        predicted[own] = scores[own] < best_cut(scores[others], unanswerable[others])
    return f1_below(np.where(predicted, 0.0, 1.0), unanswerable, 0.5)


def _blocks(results: Sequence[Mapping[str, Any]], say: Wording) -> list[Any]:
    columns = ("retriever", "auc", "always_no", "at", "best", "set")
    rows = [
        [
            str(result["retriever"]),
            f"{result['auc']:.3f}",
            f"{result['f1_always_no']:.3f}",
            f"{result['f1']:.3f}",
            f"{result['best_f1']:.3f}",
            f"{result['best_min_score']:.3f}",
        ]
        for result in results
    ]
    first = results[0]
    counts = say("min_score.counts", n=first["n"], unanswerable=first["n_unanswerable"])
    table = Table([say(f"min_score.{name}", min_score=first["min_score"]) for name in columns], rows, media=EVERYWHERE)
    kinds = {True: "min_score.advice", False: "min_score.nothing"}
    advice = [say(kinds[result["beats_always_no"]], **_shares(result)) for result in results]
    return [Note(counts, media=EVERYWHERE), table, Points(advice, media=EVERYWHERE)]


def _shares(result: Mapping[str, Any]) -> dict[str, Any]:
    names = ("declined_of_answerable", "best_declined_of_answerable")
    return {**result, **{name: f"{result[name]:.1%}" for name in names}}


# How well scores (higher for answerable) separate questions; unanswerable is the positive class.
# scores: float64 [n], unanswerable: bool [n].


def auc(scores: Floats, unanswerable: Flags) -> float:
    """Probability that an answerable question scores higher than an unanswerable one, ties counting half; NaN without
    both."""
    found = agreement.auc(scores, ~unanswerable)
    return float("nan") if found is None else found


def f1_below(scores: Floats, unanswerable: Flags, cut: float) -> float:
    """F1 of calling questions below `cut` unanswerable; 0 where none is called or is unanswerable."""
    called = scores < cut
    total = int(called.sum() + unanswerable.sum())
    return 2 * int((called & unanswerable).sum()) / total if total else 0.0


def f1_always(unanswerable: Flags) -> float:
    """F1 of calling every question unanswerable."""
    return 2 * int(unanswerable.sum()) / (int(unanswerable.sum()) + len(unanswerable)) if len(unanswerable) else 0.0


def best_cut(scores: Floats, unanswerable: Flags) -> float:
    """The cut with the highest F1, midway between two scores; the lowest of equals."""
    levels = np.unique(scores)
    cuts = [*((levels[:-1] + levels[1:]) / 2), float(levels[-1]) + 1e-6]
    return float(max(cuts, key=lambda cut: (f1_below(scores, unanswerable, float(cut)), -cut)))
