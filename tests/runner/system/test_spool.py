import copy
import gc
import tracemalloc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from runner.records import Context, GivenResults, Query, Span, Turn
from runner.system import spool as spools
from runner.system.shared import sharing
from runner.system.spool import Part, Spool

QUERY = Query(
    "질문",
    "half a \ud800 character",
    True,
    {"a": 2, "b": 0},
    ("a#0",),
    (Span("a", 0, 1), Span("b", text="x")),
    ("yes",),
    "ko",
    "hard",
    ("t", "u"),
    GivenResults((("a", 0.1), ("b", 1e-300)), (Context("a", "text", "title"),), ""),
    (Turn("user", "hello"),),
    from_memory=True,
    remembered=(),
)


def test_records_come_back_as_they_were() -> None:
    bare = Query("2", "?", False, {})
    spool = Spool([(7, QUERY), (9, bare)])
    assert list(spool) == [(7, QUERY), (9, bare)]
    assert spool[0][1].given.contexts == (Context("a", "text", "title"),)
    assert type(spool[1][1].relevance) is dict


def test_it_is_a_sequence() -> None:
    records = [f"record {n}" for n in range(5)]
    spool: Sequence[str] = Spool(iter(records))
    assert len(spool) == 5
    assert spool[4] == spool[-1] == "record 4"
    assert "record 3" in spool
    assert [list(spool[part]) for part in (slice(1, 3), slice(None, None, -2))] == [records[1:3], records[::-2]]
    with pytest.raises(IndexError):
        spool[5]


def test_an_empty_one_is_false() -> None:
    assert not Spool([]) and list(Spool([])) == []


def test_a_part_has_its_own_places() -> None:
    part = Part("abcdef", [5, 0, 2])
    assert (len(part), list(part), part[-1], list(part[1:])) == (3, ["f", "a", "c"], "c", ["a", "c"])
    with pytest.raises(IndexError):
        part[3]


def test_records_are_made_anew_each_time() -> None:
    spool = Spool([{"a": [1]}])
    spool[0]["a"].append(2)
    assert spool[0] == {"a": [1]}


def test_what_fails_on_the_way_is_raised() -> None:
    def records() -> object:
        yield 1
        raise ValueError("line 2")

    with pytest.raises(ValueError, match="line 2"):
        Spool(records())  # type: ignore[arg-type]


def test_threads_may_ask_at_once() -> None:
    spool = Spool(range(2000))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(spool.__getitem__, range(2000))) == list(range(2000))


def test_records_do_not_stay_in_memory() -> None:
    list(Spool([QUERY]))  # what is made once, whatever the number of records
    tracemalloc.start()
    try:
        spool = Spool(copy.copy(QUERY) for _ in range(2000))
        assert sum(len(query.tags) for query in spool) == 4000
        gc.collect()  # lists of freed tuples too
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / 2000 < 50


@pytest.mark.parametrize(("several", "kept"), [(False, [True, False, False]), (True, [True, True, False])])
def test_the_first_records_stay_in_memory_while_a_command_runs(
    several: bool, kept: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(copy.copy(QUERY) for _ in range(3))
    monkeypatch.setattr(spools, "KEPT_BYTES", spool._begins[1])
    monkeypatch.setattr(spools, "KEPT_BY_SWEEP", spool._begins[2])
    assert spool[0] is not spool[0]
    with sharing(several=several):
        assert [spool[place] is spool[place] for place in range(3)] == kept
        assert list(spool) == [QUERY] * 3
