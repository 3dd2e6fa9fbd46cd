"""What a run has written, as a test reads it."""

import json
from pathlib import Path
from typing import Any


def read(path: Path | str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def summary(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = read(Path(folder, "summary.json"))
    return found


def rows(folder: str) -> dict[str, Any]:
    lines = Path(folder, "per_item.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}
