"""Small corpora and a workspace for tests of retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from runner.records import Chunk, Corpus, Document, Query
from runner.system.store import Store, fingerprint


def corpus_of(texts: Mapping[str, str | Sequence[str]], titles: Mapping[str, str] | None = None) -> Corpus:
    """Document id -> its text (one chunk), or the texts of its chunks."""
    documents, chunks = [], []
    for id, parts in texts.items():
        parts = [parts] if isinstance(parts, str) else parts
        documents.append(Document(id, "".join(parts), (titles or {}).get(id, "")))
        start = 0
        for n, part in enumerate(parts):
            chunks.append(Chunk(f"{id}#{n}", id, part, start, start + len(part)))
            start += len(part)
    print_of = fingerprint([[c.id, c.text] for c in chunks] + [[d.id, d.title] for d in documents])
    return Corpus(documents, chunks, print_of)


def question(text: str, id: str = "q", relevant: Iterable[str] = ()) -> Query:
    return Query(id, text, answerable=True, relevance=dict.fromkeys(relevant, 1))


def workspace(root: Path, *components: object, cold: bool = False) -> Store:
    """A new process, as far as the store knows: what is on disk is checked before it is read."""
    parts = [getattr(component, name, component) for component in components for name in ("tokenizer", "embedder")]
    identities = {id(part): f"{type(part).__name__} {_settings(part)}" for part in (*components, *parts)}
    return Store(root, identities, cold=cold)


def _settings(value: object) -> str:
    if isinstance(value, dict):
        return repr(
            sorted((str(name), _settings(item)) for name, item in value.items() if not str(name).startswith("_"))
        )
    return _settings(vars(value)) + type(value).__name__ if hasattr(value, "__dict__") else repr(value)
