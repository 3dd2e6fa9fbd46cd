"""Filters of a search: candidates are the chunks of documents that have certain values.

A document has facets: `name=value` for its language and for each plain value in its metadata, or each of a list of
them. Stores keep the facets of a chunk beside its vector, so that a filter is a condition on one list in each of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.errors import InputError, did_you_mean
from runner.records import Corpus, Document

Value = str | int | float | bool
Filter = Mapping[str, Value | Annotated[list[Value], Field(min_length=1)]]
Where = Sequence[Sequence[str]]  # of each of these, a chunk has at least one facet; empty: every chunk
LONGEST = 200  # characters of a value; longer ones are texts, not facets


def where_of(filter: Filter | None) -> Where:
    """The facets that a filter asks for."""
    return tuple(
        tuple([_facet(name, value) for value in (values if isinstance(values, list) else [values])])
        for name, values in sorted((filter or {}).items())
    )


def facets_of(document: Document) -> tuple[str, ...]:
    """Sorted, each once."""
    values = {"language": document.language, **document.metadata}
    return tuple(sorted({_facet(name, value) for name, own in values.items() for value in _plain_facets(own)}))


def facets_of_chunks(corpus: Corpus) -> list[tuple[str, ...]]:
    """The facets of each chunk, which are those of its document."""
    same_facets: dict[tuple[str, ...], tuple[str, ...]] = {}  # most documents have those of others
    by_document = {}
    for document in corpus.documents:
        facets = facets_of(document)
        by_document[document.id] = same_facets.setdefault(facets, facets)
    return [by_document[id] for id in corpus.documents_of(corpus.ids)]


def passing_mask(facets: Sequence[Sequence[str]], where: Where, setting: str) -> NDArray[np.bool_]:
    """The mask of chunks that pass a filter, bool [n_chunks]. Raises InputError where none does."""
    passes = np.array([all(any(one in own for one in group) for group in where) for own in facets], dtype=bool)
    if not passes.any():
        raise InputError(f"{setting}: {_why_none(facets, where)}")
    return passes


def _why_none(facets: Sequence[Sequence[str]], where: Where) -> str:
    values = {facet for own in facets for facet in own}
    names = sorted({facet.partition("=")[0] for facet in values})
    for group in where:
        name = group[0].partition("=")[0]
        if name not in names:
            return f"no document has a value of '{name}'{did_you_mean(name, names)}"
        if values.isdisjoint(group):
            there = sorted(facet.partition("=")[2] for facet in values if facet.partition("=")[0] == name)
            return f"no document has {' or '.join(group)}{did_you_mean(group[0].partition('=')[2], there)}"
    return "no document has all of these values"


def _facet(name: str, value: Value) -> str:
    plain = str(value).lower() if isinstance(value, bool) else str(value)
    return unicodedata.normalize("NFC", f"{name}={plain}")


def _plain_facets(value: Any) -> Iterator[Value]:
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(each, str | int | float) and len(str(each)) <= LONGEST:
            yield each
