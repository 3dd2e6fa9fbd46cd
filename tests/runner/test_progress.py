import pytest

from runner import progress
from runner.progress import Plain


def test_plain_lines_come_at_the_end_and_count_failures(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Plain(3, "demo", lambda: "")
    for failed in (False, True, False):
        shown.advance(failed=failed)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("demo: 3/3 cases, 1 failed, ")


def test_plain_lines_tell_what_is_left_when_a_run_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 4.0, 20.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    shown = Plain(10, "demo", lambda: "$0.0132, 41,000 tokens")
    shown.advance(failed=False)
    shown.advance(failed=False)
    assert capsys.readouterr().err == "demo: 2/10 cases, 0 failed, $0.0132, 41,000 tokens, 80 s left\n"


def test_waiting_speaks_only_of_long_waits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with progress.waiting("indexing"):
        pass
    assert capsys.readouterr().err == ""
    times = iter([0.0, 31.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with progress.waiting("indexing"):
        pass
    assert capsys.readouterr().err == "indexing: 31 s\n"
