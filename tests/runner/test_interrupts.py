import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# A task that looks at how another ended, which is always in the middle of something; a clean-up that takes its time.
PROGRAM = """
import asyncio, time
from runner.cli import end_as_by_ctrl_c

async def busy():
    while True:
        time.sleep(0.01)
        await asyncio.sleep(0)

async def waits():
    task = asyncio.create_task(busy())
    try:
        await task
    finally:
        await asyncio.wait({task})
        task.result()

async def main():
    try:
        print("ready", flush=True)
        await asyncio.create_task(waits())
    finally:
        await asyncio.sleep(0.05)
        print("cleaned", flush=True)

end_as_by_ctrl_c()
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    ("how", "deaf"), [([signal.SIGINT], False), ([signal.SIGTERM], False), ([signal.SIGINT, signal.SIGTERM], True)]
)
def test_work_is_cancelled_and_cleans_up(how: list[signal.Signals], deaf: bool) -> None:
    """`deaf`: to Ctrl-C, as a shell starts what runs in the background. It goes on being deaf."""
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN if deaf else signal.default_int_handler)
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for each in how[:-1]:
        process.send_signal(each)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
    process.send_signal(how[-1])
    assert process.communicate(timeout=240)[0] == "cleaned\ninterrupted\n"
    assert process.returncode == 0
