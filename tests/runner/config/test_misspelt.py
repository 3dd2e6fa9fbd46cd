"""Optional attributes of components: each is declared, and one that is misspelt is noticed."""

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from omegaconf import DictConfig, OmegaConf
from typing_extensions import get_protocol_members

from plugins.memory.full_history import FullHistoryMemory
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from runner import protocols
from runner.config.components import misspelt_attributes, note_misspelt
from runner.config.compose import compose_cells
from runner.config.schema import similar_attributes
from runner.domains.memory.protocols import Memory
from runner.protocols import Judge, Workspace, attribute_of
from runner.retrieval import stores

ROOT = Path(__file__).resolve().parents[3]


class Guessing:
    """A judge whose optional attributes are misspelt."""

    provenence = {"model": "2"}  # noqa: RUF012
    helth = True

    def __init__(self, *, strictness: int = 1) -> None:
        self.on_failure: Literal["zero"] = "zero"

    @property
    def on_failiure(self) -> str:
        return "zero"

    async def judge(self, rubric: str, fields: Any) -> Any: ...


class Careful:
    """A judge with names of its own that come close, as settings or as methods of its protocol."""

    provenance = {"model": "2"}  # noqa: RUF012
    stored = opens = 0

    def __init__(self, *, on_failure: Literal["zero", "exclude"] = "zero", healt: bool = True, idles: int = 0) -> None:
        self.on_failure, self.healt, self.idles = on_failure, healt, idles

    async def judge(self, rubric: str, fields: Any) -> Any: ...


class Asking:
    def __init__(self, *, judge: Judge) -> None: ...


class Keeping(FullHistoryMemory):
    """A memory whose hook is misspelt."""

    async def prepair(self, workspace: Workspace) -> None: ...


class Remembering:
    def __init__(self, *, memory: Memory) -> None: ...


def of(name: str, **parts: Any) -> DictConfig:
    return OmegaConf.create({"evaluation": {"_target_": f"{__name__}.{name}", **parts}}).evaluation


def test_names_close_to_an_optional_one_are_told_with_it() -> None:
    judge = f"{__name__}.Guessing"
    assert misspelt_attributes(of("Asking", judge={"_target_": judge})) == [
        (judge, "helth", "health"),
        (judge, "on_failiure", "on_failure"),
        (judge, "provenence", "provenance"),
    ]


def test_the_hook_of_a_memory_is_known_like_those_of_the_core() -> None:
    parts = {"store": {"_target_": f"{LocalStore.__module__}.LocalStore"}}
    parts["summariser"] = {"_target_": f"{ExtractiveSummariser.__module__}.ExtractiveSummariser"}
    memory = {"_target_": f"{__name__}.Keeping", **parts}
    assert misspelt_attributes(of("Remembering", memory=memory)) == [(f"{__name__}.Keeping", "prepair", "prepare")]


def test_settings_and_names_of_other_roles_are_a_components_own() -> None:
    assert misspelt_attributes(of("Asking", judge={"_target_": f"{__name__}.Careful"})) == []


def test_a_right_name_beside_a_close_one_is_no_slip() -> None:
    both = type("Both", (), {"provenance": {}, "provenances": []})
    assert similar_attributes(both, frozenset(), frozenset()) == {}
    assert similar_attributes(type("One", (), {"provenances": []}), frozenset(), frozenset()) == {
        "provenances": "provenance"
    }


@pytest.mark.parametrize(("language", "start"), [("en", "warning: "), ("ko", "경고: ")])
def test_each_is_one_line_in_the_language_of_the_run(
    language: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [of("Guessing"), of("Guessing")]
    note_misspelt(nodes, language)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and all(line.startswith(f"{start}{__name__}.Guessing.") for line in lines)


@pytest.mark.parametrize("path", sorted((ROOT / "conf" / "experiment").glob("*.yaml")), ids=lambda path: path.stem)
def test_no_component_of_the_program_is_warned_of(path: Path) -> None:
    _, cells = compose_cells([f"+experiment={path.stem}"])
    assert misspelt_attributes(cells[0].cfg.evaluation) == []


def test_what_is_asked_with_a_default_is_declared_in_a_protocol() -> None:
    optional = [group for listed in (protocols.OPTIONAL, stores.OPTIONAL) for group in listed.values()]
    declared = {name for group in (protocols.ANY, *optional) for each in group for name in get_protocol_members(each)}
    assert set(protocols.ABSENT) <= declared
    with pytest.raises(KeyError):
        attribute_of(object(), "provenence")


def test_every_optional_protocol_has_an_example() -> None:
    optional = [*protocols.ANY, *(one for group in protocols.OPTIONAL.values() for one in group)]
    assert [each.__name__ for each in optional if not re.search(r"^ *class \w", each.__doc__ or "", re.M)] == []
