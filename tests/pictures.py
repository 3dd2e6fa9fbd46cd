"""Pictures of the READMEs, drawn anew: `python -m tests.pictures` writes docs/first_command.svg and docs/report.png.

The runs are those of the first command. The report is photographed by Chromium, which must be installed (`chromium`,
`chromium-browser` or `google-chrome`); without it only the terminal is drawn.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from runner import report

DOCS = Path(__file__).resolve().parent.parent / "docs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COMMAND = ("+experiment=full_rag", "k=3,5,10", "out=first", "tracking=none")
SETTLED_MS = 20_000  # of the clock of a page, until it is drawn


def main() -> int:
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        subprocess.run([sys.executable, "-m", "runner", *COMMAND], cwd=folder, check=True)
        draw_terminal(folder / "first", DOCS / "first_command.svg")
        if browser is None:
            sys.stderr.write(
                f"report.png and mlflow.png stay as they are: none of {', '.join(BROWSERS)} is installed\n"
            )
            return 1
        photograph(browser, (folder / "first" / "0" / "report.html").as_uri(), DOCS / "report.png", (1100, 1110))
    return 0


def draw_terminal(sweep: Path, target: Path) -> None:
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True)
    for part in report.sweep_panels(sweep, bold=True):
        console.print(part, markup=False, highlight=False)
    console.save_svg(str(target), title="python -m runner +experiment=full_rag k=3,5,10")


def photograph(browser: str, address: str, target: Path, size: tuple[int, int]) -> None:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"]
    options += [f"--window-size={size[0]},{size[1]}", f"--virtual-time-budget={SETTLED_MS}", f"--screenshot={target}"]
    subprocess.run([browser, *options, address], check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
