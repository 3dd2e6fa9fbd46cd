"""What a sweep has asked of models and what it cost: one file for all of its runs and processes.

With a budget, what a request may cost at most is reserved before it is sent, so that the limits hold
whoever asks. A reservation whose process is gone counts as spent: the server may have answered.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runner.database import Database
from runner.errors import BudgetSpentError
from runner.llm.messages import Usage
from runner.llm.settings import Budget

FILE = "ledger.sqlite"
SCHEMA = """
CREATE TABLE IF NOT EXISTS spent (
    cell TEXT, role TEXT, model TEXT, source TEXT, requests INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    cached_input_tokens INTEGER, nano_usd INTEGER, unpriced INTEGER, retries INTEGER,
    PRIMARY KEY (cell, role, model, source)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reserved (
    id INTEGER PRIMARY KEY, pid INTEGER, cell TEXT, role TEXT, model TEXT, tokens INTEGER, nano_usd INTEGER
);
CREATE TABLE IF NOT EXISTS start (id INTEGER PRIMARY KEY CHECK (id = 0), at REAL);
"""
NUMBERS = (
    "requests", "input_tokens", "output_tokens", "cached_input_tokens", "nano_usd", "unpriced", "retries",
)  # fmt: skip
ADD = (
    f"INSERT INTO spent VALUES (?, ?, ?, ?, {', '.join('?' * len(NUMBERS))}) ON CONFLICT DO UPDATE SET "  # noqa: S608
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in NUMBERS)
)
FLUSH_S = 1.0

Source = Literal["live", "cached"]


@dataclass(frozen=True, slots=True)
class Account:
    """On whose behalf something is asked: the run, the role and the model."""

    cell: str
    role: str
    model: str


def begin(folder: Path, limits: Budget) -> None:
    """A command is given: the clock of `budget.minutes` starts."""
    if limits.get("minutes") is not None:
        database = Database(folder / FILE, SCHEMA)
        database.use(lambda rows: rows.execute("INSERT OR REPLACE INTO start VALUES (0, ?)", (time.time(),)))
        database.close()


class Ledger:
    """In memory without a folder. `limits`: the budget that holds over all accounts."""

    def __init__(self, folder: Path | None, limits: Budget) -> None:
        self._database = Database(None if folder is None else folder / FILE, SCHEMA)
        limited = {name: limits.get(name) for name in ("usd", "tokens", "requests", "minutes")}
        self._limits = {name: float(str(limit)) for name, limit in limited.items() if limit is not None}
        self._pending: dict[tuple[Account, Source], list[int]] = {}
        self._flushed = time.monotonic()
        self._opened = False

    @property
    def is_limited(self) -> bool:
        return bool(self._limits)

    def open(self) -> None:
        """Takes over what processes that are gone had reserved."""
        if self.is_limited and not self._opened:
            self._database.use(_settle_abandoned)
            self._database.use(lambda rows: rows.execute("INSERT OR IGNORE INTO start VALUES (0, ?)", (time.time(),)))
        self._opened = True

    def reserve(self, account: Account, tokens: int, nano_usd: int | None) -> int | None:
        """The id of a reservation; None while others hold what is left and may give it back. Raises
        BudgetSpentError when nothing that is still held could make room."""
        self.open()
        self._flush()

        def attempt(rows: sqlite3.Connection) -> int | None:
            rows.execute("BEGIN IMMEDIATE")
            try:
                over = self._over(rows, tokens, nano_usd)
                if over:
                    held = rows.execute("SELECT COUNT(*) FROM reserved").fetchone()[0]
                    if held and "minutes" not in over:
                        return None
                    raise BudgetSpentError(over)
                insert = "INSERT INTO reserved (pid, cell, role, model, tokens, nano_usd) VALUES (?, ?, ?, ?, ?, ?)"
                row = (os.getpid(), account.cell, account.role, account.model, tokens, nano_usd)
                return int(rows.execute(insert, row).lastrowid or 0)
            finally:
                rows.execute("COMMIT")

        return self._database.use(attempt)

    def settle(
        self, reservation: int | None, account: Account, usage: Usage, nano_usd: int | None, retries: int = 0
    ) -> None:
        """A live request was answered: what it did cost takes the place of what was reserved for it."""
        self._note(account, "live", usage, nano_usd, retries)
        if reservation is not None:
            self._flush(reservation)

    def release(self, reservation: int | None) -> None:
        """A live request was not answered: nothing was spent."""
        if reservation is not None:
            self._flush(reservation)

    def note_cached(self, account: Account, usage: Usage, nano_usd: int | None) -> None:
        """A request was answered from the cache, or together with an identical one: what it would have cost."""
        self._note(account, "cached", usage, nano_usd, 0)

    def usage(self, cell: str) -> dict[str, Any]:
        """`{"usage": {role: {model: {"live": {...}, "cached": {...}}}}, "usage_total": {"live", "cached"}}` of one
        run, over all its attempts. `usd` is None where a price is unknown."""
        self._flush()
        select = (
            f"SELECT role, model, source, {', '.join(NUMBERS)} FROM spent WHERE cell = ? ORDER BY role, model, source"  # noqa: S608
        )
        rows = self._database.use(lambda database: database.execute(select, (cell,)).fetchall())
        by_role: dict[str, dict[str, dict[str, Any]]] = {}
        totals: dict[str, list[int]] = {"live": [0] * len(NUMBERS), "cached": [0] * len(NUMBERS)}
        for role, model, source, *numbers in rows:
            both = by_role.setdefault(role, {}).setdefault(model, {"live": _shown(NO_USE), "cached": _shown(NO_USE)})
            both[source] = _shown(numbers)
            totals[source] = [total + number for total, number in zip(totals[source], numbers, strict=True)]
        if not by_role:
            return {}
        return {"usage": by_role, "usage_total": {source: _shown(numbers) for source, numbers in totals.items()}}

    def close(self) -> None:
        """It opens again when it is used; what is kept in memory stays."""
        self._flush()
        if self._database.path is not None:
            self._database.close()

    # --- inside -----------------------------------------------------------------------------------

    def _note(self, account: Account, source: Source, usage: Usage, nano_usd: int | None, retries: int) -> None:
        numbers = (
            1,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            nano_usd or 0,
            int(nano_usd is None),
            retries,
        )
        total = self._pending.setdefault((account, source), list(NO_USE))
        for place, number in enumerate(numbers):
            total[place] += number
        if not self.is_limited and time.monotonic() - self._flushed >= FLUSH_S:
            self._flush()

    def _flush(self, reservation: int | None = None) -> None:
        pending, self._pending = self._pending, {}
        self._flushed = time.monotonic()
        added = [
            (account.cell, account.role, account.model, source, *total) for (account, source), total in pending.items()
        ]
        if not added and reservation is None:
            return

        def write(rows: sqlite3.Connection) -> None:
            rows.execute("BEGIN IMMEDIATE")
            rows.executemany(ADD, added)
            rows.execute("DELETE FROM reserved WHERE id = ?", (reservation,))
            rows.execute("COMMIT")

        self._database.use(write)

    def _over(self, rows: sqlite3.Connection, tokens: int, nano_usd: int | None) -> str:
        """Which limit one more request would pass, in words; empty when none."""
        spent = rows.execute(
            "SELECT TOTAL(requests), TOTAL(input_tokens + output_tokens), TOTAL(nano_usd) FROM spent"
            " WHERE source = 'live'"
        ).fetchone()
        held = rows.execute("SELECT COUNT(*), TOTAL(tokens), TOTAL(nano_usd) FROM reserved").fetchone()
        started = rows.execute("SELECT at FROM start").fetchone()
        found: Mapping[str, tuple[float, float]] = {
            "minutes": ((time.time() - started[0]) / 60, 0),
            "requests": (spent[0], held[0] + 1),
            "tokens": (spent[1], held[1] + tokens),
            "usd": (spent[2] / 1e9, (held[2] + (nano_usd or 0)) / 1e9),
        }
        for name, limit in self._limits.items():
            used, wanted = found[name]
            if used + wanted > limit:
                return f"budget.{name}={limit:g} is spent ({_number(used)} used)"
        return ""


NO_USE = (0,) * len(NUMBERS)


def _shown(numbers: tuple[int, ...] | list[int]) -> dict[str, Any]:
    found = dict(zip(NUMBERS, numbers, strict=True))
    nano, unpriced = found.pop("nano_usd"), found.pop("unpriced")
    return {**found, "usd": None if unpriced else nano / 1e9}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"


def _settle_abandoned(rows: sqlite3.Connection) -> None:
    rows.execute("BEGIN IMMEDIATE")
    for id, pid, cell, role, model, tokens, nano in rows.execute("SELECT * FROM reserved").fetchall():
        if not _is_alive(pid):
            rows.execute(ADD, (cell, role, model, "live", 1, tokens, 0, 0, nano or 0, int(nano is None), 0))
            rows.execute("DELETE FROM reserved WHERE id = ?", (id,))
    rows.execute("COMMIT")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
