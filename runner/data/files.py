"""Opens the files and folders that the configuration names."""

from __future__ import annotations

import errno
import gzip
import io
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from runner.errors import Problem, RunnerError, similar

BUFFER_BYTES = 1 << 20
LINE_BYTES = 1 << 14
DEEPEST = 200  # nesting depth of lists and mappings
MOST_REPEATED = 100_000  # most values that aliases of a YAML file may expand to
ZSTD_BYTES = 1 << 12  # compressed bytes that are unpacked at once, to at most 128 MB
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PACKED = (".gz", ".zst", ".zstd")  # their file name suffixes


def open_file(path: str, key: str, error: type[RunnerError], buffering: int = BUFFER_BYTES) -> IO[bytes]:
    """Open a file for reading bytes; gzip and zstd are unpacked, whatever the name. Use buffering=LINE_BYTES to read
    single lines. Raises `error` with the configuration key for a path that is no readable file; reading damaged data
    raises OSError with the name of the file."""
    place = expand(path)
    try:
        return unpack(place.open("rb", buffering=buffering), path)
    except FileNotFoundError:
        raise error(f"{key}: file not found: {path}{_near_file(place)}") from None
    except IsADirectoryError:
        raise error(f"{key}: expected a file, found a folder: {path}") from None
    except (OSError, ValueError) as problem:
        raise error(f"{key}: cannot read {path}: {_reason(problem)}") from None


def unpack(file: IO[bytes], path: str | None = None) -> IO[bytes]:
    """The file, or its unpacked content. `path`: its name in errors."""
    try:
        start = file.peek(len(ZSTD)) if isinstance(file, io.BufferedReader) and file.seekable() else b""
    except OSError:
        file.close()
        raise
    kind = next((kind for kind in (GZIP, ZSTD) if start.startswith(kind)), None)
    return file if kind is None else io.BufferedReader(_UnpackingFile(file, kind, path), BUFFER_BYTES)


class _UnpackingFile(io.RawIOBase):
    """An unpacked file with `seek`, which unpacks from the start again."""

    def __init__(self, file: IO[bytes], kind: bytes, path: str | None) -> None:
        self._file, self._kind, self._path = file, kind, path
        self._begin()

    def _begin(self) -> None:
        self._file.seek(0)
        self._place = 0
        if self._kind == GZIP:
            self._source: Any = gzip.GzipFile(fileobj=self._file, mode="rb")
            return
        self._source = _Zstd(self._file)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._source.read(len(buffer))
        except (EOFError, OSError, zlib.error):
            name = "gzip" if self._kind == GZIP else "zstd"
            raise OSError(errno.EIO, f"its {name} data are damaged or cut off", self._path) from None
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = offset if whence == io.SEEK_SET else self._place + offset
        if whence == io.SEEK_END:
            raise io.UnsupportedOperation("from the end")
        if place < self._place:
            self._begin()
        while self._place < place and self.read(min(place - self._place, BUFFER_BYTES)):
            pass
        return self._place

    def tell(self) -> int:
        return self._place

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Zstd:
    """Reads consecutive zstd frames, and detects truncated files, which streaming libraries do not."""

    def __init__(self, file: IO[bytes]) -> None:
        from zstandard import ZstdDecompressor

        self._file, self._decompressor = file, ZstdDecompressor()
        self._frame: Any = None
        self._packed = self._plain = b""

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes; empty at the end. Raises OSError for damaged data."""
        from zstandard import ZstdError

        while not self._plain:
            packed = self._packed or self._file.read(ZSTD_BYTES)
            if not packed:
                if self._frame is not None:
                    raise EOFError
                return b""
            self._frame = self._frame or self._decompressor.decompressobj()
            try:
                self._plain = self._frame.decompress(packed)
            except ZstdError as error:
                raise OSError(str(error)) from None
            self._packed = self._frame.unused_data if self._frame.eof else b""
            self._frame = None if self._frame.eof else self._frame
        data, self._plain = self._plain[:size], self._plain[size:]
        return data


def missing_files(paths: Iterable[str], key: str, error: type[RunnerError]) -> list[Problem]:
    """The errors that `open_file` would raise, before anything is read."""
    return _problems(paths, key, error, lambda path: open_file(path, key, error).close())


def missing_folder(path: str, key: str, error: type[RunnerError]) -> list[Problem]:
    """The error that `open_folder` would raise."""
    return _problems([path], key, error, lambda path: open_folder(path, key, error))


def _problems(
    paths: Iterable[str], key: str, error: type[RunnerError], open_path: Callable[[str], object]
) -> list[Problem]:
    problems = []
    for path in paths:
        try:
            open_path(path)
        except error as found:
            problems.append(Problem(key, str(found).removeprefix(f"{key}: "), error.exit_code))
    return problems


def read_bytes(path: str, key: str, error: type[RunnerError]) -> bytes:
    """A whole file, unpacked."""
    with open_file(path, key, error) as file:
        try:
            return file.read()
        except OSError as problem:
            raise error(f"{key}: cannot read {path}: {problem.strerror}") from None


def read_text(path: str, key: str, error: type[RunnerError]) -> str:
    r"""A whole file as UTF-8, without its byte order mark, line ends as `\n`."""
    try:
        text = read_bytes(path, key, error).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        byte = problem.object[problem.start]
        raise error(f"{key}: {path} is not UTF-8: byte 0x{byte:02x} at offset {problem.start}") from None
    return text.replace("\r\n", "\n")


def parsed_yaml(
    text: str, path: str, key: str, error: type[RunnerError], load: Callable[[str], Any] | None = None
) -> Any:
    """The value of a YAML text, loaded by `load` (default: yaml.safe_load). Raises `error` with the configuration key
    for invalid YAML."""
    import yaml

    try:
        check_growth(text)
        value = (load or yaml.safe_load)(text)
        if is_deep(value):
            raise RecursionError
        return value
    except GrowthError as problem:
        raise error(f"{key}: {path}: {problem}") from None
    except yaml.YAMLError as problem:
        mark, what = getattr(problem, "problem_mark", None), getattr(problem, "problem", problem)
        if "nesting depth" in str(what):  # libyaml from 6.0.4 of PyYAML on; others raise RecursionError
            raise error(f"{key}: {path} is not YAML: nested too deeply") from None
        where = f":{mark.line + 1}" if mark is not None else ""
        raise error(f"{key}: {path}{where} is not YAML: {what}") from None
    except RecursionError:
        raise error(f"{key}: {path} is not YAML: nested too deeply") from None
    except ValueError as problem:  # an impossible date, or a number with thousands of digits
        raise error(f"{key}: {path} is not YAML: {problem}") from None


def is_deep(value: Any) -> bool:
    """Whether lists and mappings are nested DEEPEST deep, so that the value could not be written."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _values(outer) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _values(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class GrowthError(ValueError):
    """A YAML text whose aliases expand to too much. The message begins with the line."""


