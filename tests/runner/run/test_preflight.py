from dataclasses import dataclass
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.config.compose import Cell, Nodes, compose_cells
from runner.errors import ConfigError, Problem
from runner.run.preflight import preflight, receivers


@dataclass
class Needs:
    """A component that misses what it is told to miss."""

    missing: str
    exit_code: int = 1
    part: Any = None

    def preflight(self) -> list[Problem]:
        return [Problem("part", f"{self.missing} is missing", self.exit_code)] if self.missing else []


@dataclass
class NeedsNothing:
    part: Any = None


@dataclass
class Declares(Needs):
    """An evaluation whose metrics are no records."""

    metrics: Any = ("toxicity",)


class Broken:
    def __init__(self) -> None:
        raise ValueError("a bug")


class Refused:
    def __init__(self) -> None:
        raise ConfigError([Problem("chunker", "these do not go together")])


def cell(target: str, **settings: Any) -> Cell:
    node = {"_target_": f"tests.runner.run.test_preflight.{target}", **settings}
    return cell_of({"evaluation": node})


def cell_of(values: dict[str, Any]) -> Cell:
    return Cell(Nodes(OmegaConf.create(values), OmegaConf.create()), [], [], "", "", set(), ())


def part(target: str, **settings: Any) -> dict[str, Any]:
    return {"_target_": f"tests.runner.run.test_preflight.{target}", **settings}


def test_metrics_that_are_no_records_are_told_before_the_start_beside_what_is_missing() -> None:
    with pytest.raises(ConfigError) as raised:
        preflight([cell("Declares", missing="a key")])
    missing, metrics = map(str, raised.value.problems)
    assert missing == "part: a key is missing"
    assert metrics.startswith("evaluation: Declares.metrics: expected a sequence of runner.metrics.metric.Metric")


def test_everything_that_any_cell_misses_is_told_once() -> None:
    cells = [
        cell("NeedsNothing", part=part("Needs", missing="a file")),
        cell("Needs", missing="a key", part=part("Needs", missing="a file")),
        cell("Refused"),
        cell("Needs", missing=""),
    ]
    with pytest.raises(ConfigError) as raised:
        preflight(cells)
    assert [str(problem) for problem in raised.value.problems] == [
        "part: a file is missing",
        "part: a key is missing",
        "chunker: these do not go together",
    ]
    assert raised.value.exit_code == 1


def test_the_gravest_exit_code_counts() -> None:
    with pytest.raises(ConfigError) as raised:
        preflight([cell("Needs", missing="a"), cell("Needs", missing="b", exit_code=2)])
    assert raised.value.exit_code == 2


def test_a_component_with_a_bug_is_left_to_its_run() -> None:
    cells = [cell("Broken"), cell("Refused"), cell("Needs", missing="")]
    preflight(cells[:1] + cells[2:])
    assert receivers(cells) == []


class Reports:
    """An evaluation one of whose parts for reports is misspelt."""

    section = staticmethod(lambda document: ())
    words = None


def test_a_misspelt_part_for_reports_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{__name__}.Reports"
    node = {"evaluation": {"_target_": target}, "report": {"language": "en"}}
    preflight([cell_of(node)])
    (line,) = capsys.readouterr().err.splitlines()
    assert target in line and "section" in line and "'sections'" in line
    preflight(compose_cells(["+experiment=memory"])[1] + compose_cells(["+experiment=trace_quality"])[1])
    assert capsys.readouterr().err == ""


def test_stores_and_tracking_of_other_machines_are_receivers_and_files_are_none() -> None:
    there = ["memory/store=redis", "memory.store.url=redis://10.0.0.7:6379/0", "tracking.uri=http://127.0.0.1:5000"]
    assert receivers(compose_cells(["+experiment=memory", *there])[1]) == [
        "redis://10.0.0.7:6379 (memory)",
        "http://127.0.0.1:5000 (tracking)",
    ]
    assert receivers(compose_cells(["+experiment=memory", "tracking.uri=sqlite:///x.db"])[1]) == []
