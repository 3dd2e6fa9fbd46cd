import pickle
from pathlib import Path
from typing import Any

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from yaml import YAMLError

from runner.config import arguments
from runner.config.compose import compose_cells, initialized
from runner.config.hydra_internals import Composed, load


class Refusing:
    """A loader that composes nothing."""

    def load_configuration(self, *_: Any, **__: Any) -> DictConfig:
        raise AssertionError("composed once more")


def plain(cfg: DictConfig) -> dict[str, Any]:
    OmegaConf.update(cfg, "hydra.job.override_dirname", "", force_add=True)  # in the words of the first composition
    found = OmegaConf.to_container(cfg, resolve=False, enum_to_str=True)
    assert isinstance(found, dict)
    return {str(name): value for name, value in found.items()}


@pytest.mark.parametrize(
    "words",
    [
        ["+experiment=full_rag"],
        ["+experiment=full_rag", "k=7", "case=1_000", "retriever=keyword", "report.language=ko"],
        ["+experiment=full_rag", "case=가 나", "generator=openai", "provider.local.pinned=true"],
        ["evaluation=retrieval_only", "~regression", "hydra.verbose=true"],
        ["+experiment=full_rag", "k=3,5", "retriever=keyword,hybrid"],
    ],
    ids=["one", "values", "text", "without", "sweep"],
)
def test_hydra_gets_what_it_would_compose(words: list[str]) -> None:
    overrides, cells = compose_cells(arguments.checked(words))
    with initialized(None):
        own = GlobalHydra.instance().config_loader()
        master = own.load_configuration("config", [*overrides, "hydra.mode=MULTIRUN"], RunMode.MULTIRUN)
        composed = Composed(Refusing(), cells)  # type: ignore[arg-type]
        for job in arguments.cells(["out='x y'", *overrides]):
            task = [word for word in job if not word.startswith("hydra.")]
            told = plain(composed.load_sweep_config(master, task))
            assert told == plain(own.load_sweep_config(master, task))
            assert told["out"] == "x y" and told["hydra"]["overrides"]["task"] == task


def test_folders_and_launcher_of_a_sweep_are_known_before_its_cells() -> None:
    _, cells = compose_cells(["+experiment=full_rag", "k=3,5", "hydra/launcher=basic", "hydra.verbose=true"])
    with initialized(None):
        composed = Composed(Refusing(), cells)  # type: ignore[arg-type]
        words = ["out='x'", "+experiment=full_rag", "k=3,5", "hydra.mode=MULTIRUN", "hydra.sweep.subdir=gold"]
        cfg = composed.load_configuration("config", words, RunMode.MULTIRUN)
    assert (cfg.hydra.sweep.dir, cfg.hydra.sweep.subdir, cfg.hydra.mode) == ("x", "gold", RunMode.MULTIRUN)
    assert cfg.hydra.launcher._target_.endswith("BasicLauncher") and cfg.hydra.verbose is True
    assert cells[0].cfg.out is None


def test_what_was_not_composed_before_is_composed_by_hydra() -> None:
    _, cells = compose_cells(["+experiment=full_rag", "k=3"])
    with initialized(None):
        own = GlobalHydra.instance().config_loader()
        composed = Composed(own, cells)
        assert composed.load_configuration("config", ["+experiment=full_rag", "k=4"], RunMode.RUN).k == 4
        assert composed.list_groups("") == own.list_groups("")


def test_another_process_gets_the_loader_of_hydra() -> None:
    loader, cells = {"a": 1}, compose_cells(["+experiment=full_rag"])[1]
    assert pickle.loads(pickle.dumps(Composed(loader, cells))) == loader  # type: ignore[arg-type]


def test_files_are_read_as_by_omegaconf(tmp_path: Path) -> None:
    odd = tmp_path / "odd.yaml"
    odd.write_text("a: 1e3\nb: [1_0.5, .inf, 2026-01-02, yes, 0o7, '']\n가: ${a}\nc: !!float 3\n", encoding="utf-8")
    empty = tmp_path / "empty.yaml"
    empty.write_text("# nothing\n", encoding="utf-8")
    for path in [*(Path(__file__).resolve().parents[3] / "conf").rglob("*.yaml"), odd, empty]:
        assert load(path) == OmegaConf.load(path), path


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: [\n", "a: 1\n---\nb: 2\n", "\tb: 1\n"])
def test_what_is_wrong_with_a_file_is_told_as_by_omegaconf(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(YAMLError) as expected:
        OmegaConf.load(path)
    with pytest.raises(YAMLError) as caught:
        load(path)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "a: " + "[" * 100_000 + "]" * 100_000, "- " * 200_000, "{a: " * 100_000]
)
def test_a_file_that_is_nested_without_end_ends_no_process(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecursionError):
        load(path)
