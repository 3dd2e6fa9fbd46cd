"""A frozen configuration composes to what was frozen, and takes every override and choice on top."""

import re
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from runner.config import arguments
from runner.config.compose import Plan, initialise, plan_of
from runner.config.frozen import FrozenConfig, unfold
from runner.config.hydra_internals import ComposedLoader
from runner.config.options import plain_config
from runner.errors import ConfigError, InputError

# Not the defaults of today, so that a record tells itself from them.
RAN = ["+experiment=full_rag", "dataset=demo_ko", "k=7", "retriever.weight=0.25", "embedder.dim=99", "tracking=none"]


def composed(*words: str) -> dict[str, Any]:
    """A configuration with its interpolations, as Hydra leaves it with a run."""
    with initialize_config_module("conf", version_base="1.3"):
        values = OmegaConf.to_container(compose("config", list(words)))
    assert isinstance(values, dict)
    return {str(name): value for name, value in values.items()}


CHOICES = {
    "evaluation": "full_rag", "experiment": "full_rag", "dataset": "demo_ko", "tokenizer": "auto", "embedder": "lsa",
    "retriever": "hybrid", "generator": "extractive", "judge": "lexical", "tracking": "none",
}  # fmt: skip


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    return composed(*RAN)


@pytest.fixture
def record(tmp_path: Path, values: dict[str, Any]) -> Path:
    return write(tmp_path / "기록 1", FrozenConfig("", CHOICES, values))


def write(folder: Path, frozen: FrozenConfig) -> Path:
    folder.mkdir(parents=True)
    (folder / "frozen.yaml").write_text(frozen.yaml("A head,\nof two lines."), encoding="utf-8")
    return folder


def plan(record: Path, *words: str) -> Plan:
    return plan_of(arguments.read(["-cd", str(record), "-cn", "frozen", *words]))


def test_jobs_get_what_was_checked_as_if_hydra_composed_it_again(record: Path, tmp_path: Path) -> None:
    """From other files: those of the plan were temporary."""
    made = plan(record, "k=3,4")
    assert made.frozen is not None
    unfold(made.frozen, tmp_path / "files")
    with initialise(tmp_path / "files"):
        own = GlobalHydra.instance().config_loader()
        master = own.load_configuration("config", [*made.overrides, "hydra.mode=MULTIRUN"], RunMode.MULTIRUN)
        for words in (["k=3", "out=x"], ["k=4", "out=x"]):
            given, wanted = (
                loader.load_sweep_config(master, words) for loader in (ComposedLoader(own, made.cells), own)
            )
            del given.hydra.job.override_dirname, wanted.hydra.job.override_dirname  # `++k=3` and `k=3`
            assert given == wanted
            assert str(tmp_path / "files") in [source.path for source in given.hydra.runtime.config_sources]


def only(record: Path, *words: str) -> dict[str, Any]:
    (cell,) = plan(record, *words).cells
    return plain_config(cell.cfg)


def test_it_composes_to_what_was_frozen(record: Path, values: dict[str, Any]) -> None:
    (cell,) = plan(record).cells
    assert OmegaConf.to_container(cell.cfg) == values
    assert cell.experiment == "full_rag"
    assert cell.cfg.evaluation.retrieval.k == 7  # through an interpolation
    (before,) = plan_of(arguments.read(RAN)).cells
    assert cell.fingerprint == before.fingerprint


def test_the_file_names_every_choice_and_keeps_interpolations(record: Path) -> None:
    text = (record / "frozen.yaml").read_text(encoding="utf-8")
    assert text.startswith("# A head,\n# of two lines.\nfrozen:\n  schema: 1\n  digest: ")
    assert "    retriever: hybrid\n" in text
    assert "\n    k: ${k}\n" in text
    assert "\n  weight: 0.25\n" in text


def test_it_does_not_follow_the_defaults_of_today(tmp_path: Path, values: dict[str, Any]) -> None:
    old = {**values, "min_score": 0.111, "judge": {**values["judge"], "supported": 0.222}}
    found = only(write(tmp_path / "x", FrozenConfig("", CHOICES, old)))
    assert (found["min_score"], found["judge"]["supported"]) == (0.111, 0.222)


def test_an_option_that_is_newer_has_its_default(tmp_path: Path, values: dict[str, Any]) -> None:
    old = {name: value for name, value in values.items() if name != "cold_start"}
    assert only(write(tmp_path / "x", FrozenConfig("", CHOICES, old)))["cold_start"] is False


def test_values_go_on_top(record: Path) -> None:
    found = only(record, "k=3", "retriever.pool=9", "report.language=ko")
    assert (found["k"], found["retriever"]["pool"], found["retriever"]["weight"]) == (3, 9, 0.25)
    assert (found["report"], found["dataset"]["language"]) == ({"language": "ko", "high": 0.6}, "ko")


