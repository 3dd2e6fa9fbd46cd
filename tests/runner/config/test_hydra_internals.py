import pickle
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.errors import MissingConfigException
from hydra.plugins.config_source import ConfigLoadError
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from yaml import YAMLError

from runner.config import arguments, hydra_internals
from runner.config.choices import known_groups
from runner.config.compose import compose_cells, initialise
from runner.config.frozen import CONF
from runner.config.hydra_internals import ComposedLoader, holds, load


class Refusing:
    """A loader that composes nothing."""

    def get_sources(self) -> list[Any]:
        return []

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
    overrides, cells = compose_cells(arguments.check_overrides(words))
    with initialise(None):
        own = GlobalHydra.instance().config_loader()
        master = own.load_configuration("config", [*overrides, "hydra.mode=MULTIRUN"], RunMode.MULTIRUN)
        composed = ComposedLoader(Refusing(), cells)  # type: ignore[arg-type]
        for job in arguments.cells(["out='x y'", *overrides]):
            task = [word for word in job if not word.startswith("hydra.")]
            told = plain(composed.load_sweep_config(master, task))
            assert told == plain(own.load_sweep_config(master, task))
            assert told["out"] == "x y" and told["hydra"]["overrides"]["task"] == task


def test_folders_and_launcher_of_a_sweep_are_known_before_its_cells() -> None:
    _, cells = compose_cells(["+experiment=full_rag", "k=3,5", "hydra/launcher=basic", "hydra.verbose=true"])
    with initialise(None):
        composed = ComposedLoader(Refusing(), cells)  # type: ignore[arg-type]
        words = ["out='x'", "+experiment=full_rag", "k=3,5", "hydra.mode=MULTIRUN", "hydra.sweep.subdir=gold"]
        cfg = composed.load_configuration("config", words, RunMode.MULTIRUN)
    assert (cfg.hydra.sweep.dir, cfg.hydra.sweep.subdir, cfg.hydra.mode) == ("x", "gold", RunMode.MULTIRUN)
    assert cfg.hydra.launcher._target_.endswith("BasicLauncher") and cfg.hydra.verbose is True
    assert cells[0].cfg.out is None


def test_of_a_key_that_is_given_twice_the_last_value_counts_and_nothing_is_composed_again() -> None:
    overrides, cells = compose_cells(["+experiment=full_rag", "k=3", "k=5"])
    with initialise(None):
        composed = ComposedLoader(Refusing(), cells)  # type: ignore[arg-type]
        assert composed.load_configuration("config", overrides, RunMode.RUN).k == 5


def test_what_was_not_composed_before_is_composed_by_hydra() -> None:
    _, cells = compose_cells(["+experiment=full_rag", "k=3"])
    with initialise(None):
        own = GlobalHydra.instance().config_loader()
        composed = ComposedLoader(own, cells)
        assert composed.load_configuration("config", ["+experiment=full_rag", "k=4"], RunMode.RUN).k == 4
        assert composed.list_groups("") == own.list_groups("")


def test_what_hydra_gets_is_copied_as_omegaconf_copies_it() -> None:
    _, cells = compose_cells(["+experiment=full_rag", "k=3"])
    cfg = ComposedLoader(Refusing(), cells)._copy(cells[0])  # type: ignore[arg-type]
    with initialise(None):
        own = GlobalHydra.instance().config_loader().load_configuration("config", ["+experiment=full_rag"], RunMode.RUN)
    for node, of_omegaconf in ((cfg, own), (cfg.hydra, own.hydra)):
        copied = deepcopy(node)
        assert copied == node and copied is not node and copied._get_parent() is node._get_parent()
        assert OmegaConf.get_type(copied) == OmegaConf.get_type(of_omegaconf)
        OmegaConf.update(copied, "verbose" if node is cfg.hydra else "k", 7 if node is cfg else True)
        assert copied != node
    assert cfg.k == 3 and plain(deepcopy(cfg)) == plain(cfg)