def check_growth(text: str) -> None:
    """Check a YAML text before it is loaded, since a few lines may expand to billions of values. Raises GrowthError
    where its aliases (`*name`) stand for more than MOST_REPEATED values, or where an alias is inside its own anchor.
    Invalid YAML shows when it is loaded."""
    import yaml

    if "&" in text and "*" in text:
        with suppress(yaml.YAMLError):
            _count(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def _count(events: Iterable[Any]) -> None:
    """Count values in one pass over the events of a parser, without building them."""
    import yaml

    size_of: dict[str, int] = {}
    unclosed: list[tuple[str | None, int]] = [(None, 0)]  # (anchor, values in it so far)
    repeated = 0
    for event in events:
        size = 1
        if isinstance(event, yaml.CollectionStartEvent):
            unclosed.append((event.anchor, 1))
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = unclosed.pop()
            size_of |= {anchor: size} if anchor else {}
        elif isinstance(event, yaml.AliasEvent):
            size = size_of.get(str(event.anchor), 1)
            repeated += size
            _check_alias(event, repeated, is_inside=any(anchor == event.anchor for anchor, _ in unclosed))
        elif isinstance(event, yaml.ScalarEvent) and event.anchor:
            size_of[event.anchor] = 1
        unclosed[-1] = unclosed[-1][0], unclosed[-1][1] + size


def _check_alias(alias: Any, repeated: int, *, is_inside: bool) -> None:
    where = f"line {alias.start_mark.line + 1}"
    if is_inside:
        raise GrowthError(f"{where}: *{alias.anchor} stands inside of what it names")
    if repeated > MOST_REPEATED:
        raise GrowthError(f"{where}: its aliases (*{alias.anchor} …) stand for more than {MOST_REPEATED:,} values")


def open_folder(path: str, key: str, error: type[RunnerError]) -> Path:
    """A readable folder. Raises `error` with the configuration key for another path."""
    place = expand(path)
    try:
        next(place.iterdir(), None)
    except FileNotFoundError:
        raise error(f"{key}: folder not found: {path}{_near_file(place)}") from None
    except NotADirectoryError:
        raise error(f"{key}: expected a folder, found a file: {path}") from None
    except (OSError, ValueError) as problem:
        raise error(f"{key}: cannot read {path}: {_reason(problem)}") from None
    return place


def expand(path: str) -> Path:
    """The path with `~` expanded; unchanged for an unknown user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _reason(problem: OSError | ValueError) -> str:
    return getattr(problem, "strerror", None) or str(problem)


def _near_file(place: Path) -> str:
    """`; did you mean 'x'?` for a similar name in the folder, or a note that the folder is missing, too."""
    try:
        siblings = sorted(sibling for sibling in place.parent.iterdir() if sibling.is_file() or not place.suffix)
        names = {sibling.stem: sibling.name for sibling in siblings}
    except FileNotFoundError:
        return f" (there is no folder {place.parent})"
    except OSError:
        return ""
    near = similar(place.stem, names)
    return f"; did you mean '{names[near]}'?" if near else ""
