"""The answers that the queries file or the probes of a scenario file carry: evaluate what another system generated."""

from __future__ import annotations

from collections.abc import Sequence

from runner.errors import EvaluationError
from runner.records import Answer, Context, Query
from runner.text.citations import citations
from runner.text.refusals import is_refusal
from runner.text.reply import read_reply


class GivenGenerator:
    """Returns `answer` of the query, without what a model thought; [n] in it are citations."""

    is_logged = True

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        text = query.given.answer
        if text is None:
            raise EvaluationError(_missing_message(query))
        reply = read_reply(text, query.text)
        if reply.error:
            raise EvaluationError(f"query {query.id}: answer: an error stands in its place: {reply.error}")
        refused = is_refusal(reply.answer, query.text)
        return Answer(reply.answer, refused, citations(reply.answer), thought=reply.thought)


def _missing_message(query: Query) -> str:
    if not query.from_memory:
        return f"query {query.id}: answer: missing, and generator=given needs it in the queries file"
    return (
        f"probe {query.id}: answer: missing, and generator=given needs in it what the other system said "
        "(only scenario=file has such probes); generator=extractive answers from what is remembered"
    )
