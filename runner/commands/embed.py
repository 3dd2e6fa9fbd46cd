"""Embed and index the documents of a dataset before a run or a chat needs them, for example on a schedule."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.commands import Command, Option
from runner.domains.agent.tags import chunk_tags
from runner.errors import ConfigError, Problem
from runner.protocols import CachedEmbedder, Preflight, Workspace
from runner.records import Corpus, DataProblem
from runner.retrieval.stage import Retrieval
from runner.system import terminal
from runner.system.threads import in_thread
from runner.text.language import Language
from runner.text.passages import passages
from runner.words.bilingual import in_language
from runner.words.wording import LANGUAGES, wording

if TYPE_CHECKING:
    from runner.config.components import BuiltComponents
    from runner.llm.models import Models

CONFIG = "embed"
COMMAND = Command(CONFIG, options=(Option("dry_run"),), words="SETTING=VALUE", settings=CONFIG)
TAGS = ("doc_type", "guide_type", "has_steps")
PROBLEMS = 5  # problems of document files that are shown


class Embedding:
    """The component of `embed`: a retrieval stage whose embedders may call a server."""

    def __init__(self, *, retrieval: Retrieval, language: Language = "en", dry_run: bool = False) -> None:
        self.retrieval, self.language, self.dry_run = retrieval, language, dry_run


@dataclass(frozen=True, slots=True)
class EmbedResult:
    """The result. `n_before`: texts of the corpus that had a vector already; None where vectors are stored with the
    index only. `facts`: the retriever's facts about its index; None for a dry run."""

    corpus: Corpus
    problems: Sequence[DataProblem]
    n_texts: int
    n_before: int | None
    facts: Mapping[str, Any] | None


def main(argv: Sequence[str]) -> int:
    """Raises ConfigError with all problems, what loading and indexing raise, and StopRunError for errors that end the
    batch: finished vectors are stored, and the same command resumes."""
    options = COMMAND.read(argv)
    from runner.config.components import build
    from runner.config.settings import settings_of
    from runner.llm.models import models_among
    from runner.run.preflight import announce
    from runner.system.store import Store

    words = [*(["dry_run=true"] if options.dry_run else []), *options.words]
    cfg = settings_of(CONFIG, words, CONFIG, absent=("dataset.queries",))
    components = build(cfg.embed)
    models, embedding = models_among(components.parts.values()), components.root
    _check(components, models)
    if not embedding.dry_run:
        announce(cfg, components, embedding.language)
    store = Store(Path(str(cfg.cache_dir)), components.identities, cold=bool(cfg.cold_start))
    embedders = [part for part in components.parts.values() if isinstance(part, CachedEmbedder)]
    outcome = asyncio.run(embed_corpus(embedding, models, embedders, store))
    _print_outcome(embedding, outcome, models)
    return 0


def _check(components: BuiltComponents, models: Models | None) -> None:
    problems = [
        problem for part in components.parts.values() if isinstance(part, Preflight) for problem in part.preflight()
    ]
    if type(components.root.retrieval.dataset).__name__ == "NoDataset":
        own = "dataset=vault dataset.notes=FOLDER, dataset=jsonl dataset.corpus=FILE or dataset=faq_guide"
        problems.append(Problem("dataset", f"there are no documents to embed; choose {own}"))
    if models is not None and models.cache_mode != "replay" and not components.root.dry_run:
        problems += models.keys_missing([model.name for model in models.used])
    if problems:
        raise ConfigError(problems)


async def embed_corpus(
    embedding: Embedding, models: Models | None, embedders: Sequence[CachedEmbedder], workspace: Workspace
) -> EmbedResult:
    """Embed the texts of the corpus that the cache lacks, and count. With `dry_run` nothing is sent or stored."""
    async with AsyncExitStack() as stack:
        if models is not None and not embedding.dry_run:
            await stack.enter_async_context(models.open(CONFIG))
        problems = (await in_thread(embedding.retrieval.load)).problems
        corpus = embedding.retrieval.corpus
        texts = sorted({text for text in passages(corpus) if text.strip()})
        n_before = await in_thread(_n_cached, embedders[0], texts, workspace) if embedders else None
        facts = None if embedding.dry_run else await embedding.retrieval.index(workspace)
        return EmbedResult(corpus, problems, len(texts), n_before, facts)


def _n_cached(embedder: CachedEmbedder, texts: Sequence[str], workspace: Workspace) -> int:
    embedder.prepare(texts, workspace)
    return sum(embedder.is_cached(texts, "passage"))


def _print_outcome(embedding: Embedding, embedded: EmbedResult, models: Models | None) -> None:
    from runner.commands.chat.words import usage_lines

    say = wording(embedding.language, CONFIG)
    for problem in embedded.problems[:PROBLEMS]:
        severity = LANGUAGES[embedding.language].name("severity", problem.severity)
        terminal.note(f"{severity}: {in_language(str(problem), embedding.language)}")
    if len(embedded.problems) > PROBLEMS:
        terminal.note(say("more_problems", n=len(embedded.problems) - PROBLEMS))
    n_documents, n_chunks = len(embedded.corpus.documents), len(embedded.corpus.chunks)
    lines = [say("documents", documents=f"{n_documents:,}", chunks=f"{n_chunks:,}"), *_tags(embedded.corpus)]
    if embedded.n_before is not None:
        n_new = embedded.n_texts - embedded.n_before
        key = "would_embed" if embedded.facts is None else "embedded"
        lines.append(say(key, new=f"{n_new:,}", before=f"{embedded.n_before:,}"))
    if embedded.facts is not None:
        lines.append(say("index", kind=embedded.facts.get("kind", ""), size=f"{embedded.facts.get('size_bytes', 0):,}"))
    terminal.write("\n".join(lines) + "\n")
    for line in () if models is None or embedding.dry_run else usage_lines(models.usage(CONFIG), embedding.language):
        terminal.note(line)


def _tags(corpus: Corpus) -> Iterator[str]:
    """Lines with the number of chunks for each value of the tags."""
    tags = chunk_tags(corpus).values()
    for name in TAGS:
        counts = Counter(str(tag[name]).lower() for tag in tags if tag.get(name) not in (None, ""))
        if counts:
            yield f"  {name}: {', '.join(f'{value} {n:,}' for value, n in sorted(counts.items()))}"
