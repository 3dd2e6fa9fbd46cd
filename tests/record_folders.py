"""Small real runs, and records frozen from them."""

from __future__ import annotations

import json
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

from runner.cli import main
from tests.small_data import small_data


def small_runs(data: Path) -> None:
    """In the working directory: `run`, in Korean, and `sweep` over two retrievers, over data written to `data`."""
    asked = ["+experiment=full_rag", "k=2", *small_data(data), "tracking=none"]
    assert main([*asked, "retriever=keyword", "report.language=ko", "out=run"]) == 0
    assert main([*asked, "retriever=keyword,hybrid", "out=sweep"]) == 0


def small_records(folder: Path, one: str, several: str, *words: str) -> Path:
    """In `folder`: the small runs over `자료 (1)`, and the records `one` of `run` (with `words`) and `several` of
    `sweep`."""
    with chdir(folder):
        small_runs(Path("자료 (1)"))
        assert main(["freeze", "run", one, *words]) == 0
        assert main(["freeze", "sweep", several]) == 0
    return folder


def copy_of(runs: Path, folder: Path) -> None:
    """The same runs, with their data, in another folder."""
    shutil.copytree(runs, folder, dirs_exist_ok=True)


def read(path: Path | str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def change(path: Path | str, **values: Any) -> None:
    """Values of a JSON file, set."""
    Path(path).write_text(json.dumps({**read(path), **values}, ensure_ascii=False), encoding="utf-8")
