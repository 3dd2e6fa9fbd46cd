"""Pictures of READMEs and documentation, drawn anew: `python -m tests.pictures` writes docs/first_command.svg,
docs/report.png, docs/side_by_side.png and docs/mlflow.png, and those with `.ko` for Korean readers.

The runs are those of the first command. Pages are photographed by Chromium, which must be installed (`chromium`,
`chromium-browser` or `google-chrome`); without it only the terminal is drawn.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console

from runner import report
from tests.services.browser import browsing
from tests.services.ports import free_port

DOCS = Path(__file__).resolve().parent.parent / "docs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COMMAND = ("+experiment=full_rag", "k=3,5,10", "out=first")
SETTLED_MS = 20_000  # of the clock of a page, until it is drawn
CELL = 12.2  # the width of a cell in an SVG of rich, in px
LENGTH = re.compile(r'(<text [^>]*textLength=")[^"]*("[^>]*>)([^<]*)')
MLFLOW_PAGE = (1440, 480)
DRAWN = "document.querySelectorAll('.ag-center-cols-container .ag-row').length >= 3"  # the runs
WORDS = {"en": (), "ko": ("dataset=demo_ko", "report.language=ko")}  # what the command has besides, by the language
SIDES = "/side?runs=first~0&runs=first~1&show=changed&q={language}-&lang={language}"
SIDES_PAGE = (1180, 860)
READ = "document.querySelectorAll('.case').length > 0"  # at first the page says that cases are being read
FIRST_REASONS = "document.querySelectorAll('.case:first-child details:first-of-type').forEach((d) => (d.open = true))"


def main() -> int:
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # so that it says `python`
    if browser is None:
        sys.stderr.write(f"the PNG files stay as they are: none of {', '.join(BROWSERS)} is installed\n")
    for language, words in WORDS.items():
        ending = "" if language == "en" else f".{language}"
        with tempfile.TemporaryDirectory() as scratch:
            folder, command = Path(scratch), ["-m", "runner", *COMMAND, *words]
            subprocess.run([sys.executable, *command], cwd=folder, check=True)
            with contextlib.chdir(folder):
                draw_terminal(Path("first"), " ".join(["python", *command]), DOCS / f"first_command{ending}.svg")
            if browser is None:
                continue
            if language == "en":  # the pages of MLflow are in English
                photograph_mlflow(browser, folder, DOCS / "mlflow.png")
            photograph_sides(browser, folder, language, DOCS / f"side_by_side{ending}.png")
            report_page = (folder / "first" / "0" / "report.html").as_uri()
            photograph(browser, report_page, DOCS / f"report{ending}.png", (1100, 1110))
    return 0 if browser else 1


def draw_terminal(sweep: Path, command: str, target: Path) -> None:
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True)
    for part in report.brief_sweep(sweep, bold=True):
        console.print(part, markup=False, highlight=False)
    svg = console.export_svg(title=command)
    target.write_text(LENGTH.sub(lambda found: _by_cells(*found.groups()), svg), encoding="utf-8")


def _by_cells(before: str, between: str, text: str) -> str:
    """A text of the SVG whose length counts each Korean letter as two cells; rich counts letters."""
    return f"{before}{cell_len(html.unescape(text)) * CELL:g}{between}{text}"


def photograph(browser: str, address: str, target: Path, size: tuple[int, int]) -> None:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"]
    options += [f"--window-size={size[0]},{size[1]}", f"--virtual-time-budget={SETTLED_MS}", f"--screenshot={target}"]
    subprocess.run([browser, *options, address], check=True, capture_output=True)


def photograph_mlflow(program: str, folder: Path, target: Path) -> None:
    """The table of runs, as the address that the command prints opens it."""
    command = [sys.executable, "-m", "runner", "ui", "--port", str(free_port())]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            address = re.search(r"http://\S+", server.stderr.readline())
            assert address is not None
            next(line for line in server.stderr if "startup complete" in line)
            with browsing(program) as browser:
                width, height = MLFLOW_PAGE
                browser.open(address[0], width=width, height=height)
                browser.command("Emulation.setScrollbarsHidden", hidden=True)
                browser.ask(_once(DRAWN))
                browser.ask("new Promise((done) => setTimeout(done, 2000))")  # what moves has come to rest
                browser.screenshot(target, whole=False)
        finally:
            server.terminate()


def photograph_sides(program: str, folder: Path, language: str, target: Path) -> None:
    """The page of `serve` with the first two runs, and what changed from one to the other."""
    port = free_port()
    command = [sys.executable, "-m", "runner", "serve", "--port", str(port), "--root", str(folder), "--read-only"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            assert "serves the runs of" in server.stderr.readline()
            with browsing(program) as browser:
                address, (width, height) = f"http://127.0.0.1:{port}{SIDES.format(language=language)}", SIDES_PAGE
                browser.open(address, width=width, height=height)
                while not browser.ask(READ):
                    time.sleep(1)
                    browser.open(address, width=width, height=height)
                browser.ask(FIRST_REASONS)
                browser.command("Emulation.setScrollbarsHidden", hidden=True)
                browser.screenshot(target, whole=False)
        finally:
            server.terminate()


def _once(condition: str) -> str:
    """A promise that is kept when the condition holds."""
    return f"new Promise((done) => setInterval(() => {{ if ({condition}) done(true); }}, 200))"


if __name__ == "__main__":
    sys.exit(main())
