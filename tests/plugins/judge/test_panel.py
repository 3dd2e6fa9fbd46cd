"""Several judges as one: how their scores are combined, who is left out, how they are chosen."""

import asyncio
import json
from pathlib import Path

import pytest

from plugins.judge.lexical import LexicalJudge
from plugins.judge.openai import OpenaiJudge
from plugins.judge.panel import PanelJudge
from runner.config.components import build
from runner.config.compose import compose_cells
from runner.errors import ConfigError, EvaluationError, StopRunError
from runner.llm.controls import answer_controls
from runner.llm.health import check_health
from runner.records import Judgement
from tests.services.doors import models as models_at
from tests.services.models_replies import completion
from tests.services.models_server import serving_models

FIELDS = {"question": "How long?", "answer": "Five days.", "contexts": [], "language": "en"}


class Says:
    on_failure = "zero"

    def __init__(self, score, reasoning="so", error=None, details=None):
        self.said = Judgement(score, reasoning, error, details or {})
        self.asked = []

    async def judge(self, rubric, fields):
        self.asked.append((rubric, fields))
        return self.said


class Knows(Says):
    """Lists the rubrics that it knows, and learns others."""

    def __init__(self, *rubrics, score=1.0):
        super().__init__(score)
        self.rubrics = list(rubrics)

    def learn(self, rubrics):
        self.rubrics += rubrics


class Raises:
    on_failure = "zero"

    def __init__(self, error):
        self.error = error

    async def judge(self, rubric, fields):
        raise self.error


def panel(*scores, **settings):
    judges = {f"j{number}": Says(score, error=None if score is not None else "cut off") for number, score in scores}
    return PanelJudge(judges=judges, **settings)


def scores_of(*scores, **settings):
    return panel(*enumerate(scores, 1), **settings)


@pytest.mark.parametrize(
    ("scores", "settings", "expected"),
    [
        ((1.0, 0.5, 0.0, 0.1), {"combine": "mean"}, 0.4),
        ((1.0, 0.5, 0.0), {"combine": "median"}, 0.5),
        ((1.0, 0.5, 0.0, 0.1), {"combine": "median"}, 0.3),
        ((0.5, 0.9, 0.1), {"combine": "majority"}, 1.0),
        ((0.49, 0.9, 0.1), {"combine": "majority"}, 0.0),
        ((0.5, 0.49), {"combine": "majority"}, 0.5),
        ((0.5, 0.9, 0.1), {"combine": "majority", "threshold": 0.6}, 0.0),
        ((None, 0.9, 0.9, 0.1), {"combine": "majority"}, 1.0),
        ((None, 0.9), {"combine": "mean"}, 0.9),
    ],
)
async def test_combinations(scores, settings, expected):
    found = await scores_of(*scores, **settings).judge("faithfulness", FIELDS)
    assert found.score == pytest.approx(expected)
    assert found.details["votes"] == {f"j{number}": score for number, score in enumerate(scores, 1)}


async def test_everybody_is_asked_the_same_and_named_in_the_reasoning():
    judges = {"strict": Says(0.2, "No."), "lenient": Says(1.0, "Yes.")}
    found = await PanelJudge(judges=judges).judge("faithfulness", FIELDS)
    assert found == Judgement(
        0.6, "strict (0.20): No.\nlenient (1.00): Yes.", details={"votes": {"strict": 0.2, "lenient": 1.0}}
    )
    assert judges["strict"].asked == judges["lenient"].asked == [("faithfulness", FIELDS)]


async def test_all_at_once():
    meeting = asyncio.Barrier(2)

    class Meets:
        on_failure = "zero"

        async def judge(self, rubric, fields):
            await meeting.wait()
            return Judgement(1.0)

    assert (await PanelJudge(judges={"a": Meets(), "b": Meets()}).judge("faithfulness", FIELDS)).score == 1


async def test_members_that_fail_are_left_out_and_named():
    judges = {"a": Says(None, error="cut off"), "b": Raises(EvaluationError("HTTP 400")), "c": Says(0.3)}
    found = await PanelJudge(judges=judges).judge("faithfulness", FIELDS)
    assert found.score == 0.3
    assert found.details["votes"] == {"a": None, "b": None, "c": 0.3}
    assert found.details["failures"] == {"a": "cut off", "b": "HTTP 400"}
    assert found.reasoning == "a: cut off\nb: HTTP 400\nc (0.30): so"


async def test_a_panel_fails_when_every_member_does():
    found = await scores_of(None, None, combine="majority").judge("faithfulness", FIELDS)
    assert (found.score, found.error, found.details["votes"]) == (None, "cut off", {"j1": None, "j2": None})


async def test_only_members_that_know_the_rubric_are_asked_where_one_does():
    judge = PanelJudge(judges={"a": Knows("tone", score=0.25), "b": Knows("right", "tone"), "c": Knows("right")})
    assert judge.rubrics == ["right", "tone"]
    assert (await judge.judge("tone", FIELDS)).details["votes"] == {"a": 0.25, "b": 1.0}
    assert set((await judge.judge("unknown", FIELDS)).details["votes"]) == {"a", "b", "c"}
    assert PanelJudge(judges={"a": Knows("tone"), "b": Says(1.0)}).rubrics is None  # nobody knows what b does


