"""A run is repeated when what it reads changes, and what that changed is told."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.cli import main
from runner.commands.watch import POLL_S
from tests.command_line.started import command
from tests.small_data import write_jsonl, write_texts

PATIENCE_S = 120


class Watching:
    def __init__(self, *words: str) -> None:
        self.log = Path("watch.log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command("watch", *words), stdout=log, stderr=log, env={**os.environ, "PYTHONUNBUFFERED": "1"}
            )

    def says(self, text: str, times: int = 1) -> str:
        end = time.monotonic() + PATIENCE_S
        while self.said.count(text) < times:
            assert time.monotonic() < end and self.process.poll() is None, self.said
            time.sleep(0.1)
        return self.said

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


@pytest.fixture
def watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watching]:
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "notes", {"moon.md": "The moon circles the earth.", "sun.md": "The sun is a star."})
    questions = [
        {"id": "q1", "query": "How long does the moon take?", "answerable": True, "expected_notes": ["moon"],
         "answers": ["27 days"]},
    ]  # fmt: skip
    write_jsonl(tmp_path / "q.jsonl", questions)
    data = ["dataset=vault", "dataset.notes=notes", "dataset.queries=q.jsonl"]
    started = Watching("+experiment=full_rag", "retriever=keyword", *data)
    yield started
    started.process.kill()
    started.process.wait()


def test_a_changed_note_runs_it_again_and_ctrl_c_ends_it(watching: Watching) -> None:
    watching.says("Ctrl-C ends it")
    time.sleep(2 * POLL_S)  # nothing changed: nothing runs
    assert len(list(Path("outputs").glob("*-watch"))) == 1
    write_texts(Path("notes"), {"moon.md": "The moon takes 27 days to circle the earth."})
    said = watching.says("Ctrl-C ends it", 2)
    assert "changed: notes/moon.md\n" in said
    assert "now right: q1\n" in said and "Correct 0.0000 → 1.0000" in said
    time.sleep(4 * POLL_S)  # what a run stores is no change
    assert len(list(Path("outputs").glob("*-watch"))) == 2, watching.said
    assert said.count("all results") == 1  # the first run alone shows its screen
    watching.process.send_signal(signal.SIGINT)
    assert watching.process.wait(PATIENCE_S) == 0
    assert "ended; the last run is in outputs/" in watching.said and "Traceback" not in watching.said
    assert not list(Path().glob("ml*"))


@pytest.mark.parametrize("words", [[], ["k=3", "out=x"], ["k=3", "dry_run=true"]])
def test_words_that_cannot_be_watched(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", *words]) == 1
    assert "error: watch takes the words of a run, without out= " in capsys.readouterr().err
