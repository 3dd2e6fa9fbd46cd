"""The documents and questions that come with the program, in Korean and English."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from runner.data.corpus import build_corpus
from runner.data.documents import read_documents
from runner.data.gold import check_gold
from runner.data.problems import ProblemLog
from runner.data.queries import read_queries
from runner.protocols import Chunker
from runner.records import DataSet, Query
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
        corpora = [str(FOLDER / language / "corpus.jsonl") for language in self.languages]
        corpus = build_corpus(read_documents(corpora, "dataset", log), self.chunker)
        queries: list[Query] = []
        for language in self.languages:
            path = str(FOLDER / language / "queries.jsonl")
            queries += check_gold(read_queries(path, "dataset", log), corpus, path, log)
        return DataSet(corpus, tuple(queries), log.problems)
