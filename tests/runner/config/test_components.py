from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Unpack

import pytest
from omegaconf import DictConfig, OmegaConf
from pydantic import Field
from typing_extensions import TypedDict

from runner.config.components import _source_of, build, check, identity, keys, load
from runner.config.compose import compose_cells
from runner.errors import ConfigError
from runner.records import Answer, Context, Query
from tests.small_data import write_texts


class Wheel(Protocol):
    def turn(self) -> int: ...


class RoundWheel:
    def __init__(self, *, spokes: Annotated[int, Field(ge=3)] = 8, style: Literal["steel", "wood"] = "steel") -> None:
        self.spokes, self.style = spokes, style

    def turn(self) -> int:
        return self.spokes


class Paint(TypedDict, total=False):
    colour: Literal["red", "blue"]
    coats: Annotated[int, Field(ge=1)]


class PaintedWheel(RoundWheel):
    def __init__(self, *, spokes: int, **paint: Unpack[Paint]) -> None:
        super().__init__(spokes=spokes)
        self.paint = paint


class Evaluated:
    """What every evaluation has."""

    def load(self) -> None: ...
    def prepare(self) -> None: ...
    def run(self) -> None: ...
    def judge(self) -> None: ...
    def score(self) -> None: ...


class Cart(Evaluated):
    def __init__(
        self,
        *,
        front: Wheel,
        rear: Wheel,
        name: str,
        timeout_ms: int = 5,
        names: list[str] | None = None,
        spare: Wheel | None = None,
    ) -> None:
        self.front, self.rear, self.name, self.names, self.spare = front, rear, name, names, spare


def config(yaml: str = "", name: str = "n${size}") -> DictConfig:
    text = f"""
wheel: {{_target_: {__name__}.RoundWheel, spokes: 6}}
size: 3
evaluation:
  _target_: {__name__}.Cart
  front: ${{wheel}}
  rear: ${{wheel}}
  name: {name}
  timeout_ms: ${{timeout_ms}}
timeout_ms: 1
"""
    merged = OmegaConf.merge(OmegaConf.create(text), OmegaConf.create(yaml or "{}"))
    assert isinstance(merged, DictConfig)
    return merged


def problems(yaml: str, name: str = "n${size}") -> list[str]:
    return [str(problem) for problem in check(config(yaml, name).evaluation)]


def test_a_shared_part_is_built_once() -> None:
    built = build(config().evaluation)
    assert built.root.front is built.root.rear
    assert (built.root.front.spokes, built.root.name) == (6, "n3")
    assert set(built.parts) == {"evaluation", "wheel"}


def test_lists_and_nested_mappings_arrive_as_plain_values() -> None:
    built = build(config("evaluation: {names: [a, '${size}']}").evaluation)
    assert built.root.names == ["a", 3]


def test_a_component_that_may_be_null() -> None:
    assert problems("evaluation: {spare: null}") == problems("evaluation: {spare: '${wheel}'}") == []
    assert problems("evaluation: {spare: 3}") == ["evaluation.spare: expected a component (a mapping with _target_)"]


def test_every_problem_is_found_at_once() -> None:
    found = problems("wheel: {spokes: 2, style: wod, spoke: 1}\nevaluation: {name: 3, rear: none}")
    assert found == [
        "wheel.spokes: expected 3 or more, got 2",
        "wheel.style: expected 'steel' or 'wood', got 'wod'; did you mean 'wood'?",
        "wheel.spoke: unknown setting; did you mean 'spokes'?",
        "evaluation.rear: expected a component (a mapping with _target_)",
        "evaluation.name: expected text, got 3",
    ]


def test_a_bool_is_no_number() -> None:
    assert problems("wheel: {spokes: true}") == ["wheel.spokes: expected a whole number, got True"]


def test_a_required_value_is_named_with_the_way_to_give_it() -> None:
    assert problems("", name="???") == ["evaluation.name: a value is required; give one with evaluation.name=VALUE"]


def test_a_value_taken_from_an_option_is_reported_at_the_option() -> None:
    assert problems("", name="${size}") == ["size: expected text, got 3"]


