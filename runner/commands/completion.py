"""Print the script with which a shell completes commands, groups, choices, settings and run folders."""

from __future__ import annotations

from collections.abc import Sequence

from runner.commands import Command, Place, one_of
from runner.config.completion import SCRIPTS
from runner.system import terminal

COMMAND = Command("completion", (Place("shell", one_of(*SCRIPTS)),))


def main(argv: Sequence[str]) -> int:
    """Print the completion script of a shell."""
    terminal.write(SCRIPTS[COMMAND.read(argv).shell])
    return 0
