"""A probe as a case, and which facts show in the memory that was given for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.domains.memory.context import BuiltContext
from runner.domains.memory.owners import without_others
from runner.domains.memory.recall import as_statements
from runner.domains.memory.records import ChatTurn, Conversation, Fact, MemoryContent, Probe, session_of
from runner.domains.memory.replay import Moment
from runner.errors import EvaluationError
from runner.metrics.memory import find_facts
from runner.system.store import fingerprint
from runner.text.matching import mentions
from runner.text.names import names
from runner.text.sentences import split_sentences


@dataclass(frozen=True, slots=True)
class ProbeCase:
    """One probe of a conversation, as a case of a run."""

    conversation: Conversation
    probe: Probe

    @property
    def id(self) -> str:
        return f"{self.conversation.id}/{self.probe.id}"

    @property
    def language(self) -> str | None:
        return self.conversation.language

    @property
    def clusters(self) -> dict[str, str]:
        return {"conversation": self.conversation.id}

    @property
    def dated_question(self) -> str:
        """The question as a generator gets it: with the day on which it was asked, where that is known."""
        day = self.probe.asked_at[:10]
        return f"{self.probe.question} ({day})" if day else self.probe.question

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that answer the probe."""
        evidence = set(self.probe.evidence)
        found = (session_of(turn) for turn in self.conversation.turns if turn.id and turn.id in evidence)
        return self.probe.sessions or tuple(dict.fromkeys(filter(None, found)))

    @property
    def difficulty(self) -> str | None:
        return None

    @property
    def tags(self) -> tuple[str, ...]:
        category = (self.probe.category,) if self.probe.category else ()
        return tuple(dict.fromkeys((*category, *self.conversation.tags)))

    def facts(self, ids: Iterable[str]) -> list[Fact]:
        """The facts of the conversation with these ids, in their order."""
        return [self.conversation.facts[id] for id in ids]

    @property
    def gold(self) -> list[Any]:
        """All that is known of the right answer."""
        probe = self.probe
        forms = [[fact.forms for fact in self.facts(ids)] for ids in (probe.expected, probe.forbidden)]
        known = [probe.answerable, forms, probe.answers, probe.evidence, probe.canaries]
        known += [probe.sessions] if probe.sessions else []
        return known if probe.patched is None else [*known, probe.patched.answers, probe.patched.evidence]

    def record(self) -> dict[str, Any]:
        """The part that the row of a case stores."""
        probe = self.probe
        return {
            "query": probe.question,
            "answerable": probe.answerable,
            "after_turn": probe.after_turn,
            "expected": [fact.value for fact in self.facts(probe.expected)],
            "answers": list(probe.answers),
            "gold": fingerprint(self.gold)[:16],
        }


@dataclass(frozen=True, slots=True)
class SeenFact:
    """`age`: turns since it was said; `updates`: of the memory, since then."""

    id: str
    value: str
    age: int
    updates: int
    shown: bool


@dataclass(frozen=True, slots=True)
class ProbedMemory:
    """`text`: the memory as the generator gets it, without the dates of turns, which state no facts."""

    case: ProbeCase
    text: str
    expected: Sequence[SeenFact]
    stale: Sequence[SeenFact]

    @classmethod
    def of(cls, case: ProbeCase, moment: Moment, context: BuiltContext) -> ProbedMemory:
        text = "\n".join(shown.text for shown in context.contexts)
        expected, stale = case.facts(case.probe.expected), case.facts(case.probe.forbidden)
        return cls(
            case,
            text,
            _seen_facts(expected, _which_remembered(text, expected), case, moment),
            _seen_facts(stale, _which_remembered(text, stale, expected), case, moment),
        )

    @staticmethod
    def share(facts: Sequence[SeenFact | bool]) -> float | None:
        """The part of the facts that show, 0..1; None without facts."""
        shown = [fact.shown if isinstance(fact, SeenFact) else fact for fact in facts]
        return sum(shown) / len(shown) if shown else None

    @property
    def is_current(self) -> float | None:
        """1 where all that is true shows and nothing that is not; None where nothing has changed."""
        if not self.expected or not self.stale:
            return None
        return float(all(fact.shown for fact in self.expected) and not any(fact.shown for fact in self.stale))

    def is_summary_current(self, moment: Moment) -> float | None:
        """Over the keys whose value changed in a summarised turn, and of which the summary and the entities hold any
        value: the share for which they hold the new one and no earlier one; None without such."""
        text = "\n".join((moment.remembered.memory, *(entity.value for entity in moment.remembered.entities)))
        probe = self.case.probe
        new = [fact for fact in self.case.facts(probe.expected) if fact.turn <= moment.taken_in]
        old = [fact for fact in self.case.facts(probe.forbidden) if fact.key]
        is_current = []
        for fact in new:
            past = _which_remembered(text, [other for other in old if other.key == fact.key], [fact])
            (true,) = _which_remembered(text, [fact])
            if past and (true or any(past)):
                is_current.append(true and not any(past))
        return self.share(is_current)

    def in_answer(self, answer: str, ids: Iterable[str], besides: Iterable[str] = ()) -> list[bool]:
        """For each fact, whether an answer shows it, and none of the facts `besides` in its place."""
        return _which_show(answer, self.case.facts(ids), self.case.facts(besides))

    def record(self) -> dict[str, Any]:
        return {
            "facts": [_fact_row(fact) for fact in self.expected],
            "stale": [_fact_row(fact) for fact in self.stale],
        }


