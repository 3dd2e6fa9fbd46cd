import math
from typing import Any

import pytest

from runner.report.trust import Pairs, Rate, agreements, failing, healths, upper_tail, warnings
from runner.words.wording import LANGUAGES
from tests.model_runs import MEMORY_HEALTH, MODELS_SUMMARY, rate
from tests.run_folders import merged

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]


def health(accept: int = 0, reject: int = 0, injection: int = 0, failed: int = 0) -> dict[str, Any]:
    """Ten control items of each kind."""
    rates = {"false_accept": rate(accept, 10), "false_reject": rate(reject, 10), "injection": rate(injection, 10)}
    return {"facts": {"judge_health": {"faithfulness": {"n": 30, "n_failed": failed, **rates}}}}


def votes(**changes: Any) -> dict[str, Any]:
    entry = {"n": 50, "votes": 4, "failed": 0, "alpha": 0.9, "alpha_low": 0.8, "alpha_high": 0.95, "noise_sd": 0.1}
    return {"judging": {"faithfulness": {**entry, **changes}}}


def test_health() -> None:
    first, second = healths(MODELS_SUMMARY)
    assert (first.rubric, second.rubric) == ("faithfulness", "answer_relevancy")
    assert first.rates == (Rate(6, 9), Rate(0, 8), Pairs(5, 6), Rate(0, 23))
    assert first.items == ["ko-wrong-year", "en-vague", "ko-inject-context"]
    assert healths({}) == []


def test_nothing_judged_is_no_rate() -> None:
    nothing = {"n": 0, "k": 0, "rate": None}
    (found,) = healths({"facts": {"judge_health": {"r": {"n": 4, "n_failed": 4, "injection": nothing}}}})
    assert [str(rate) for rate in found.rates] == ["–", "–", "–", "4/4"]
    assert found.injection.share == 0


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        (health(), []),
        (health(accept=3, reject=3), []),  # 3 of 10 with a chance of .1: p = .070
        (health(accept=5), ["accepted wrong answers among its control items (Faithfulness 5/10)"]),
        (health(reject=5), ["rejected right answers among its control items (Faithfulness 5/10)"]),
        (health(injection=4), []),  # 4 of 4: p = .0625
        (health(injection=5), ["changed the judgement of control items (Faithfulness 5/10)"]),
        (health(failed=6), []),
        (health(failed=7), ["failed on control items (Faithfulness 7/30)"]),
        (health(10, 10, 10, 10), ["changed", "accepted", "rejected", "failed"]),
    ],
)
def test_warnings(summary: dict[str, Any], said: list[str]) -> None:
    found = warnings(summary, EN)
    assert len(found) == len(said)
    assert all(part in text for part, text in zip(said, found, strict=True))


def test_a_move_counts_against_those_the_other_way_over_all_rubrics() -> None:
    def moved(name: str, k: int, against: int) -> dict[str, Any]:
        return {"facts": {"judge_health": {name: {"n": 20, "injection": {**rate(k, 8), "against": against}}}}}

    assert warnings(moved("faithfulness", 6, 2), EN) == []  # p = .145
    assert len(warnings(moved("faithfulness", 7, 1), EN)) == 1  # p = .035
    both = merged(moved("faithfulness", 3, 0), moved("answer_relevancy", 3, 1))  # 6 and 1: p = .0625
    assert warnings(both, EN) == []
    (sentence,) = warnings(merged(moved("faithfulness", 4, 0), moved("answer_relevancy", 3, 0)), EN)
    assert "(Faithfulness 4/8, Answer Relevancy 3/8)" in sentence


def test_more_rates_need_more_errors() -> None:
    one = health(accept=4)  # p = .013, of two rates
    assert failing(one, ["faithfulness"]) == ["faithfulness"]
    others = {name: {"false_accept": rate(0, 10), "false_reject": rate(0, 10)} for name in ("a", "b")}
    assert failing(merged(one, {"facts": {"judge_health": others}}), ["faithfulness"]) == []  # of six


def test_the_chance_of_errors() -> None:
    assert upper_tail(4, 10, 0.1) == pytest.approx(0.0127951984)
    assert upper_tail(0, 0, 0.5) == 1.0


@pytest.mark.parametrize(
    ("good", "bad", "above", "is_named"),
    [(0.55, 0.45, 1.0, True), (0.75, 0.6, 0.9, True), (0.9, 0.5, 1.0, False), (0.7, 0.7, 0.5, False)],
)
def test_nearly_the_same_scores_are_named(good: float, bad: float, above: float, is_named: bool) -> None:
    scores = {"scores": {"good": good, "bad": bad, "above": above}}
    found = warnings({"facts": {"judge_health": {"faithfulness": scores}}}, EN)
    assert len(found) == is_named
    assert not is_named or f"(mean score, bad / good: Faithfulness {bad:.2f} / {good:.2f})" in found[0]


