import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import StopRunError
from runner.llm.cache import ReplyCache
from runner.llm.messages import request_digest
from runner.llm.settings import CacheMode

ROOT = Path(__file__).resolve().parents[3]
REQUEST = '{"messages": ["질문 one"]}'.encode()
OTHER = b'{"messages": ["another"]}'
ONE, TWO = {"text": "하나"}, {"text": "two"}


def cache(root: Path, mode: CacheMode = "use", sweep: str = "this") -> ReplyCache:
    return ReplyCache(root, mode, lambda: sweep)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder whose cache has an answer to REQUEST from an earlier sweep."""
    before = cache(tmp_path, sweep="before")
    assert before.find(REQUEST) is None
    assert before.store(REQUEST, ONE) == ONE
    before.close()
    return tmp_path


def test_use_finds_and_stores(filled: Path) -> None:
    kept = cache(filled)
    assert kept.find(REQUEST) == ONE
    assert kept.find(OTHER) is None
    kept.store(OTHER, TWO)
    assert cache(filled).find(OTHER) == TWO


@pytest.mark.parametrize("mode", ["read", "replay"])
def test_read_and_replay_find_and_store_nothing(filled: Path, mode: CacheMode) -> None:
    kept = cache(filled, mode)
    assert kept.find(REQUEST) == ONE
    assert kept.store(OTHER, TWO) == TWO
    kept.check()
    assert kept.find(OTHER) is None
    assert cache(filled).find(OTHER) is None


def test_none_neither_finds_nor_stores(filled: Path) -> None:
    kept = cache(filled, "none")
    assert kept.find(REQUEST) is None
    kept.store(OTHER, TWO)
    assert cache(filled).find(OTHER) is None


def test_refresh_takes_what_this_sweep_has_stored_and_replaces_what_others_have(filled: Path) -> None:
    kept = cache(filled, "refresh")
    assert kept.find(REQUEST) is None
    assert kept.store(REQUEST, TWO) == TWO
    assert kept.find(REQUEST) == TWO
    assert cache(filled, "refresh").find(REQUEST) == TWO  # the same sweep, killed and started again
    assert cache(filled, "refresh", "next").find(REQUEST) is None
    assert cache(filled).find(REQUEST) == TWO


@pytest.mark.parametrize("mode", ["none", "read", "replay"])
def test_without_a_file_nothing_is_found_and_none_is_made(tmp_path: Path, mode: CacheMode) -> None:
    kept = cache(tmp_path / "no folder", mode)
    assert kept.find(REQUEST) is None
    kept.store(REQUEST, ONE)
    assert not (tmp_path / "no folder").exists()


def test_who_stores_second_goes_on_with_the_first_answer(tmp_path: Path) -> None:
    """So that a run which is killed and started again goes on with the answers that it has used."""
    first, second = cache(tmp_path), cache(tmp_path)
    assert first.find(REQUEST) is second.find(REQUEST) is None
    assert first.store(REQUEST, ONE) == ONE
    assert second.store(REQUEST, TWO) == ONE
    assert cache(tmp_path).find(REQUEST) == ONE


def change(root: Path, statement: str, *values: bytes) -> None:
    with sqlite3.connect(root / "models.sqlite") as database:
        assert database.execute(statement, values).rowcount == 1
    database.close()


@pytest.mark.parametrize("column", ["request", "reply"])
def test_a_damaged_row_is_a_missing_row_and_is_replaced(filled: Path, column: str) -> None:
    change(filled, f"UPDATE reply SET {column} = CAST({column} || ' ' AS BLOB)")
    kept = cache(filled)
    assert kept.find(REQUEST) is None
    assert kept.store(REQUEST, TWO) == TWO
    assert kept.find(REQUEST) == TWO


def test_an_answer_to_another_request_under_the_same_digest_is_none(filled: Path) -> None:
    """The request that is stored is compared, not just its digest."""
    from runner.llm.cache import _checksum

    with sqlite3.connect(filled / "models.sqlite") as database:
        (reply,) = database.execute("SELECT reply FROM reply").fetchone()
    database.close()
    forged = int(_checksum(request_digest(REQUEST), OTHER, reply))
    change(filled, f"UPDATE reply SET checksum = {forged}, request = ?", OTHER)
    assert cache(filled).find(REQUEST) is None
    assert cache(filled).find(OTHER) is None


def test_a_damaged_file_is_set_aside(filled: Path) -> None:
    (filled / "models.sqlite").write_bytes(b"rubbish" * 1000)
    kept = cache(filled)
    kept.check()
    assert kept.find(REQUEST) is None
    kept.store(REQUEST, TWO)
    assert cache(filled).find(REQUEST) == TWO
    assert (filled / "models.damaged").exists()


def test_what_could_not_be_stored_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "models.sqlite").mkdir()
    said = r"^cache=use cannot store answers \(cache=read would not\): .*models\.sqlite: unable to open database file$"
    with pytest.raises(StopRunError, match=said):
        cache(tmp_path).check()


def test_a_lock_that_is_held_is_waited_for(filled: Path) -> None:
    script = f"""
