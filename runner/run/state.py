"""What the runs of one command know of each other, in whatever process they are: one file in the folder of the command.

place      where the command was given, by which a worker that begins elsewhere reads relative paths
baseline   the place of the run that they are compared with
wave       how far all of them are taken before any is taken beyond (runner.run.waves)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from runner.system.metadata import read_json, write_json

FILE = ".state.json"

Key = Literal["place", "baseline", "wave"]


def read_state(folder: Path, key: Key) -> dict[str, Any] | None:
    """None where nothing was written."""
    found: dict[str, Any] | None = (read_json(folder / FILE) or {}).get(key)
    return found


def write_state(folder: Path, key: Key, value: dict[str, Any] | None) -> None:
    """Of one process, which holds the folder; None: there is nothing to know."""
    state = {name: known for name, known in (read_json(folder / FILE) or {}).items() if name != key}
    if value is not None:
        state[key] = value
    if state:
        write_json(folder / FILE, state)
    else:
        (folder / FILE).unlink(missing_ok=True)
