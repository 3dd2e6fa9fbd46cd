"""Notes as documents, for tests of vaults."""

from __future__ import annotations

from collections.abc import Mapping

from runner.records import Document


def documents_of(texts: Mapping[str, str], **metadata: Mapping[str, object]) -> list[Document]:
    """Id -> text; the file name is the title, as of a note without a heading. `metadata` by title."""
    return [
        Document(id, text, title, metadata=metadata.get(title, {}))
        for id, text in texts.items()
        for title in [id.rpartition("/")[2].removesuffix(".md")]
    ]
