"""Overrides that do not fit into the configuration are told by key, with what would fit, and without their values."""

import pytest

from runner.config.compose import compose_cells
from runner.errors import ConfigError


def problems(*overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        compose_cells(list(overrides))
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        (
            "budget=[1]",
            "budget: expected a mapping (budget.NAME=VALUE), got a list; "
            "known: confirm_over, minutes, requests, tokens, usd",
        ),
        ("report=[en]", "report: expected a mapping (report.NAME=VALUE), got a list; known: high, language"),
        ("report=x", "report: expected a mapping (report.NAME=VALUE), got 'x'; known: high, language"),
        ("report=null", "report: expected a mapping (report.NAME=VALUE), got None; known: high, language"),
        (
            "provider.local.leave_out=[n]",
            "provider.local.leave_out: expected a mapping (provider.local.leave_out.NAME=VALUE), got a list",
        ),
        (
            "provider.openai.leave_out=1",
            "provider.openai.leave_out: expected a mapping (provider.openai.leave_out.NAME=VALUE), got 1",
        ),
        ("models=3", "models: expected a component (a mapping with _target_)"),
        (
            "retriever.keyword=[1]",
            "retriever.keyword: expected a mapping (retriever.keyword.NAME=VALUE), got a list; "
            "known: b, filter, graph_rerank, graph_weight, k1, method, tokenizer",
        ),
        (
            "dataset.chunker=3",
            "dataset.chunker: expected a component; dataset/chunker=NAME chooses one; known: plain, sections, steps",
        ),
        (
            "dataset.chunker=[1]",
            "dataset.chunker: expected a component; dataset/chunker=NAME chooses one; known: plain, sections, steps",
        ),
        ("judge=[1]", "judge: no choice '1'; known: lexical, openai, panel"),
        (
            "retriever=null",
            "retriever: no choice 'null'; known: agentic, given, hybrid, keyword, oracle, semantic, store_keyword",
        ),
        ("k.x=1", "k: expected a whole number, got {'x': 1}"),
        ("+k.x=1", "k: expected a whole number, got {'x': 1}"),
        (
            "dataset.queries.x=1",
            "dataset.queries: unknown setting; known: chunker, language, strict; it is a setting of dataset=csv, "
            "dataset=faq_guide, dataset=jsonl, dataset=vault",
        ),
        ("chunker=steps", "chunker: unknown option; did you mean 'dataset/chunker'?"),
        ("retriever.wieghts=1", "retriever.wieghts: unknown setting; did you mean 'weight'?"),
        (
            "retriever.confidense=1",
            "retriever.confidense: unknown setting; known: filter, fusion, graph_rerank, graph_weight, keyword, "
            "normalization, pool, rrf_k, semantic, weight; did you mean 'min_confidence' of retriever=agentic?",
        ),
        ("cutoffs={a:1}", "cutoffs: expected a list (cutoffs=[…]), got a mapping"),
        ("cutoffs.x=1", "cutoffs.x: expected the list as a whole: cutoffs=[…]"),
        ("cutoffs.4=1", "cutoffs.4: expected the list as a whole: cutoffs=[…]"),  # of four
        ("cutoffs.9=1", "cutoffs.9: expected the list as a whole: cutoffs=[…]"),
        ("~kk", "kk: there is nothing of this name to take out; did you mean 'k'?"),
        ("~dataset.chunker=3", "dataset.chunker: expected ~dataset.chunker, without a value"),
        ("hydra.run=3", "hydra.run: expected a mapping (hydra.run.NAME=VALUE), got one value; known: dir"),
        (
            "hydra/launcher=nope",
            "hydra/launcher: no choice 'nope'; known: basic, joblib, slurm, submitit, submitit_local, submitit_slurm",
        ),
        ("+hydra/sweeper=nope", "hydra/sweeper: no choice 'nope'; known: basic, optuna"),
        (
            "hydra.sweeper._target_=elsewhere.Sweeper",
            "hydra/sweeper: 'elsewhere.Sweeper' is not supported; expected basic, with all values on the command line "
            "(k=3,5,10), or optuna, which searches them",
        ),
        (
            "+hydra.sweeper.params.k=1",
            "hydra.sweeper.params: expected nothing: what to sweep over stands on the command line (k=3,5,10)",
        ),
        ("hydra/lancher=joblib", "hydra/lancher: no such group; did you mean 'hydra/launcher'?"),
        ("retrievr@suggester=keyword", "retrievr: no such group; did you mean 'retriever'?"),
        (
            "dataset@x=demo",
            "dataset@x: there is no component here; +dataset@x=demo adds one; known: retriever@retriever.keyword, "
            "retriever@retriever.semantic",
        ),
        ("k='${'", "k: cannot be set to this value (no viable alternative at input '${' full_key: k object_type=dict)"),
    ],
)
def test_what_does_not_fit(override: str, problem: str) -> None:
    assert problems(override) == [problem]


def test_a_place_that_a_component_can_be_chosen_for() -> None:
    word = "retriever@suggester.text.retrieve=keyword"
    assert problems("+experiment=links", word) == [
        f"retriever@suggester.text.retrieve: there is no component here; +{word} adds one; "
        "did you mean 'retriever@suggester.text.retriever'?"
    ]


@pytest.mark.parametrize("word", ["hydra/launcher=joblib", "+hydra/launcher=joblib", "~hydra/launcher"])
def test_what_hydra_has_can_be_chosen(word: str) -> None:
    (cell,) = compose_cells([word])[1]
    assert cell.cfg.evaluation


def test_hydra_as_a_number() -> None:
    (problem,) = problems("hydra=3")
    assert problem.startswith("hydra: expected a mapping (hydra.NAME=VALUE), got one value; known: callbacks, ")


def test_all_that_do_not_fit_are_told_together_with_other_problems() -> None:
    assert [problem.partition(":")[0] for problem in problems("judge=x", "budget=[1]", "report=[1]")] == [
        "judge", "budget", "report",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "override",
    [
        "provider.local=sk-secret", "provider.local=[sk-secret]", "provider.local.prices=sk-secret",
        "provider.local.add=[sk-secret]", "provider.local.leave_out=sk-secret", "~provider.local.base_url=sk-secret",
        "provider.local.add='${sk-secret'", "provider={local: sk-secret}",
        "models.providers=[sk-secret]", "provider.local.base_url=[sk-secret]",
    ],
)  # fmt: skip
def test_no_value_of_a_provider_is_shown(override: str) -> None:
    (problem,) = problems(override)
    assert problem.startswith(override.lstrip("~").partition("=")[0])
    assert "sk" not in problem


def test_a_word_that_hydra_cannot_read_again() -> None:
    with pytest.raises(ConfigError, match=r"evaluation\.x: no value that Hydra reads; in quotes"):
        compose_cells(["+experiment=copilot", "++evaluation.x=${oc.decode:'[1'}"])


def test_a_component_below_a_name_that_is_a_number() -> None:
    with pytest.raises(ConfigError, match=r"retriever\.menu: no component belongs here"):
        compose_cells(["+experiment=copilot", "retriever.menu.en.1._target_=-0"])


def test_the_name_of_a_class_with_a_thousand_dots() -> None:
    with pytest.raises(ConfigError, match="no class has a name of more than 500 characters"):
        compose_cells(["+experiment=full_rag", "retriever._target_=" + "0.35" * 999])
