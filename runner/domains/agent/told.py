"""What an agent's model is told of a call: fenced, since it holds what others wrote."""

from __future__ import annotations

from collections.abc import Sequence

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.toolbox import Toolbox
from runner.domains.memory.shortening import shortened
from runner.llm.fencing import Item, fenced
from runner.llm.tokens import count_tokens
from runner.records import Assessment, Context, ToolCall
from runner.text.language import Language

SHOWN = 10  # results


def told(call: ToolCall, toolbox: Toolbox, language: Language, max_tokens: int) -> str:
    """The best results so far, each cut to `max_tokens`, what is made of them, and how many calls are left."""
    results = [_shown(candidate, max_tokens) for candidate in toolbox.candidates[:SHOWN]]
    said = _assessment(call.said)
    parts: dict[str, str | Sequence[Item]] = {
        **({"error": call.error} if call.error else {}),
        "results": results,
        **({"assessment": said} if said else {}),
        "calls_left": str(toolbox.calls_left),
    }
    return fenced(parts, language)


def _assessment(said: Assessment) -> str:
    """Empty where the reranker only orders."""
    if said.sufficient is None:
        return ""
    lines = [f"sufficient: {str(said.sufficient).lower()}"]
    if said.confidence is not None:
        lines.append(f"confidence: {said.confidence:.2f}")
    if said.missing:
        lines.append(f"missing: {'; '.join(said.missing)}")
    if said.next_action is not None:
        lines.append(f"advice: {said.next_action}")
    if said.refined_query is not None:
        lines.append(f"refined_query: {said.refined_query}")
    return "\n".join(lines)


def _shown(candidate: Candidate, max_tokens: int) -> Context:
    tags = candidate.metadata
    kind = f"[{tags['doc_type']}]" if tags.get("doc_type") else ""
    where = " > ".join(filter(None, (candidate.title, tags.get("section"))))
    text = shortened(candidate.text, max_tokens, count_tokens)
    return Context(candidate.id, text, " ".join(filter(None, (kind, where, f"(id: {candidate.id})"))))
