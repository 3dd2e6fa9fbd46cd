"""The state that the runs of one command share across processes: one file in the folder of the command.

place      the working folder of the command: workers that start elsewhere read relative paths from there
baseline   the place of the run that they are compared with
wave       the current wave of the sweep (runner.run.waves)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from runner.system.metadata import read_json, write_json

FILE = ".state.json"

Key = Literal["place", "baseline", "wave"]


def read_state(folder: Path, key: Key) -> dict[str, Any] | None:
    """The value; None where none was written."""
    found: dict[str, Any] | None = (read_json(folder / FILE) or {}).get(key)
    return found


def write_state(folder: Path, key: Key, value: dict[str, Any] | None) -> None:
    """Only the process that holds the lock of the folder may write. None deletes the value."""
    state = {name: known for name, known in (read_json(folder / FILE) or {}).items() if name != key}
    if value is not None:
        state[key] = value
    if state:
        write_json(folder / FILE, state)
    else:
        (folder / FILE).unlink(missing_ok=True)
