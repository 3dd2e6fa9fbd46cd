import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import BudgetSpentError, InputError, StopRunError
from runner.llm.ledger import NOTHING, Account, Cost, Ledger, begin
from runner.llm.messages import Usage

ROOT = Path(__file__).resolve().parents[3]
JUDGE = Account("0", "judge", "test:m")
WRITER = Account("0", "generator", "test:g")
ELSEWHERE = Account("1", "judge", "test:m")


def cost(tokens_in: int = 100, tokens_out: int = 10, nano: int | None = 1_000_000, cached: int = 0) -> Cost:
    return Cost(Usage(tokens_in, tokens_out, cached), nano)


def counted(requests: int, tokens_in: int, tokens_out: int, usd: float | None, **rest: int) -> dict[str, Any]:
    counts = {"requests": requests, "input_tokens": tokens_in, "output_tokens": tokens_out}
    return {**counts, "cached_input_tokens": 0, "retries": 0, "usd": usd, **rest}


NONE = counted(0, 0, 0, 0.0)


@pytest.fixture(params=["on disk", "in memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path if request.param == "on disk" else None


def test_usage_by_role_and_model_cached_and_live_apart(folder: Path | None) -> None:
    ledger = Ledger(folder, {})
    ledger.settle(None, JUDGE, cost(100, 10, 2_000_000, cached=40), retries=2)
    ledger.settle(None, JUDGE, cost(50, 5, 1_000_000))
    ledger.note_cached(JUDGE, cost(70, 7, 500))
    ledger.settle(None, WRITER, cost(10, 1, None))
    ledger.settle(None, ELSEWHERE, cost())
    judged = {
        "live": counted(2, 150, 15, 0.003, cached_input_tokens=40, retries=2),
        "cached": counted(1, 70, 7, 5e-7),
    }
    assert ledger.usage("0") == {
        "usage": {
            "generator": {"test:g": {"live": counted(1, 10, 1, None), "cached": NONE}},
            "judge": {"test:m": judged},
        },
        "usage_total": {
            "live": counted(3, 160, 16, None, cached_input_tokens=40, retries=2),
            "cached": counted(1, 70, 7, 5e-7),
        },
    }


def test_nothing_asked_nothing_told_and_no_file(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, {})
    assert ledger.usage("0") == {}
    ledger.close()
    assert list(tmp_path.iterdir()) == []
    ledger.settle(None, ELSEWHERE, cost())
    assert ledger.usage("0") == {}


def test_what_was_not_answered_is_told_apart_at_what_it_may_have_cost(folder: Path | None) -> None:
    ledger = Ledger(folder, {})
    ledger.settle(None, JUDGE, cost(), retries=2)
    ledger.forfeit(None, JUDGE, cost(400, 100, 9_000_000))
    ledger.forfeit(None, JUDGE, NOTHING)
    told = ledger.usage("0")
    assert told["usage"]["judge"]["test:m"]["unanswered"] == counted(2, 400, 100, 0.009)
    assert told["usage_total"]["live"] == counted(1, 100, 10, 0.001, retries=2)
    assert told["usage_total"]["unanswered"] == counted(2, 400, 100, 0.009)


def test_it_goes_on_after_a_close(folder: Path | None) -> None:
    ledger = Ledger(folder, {"requests": 3})
    for _ in range(2):
        ledger.settle(ledger.reserve(JUDGE, cost()), JUDGE, cost())
        ledger.close()
    assert ledger.usage("0")["usage_total"]["live"]["requests"] == 2
    ledger.settle(ledger.reserve(JUDGE, cost()), JUDGE, cost())
    with pytest.raises(BudgetSpentError):
        ledger.reserve(JUDGE, cost())


def test_without_a_budget_what_is_kept_back_is_written_when_it_closes(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, {})
    ledger.settle(None, JUDGE, cost())
    ledger.close()
    assert Ledger(tmp_path, {}).usage("0")["usage_total"]["live"]["requests"] == 1


# --- limits -----------------------------------------------------------------------------------------


def test_tokens(folder: Path | None) -> None:
    ledger = Ledger(folder, {"tokens": 300})
    first = ledger.reserve(JUDGE, cost(100, 50))
    second = ledger.reserve(WRITER, cost(100, 50))
    assert ledger.reserve(ELSEWHERE, cost(1, 0)) is None  # what is held may become free
    ledger.settle(first, JUDGE, cost(60, 20))
    third = ledger.reserve(ELSEWHERE, cost(60, 10))
    assert third is not None
    assert ledger.reserve(ELSEWHERE, cost(1, 0)) is None
    ledger.forfeit(second, WRITER, cost(100, 50))
    ledger.forfeit(third, ELSEWHERE, NOTHING)
    with pytest.raises(
        BudgetSpentError, match=r"^budget\.tokens=300 is spent \(230 used, one more request may take 71\)$"
    ):
        ledger.reserve(JUDGE, cost(71, 0))
    ledger.settle(ledger.reserve(JUDGE, cost(70, 0)), JUDGE, cost(70, 0))


def test_usd(folder: Path | None) -> None:
    ledger = Ledger(folder, {"usd": 0.01})
    ledger.settle(ledger.reserve(JUDGE, cost(nano=9_000_000)), JUDGE, cost(nano=8_500_000))
    with pytest.raises(
        BudgetSpentError, match=r"^budget\.usd=0\.01 is spent \(0\.0085 used, one more request may take 0\.0016\)$"
    ):
        ledger.reserve(JUDGE, cost(nano=1_600_000))
    assert ledger.reserve(JUDGE, cost(nano=1_500_000)) is not None


def test_usd_after_requests_of_unknown_price(tmp_path: Path) -> None:
    before = Ledger(tmp_path, {})
    before.settle(None, JUDGE, cost(nano=None))
    before.close()
    with pytest.raises(
        BudgetSpentError, match=r"^budget\.usd cannot hold: the price of 1 earlier requests of this sweep was unknown$"
    ):
        Ledger(tmp_path, {"usd": 1.0}).reserve(JUDGE, cost())


def test_every_request_that_was_sent_counts_as_one(folder: Path | None) -> None:
    ledger = Ledger(folder, {"requests": 3})
    ledger.settle(ledger.reserve(JUDGE, cost()), JUDGE, cost())
    ledger.forfeit(ledger.reserve(JUDGE, cost()), JUDGE, NOTHING)
    ledger.note_cached(JUDGE, cost())  # not sent
    held = ledger.reserve(JUDGE, cost())
    assert ledger.reserve(JUDGE, cost()) is None
    ledger.settle(held, JUDGE, cost())
    with pytest.raises(BudgetSpentError, match=r"^budget\.requests=3 is spent \(3 used\)$"):
        ledger.reserve(JUDGE, cost())


def test_minutes_count_from_the_command(tmp_path: Path) -> None:
    begin(tmp_path, {"minutes": 5})
    age(tmp_path, 4.5)
    going = Ledger(tmp_path, {"minutes": 5})
    going.settle(going.reserve(JUDGE, cost()), JUDGE, cost())
    age(tmp_path, 1)
    late = Ledger(tmp_path, {"minutes": 5})
    with pytest.raises(BudgetSpentError, match=r"^budget\.minutes=5 is spent \(5\.50\d\d used\)$"):
        late.reserve(JUDGE, cost())
    begin(tmp_path, {"minutes": 5})  # the same command again
    assert Ledger(tmp_path, {"minutes": 5}).reserve(JUDGE, cost()) is not None


def test_a_clock_that_was_set_back_gives_no_more_time_than_there_is(tmp_path: Path) -> None:
    begin(tmp_path, {"minutes": 5})
    age(tmp_path, -600)  # begun in what is now the future
    ledger = Ledger(tmp_path, {"minutes": 5})
    assert ledger.reserve(JUDGE, cost()) is not None
    with pytest.raises(BudgetSpentError, match="0 used"):
        Ledger(tmp_path, {"minutes": 1e-9}).reserve(JUDGE, cost())


def age(folder: Path, minutes: float) -> None:
    from runner.llm.ledger import FILE, SCHEMA, Database

    database = Database(folder / FILE, SCHEMA)
    database.write(lambda rows: rows.execute("UPDATE sweep SET begun_at = begun_at - ?", (60 * minutes,)))
    database.close()


def test_a_damaged_ledger_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"rubbish" * 1000)
    with pytest.raises(StopRunError, match=r"ledger\.sqlite: file is not a database"):
        Ledger(tmp_path, {"requests": 1}).reserve(JUDGE, cost())


def test_the_name_of_a_sweep_stays_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = Ledger(tmp_path / "a", {}).sweep
    begin(tmp_path / "a", {"minutes": 1})
    assert Ledger(tmp_path / "a", {}).sweep == first
    assert Ledger(tmp_path / "b", {}).sweep != first


# --- who is gone, and who is not --------------------------------------------------------------------

HOLDS = """
import os, sys
from pathlib import Path
from tests.runner.llm.test_ledger import JUDGE, Ledger, cost
ledger = Ledger(Path(sys.argv[1]), {"tokens": 1000})
print(ledger.reserve(JUDGE, cost(300, 100, 5)), flush=True)
sys.stdin.readline()
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_had_under_way_is_taken_to_be_spent(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "1\n"
        ledger = Ledger(tmp_path, {"tokens": 1000})
        assert ledger.reserve(JUDGE, cost(700, 0)) is None  # it may yet give back
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait()
    with pytest.raises(BudgetSpentError, match=r"\(400 used, one more request may take 700\)"):
        ledger.reserve(JUDGE, cost(700, 0))
    assert ledger.reserve(JUDGE, cost(600, 0)) is not None
    told = ledger.usage("0")["usage_total"]
    assert told["unanswered"] == counted(1, 300, 100, 5e-9)
    assert told["live"] == NONE


def test_what_an_earlier_run_of_this_process_left_is_no_longer_held(tmp_path: Path) -> None:
    earlier = Ledger(tmp_path, {"requests": 2})
    earlier.reserve(JUDGE, cost())
    earlier.close()
    ledger = Ledger(tmp_path, {"requests": 2})
    ledger.settle(ledger.reserve(JUDGE, cost()), JUDGE, cost())
    with pytest.raises(BudgetSpentError):
        ledger.reserve(JUDGE, cost())


SPENDER = """
import random, sys
from pathlib import Path
from runner.errors import BudgetSpentError
from tests.runner.llm.test_ledger import JUDGE, Ledger, cost
ledger, chance, spent = Ledger(Path(sys.argv[1]), {"tokens": 20_000}), random.Random(int(sys.argv[2])), 0
held = []
try:
    while True:
        reservation = ledger.reserve(JUDGE, cost(100, 50))
        if reservation is not None:
            held.append(reservation)
        while held and (reservation is None or len(held) > 4):
            used = chance.randint(1, 150)
            ledger.settle(held.pop(0), JUDGE, cost(used, 0))
            spent += used
            reservation = 0
except BudgetSpentError:
    print(spent)
"""


def test_processes_that_share_a_budget_never_pass_it_and_leave_less_than_a_request(tmp_path: Path) -> None:
    spenders = [
        subprocess.Popen(
            [sys.executable, "-c", SPENDER, str(tmp_path), str(number)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for number in range(3)
    ]
    spent = sum(int(spender.communicate()[0]) for spender in spenders)
    assert 20_000 - 150 < spent <= 20_000
    live = Ledger(tmp_path, {}).usage("0")["usage_total"]["live"]
    assert live["input_tokens"] == spent


ACTIONS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 100), st.sampled_from("sf")), max_size=30)


@given(ACTIONS, st.integers(1, 2000), st.integers(1, 10))
def test_no_order_of_reserving_and_settling_passes_a_limit(
    actions: list[tuple[int, int, str]], tokens: int, requests: int
) -> None:
    ledger = Ledger(None, {"tokens": tokens, "requests": requests})
    used = sent = 0
    held: list[tuple[int, int, int, str]] = []
    for most, used_of_it, ending in actions:
        try:
            reservation = ledger.reserve(JUDGE, cost(most, 0))
        except BudgetSpentError:
            assert not held
            assert used + most > tokens or sent + 1 > requests
            break
        if reservation is not None:
            held.append((reservation, most, min(used_of_it, most), ending))
        if reservation is None or len(held) > 3:
            number, most_of_it, took, ending = held.pop(0)
            if ending == "s":
                ledger.settle(number, JUDGE, cost(took, 0))
            else:
                ledger.forfeit(number, JUDGE, cost(most_of_it, 0))
            used += took if ending == "s" else most_of_it
            sent += 1
        assert used + sum(each[1] for each in held) <= tokens
        assert sent + len(held) <= requests


# --- damage ---------------------------------------------------------------------------------------


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
    advice = "what was spent of budget.usd, budget.minutes is unknown; move the file away to begin counting anew"
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
