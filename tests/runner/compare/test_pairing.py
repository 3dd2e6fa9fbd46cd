import random

from hypothesis import given
from hypothesis import strategies as st

from runner.compare.pairing import Pairing, pair
from tests.comparison_runs import cases


def found(pairing: Pairing, baseline: list[str], candidate: list[str]) -> list[tuple[str, str]]:
    return [(baseline[one], candidate[other]) for one, other in zip(pairing.baseline, pairing.candidate, strict=True)]


def test_by_id_and_what_is_left() -> None:
    one, other = ["a", "b", "c"], ["b", "c", "d"]
    pairing = pair(cases(one), cases(other))
    assert found(pairing, one, other) == [("b", "b"), ("c", "c")]
    assert (pairing.by_id, pairing.by_content) == (2, 0)
    assert (pairing.only_baseline, pairing.only_candidate) == (["a"], ["d"])


def test_by_question_where_ids_changed() -> None:
    one, other = ["1", "2", "3"], ["x1", "x2", "x3"]
    pairing = pair(cases(one, content=["p", "q", "r"]), cases(other, content=["r", "p", "s"]))
    assert found(pairing, one, other) == [("1", "x2"), ("3", "x1")]
    assert (pairing.by_id, pairing.by_content) == (0, 2)
    assert not pairing.new_question.any()


def test_ids_that_were_dealt_out_anew() -> None:
    """Case 1 asks what case 2 asked before: the questions are paired, not the ids."""
    ids = ["1", "2", "3"]
    pairing = pair(cases(ids, content=["p", "q", "r"]), cases(ids, content=["q", "p", "r"]))
    assert found(pairing, ids, ids) == [("1", "2"), ("2", "1"), ("3", "3")]
    assert (pairing.by_id, pairing.by_content) == (1, 2)


def test_a_question_that_is_asked_twice_is_not_paired_by_its_text() -> None:
    pairing = pair(cases(["1", "2"], content=["p", "p"]), cases(["a", "b"], content=["p", "q"]))
    assert len(pairing) == 0
    assert (pairing.only_baseline, pairing.only_candidate) == (["1", "2"], ["a", "b"])


def test_the_same_id_with_another_question_is_marked() -> None:
    ids = ["1", "2"]
    pairing = pair(cases(ids, content=["p", "q"]), cases(ids, content=["p", "changed"]))
    assert found(pairing, ids, ids) == [("1", "1"), ("2", "2")]
    assert pairing.new_question.tolist() == [False, True]
    assert pairing.by_id == 2


def test_other_labels_are_marked() -> None:
    ids = ["1", "2", "3"]
    pairing = pair(cases(ids, gold=["g", "g", None]), cases(ids, gold=["g", "h", "h"]))
    assert pairing.new_gold.tolist() == [False, True, False]


def test_a_case_that_failed_before_it_told_its_question_is_taken_at_its_id() -> None:
    ids = ["1", "2"]
    pairing = pair(cases(ids, content=["p", None]), cases(ids, content=["p", "q"]))
    assert len(pairing) == 2 and not pairing.new_question.any()


def test_nothing_in_common() -> None:
    pairing = pair(cases(["1"], content=["p"]), cases(["2"], content=["q"]))
    assert len(pairing) == 0 and pairing.new_gold.shape == (0,)


QUESTION = st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("pqrstu"))
QUESTIONS = st.lists(QUESTION, max_size=8, unique_by=lambda question: question[0])


@given(QUESTIONS, QUESTIONS)
def test_exchanging_the_runs_exchanges_the_pairs(left: list[tuple[str, str]], right: list[tuple[str, str]]) -> None:
    one = cases([id for id, _ in sorted(left)], content=[text for _, text in sorted(left)])
    other = cases([id for id, _ in sorted(right)], content=[text for _, text in sorted(right)])
    forth, back = pair(one, other), pair(other, one)
    assert forth.baseline.tolist() == back.candidate.tolist()
    assert forth.candidate.tolist() == back.baseline.tolist()
    assert forth.new_question.tolist() == back.new_question.tolist()
    assert len(set(forth.baseline.tolist())) == len(forth) == len(set(forth.candidate.tolist()))
    assert len(forth) + len(forth.only_baseline) == len(one)
    assert len(forth) + len(forth.only_candidate) == len(other)


def test_many_cases_are_paired_whatever_their_order() -> None:
    ids = [f"{number:05d}" for number in range(2000)]
    texts = [f"question {id}" for id in ids]
    mixed = random.Random(1).sample(texts, len(texts))
    pairing = pair(cases(ids, content=texts), cases([f"n{id}" for id in ids], content=mixed))
    assert len(pairing) == pairing.by_content == 2000