def test_an_interpolation_to_nowhere_is_named() -> None:
    assert problems("", name="${nowhere}") == ["nowhere: Interpolation key 'nowhere' not found"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no.such.Thing", "cannot load 'no.such.Thing': No module named 'no'"),
        (
            "runner.errors.Nothing",
            "cannot load 'runner.errors.Nothing': module 'runner.errors' has no attribute 'Nothing'",
        ),
        ("Thing", "cannot load 'Thing': 'Thing' is not of the form package.module.Class"),
    ],
)
def test_a_target_that_cannot_be_loaded(target: str, message: str) -> None:
    assert problems(f"wheel: {{_target_: {target}}}") == [f"wheel._target_: {message}"]


def test_build_refuses_what_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"evaluation.name: a value is required"):
        build(config(name="???").evaluation)


def test_reached_keys() -> None:
    assert keys(config("spare: {_target_: x.Y}").evaluation) == {"evaluation", "wheel"}


@pytest.mark.parametrize("yaml", ["wheel: {spokes: 7}", "size: 4", "evaluation: {names: [a]}"])
def test_identity_changes_with_settings_also_of_parts(yaml: str) -> None:
    assert identity(config(yaml).evaluation) != identity(config().evaluation)


@pytest.mark.parametrize("yaml", ["spare: 3", "timeout_ms: 99"])
def test_identity_does_not_change_with_what_is_not_reached_or_only_a_deadline(yaml: str) -> None:
    assert identity(config(yaml).evaluation) == identity(config().evaluation)


def test_identities_of_built_objects_are_those_of_their_nodes() -> None:
    cfg = config()
    built, wheel = build(cfg.evaluation), build(cfg.wheel)
    assert built.identities[id(built.root.front)] == wheel.identities[id(wheel.root)]
    assert built.identities[id(built.root)] != built.identities[id(built.root.front)]


def test_a_setting_of_ones_own_counts_whatever_its_name() -> None:
    assert identity(config("evaluation: {timeout_ms: 2}").evaluation) != identity(config().evaluation)


def test_identities_of_objects_change_with_the_source_of_their_module_and_with_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = "import {aid}\nclass Part:\n    data_files = ('{data}',)\n"
    write_texts(tmp_path, {"aid_one.py": "N = 1", "aid_two.py": "N = 2", "1.txt": "1", "2.txt": "2"})
    found = set()
    for name, aid, data in (("a", "aid_one", "1.txt"), ("b", "aid_two", "1.txt"), ("c", "aid_one", "2.txt")):
        write_texts(tmp_path, {f"part_{name}.py": source.format(aid=aid, data=data)})
        sources = _source_of(f"part_{name}.Part"), _source_of(f"part_{name}.Part")
        assert sources[0] == sources[1]
        built = build(OmegaConf.create({"_target_": f"part_{name}.Part"}))
        found |= {sources[0], built.identities[id(built.root)]}
    assert len(found) == 6


def test_a_file_of_data_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write_texts(tmp_path, {"dataless.py": "class Part:\n    data_files = ('words.txt',)\n"})
    (problem,) = check(OmegaConf.create({"part": {"_target_": "dataless.Part"}}).part)
    assert str(problem) == f"part._target_: data_files of Part: no 'words.txt' in {tmp_path}"


class Toll:
    not_in_identity = True

    def __init__(self, *, price: int) -> None:
        self.price = price


def test_a_part_that_says_so_changes_no_identity() -> None:
    def toll(price: int, wheel: int) -> DictConfig:
        parts = {"toll": {"_target_": f"{__name__}.Toll", "price": price}, "wheel": wheel}
        return OmegaConf.create({"_target_": f"{__name__}.OpenEnded", **parts})

    assert identity(toll(1, 3)) == identity(toll(2, 3)) != identity(toll(1, 4))


@pytest.mark.parametrize(
    ("experiment", "word"), [("full_rag", "budget.requests=7"), ("copilot", "evaluation.projection.days=7")]
)
def test_neither_a_budget_nor_a_projection_changes_a_run(experiment: str, word: str) -> None:
    words = [f"+experiment={experiment}", "judge=openai", "judge.model=openai:m"]
    ((plain,), (other,)) = (compose_cells([*words, *more])[1] for more in ([], [word]))
    assert (plain.fingerprint, identity(plain.cfg.evaluation)) == (other.fingerprint, identity(other.cfg.evaluation))
    assert plain.cfg != other.cfg


