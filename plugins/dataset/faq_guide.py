"""Two collections in one corpus: short answers (FAQ) and guides with sections and steps, tagged by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runner.data.corpus import build_corpus
from runner.data.documents import read_documents
from runner.data.files import missing_files
from runner.data.gold import check_gold
from runner.data.problems import ProblemLog
from runner.data.queries import read_queries
from runner.domains.agent.collections import FAQ, GUIDE
from runner.domains.agent.tags import guide_type, has_steps
from runner.errors import CorpusError, DataError, Problem
from runner.protocols import Chunker
from runner.records import DataSet, Document, Query
from runner.text.chunking import Cutter

FOLDER = Path(__file__).parent / "faq_guide_data"
LANGUAGES = ("ko", "en")
STEPS = Cutter(headings=True, min_chars=60)  # sections of guides are short, and each is a step of its own

Files = str | list[str] | None


class FaqGuideDataset:
    """An FAQ and guides; without files, those that come with the program, in Korean and English. Documents get the tags
    `doc_type` (faq or guide, by their file), `has_steps` and, guides, `guide_type` (how_to, troubleshooting, reference,
    concept), where they do not bring the last two; their chunks are tagged on (runner.domains.agent.tags)."""

    def __init__(
        self,
        *,
        faq: Files = None,
        guide: Files = None,
        queries: Files = None,
        chunker: Chunker = STEPS,
        strict: bool = False,
    ) -> None:
        self.paths = {"faq": _as_list(faq), "guide": _as_list(guide), "queries": _as_list(queries)}
        self.chunker = chunker
        self.strict = strict

    def preflight(self) -> list[Problem]:
        """Documents alone, without queries, will do for `chat` and `embed`."""
        absent = [name for name, paths in self.paths.items() if not paths]
        if 0 < len(absent) < len(self.paths) and absent != ["queries"]:
            told = "give faq, guide and queries, or none of them for what comes with the program"
            return [Problem(f"dataset.{name}", f"a file is required beside the others; {told}") for name in absent]
        return [
            problem
            for name, paths in self.paths.items()
            for problem in missing_files(paths, f"dataset.{name}", DataError if name == "queries" else CorpusError)
        ]

    def load(self) -> DataSet:
        log = ProblemLog(strict=self.strict)
        faq = [_tag(each, FAQ) for each in read_documents(self._paths("faq"), "dataset.faq", log)]
        guide = [_tag(each, GUIDE) for each in read_documents(self._paths("guide"), "dataset.guide", log)]
        if shared := {each.id for each in faq} & {each.id for each in guide}:
            raise CorpusError(f"dataset.guide: '{min(shared)}' is an id of a document in dataset.faq, too; rename one")
        corpus = build_corpus([*faq, *guide], self.chunker)
        queries: dict[str, Query] = {}
        for path in self._paths("queries"):
            for query in check_gold(read_queries(path, "dataset.queries", log), corpus, path, log):
                if query.id in queries:
                    raise DataError(f"dataset.queries: the id '{query.id}' in {path} is one in a file before, too")
                queries[query.id] = query
        return DataSet(corpus, tuple(queries.values()), log.problems)

    def _paths(self, name: str) -> Sequence[str]:
        if any(self.paths.values()):
            return self.paths[name]
        return [str(FOLDER / language / f"{name}.jsonl") for language in LANGUAGES]


def _as_list(files: Files) -> list[str]:
    return [files] if isinstance(files, str) else files or []


def _tag(document: Document, kind: str) -> Document:
    tags = {"guide_type": guide_type(document.title, document.text)} if kind == GUIDE else {}
    by_rule = {"has_steps": has_steps(document.text), **tags}
    return replace(document, metadata={**by_rule, **document.metadata, "doc_type": kind})