def test_empty_words_that_raise_scores() -> None:
    padded = {"facts": {"judge_health": {"faithfulness": {"length": {**rate(5, 6), "against": 0}}}}}
    assert warnings(padded, EN) == [
        "Warning: the judge gave control items higher scores when empty words were added (Faithfulness 5/6). Long "
        "texts score too high."
    ]


def test_rubrics_share_a_warning() -> None:
    both = merged(health(accept=5), {"facts": {"judge_health": {"answer_relevancy": {"false_accept": rate(4, 8)}}}})
    assert warnings(both, EN) == [
        "Warning: the judge accepted wrong answers among its control items (Faithfulness 5/10, Answer Relevancy 4/8). "
        "Scores are too high where answers are wrong."
    ]
    assert warnings(both, KO) == [
        "경고: 판정기가 대조 문항의 오답을 정답으로 판정했습니다(충실도 5/10, 답변 관련성 4/8). "
        "틀린 답변의 점수가 실제보다 높게 나옵니다."
    ]


def test_memories_have_words_of_their_own() -> None:
    summary = {"facts": {"judge_health": MEMORY_HEALTH}}
    (found,) = healths(summary)
    assert (found.n_examples, found.off) == (12, 1.25)
    assert warnings(summary, EN.of("memory")) == [
        "Warning: instructions hidden in memories changed the grades of control items (Memory Quality 6/8). "
        "Scores of memories that address the judge cannot be trusted.",
        "Warning: the judge gave bad memories among its control items good grades (Memory Quality 9/20). "
        "Scores are too high where memories are bad.",
    ]
    assert warnings(summary, KO.of("memory"))[1] == (
        "경고: 판정기가 대조 문항의 나쁜 메모리에 좋은 점수를 주었습니다(메모리 품질 9/20). "
        "나쁜 메모리의 점수가 실제보다 높게 나옵니다."
    )


@pytest.mark.parametrize(
    ("alpha", "grade"),
    [(1.0, "reliable"), (0.8, "reliable"), (0.799, "tentative"), (0.667, "tentative"), (0.666, "unreliable"),
     (-0.2, "unreliable"), (None, None)],
)  # fmt: skip
def test_grades_of_alpha_at_their_borders(alpha: float | None, grade: str | None) -> None:
    assert agreements(votes(alpha=alpha))[0].grade == grade


def test_the_margin_is_that_of_two_means_of_all_votes() -> None:
    (found,) = agreements(votes())
    assert (found.n, found.votes, found.noise_sd) == (50, 4, 0.1)
    assert found.margin == pytest.approx(1.96 * math.sqrt(0.1**2 / 200 + 0.1**2 / 200))


@pytest.mark.parametrize("noise", [0.0, None])
def test_votes_that_never_differ_have_no_margin(noise: float | None) -> None:
    assert agreements(votes(noise_sd=noise))[0].margin is None


def test_judges_of_a_panel_that_were_asked_several_times_stand_for_themselves() -> None:
    inner = {"n": 50, "votes": 2, "failed": 1, "alpha": 0.5, "noise_sd": 0.2}
    panel, judge = agreements(votes(judges={"first": inner}))
    assert (panel.judge, panel.name(EN), panel.margin) == (None, "Faithfulness", None)
    assert (judge.judge, judge.name(EN), judge.name(KO)) == (
        "first", "Faithfulness, judge first", "충실도, 판정기 first",
    )  # fmt: skip
    assert (judge.failed, judge.low) == (1, None)
    assert judge.margin == pytest.approx(1.96 * 0.2 * math.sqrt(2 / 100))


def test_clamped_scores_are_counted_and_named() -> None:
    clamped = {"faithfulness": {"n": 2, "cases": ["q1", "q7"]}, "tone": {"n": 1, "cases": ["q1"]}}
    assert warnings({"clamped_scores": clamped}, EN) == [
        "3 scores of the judge were outside of their range when asked for again and were clamped to it: "
        "Faithfulness 2 (q1, q7), tone 1 (q1)."
    ]
    assert warnings({"clamped_scores": clamped}, KO)[0].startswith("다시 물어도 범위를 벗어난 판정 점수 3개를")


def test_what_could_not_be_judged_for_want_of_texts_is_said() -> None:
    counts = {"counts": {"contexts": {"without_texts": 2}}}
    assert warnings(counts, EN)[0].startswith("Faithfulness was not judged in 2 cases: ")
    assert warnings(counts, KO)[0].startswith("사례 2개에서 충실도를 판정하지 않았습니다.")
    assert warnings({"counts": {"contexts": {}}}, EN) == []
