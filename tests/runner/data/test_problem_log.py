import pytest

from runner.data.problems import ProblemLog, list_problems
from runner.errors import DataError
from runner.records import DataProblem


def test_problems_keep_their_order_and_place() -> None:
    log = ProblemLog()
    log.error("a.jsonl", "bad", 3, "id")
    log.warning("b.jsonl", "odd")
    assert log.problems == (
        DataProblem("error", "a.jsonl", "bad", 3, "id"),
        DataProblem("warning", "b.jsonl", "odd"),
    )
    assert [str(problem) for problem in log.problems] == ["a.jsonl:3: id: bad", "b.jsonl: odd"]
    assert log.errors == [log.problems[0]]


def test_warn_once_is_once_for_a_file_and_message() -> None:
    log = ProblemLog()
    for line in (1, 2):
        log.warn_once("a", "odd", line)
        log.warn_once("b", "odd", line)
    assert [str(problem) for problem in log.problems] == ["a:1: odd", "b:1: odd"]


def test_strict_stops_at_errors_only() -> None:
    strict, lenient = ProblemLog(strict=True), ProblemLog()
    strict.warning("a", "odd")
    strict.stop_if_strict()
    strict.error("a", "bad", 1)
    lenient.error("a", "bad", 1)
    lenient.stop_if_strict()
    with pytest.raises(DataError) as raised:
        strict.stop_if_strict()
    assert str(raised.value) == "1 error in the data files (strict=true stops at them):\n  a:1: bad"


def test_a_long_list_is_cut() -> None:
    problems = [DataProblem("error", "a", "bad", line) for line in range(1, 24)]
    lines = list_problems(problems).splitlines()
    assert len(lines) == 21
    assert lines[19:] == ["  a:20: bad", "  … and 3 more"]
    assert "more" not in list_problems(problems[:20])


def test_the_count_of_errors() -> None:
    log = ProblemLog(strict=True)
    for line in range(1, 24):
        log.error("a", "bad", line)
    with pytest.raises(DataError, match=r"^23 errors in the data files"):
        log.stop_if_strict()