def test_another_choice_is_that_of_today_and_nothing_of_the_old_one_stays(record: Path) -> None:
    today = composed("+experiment=full_rag", "retriever=keyword")
    found = plan(record, "retriever=keyword").cells[0].cfg
    assert OmegaConf.to_container(found.retriever) == today["retriever"]
    assert found.embedder.dim == 99


def test_the_choice_itself_is_the_frozen_one(record: Path) -> None:
    assert only(record, "retriever=hybrid")["retriever"]["weight"] == 0.25


def test_choices_and_values_can_be_swept(record: Path) -> None:
    found = plan(record, "retriever=keyword,hybrid", "k=2,4")
    assert found.is_sweep
    kinds = [(cell.cfg.retriever.get("weight"), cell.cfg.k) for cell in found.cells]
    assert kinds == [(None, 2), (None, 4), (0.25, 2), (0.25, 4)]


def test_another_evaluation_keeps_what_both_have(record: Path) -> None:
    found = only(record, "evaluation=retrieval_only")
    assert found["dataset"]["language"] == "ko"
    assert found["retriever"]["weight"] == 0.25
    assert "judge" not in found


def test_an_experiment_goes_on_top(record: Path) -> None:
    (cell,) = plan(record, "+experiment=retrieval_only").cells
    assert (cell.experiment, cell.cfg.dataset.language, "judge" in cell.cfg) == ("retrieval_only", "ko", False)


def test_providers_are_frozen_and_can_be_set(tmp_path: Path) -> None:
    old = composed(*RAN, "provider.openai.prices.usd_per_million.gpt-4o.input=1.25")
    record = write(tmp_path / "x", FrozenConfig("", CHOICES, old))
    found = only(record, "provider.local.base_url=http://127.0.0.1:1/v1")
    assert found["provider"]["openai"]["prices"]["usd_per_million"]["gpt-4o"]["input"] == 1.25
    assert found["provider"]["local"]["base_url"] == "http://127.0.0.1:1/v1"


def test_a_sweep_is_swept_again_unless_it_is_given(tmp_path: Path, values: dict[str, Any]) -> None:
    others = {"retriever/keyword": {**composed("retriever=keyword")["retriever"], "k1": 0.9}}
    sweep = {"k": "3,5", "retriever": "hybrid,keyword"}
    record = write(tmp_path / "x", FrozenConfig("", CHOICES, values, sweep, others))
    found = plan(record)
    assert found.is_sweep
    assert [(cell.cfg.k, cell.cfg.retriever.get("k1")) for cell in found.cells] == [
        (3, None), (3, 0.9), (5, None), (5, 0.9),
    ]  # fmt: skip
    assert [cell.swept for cell in found.cells][1] == ["k=3", "retriever=keyword"]
    one = plan(record, "k=4", "retriever=hybrid")
    assert (len(one.cells), one.is_sweep, one.cells[0].cfg.k) == (1, False, 4)


def test_a_swept_setting_goes_with_the_group_it_belongs_to(tmp_path: Path, values: dict[str, Any]) -> None:
    record = write(tmp_path / "x", FrozenConfig("", CHOICES, values, {"retriever.weight": "0.2,0.4"}))
    assert [cell.cfg.retriever.weight for cell in plan(record).cells] == [0.2, 0.4]
    assert len(plan(record, "retriever=keyword").cells) == 1


def test_evaluations_can_be_swept(tmp_path: Path, values: dict[str, Any]) -> None:
    """Each with its own components: those that only one has are as frozen, too."""
    both = {"dataset", "tokenizer", "embedder", "retriever", "tracking"}
    base = {name: value for name, value in values.items() if name not in ("generator", "judge")}
    base["evaluation"] = composed("evaluation=retrieval_only")["evaluation"]
    choices = {"evaluation": "retrieval_only", **{name: CHOICES[name] for name in CHOICES if name in both}}
    others = {
        "evaluation/full_rag": {**values["evaluation"], "high": 0.77},
        "generator/extractive": values["generator"],
        "judge/lexical": {**values["judge"], "supported": 0.55},
    }
    record = write(tmp_path / "x", FrozenConfig("", choices, base, {"evaluation": "retrieval_only,full_rag"}, others))
    first, second = (cell.cfg for cell in plan(record).cells)
    assert "judge" not in first
    assert (second.judge.supported, second.evaluation.high, second.retriever.weight) == (0.55, 0.77, 0.25)
    assert OmegaConf.to_container(first) == base


