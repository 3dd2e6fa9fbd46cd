"""Files and folders that the configuration names and that are not there, or are something else."""

import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow
import pytest

from runner.data.files import missing_files, missing_folder, open_file, open_folder, read_text
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog
from runner.errors import ConfigError, CorpusError, DataError, Problem, RunnerError

needs_permissions = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


def message(call: Callable[..., object], path: Path | str, error: type[RunnerError] = DataError) -> str:
    with pytest.raises(error) as raised:
        call(str(path), "dataset.queries", error)
    return str(raised.value)


def test_a_missing_file_with_a_similar_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").touch()
    path = tmp_path / "querys.jsonl"
    assert message(open_file, path) == f"dataset.queries: file not found: {path}; did you mean 'queries.jsonl'?"


def test_a_missing_file_with_nothing_like_it(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").touch()
    (tmp_path / "outputs").mkdir()  # a folder is not what a file was meant to be
    for name in ("x.jsonl", "corpus.jsonl"):
        assert message(open_file, tmp_path / name) == f"dataset.queries: file not found: {tmp_path}/{name}"


def test_a_missing_folder_on_the_way(tmp_path: Path) -> None:
    path = tmp_path / "없는 폴더" / "x.jsonl"
    assert message(open_file, path) == f"dataset.queries: file not found: {path} (there is no folder {path.parent})"


def test_a_folder_where_a_file_is_expected(tmp_path: Path) -> None:
    assert message(open_file, tmp_path) == f"dataset.queries: expected a file, found a folder: {tmp_path}"


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    assert message(open_file, "a\0b") == "dataset.queries: cannot read a\0b: embedded null byte"
    name = "x" * 300
    assert message(open_file, name) == f"dataset.queries: cannot read {name}: File name too long"


def test_the_home_of_nobody() -> None:
    path = "~no-such-user/x.jsonl"
    assert message(open_file, path).startswith(f"dataset.queries: file not found: {path}")


@needs_permissions
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.touch(mode=0)
    assert message(open_file, path) == f"dataset.queries: cannot read {path}: Permission denied"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that opens and cannot be read")
def test_a_file_that_fails_while_it_is_read() -> None:
    expected = "dataset.queries: cannot read /proc/self/mem: Input/output error"
    assert message(read_text, "/proc/self/mem") == expected
    lines = partial(read_jsonl, log=ProblemLog())
    assert message(lambda path, key, error: list(lines(path, key, error=error)), "/proc/self/mem") == expected


def test_text_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes("\ufeff가\r\n나\r\n".encode())
    assert read_text(str(path), "dataset.qrels", DataError) == "가\n나\n"


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"abc\xb0")
    assert message(read_text, path) == f"dataset.queries: {path} is not UTF-8: byte 0xb0 at offset 3"


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").touch()
    assert open_folder(str(tmp_path / "notes"), "dataset.notes", CorpusError) == tmp_path / "notes"
    path = tmp_path / "note"
    near = "; did you mean 'notes'?"
    assert message(open_folder, path, CorpusError) == f"dataset.queries: folder not found: {path}{near}"
    path = tmp_path / "file"
    assert message(open_folder, path, CorpusError) == f"dataset.queries: expected a folder, found a file: {path}"


def test_what_is_missing_is_known_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "here.jsonl").write_bytes(b"\xff not read")
    here, gone = str(tmp_path / "here.jsonl"), str(tmp_path / "gone")
    (file,) = missing_files([here, gone], "dataset.corpus", CorpusError)
    assert file == Problem("dataset.corpus", f"file not found: {gone}", exit_code=2)
    assert missing_folder(str(tmp_path), "dataset.notes", CorpusError) == []
    (folder,) = missing_folder(here, "dataset.notes", CorpusError)
    assert folder.message == f"expected a folder, found a file: {here}"
    assert (ConfigError([folder, Problem("k", "wrong")]).exit_code, ConfigError([Problem("k", "wrong")]).exit_code) == (
        2,
        1,
    )


PACKING = {
    "gzip": gzip.compress,
    "zstd": lambda data: pyarrow.compress(data, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("kind", PACKING)
def test_packed_files_are_read_as_what_is_in_them(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.jsonl"
    lines = [b'{"n":%d}\n' % number for number in range(300_000)]
    path.write_bytes(PACKING[kind](b"".join(lines)))
    with open_file(str(path), "dataset.queries", DataError) as file:
        assert file.readline() == lines[0]
        file.seek(len(lines[0]) + len(lines[1]))
        assert file.readline() == lines[2]
        file.seek(0)
        assert file.read() == b"".join(lines)
    assert len(list(read_jsonl(str(path), "dataset.queries", ProblemLog(strict=True), DataError))) == 300_000


def test_several_frames_of_zstd_are_one_file_and_a_damaged_one_ends_it(tmp_path: Path) -> None:
    frames = [PACKING["zstd"](b'{"n":%d}\n' % number * 10_000) for number in range(3)]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(frames))
    assert read_text(str(path), "dataset.queries", DataError) == "".join(f'{{"n":{n}}}\n' * 10_000 for n in range(3))
    path.write_bytes(frames[0] + frames[1][:-9] + b"nine bytes" + frames[2])
    assert message(read_text, path) == f"dataset.queries: cannot read {path}: its zstd data are damaged or cut off"


@pytest.mark.parametrize("kind", PACKING)
def test_packed_files_that_are_cut_off(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(PACKING[kind](b'{"n":1}\n' * 1000)[:-5])
    expected = f"dataset.queries: cannot read {path}: its {kind} data are damaged or cut off"
    assert message(read_text, path) == expected
    with pytest.raises(DataError) as raised:
        list(read_jsonl(str(path), "dataset.queries", ProblemLog(), DataError))
    assert str(raised.value) == expected
