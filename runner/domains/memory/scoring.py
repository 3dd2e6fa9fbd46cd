"""What code counts of a probe: what was remembered, what was shown of it, and what was answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runner.domains.memory.context import BuiltContext
from runner.domains.memory.probing import ProbeCase, Seen
from runner.domains.memory.records import Probe
from runner.domains.memory.replay import Moment
from runner.metrics.answers import contains_answer, exact_match, token_f1
from runner.metrics.memory import LostAt, evidence_recall, leakage, lost_at, n_sentences
from runner.records import Answer

SIZES = ("memory_sentences", "memory_tokens", "context_tokens")


def counted(seen: Seen, moment: Moment, context: BuiltContext, answer: Answer) -> dict[str, float | None]:
    """Values by name; None where something does not apply."""
    probe = seen.case.probe
    said = _said(answer)
    return {
        "facts_present": seen.share(seen.expected),
        "stale_present": seen.share(seen.stale),
        "facts_current": seen.is_current,
        "summary_current": seen.is_summary_current(moment),
        "leakage": leakage([seen.text, answer.text], probe.canaries),
        **labelled(seen.case, probe, context, answer),
        "answer_facts": seen.share(seen.in_answer(said, probe.expected)),
        "answer_stale": seen.share(seen.in_answer(said, probe.forbidden, besides=probe.expected)),
        "memory_sentences": float(n_sentences(moment.remembered.memory)),
        "memory_tokens": float(context.section("memory").tokens + context.section("entities").tokens),
        "context_tokens": float(context.tokens - context.section("question").tokens),
    }


def labelled(case: ProbeCase, probe: Probe, context: BuiltContext, answer: Answer) -> dict[str, float | None]:
    """What hangs on the answers and the evidence of a probe, of which there may be two readings."""
    turns = case.conversation.turns[: probe.after_turn]
    known = {turn.id or f"turn-{number}" for number, turn in enumerate(turns, start=1)}
    return {
        "evidence_recall": evidence_recall(probe.evidence, known, {shown.id for shown in context.contexts}),
        "exact_match": exact_match(_said(answer), probe.answers),
        "contains_answer": contains_answer(_said(answer), probe.answers),
        "token_f1": token_f1(_said(answer), probe.answers),
    }


def names(probe: Probe) -> Iterator[str]:
    """Of what is counted, what applies to a probe whether it could be scored or not."""
    yield from SIZES
    if probe.expected:
        yield from ("facts_present", "answer_facts")
    if probe.forbidden:
        yield from ("stale_present", "answer_stale", *(["facts_current"] if probe.expected else []))
    if probe.answers:
        yield from ("exact_match", "contains_answer", "token_f1")


def facts_lost_at(probe: Probe, values: Mapping[str, float | None], *, refused: bool, right: bool) -> LostAt:
    """Where a probe was lost, by the facts that were expected. `values`: as they were counted."""
    shown = values["facts_present"]
    return lost_at(
        answerable=probe.answerable,
        refused=refused,
        shown=None if shown is None else shown == 1,
        right=right,
        stale=bool(values["answer_stale"]),
    )


def _said(answer: Answer) -> str:
    return "" if answer.refused else answer.text
