import json
from pathlib import Path

import pytest
import yaml

from plugins.dataset.traces import TracesDataset
from runner.errors import DataError, InputError


def line(id: str) -> str:
    trace = {
        "id": id,
        "metadata": {"success": True},
        "task": {"objective": "왜?"},
        "steps": [{"type": "thought"}],
        "outcome": {"confidence": 1},
    }
    return json.dumps(trace) + "\n"


def test_files_are_read_in_turn_and_ids_count_once(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first.write_text(line("a") + line("b"), encoding="utf-8")
    second.write_text(line("b") + line("c"), encoding="utf-8")
    traces, problems = TracesDataset(traces=[str(first), str(second)]).read()
    assert [trace.id for trace in traces] == ["a", "b", "c"]
    assert [str(problem) for problem in problems] == [
        f"{second}:1: id: 'b' is already the id at {first}:2; the first one counts"
    ]
    with pytest.raises(DataError, match="1 error in the data files"):
        TracesDataset(traces=[str(first), str(second)], strict=True).read()


def test_those_of_the_program_are_the_default() -> None:
    traces, problems = TracesDataset().read()
    assert len(traces) >= 60
    assert problems == ()


def test_a_missing_file_is_told_before_the_start(tmp_path: Path) -> None:
    (problem,) = TracesDataset(traces=str(tmp_path / "no.jsonl")).preflight()
    assert str(problem) == f"dataset.traces: file not found: {tmp_path / 'no.jsonl'}"


def test_traces_are_no_corpus() -> None:
    with pytest.raises(InputError, match=r"no corpus and no questions; \+experiment=trace_quality scores traces"):
        TracesDataset().load()


def test_configuration_writes_out_every_setting_and_its_default() -> None:
    path = Path(__file__).parents[3] / "conf/dataset/traces.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert settings == {
        "_target_": "plugins.dataset.traces.TracesDataset",
        **TracesDataset.__init__.__kwdefaults__,
        "strict": "${strict}",
    }
