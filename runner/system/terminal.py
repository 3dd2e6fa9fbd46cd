"""The door to the terminal: results on stdout, notes and errors on stderr. All output is made harmless: without
secrets, without control characters, and not interpreted as markup."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from runner.system.redaction import redact

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment

_HELD_BACK: ContextVar[bool] = ContextVar("held_back", default=False)
JOINERS = "\u200c\u200d"  # which letters and emoji need


def sanitise(text: str) -> str:
    """A text without secrets, and with U+FFFD in place of characters that control a terminal, change the writing
    direction or are invisible; line breaks and tabs stay, and lone surrogates become question marks."""
    text = redact(text)
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    lines = text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
    return "".join(character if character in "\n\t" else visible(character) for character in lines)


def visible(character: str) -> str:
    """The character, or U+FFFD where it would show nothing or turn the direction of what follows."""
    category = unicodedata.category(character)
    hidden = category in ("Cc", "Cs", "Co") or (category == "Cf" and character not in JOINERS)
    return "\ufffd" if hidden else character


class HarmlessRenderable:
    """A Rich renderable, each text of which is `harmless`: before it is laid out, since a line break may cut a secret,
    and once more when it is shown."""

    def __init__(self, renderable: Any) -> None:
        self.renderable = _lay_out(renderable)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment

        for segment in console.render(self.renderable, options.update(markup=False, highlight=False)):
            yield segment if segment.control else Segment(sanitise(segment.text), segment.style)


def _lay_out(part: Any) -> Any:
    """A text, panel, group or table with what is in it; it is changed in place."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    if isinstance(part, str):
        return sanitise(part)
    if isinstance(part, Text):
        if (plain := sanitise(part.plain)) != part.plain:
            part.plain = plain
    elif isinstance(part, Group):
        return Group(*map(_lay_out, part.renderables), fit=part.fit)
    elif isinstance(part, Panel):
        part.renderable, part.title, part.subtitle = map(_lay_out, (part.renderable, part.title, part.subtitle))
    elif isinstance(part, Table):
        part.title, part.caption = _lay_out(part.title), _lay_out(part.caption)
        for column in part.columns:
            column.header, column.footer = _lay_out(column.header), _lay_out(column.footer)
            column._cells = [_lay_out(cell) for cell in column._cells]
    return part


def console(*, stderr: bool = False) -> Console:
    """A console that interprets no markup in texts."""
    from rich.console import Console

    made = Console(stderr=stderr, soft_wrap=False, markup=False, emoji=False, highlight=False)
    made.on_broken_pipe = _nobody_reads  # type: ignore[method-assign]
    return made


def _nobody_reads() -> None:
    """`… | head` has read enough: what is shown goes nowhere from here on, and the run ends as it would."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def hold_back_results() -> Iterator[None]:
    """Suppresses results (`show`) meanwhile: the command prints a summary at its end. Notes and errors are printed."""
    token = _HELD_BACK.set(True)
    try:
        yield
    finally:
        _HELD_BACK.reset(token)


def show(*renderables: Any) -> None:
    """Rich renderables or plain text, on stdout. A Text with overflow="ignore" stays one line, to be copied."""
    if _HELD_BACK.get():
        return
    out = console()
    for renderable in renderables:
        unbroken = getattr(renderable, "overflow", None) == "ignore"
        out.print(
            sanitise(renderable) if isinstance(renderable, str) else HarmlessRenderable(renderable), soft_wrap=unbroken
        )


def write(text: str) -> None:
    """Write a line to stdout, not wrapped to the terminal, so that `file:line` can be searched for."""
    sys.stdout.write(sanitise(text))


def lines(*texts: str) -> None:
    """Like `write`, with the end of each line."""
    for text in texts:
        write(f"{text}\n")


def note(text: str) -> None:
    """On stderr, with the end of a line."""
    ask(f"{text}\n")


def show_note(text: str) -> None:
    """On stderr, wrapped to the width of the terminal."""
    console(stderr=True).print(sanitise(text))


def ask(text: str) -> None:
    """Write a question to stderr, without a line break: the answer is typed there."""
    sys.stderr.write(sanitise(text))
    sys.stderr.flush()


def fail(text: str) -> None:
    """On stderr, after `error: `."""
    note(f"error: {text}")