def test_what_cannot_be_pickled_is_copied_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a worker of Ray, which has imported Hydra's plugins a second time."""
    from hydra._internal.core_plugins import basic_sweeper

    _, cells = compose_cells(["+experiment=full_rag", "k=3"])
    cfg = ComposedLoader(Refusing(), cells)._copy(cells[0])  # type: ignore[arg-type]
    again = type("BasicSweeperConf", (), {"__module__": basic_sweeper.__name__})
    monkeypatch.setattr(basic_sweeper, "BasicSweeperConf", again)
    copied = deepcopy(cfg.hydra)
    assert copied == cfg.hydra and copied is not cfg.hydra and copied._get_parent() is cfg.hydra._get_parent()


def test_what_a_node_holds_is_what_omegaconf_says() -> None:
    cfg = OmegaConf.create(
        {"text": "a", "open": "???", "other": "${text}", "lost": "${nothing}", "none": None, "n": 1, "inner": {"a": 1}}
    )
    nodes = [cfg, cfg.inner]
    names = [*(str(name) for name in cfg), "a", "not there"]
    assert [[holds(node, name) for name in names] for node in nodes] == [
        [name in node for name in names] for node in nodes
    ]


def test_choices_that_come_while_the_program_runs_are_known(tmp_path: Path) -> None:
    searched = [f"hydra.searchpath=['file://{tmp_path}']"]
    (tmp_path / "retriever").mkdir()
    for name in ("first", "second"):
        (tmp_path / "retriever" / f"{name}.yaml").write_text("_target_: nothing.There\n", encoding="utf-8")
        with initialise(None):
            known = known_groups(searched)["retriever"]
            assert name in known and "keyword" in known
    with initialise(None):
        assert "second" not in known_groups([])["retriever"]


def test_another_process_gets_the_loader_of_hydra() -> None:
    loader, cells = {"a": 1}, compose_cells(["+experiment=full_rag"])[1]
    assert pickle.loads(pickle.dumps(ComposedLoader(loader, cells))) == loader  # type: ignore[arg-type]


def test_files_are_read_as_by_omegaconf(tmp_path: Path) -> None:
    odd = tmp_path / "odd.yaml"
    texts = [
        "a: 1e3",
        "b: [1_0.5, .inf, 2026-01-02, yes, 0o7, '']",
        "가: ${a}",
        "c: !!float 3",
        "d:",
        "  e: ${..a}",
        "",
    ]
    odd.write_text("\n".join(texts), encoding="utf-8")
    empty = tmp_path / "empty.yaml"
    empty.write_text("# nothing\n", encoding="utf-8")
    for path in [*CONF.rglob("*.yaml"), odd, empty]:
        assert load(path) == OmegaConf.to_container(OmegaConf.load(path)), path


