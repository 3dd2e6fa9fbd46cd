"""Folders of configuration that somebody wrote: which of their files Hydra cannot make anything of, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from runner.errors import ConfigError, InputError
from runner.frozen import CONF, read_mapping

FILES = ("*.yaml", "*/*.yaml")  # of a group, and of groups in it


@contextmanager
def composable(folders: Sequence[str]) -> Iterator[None]:
    """Around composing. What Hydra raises for a file that is no YAML, or none that it knows, is an InputError that
    names the file; without such folders it is a bug and passes."""
    from yaml import YAMLError

    try:
        yield
    except ConfigError:  # which may be because of such a file
        _read(folders)
        raise
    except (
        ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError,
        YAMLError,
    ) as error:  # fmt: skip
        if not folders:
            raise
        _read(folders)
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(
            f"--config-dir: the files of {', '.join(folders)} cannot be composed ({what}); those of the program, "
            "in conf/, show the form"
        ) from None


def _read(folders: Sequence[str]) -> None:
    """All files of groups that the program has. Raises InputError for the first that cannot be read."""
    groups = sorted(path.name for path in CONF.iterdir() if path.is_dir())
    for place in (Path(folder) / group for folder in folders for group in groups):
        for path in sorted(path for form in FILES for path in place.glob(form)):
            read_mapping(path)
