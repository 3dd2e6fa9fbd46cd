"""Configuration folders of users: adds them to Hydra's search path, and explains which of their files are invalid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from runner.config import arguments
from runner.config.choices import conf_folders, idle_points
from runner.config.frozen import CONF, FrozenConfig, check_file_size, files_of, read_mapping
from runner.errors import ConfigError, InputError
from runner.system import terminal
from runner.words.wording import LANGUAGES

FILES = ("*.yaml", "*/*.yaml")  # the files of a group and of its nested groups


def with_search_path(
    overrides: Sequence[str], config_folders: Sequence[str], frozen: FrozenConfig | None = None
) -> list[str]:
    """Add configuration folders to hydra.searchpath: that of the program after a frozen configuration, those named, and
    those of installed packages (entry points of the group `runner.conf`, each naming a package). Folders that the user
    put there stay."""
    places = [] if frozen is None else ["pkg://conf"]
    places += [f"file://{Path(folder).resolve()}" for folder in config_folders]
    places += [f"pkg://{package}" for _, package in conf_folders()]
    _note_idle_points(tuple(idle_points()))
    kept_overrides = []
    for override in overrides:
        parsed = arguments.parse(override)
        value = parsed.value()
        if parsed.key_or_group == "hydra.searchpath" and isinstance(value, list):
            for place in map(str, value):
                if not place.startswith("pkg://"):
                    check_size(place.removeprefix("file://"))
            places = [str(place) for place in value] + places
        else:
            kept_overrides.append(override)
    if not places:
        return kept_overrides
    return [*kept_overrides, "hydra.searchpath=[" + ",".join(arguments.single_quote(place) for place in places) + "]"]


@lru_cache(maxsize=1)
def _note_idle_points(values: tuple[str, ...]) -> None:
    """Say once which entry points offer nothing."""
    for value in values:
        terminal.note(LANGUAGES["en"]("progress.idle_entry_point", value=value))


def search_path(overrides: Sequence[str]) -> list[str]:
    """The overrides of hydra.searchpath."""
    return [override for override in overrides if override.startswith("hydra.searchpath=")]


@contextmanager
def composable(folders: Sequence[str]) -> Iterator[None]:
    """Enter it around composing. Hydra's error for an invalid file in one of the folders becomes an InputError that
    names the file; without folders the error is a bug and passes."""
    from yaml import YAMLError

    for folder in folders:
        check_size(folder)
    try:
        yield
    except ConfigError:  # such a file may be the reason
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


def check_size(folder: str) -> None:
    """Raises InputError for a folder with too many or too large files, before Hydra loads any."""
    for path in files_of(folder):
        with suppress(OSError, ValueError):
            check_file_size(path)


def _read(folders: Sequence[str]) -> None:
    """Read all files of known groups. Raises InputError for the first unreadable one."""
    groups = sorted(path.name for path in CONF.iterdir() if path.is_dir())
    for place in (Path(folder) / group for folder in folders for group in groups):
        for path in sorted(path for form in FILES for path in place.glob(form)):
            read_mapping(path)
