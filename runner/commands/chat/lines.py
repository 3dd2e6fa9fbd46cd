"""What is typed or piped, a line at a time."""

from __future__ import annotations

import contextlib
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

PROMPT = "> "
STEERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # directions of writing


@dataclass(frozen=True, slots=True)
class Line:
    """Something said, or `/command text`. `command` is None for what is said, and in small letters."""

    text: str
    command: str | None = None


def read(line: str) -> Line | None:
    """None for a line without anything to be seen. Text is NFC, without characters that steer a terminal; `//x` says
    `/x`."""
    text = harmless(unicodedata.normalize("NFC", line)).strip().lstrip("\ufeff")
    if not text or all(unicodedata.category(character) in ("Cf", "Zs") for character in text):
        return None
    if not text.startswith("/"):
        return Line(text)
    if text.startswith("//"):
        return Line(text[1:])
    command, _, rest = " ".join(text[1:].split()).partition(" ")
    return Line(rest, command.casefold())


def lines(interactive: bool) -> Iterator[str]:
    """Until the end of the input (Ctrl-D). A prompt is shown to people only. Bytes that are no text are replaced."""
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    if not interactive:
        yield from sys.stdin
        return
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - editing and history of lines
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            sys.stdout.write("\n")
            return


def harmless(text: str) -> str:
    """Without what a terminal takes for commands or for the direction to write in; line breaks and tabs stay, lone
    surrogates become question marks."""
    kept = (c for c in text if c in "\n\t" or not (unicodedata.category(c) == "Cc" or c in STEERING))
    return "".join(kept).encode("utf-8", "replace").decode("utf-8")
