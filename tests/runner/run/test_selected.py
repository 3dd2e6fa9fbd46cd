"""Which cases of a data set a run takes."""

import pytest

from runner.config.compose import compose_cells
from runner.config.options import RunOptions, options_of
from runner.errors import InputError
from runner.records import Query
from runner.run.selection import select_cases

CASES = [Query(f"q{number:02}", "?", True, {}) for number in range(20)]


def options(*words: str) -> RunOptions:
    return options_of(compose_cells(list(words))[1][0].cfg)


def ids(*words: str) -> list[str]:
    return [case.id for case in select_cases(CASES, options(*words))]


def test_a_sample_is_drawn_by_the_seed_and_keeps_the_order_of_the_file() -> None:
    five = ids("sample=5")
    assert len(five) == 5 and five == sorted(five) == ids("sample=5") == ids("sample=0.25")
    assert five != ids("sample=5", "seed=7") == sorted(ids("sample=5", "seed=7"))
    assert ids("sample=20") == ids("sample=21") == ids() == [case.id for case in CASES]
    assert len(ids("sample=0.001")) == 1


def test_one_case_is_found_by_its_id() -> None:
    assert ids("case=q07") == ["q07"]
    with pytest.raises(InputError, match=r"^case: no case has the id 'q77'; did you mean 'q17'"):
        ids("case=q77")
