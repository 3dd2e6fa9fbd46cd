"""What writing and checking questions will ask of the model, before it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from runner.commands.generate import check
from runner.commands.generate.drafts import SCHEMA, messages, source
from runner.commands.generate.maker import CELL, NEIGHBOURS, Made, QuestionMaker
from runner.errors import ReplyError
from runner.llm.messages import ChatRequest
from runner.llm.rehearsal import Expected, Rehearsal

REPLY_TOKENS = 120  # of one question or one finding


async def expected(maker: QuestionMaker, made: Made) -> Expected:
    """Every order is written, and every question checked once. Requests that compare two answers, and those that
    are repeated, come on top; questions that are dropped before their check are counted here all the same."""
    total = Expected()
    per_order = REPLY_TOKENS * maker.wish.per_chunk
    for reply_tokens, requests in ((per_order, _writing(maker, made)), (REPLY_TOKENS, _checking(maker, made))):
        rehearsal = Rehearsal(reply_tokens=reply_tokens)
        with maker.models.rehearsing(rehearsal, CELL):
            for request in requests:
                with suppress(ReplyError):  # a rehearsal has no replies
                    await maker.model.chat(request)
        for found in rehearsal.expected.values():
            total.add(found)
    return total


def _writing(maker: QuestionMaker, made: Made) -> Iterator[ChatRequest]:
    for order in made.orders:
        yield maker.request(messages(order), SCHEMA)


def _checking(maker: QuestionMaker, made: Made) -> Iterator[ChatRequest]:
    """With a question of usual length, and chunks as long as its own in the place of its neighbours."""
    for order in made.orders:
        own = source(order.chunk, order.title)
        for slot in order.slots:
            sources = [own] * (1 if slot.answerable else 1 + NEIGHBOURS)
            asked = check.check_messages(f"{slot.number} {order.chunk.id} {'?' * 60}", sources, order.language)
            yield maker.request(asked, check.CHECK_SCHEMA)
