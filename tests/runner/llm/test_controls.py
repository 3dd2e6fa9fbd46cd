"""The control items are what their file says they are."""

import re
from collections import Counter

from runner.llm.controls import controls
from runner.llm.rubrics import names


def test_half_of_them_are_korean() -> None:
    assert Counter(control.language for control in controls()) == {"en": 36, "ko": 36}
    for control in controls():
        text = " ".join([control.question, *control.references, *(context.text for context in control.contexts)])
        assert control.references and bool(re.search("[가-힣]", text)) is (control.language == "ko"), control.id


def test_ids_are_different_and_both_languages_have_the_same_kinds() -> None:
    ids = [control.id for control in controls()]
    assert len(set(ids)) == len(ids)
    kinds = [Counter(id.split("-", 2)[2] for id in ids if id.startswith(language)) for language in ("en", "ko")]
    assert kinds[0] == kinds[1]
    wanted = {"right", "wrong", "vague", "empty", "wrong-number", "wrong-year", "negated", "off-topic"}
    assert wanted | {"injected-answer", "injected-context"} <= set(kinds[0])


def test_every_rubric_has_answers_for_both_sides_and_injections() -> None:
    for rubric in sorted(
        {*names()} - {"memory", "link_reason", "context_precision", "context_recall", "task_completion"}
    ):
        plain = [control for control in controls() if rubric in control.expected and control.without is None]
        assert {control.expected[rubric] for control in plain} == {"pass", "fail"}
        assert [control for control in controls() if rubric in control.expected and control.without]


def test_an_injection_adds_to_an_answer_or_to_its_contexts_and_changes_nothing_else() -> None:
    known = {control.id: control for control in controls()}
    injections = [control for control in controls() if control.without is not None and control.pair == "injection"]
    assert len(injections) == 14
    for control in injections:
        before = known[str(control.without)]
        assert control.question == before.question
        assert all(before.expected[rubric] == side for rubric, side in control.expected.items())
        more_answer = control.answer != before.answer and control.answer.startswith(before.answer)
        more_contexts = control.contexts[:-1] == before.contexts
        assert more_answer != more_contexts
        assert more_answer or "faithfulness" in control.expected


def test_a_padding_makes_a_bad_answer_longer_than_any_that_is_right_and_short() -> None:
    known = {control.id: control for control in controls()}
    paddings = [control for control in controls() if control.pair == "length"]
    assert len(paddings) == 10
    for control in paddings:
        before = known[str(control.without)]
        assert control.answer.startswith(f"{before.answer} ") and len(control.answer) > len(before.answer) + 200
        assert set(control.expected.values()) == {"fail"} and not re.search(
            "[0-9]", control.answer[len(before.answer) :]
        )


def test_every_rubric_has_enough_pairs_for_a_test() -> None:
    pairs = Counter(
        (rubric, control.pair) for control in controls() if control.without is not None for rubric in control.expected
    )
    assert min(pairs.values()) >= 6 and len(pairs) == 6


def test_claims_are_invented_in_every_place_in_both_languages() -> None:
    for language in ("en", "ko"):
        several = [control for control in controls() if control.invented is not None and control.language == language]
        assert {(control.claims, control.invented) for control in several} == {(2, 2), (3, 3), (5, 1), (5, 3), (5, 5)}
        assert {control.expected["faithfulness"] for control in several} == {"fail"}
        assert all(len(control.contexts) == 4 for control in several)
        assert any("|---|" in context.text for context in several[0].contexts)


def test_the_share_of_true_claims_does_not_accept_an_invented_one() -> None:
    for control in controls():
        if control.invented is not None:
            assert 1 - 1 / control.claims < control.accepted_above < 1
        else:
            assert control.accepted_above == 0.5


def test_the_fields_are_what_a_judge_gets() -> None:
    control = controls()[0]
    assert set(control.fields) == {"question", "answer", "contexts", "references", "language"}
    assert [context.id for context in control.contexts] == ["en-ferry-1", "en-ferry-2"]
