"""One progress over runs that other processes make, from what they write."""

import json
from pathlib import Path

from runner.run.progress import Silent, progress, show_waiting, shown_elsewhere
from runner.run.watching import WatchedRows, _View, show_progress_of
from runner.words.wording import LANGUAGES

OK = b'{"id":"a","status":"ok","unscored":[]}\n'
FAILED = b'{"id":"b","status":"failed","unscored":[]}\n'
UNSCORED = b'{"id":"c","status":"ok","unscored":["right"]}\n'


class Counts(Silent):
    """What was shown."""

    def __init__(self) -> None:
        super().__init__("")
        self.total, self.told = 0, list[tuple[bool, bool]]()

    def expect(self, total: int) -> None:
        self.total = total

    def advance(self, *, failed: bool, unscored: bool = False) -> None:
        self.told.append((failed, unscored))


def begins(run: Path, *, done: int, pending: int) -> None:
    run.mkdir(exist_ok=True)
    scratch = run / "scratch"
    scratch.write_text(json.dumps({"total": done + pending, "done": done, "pending": pending}), encoding="utf-8")
    scratch.replace(run / "begun.json")


def test_rows_of_this_pass_are_counted_as_they_come(tmp_path: Path) -> None:
    runs = [tmp_path / name for name in ("0", "1", "2")]
    begins(runs[0], done=0, pending=7)  # of an earlier command, as are its rows
    (runs[0] / "rows").write_bytes(OK + OK)
    watched = [WatchedRows(run / "rows", run / "begun.json") for run in runs]
    shown = Counts()
    view = _View(watched, shown)
    view.look()
    assert (shown.total, shown.told) == (0, [])

    begins(runs[0], done=2, pending=2)
    with (runs[0] / "rows").open("ab") as rows:
        rows.write(FAILED + UNSCORED[:9])
        rows.flush()
        view.look()
        assert (shown.total, shown.told) == (6, [(True, False)])  # three such runs, as far as is known
        rows.write(UNSCORED[9:])
    begins(runs[1], done=0, pending=3)
    (runs[1] / "rows").write_bytes(OK)
    view.look()
    assert (shown.total, shown.told[1:]) == (8, [(False, True), (False, False)])
    view.look(is_last=True)
    assert (shown.total, len(shown.told)) == (5, 3)  # the third had nothing to do


def test_the_end_of_the_work_is_the_end_of_the_view(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    watched = [WatchedRows(tmp_path / "rows", tmp_path / "begun.json")]
    with show_progress_of(watched, "workers", LANGUAGES["en"]):
        begins(tmp_path, done=0, pending=2)
        (tmp_path / "rows").write_bytes(OK + FAILED)
    assert capsys.readouterr().err.startswith("workers: 2/2 cases, 1 failed, ")
    with show_progress_of([], "workers", LANGUAGES["en"]):
        pass
    assert capsys.readouterr().err == ""


def test_a_process_whose_progress_is_shown_elsewhere_writes_its_notes_only(capsys) -> None:  # type: ignore[no-untyped-def]
    say = LANGUAGES["en"]
    with shown_elsewhere(), progress(1, "run", str, say) as bar, show_waiting("run", say) as note:
        bar.expect(1)
        bar.advance(failed=False)
        bar.note("slow")
        note("slower")
    assert capsys.readouterr().err == "run: slow\nslower\n"
    with progress(1, "run", str, say) as bar:
        bar.advance(failed=False)
    assert capsys.readouterr().err.startswith("run: 1/1 cases")
