from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.data import stored
from runner.data.corpus import build_corpus
from runner.data.documents import read_documents
from runner.data.identity import documents_fingerprint, documents_identity
from runner.data.problems import ProblemLog
from runner.data.stored import CorpusStore
from runner.errors import CorpusError, DataError
from runner.protocols import Chunker
from runner.records import Corpus
from runner.system.store import MANIFEST
from runner.text.chunking import Cutter
from runner.text.ordering import byte_ranks
from runner.text.passages import passages

CUTTER = Cutter(max_chars=30, min_chars=0, headings=True)
LINES = [
    {"id": "b", "title": "제목", "text": "# 하나\n본문 첫째. 둘째 문장은 여기에 있다. 셋째.\n## 둘\n끝", "lang": "ko"},
    {"_id": "a/é", "text": "one two", "year": 2024, "tags": ["x", None, 1.5]},
    {"id": "a", "title": "a title only", "text": ""},
    {"id": "", "text": "no id"},
    {"id": "b", "text": "again"},
    {"id": "a#x", "text": "no chunk"},
    {"id": "B", "titel": "?", "text": "\u0000 word " * 12},
]


def written(path: Path, lines: list[dict[str, object]]) -> str:
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return str(path)


def in_memory(*paths: str, chunker: Chunker = CUTTER) -> tuple[Corpus, list[str]]:
    log = ProblemLog()
    corpus = build_corpus(read_documents(paths, "dataset.corpus", log), chunker)
    return corpus, [*map(str, log.problems)]


def on_disk(root: Path, *paths: str, chunker: Chunker = CUTTER, **options: bool) -> tuple[Corpus, list[str]]:
    log = ProblemLog()
    corpus = CorpusStore(root, large_bytes=0, **options).read(paths, "dataset.corpus", log, chunker)  # type: ignore[arg-type]
    return corpus, [*map(str, log.problems)]


def folders(root: Path) -> list[Path]:
    return [path for path in (root / "corpora").iterdir() if path.is_dir()]


def assert_same(stored: Corpus, plain: Corpus) -> None:
    assert stored.shelf is not None and plain.shelf is None
    assert [*stored.documents] == [*plain.documents]
    assert [*stored.chunks] == [*plain.chunks]
    assert stored.fingerprint == plain.fingerprint
    assert documents_identity(stored) == documents_fingerprint(plain.documents)
    assert dict(stored.document_by_id) == dict(plain.document_by_id)
    assert dict(stored.chunk_by_id) == dict(plain.chunk_by_id)
    assert [*stored.ids] == [*plain.ids] and dict(stored.place_by_id) == dict(plain.place_by_id)
    assert byte_ranks(stored.ids).tolist() == byte_ranks(plain.ids).tolist()
    assert [*passages(stored)] == [*passages(plain)]
    asked = [
        *plain.ids,
        *plain.document_by_id,
        "none",
        "none#0",
        "b#99",
        "b#01",
        "b#",
        "#0",
        "b#٣",
        "",
        "b#" + "9" * 5000,
    ]
    assert stored.documents_of(asked) == plain.documents_of(asked)
    for id in asked:
        assert [*stored.chunks_of(id)] == [*plain.chunks_of(id)]
        assert (stored.text_of(id), stored.title_of(id)) == (plain.text_of(id), plain.title_of(id)), id
        assert (id in stored.chunk_by_id, id in stored.document_by_id) == (
            id in plain.chunk_by_id,
            id in plain.document_by_id,
        )


def test_a_corpus_on_disk_is_the_one_in_memory(tmp_path: Path) -> None:
    path, other = written(tmp_path / "one.jsonl", LINES), written(tmp_path / "two.jsonl", [{"id": "z", "text": "last"}])
    plain, wrong = in_memory(path, other)
    for _ in range(2):  # built, then opened
        corpus, problems = on_disk(tmp_path / "cache", path, other)
        assert_same(corpus, plain)
        assert problems == wrong != []
        pickled = pickle.dumps(corpus)
        assert b"text" not in pickled  # it says where the corpus is
        assert_same(pickle.loads(pickled), plain)
    assert_same(corpus, pickle.loads(pickle.dumps(plain)))


