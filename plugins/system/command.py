"""A program that gets a line of JSON for each question, and answers with one: one process for all questions."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, ClassVar, Unpack

import orjson

from runner.errors import EvaluationError, InputError, Problem, StopRunError
from runner.llm.endpoint import EndpointReply
from runner.llm.loose_json import parse_loosely
from runner.llm.models import Models
from runner.llm.reply_body import decode_text
from runner.llm.service import INCIDENTAL, Calls, ReplyForm, SystemSettings, values_of
from runner.llm.toll import Toll
from runner.records import Query, SystemReply
from runner.system.program_files import program_files
from runner.system.redaction import command_secrets, is_secret, redact, redacted_bytes
from runner.words.wording import wording

LONGEST_LINE = 32 * 2**20  # bytes
SHOWN = 300  # characters of what a process says
LAST_LINES = 5  # of stderr that are shown
LEAVE_S = 2.0  # that a process has to end by itself once its input is closed


class CommandSystem:
    """`command`: a text as a shell splits it, or a list of words; no shell reads it. The process is started with the
    first question, gets one line `{"question": …, "history": …, "id": …}` at a time, and answers each with one line
    that is read like the reply of a service. A process that ended is started again with the next question, and the run
    ends where its files are others than before: no row mixes two programs."""

    incidental: ClassVar[tuple[str, ...]] = INCIDENTAL

    def __init__(self, *, models: Models, command: str | list[str], k: int, **settings: Unpack[SystemSettings]) -> None:
        language = settings.get("language", "en")
        self.repeats = settings.get("repeats", 1)
        self.words = shlex.split(command) if isinstance(command, str) else list(command)
        self.k = k
        self._say = wording(language, "service")
        self._form = ReplyForm(settings, self._say)
        self._service = models.service(
            shlex.join(self.words), is_shared=settings.get("cache", False), language=language
        )
        self._files = program_files(self.words)
        self._calls = Calls(shlex.join(self.words), {**settings, "max_concurrency": 1})
        self._process: asyncio.subprocess.Process | None = None
        self._stderr: deque[str] = deque(maxlen=LAST_LINES)
        self._listening: asyncio.Task[None] | None = None

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The files that the command names, and the Python modules beside them."""
        return {"files": self._files}

    def preflight(self) -> list[Problem]:
        problems = [*self._form.problems(), *self._service.problems(self._form)]
        if not self.words:
            return [*problems, Problem("system.command", self._say("setting.command"))]
        short = [name for name, value in command_secrets(self.words) if not is_secret(value)]
        problems += [Problem("system.command", self._say("setting.command_key", name=name)) for name in short]
        if shutil.which(self.words[0]) is None:
            problems.append(Problem("system.command", self._say("setting.no_command", name=self.words[0])))
        return problems

    def open(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def running() -> AsyncIterator[None]:
            try:
                yield
            finally:
                await self._end(LEAVE_S)

        return running()

    async def ask(self, query: Query, repeat: int = 0) -> SystemReply:
        values = {name: value for name, value in values_of(query, self.k).items() if value is not None}

        async def send(toll: Toll, key: str) -> EndpointReply:
            try:
                return await self._calls.make(lambda: self._exchange(values), toll)
            except TimeoutError:
                limit = f"{self._calls.timeout_s * 1000:,.0f} ms"
                raise self._wrong("process.no_line", setting="system.timeout_ms", limit=limit) from None

        asked = {"command": self.words, "files": self._files, "values": values}
        return await self._service.ask(asked, send, self._form, repeat, query.text)

    # --- the process ------------------------------------------------------------------------------

    async def _exchange(self, values: Mapping[str, Any]) -> Any:
        """Send one line and read one. A process whose next line could belong to an earlier question is ended."""
        process = await self._start()
        is_in_step = False
        try:
            line = await self._line(process, values)
            reply = parse_loosely(redacted_bytes(decode_text(line).encode()))
            is_in_step = True
        except orjson.JSONDecodeError:
            await self._end(0)
            shown = " ".join(line.decode("utf-8", "replace").split())[:SHOWN]
            raise self._wrong("process.garbage", line=repr(shown)) from None
        finally:
            if not is_in_step:
                await self._end(0)
        return reply

    async def _line(self, process: asyncio.subprocess.Process, values: Mapping[str, Any]) -> bytes:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101  both are pipes
        line = b""
        with suppress(ConnectionError):
            process.stdin.write(orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE))
            await process.stdin.drain()
        try:
            line = await process.stdout.readline()
        except ValueError:
            raise self._wrong("process.garbage", line=self._say("process.long", limit=f"{LONGEST_LINE:,}")) from None
        if not line.endswith(b"\n"):
            code = await process.wait()
            if self._listening is not None:
                await asyncio.wait([self._listening], timeout=LEAVE_S)
            if not line.strip():
                raise self._wrong("process.died", code=code)
        return line

    async def _start(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        await self._end(0)
        if program_files(self.words) != self._files:
            raise StopRunError(f"system.command: {self._say('process.changed')}")
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self.words, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE, start_new_session=True
            )
        except OSError as error:
            reason = self._say("process.not_started", reason=error.strerror or error)
            raise InputError(f"system.command: {reason}") from None
        self._process = process
        self._stderr.clear()
        self._listening = asyncio.create_task(self._listen(process))
        return process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Read stderr, so that the process never waits for a reader, and keep its last lines."""
        assert process.stderr is not None  # noqa: S101
        while True:
            try:
                line = await process.stderr.readline()
            except ValueError:  # a line that is too long
                continue
            if not line:
                return
            self._stderr.append(line.decode("utf-8", "replace").strip())

    async def _end(self, patience_s: float) -> None:
        """Close the input of the process, and kill it if it does not end by itself."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(patience_s):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started itself
            await process.wait()
        if self._listening is not None:
            await asyncio.wait([self._listening], timeout=LEAVE_S)
            self._listening.cancel()

    def _wrong(self, key: str, **values: Any) -> EvaluationError:
        text = " / ".join(filter(None, self._stderr))[-SHOWN:]
        stderr = self._say("process.stderr", text=text) if text else ""
        return EvaluationError(redact(f"system.command: {self._say(key, stderr=stderr, **values)}"))
