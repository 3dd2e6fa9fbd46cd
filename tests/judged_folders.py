"""Sweeps whose runs differ in their judge, with hand-written scores of every answer."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.run_folders import dump
from tests.swept_folders import write_swept


def write_judged(
    folder: Path, scores: Mapping[str, Sequence[float | None]], *, ks: Sequence[int] = (), language: str = "en"
) -> Path:
    """Override -> what that judge gave the answers of the cases q-00, q-01, …, which are those of all runs; None: it
    failed."""
    columns = {judge: {"faithfulness": [score or 0.0 for score in column]} for judge, column in scores.items()}
    write_swept(folder, columns, ks=ks, language=language)
    for number, (judge, column) in enumerate(scores.items()):
        path = folder / str(number) / "per_item.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for place, (row, score) in enumerate(zip(rows, column, strict=True)):
            row["output"] = {**row["output"], "query": f"Question {place}?", "answer": f"Answer {place}."}
            row["judgements"] = {"faithfulness": {"score": score, "reasoning": "", "error": None, "details": {}}}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        run = json.loads((folder / str(number) / "run.json").read_text(encoding="utf-8"))
        judged_by = {"judge": judge, "prompts": {}}
        dump(folder / str(number) / "run.json", {**run, "judged_by": judged_by, "overrides": [judge]})
    return folder
