import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from runner.llm.presence import Presence, is_present

ROOT = Path(__file__).resolve().parents[3]
STAYS = """
import sys, time
from pathlib import Path
from runner.llm.presence import Presence
presence = Presence(Path(sys.argv[1]))
print(presence.name, flush=True)
time.sleep(60)
"""


def test_present_until_it_is_closed(tmp_path: Path) -> None:
    presence = Presence(tmp_path)
    (descriptor,) = [file.fd for file in psutil.Process().open_files() if Path(file.path).parent == tmp_path]
    assert is_present(tmp_path, presence.name)
    presence.close()
    assert list(tmp_path.iterdir()) == []
    assert not is_present(tmp_path, presence.name)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_two_in_one_process_are_told_apart(tmp_path: Path) -> None:
    first, second = Presence(tmp_path), Presence(tmp_path)
    first.close()
    assert not is_present(tmp_path, first.name)
    assert is_present(tmp_path, second.name)
    second.close()


def test_a_process_is_present_until_it_is_killed_whatever_its_number_is_used_for(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STAYS, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert is_present(tmp_path, name)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not is_present(tmp_path, name)
    assert list(tmp_path.iterdir()) == []  # what it left is cleared away


def test_who_comes_clears_away_what_killed_processes_have_left(tmp_path: Path) -> None:
    (tmp_path / ".present-dead").touch()
    first, second = Presence(tmp_path), Presence(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f".present-{each.name}" for each in (first, second)}
    assert is_present(tmp_path, first.name)
    first.close()
    second.close()


def test_in_memory_there_is_nobody_else() -> None:
    presence = Presence(None)
    assert is_present(None, presence.name)
    presence.close()
