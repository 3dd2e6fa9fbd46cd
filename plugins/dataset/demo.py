"""The documents and questions that come with the program, in Korean and English."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from runner.data.corpus import build_corpus
from runner.data.documents import read_documents
from runner.data.gold import check_gold
from runner.data.problems import ProblemLog
from runner.data.queries import read_queries
from runner.protocols import Chunker
from runner.records import DataSet, Document, Query
from runner.text.chunking import AT_HEADINGS

FOLDER = Path(__file__).parent / "demo_data"
LANGUAGES = ("ko", "en")


class DemoDataset:
    """`both` is one corpus with the documents of both languages, so questions meet both."""

    def __init__(
        self,
        *,
        language: Literal["both", "ko", "en"] = "both",
        chunker: Chunker = AT_HEADINGS,
        strict: bool = False,
    ) -> None:
        self.languages = LANGUAGES if language == "both" else (language,)
        self.chunker = chunker
        self.strict = strict

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        corpus = build_corpus([*_documents(*(_path(language, "corpus") for language in self.languages))], self.chunker)
        queries: list[Query] = []
        for language in self.languages:
            path = _path(language, "queries")
            queries += check_gold(_queries(path), corpus, path, log)
        return DataSet(corpus, tuple(queries), log.problems)


# The files come with the program, without a fault, and are the same as long as it runs.


@cache
def _documents(*paths: str) -> Sequence[Document]:
    return tuple(read_documents([*paths], "dataset", ProblemLog(strict=True)))


@cache
def _queries(path: str) -> Sequence[tuple[int, Query]]:
    return read_queries(path, "dataset", ProblemLog(strict=True))


def _path(language: str, name: str) -> str:
    return str(FOLDER / language / f"{name}.jsonl")
