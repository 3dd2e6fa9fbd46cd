"""A chat in a terminal."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from tests.command_line.chatting import COMMAND, LOCAL, asking, environment
from tests.services.models_replies import completion
from tests.services.models_server import ModelsServer


class Terminal:
    """A chat in a terminal of its own; errors come through a pipe."""

    def __init__(self, *words: str) -> None:
        self.outer, inner = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *words], stdin=inner, stdout=inner, stderr=subprocess.PIPE, env=environment(TERM="dumb")
        )
        os.close(inner)
        self.seen = b""

    def type(self, text: str) -> None:
        os.write(self.outer, text.encode())

    def until(self, text: str) -> str:
        """What was shown since the last time, up to this text."""
        while text not in self.seen.decode(errors="ignore"):
            assert select.select([self.outer], [], [], 120)[0], self.seen
            self.seen += os.read(self.outer, 10_000).replace(b"\r\n", b"\n")
        shown, found, self.seen = self.seen.partition(text.encode())
        return (shown + found).decode()

    def interrupt(self) -> None:
        """As a person does: once more where nothing happens. Python loses a signal between showing a prompt and
        waiting for a key."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(5)

    def ended(self) -> tuple[int, str]:
        _, err = self.process.communicate(timeout=120)
        return self.process.returncode, err.decode()


@contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    found = Terminal(*words)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()
        os.close(found.outer)


def test_people_get_a_prompt_and_sources_and_ctrl_d_ends_well() -> None:
    with terminal(LOCAL, "tenant=회사") as shown:
        assert shown.until("> ") == "회사 / default. /help lists commands.\n> "
        shown.type("예산은 1억이에요\n")
        assert "\n알겠습니다.\n" in shown.until("알겠습니다.\n")
        shown.until("> ")
        shown.type("예산은?\n")
        assert shown.until("알겠습니다.\n").endswith(
            "\n예산은 1억이에요 [1]\n  [1] turn-1: 사용자: 예산은 1억이에요 어시스턴트: 알겠습니다.\n"
        )
        shown.until("> ")
        shown.type("\x04")
        assert shown.ended() == (0, "")


@pytest.mark.slow  # the next one is pressed at a harder moment
def test_ctrl_c_at_the_prompt_ends_the_chat() -> None:
    with terminal() as shown:
        shown.until("> ")
        shown.interrupt()
        assert shown.ended() == (130, "interrupted\n")


def test_ctrl_c_during_an_answer_ends_the_chat_at_once(server: ModelsServer) -> None:
    server.respond = lambda body: replace(completion(body, "late"), delay_s=50.0)
    with terminal(*asking(server)) as shown:
        shown.until("> ")
        shown.type("Hello\n")
        while not server.counts.in_flight:
            time.sleep(0.01)
        shown.process.send_signal(signal.SIGINT)
        code, err = shown.ended()
        assert (code, err.splitlines()[-1]) == (130, "interrupted")
