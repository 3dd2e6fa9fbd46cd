"""Commands: `python -m runner NAME …` calls `main` of the module NAME here; its first docstring line is its help."""

from __future__ import annotations

import argparse
from typing import NoReturn

from runner.errors import InputError


class Parser(argparse.ArgumentParser):
    """Wrong arguments are an InputError (exit code 1), not argparse's exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}\n{self.format_usage().strip()}")
