"""Processes that share a ledger, are killed, or have gone."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import BudgetSpentError
from runner.llm.ledger import Ledger
from tests.runner.llm.accounts import JUDGE, NONE, cost, counted

ROOT = Path(__file__).resolve().parents[3]
HOLDS = """
import os, sys
from pathlib import Path
from runner.llm.ledger import Ledger
from tests.runner.llm.accounts import JUDGE, cost
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
from runner.llm.ledger import Ledger
from tests.runner.llm.accounts import JUDGE, cost
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
