"""Data sets that were uploaded: a folder each below the root, with the words by which a run reads them.

Whatever the data groups and `import` read can be uploaded; the command line itself checks it (dry_run=true)."""

from __future__ import annotations

import io
import lzma
import os
import re
import shlex
import stat
import uuid
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from runner.commands.serve.jobs import CommandResult, error_in, remove_folder, run_command
from runner.commands.serve.runs import confine
from runner.config.arguments import single_quote
from runner.data.columns import FIELDS
from runner.data.files import GZIP, PACKED, ZSTD, unpack
from runner.data.tables import SUFFIXES
from runner.errors import InputError, did_you_mean
from runner.system.folder import lines
from runner.system.metadata import now, read_json, write_json
from runner.system.writing import replacing

FILE = "dataset.json"
ID = re.compile(r"[0-9a-f]{32}")
BLOCK = 1 << 20
CHECK_S = 180.0
FREELY_PACKED, MAX_RATIO = 8 << 20, 200  # bytes of a file; unpacked to packed, which no real text or sheet reaches
MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
# address space of the process that reads an upload: a small file may expand to any number of rows
CHECK_BYTES = max(2 << 30, min(8 << 30, MEMORY // 4))
CASES = re.compile(r": (\d[\d,]*) of (\d[\d,]*) cases would run")
TABLES = tuple(end for end, kind in SUFFIXES.items() if kind != "jsonl")
EXCEL = tuple(end for end, kind in SUFFIXES.items() if kind == "xlsx")
# Damaged, with a password, or packed in a way that is not known
UNPACKING = (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class Form:
    """A format: which parts it has (part -> setting of the data group), and what it is checked as."""

    parts: Mapping[str, str]
    required: tuple[str, ...]
    evaluation: str = "retrieval_only"


FORMS: Mapping[str, Form] = {
    "jsonl": Form({"corpus": "corpus", "queries": "queries"}, ("queries",)),
    "csv": Form({"corpus": "corpus", "queries": "queries"}, ("queries",)),
    "squad": Form({"queries": "path"}, ("queries",)),
    "trec": Form({"corpus": "corpus", "queries": "topics", "qrels": "qrels"}, ("corpus", "queries", "qrels")),
    "beir": Form({"corpus": "", "queries": "", "qrels": ""}, ("corpus", "queries", "qrels")),
    "vault": Form({"notes": "notes", "queries": "queries"}, ("notes", "queries")),
    "links": Form({"notes": "notes", "queries": "links", "events": "events"}, ("notes",), "links"),
    "traces": Form({"queries": "traces"}, ("queries",), "trace_quality"),
    "faq_guide": Form({"corpus": "faq", "guide": "guide", "queries": "queries"}, ("corpus", "guide", "queries")),
}
PARTS = ("corpus", "queries", "qrels", "notes", "events", "guide")
FOLDERS = ("notes",)


@dataclass(frozen=True)
class Dataset:
    """`words`: of the command line. `cases`: how many a run has; `problems`: what is left out of it, and why."""

    id: str
    name: str
    format: str
    words: list[str]
    cases: int | None = None
    files: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    built_in: bool = False
    created_at: str | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one upload: bytes of its files together, archives unpacked; rows of a file."""

    n_bytes: int = 512 * 1024 * 1024
    n_rows: int = 2_000_000
    n_files: int = 20_000


class TooLargeError(InputError):
    """More than an upload may have."""


@dataclass
class Part:
    """A file of an upload."""

    name: str
    file: IO[bytes]


class Datasets:
    """The data sets of one root."""

    def __init__(self, root: Path, built_in: Mapping[str, tuple[str, str]], bounds: Bounds) -> None:
        self.root, self.folder = root, root.resolve() / ".serve" / "datasets"
        self.built_in, self.bounds = built_in, bounds

    def all(self) -> list[Dataset]:
        """The data sets of the configuration, then uploaded ones, newest first."""
        own = [dataset for path in self.folder.glob(f"*/{FILE}") if (dataset := self._read(path))]
        own.sort(key=lambda each: (each.created_at or "", each.id), reverse=True)
        return [*map(self._built_in_dataset, self.built_in), *own]

    def get(self, id: str) -> Dataset | None:
        """A data set of the configuration or an uploaded one; None for an unknown id."""
        if id in self.built_in:
            return self._built_in_dataset(id)
        return self._read(self.folder / id / FILE) if ID.fullmatch(id) else None

    def delete(self, dataset: Dataset) -> None:
        """An uploaded one, with its files."""
        remove_folder(self.folder / dataset.id, self.root)

    def _built_in_dataset(self, id: str) -> Dataset:
        group, choice = self.built_in[id]
        return Dataset(id, choice, group, [f"{group}={choice}"], built_in=True)

    def _read(self, path: Path) -> Dataset | None:
        value = read_json(path)
        try:
            return Dataset(**value) if value else None
        except TypeError:
            return None

    # --- uploads ----------------------------------------------------------------------------------

    def add(
        self, name: str, format: str | None, parts: Mapping[str, Sequence[Part]], columns: Mapping[str, str]
    ) -> Dataset:
        """Raises InputError with what the command line says of files that it cannot read; then nothing is kept."""
        form = format or guess_format(parts)
        _demand_form(form, parts)
        dataset = Dataset(uuid.uuid4().hex, name, form, [], created_at=now())
        folder = confine(self.folder / dataset.id)
        folder.mkdir(parents=True)
        try:
            writer = _Writer(self.bounds)
            paths = {part: writer.part(folder / part, form, part, files) for part, files in parts.items() if files}
            sizes = {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*") if p.is_file()}
            dataset = replace(
                dataset, words=words_of(form, folder, paths, columns), files=dict(list(sizes.items())[:50])
            )
            dataset = check_dataset(dataset, FORMS[form].evaluation)
            dataset = replace(dataset, problems=[_without_folder(line, folder) for line in dataset.problems])
            write_json(folder / FILE, asdict(dataset))
        except BaseException as error:
            remove_folder(folder, self.root)
            if isinstance(error, InputError) and not isinstance(error, TooLargeError):
                raise InputError(_without_folder(str(error), folder)) from None
            raise
        return dataset


def _without_folder(message: str, folder: Path) -> str:
    """The message with the names of the sent files: the folder of the server means nothing to clients."""
    return message.replace(f"{folder.absolute()}{os.sep}", "")


@dataclass
class _Writer:
    """Writes the files of one upload. Files in gzip or zstd are written unpacked, so that their content counts."""

    bounds: Bounds
    n_bytes: int = 0

    def part(self, place: Path, form: str, part: str, files: Sequence[Part]) -> list[Path]:
        """The files of a part, in a folder of its own."""
        place.mkdir()
        paths: list[Path] = []
        for number, upload in enumerate(files):
            if zipfile.is_zipfile(upload.file) and not upload.name.lower().endswith(EXCEL):
                paths += self._unzip(place, part, upload)
                continue
            upload.file.seek(0)
            name = _inner_name(upload.name) if part in FOLDERS else _file_name(form, part, upload.name, number)
            paths.append(self._write(place / name, part, upload.file))
        return paths

    def _unzip(self, place: Path, part: str, upload: Part) -> list[Path]:
        """Files of an archive, with names that stay in the folder."""
        paths = []
        with _archive(upload.name, upload.file) as archive:
            for entry in self._entries(upload.name, archive):
                if stat.S_ISLNK(entry.external_attr >> 16):
                    raise InputError(f"{entry.filename}: a link; expected files")
                with archive.open(entry) as source:
                    paths.append(self._write(place / _inner_name(entry.filename), part, source))
        return paths

    def _entries(self, name: str, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        """The files of an archive, none larger than its header states. Raises TooLargeError."""
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(entries) > self.bounds.n_files:
            raise TooLargeError(f"{name[:80]}: it holds more than {self.bounds.n_files:,} files")
        if sum(entry.file_size for entry in entries) > self.bounds.n_bytes:
            raise TooLargeError(f"{name[:80]}: it holds more than {self.bounds.n_bytes:,} bytes")
        for entry in entries:
            if entry.file_size > FREELY_PACKED and entry.file_size > MAX_RATIO * entry.compress_size:
                raise TooLargeError(f"{name[:80]}: {entry.filename[:80]} is packed more than {MAX_RATIO} to 1")
        return entries

    def _write(self, path: Path, part: str, source: IO[bytes]) -> Path:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"{path.parent.name[:80]}: the name of a file and of a folder") from None
        if path.is_dir():
            raise InputError(f"{path.name[:80]}: the name of a file and of a folder")
        n_rows = 0
        with replacing(path, redacts=False) as scratch, scratch.open("wb") as file:
            for block in _blocks(path.name, source, is_unpacked=part not in FOLDERS):
                if not file.tell() and block.startswith((GZIP, ZSTD)):  # readers would unpack it, past all bounds
                    raise InputError(f"{path.name}: packed in what is packed, or a packed note; expected plain files")
                self.n_bytes += len(block)
                n_rows += block.count(b"\n")
                if self.n_bytes > self.bounds.n_bytes:
                    raise TooLargeError(f"{path.name}: more than {self.bounds.n_bytes:,} bytes")
                if n_rows > self.bounds.n_rows:
                    raise TooLargeError(f"{path.name}: more than {self.bounds.n_rows:,} rows")
                file.write(block)
        if part not in FOLDERS and zipfile.is_zipfile(path):  # a workbook
            with _archive(path.name, path) as workbook:
                self._entries(path.name, workbook)
        return path


@contextmanager
def _archive(name: str, file: Path | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Raises InputError for what is damaged in it."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except UNPACKING as error:
        raise InputError(f"{name[:80]}: cannot be unpacked: {error}") from None


def _blocks(name: str, source: IO[bytes], *, is_unpacked: bool) -> Iterator[bytes]:
    """The blocks of a sent file. Raises InputError for a damaged one."""
    content = unpack(io.BufferedReader(source)) if is_unpacked else source  # type: ignore[type-var]
    try:
        yield from iter(lambda: content.read(BLOCK), b"")
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None


def guess_format(parts: Mapping[str, Sequence[Part]]) -> str:
    """The format, by the parts that were sent and the name of the queries."""
    names = [part.name.lower() for part in parts.get("queries") or ()]
    plain = [_without_packing(name) for name in names]
    if parts.get("qrels"):
        return "beir" if plain and plain[0].endswith(".jsonl") else "trec"
    if parts.get("notes"):
        return "links" if parts.get("events") or not names else "vault"
    if parts.get("guide"):
        return "faq_guide"
    return "csv" if plain and plain[0].endswith(TABLES) else "jsonl"


def _without_packing(name: str) -> str:
    """A file name without the ending of a compressed file."""
    return next((name.removesuffix(end) for end in PACKED if name.endswith(end)), name)


def _demand_form(form: str, parts: Mapping[str, Sequence[Part]]) -> None:
    if form not in FORMS:
        raise InputError(f"format: no format '{form[:80]}'{did_you_mean(form, FORMS)}")
    has = [part for part in PARTS if parts.get(part)]
    if missing := [part for part in FORMS[form].required if part not in has]:
        raise InputError(f"{missing[0]}: no file; format {form} needs {', '.join(FORMS[form].required)}")
    if extra := [part for part in has if part not in FORMS[form].parts]:
        raise InputError(f"{extra[0]}: format {form} takes {', '.join(FORMS[form].parts)}")


def _file_name(form: str, part: str, name: str, number: int) -> str:
    """A file name of this program, with the ending by which readers recognise the format."""
    ends = [end.lower() for end in PurePosixPath(name.replace("\\", "/")).suffixes[-2:]]
    known = [end for end in ends if end in (*SUFFIXES, ".txt", ".md", ".qrels", ".xml")]
    fallback = {"csv": ".csv", "squad": ".json", "trec": ".txt", "beir": ".tsv" if part == "qrels" else ".jsonl"}
    return f"{part}{number or ''}{''.join(known) or fallback.get(form, '.jsonl')}"


def _inner_name(name: str) -> str:
    """A path that stays below its folder. Raises InputError for any other."""
    pure = PurePosixPath(name.replace("\\", "/"))
    parts = [part for part in pure.parts if part not in ("", ".")]
    is_bad = pure.is_absolute() or not parts or any(part == ".." or ":" in part or "\0" in part for part in parts)
    if is_bad or any(len(part.encode("utf-8", "replace")) > 250 for part in parts) or len(parts) > 20:
        raise InputError(f"{name[:80]!r}: expected the name of a file below the folder")
    return "/".join(part.lstrip(".") or "_" for part in parts)


# --- words of a run ---------------------------------------------------------------------------------


def words_of(form: str, folder: Path, files: Mapping[str, Sequence[Path]], columns: Mapping[str, str]) -> list[str]:
    """The overrides with which a run reads the files of a data set."""
    if form == "beir":
        return ["dataset=beir", f"dataset.path={_quote(_as_beir(folder, files))}"]
    if form == "csv" and "corpus" not in files:
        return _import(folder, files["queries"][0], columns)
    words = [f"dataset={form}"]
    for part, setting in FORMS[form].parts.items():
        if part in FOLDERS and part in files:
            words.append(f"dataset.{setting}={_quote(folder / part)}")
        elif part in files:
            words.append(f"dataset.{setting}={_names_of(files[part])}")
    if form == "jsonl" and "corpus" not in files:
        words += ["dataset.corpus=null", *_given_overrides(files["queries"][0])]
    if form == "csv":
        words += [f"dataset.columns.{_column(field)}={single_quote(name)}" for field, name in columns.items()]
    return words


def _column(field: str) -> str:
    if field not in FIELDS:
        raise InputError(f"columns: no field '{field[:80]}'{did_you_mean(field, FIELDS)}")
    return field


def _quote(path: Path) -> str:
    return single_quote(str(path.absolute()))


def _names_of(paths: Sequence[Path]) -> str:
    return _quote(paths[0]) if len(paths) == 1 else f"[{','.join(map(_quote, paths))}]"


def _as_beir(folder: Path, paths: Mapping[str, Sequence[Path]]) -> Path:
    """Link the files under the names of the BEIR format."""
    place = folder / "beir"
    (place / "qrels").mkdir(parents=True)
    for part, name in (("corpus", "corpus"), ("queries", "queries"), ("qrels", "qrels/test")):
        os.link(paths[part][0], place / f"{name}{'.tsv' if part == 'qrels' else '.jsonl'}")
    return place


def _import(folder: Path, path: Path, columns: Mapping[str, str]) -> list[str]:
    """Convert by `import`, whose last line has the overrides for what it wrote."""
    named = [word for field, name in columns.items() for word in (f"--{_column(field).replace('_', '-')}", name)]
    out = folder / "queries.jsonl"
    words = _demand(run_command(["import", str(path), "--out", str(out), *named], CHECK_S, CHECK_BYTES)).out
    line = words.strip().splitlines()[-1]
    components = [word for word in shlex.split(line) if word.startswith(("retriever=", "generator="))]
    return ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={_quote(out)}", *components]


def _given_overrides(queries: Path) -> list[str]:
    """The overrides for queries without a corpus, which hold the rankings, and maybe the answers, of another system."""
    first: Mapping[str, Any] = next(iter(lines(queries)), {})
    return ["retriever=given", *(["generator=given"] if first.get("answer") is not None else [])]


def check_dataset(dataset: Dataset, evaluation: str) -> Dataset:
    """Check a data set as a run would read it."""
    evaluation = "full_rag" if any(word.startswith("generator=") for word in dataset.words) else evaluation
    words = [f"+experiment={evaluation}", *dataset.words, "tracking=none", "dry_run=true"]
    command = run_command(words, CHECK_S, CHECK_BYTES)
    counts = CASES.search(command.out)
    if counts is None:
        raise InputError(error_in(command.error))
    problems = [line for line in command.out.splitlines() if line.startswith(("error: ", "warning: "))]
    return replace(dataset, cases=int(counts[2].replace(",", "")), problems=problems[:100])


def _demand(command: CommandResult) -> CommandResult:
    if command.code:
        raise InputError(error_in(command.error))
    return command
