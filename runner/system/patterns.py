"""Searches a text for a user's pattern, which may take for ever, in a process that can be ended."""

from __future__ import annotations

import atexit
import json
import select
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO

SECONDS = 1.0
# Python's own search, a line at a time; it ends when its input does.
SEARCHING = """
import json, re, sys
print("ready", flush=True)
for line in sys.stdin:
    pattern, text = json.loads(line)
    print(int(re.search(pattern, text) is not None), flush=True)
"""


class PatternSearch:
    """One process, started with the first search and again after one that took too long."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def __call__(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern is found; None where the search did not end in time. `pattern` is one."""
        with self._lock:
            stdin, stdout = self._pipes()
            stdin.write(json.dumps([pattern, text]) + "\n")
            stdin.flush()
            if not select.select([stdout], [], [], self.seconds)[0]:
                self.close()
                return None
            return stdout.readline().strip() == "1"

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-I", "-S", "-c", SEARCHING]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - of this Python
            atexit.register(self.close)
            if self._process.stdout is not None:
                self._process.stdout.readline()  # how long it takes to start is no part of a search
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process was started with pipes")
        return self._process.stdin, self._process.stdout

    def close(self) -> None:
        """End the process that searches."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # of what was written and not read
                    pipe.close()
        process.wait()
        atexit.unregister(self.close)
