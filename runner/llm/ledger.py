"""The requests and the cost of a sweep: one file for all of its runs and processes.

With a budget, the highest possible cost of a request is reserved before it is sent, so that the limits hold over all
processes. Of tokens that is many times what a request takes (a token has at least one byte): once a role has been
answered LEARNT times, it is what the largest of its requests took for its size, with a margin. Where the real cost is
unknown (no answer in time, a process that died), the highest possible cost counts.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from runner.errors import BudgetSpentError, InputError
from runner.llm.messages import SERVICES, Usage
from runner.llm.presence import Presence, is_present
from runner.llm.settings import Budget
from runner.system import terminal
from runner.system.database import DamagedError, Database, damage_error
from runner.words.wording import current_wording

T = TypeVar("T")

FILE = "ledger.sqlite"
SCHEMA = """
CREATE TABLE spent (
    cell TEXT, role TEXT, model TEXT, source TEXT, requests INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    cached_input_tokens INTEGER, nano_usd INTEGER, unpriced INTEGER, retries INTEGER,
    PRIMARY KEY (cell, role, model, source)
);
CREATE TABLE reserved (
    id INTEGER PRIMARY KEY, owner TEXT, cell TEXT, role TEXT, model TEXT, input_tokens INTEGER,
    output_tokens INTEGER, nano_usd INTEGER
);
CREATE TABLE sweep (id INTEGER PRIMARY KEY CHECK (id = 0), name TEXT, begun_at REAL)
"""
NUMBERS = ("requests", "input_tokens", "output_tokens", "cached_input_tokens", "nano_usd", "unpriced", "retries")
ADD = (
    f"INSERT INTO spent VALUES (?, ?, ?, ?, {', '.join('?' * len(NUMBERS))}) ON CONFLICT DO UPDATE SET "  # noqa: S608
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in NUMBERS)
)
BEGIN = "INSERT INTO sweep VALUES (0, ?, ?) ON CONFLICT DO UPDATE SET begun_at = "
FLUSH_S = 1.0
_SERVICES = ", ".join(f"'{role}'" for role in sorted(SERVICES))

Source = Literal["live", "cached", "unanswered"]


@dataclass(frozen=True, slots=True)
class Account:
    """The account that a request is charged to: the run, the role and the model."""

    cell: str
    role: str
    model: str


@dataclass(frozen=True, slots=True)
class Cost:
    """`nano_usd`: in 1e-9 USD; None where the price is unknown."""

    usage: Usage
    nano_usd: int | None


NOTHING = Cost(Usage(), 0)
LEARNT = 4  # answers of a role after which its reservations follow what they took
MORE_INPUT, MORE_OUTPUT, MORE_TOKENS = 1.1, 2.0, 32  # times the largest, and tokens beside it


@dataclass(slots=True)
class _LargestRequest:
    """The most that `n` answered requests of a role took: the share of their highest possible number of input tokens,
    and output tokens."""

    n: int = 0
    input_share: float = 0.0
    output_tokens: int = 0

    def add(self, most: Usage, usage: Usage) -> None:
        self.n += 1
        self.input_share = max(self.input_share, usage.input_tokens / max(1, most.input_tokens))
        self.output_tokens = max(self.output_tokens, usage.output_tokens)

    def expect(self, most: Usage) -> Usage:
        """The tokens to reserve for a request that takes at most so many."""
        if self.n < LEARNT:
            return most
        tokens_in = round(most.input_tokens * self.input_share * MORE_INPUT) + MORE_TOKENS
        tokens_out = round(self.output_tokens * MORE_OUTPUT) + MORE_TOKENS
        return Usage(min(most.input_tokens, tokens_in), min(most.output_tokens, tokens_out))


def begin(folder: Path, limits: Budget) -> Path | None:
    """Begin a command: the clock of `budget.minutes` starts, and requests whose replies earlier commands could not use
    will be sent again. Returns the place to which a damaged ledger was moved; raises InputError where a budget depends
    on it."""
    database = _database(folder, limits)
    try:
        if (folder / FILE).exists():
            database.read(_check_whole)
        if limits.get("minutes") is not None or (folder / FILE).exists():
            database.write(lambda rows: rows.execute(f"{BEGIN} excluded.begun_at", _new_command()))
    except DamagedError as error:
        raise InputError(str(error)) from error
    finally:
        database.close()
    return database.set_aside


def begin_again(folder: Path, limits: Budget) -> None:
    """The same, with a note where a damaged ledger was put aside."""
    if (aside := begin(folder, limits)) is not None:
        terminal.note(current_wording()("progress.aside.ledger", path=folder / FILE, aside=aside))


class Ledger:
    """Kept in memory without a folder. `limits`: the budget over all accounts. With a budget every request is written
    at once; without one the file is written at most once a second."""

    def __init__(self, folder: Path | None, limits: Budget) -> None:
        self._folder = folder
        self._database = _database(folder, limits)
        self._limits = _limits(limits)
        self._pending: dict[tuple[Account, Source], list[int]] = {}
        self._flushed = time.monotonic()
        self._presence: Presence | None = None
        self._largest: defaultdict[tuple[str, str], _LargestRequest] = defaultdict(_LargestRequest)  # by role and model
        self._sweep: tuple[str, float, float] | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the budget has any limit."""
        return bool(self._limits)

    @property
    def is_begun(self) -> bool:
        """Whether the sweep has a name already, so that reading it writes nothing."""
        return self._sweep is not None or (self._folder is not None and (self._folder / FILE).exists())

    @property
    def sweep(self) -> str:
        """A unique name of this sweep, the same in all processes and after every resume."""
        return self._open()[0]

    @property
    def command(self) -> str:
        """A unique name of this command, the same in all of its processes."""
        name, _, begun_at = self._open()
        return f"{name}/{begun_at}"

    def reserve(self, account: Account, most: Cost) -> int | None:
        """The id of a reservation; None while other requests hold the rest of the budget and may give some of it back.
        Raises BudgetSpentError where no open reservation could make room."""
        begun = self._open()[1]
        most = Cost(self._largest[account.role, account.model].expect(most.usage), most.nano_usd)
        if self._presence is None:
            self._presence = Presence(self._folder)
        owner = self._presence.name

        def attempt(rows: sqlite3.Connection) -> int | str | None:
            minutes = (time.monotonic() - begun) / 60
            if self._exceeded_limit(rows, most, minutes):
                _settle_abandoned(rows, self._folder)
                over = self._exceeded_limit(rows, most, minutes)
                is_held = rows.execute("SELECT COUNT(*) FROM reserved").fetchone()[0] > 0
                return None if is_held and "minutes" not in over else over
            insert = (
                "INSERT INTO reserved (owner, cell, role, model, input_tokens, output_tokens, nano_usd)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
            )
            whose, usage = (owner, account.cell, account.role, account.model), most.usage
            return rows.execute(insert, (*whose, usage.input_tokens, usage.output_tokens, most.nano_usd)).lastrowid

        reservation = self._write(attempt)
        if isinstance(reservation, str):
            raise BudgetSpentError(reservation)
        return reservation

    def learn(self, account: Account, most: Usage, usage: Usage) -> None:
        """Learn what a request took that might have taken `most`."""
        self._largest[account.role, account.model].add(most, usage)

    def settle(self, reservation: int | None, account: Account, cost: Cost, retries: int = 0) -> None:
        """Replace a reservation by the cost of the answered request."""
        self._note(account, "live", cost, retries, reservation)

    def forfeit(self, reservation: int | None, account: Account, cost: Cost) -> None:
        """Charge a request that was sent and not answered: `cost` is the most that it may have cost."""
        self._note(account, "unanswered", cost, 0, reservation)

    def note_cached(self, account: Account, cost: Cost) -> None:
        """Note what a request would have cost that was answered from the cache, or together with an identical one."""
        self._note(account, "cached", cost, 0, None)

    def usage(self, cell: str) -> dict[str, Any]:
        """`{"usage": {role: {model: {"live": {…}, "cached": {…}}}}, "usage_total": {"live": {…}, "cached": {…}}}` of
        one run, over all its attempts; `unanswered` stands beside them where there are such requests, at the most that
        they may have cost. `usd` is None where a price is unknown."""
        if not (self._pending or self._folder is None or (self._folder / FILE).exists()):
            return {}
        self._flush()
        columns = ", ".join(NUMBERS)
        select = f"SELECT role, model, source, {columns} FROM spent WHERE cell = ? ORDER BY role, model, source"  # noqa: S608
        rows = self._database.read(lambda database: database.execute(select, (cell,)).fetchall())
        by_role: dict[str, dict[str, dict[str, Any]]] = {}
        totals: dict[str, list[int]] = {"live": [0] * len(NUMBERS), "cached": [0] * len(NUMBERS)}
        for role, model, source, *numbers in rows:
            beginning = {"live": _as_record(NO_USE), "cached": _as_record(NO_USE)}
            by_role.setdefault(role, {}).setdefault(model, beginning)[source] = _as_record(numbers)
            totals[source] = _sums(totals.get(source, NO_USE), numbers)
        if not by_role:
            return {}
        return {"usage": by_role, "usage_total": {source: _as_record(numbers) for source, numbers in totals.items()}}

    def close(self) -> None:
        """Close the file; the next use opens it again. A ledger in memory keeps its rows."""
        self._flush()
        if self._presence is not None:
            self._presence.close()
            self._presence = None
        if self._folder is not None:
            self._database.close()

    # --- inside -----------------------------------------------------------------------------------

    def _open(self) -> tuple[str, float, float]:
        """The name of the sweep, and when its command began (by time.monotonic, which no clock change affects, and as
        the file has it)."""
        if self._sweep is None:

            def read(rows: sqlite3.Connection) -> tuple[str, float, float]:
                _settle_abandoned(rows, self._folder)
                rows.execute(f"{BEGIN} begun_at", _new_command())
                name, begun_at = rows.execute("SELECT name, begun_at FROM sweep").fetchone()
                return name, time.monotonic() - max(0.0, time.time() - begun_at), begun_at

            self._sweep = self._write(read)
        return self._sweep

    def _note(self, account: Account, source: Source, cost: Cost, retries: int, reservation: int | None) -> None:
        numbers = _numbers(cost, retries)
        self._pending[account, source] = _sums(self._pending.get((account, source), NO_USE), numbers)
        if reservation is not None:
            self._write(lambda rows: _delete(rows, reservation))
        elif time.monotonic() - self._flushed >= FLUSH_S:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            self._write(lambda rows: None)

    def _write(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run `action` in one transaction with the pending rows."""
        rows_added = [
            (account.cell, account.role, account.model, source, *numbers)
            for (account, source), numbers in self._pending.items()
        ]

        def write(rows: sqlite3.Connection) -> T:
            rows.executemany(ADD, rows_added)
            return action(rows)

        result = self._database.write(write)
        self._pending.clear()
        self._flushed = time.monotonic()
        return result

    def _exceeded_limit(self, rows: sqlite3.Connection, most: Cost, minutes: float) -> str:
        """The limit that one more request might exceed, in words; empty if none."""
        sums = "COUNT(*), TOTAL(input_tokens + output_tokens), TOTAL(nano_usd)"
        models = f"TOTAL(CASE WHEN role IN ({_SERVICES}) THEN 0 ELSE unpriced END)"
        spent = f"SELECT TOTAL(requests), {sums}, {models} FROM spent WHERE source != 'cached'"  # noqa: S608
        requests, _, tokens, nano_usd, unpriced = rows.execute(spent).fetchone()
        n_held, tokens_held, nano_held = rows.execute(f"SELECT {sums} FROM reserved").fetchone()  # noqa: S608
        one_more = most.usage.input_tokens + most.usage.output_tokens
        amounts: dict[str, tuple[float, float, float]] = {  # used, reserved, cost of one more request
            "minutes": (minutes, 0, 0),
            "requests": (requests, n_held, 1),
            "tokens": (tokens, tokens_held, one_more),
            "usd": (nano_usd / 1e9, nano_held / 1e9, (most.nano_usd or 0) / 1e9),
        }
        if unpriced and "usd" in self._limits:
            return f"budget.usd cannot hold: the price of {unpriced:.0f} earlier requests of this sweep was unknown"
        for name, limit in self._limits.items():
            amount_used, held, more = amounts[name]
            if amount_used + held + more > limit:
                needed = f", one more request may take {_number(more)}" if name in ("tokens", "usd") else ""
                return f"budget.{name}={limit:g} is spent ({_number(amount_used)} used{needed})"
        return ""


NO_USE = [0] * len(NUMBERS)


def _limits(budget: Budget) -> dict[str, float]:
    limited = {name: budget.get(name) for name in ("usd", "tokens", "requests", "minutes")}
    return {name: float(str(limit)) for name, limit in limited.items() if limit is not None}


def _database(folder: Path | None, budget: Budget) -> Database:
    """A damaged file does not tell the cost so far. Within a budget, the user has to decide whether to delete it."""
    names = ", ".join(f"budget.{name}" for name in _limits(budget))
    advice = f"what was spent of {names} is unknown; move the file away to start counting again"
    return Database(None if folder is None else folder / FILE, SCHEMA, is_replaceable=not names, advice=advice)


def _check_whole(rows: sqlite3.Connection) -> None:
    said = rows.execute("PRAGMA quick_check(1)").fetchone()[0]
    if said != "ok":
        raise damage_error(said)


def _numbers(cost: Cost, retries: int) -> list[int]:
    usage, unpriced = cost.usage, int(cost.nano_usd is None)
    counts = [1, usage.input_tokens, usage.output_tokens, usage.cached_input_tokens]
    return [*counts, cost.nano_usd or 0, unpriced, retries]


def _sums(first: list[int], second: list[int]) -> list[int]:
    return [one + other for one, other in zip(first, second, strict=True)]


def _as_record(numbers: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = dict(zip(NUMBERS, numbers, strict=True))
    nano, unpriced = found.pop("nano_usd"), found.pop("unpriced")
    return {**found, "usd": None if unpriced else nano / 1e9}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"


def _new_command() -> tuple[str, float]:
    return secrets.token_hex(8), time.time()


def _delete(rows: sqlite3.Connection, reservation: int) -> None:
    rows.execute("DELETE FROM reserved WHERE id = ?", (reservation,))


def _settle_abandoned(rows: sqlite3.Connection, folder: Path | None) -> None:
    """Charge the reservations of processes that died: their requests may have been sent."""
    owners = [owner for (owner,) in rows.execute("SELECT DISTINCT owner FROM reserved").fetchall()]
    for owner in [owner for owner in owners if not is_present(folder, owner)]:
        select = "SELECT cell, role, model, input_tokens, output_tokens, nano_usd FROM reserved WHERE owner = ?"
        for *account, tokens_in, tokens_out, nano in rows.execute(select, (owner,)).fetchall():
            numbers = _numbers(Cost(Usage(tokens_in, tokens_out), nano), 0)
            rows.execute(ADD, (*account, "unanswered", *numbers))
        rows.execute("DELETE FROM reserved WHERE owner = ?", (owner,))
