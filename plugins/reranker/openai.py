"""A chat model of any OpenAI-compatible server orders what was found and says whether it is enough, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Unpack, cast

from pydantic import Field

from runner.domains.agent.candidate import Candidate
from runner.domains.memory.shortening import shorten_text
from runner.llm.fencing import Item, fence_fields
from runner.llm.messages import ChatRequest, Message
from runner.llm.models import Models
from runner.llm.prompts import Prompt, prompt_by_name
from runner.llm.rehearsal import MadeUpError
from runner.llm.sampling import Sampling, SamplingSettings
from runner.llm.tokens import count_tokens
from runner.protocols import Workspace
from runner.records import Assessment, Context, Corpus, NextAction, Query
from runner.text.language import Language, detect_language

ACTIONS = ("get_section", "search_again")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "ranked_indices": {"type": "array", "items": {"type": "integer"}},
        "is_sufficient": {"type": "boolean"},
        "missing": {"type": "array", "items": {"type": "string"}},
        "next_action": {"type": ["string", "null"], "enum": [*ACTIONS, None]},
        "refined_query": {"type": ["string", "null"]},
        "confidence": {"type": "number"},
    },
    "required": ["ranked_indices", "is_sufficient", "missing", "next_action", "refined_query", "confidence"],
    "additionalProperties": False,
}


class OpenaiReranker:
    """Listwise: the question, what was searched for and all candidates, numbered from 1, reach the model as fenced
    data in one user message. Of a candidate over `max_candidate_tokens` the end is left out. A reply that contradicts
    itself (what is sufficient without any candidate, a refined query that was asked before) cannot be used. A plan
    takes the first reply for sufficient. `prompt`: a file like runner/llm/prompts/rerank.yaml; None: that one."""

    def __init__(
        self,
        *,
        models: Models,
        model: str = "openai:gpt-5-nano",
        max_candidate_tokens: Annotated[int, Field(ge=20)] = 400,
        prompt: str | None = None,
        **sampling: Unpack[SamplingSettings],
    ) -> None:
        self._models, self._model = models, models.model(model, "reranker")
        self.sampling = Sampling(**sampling)
        self.max_candidate_tokens = max_candidate_tokens
        self._prompt = prompt

    @cached_property
    def prompt(self) -> Prompt:
        """Raises InputError when it is a file that cannot be used."""
        return prompt_by_name(self._prompt or "rerank", ("rerank",), "reranker.prompt")

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {**self._model.provenance, "prompt": self.prompt.digest}

    @property
    def concurrency(self) -> int:
        return self._models.max_concurrency

    @property
    def sweep(self) -> str:
        return self._models.sweep

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        """Do nothing, since there is no index."""

    def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
        """Runs in a thread beside the event loop. Raises what `Model.ask_for_json` does."""
        request = self.request(question, candidates, past_queries)
        ids = tuple(each.id for each in candidates)

        def read(reply: Mapping[str, Any]) -> Assessment:
            return _assessment(reply, ids, past_queries)

        try:
            return self._models.blocking(self._model.ask_for_json(request, read))
        except MadeUpError:
            return Assessment(ids, sufficient=True, confidence=1.0)

    def request(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> ChatRequest:
        """The request that ranks candidates for a question, which are fenced as data."""
        language = _language(question)
        history: dict[str, Sequence[Item]] = {"history": question.history} if question.history else {}
        data: dict[str, str | Sequence[Item]] = {
            **history,
            "question": question.text,
            "asked": list(past_queries),
            "candidates": list(map(self._as_context, candidates)),
        }
        messages = Message("system", self.prompt.system(language)), Message("user", fence_fields(data, language))
        return self.sampling.request(messages, SCHEMA)

    def _as_context(self, candidate: Candidate) -> Context:
        kind, section = candidate.metadata.get("doc_type"), candidate.metadata.get("section")
        title = " > ".join(filter(None, (candidate.title, section)))
        text = shorten_text(candidate.text, self.max_candidate_tokens, count_tokens)
        return Context(candidate.id, text, f"[{kind}] {title}".strip() if kind else title)


def _language(question: Query) -> Language:
    told: dict[str | None, Language] = {"ko": "ko", "en": "en"}
    return told.get(question.language) or detect_language(question.text)


# --- reading a reply; a ValueError says why it cannot be used -------------------------------------------


def _assessment(reply: Mapping[str, Any], ids: Sequence[str], past_queries: Sequence[str]) -> Assessment:
    ranked_ids = tuple(ids[place] for place in _places(reply.get("ranked_indices"), len(ids)))
    sufficient = reply.get("is_sufficient")
    if not isinstance(sufficient, bool):
        raise ValueError(f"is_sufficient: expected true or false, got {sufficient!r}")
    if sufficient and not ranked_ids:
        raise ValueError("is_sufficient: true without any of ranked_indices")
    confidence, missing = _confidence(reply.get("confidence")), _missing_parts(reply.get("missing"))
    action = _action(reply.get("next_action"), ranked_ids)
    if sufficient:
        return Assessment(ranked_ids, True, confidence, missing)
    query = _refine(reply.get("refined_query"), past_queries) if action == "search_again" else None
    return Assessment(ranked_ids, False, confidence, missing, action, query)


def _places(numbers: Any, n_candidates: int) -> tuple[int, ...]:
    if not isinstance(numbers, list):
        raise ValueError(f"ranked_indices: expected a list, got {numbers!r}")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= n_candidates:
            raise ValueError(f"ranked_indices: expected numbers from 1 to {n_candidates}, got {number!r}")
    if len(set(numbers)) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise ValueError(f"ranked_indices: {twice} is there twice")
    return tuple(number - 1 for number in numbers)


def _confidence(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"confidence: expected a number from 0 to 1, got {value!r}")
    return float(value)


def _missing_parts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"missing: expected a list of texts, got {value!r}")
    return tuple(each.strip() for each in value if each.strip())


def _action(value: Any, ranked: Sequence[str]) -> NextAction | None:
    if value is not None and value not in ACTIONS:
        raise ValueError(f"next_action: expected {', '.join(ACTIONS)} or null, got {value!r}")
    if value == "get_section" and not ranked:
        raise ValueError("next_action: get_section without any of ranked_indices")
    return cast(NextAction | None, value)


def _refine(value: Any, past_queries: Sequence[str]) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"refined_query: expected a text for search_again, got {value!r}")
    if _normalise(value) in map(_normalise, past_queries):
        raise ValueError("refined_query: it was searched for already")
    return value.strip()


def _normalise(query: str) -> str:
    return " ".join(query.casefold().split())