def test_load() -> None:
    assert load("plugins.tokenizer.auto.AutoTokenizer").__name__ == "AutoTokenizer"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("os.system", "it is no class"),
        ("runner.cli.os", "it is no class"),
        ("builtins.dict", "a class of Python itself is no component"),
        ("runner.cli.Path", "a class of Python itself is no component"),
    ],
)
def test_what_is_no_component(target: str, message: str) -> None:
    assert problems(f"wheel: {{_target_: {target}}}") == [f"wheel._target_: cannot load '{target}': {message}"]
    with pytest.raises(TypeError, match=f"^{message}$"):
        build(OmegaConf.create({"_target_": target}))


def test_a_class_without_the_methods_that_are_wanted() -> None:
    name = f"{__name__}.Toll"
    text = f"wheel._target_: expected Wheel, with the methods turn; {name} has no turn"
    assert text in problems(f"wheel: {{_target_: {name}, price: 1}}")


def test_a_component_where_none_belongs() -> None:
    assert problems(f"size: {{_target_: {__name__}.RoundWheel}}", "${size}")[0] == (
        "size: no component belongs here (size is one)"
    )


class Train(Evaluated):
    def __init__(self, *, wheels: dict[str, Wheel]) -> None:
        self.wheels = wheels


def train(wheels: str) -> DictConfig:
    text = (
        f"{{wheel: {{_target_: {__name__}.RoundWheel}}, evaluation: {{_target_: {__name__}.Train, wheels: {wheels}}}}}"
    )
    merged = OmegaConf.create(text)
    assert isinstance(merged, DictConfig)
    return merged


def test_components_by_name_are_built_checked_and_part_of_the_identity() -> None:
    own = f"{{a: '${{wheel}}', b: {{_target_: {__name__}.RoundWheel, spokes: 4}}}}"
    built = build(train(own).evaluation)
    assert {name: wheel.spokes for name, wheel in built.root.wheels.items()} == {"a": 8, "b": 4}
    assert set(built.parts) == {"evaluation", "evaluation.wheels.b", "wheel"}
    assert identity(train(own).evaluation) != identity(train(own.replace("4", "5")).evaluation)
    found = [str(problem) for problem in check(train(own.replace("4", "2")).evaluation)]
    assert found == ["evaluation.wheels.b.spokes: expected 3 or more, got 2"]


@pytest.mark.parametrize("wheels", ["{}", "3", "{a: 3}", "{a: {spokes: 3}}", "['${wheel}']"])
def test_what_is_no_components_by_name(wheels: str) -> None:
    assert [str(problem) for problem in check(train(wheels).evaluation)] == [
        "evaluation.wheels: expected components by name (mappings with _target_), at least one"
    ]


class OpenEnded:
    def __init__(self, **settings: Any) -> None:
        self.settings = settings


def test_arguments_of_any_name_are_allowed_where_the_class_takes_them() -> None:
    node = OmegaConf.create({"_target_": f"{__name__}.OpenEnded", "anything": 1})
    assert check(node) == []
    assert build(node).root.settings == {"anything": 1}


def test_settings_that_several_classes_take_are_checked_like_their_own() -> None:
    painted = f"wheel: {{_target_: {__name__}.PaintedWheel, colour: red, coats: 2}}"
    assert problems(painted) == []
    assert build(config(painted).evaluation).root.front.paint == {"colour": "red", "coats": 2}
    assert problems(painted.replace("red", "rde").replace("coats: 2", "coats: 0, coat: 1")) == [
        "wheel.colour: expected 'red' or 'blue', got 'rde'; did you mean 'red'?",
        "wheel.coats: expected 1 or more, got 0",
        "wheel.coat: unknown setting; did you mean 'coats'?",
    ]


class Plain:
    """A generator of somebody else: it never heard of `refuse_below`."""

    def __init__(self, *, tone: str = "plain") -> None:
        self.tone = tone

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        return Answer(self.tone)


def test_what_a_choice_leaves_out_by_null_is_not_asked_of_a_class_put_in_its_place() -> None:
    words = ["+experiment=full_rag", f"generator._target_={__name__}.Plain", "generator.tone=loud"]
    words += ["~generator.max_sentences", "~generator.min_coverage"]
    (cell,) = compose_cells(words)[1]
    assert vars(build(cell.cfg.evaluation).root.generator) == {"tone": "loud"}
    with pytest.raises(ConfigError, match=r"generator\.refuse_below: unknown setting"):
        compose_cells([*words, "generator.refuse_below=0.2"])
