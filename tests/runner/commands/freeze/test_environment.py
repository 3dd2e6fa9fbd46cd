"""environment.json and what is not the same here."""

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from runner import DISTRIBUTION
from runner.commands.freeze.environment import changes, distributions, environment, read_environment
from runner.commands.freeze.source import Run
from runner.errors import InputError
from runner.system.folder import open_run
from runner.system.metadata import git_state, versions
from tests.record_folders import change
from tests.run_folders import dump, write_run


def run(folder: Path, name: str, **values: Any) -> Run:
    return Run(name, (), open_run(write_run(folder / name, {"versions": versions(), "git": git_state(), **values})), {})


def test_distributions_are_those_of_this_program_and_what_they_need() -> None:
    found = distributions()
    assert found["numpy"] == version("numpy")
    assert found["pydantic-core"] == version("pydantic-core")  # needed by pydantic
    assert found["antlr4-python3-runtime"] == version("antlr4-python3-runtime")  # by hydra-core, by another spelling
    assert found["aiohttp"] == version("aiohttp")  # by an extra that is asked for
    assert {"pytest", "ruff", "mypy", "runner", DISTRIBUTION, "pip"}.isdisjoint(found)


def test_a_run_as_it_was(tmp_path: Path) -> None:
    found = environment([run(tmp_path, "0")], ["B", "A"])
    assert found["distributions"] == distributions()
    assert (found["variables"], found["data"]["queries"]) == (["A", "B"], "d" * 64)
    commit = [entry for entry in changes(found) if entry[0] != "commit"]
    assert commit == []


def test_versions_are_those_of_the_run_where_it_told_them(tmp_path: Path) -> None:
    ran = {**versions(), "python": "3.11.0", "numpy": "2.0.1"}
    found = environment([run(tmp_path, "0", versions=ran, git={"commit": "a" * 40, "dirty": True})], [])
    assert (found["python"], found["distributions"]["numpy"]) == ("3.11.0", "2.0.1")
    told = {name: (was, here) for name, was, here in changes(found)}
    assert told["python"] == ("3.11.0", versions()["python"])
    assert told["numpy"] == ("2.0.1", version("numpy"))
    assert told["commit"][0] == "aaaaaaaaaaaa+"
    assert set(told) == {"commit", "python", "numpy"}


def test_what_is_installed_on_one_side_only(tmp_path: Path) -> None:
    found = environment([run(tmp_path, "0")], [])
    del found["distributions"]["numpy"]
    found["distributions"]["left-pad"] = "1.0"
    told = [entry for entry in changes(found) if entry[0] != "commit"]
    assert told == [("left-pad", "1.0", "–"), ("numpy", "–", version("numpy"))]


def test_what_differs_between_runs_is_told_for_each(tmp_path: Path) -> None:
    runs = [run(tmp_path, "0"), run(tmp_path, "1", identity={"queries": "e" * 64})]
    data = environment(runs, [])["data"]
    assert data["queries"] == {"0": "d" * 64, "1": "e" * 64}
    assert data["corpus"] == "c" * 64


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "runner.snapshot"}, "damaged or cut off; freeze the run again"),
        ({"distributions": []}, "damaged or cut off; freeze the run again"),
        ({"schema": 0}, "of schema 0, this version reads 1; freeze it again"),
    ],
)
def test_damage(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    path = tmp_path / "environment.json"
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: no such file; freeze the run again$"):
        read_environment(tmp_path)
    dump(path, environment([run(tmp_path, "0")], []))
    assert read_environment(tmp_path)["kind"] == "runner.environment"
    change(path, **values)
    with pytest.raises(InputError, match=f"^{re.escape(f'{path}: {message}')}$"):
        read_environment(tmp_path)
    path.write_text('{"kind": "runner.env', encoding="utf-8")
    with pytest.raises(InputError, match="damaged or cut off"):
        read_environment(tmp_path)
