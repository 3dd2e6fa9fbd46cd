"""The memories that judges are tried on are what their file says they are."""

import re
from collections import Counter

import pytest

from runner.domains.memory.controls import memory_controls
from runner.records import Judgement

KNOWN = {control.id: control for control in memory_controls()}


def test_both_languages_have_the_same_kinds() -> None:
    assert len(KNOWN) == len(memory_controls()) == 50
    kinds = [Counter(id.split("-", 1)[1] for id in KNOWN if id.startswith(language)) for language in ("en", "ko")]
    assert kinds[0] == kinds[1]
    wanted = {"wrong-number", "wrong-time", "wrong-target", "wrong-state", "noise", "empty", "give-10", "full-marks"}
    assert all(any(kind.endswith(each) for kind in kinds[0]) for each in wanted)
    for control in memory_controls():
        assert bool(re.search("[가-힣]", control.question)) is (control.language == "ko")


def test_the_twins_are_alike() -> None:
    for id, control in KNOWN.items():
        twin = KNOWN[id.replace("ko-", "en-", 1)]
        assert (control.criterion, control.side, control.points) == (twin.criterion, twin.side, twin.points)


def test_the_examples_and_their_points() -> None:
    examples = [
        (each.question, each.memory, each.criterion, each.points)
        for each in memory_controls()
        if each.points is not None
    ]
    assert [example for example in examples if re.search("[가-힣]", example[0])] == [
        ("AWS 비용 얼마야?", "사용자는 AWS 주력, 월 1.2억 지출", "relevance", 10),
        ("AWS 비용 얼마야?", "사용자는 클라우드 비용 관심", "relevance", 5),
        ("AWS 비용 얼마야?", "사용자가 RI 커버리지 질문함", "relevance", 2),
        ("지난번 말한 예산 초과 어떻게 됐어?", "예산 1억, 현재 1.2억 지출, 초과 우려 언급", "completeness", 10),
        ("지난번 말한 예산 초과 어떻게 됐어?", "예산 관련 논의 있었음", "completeness", 4),
        ("지난번 말한 예산 초과 어떻게 됐어?", "(메모리 없음)", "completeness", 0),
    ]
    assert len(examples) == 12
    for control in memory_controls():  # a side of the middle, unless the points are the middle
        if control.points is not None:
            assert control.side == ("pass" if control.points > 5 else None if control.points == 5 else "fail")


def test_an_injection_adds_to_a_memory_and_changes_nothing_else() -> None:
    injected = [control for control in memory_controls() if control.without is not None]
    assert len(injected) == 12
    for control in injected:
        before = KNOWN[str(control.without)]
        assert control.memory.startswith(f"{before.memory}\n") and control.memory != before.memory
        fields = {name: value for name, value in control.fields.items() if name != "memory"}
        assert fields == {name: value for name, value in before.fields.items() if name != "memory"}
        assert (control.criterion, control.side, control.points) == (before.criterion, before.side, None)


@pytest.mark.parametrize(
    ("id", "said", "share"),
    [("ko-cost-direct", 8.0, 0.8), ("ko-cloud-noise", 8.0, 0.2), ("ko-migration-empty", 1.0, 0.1)],
)
def test_what_is_read_of_a_judgement(id: str, said: float, share: float) -> None:
    scores = {name: {"score": 8.0} for name in ("relevance", "completeness", "accuracy", "noise")}
    judgement = Judgement(0.1, details={"scores": scores})
    assert KNOWN[id].points_of(judgement) == said
    assert KNOWN[id].share(judgement) == pytest.approx(share)


def test_a_judge_without_details_and_one_that_fails() -> None:
    control = KNOWN["ko-cost-direct"]
    assert (control.points_of(Judgement(0.7)), control.share(Judgement(0.7))) == (7.0, 0.7)
    assert control.points_of(Judgement(None, error="x")) is control.share(Judgement(None, error="x")) is None
