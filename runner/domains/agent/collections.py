"""The collections of a corpus, FAQ and guide, each with its own index."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.domains.agent.shelf import Collection
from runner.protocols import Retriever, Workspace
from runner.records import Corpus
from runner.system.store import fingerprint

FAQ, GUIDE = "faq", "guide"


def split(corpus: Corpus) -> Mapping[str, Corpus]:
    """The documents of each `doc_type`, where all documents are faq or guide and both occur; else {}, for a single
    collection."""
    kinds = {document.id: document.metadata.get("doc_type") for document in corpus.documents}
    if set(kinds.values()) != {FAQ, GUIDE}:
        return {}
    return {kind: _part(corpus, {id for id, each in kinds.items() if each == kind}, kind) for kind in (FAQ, GUIDE)}


def _part(corpus: Corpus, ids: set[str], kind: str) -> Corpus:
    return Corpus(
        [document for document in corpus.documents if document.id in ids],
        [chunk for chunk in corpus.chunks if chunk.document_id in ids],
        fingerprint([corpus.fingerprint, kind]),
    )


def index_parts(
    base: Retriever, parts: Mapping[str, Corpus], counts: Mapping[str, int], workspace: Workspace
) -> tuple[Sequence[Collection], dict[str, Any]]:
    """An indexed copy of `base` for each part, and the facts of each index. `base` itself must not be indexed yet."""
    collections, facts = [], {}
    for kind, part in parts.items():
        copied: dict[int, Any] = {}
        own = copy.deepcopy(base, copied)
        facts[kind] = {"n_documents": len(part.documents), **own.index(part, _Copies(workspace, copied))}
        collections.append(Collection(own, counts[kind]))
    return collections, facts


class _Copies:
    """A Workspace that treats copied components as their originals. `copied`: the memo of copy.deepcopy."""

    def __init__(self, workspace: Workspace, copied: Mapping[int, Any]) -> None:
        self._workspace = workspace
        originals = copied.get(id(copied), ())
        self._originals = {id(copied[id(each)]): each for each in originals if id(each) in copied}

    @property
    def root(self) -> Path:
        return self._workspace.root

    @property
    def stored_root(self) -> Path:
        return self._workspace.stored_root

    @property
    def cold(self) -> bool:
        return self._workspace.cold

    def identity(self, component: object) -> str:
        return self._workspace.identity(self._originals.get(id(component), component))

    def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        return self._workspace.folder(kind, key, build)
