"""The outputs that READMEs and documentation show: `python -m tests.docs.outputs` runs their commands and writes the
numbers anew; `python -m tests.docs.outputs docs/ko/recipes/notes.md …` those of some pages. All share one cache.

The commands run as a plain installation runs them, which has no package that counts tokens.

A line that is shown stands for the line of the output that has the same words and signs; its numbers are those of
the output. A line without one is named, and left to whoever reads that: what the program says has changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.docs.pages import FOLDERS, READMES

BLOCK = re.compile(
    r"^```sh\n(?P<script>(?:(?!^```).)*?python -m runner (?:(?!^```).)*?)^```\n\n```text\n(?P<shown>.*?)^```\n",
    re.M | re.S,
)
ASKS_MODELS = re.compile(r"^python -m runner (?!plan ).*\bopenai\b.*\n", re.M)
NUMBER = re.compile(r"\*?[−+-]?[\d.,]*\d")  # with the mark of what stands out
CUT = "…"
ABSENT = "rs_bpe"  # counts tokens exactly; who has installed nothing more sees estimates


def skeleton(line: str) -> str:
    """The line without its numbers and the room that they take."""
    return re.sub(r"[\s│]+", " ", NUMBER.sub("#", line)).strip()


def with_numbers_of(shown: Sequence[str], told: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each line that is shown, with the numbers of the next line of the output that says the same; whether there
    is one."""
    start = 0
    for line in shown:
        if not line.strip() or line.strip() == CUT:
            yield line, True
            continue
        wanted = skeleton(line)
        found = next((number for number in range(start, len(told)) if skeleton(told[number]) == wanted), None)
        if found is None:
            yield line, False
        else:
            start = found + 1
            yield told[found].rstrip(), True


def refreshed(text: str, folder: Path) -> tuple[str, list[str]]:
    """The page with the numbers that its commands find in `folder`, and the lines that no output has."""
    missing: list[str] = []
    environment = plain(folder)

    def run(match: re.Match[str]) -> str:
        if re.search(r"(?<![\w/])\.venv/", match["script"]):  # of a fresh clone
            return match[0]
        script = ASKS_MODELS.sub("", match["script"]).replace("python -m runner", f"{sys.executable} -m runner")
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        told = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        lines = list(with_numbers_of(match["shown"].splitlines(), told))
        missing.extend(line for line, is_there in lines if not is_there)
        return match[0].replace(match["shown"], "".join(f"{line}\n" for line, _ in lines))

    return BLOCK.sub(run, text), missing


def plain(folder: Path) -> dict[str, str]:
    """The environment of a plain installation, whatever is installed here."""
    hidden = folder / ".absent"
    hidden.mkdir(exist_ok=True)
    (hidden / f"{ABSENT}.py").write_text("raise ImportError(__name__)\n", encoding="utf-8")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(hidden), os.environ.get("PYTHONPATH")]))}


def main(pages: Sequence[str]) -> int:
    missing = []
    chosen = [Path(page).resolve() for page in pages]
    with tempfile.TemporaryDirectory() as cache:
        for language, readme in READMES.items():
            paths = (readme, *sorted(FOLDERS[language].glob("**/*.md")))
            missing += _refresh([path for path in paths if not chosen or path in chosen], Path(cache))
    sys.stderr.write("".join(f"{line}\n" for line in missing))
    return int(bool(missing))


def _refresh(paths: Sequence[Path], cache: Path) -> list[str]:
    """Pages of a language, in one folder: some recipes go on with the files of others."""
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".runner_cache").symlink_to(cache)
        for path in paths:
            text, unknown = refreshed(path.read_text(encoding="utf-8"), Path(folder))
            path.write_text(text, encoding="utf-8")
            missing += [f"{path}: no output has: {line}" for line in unknown]
    return missing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
