"""The agent without a model: it searches, and searches on as long as words of the question are missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.coverage import Coverage, coverage_of
from runner.domains.agent.toolbox import Toolbox
from runner.protocols import Workspace
from runner.records import Corpus, Query, ToolCall, Trajectory
from runner.text.words import all_forms, content_words

BEST = 3  # candidates that are looked at
_HOW = re.compile(
    r"\bhow (?:do|does|can|could|should|would|to)\b|\bsteps?\b|\bprocedure\b|방법|어떻게|하려면|절차|순서", re.I
)
_KINDS: Mapping[str, tuple[str, re.Pattern[str]]] = {
    "faq": ("doc_type", re.compile(r"\bFAQs?\b|자주 묻는", re.I)),
    "troubleshooting": ("guide_type", re.compile(r"\btroubleshooting\b|(?:문제|오류) ?해결 (?:가이드|문서)", re.I)),
    "guide": ("doc_type", re.compile(r"\bguides?\b|가이드(?!라인)", re.I)),
}
HELD_BY = 2  # chunks: a word of one chunk alone leads nowhere else

Step = Callable[[], ToolCall]


class ScriptedAgent:
    """A fixed policy. It starts with the question itself and stops when what it has is sufficient, by the reranker or,
    where that does not tell, by its own look at the words (runner.domains.agent.coverage). Else it takes the first of
    these steps that it has not taken: the section of one of the three best chunks, if the reranker asks for it or
    another chunk there holds a missing word; the search that the reranker asks for; chunks with steps, for a question
    how to do something; the question without the words that no chunk holds; the same with `expand` words of the best
    chunk added. A question that names a kind of document (FAQ, guide, troubleshooting) is searched for by its tag, too,
    whatever the first search brings."""

    def __init__(self, *, expand: Annotated[int, Field(ge=0, le=20)] = 3) -> None:
        self.expand = expand

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        self._coverage = coverage_of(corpus, workspace)

    def run(self, question: Query, toolbox: Toolbox) -> Trajectory:
        call = self._judge(question, toolbox, toolbox.search_all(question.text))
        kind = _kind_there(question, toolbox)
        if kind and toolbox.calls_left:
            call = self._judge(question, toolbox, toolbox.search_by_metadata(question.text, **kind))
        while not call.assessment.sufficient:
            if not toolbox.calls_left:
                return toolbox.finish("calls_spent")
            step = next(self._steps(question, toolbox, call), None)
            if step is None:
                return toolbox.finish("failed" if all(each.error for each in toolbox.calls) else "nothing_new")
            call = self._judge(question, toolbox, step())
        return toolbox.finish("sufficient")

    def _steps(self, question: Query, toolbox: Toolbox, call: ToolCall) -> Iterator[Step]:
        """The possible next steps, best first."""
        assessment = call.assessment
        opened_ids = {each.arguments["chunk_id"] for each in toolbox.calls if each.tool == "get_section"}
        for chunk in [candidate.id for candidate in toolbox.candidates[:BEST]]:
            if chunk not in opened_ids and (
                assessment.next_action == "get_section" or _is_told_beside(toolbox, chunk, call)
            ):
                yield partial(toolbox.get_section, chunk)
        next_query = assessment.refined_query
        if assessment.next_action == "search_again" and next_query and next_query not in toolbox.queries:
            yield partial(toolbox.search_all, next_query)
        if asks_for_steps(question.text) and _may_have_steps(toolbox):
            yield partial(toolbox.search_by_metadata, question.text, has_steps=True)
        for query in refined_queries(question.text, toolbox.candidates[:1], self._coverage, self.expand):
            if query not in toolbox.queries:
                yield partial(toolbox.search_all, query)

    def _judge(self, question: Query, toolbox: Toolbox, call: ToolCall) -> ToolCall:
        """The call with the agent's own assessment, where the reranker has none. A call that found nothing changes no
        assessment. Documents of a kind that the question names come first."""
        if kind := _kind_there(question, toolbox):
            first = [each.id for each in toolbox.candidates if kind.items() <= each.metadata.items()]
            call = toolbox.assess(ranked=[*first, *call.assessment.ranked])
        if call.assessment.sufficient is not None or call.error or not call.found:
            return call
        weighted = self._coverage.analyse(question.text)
        looks = (self._coverage.of(weighted, candidate.passage) for candidate in toolbox.candidates[:BEST])
        best = max(looks, key=lambda covered: covered.confidence)
        return toolbox.assess(sufficient=best.confidence >= 1, confidence=best.confidence, missing=best.missing)


def _kind_there(question: Query, toolbox: Toolbox) -> Mapping[str, str]:
    """The kind of document that the question names, where the corpus has some."""
    kind = kind_in(question.text)
    return kind if all(toolbox.shelf.has(*each) for each in kind.items()) else {}


def _is_told_beside(toolbox: Toolbox, id: str, call: ToolCall) -> bool:
    """Whether a chunk of its section that is not found yet holds a word that is missing."""
    missing = all_forms(content_words(" ".join(call.assessment.missing)))
    candidate_ids = {each.id for each in toolbox.candidates}
    beside = [each for each in toolbox.shelf.section(id) if each.id not in candidate_ids]
    return any(not missing.isdisjoint(all_forms(content_words(each.passage))) for each in beside)


def _may_have_steps(toolbox: Toolbox) -> bool:
    """Whether some chunk has steps, none of the best has, and no search for them was made."""
    if any(call.tool == "search_by_metadata" for call in toolbox.calls):
        return False
    return toolbox.shelf.has("has_steps", True) and not any(
        each.metadata.get("has_steps") for each in toolbox.candidates[:BEST]
    )


def kind_in(question: str) -> Mapping[str, str]:
    """Tag and value of the first kind of document that a question names, or {}."""
    return next(({tag: kind} for kind, (tag, pattern) in _KINDS.items() if pattern.search(question)), {})


def asks_for_steps(question: str) -> bool:
    """Whether a question asks for a way of doing something (how to, steps, 방법, 절차)."""
    return _HOW.search(question) is not None


def refined_queries(question: str, candidates: Sequence[Candidate], coverage: Coverage, n_words: int) -> Iterator[str]:
    """The content words of the question that some chunk holds; then these with the `n_words` rarest words of the best
    candidate that are in some other chunk, too (ties in their order)."""
    words = [word for word in content_words(question) if coverage.chunks_with(word)]
    searched = list(dict.fromkeys(word.text for word in words))
    if searched:
        yield " ".join(searched)
    if not candidates or not n_words:
        return
    known_forms, counts = set(all_forms(content_words(question))), {}
    for word in content_words(candidates[0].passage):
        if word.forms.isdisjoint(known_forms) and coverage.chunks_with(word) >= HELD_BY:
            counts[word.text] = coverage.chunks_with(word)
            known_forms |= word.forms
    added = sorted(counts, key=lambda text: counts[text])[:n_words]
    if added:
        yield " ".join([*searched, *added])
