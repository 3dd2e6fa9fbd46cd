"""YAML whose aliases stand for more than any memory holds, wherever it is read."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.commands.compare import rules_of
from runner.config import arguments, frozen
from runner.config.compose import plan_of
from runner.config.frozen import LARGEST_FILE, read_mapping
from runner.config.settings import settings_of
from runner.data.files import MOST_REPEATED, GrowthError, check_growth, parsed_yaml
from runner.data.notes import split_front_matter
from runner.errors import ConfigError, DataError, InputError

LEVELS = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
LAUGHS = "\n".join(["a0: &a0 [ha, ha]", *LEVELS, ""])


def test_what_grows_is_refused_by_line() -> None:
    """Before it has grown: its values would not fit into any memory."""
    with pytest.raises(GrowthError) as raised:
        check_growth(LAUGHS)
    assert str(raised.value) == "line 6: its aliases (*a4 …) stand for more than 100,000 values"


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [1, 2]\nb: *a\nc: {<<: &d {x: 1}, y: *d}\n",
        "a & b * c",
        "- &a x\n" + "- *a\n" * 1000,
        "no: [yaml & *",
        "",
    ],
)
def test_what_does_not_grow_passes(text: str) -> None:
    check_growth(text)


def test_how_much_may_be_repeated() -> None:
    check_growth("- &a x\n" + "- *a\n" * MOST_REPEATED)
    with pytest.raises(GrowthError, match=f"^line {MOST_REPEATED + 2}: "):
        check_growth("- &a x\n" + "- *a\n" * (MOST_REPEATED + 1))


def test_what_stands_inside_of_itself() -> None:
    with pytest.raises(GrowthError, match=r"^line 2: \*a stands inside of what it names$"):
        check_growth("a: &a\n  b: [*a]\n")


def test_data_files() -> None:
    with pytest.raises(DataError, match=r"^scenario\.path: x\.yaml: line 6: its aliases"):
        parsed_yaml(LAUGHS, "x.yaml", "scenario.path", DataError)
    values, body, problem = split_front_matter(f"---\n{LAUGHS}---\nText\n")
    assert (values, body) == ({}, "Text\n")
    assert problem.startswith("front matter: line 6: its aliases (*a4 …) stand for more than 100,000 values; ignored")


def test_configuration(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(LAUGHS, encoding="utf-8")
    with pytest.raises(InputError, match=r"^--rules: .*rules\.yaml: line 6: its aliases \(\*a4 …\) stand for more"):
        rules_of(str(path))
    path.write_text("# " + "x" * LARGEST_FILE, encoding="utf-8")
    with pytest.raises(InputError, match=r"rules\.yaml: expected at most 2,000,000 bytes of configuration$"):
        read_mapping(path)


@pytest.mark.parametrize("name", ["dataset/mine.yaml", "experiment/deeper/mine.yaml"])
def test_folders_of_configuration(tmp_path: Path, name: str) -> None:
    """Before Hydra looks at them, chosen or not."""
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(LAUGHS, encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.yaml: line 6: its aliases"):
        plan_of(arguments.read(["-cd", str(tmp_path), "dataset=demo"]))


def test_folders_of_the_search_path(tmp_path: Path) -> None:
    path = tmp_path / "dataset/mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(LAUGHS, encoding="utf-8")
    for place in (f"file://{tmp_path}", str(tmp_path)):
        with pytest.raises(InputError, match=r"mine\.yaml: line 6: its aliases"):
            plan_of(arguments.read([f"hydra.searchpath=[{place}]", "dataset=demo"]))


def test_a_folder_with_too_much_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the home of somebody; a link back to itself is no endless folder."""
    monkeypatch.setattr(frozen, "MOST_ENTRIES", 5)
    (tmp_path / "again").symlink_to(tmp_path)
    for number in range(4):
        (tmp_path / f"{number}.yaml").touch()
    assert len(frozen.files_of(tmp_path)) == 4
    (tmp_path / "5.txt").touch()
    with pytest.raises(InputError, match=r"^--config-dir: .*: expected a folder of configuration, found more than 5 "):
        plan_of(arguments.read(["-cd", str(tmp_path), "dataset=demo"]))


DOUBLED = {"a0": "x" * 100, **{f"a{n}": f"${{.a{n - 1}}}${{.a{n - 1}}}" for n in range(1, 41)}}
LISTED = {"a0": ["x"], **{f"a{n}": [f"${{dataset.tags.a{n - 1}}}"] * 2 for n in range(1, 41)}}


@pytest.mark.parametrize("values", [DOUBLED, {**DOUBLED, "a0": "${k}"}, LISTED])
def test_interpolations_that_grow(tmp_path: Path, values: dict[str, Any]) -> None:
    path = tmp_path / "dataset/mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump({"_target_": "plugins.dataset.demo.DemoDataset", "tags": values}), encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        plan_of(arguments.read(["-cd", str(tmp_path), "dataset=mine"]))
    (problem,) = raised.value.problems
    assert problem.key.startswith("dataset.tags.a")
    assert problem.message == "its interpolations (${…}) stand for more than 1,000,000 characters"


def test_interpolations_of_settings_that_grow() -> None:
    words = ["corpus=x", "out=y", "provider.local.base_url=" + "${out}" * 1000, "out=" + "${corpus}" * 1100]
    with pytest.raises(ConfigError, match=r"provider\.local\.base_url: its interpolations"):
        settings_of("generate", words, "testset")


def test_a_colon_in_a_value_refers_to_nothing() -> None:
    words = ["+experiment=full_rag", "judge=openai", "judge.model=local:small", "retriever=keyword"]
    assert plan_of(arguments.read(words)).cells[0].cfg.judge.model == "local:small"
