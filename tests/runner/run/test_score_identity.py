"""Who judges, and by which prompts: what makes two judges the same."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.compare.snapshot import depends_on
from runner.config.components import build
from runner.config.options import plain_value
from runner.llm.rubrics import names
from runner.metrics.catalogue import catalogue_of
from runner.run.score_identity import (
    FAMILIES,
    added_metrics,
    class_digest,
    foreign_modules,
    metric_code,
    score_identity,
)

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


def test_the_code_of_a_class_of_somebody_else_belongs_to_its_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what its module imports from beside it; an evaluation that builds on one of the program answers for its
    own metrics alone."""
    monkeypatch.syspath_prepend(str(tmp_path))
    code = """
from plugins.evaluation.full_rag import FullRag
from runner.metrics.metric import Metric
from {name}_words import count
LABEL = {{"en": "Words"}}
class Words:
    metrics = (Metric(name="long", better="lower", label=LABEL),)
    def score(self, case, output, judgements): return count(output)
class Rag(FullRag):
    retrieval = type("Retrieval", (), {{"metrics": ()}})()
    chosen_metrics = type("Chosen", (), {{"metrics": Words.metrics}})()
    system = None
    def __init__(self): pass
    @property
    def metrics(self): return (*super().metrics, Metric(name="words", better="neither", label=LABEL))
"""
    digests = []
    for name, counted in (("mine_a", "1"), ("mine_b", "2")):
        (tmp_path / f"{name}.py").write_text(code.format(name=name), "utf-8")
        (tmp_path / f"{name}_words.py").write_text(f"def count(output): return {counted}\n", "utf-8")
        module = importlib.import_module(name)
        added = added_metrics({"evaluation": module.Rag(), "metric.long": module.Words()})
        assert added == {"long": module.Words, "words": module.Rag}
        assert foreign_modules(module.Rag) == [name]
        digests.append(class_digest(module.Words))
        depends = depends_on("words", ["queries", "metric_code.words"], catalogue_of(module.Rag()))
        assert set(depends) == {"queries", "metric_code.words"}
    assert len(set(digests)) == 2


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