def test_members_of_a_panel_stay(tmp_path: Path) -> None:
    words = ["judge=panel", "+judge@judge.judges.words=lexical", "judge.judges.first.model=openai:gpt-4o"]
    old = composed(*RAN, *words)
    choices = {**CHOICES, "judge": "panel", "judge@judge.judges.words": "lexical"}
    record = write(tmp_path / "x", FrozenConfig("", choices, old))
    assert OmegaConf.to_container(plan(record).cells[0].cfg) == old
    assert (
        only(record, "judge.judges.second.model=openai:gpt-4o")["judge"]["judges"]["second"]["model"] == "openai:gpt-4o"
    )


def test_nested_groups_are_choices_of_their_own(tmp_path: Path, values: dict[str, Any]) -> None:
    judge = {"on_failure": "zero", "store": {"path": "x", "ttl": 5}}
    frozen = FrozenConfig("", {**CHOICES, "judge": "stored", "judge/store": "disk"}, {**values, "judge": judge})
    unfold(frozen, tmp_path)
    assert OmegaConf.load(tmp_path / "judge" / "stored.yaml") == {
        "defaults": [{"store": "disk"}, "_self_"],
        "on_failure": "zero",
    }
    assert OmegaConf.load(tmp_path / "judge" / "store" / "disk.yaml") == {
        "defaults": ["_self_"],
        "path": "x",
        "ttl": 5,
    }


def test_all_problems_at_once(record: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        plan(record, "k=99", "judg=3", "retriever=kyword", "embedder.dims=3")
    assert str(caught.value) == (
        "4 problems in the configuration:\n"
        "  retriever: no choice 'kyword'; did you mean 'keyword'?\n"
        "  k: expected 50 or less, got 99\n"
        "  judg: unknown option; did you mean 'judge'?\n"
        "  embedder.dims: unknown setting; did you mean 'dim'?"
    )


def test_yaml_of_ones_own_beside_it(record: Path, tmp_path: Path) -> None:
    (tmp_path / "own" / "retriever").mkdir(parents=True)
    text = "_target_: plugins.retriever.given.GivenRetriever\n"
    (tmp_path / "own" / "retriever" / "mine.yaml").write_text(text, encoding="utf-8")
    found = only(record, "-cd", str(tmp_path / "own"), "retriever=mine")
    assert found["retriever"] == {"_target_": "plugins.retriever.given.GivenRetriever"}
    with pytest.raises(ConfigError, match="retriever: no choice 'mine'"):
        only(record, "retriever=mine")


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("k: 7", "k: 8"), "not as it was frozen: damaged, cut off or edited"),
        (lambda text: text[: text.index("judge:\n  _target_")], "not as it was frozen: damaged, cut off or edited"),
        (lambda text: text.replace("    retriever: hybrid\n", ""), "not as it was frozen"),
        (lambda text: text.replace("  language: ko\n", "  2: ko\n"), "not as it was frozen"),
        (lambda text: text.replace("  weight: 0.25\n", "  weight: .nan\n"), "not as it was frozen"),
        (lambda text: text.replace("  choices:\n", "  choices: 3\n  was:\n"), "not as it was frozen"),
        (lambda text: text.replace("schema: 1", "schema: 0"), "of schema 0, this version reads 1; freeze its run"),
        (lambda text: text.replace("  schema: 1\n", ""), "of schema None, this version reads 1"),
        (lambda text: text.replace("frozen:", "thawed:"), "no frozen configuration (python -m runner freeze RUN FO"),
        (lambda text: text.replace("frozen:", "frozen: {"), "cannot be read: "),
        (lambda text: "- 1\n- 2\n", "expected a mapping"),
        (lambda text: "", "no frozen configuration"),
    ],
)
def test_what_was_not_frozen_so_is_refused(record: Path, change: Any, message: str) -> None:
    path = record / "frozen.yaml"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(InputError, match=rf"^{re.escape(f'{path}: {message}')}"):
        plan(record)


def test_bytes_that_are_no_text(record: Path) -> None:
    (record / "frozen.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"frozen\.yaml: cannot be read: "):
        plan(record)


@given(st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_character_is_refused_or_changes_nothing(record: Path, data: st.DataObject) -> None:
    path = record / "frozen.yaml"
    before = FrozenConfig.read(path)
    text = path.read_text(encoding="utf-8")
    place = data.draw(st.integers(0, len(text) - 1))
    changed = (
        text[:place] + data.draw(st.sampled_from(["", "0", "x", " ", "\n", "'", ":", "가", "-"])) + text[place + 1 :]
    )
    path.write_text(changed, encoding="utf-8")
    try:
        assert FrozenConfig.read(path) == before
    except InputError:
        pass
    finally:
        path.write_text(text, encoding="utf-8")