import sqlite3, time
database = sqlite3.connect({str(filled / "models.sqlite")!r}, isolation_level=None)
database.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
time.sleep(0.5)
database.execute("COMMIT")
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        cache(filled).store(OTHER, TWO)
    assert cache(filled).find(OTHER) == TWO


def test_ten_thousand_answers_are_found_by_their_digest_alone(tmp_path: Path) -> None:
    kept = cache(tmp_path)
    for number in range(10_000):
        kept.store(f"{number} {'x' * 200}".encode(), {"text": str(number)})
    assert kept.find(f"9876 {'x' * 200}".encode()) == {"text": "9876"}
    plan = kept._database.read(
        lambda rows: rows.execute("EXPLAIN QUERY PLAN SELECT reply FROM reply WHERE digest = ?", (b"",)).fetchall()
    )
    assert "USING INDEX" in plan[0][3]
    kept.close()


# --- who asks ---------------------------------------------------------------------------------------


def test_what_one_process_is_asking_for_the_others_wait_for(tmp_path: Path) -> None:
    first, second = cache(tmp_path), cache(tmp_path)
    assert first.claim(REQUEST) == (True, None)
    assert first.claim(REQUEST) == (True, None)
    assert second.claim(REQUEST) == (False, None)
    assert second.claim(OTHER) == (True, None)
    first.store(REQUEST, ONE)
    assert second.claim(REQUEST) == (False, ONE)


def test_what_one_gives_up_another_asks_for(tmp_path: Path) -> None:
    first, second, third = cache(tmp_path), cache(tmp_path), cache(tmp_path)
    first.claim(REQUEST)
    first.give_up(REQUEST)
    assert second.claim(REQUEST) == (True, None)
    second.close()
    assert third.claim(REQUEST) == (True, None)
    third.close()
    first.close()
    assert [path.name for path in tmp_path.iterdir()] == ["models.sqlite"]


def test_what_a_killed_process_was_asking_for_is_asked_for_again(tmp_path: Path) -> None:
    script = f"""
import os
from pathlib import Path
from tests.runner.llm.test_cache import REQUEST, cache
cache(Path({str(tmp_path)!r})).claim(REQUEST)
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == -9
    assert cache(tmp_path).claim(REQUEST) == (True, None)


def test_a_refresh_waits_for_nobody_s_old_answer(filled: Path) -> None:
    first, second = cache(filled, "refresh"), cache(filled, "refresh", "another")
    assert first.claim(REQUEST) == (True, None)
    assert second.claim(REQUEST) == (False, None)
    first.store(REQUEST, TWO)
    assert second.claim(REQUEST) == (True, None)


@pytest.mark.parametrize("mode", ["none", "read"])
def test_where_nothing_is_stored_everybody_asks(tmp_path: Path, mode: CacheMode) -> None:
    first, second = cache(tmp_path, mode), cache(tmp_path, mode)
    assert first.claim(REQUEST) == second.claim(REQUEST) == (True, None)
    first.give_up(REQUEST)
    assert list(tmp_path.iterdir()) == []


def test_a_reply_that_was_of_no_use_answers_the_command_that_marked_it_and_no_other(filled: Path) -> None:
    first = ReplyCache(filled, "use", lambda: "this", lambda: "first")
    first.mark_useless([REQUEST, OTHER])
    assert (first.find(REQUEST), first.claim(REQUEST)) == (
        {**ONE, "useless": "first"},
        (False, {**ONE, "useless": "first"}),
    )
    assert first.find(REQUEST, for_plan=True) is None
    second = ReplyCache(filled, "use", lambda: "this", lambda: "second")
    assert second.find(REQUEST) is None
    assert second.claim(REQUEST) == (True, None)
    assert second.store(REQUEST, TWO) == TWO
    assert first.find(REQUEST) == second.find(REQUEST) == TWO


@pytest.mark.parametrize(("mode", "served"), [("read", False), ("replay", True)])
def test_a_reply_that_was_of_no_use_is_served_where_nothing_can_be_asked(
    mode: CacheMode, served: bool, filled: Path
) -> None:
    ReplyCache(filled, "use", lambda: "this", lambda: "first").mark_useless([REQUEST])
    kept = ReplyCache(filled, mode, lambda: "this", lambda: "second")
    for is_plan in (False, True):
        assert (kept.find(REQUEST, for_plan=is_plan) is not None) == served
    kept.mark_useless([REQUEST])
