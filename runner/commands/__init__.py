"""Commands: `python -m runner NAME …` calls `main` of the module NAME here; its first docstring line is its help."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from runner.errors import InputError


class Parser(argparse.ArgumentParser):
    """Wrong arguments are an InputError (exit code 1), not argparse's exit code 2."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        for word in args or ():
            if word.startswith("--") and word.endswith("=--"):  # argparse would give an empty list
                self.error(f"argument {word.partition('=')[0]}: expected a value, found '--'")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}\n{self.format_usage().strip()}")


def seed(text: str) -> int:
    """As the type of an option."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 2**32):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 4294967295, found '{text[:80]}'")
    return int(text)