def test_criteria_need_a_member_that_takes_them():
    taking, other = PanelJudge(judges={"a": Says(1.0), "b": Knows("tone")}), PanelJudge(judges={"c": LexicalJudge()})
    for judge in (taking, other):
        assert judge.preflight() == [] and judge.health
        judge.learn({"polite": object()})
    assert taking.judges["b"].rubrics == ["tone", "polite"] and taking.preflight() == []
    (problem,) = other.preflight()
    assert str(problem) == "judge.judges: no member takes criteria, as those of polite; expected one like openai"


async def test_members_whose_votes_are_missing_are_asked_again_alone():
    half = {"votes": {"1": 0.5, "2": None}, "kept_votes": {"1": {"score": 0.5, "reasoning": "so", "details": {}}}}
    judges = {"whole": Says(1.0), "half": Says(0.5, details=half), "failed": Says(None, error="cut off")}
    judge = PanelJudge(judges=judges)
    earlier = await judge.judge("faithfulness", FIELDS)
    judges["half"].said, judges["failed"].said = Judgement(0.7, "so"), Judgement(0.1, "so")
    found = await judge.complete("faithfulness", FIELDS, earlier)
    assert found.details["votes"] == {"whole": 1.0, "half": 0.7, "failed": 0.1}
    assert [len(each.asked) for each in judges.values()] == [1, 2, 2]


async def test_what_ends_the_run_passes():
    with pytest.raises(StopRunError, match="wrong key"):
        await PanelJudge(judges={"a": Says(1.0), "b": Raises(StopRunError("wrong key"))}).judge("x", FIELDS)


async def test_repeats_and_claims_of_members_are_kept_by_name():
    details = {"claims": [{"claim": "x"}], "votes": {"1": 1.0, "2": 0.0}}
    found = await PanelJudge(judges={"a": Says(0.5, details=details), "b": Says(1.0)}).judge("faithfulness", FIELDS)
    assert found.details == {
        "a/claims": [{"claim": "x"}],
        "votes": {"a/1": 1.0, "a/2": 0.0, "b": 1.0},
    }


async def test_health_is_that_of_the_panel_as_a_whole():
    alone = await check_health(LexicalJudge(), answer_controls(["faithfulness"]))
    both = PanelJudge(judges={"words": LexicalJudge(), "no": Says(0.0)}, combine="median")
    found = await check_health(both, answer_controls(["faithfulness"]))
    assert alone["faithfulness"]["false_accept"]["k"] == 1 and alone["faithfulness"]["false_reject"]["k"] == 0
    assert found["faithfulness"]["false_accept"]["k"] == 0 and found["faithfulness"]["false_reject"]["k"] == 14


async def test_models_of_a_panel_share_a_server(tmp_path: Path):
    with serving_models() as server:
        models = models_at(server.url, tmp_path, cache="none")
        scores = {"good": 1.0, "bad": 0.5}
        server.respond = lambda body: completion(body, json.dumps({"reasoning": "r", "score": scores[body["model"]]}))
        members = {name: OpenaiJudge(models=models, model=f"test:{name}", repeats=2) for name in scores}
        judge = PanelJudge(judges=members)
        async with models.open():
            found = await judge.judge("faithfulness", FIELDS)
        assert found.score == 0.75
        assert found.details["votes"] == {"good/1": 1.0, "good/2": 1.0, "bad/1": 0.5, "bad/2": 0.5}
        assert server.count == 4
        assert {name: part["model"] for name, part in judge.provenance.items()} == {
            "good": "test:good",
            "bad": "test:bad",
        }


# --- conf/judge/panel.yaml ----------------------------------------------------------------------------


def composed(*overrides: str):
    _, (cell,) = compose_cells(["evaluation=full_rag", "judge=panel", *overrides])
    return build(cell.cfg.evaluation).root.judge_


def test_members_take_settings_are_added_and_dropped():
    judge = composed(
        "judge.judges.first.model=openai:gpt-4o-2024-11-20",
        "judge.judges.first.repeats=3",
        "+judge@judge.judges.words=lexical",
        "~judge.judges.third",
        "judge.combine=majority",
        "seed=5",
    )
    assert list(judge.judges) == ["first", "second", "words"]
    assert (judge.judges["first"].provenance["model"], judge.judges["first"].repeats) == (
        "openai:gpt-4o-2024-11-20",
        3,
    )
    assert judge.judges["second"].sampling.seed == 5
    assert isinstance(judge.judges["words"], LexicalJudge)


def test_the_members_are_different_models():
    models = [member.provenance["model"] for member in composed().judges.values()]
    assert len(models) == len(set(models)) == 3


def test_wrong_settings_of_members_are_named():
    with pytest.raises(ConfigError) as raised:
        composed("judge.judges.first.modl=x:y", "judge.judges.second.repeats=21", "judge.combine=max")
    assert [str(problem) for problem in raised.value.problems] == [
        "judge.judges.first.modl: unknown setting; did you mean 'model'?",
        "judge.judges.second.repeats: expected 20 or less, got 21",
        "judge.combine: expected 'mean', 'median' or 'majority', got 'max'",
    ]


def test_a_panel_needs_members_that_are_judges():
    with pytest.raises(ConfigError, match=r"judge\.judges: expected components by name"):
        composed("judge.judges.fourth=lexical")