@pytest.mark.parametrize(
    "text",
    [
        "a: !!binary aGk=\n",
        "a: ${b\n",
        "a: {[1]: 2}\n",
        "a: ${b:${c}\n",
        "1: {2: ${x.y}${z}}\n",
        "a: ${..}\n",
        "a: ${..b c}\n",
    ],
)
def test_a_value_that_omegaconf_would_judge_is_judged_by_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    theirs = value_or_error(lambda: OmegaConf.to_container(OmegaConf.load(path)))
    assert value_or_error(lambda: load(path)) == theirs


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: [\n", "a: 1\n---\nb: 2\n", "\tb: 1\n"])
def test_what_is_wrong_with_a_file_is_told_as_by_omegaconf(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(YAMLError) as expected:
        OmegaConf.load(path)
    with pytest.raises(YAMLError) as caught:
        load(path)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("text", ["[" * 50_000, "a: " + "[" * 50_000 + "]" * 50_000, "- " * 50_000, "{a: " * 50_000])
def test_a_file_that_is_nested_without_end_ends_no_process(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecursionError):
        load(path)


VALUES = """
a: 1
b: ${a}
c: [1, "${b}", null, "text", "${..d.e}", {x: "${d}"}]
d: {e: "${a}-${b}", f: "${oc.env:HOME}", g: "\\\\${a}", h: null, 3: "${d.3}"}
i: ${d}
j: ${i.e}
k: ???
l: ${k}
m: ${no.such}
n: ${n}
o: ${c.0}
p: ${c[1]}
q: ${q2}
q2: ${q}
r: ${none.x}
none: null
t: ${none}
u: ${d.h}
v: "text ${a}"
"""


def value_or_error(read: Any) -> Any:
    try:
        value = read()
    except Exception as error:
        return type(error), str(error)
    return value, id(value) if OmegaConf.is_config(value) else type(value)


@pytest.mark.parametrize("name", OmegaConf.create(VALUES).keys())
def test_values_are_those_of_omegaconf(name: str) -> None:
    """The very nodes too: a component that two others share is built once."""
    cfg = OmegaConf.create(VALUES)
    assert value_or_error(lambda: hydra_internals.value_of(cfg, name)) == value_or_error(lambda: cfg[name])


@pytest.mark.parametrize("name", ["a", "b", "c", "i", "j", "m", "o", "p", "q", "t", "u", "v", "none"])
def test_plain_values_are_those_of_omegaconf(name: str) -> None:
    cfg = OmegaConf.create(VALUES)
    del cfg.d[3]  # which refers to nothing

    def by_omegaconf() -> Any:
        return OmegaConf.to_container(cfg[name], resolve=True) if OmegaConf.is_config(cfg[name]) else cfg[name]

    assert value_or_error(lambda: hydra_internals.plain(hydra_internals.value_of(cfg, name))) == value_or_error(
        by_omegaconf
    )


def test_what_is_written_is_that_of_omegaconf() -> None:
    """Keys, names and values, none of them resolved; of Hydra's own node too, which has types and enums."""
    with initialize_config_module("conf", version_base="1.3"):
        composed = compose("config", ["+experiment=full_rag"], return_hydra_config=True)
    cfg, job = OmegaConf.create(VALUES), composed.hydra.job
    for node in (composed, cfg):
        assert hydra_internals.as_written(node) == OmegaConf.to_container(node, enum_to_str=True)
    nodes = [
        composed,
        composed.retriever,
        job,
        job.config,
        cfg,
        cfg.c,
        cfg.c[5],
        cfg.c[5]._get_node("x"),
        cfg.d,
    ]
    for node in [*nodes, *(cfg._get_node(name) for name in ("none", "k", "i"))]:
        assert not isinstance(node, DictConfig) or hydra_internals.names_in(node) == list(node.keys())
        assert hydra_internals.key_of(node) == node._get_full_key(None)
        assert hydra_internals.key_of(node, 0) == node._get_full_key(0)


def test_a_missing_value_stays_one_in_plain_values() -> None:
    assert hydra_internals.plain(OmegaConf.create({"a": {"b": "???"}, "c": ["???"]})) == {
        "a": {"b": "???"},
        "c": ["???"],
    }


def test_files_of_the_program_are_parsed_again_only_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_conf"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "config.yaml").write_text("a: 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def composed() -> Any:
        with initialize_config_module("some_conf", version_base="1.3"):
            hydra_internals.remember_files()
            with monkeypatch.context() as patch:
                patch.setattr(hydra_internals, "_certain", lambda text: parsed.append(text) or parsing(text))
                return compose("config")

    parsed: list[str] = []
    parsing = hydra_internals._certain
    assert composed() == {"a": 1}
    first = composed()
    first.a = 2
    assert composed() == {"a": 1}  # what is made of one is no other's
    assert parsed.count("a: 1\n") == 1
    (package / "config.yaml").write_text("a: 1000\n")
    assert composed() == {"a": 1000}


def test_folders_of_the_program_are_listed_again_only_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "listed_conf" / "group"
    group.mkdir(parents=True)
    (group.parent / "__init__.py").write_text("")
    (group / "one.yaml").write_text("a: 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def listed() -> list[str]:
        with initialize_config_module("listed_conf", version_base="1.3"):
            hydra_internals.remember_files()
            files = hydra_internals.repository(GlobalHydra.instance().config_loader(), [])
            assert files.get_group_options("", ObjectType.GROUP) == ["group", "hydra"]
            with pytest.raises(MissingConfigException, match="nothing"):
                compose("nothing")
            return list(files.get_group_options("group", ObjectType.CONFIG))

    assert listed() == listed() == ["one"]
    (group / "other.yaml").write_text("a: 2\n")
    assert listed() == ["one", "other"]


@pytest.mark.parametrize(
    "words",
    [
        ["+experiment=full_rag", "++k=7", "++report.language=ko", "++no.such={a: [1]}"],
        ["evaluation=memory", "~regression", "hydra.verbose=true", "++memory={}", "++scenario.path='가 나'"],
        ["+experiment=retrieval_only", "hydra/launcher=basic", "++hydra.job.name=x", "k=4", "retriever=keyword"],
        ["hydra.job.env_copy=[HOME]", "hydra.searchpath=[pkg://tests.extension]", "++out=x"],
        ["hydra.searchpath=[file:///no_such_folder]", "++k=2"],
        ["++k.a=1"],
        ["++retriever=keyword"],
        ["++k@x=1"],
        ["++out=[", "++k=5"],
        ["retriever=no_such", "++k=2"],
        ["++provider.local=3", "++provider.local.x=3"],
    ],
)
def test_choices_that_were_composed_before_are_composed_as_by_hydra(words: list[str]) -> None:
    def text(loader: Any) -> tuple[str, ...]:
        try:
            cfg = loader.load_configuration("config", words, RunMode.RUN, from_shell=False)
        except Exception as error:
            return type(error).__name__, str(error), type(error.__cause__).__name__
        return (OmegaConf.to_yaml(cfg), str(OmegaConf.is_struct(cfg)), str(cfg._metadata.flags))

    with warnings.catch_warnings(action="ignore"), initialise(None):
        loader: Any = GlobalHydra.instance().config_loader()
        theirs = text(loader.loader)
        assert text(loader) == text(loader) == theirs
        assert cloudpickle.loads(cloudpickle.dumps(loader)).__class__ is loader.loader.__class__


def test_choices_are_composed_again_only_when_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "kept_conf" / "group"
    group.mkdir(parents=True)
    (group.parent / "__init__.py").write_text("")
    (group.parent / "config.yaml").write_text("defaults: [_self_, {optional group: one}]\nk: 1\n")
    (group / "other.yaml").write_text("a: 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(hydra_internals, "MOST_COMPOSED", 2)
    monkeypatch.setattr(hydra_internals.RememberingLoader, "composed", {})

    def composed(*overrides: str) -> Any:
        with initialize_config_module("kept_conf", version_base="1.3"):
            hydra_internals.remember_files()
            loader: Any = GlobalHydra.instance().hydra.config_loader  # type: ignore[union-attr]
            ours = loader.loader
            monkeypatch.setattr(
                ours, "load_configuration", lambda *a: made.append(a[1]) or type(ours).load_configuration(ours, *a)
            )
            return compose("config", list(overrides))

    made: list[list[str]] = []
    assert composed("++k=2") == {"k": 2}
    assert composed("++k=3", "++b=1") == {"k": 3, "b": 1}
    assert composed() == {"k": 1}
    assert made == [[]]
    (group / "one.yaml").write_text("a: 2\n")
    assert composed() == composed() == {"k": 1, "group": {"a": 2}}
    assert made == [[], []]
    (group / "one.yaml").write_text("a: 10\n")
    assert composed("++k=0") == {"k": 0, "group": {"a": 10}}
    assert composed("group=other") == {"k": 1, "group": {"a": 1}}
    assert composed("k=5") == {"k": 5, "group": {"a": 10}}
    assert made == [[], [], [], ["group=other"], ["k=5"]]
    assert composed("group=other") and len(made) == 5  # kept
    assert composed() and len(made) == 6  # not kept: the latest two are

    own = tmp_path / "own" / "group"
    own.mkdir(parents=True)
    (own / "third.yaml").write_text("a: 3\n")
    words = [f"hydra.searchpath=['file://{tmp_path}/own']", "group=third"]
    assert composed(*words) == composed(*words) == {"k": 1, "group": {"a": 3}}
    assert len(made) == 7
    (own / "third.yaml").write_text("a: 30\n")
    assert composed(*words) == {"k": 1, "group": {"a": 30}}
    monkeypatch.setattr(hydra_internals, "MOST_FILES", 1)
    assert composed(*words) == composed(*words) and len(made) == 10  # too much to look at


def test_yaml_is_written_as_by_omegaconf() -> None:
    cfg = OmegaConf.load(CONF / "config.yaml")
    texts = {"t": "값 😀\n두 줄", "n": "1_0", "o": "on", "e": "1e3", "s": " x", "l": "w " * 99, "x": None}
    for node in (cfg, OmegaConf.create(texts), OmegaConf.create(VALUES), OmegaConf.create(["k=3", "a: b"])):
        ours = hydra_internals.yaml_of(OmegaConf.to_container(node))  # type: ignore[arg-type]
        assert OmegaConf.create(ours) == OmegaConf.create(OmegaConf.to_yaml(node)) == node


@pytest.mark.parametrize("place", ["conf", str(CONF)])
def test_files_and_folders_are_read_as_by_hydra(place: str) -> None:
    """Those of the program, and those of a folder that somebody names."""
    with initialise(None):
        named = [f"hydra.searchpath=['file://{CONF}']"]
        files = hydra_internals.repository(GlobalHydra.instance().config_loader(), named)
        ours: Any = next(source for source in files.get_sources() if source.path == place)
    for path in CONF.rglob("*.yaml"):
        name = str(path.relative_to(CONF).with_suffix(""))
        assert ours.load_config(name) == ours.source.load_config(name), name
    for folder in [CONF, *(path for path in CONF.rglob("*") if path.is_dir() and path.name != "__pycache__")]:
        name = str(folder.relative_to(CONF)).removeprefix(".")
        for kind in (None, ObjectType.GROUP, ObjectType.CONFIG):
            assert ours.list(name, kind) == ours.source.list(name, kind), (name, kind)


def test_what_a_named_folder_lacks_and_holds_in_vain_is_told_as_by_hydra(tmp_path: Path) -> None:
    (tmp_path / "retriever").mkdir()
    (tmp_path / "retriever" / "list.yaml").write_text("- a\n", encoding="utf-8")
    (tmp_path / "retriever" / "list.txt").write_text("a: 1\n", encoding="utf-8")
    with initialise(None):
        named = [f"hydra.searchpath=['file://{tmp_path}']"]
        files = hydra_internals.repository(GlobalHydra.instance().config_loader(), named)
        ours: Any = next(source for source in files.get_sources() if source.path == str(tmp_path))
    assert ours.list("retriever", None) == ours.source.list("retriever", None) == ["list"]
    assert ours.load_config("retriever/list") == ours.source.load_config("retriever/list")
    with pytest.raises(ConfigLoadError, match="none"):
        ours.load_config("retriever/none")


def test_a_choice_that_depends_on_another_is_found(tmp_path: Path) -> None:
    """Hydra resolves it in a configuration of the other choices, which is only made for a list that holds any."""
    for name, text in {"server/fast.yaml": "a: 1\n", "server/slow.yaml": "a: 2\n", "tuned/slow.yaml": "b: 3\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "config.yaml").write_text("defaults: [_self_, {server: fast}, {optional tuned: '${server}'}]\n")
    with initialise(tmp_path):
        assert compose("config") == {"server": {"a": 1}}
        assert compose("config", ["server=slow"]) == {"server": {"a": 2}, "tuned": {"b": 3}}