IDS = st.text(alphabet="a#0!가😀", min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(IDS, st.text(alphabet="ab .\n#가", max_size=60)), min_size=1, max_size=8))
def test_whatever_the_documents_are(tmp_path_factory: pytest.TempPathFactory, documents: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("stored")
    lines: list[dict[str, object]] = [{"id": id, "title": "t", "text": text} for id, text in documents]
    path = written(folder / "corpus.jsonl", lines)
    try:
        plain, _ = in_memory(path)
    except CorpusError:
        with pytest.raises(CorpusError, match="is also the id of a chunk of the document"):
            on_disk(folder, path)
        return
    corpus, _ = on_disk(folder, path)
    assert_same(corpus, plain)


def test_small_files_and_unknown_chunkers_stay_in_memory(tmp_path: Path) -> None:
    class Whole:
        def passages(self, text: str) -> list[object]:
            return []

    path = written(tmp_path / "corpus.jsonl", LINES)
    assert CorpusStore(tmp_path).read([path], "k", ProblemLog(), CUTTER).shelf is None
    assert CorpusStore(None, large_bytes=0).read([path], "k", ProblemLog(), CUTTER).shelf is None
    assert on_disk(tmp_path, path, chunker=Whole())[0].shelf is None  # type: ignore[arg-type]
    assert not (tmp_path / "corpora").exists()


def test_another_file_or_cutter_is_another_folder(tmp_path: Path) -> None:
    path = written(tmp_path / "corpus.jsonl", LINES)
    first, _ = on_disk(tmp_path, path)
    cut, _ = on_disk(tmp_path, path, chunker=Cutter(max_chars=20, min_chars=0))
    written(tmp_path / "corpus.jsonl", LINES[:2])
    changed, _ = on_disk(tmp_path, path)
    assert len({first.fingerprint, cut.fingerprint, changed.fingerprint}) == len(folders(tmp_path)) == 3


@pytest.mark.parametrize("name", ["documents.bin", "names.bin", "chunk_ranks.npy", "facts.json"])
def test_a_damaged_corpus_is_read_again(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "corpus.jsonl", LINES)
    plain, _ = in_memory(path)
    on_disk(tmp_path, path)
    file = folders(tmp_path)[0] / name
    file.write_bytes(file.read_bytes()[:-1])
    assert_same(on_disk(tmp_path, path)[0], plain)


def test_a_dry_run_stores_nothing_and_reads_what_is_there(tmp_path: Path) -> None:
    path = written(tmp_path / "corpus.jsonl", LINES)
    plain, wrong = in_memory(path)
    corpus, problems = on_disk(tmp_path / "cache", path, read_only=True)
    assert_same(corpus, plain)
    assert problems == wrong
    assert not (tmp_path / "cache").exists()
    on_disk(tmp_path / "cache", path)
    before = [each.stat().st_mtime_ns for each in folders(tmp_path / "cache")]
    assert_same(on_disk(tmp_path / "cache", path, read_only=True)[0], plain)
    assert [each.stat().st_mtime_ns for each in folders(tmp_path / "cache")] == before


def test_errors_of_the_files_are_the_same(tmp_path: Path) -> None:
    path = written(tmp_path / "corpus.jsonl", LINES)
    for store in (CorpusStore(None), CorpusStore(tmp_path, large_bytes=0), CorpusStore(tmp_path, large_bytes=0)):
        with pytest.raises(DataError, match=r"^2 errors in the data files"):
            store.read([path], "dataset.corpus", ProblemLog(strict=True), CUTTER)
    on_disk(tmp_path, path)  # stored by a run that is not strict
    with pytest.raises(DataError, match=r"^2 errors in the data files"):
        CorpusStore(tmp_path, large_bytes=0).read([path], "dataset.corpus", ProblemLog(strict=True), CUTTER)
    empty = written(tmp_path / "empty.jsonl", [{"id": "x"}])
    with pytest.raises(CorpusError, match=r"^k: no documents in .*empty.jsonl"):
        CorpusStore(tmp_path, large_bytes=0).read([empty], "k", ProblemLog(), CUTTER)
    assert len(folders(tmp_path)) == 1


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "corpus.jsonl", LINES)
    read = stored.documents_in

    def changing(*arguments: object) -> Iterator[object]:
        yield from read(*arguments)  # type: ignore[arg-type]
        written(Path(path), LINES[:1])

    monkeypatch.setattr(stored, "documents_in", changing)
    with pytest.raises(CorpusError, match="was changed while it was read"):
        on_disk(tmp_path, path)
    assert folders(tmp_path) == []


def killed(path: str, root: Path) -> None:
    class Killing:
        cutter = CUTTER

        def passages(self, text: str) -> object:
            if text == "one two":
                os.kill(os.getpid(), signal.SIGKILL)
            return CUTTER.passages(text)

    on_disk(root, path, chunker=Killing())  # type: ignore[arg-type]


def test_a_build_that_was_killed_leaves_nothing_that_is_opened(tmp_path: Path) -> None:
    path = written(tmp_path / "corpus.jsonl", LINES)
    process = multiprocessing.get_context("spawn").Process(target=killed, args=(path, tmp_path))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not any((folder / MANIFEST).exists() for folder in folders(tmp_path))
    assert_same(on_disk(tmp_path, path)[0], in_memory(path)[0])
