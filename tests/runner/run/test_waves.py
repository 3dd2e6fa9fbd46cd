from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.compose import compose_cells
from runner.run.waves import WAVES, Wave, begin, current, waves_of


@dataclass(frozen=True)
class Case:
    id: str
    language: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()


def ids(cases: Sequence[Case]) -> list[str]:
    return [case.id for case in cases]


def test_a_tenth_of_25_cases_is_3_and_two_tenths_are_5() -> None:
    cases = [Case(f"q{number}") for number in range(25)]
    assert [len(Wave(number).of(cases, 42)) for number in range(1, 11)] == [3, 5, 8, 10, 13, 15, 18, 20, 23, 25]


@given(st.lists(st.text(), unique=True), st.integers(0, 2**32 - 1), st.randoms())
def test_waves_only_grow_keep_the_order_of_the_file_and_do_not_depend_on_it(names, seed, random) -> None:  # type: ignore[no-untyped-def]
    cases = [Case(name) for name in names]
    shuffled = random.sample(cases, len(cases))
    before: set[str] = set()
    for number in range(1, WAVES + 1):
        chosen = ids(Wave(number).of(cases, seed))
        assert chosen == [name for name in names if name in set(chosen)]
        assert before <= set(chosen)
        assert set(chosen) == set(ids(Wave(number).of(shuffled, seed)))
        before = set(chosen)
    assert before == set(names)


def test_of_four_cases_five_waves_add_one_or_sum_up() -> None:
    assert [number for number in range(1, WAVES + 1) if Wave(number).adds_to(4)] == [1, 3, 6, 8, 10]
    assert all(Wave(number).adds_to(10) for number in range(1, WAVES + 1))
    assert Wave(2, "spent").adds_to(0)


def test_another_seed_takes_other_cases_first() -> None:
    cases = [Case(f"q{number}") for number in range(100)]
    assert ids(Wave(1).of(cases, 1)) != ids(Wave(1).of(cases, 2))


def test_only_the_last_wave_and_the_closing_pass_sum_up() -> None:
    assert [Wave(number).sums_up for number in (1, 9, 10)] == [False, False, True]
    assert Wave(3, "spent").sums_up and Wave(3, "spent").is_closing and not Wave(10).is_closing


@pytest.mark.parametrize(
    ("words", "n"),
    [
        (["+experiment=full_rag", "judge=openai", "k=3,5", "budget.usd=1"], 10),
        (["+experiment=full_rag", "judge=openai", "k=3,5", "budget.minutes=1"], 10),
        (["+experiment=full_rag", "judge=openai,lexical", "budget.tokens=1"], 10),
        (["+experiment=full_rag", "judge=openai", "budget.usd=1"], 1),
        (["+experiment=full_rag", "judge=openai", "k=3,5", "budget.confirm_over=9"], 1),
        (["+experiment=retrieval_only", "retriever=keyword", "k=3,5", "budget.requests=1"], 1),
    ],
)
def test_waves_are_for_several_runs_that_ask_models_within_a_budget(tmp_path: Path, words: list[str], n: int) -> None:
    assert len(waves_of(compose_cells(words)[1], tmp_path)) == n


def test_a_sweep_goes_on_with_the_wave_in_which_it_stopped(tmp_path: Path) -> None:
    cells = compose_cells(["+experiment=full_rag", "judge=openai", "k=3,5", "budget.usd=1"])[1]
    assert current(tmp_path) == Wave()
    begin(Wave(4, "the budget is spent"), tmp_path)
    assert current(tmp_path) == Wave(4, "the budget is spent")
    assert waves_of(cells, tmp_path) == [Wave(number) for number in range(4, 11)]
