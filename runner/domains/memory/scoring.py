"""Metrics of a probe that code counts: of the memory, of the contexts, and of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runner.domains.memory.context import BuiltContext
from runner.domains.memory.probing import ProbeCase, ProbedMemory
from runner.domains.memory.records import ChatTurn, Probe, session_of
from runner.domains.memory.replay import Moment
from runner.metrics import locomo
from runner.metrics.answers import contains_answer, exact_match, token_f1
from runner.metrics.memory import LostAt, evidence_recall, leakage, lost_at, n_sentences
from runner.records import Answer
from runner.text.sentences import split_sentences
from runner.text.support import Sources, Statement
from runner.text.words import Word, content_words

LOCOMO = "locomo"  # tag of its conversations
RECALLED_AT = (1, 5, 10)  # turns and sessions
HELD = 0.5  # support from which a summary holds what a turn says, as the lexical judge has it
SIZES = ("memory_sentences", "memory_tokens", "context_tokens")


def count_values(view: ProbedMemory, moment: Moment, context: BuiltContext, answer: Answer) -> dict[str, float | None]:
    """Values by name; None where something does not apply."""
    probe = view.case.probe
    reply = _answer_text(answer)
    return {
        "facts_present": view.share(view.expected),
        "stale_present": view.share(view.stale),
        "facts_current": view.is_current,
        "summary_current": view.is_summary_current(moment),
        "leakage": leakage([view.text, answer.text], probe.canaries),
        **evidence_values(view.case, probe, context, answer),
        **recall_values(view.case, moment),
        "answer_facts": view.share(view.in_answer(reply, probe.expected)),
        "answer_stale": view.share(view.in_answer(reply, probe.forbidden, besides=probe.expected)),
        "memory_sentences": float(n_sentences(moment.remembered.memory)),
        "memory_tokens": float(context.section("memory").tokens + context.section("entities").tokens),
        "context_tokens": float(context.remembered_tokens),
    }


def evidence_values(case: ProbeCase, probe: Probe, context: BuiltContext, answer: Answer) -> dict[str, float | None]:
    """Values that depend on the answers and the evidence of a probe, whose labels may come in two versions."""
    turns = case.conversation.turns[: probe.after_turn]
    said_in = {turn.id or f"turn-{number}": turn for number, turn in enumerate(turns, start=1)}
    shown_ids = {shown_ids.id for shown_ids in context.contexts}
    held_ids = shown_ids | _summarised_turns(probe, said_in, context)
    published = {locomo.NAME: locomo.locomo_f1(probe.category, probe.answers, answer.text, refused=answer.refused)}
    return {
        "evidence_recall": evidence_recall(probe.evidence, said_in.keys(), shown_ids),
        "evidence_held": evidence_recall(probe.evidence, said_in.keys(), held_ids),
        **(published if LOCOMO in case.conversation.tags else {}),
        "exact_match": exact_match(_answer_text(answer), probe.answers),
        "contains_answer": contains_answer(_answer_text(answer), probe.answers),
        "token_f1": token_f1(_answer_text(answer), probe.answers),
    }


def _summarised_turns(probe: Probe, said_in: Mapping[str, ChatTurn], context: BuiltContext) -> set[str]:
    """Ids of those turns of evidence whose statements about the question are supported by summary and entities: of each
    speaker the sentence that shares most with the question and the known answers."""
    summary = [text for name in ("memory", "entities") if (text := context.text_of(name))]
    if not summary or not probe.evidence:
        return set()
    sources = Sources(summary, probe.question)
    about = content_words(" ".join((probe.question, *probe.answers)))
    supported_ids = set()
    for id in probe.evidence:
        turn = said_in.get(id)
        statements = (
            [] if turn is None else [_closest(text, about) for text in (turn.user, turn.assistant) if text.strip()]
        )
        if any(statement is not None and sources.support(statement).score >= HELD for statement in statements):
            supported_ids.add(id)
    return supported_ids


def _closest(text: str, about: Sequence[Word]) -> Statement | None:
    """The sentence that has most of these words, the first of equals; None where none has any."""
    sentences = [Statement(sentence) for sentence in split_sentences(text)]
    shares = [sum(not word.forms.isdisjoint(each.forms) for word in about) for each in sentences]
    best = max(shares, default=0)
    return sentences[shares.index(best)] if best else None


def recall_values(case: ProbeCase, moment: Moment) -> dict[str, float | None]:
    """Recall of the turns and of the sessions that answer a probe among the first that the memory gives: those
    retrieved, best first, then the last ones, the newest first; a session is where its first turn is."""
    remembered = moment.remembered
    turns_given = (*remembered.retrieved, *reversed(remembered.recent))
    turns = list(dict.fromkeys(turn.id or f"turn-{turn.number}" for turn in turns_given))
    sessions = list(dict.fromkeys(filter(None, map(session_of, turns_given))))
    turn_ids = {turn.id or f"turn-{turn.number}" for turn in moment.turns}
    session_ids = {session_of(turn) for turn in moment.turns} - {""}
    values: dict[str, float | None] = {}
    for k in RECALLED_AT if case.probe.evidence else ():
        values[f"turn_recall_at_{k}"] = evidence_recall(case.probe.evidence, turn_ids, turns[:k])
    for k in RECALLED_AT if len(session_ids) > 1 and case.sessions else ():
        values[f"session_recall_at_{k}"] = evidence_recall(case.sessions, session_ids, sessions[:k])
    return values


def names(probe: Probe) -> Iterator[str]:
    """The names of counted metrics that apply to a probe, whether or not it could be scored."""
    yield from SIZES
    if probe.expected:
        yield from ("facts_present", "answer_facts")
    if probe.forbidden:
        yield from ("stale_present", "answer_stale", *(["facts_current"] if probe.expected else []))
    if probe.answers:
        yield from ("exact_match", "contains_answer", "token_f1")


def facts_lost_at(probe: Probe, values: Mapping[str, float | None], *, refused: bool, right: bool) -> LostAt:
    """The stage at which a probe failed, by the expected facts. `values`: the counted metrics."""
    share = values["facts_present"]
    return lost_at(
        answerable=probe.answerable,
        refused=refused,
        readable=None if share is None else share == 1,
        right=right,
        stale=bool(values["answer_stale"]),
    )


def _answer_text(answer: Answer) -> str:
    return "" if answer.refused else answer.text
