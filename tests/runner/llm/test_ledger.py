"""What was asked and what it cost, and the limits that it may not pass."""

from pathlib import Path

import pytest

from runner.errors import BudgetSpentError, StopRunError
from runner.llm.ledger import NOTHING, Account, Ledger, begin
from tests.runner.llm.accounts import JUDGE, NONE, cost, counted

WRITER = Account("0", "generator", "test:g")
ELSEWHERE = Account("1", "judge", "test:m")


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


# --- limits ---------------------------------------------------------------------------------------


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
    with pytest.raises(BudgetSpentError, match=r"\(0(\.\d+)? used\)$"):  # less than a minute, however busy the machine
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