def reference(case: ProbeCase, ids: Iterable[str]) -> list[str]:
    """Facts as a judge reads them."""
    return [f"{fact.key}: {fact.value}" if fact.key else fact.value for fact in case.facts(ids)]


def references(case: ProbeCase) -> list[str]:
    """Right answers as a judge reads them: each known answer, with the facts that it leaves out; without one, all
    facts. None where a part of the answer is in documents and no answer is known."""
    probe, facts = case.probe, case.facts(case.probe.expected)
    if not probe.answerable or not (probe.answers or (facts and not probe.notes)):
        return []
    written = list(zip(facts, reference(case, probe.expected), strict=True))
    return [
        "; ".join(filter(None, (answer, *(text for fact, text in written if not mentions(answer, fact.forms)))))
        for answer in probe.answers or ("",)
    ]


def moment_of(case: ProbeCase, moment: Moment) -> Moment:
    """The moment with the contexts of a probe in place of those of the memory: those with the id of a turn as retrieved
    turns, in their order, the others as its text. They are not cut."""
    contexts = case.probe.given.contexts
    if contexts is None:
        return moment
    turns = {turn.id or f"turn-{number}": (number, turn) for number, turn in enumerate(case.conversation.turns, 1)}
    other_contexts = [context for context in contexts if context.id not in turns]
    retrieved = tuple(
        ChatTurn(context.text, speaker=turn.speaker, said_at=turn.said_at, id=context.id, number=number)
        for context in contexts
        if context.id in turns
        for number, turn in (turns[context.id],)
    )
    texts = (f"{context.title}: {context.text}" if context.title else context.text for context in other_contexts)
    return replace(moment, remembered=MemoryContent("\n".join(texts), retrieved=retrieved, is_budgeted=False))


def guard(case: ProbeCase, moment: Moment, view: ProbedMemory) -> None:
    """Raises EvaluationError where a memory holds what was only said after the probe."""
    after = case.probe.after_turn
    turns = (*moment.remembered.recent, *moment.remembered.retrieved)
    if late := [turn.number for turn in turns if turn.number > after]:
        raise EvaluationError(f"the memory shows turn {late[0]} to a probe after turn {after}")
    later = [fact for fact in case.conversation.facts.values() if fact.turn > after]
    if any(_which_show(view.text, later)):
        turn_texts = "\n".join(f"{turn.user}\n{turn.assistant}" for turn in moment.turns)
        for fact in later:
            if mentions(view.text, fact.forms) and not mentions(turn_texts, fact.forms):
                raise EvaluationError(f"the memory holds '{fact.value}' of turn {fact.turn} after turn {after}")


def _which_show(text: str, facts: Iterable[Fact], besides: Iterable[Fact] = ()) -> list[bool]:
    told = as_statements(text) if "?" in text or "？" in text else text
    return find_facts(told, [fact.forms for fact in facts], [fact.forms for fact in besides])


def _which_remembered(text: str, facts: Iterable[Fact], besides: Sequence[Fact] = ()) -> list[bool]:
    """Whether each fact shows in a memory, where that speaks of what the fact is about."""
    return [flag for fact in facts for flag in _which_show(_text_about(text, fact), [fact], besides)]


def _text_about(text: str, fact: Fact) -> str:
    """What a memory says of the subject of a fact: of what its words name, else of the user."""
    if fact.about:
        return _sentences_about(text, fact.about)
    return without_others(text, " ".join((fact.key, *fact.forms)))


def _sentences_about(text: str, about: Sequence[Sequence[str]]) -> str:
    """The sentences that hold a word of each group, those without names together with the one before."""
    if not about:
        return text
    sentences = []
    for line in text.splitlines():
        before = ""
        for sentence in split_sentences(line):
            passage = sentence if names(sentence) else f"{before} {sentence}"
            if all(mentions(passage, group) for group in about):
                sentences.append(sentence)
            before = sentence
    return "\n".join(sentences)


def _seen_facts(facts: Sequence[Fact], flags: Sequence[bool], case: ProbeCase, moment: Moment) -> list[SeenFact]:
    after = case.probe.after_turn
    return [
        SeenFact(fact.id, fact.value, after - fact.turn, moment.updates_since(fact.turn), is_shown)
        for fact, is_shown in zip(facts, flags, strict=True)
    ]


def _fact_row(fact: SeenFact) -> dict[str, Any]:
    return {name: getattr(fact, name) for name in ("id", "value", "age", "updates", "shown")}
