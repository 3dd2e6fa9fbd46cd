"""Who judges, and by which prompts: what makes two judges the same."""

from typing import Any

from omegaconf import OmegaConf

from runner.config.components import build
from runner.config.options import plain_value
from runner.llm.rubrics import names
from runner.run.score_identity import FAMILIES, metric_code, score_identity

MODELS = {
    "_target_": "runner.llm.models.Models", "cache": "none", "cache_dir": "x", "out": None, "timeout_ms": 1000,
    "max_concurrency": 1, "providers": {"local": {}},
    "budget": {"usd": None, "tokens": None, "requests": None, "minutes": None, "confirm_over": None},
}  # fmt: skip
LEXICAL = {"_target_": "plugins.judge.lexical.LexicalJudge", "on_failure": "zero", "supported": 0.5, "health": True}


def test_families() -> None:
    found = metric_code()
    assert found.keys() == FAMILIES.keys()
    assert len(set(found.values())) == len(FAMILIES)


def asking(model: str, **settings: Any) -> dict[str, Any]:
    return {"_target_": "plugins.judge.openai.OpenaiJudge", "models": MODELS, "model": model, **settings}


def judged_by(judge: dict[str, Any]) -> dict[str, Any]:
    cfg = OmegaConf.create({"judge": judge})
    found = score_identity(build(cfg.judge), {"judge": plain_value(cfg, "judge")})
    assert found["metric_code"].keys() == {
        "right",
        "ranking",
        "answers",
        "diagnosis",
        "memory",
        "locomo",
        "trace",
        "links",
        "agent",
        "checks",
        "further_ranking",
    }
    assert set(found["components"]) == {"judge"}
    judge_: dict[str, Any] = found["judged_by"]
    return judge_


def test_settings_that_change_a_score() -> None:
    lexical = judged_by(LEXICAL)
    assert lexical["prompts"] == {}
    assert judged_by({**LEXICAL, "supported": 0.6})["judge"] != lexical["judge"]
    assert judged_by({**LEXICAL, "on_failure": "exclude"})["judge"] != lexical["judge"]
    assert judged_by({**LEXICAL, "health": False}) == lexical


def test_the_model_is_part_of_the_judge_and_the_prompts_stand_by_themselves() -> None:
    one, other = judged_by(asking("local:small")), judged_by(asking("local:large"))
    assert one["judge"] != other["judge"]
    assert one["prompts"] == other["prompts"]
    assert one["prompts"].keys() == set(names())
    by_claims = judged_by(asking("local:small", mode="claims"))
    assert by_claims["judge"] != one["judge"]


def test_where_answers_are_kept_and_how_many_are_asked_at_once_is_not() -> None:
    elsewhere = {**MODELS, "cache": "use", "cache_dir": "y", "max_concurrency": 8}
    assert judged_by({**asking("local:small"), "models": elsewhere}) == judged_by(asking("local:small"))


def test_a_panel_has_the_prompts_of_all_its_judges() -> None:
    def panel(*models: str) -> dict[str, Any]:
        judges = {f"judge {number}": asking(model) for number, model in enumerate(models)}
        return judged_by({"_target_": "plugins.judge.panel.PanelJudge", "judges": judges})

    two, three = panel("local:a", "local:b"), panel("local:a", "local:b", "local:c")
    assert two["prompts"].keys() == set(names())
    assert two["prompts"] != three["prompts"] and two["judge"] != three["judge"]


def test_an_evaluation_without_a_judge() -> None:
    cfg = OmegaConf.create({"tokenizer": {"_target_": "plugins.tokenizer.word.WordTokenizer"}})
    assert score_identity(build(cfg.tokenizer), {})["judged_by"] == {}
