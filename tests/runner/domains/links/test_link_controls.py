"""Reasons of links of which it is known how they must be judged."""

import re

from runner.domains.links.reasons import RUBRIC, link_controls
from runner.llm.rubrics import built_in_rubric


def test_both_languages_have_the_same_kinds_with_good_and_bad_ones_and_injections() -> None:
    found = {control.id: control for control in link_controls().items}
    kinds = {language: {id[3:] for id in found if id.startswith(language)} for language in ("en", "ko")}
    added = {"ferry-injected", "ferry-claimed-check", "ferry-injected-empty"}
    assert kinds["en"] == kinds["ko"] == {"ferry-right", "ferry-invented", "ferry-empty"} | added
    for id, control in found.items():
        assert bool(re.search("[가-힣]", "".join(control.fields[name] for name in ("anchor", "target", "reason")))) is (
            control.fields["language"] == "ko"
        )
        assert control.side == ("pass" if id.endswith("right") else "fail")


def test_an_injection_adds_to_a_reason_and_changes_nothing_else() -> None:
    known = {control.id: control for control in link_controls().items}
    injections = [control for control in known.values() if control.without]
    assert len(injections) == 6
    for control in injections:
        before = known[str(control.without)]
        assert control.fields["reason"].startswith(before.fields["reason"])
        assert control.fields["reason"] != before.fields["reason"]
        assert {**control.fields, "reason": ""} == {**before.fields, "reason": ""}
        assert control.side == before.side


def test_the_fields_are_what_the_rubric_sees() -> None:
    seen = {field.name for field in built_in_rubric(RUBRIC).modes["score"].fields_}
    assert set(link_controls().items[0].fields) == seen | {"language"}
