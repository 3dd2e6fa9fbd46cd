"""Settings of the chunker are checked with the configuration, before anything is loaded."""

from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.components import check
from runner.data.settings import chunker_of
from runner.errors import ConfigError
from runner.text.chunking import Chunker


def problems(chunker: Any) -> list[str]:
    node = OmegaConf.create({"dataset": {"_target_": "plugins.dataset.demo.DemoDataset", "chunker": chunker}})
    return [str(problem) for problem in check(node.dataset)[0]]


@pytest.mark.parametrize(
    ("chunker", "problem"),
    [
        ({"max_char": 500}, "max_char: unknown setting; did you mean 'max_chars'?"),
        ({"max_chars": 19}, "max_chars: expected greater than or equal to 20, got 19"),
        ({"max_chars": True}, "max_chars: expected a valid integer, got True"),
        ({"overlap": -1}, "overlap: expected greater than or equal to 0, got -1"),
        ({"headings": "yes"}, "headings: expected a valid boolean, got 'yes'"),
    ],
)
def test_settings_that_cannot_be(chunker: dict[str, Any], problem: str) -> None:
    assert problems(chunker) == [f"dataset.chunker.{problem}"]


def test_settings_that_can_be() -> None:
    assert problems({"max_chars": 500, "min_chars": 0, "overlap": 50, "headings": True}) == []
    assert problems(None) == []


def test_what_is_not_given_has_its_default() -> None:
    assert chunker_of(None) == chunker_of({}) == Chunker()
    assert chunker_of({"overlap": 10}, headings=True) == Chunker(overlap=10, headings=True)
    assert chunker_of({"headings": False}, headings=True) == Chunker(headings=False)


def test_settings_that_do_not_go_together() -> None:
    with pytest.raises(ConfigError) as raised:
        chunker_of({"max_chars": 100, "overlap": 60})
    assert [str(problem) for problem in raised.value.problems] == [
        "dataset.chunker: overlap: expected 0 to half of max_chars (50), found 60"
    ]
