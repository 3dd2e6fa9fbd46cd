"""How long a browser takes to open report.html, and what of it a window cuts off or axe finds fault with.

python benchmarks/pages.py [--cases 562,100000] [--report FOLDER] [--axe axe.min.js]

A report is written over as many cases as are asked for, or those of FOLDER are looked at: a run or a sweep that has
ended. Each is opened from disk by Chromium in light and dark at four widths; milliseconds are those of its own clock
until the page has loaded and its table of cases is filled. axe-core is not part of this program (npm pack axe-core).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from runner import report
from tests.run_folders import row, write_run
from tests.services.browser import MISSING, Browser, browsing, installed

WIDTHS = (390, 768, 1280, 1920)
STAGES = ("none", "below_k", "wrong_answer", "refused_answerable")
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
CUT = """[...document.body.querySelectorAll("*")].filter((each) => !each.closest(".scroll, pre, svg")
    && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length"""
# Shadows at the edges of what scrolls keep axe from seeing the colour behind a text.
PLAIN = "for (const box of document.querySelectorAll('.scroll')) box.style.background = 'none'"
FAULTS = """axe.run(document).then((found) => found.violations.map((each) =>
    `${each.impact} ${each.id} ${each.nodes.length}`))"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="562,100000")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--axe", type=Path)
    options = parser.parse_args()
    program = installed()
    if program is None:
        sys.exit(MISSING)
    axe = None if options.axe is None else options.axe.read_text(encoding="utf-8")
    print(f"{'':<16}{'MB':>6}{'written s':>11}{'light ms':>10}{'dark ms':>9}   cut off; faults")
    with tempfile.TemporaryDirectory() as scratch, browsing(program) as browser:
        found = (
            [(str(options.report), 0.0, options.report)] if options.report else written(options.cases, Path(scratch))
        )
        for name, seconds, folder in found:
            page = folder / "report.html"
            times, faults = opened(browser, page.resolve().as_uri(), axe)
            size = page.stat().st_size / 1e6
            print(
                f"{name[-16:]:<16}{size:>6.1f}{seconds:>11.1f}{times[0]:>10.0f}{times[1]:>9.0f}   {faults}", flush=True
            )


def written(counts: str, scratch: Path) -> Iterator[tuple[str, float, Path]]:
    """(name, seconds that its report took, folder) of a run of so many cases."""
    for count in map(int, counts.split(",")):
        rows = [
            row(f"q-{number:06}", labels={"lost_at": STAGES[number % 4]}, metrics={"recall_at_k": number % 10 / 10})
            for number in range(count)
        ]
        folder = write_run(scratch / str(count), rows=rows)
        began = time.perf_counter()
        report.write(folder)
        yield f"{count:,} cases", time.perf_counter() - began, folder


def opened(browser: Browser, address: str, axe: str | None) -> tuple[list[float], str]:
    """Milliseconds in light and dark, and what is wrong at any width."""
    times, faults = [], []
    for scheme in ("light", "dark"):
        browser.open(address, prefers_color_scheme=scheme)
        times.append(float(browser.ask(LOADED)))
        for width in WIDTHS:
            browser.resize(width, 900)
            if cut := browser.ask(CUT):
                faults.append(f"{cut} cut off at {width}")
            if axe is not None:
                browser.ask(f"{PLAIN}; {axe}; true")
                faults += [f"{fault} ({scheme}, {width})" for fault in browser.ask(FAULTS)]
    return times, "; ".join(dict.fromkeys(faults)) or ("nothing" if axe else "nothing cut off")


if __name__ == "__main__":
    main()
