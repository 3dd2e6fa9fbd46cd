"""A ledger that is damaged."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import InputError, StopRunError
from runner.llm.ledger import Account, Ledger, begin
from tests.runner.llm.accounts import JUDGE, cost


def rubbish(path: Path) -> None:
    path.write_bytes(b"no database at all, " * 400)


def other_tables(path: Path) -> None:
    with sqlite3.connect(path) as rows:
        rows.execute("CREATE TABLE theirs (x)")
    rows.close()


def holed(path: Path) -> None:
    """Sound at first sight."""
    ledger = Ledger(path.parent, {})
    for number in range(300):
        ledger.settle(None, Account(str(number), "judge", "test:" + "m" * 100), cost())
    ledger.close()
    with path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 3)


DAMAGE = [
    (rubbish, "file is not a database"),
    (other_tables, "a file of another program, or of another version of this one"),
    (holed, ""),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGE)
def test_a_budget_does_not_begin_with_a_damaged_ledger(
    damage: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.sqlite"
    damage(path)
    before = path.read_bytes()
    with pytest.raises(InputError) as raised:
        begin(tmp_path, {"usd": 1.0, "minutes": 5})
    assert str(raised.value).startswith(f"{path}: {reason}")
    advice = "what was spent of budget.usd, budget.minutes is unknown; move the file away to start counting again"
    assert str(raised.value).endswith(f"; {advice}")
    assert path.read_bytes() == before


@pytest.mark.parametrize(("damage", "reason"), DAMAGE)
def test_without_a_budget_a_damaged_ledger_is_set_aside(
    damage: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.sqlite"
    damage(path)
    before = path.read_bytes()
    assert begin(tmp_path, {"usd": None}) == path.with_suffix(".damaged")
    assert path.with_suffix(".damaged").read_bytes() == before
    assert begin(tmp_path, {}) is None
    ledger = Ledger(tmp_path, {})
    ledger.settle(None, JUDGE, cost())
    assert ledger.usage("0")["usage_total"]["live"]["requests"] == 1


def test_a_ledger_that_is_damaged_after_the_beginning_stops_what_has_a_budget(tmp_path: Path) -> None:
    rubbish(tmp_path / "ledger.sqlite")
    ledger = Ledger(tmp_path, {"requests": 9})
    with pytest.raises(StopRunError, match=r"file is not a database; what was spent of budget.requests is unknown"):
        ledger.reserve(JUDGE, cost())


def test_a_sound_ledger_is_gone_on_with(tmp_path: Path) -> None:
    assert begin(tmp_path, {"requests": 9}) is None
    assert list(tmp_path.iterdir()) == []
    ledger = Ledger(tmp_path, {"requests": 9})
    ledger.settle(None, JUDGE, cost())
    ledger.close()
    assert begin(tmp_path, {"requests": 9}) is None
    assert Ledger(tmp_path, {"requests": 9}).usage("0")["usage_total"]["live"]["requests"] == 1
