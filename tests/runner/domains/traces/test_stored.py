import json
from pathlib import Path

import pytest

from runner.data.problems import ProblemLog
from runner.domains.traces.reading import StoredTraces, placed_traces
from runner.errors import DataError


def line(id: str, **others: object) -> str:
    trace = {
        "id": id,
        "metadata": {"success": True},
        "task": {"objective": "왜?"},
        "steps": [{"type": "thought", "content": "\u00e9" * 9}],
        "outcome": {"confidence": 1},
        **others,
    }
    return json.dumps(trace, ensure_ascii=False)


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """With all that may stand between traces: a byte order mark, CRLF, blank and broken lines, an id for the second
    time, half a character."""
    files = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    text = "\ufeff" + line("a") + "\r\n\n" + line("b") + "\nnot JSON\n" + line("a") + "\n"
    files[0].write_bytes((text + line("c", more="\\ud800").replace("\\\\u", "\\u")).encode())
    files[1].write_text(line("d") + "\n" + line("e"), encoding="utf-8")
    return [str(file) for file in files]


def test_they_are_what_is_read_in_turn(paths: list[str]) -> None:
    log, other = ProblemLog(), ProblemLog()
    expected = [trace for *_, trace in placed_traces(paths, "dataset.traces", log)]
    traces = StoredTraces(paths, "dataset.traces", other)
    assert [trace.id for trace in expected] == ["a", "b", "c", "d", "e"]
    assert len(traces) == 5
    assert list(traces) == [traces[place] for place in range(5)] == list(traces[:]) == expected
    assert traces[-1].id == "e"
    assert list(traces[3:0:-2]) == [expected[3], expected[1]]
    assert log.problems == other.problems
    assert len(log.errors) == 2


def test_a_file_that_changes_is_told(paths: list[str]) -> None:
    traces = StoredTraces(paths, "dataset.traces", ProblemLog())
    Path(paths[1]).write_text(line("d")[1:] + line("e"), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        traces[3]
    assert str(caught.value) == (
        f"dataset.traces: {paths[1]} has changed while it was in use; the same command starts over"
    )
    Path(paths[1]).unlink()
    with pytest.raises(DataError, match=r"dataset\.traces: file not found"):
        list(traces)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Linux counts what a process reads")
def test_one_trace_is_looked_up_without_reading_the_file(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(line(str(number), more="x" * 1000) for number in range(2000)), encoding="utf-8")
    traces = StoredTraces([str(path)], "dataset.traces", ProblemLog())
    before = n_read()
    assert [traces[place].id for place in range(0, 2000, 100)] == [str(number) for number in range(0, 2000, 100)]
    assert n_read() - before < 20 * 100_000


def n_read() -> int:
    """Bytes that this process has read so far."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="utf-8").splitlines())
    return int(fields["rchar"])
