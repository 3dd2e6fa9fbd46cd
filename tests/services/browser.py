"""A real browser without a window: Chromium, driven over its DevTools pipe. It reaches no network beyond loopback."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = f"no browser is installed ({', '.join(NAMES)}), so nothing can be opened in one: apt install chromium"
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-sync", "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--password-store=basic", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE_S = 120


def installed() -> str | None:
    """The path of a browser."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Browser:
    """Sends commands to one browser and collects what it tells. `events` are those since the page was opened."""

    read: int
    write: int
    session: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    _buffer: bytes = b""
    _number: int = 0

    def command(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._message()
            if told.get("id") == self._number:
                assert "error" not in told, f"{method}: {told['error']}"
                result: dict[str, Any] = told["result"]
                return result
            self.events.append(told)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self.read], [], [], PATIENCE_S)
            assert ready, f"the browser has said nothing for {PATIENCE_S} s"
            part = os.read(self.read, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    # --- a page ---

    def open(self, url: str, *, width: int = 1280, height: int = 900, scripts: bool = True, **media: str) -> None:
        """In a new page. `media` are features such as `prefers_color_scheme="dark"`."""
        self.session = None
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")
        self.resize(width, height)
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.command("Emulation.setEmulatedMedia", features=features)
        self.command("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.command("Page.navigate", url=url)
        self._wait_for("Page.loadEventFired")

    def _wait_for(self, method: str) -> None:
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._message())

    def resize(self, width: int, height: int) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited where it is a promise."""
        found = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """A key of the keyboard, as the reader presses it."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text)

    def screenshot(self, path: Path, *, whole: bool = True, clip: tuple[int, int, int, int] | None = None) -> None:
        """`clip`: the part that is shown, as x, y, width and height."""
        names = ("x", "y", "width", "height", "scale")
        part = {} if clip is None else {"clip": dict(zip(names, (*clip, 1), strict=True))}
        shot = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **part)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        return base64.b64decode(self.command("Page.printToPDF", preferCSSPageSize=True)["data"])

    def complaints(self) -> list[str]:
        """Errors and exceptions since the page was opened."""
        found = []
        for event in self.events:
            params = event.get("params") or {}
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded":
                found.append(str(params["entry"]["text"]))
        return found

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]


@contextmanager
def browsing(program: str) -> Iterator[Browser]:
    """A browser with a profile of its own, which ends with the block."""
    to_browser, from_browser = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory() as profile:
        # The pipe is file descriptors 3 and 4 of the browser.
        actions = [(os.POSIX_SPAWN_DUP2, os.dup(to_browser[0]), 3), (os.POSIX_SPAWN_DUP2, os.dup(from_browser[1]), 4)]
        quiet = os.open(os.devnull, os.O_WRONLY)
        actions.append((os.POSIX_SPAWN_DUP2, quiet, 2))
        arguments = [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        process = os.posix_spawn(program, arguments, os.environ, file_actions=actions, setpgroup=0)
        for descriptor in (to_browser[0], from_browser[1], quiet, actions[0][1], actions[1][1]):
            os.close(descriptor)
        browser = Browser(read=from_browser[0], write=to_browser[1])
        try:
            yield browser
        finally:
            browser.session = None
            _end(browser, process)
            os.close(browser.read)
            os.close(browser.write)


def _end(browser: Browser, process: int) -> None:
    try:
        browser.command("Browser.close")
    except (AssertionError, OSError):
        os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
