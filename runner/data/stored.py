"""A corpus on disk: read from its files once, opened by every later run, and never held in memory.

documents.bin        JSON of each document with its passages, one after the other
documents_ends.npy   int64 [n_documents + 1]: where each begins; the last value is the end
first_chunks.npy     int64 [n_documents + 1]: the place of the first chunk of each; the last value is their number
chunk_ranks.npy      int32 [n_chunks]: the places of the chunk ids in ascending byte order
names*               the ids of the documents (runner.system.names)
facts.json           the fingerprint, the hash over ids, titles and texts, and what was wrong with the files
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import IO, Any, Generic, TypeVar
from weakref import finalize

import numpy as np
import orjson
from numpy.typing import NDArray

from runner.data.corpus import CorpusDigest, build_corpus, chunks_in, shared_id
from runner.data.documents import documents_in, read_documents
from runner.data.files import expand
from runner.data.identity import DocumentsDigest
from runner.data.problems import ProblemLog
from runner.errors import CorpusError
from runner.protocols import Chunker, attribute_of
from runner.records import Chunk, Corpus, DataProblem, Document
from runner.system.names import Names, Places, map_array, write_names
from runner.system.spool import Lazy
from runner.system.store import Store, file_digest
from runner.text.chunking import Cutter
from runner.text.ordering import byte_ranks

LARGE_BYTES = 16_000_000  # of corpus files, from which on they are read into a folder and not into memory
FACTS = "facts.json"
NUMBER = re.compile("0|[1-9][0-9]{0,9}")

T = TypeVar("T")


class CorpusStore:
    """Corpora of JSON Lines in `root`, those of large files. `cold`: nothing stored is read; `read_only`: nothing is
    stored beyond this process. Without `root`, and for a chunker whose settings are not known, all is held in memory.
    """

    def __init__(
        self, root: Path | None, *, cold: bool = False, read_only: bool = False, large_bytes: int = LARGE_BYTES
    ) -> None:
        self._root, self._is_cold, self._is_read_only, self._large = root, cold, read_only, large_bytes

    def read(self, paths: Sequence[str], key: str, log: ProblemLog, chunker: Chunker) -> Corpus:
        """The corpus of these files. Raises what `read_documents` and `build_corpus` raise, and CorpusError for a file
        that changes meanwhile."""
        cutter = chunker if isinstance(chunker, Cutter) else attribute_of(chunker, "cutter")
        files = [expand(path) for path in paths]
        is_large = bool(files) and all(file.is_file() for file in files)
        is_large = is_large and sum(file.stat().st_size for file in files) >= self._large
        if self._root is None or not is_large or not isinstance(cutter, Cutter):
            return build_corpus(read_documents(paths, key, log), chunker)
        before = [_state(file) for file in files]
        content = {"files": [file_digest(file) for file in files], "paths": list(paths), "cutter": astuple(cutter)}

        def build(folder: Path) -> None:
            own = ProblemLog(strict=log.strict)
            write_corpus(folder, documents_in(paths, key, own), chunker, own)
            changed = [path for path, file, state in zip(paths, files, before, strict=True) if _state(file) != state]
            if changed:
                raise CorpusError(f"{key}: {changed[0]} was changed while it was read; start again when it is whole")

        corpus, problems = self._open(Store(self._root, cold=self._is_cold), content, build)
        log.adopt(problems)
        log.stop_if_strict()
        return corpus

    def _open(self, store: Store, content: Mapping[str, Any], build: Callable[[Path], None]) -> Opened:
        if not self._is_read_only:
            return open_corpus(store.folder("corpora", content, build))
        if folder := store.find_folder("corpora", content, __name__):
            return open_corpus(folder)
        with tempfile.TemporaryDirectory() as scratch:  # its files are read also after they are deleted
            return open_corpus(Store(Path(scratch)).folder("corpora", content, build))


def _state(file: Path) -> tuple[int, int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


# --- writing ----------------------------------------------------------------------------------------


def write_corpus(folder: Path, documents: Iterable[Document], chunker: Chunker, log: ProblemLog) -> None:
    """Write a corpus whose documents are taken one at a time. `log`: collects their problems as they are taken. Raises
    CorpusError when a chunk would have the id of another document."""
    with tempfile.TemporaryFile(dir=folder) as passages, (folder / "documents.bin").open("wb") as file:
        writer = _Writer(file, passages, chunker)
        write_names(folder, map(writer.add, documents))
        np.save(folder / "documents_ends.npy", np.frombuffer(writer.ends, dtype=np.int64))
        np.save(folder / "first_chunks.npy", np.frombuffer(writer.first_chunks, dtype=np.int64))
        fingerprint = writer.finish()
    facts = {
        "fingerprint": fingerprint,
        "documents": writer.documents.hexdigest(),
        "problems": [asdict(problem) for problem in log.problems],
    }
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    shelf = StoredCorpus(folder)
    np.save(folder / "chunk_ranks.npy", byte_ranks([*shelf.ids]).astype(np.int32))
    if shared := shelf.shared_id():
        raise shared_id(*shared)


class _Writer:
    """Appends documents to a file. `passages`: a file for what the fingerprint says of them, after all documents."""

    def __init__(self, file: IO[bytes], passages: IO[bytes], chunker: Chunker) -> None:
        self.ends, self.first_chunks = array("q", [0]), array("q", [0])
        self.documents, self._corpus = DocumentsDigest(), CorpusDigest()
        self._file, self._passages, self._chunker = file, passages, chunker

    def add(self, document: Document) -> str:
        """Write a document with its passages; returns its id."""
        chunks = list(chunks_in(document, self._chunker.passages(document.text)))
        spans = [[chunk.start, chunk.end, *([chunk.headings] if chunk.headings else [])] for chunk in chunks]
        fields = document.id, document.text, document.title, document.language, document.metadata, document.line
        data = orjson.dumps([fields, spans])
        self._file.write(data)
        self.ends.append(self.ends[-1] + len(data))
        self.first_chunks.append(self.first_chunks[-1] + len(chunks))
        self._passages.writelines(map(CorpusDigest.of_chunk, chunks))
        self.documents.add(document)
        self._corpus.add(document)
        return document.id

    def finish(self) -> str:
        """The fingerprint of the corpus, after its last document."""
        self._passages.seek(0)
        while data := self._passages.read(1 << 20):
            self._corpus.update(data)
        return self._corpus.hexdigest()


# --- reading ----------------------------------------------------------------------------------------

Opened = tuple[Corpus, Sequence[DataProblem]]


def open_corpus(folder: Path) -> Opened:
    """The corpus that `write_corpus` wrote, and the problems of its files. The folder may be deleted meanwhile."""
    shelf = StoredCorpus(folder)
    return shelf.corpus(), [DataProblem(**problem) for problem in shelf.facts["problems"]]


class StoredCorpus:
    """Look-ups in a corpus on disk; a record is made when it is asked for. Threads may ask at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.facts: Mapping[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        self._firsts: NDArray[np.int64] = map_array(folder / "first_chunks.npy")
        self._ids = Names(folder)
        records = _Records(folder)
        self.documents, self.chunks = _Documents(records), _Chunks(records, self._firsts)
        ranks = folder / "chunk_ranks.npy"
        self.ids = ChunkIds(self._ids, self._firsts, map_array(ranks) if ranks.exists() else None)
        self._records = records
        self.place_by_id: Mapping[str, int] = Places(self.ids, self.ids.place)
        self.chunk_by_id: Mapping[str, Chunk] = _ById(self.place_by_id, self.chunks)
        self.document_by_id: Mapping[str, Document] = _ById(Places(self._ids, self._document_place), self.documents)

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredCorpus, (self._folder,)

    def corpus(self) -> Corpus:
        """The corpus that the look-ups are in."""
        return Corpus(self.documents, self.chunks, self.facts["fingerprint"], self)

    @property
    def documents_fingerprint(self) -> str:
        """runner.data.identity.documents_fingerprint of the documents."""
        return str(self.facts["documents"])

    def documents_of(self, ids: Sequence[str]) -> list[str]:
        """The documents of chunks; an id that is of no chunk stands for itself."""
        return [id if self.ids.place(id) is None else id.rpartition("#")[0] for id in ids]

    def chunks_of(self, document_id: str) -> Sequence[Chunk]:
        """The chunks of a document in their order; none for an unknown one."""
        place = self._document_place(document_id)
        return () if place is None else self.chunks[slice(*self._firsts[place : place + 2].tolist())]

    def shared_id(self) -> tuple[str, str] | None:
        """A document id that a chunk has too, and the document of the chunk."""
        shared = (id for id in self._ids if "#" in id and self.ids.place(id) is not None)
        return next(((id, id.rpartition("#")[0]) for id in shared), None)

    def _document_place(self, id: str) -> int | None:
        place, record = self._records.latest
        return place if record and record[0][0] == id else self._ids.place(id)


class _Records:
    """The stored parts of each document: its values, and its passages. The last one read is kept."""

    def __init__(self, folder: Path) -> None:
        self._ends: NDArray[np.int64] = map_array(folder / "documents_ends.npy")
        self._file = (folder / "documents.bin").open("rb")
        finalize(self, self._file.close)
        self.latest: tuple[int, list[Any]] = -1, []

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> list[Any]:
        known, record = self.latest
        if known != place:
            begin, end = self._ends[place : place + 2].tolist()
            record = orjson.loads(os.pread(self._file.fileno(), end - begin, begin))
            self.latest = place, record
        return record


class _Documents(Lazy[Document]):
    def __init__(self, records: _Records) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def record(self, place: int) -> Document:
        id, text, title, language, metadata, line = self._records[place][0]
        return Document(id, text, title, language, metadata, line)


class _Chunks(Lazy[Chunk]):
    def __init__(self, records: _Records, firsts: NDArray[np.int64]) -> None:
        self._records, self._firsts = records, firsts

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def record(self, place: int) -> Chunk:
        document = int(self._firsts.searchsorted(place, side="right")) - 1
        number = place - int(self._firsts[document])
        (id, text, *_), passages = self._records[document]
        start, end, *headings = passages[number]
        return Chunk(f"{id}#{number}", id, text[start:end], start, end, *map(tuple, headings))


class ChunkIds(Lazy[str]):
    """The ids of all chunks, `{document id}#{n}`, of which those of the documents are stored. `ranks`: int32, the place
    of each in ascending byte order."""

    def __init__(self, documents: Names, firsts: NDArray[np.int64], ranks: NDArray[np.int32] | None) -> None:
        self._documents, self._firsts, self._ranks = documents, firsts, ranks

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def record(self, place: int) -> str:
        document = int(self._firsts.searchsorted(place, side="right")) - 1
        return f"{self._documents[document]}#{place - int(self._firsts[document])}"

    @property
    def ranks(self) -> NDArray[np.int32] | None:
        return self._ranks

    def place(self, id: str) -> int | None:
        """The place of a chunk; None for an unknown id."""
        document_id, _, number = id.rpartition("#")
        if not NUMBER.fullmatch(number):
            return None
        document = self._documents.place(document_id)
        if document is None:
            return None
        first, last = self._firsts[document : document + 2].tolist()
        return first + int(number) if int(number) < last - first else None


class _ById(Mapping[str, T], Generic[T]):
    """Records by their ids, in the order of the corpus."""

    def __init__(self, places: Mapping[str, int], records: Sequence[T]) -> None:
        self._places, self._records = places, records

    def __getitem__(self, id: str) -> T:
        return self._records[self._places[id]]

    def __contains__(self, id: object) -> bool:
        return id in self._places

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)
