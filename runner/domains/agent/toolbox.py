"""The tools of an agent for one question, and the record of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.fallbacks import Fallbacks
from runner.domains.agent.protocols import Reranker
from runner.domains.agent.shelf import Shelf
from runner.errors import ComponentError, EvaluationError, InputError, RunnerError, StopRunError
from runner.llm.metering import metering
from runner.records import Assessment, Query, Stopped, Tool, ToolCall, Trajectory
from runner.text.language import Language, detect_language


class CallsSpentError(EvaluationError):
    """No call is left; the agent decides how to continue."""


class Toolbox:
    """Every call counts, also a failed one; a call beyond the limit raises CallsSpentError. After each call with
    results the reranker assesses all candidates so far; `assessment` of the ToolCall holds the result. A failure of a
    tool or the reranker is noted in `error` of the ToolCall; only errors that end the run are raised. Calls from
    several threads are made one after the other. `first`: the known result of a search for the question itself.
    `relevance`: of chunks to the question, 0 for others, since the results of refined searches are relevant to another
    text.
    """

    def __init__(
        self,
        question: Query,
        *,
        shelf: Shelf,
        reranker: Reranker,
        fallbacks: Fallbacks,
        max_calls: int,
        first: Sequence[Candidate] | None = None,
        relevance: Mapping[str, float] | None = None,
    ) -> None:
        self.question, self.max_calls = question, max_calls
        self.shelf, self._reranker, self._fallbacks = shelf, reranker, fallbacks
        self._first, self._relevance = first, relevance
        self._calls: list[ToolCall] = []
        self._candidates: dict[str, Candidate] = {}
        self._ranked: tuple[str, ...] = ()
        self._assessment: Assessment | None = None
        self._usage: tuple[int, int, float | None] = (0, 0, 0.0)
        self._lock = RLock()

    # --- tools --------------------------------------------------------------------------------------

    def search_all(self, query: str) -> ToolCall:
        """The best chunks of each collection."""
        first_hits = self._first if query == self.question.text else None
        return self._call(
            "search_all",
            {"query": query},
            lambda: self.shelf.search_all(self._query_for(query)) if first_hits is None else first_hits,
        )

    def search_by_metadata(self, query: str, **filters: Any) -> ToolCall:
        """The best chunks that have all of these tags; a tag that no chunk has is an error of the call."""
        arguments = {"query": query, **filters}
        search = self.shelf.search_by_metadata
        return self._call("search_by_metadata", arguments, lambda: search(self._query_for(query), filters))

    def get_section(self, chunk_id: str) -> ToolCall:
        """The section that a chunk stands in."""
        return self._call("get_section", {"chunk_id": chunk_id}, lambda: self.shelf.section(chunk_id))

    # --- what is known ------------------------------------------------------------------------------

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls so far, in order."""
        return tuple(self._calls)

    @property
    def calls_left(self) -> int:
        """How many calls the budget still allows."""
        return self.max_calls - len(self._calls)

    @property
    def queries(self) -> Sequence[str]:
        """The queries so far."""
        return [str(call.arguments["query"]) for call in self._calls if "query" in call.arguments]

    @property
    def candidates(self) -> Sequence[Candidate]:
        """All that were found so far: as they were ranked, then those of no use in the order they were found."""
        return [self._candidates[id] for id in dict.fromkeys((*self._ranked, *self._candidates))]

    @property
    def assessment(self) -> Assessment | None:
        """The last one."""
        return self._assessment

    @property
    def language(self) -> Language:
        return detect_language(self.question.text)

    # --- the account --------------------------------------------------------------------------------

    def assess(self, **changes: Any) -> ToolCall:
        """Replace the reranker's assessment of the last call (`sufficient`, `confidence`, `missing` …) by the agent's
        own."""
        with self._lock:
            ranked = changes.pop("ranked", self._ranked)
            self._ranked = tuple(dict.fromkeys(id for id in ranked if id in self._candidates))
            self._assessment = replace(self._calls[-1].assessment, ranked=self._ranked, **changes)
            self._calls[-1] = replace(self._calls[-1], assessment=self._assessment)
            return self._calls[-1]

    def note(self, *, input_tokens: int = 0, output_tokens: int = 0, cost_usd: float | None = 0.0) -> None:
        """Add the cost of the model that decided on a step to the last call, or to the first one where no call was made
        yet."""
        with self._lock:
            self._usage = _sum(self._usage, (input_tokens, output_tokens, cost_usd))
            if self._calls:
                self._calls[-1] = self._charge(self._calls[-1])

    def finish(self, stopped: Stopped, **facts: Any) -> Trajectory:
        """The trajectory, with the fallback and the message that follow from the last assessment."""
        with self._lock:
            fallback = self._fallbacks.of(self._assessment, len(self._ranked), stopped)
            return Trajectory(
                calls=tuple(self._calls),
                stopped=stopped,
                fallback=fallback,
                message=self._fallbacks.message(fallback, self.language),
                confidence=None if self._assessment is None else self._assessment.confidence,
                facts=facts,
            )

    # --- one call -----------------------------------------------------------------------------------

    def _query_for(self, query: str) -> Query:
        return self.question if query == self.question.text else replace(self.question, text=query)

    def _call(self, tool: Tool, arguments: Mapping[str, Any], find: Callable[[], Sequence[Candidate]]) -> ToolCall:
        with self._lock:
            if self.calls_left <= 0:
                raise CallsSpentError(f"no call is left of {self.max_calls}; answer from what is there")
            call = ToolCall(tool, arguments, (), Assessment(self._ranked))
            self._calls.append(call)
            candidates, error = _try(find)
            call = replace(call, found=tuple(each.id for each in candidates or ()), error=error)
            if candidates:
                for candidate in (
                    candidates if arguments.get("query") == self.question.text else self._with_relevance(candidates)
                ):
                    self._candidates.setdefault(candidate.id, candidate)
                call = self._rerank(call)
            self._calls[-1] = self._charge(call)
            return self._calls[-1]

    def _with_relevance(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        known = self._relevance
        return (
            candidates if known is None else [replace(each, relevance=known.get(each.id, 0.0)) for each in candidates]
        )

    def _rerank(self, call: ToolCall) -> ToolCall:
        candidates = list(self._candidates.values())
        past_queries = self.queries
        with metering() as meter:
            assessment, error = _try(lambda: self._reranker.rerank(self.question, candidates, past_queries))
        spent = meter.total
        self._usage = _sum(self._usage, (spent.input_tokens, spent.output_tokens, spent.usd))
        if assessment is None:  # what was ranked before stays in front of what came now
            self._ranked = tuple(dict.fromkeys((*self._ranked, *call.found)))
            return replace(call, assessment=Assessment(self._ranked), error=error)
        self._assessment, self._ranked = assessment, assessment.ranked
        return replace(call, assessment=assessment)

    def _charge(self, call: ToolCall) -> ToolCall:
        spent = _sum((call.input_tokens, call.output_tokens, call.cost_usd), self._usage)
        self._usage = (0, 0, 0.0)
        return replace(call, input_tokens=spent[0], output_tokens=spent[1], cost_usd=spent[2])


def _sum(one: tuple[int, int, float | None], other: tuple[int, int, float | None]) -> tuple[int, int, float | None]:
    unknown = one[2] is None or other[2] is None
    return one[0] + other[0], one[1] + other[1], None if unknown else (one[2] or 0.0) + (other[2] or 0.0)


def _try(function: Callable[[], Any]) -> tuple[Any, str | None]:
    """The result of a call, or its error. Errors that hold for every question, and those of wrong components, are
    raised."""
    try:
        return function(), None
    except (ComponentError, InputError, StopRunError):
        raise
    except (RunnerError, TimeoutError) as error:
        return None, str(error) or "timeout"
