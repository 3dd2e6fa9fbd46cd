"""Small real runs, and records frozen from them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from runner.cli import main
from tests.small_data import small_data


def make_small_runs() -> None:
    """In the working directory: `run`, in Korean, and `sweep` over two retrievers, over the data in `자료 (1)`."""
    assert main(words_of_run()) == 0
    assert main([*_words(), "retriever=keyword,hybrid", "out=sweep"]) == 0


def words_of_run() -> list[str]:
    """The words that made `run`, in the folder of the small runs."""
    return [*_words(), "retriever=keyword", "report.language=ko", "out=run"]


def _words() -> list[str]:
    return ["+experiment=full_rag", "k=2", *small_data(Path("자료 (1)")), "tracking=none"]


def make_small_records() -> None:
    """In the working directory, beside the small runs: `experiments/한` of `run` and `experiments/s` of `sweep`."""
    assert main(["freeze", "run", "experiments/한", "--question", "두 개면 충분한가? <b>|"]) == 0
    assert main(["freeze", "sweep", "experiments/s"]) == 0


def copy_of(runs: Path, folder: Path) -> None:
    """The same runs, with their data, in another folder."""
    shutil.copytree(runs, folder, dirs_exist_ok=True)


def read(path: Path | str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def change(path: Path | str, **values: Any) -> None:
    """Values of a JSON file, set."""
    Path(path).write_text(json.dumps({**read(path), **values}, ensure_ascii=False), encoding="utf-8")
