"""A retriever with an agent in it: it searches, looks at what came back, and searches on until that is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.collections import FAQ, GUIDE, index_parts, split
from runner.domains.agent.fallbacks import Fallbacks
from runner.domains.agent.protocols import Agent, Reranker
from runner.domains.agent.shelf import Collection, Shelf
from runner.domains.agent.toolbox import Toolbox
from runner.errors import ComponentError, InputError, RunnerError, StopRunError
from runner.llm.metering import asking_for
from runner.protocols import CachedRetriever, Closing, Concurrent, Retriever, Workspace, attribute_of
from runner.records import Corpus, Query, Ranking, Trajectory
from runner.text.language import Language


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class Texts(TypedDict):
    """A text in each language."""

    ko: str
    en: str


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class MessageSettings(TypedDict):
    """The messages in place of an answer."""

    not_ready: Texts
    not_found: Texts


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class Link(TypedDict):
    """A page to which a mandatory answer points."""

    title: str
    url: str


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class MenuSettings(TypedDict):
    """The offers of `not_found`, by language."""

    ko: list[Link]
    en: list[Link]


@dataclass(frozen=True, slots=True)
class _Run:
    """The results of an agent, best first, for a ranking to `depth`."""

    depth: int
    candidates: Sequence[Candidate]
    trajectory: Trajectory


class AgenticRetriever:
    """Each question goes to the agent with at most `max_calls` calls of its tools (runner.domains.agent.toolbox). The
    ranking is what the agent found, as it was ranked last, then the rest of what it found, then the ranking of `base`,
    which is reported beside it. Scores are places from the end; relevance is that to the question as it was asked, 0
    for what only other words found.

    A corpus whose documents are all of `doc_type` faq or guide, and some of either, has two collections with an index
    each, of which a search brings `faq_count` and `guide_count` chunks; any other is one collection, of which it brings
    the sum, at least `k`. Questions are under way side by side where agent or reranker ask a model.
    """

    def __init__(
        self,
        *,
        base: Retriever,
        agent: Agent,
        reranker: Reranker,
        k: Annotated[int, Field(ge=1)],
        faq_count: Annotated[int, Field(ge=1)] = 3,
        guide_count: Annotated[int, Field(ge=1)] = 7,
        max_calls: Annotated[int, Field(ge=1, le=20)] = 3,
        min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.5,
        messages: MessageSettings,
        menu: MenuSettings,
    ) -> None:
        self.base, self.agent, self.reranker = base, agent, reranker
        self.counts = {FAQ: faq_count, GUIDE: guide_count}
        self.count = max(k, faq_count + guide_count)
        self.max_calls = max_calls
        self.fallbacks = Fallbacks(
            {"not_ready": _by_language(messages["not_ready"]), "not_found": _by_language(messages["not_found"])},
            {"ko": _links(menu["ko"]), "en": _links(menu["en"])},
            min_confidence,
        )
        self._runs: dict[tuple[str, str], _Run] = {}

    @property
    def provenance(self) -> Mapping[str, Any]:
        parts = {"base": self.base, "agent": self.agent, "reranker": self.reranker}
        return {name: attribute_of(part, "provenance") for name, part in parts.items()}

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Once: the collections get copies of `base` as it is before."""
        collections, facts = index_parts(self.base, split(corpus), self.counts, workspace)
        base_facts = self.base.index(corpus, workspace)
        self._shelf = Shelf(corpus, self.base, collections or [Collection(self.base, self.count)])
        for part in (self.reranker, self.agent):
            part.prepare(corpus, workspace)
        size = sum(part.get("size_bytes", 0) for part in (base_facts, *facts.values()))
        return {
            "kind": "agentic",
            "n_chunks": len(corpus.chunks),
            "size_bytes": size,
            "base": dict(base_facts),
            **facts,
        }

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Rank each query. A repeated query with a larger depth gets the earlier result of the agent."""
        rankings = self.base.search(queries, max(depth, self.count))
        before = {key: run for key in map(_key, queries) if (run := self._runs.get(key)) and run.depth < depth}
        places = [place for place, query in enumerate(queries) if _key(query) not in before]
        first = self._shelf.best_of_all([queries[place] for place in places], [rankings[place] for place in places])
        relevance = [dict(zip(rankings[place].ids, rankings[place].relevance, strict=True)) for place in places]
        runs = self._run_all([queries[place] for place in places], first, relevance, depth)
        self._runs = before | {_key(queries[place]): run for place, run in zip(places, runs, strict=True)}
        return [_ranking(self._runs[_key(query)], base, depth) for query, base in zip(queries, rankings, strict=True)]

    # --- requests to models ---------------------------------------------------------------------------

    @property
    def concurrency(self) -> int:
        return max(int(attribute_of(part, "concurrency")) for part in (self.agent, self.reranker))

    @property
    def sweep(self) -> str:
        return next(filter(None, (str(attribute_of(part, "sweep")) for part in (self.agent, self.reranker))), "")

    @property
    def caches(self) -> bool:
        asks = any(isinstance(part, Concurrent) for part in (self.agent, self.reranker))
        return asks or (isinstance(self.base, CachedRetriever) and self.base.caches)

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        """The cached queries of `base`; the caches of agent and reranker are known only while they run."""
        if isinstance(self.base, CachedRetriever) and self.base.caches:
            return self.base.is_cached(queries)
        return [False] * len(queries)

    def warm_up(self) -> None:
        if isinstance(self.base, CachedRetriever):
            self.base.warm_up()

    def close(self) -> None:
        for retriever in (self.base, *self._shelf.retrievers):
            if isinstance(retriever, Closing):
                retriever.close()

    # --- agents -------------------------------------------------------------------------------------

    def _run_all(
        self,
        queries: Sequence[Query],
        first: Sequence[Sequence[Candidate]],
        relevance: Sequence[Mapping[str, float]],
        depth: int,
    ) -> list[_Run]:
        tasks = list(zip(queries, first, relevance, strict=True))
        if len(tasks) < 2 or self.concurrency < 2:
            return [self._run(*each, depth) for each in tasks]
        pool = ThreadPoolExecutor(min(self.concurrency, len(tasks)), "agent")
        try:
            runs = [pool.submit(copy_context().run, partial(self._run, *each, depth)) for each in tasks]
            return [run.result() for run in runs]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, query: Query, first: Sequence[Candidate], relevance: Mapping[str, float], depth: int) -> _Run:
        """An agent that fails has found what it found."""
        toolbox = Toolbox(
            query,
            shelf=self._shelf,
            reranker=self.reranker,
            fallbacks=self.fallbacks,
            max_calls=self.max_calls,
            first=first,
            relevance=relevance,
        )
        try:
            with asking_for(query.id):
                trajectory = self.agent.run(query, toolbox)
        except (ComponentError, InputError, StopRunError):
            raise
        except (RunnerError, TimeoutError) as error:
            trajectory = toolbox.finish("failed", error=str(error) or "timeout")
        return _Run(depth, toolbox.candidates, trajectory)


def _by_language(texts: Texts) -> Mapping[Language, str]:
    return {"ko": texts["ko"], "en": texts["en"]}


def _links(links: Sequence[Link]) -> Sequence[tuple[str, str]]:
    return [(link["title"], link["url"]) for link in links]


def _key(query: Query) -> tuple[str, str]:
    return query.id, query.text


def _ranking(run: _Run, base: Ranking, depth: int) -> Ranking:
    relevance = {each.id: each.relevance for each in run.candidates} | dict(zip(base.ids, base.relevance, strict=True))
    ids = tuple(dict.fromkeys([*(each.id for each in run.candidates), *base.ids]))[:depth]
    return Ranking(
        ids=ids,
        scores=tuple([float(len(ids) - place) for place in range(len(ids))]),
        relevance=tuple([relevance[id] for id in ids]),
        legs={"base": Ranking(base.ids[:depth], base.scores[:depth], base.relevance[:depth])},
        trajectory=run.trajectory,
    )
