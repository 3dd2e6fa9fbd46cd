import io

import pytest

from runner.run import progress
from runner.run.progress import Plain
from runner.words.wording import LANGUAGES

ENGLISH = LANGUAGES["en"]


def test_plain_lines_come_at_the_end_and_count_failures(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Plain(3, "demo", lambda: "", ENGLISH)
    for failed in (False, True, False):
        shown.advance(failed=failed)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("demo: 3/3 cases, 1 failed, ")


def test_cases_that_lack_a_score_are_no_failed_cases(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Plain(2, "demo", lambda: "", ENGLISH)
    shown.advance(failed=False, unscored=True)
    shown.advance(failed=False, unscored=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("demo: 2/2 cases, 0 failed, 2 without all scores, ")


def test_plain_lines_tell_what_is_left_when_a_run_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 4.0, 40.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    shown = Plain(10, "demo", lambda: "$0.0132, 41,000 tokens", ENGLISH)
    shown.advance(failed=False)
    shown.advance(failed=False)
    assert capsys.readouterr().err == "demo: 2/10 cases, 0 failed, $0.0132, 41,000 tokens, 160 s left\n"


def test_lines_are_in_the_language_of_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 40.0, 41.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    shown = Plain(2, "demo", lambda: "토큰 41,000개", LANGUAGES["ko"])
    shown.advance(failed=False)
    shown.advance(failed=True)
    assert capsys.readouterr().err.splitlines() == [
        "demo: 사례 1/2, 실패 0, 토큰 41,000개, 40초 남음",
        "demo: 사례 2/2, 실패 1, 토큰 41,000개, 41.0초",
    ]


def test_waiting_speaks_only_of_long_waits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with progress.show_waiting("indexing", ENGLISH):
        pass
    assert capsys.readouterr().err == ""
    times = iter([0.0, 31.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with progress.show_waiting("indexing", ENGLISH):
        pass
    assert capsys.readouterr().err == "indexing: 31 s\n"


def test_a_note_stands_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    Plain(10, "demo", lambda: "", ENGLISH).note("no case finished for 30 s")
    assert capsys.readouterr().err == "demo: no case finished for 30 s\n"


def test_a_terminal_has_a_bar_with_what_was_spent_and_notes_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    with progress.progress(2, "demo", lambda: "$0.0132, 41,000 tokens", ENGLISH) as shown:
        shown.advance(failed=True)
        shown.note("no case finished for 30 s; in flight: [q-1] (judge, 31 s)")
        shown.advance(failed=False, unscored=True)
    text = screen.getvalue()
    assert "no case finished for 30 s; in flight: [q-1] (judge, 31 s)\n" in text
    last = [line for line in text.splitlines() if "2/2" in line][-1]
    assert "1 failed" in last and "1 without all scores" in last and "$0.0132, 41,000 tokens" in last
    with progress.show_waiting("indexing", ENGLISH) as note:
        note("preparing for 30 s")
    assert "preparing for 30 s\n" in screen.getvalue()


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True
