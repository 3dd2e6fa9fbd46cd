"""What of a memory, and of documents beside it, a model gets to see: sections, each with a budget of tokens.

    system      never cut; over its budget, the context says so
    memory      the summary; whole sentences go from its end (a summary begins with what matters most)
    entities    the oldest go first
    recent      whole turns, the oldest first
    retrieved   whole turns, the worst first
    documents   whole chunks, the worst first; only where documents are looked for beside the memory
    question    never cut, like the system text

What would stay longest but is over the budget alone (the first sentence, the newest entity, the newest turn, the best
turn or chunk) is cut at the end of a sentence, else at a space, else where the budget ends, and marked. What one
section leaves of its budget is given to no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

from pydantic import Field

from runner.domains.memory.records import ChatTurn, Entity, MemoryContent, Section, SectionName
from runner.domains.memory.shortening import largest_fitting, shorten_text, whole_sentences
from runner.errors import Problem
from runner.llm.provider import replace_surrogates
from runner.llm.tokens import Counter, Encoding, counter, encoding_problem, is_exact
from runner.records import Context
from runner.text.language import Language, detect_language

NAMES: tuple[SectionName, ...] = ("memory", "entities", "recent", "retrieved", "documents", "question")
PROMPT: frozenset[SectionName] = frozenset(("system", "question"))  # sections that are no part of what is remembered
LABELS: Mapping[Language, tuple[str, str]] = {"en": ("User", "Assistant"), "ko": ("사용자", "어시스턴트")}

Tokens = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class BuiltContext:
    """`sections`: all in the order of NAMES (`documents` where any were looked for), before them `system` where a model
    is asked; `recent` has its turns oldest first, `retrieved` and `documents` best first. `contexts`, for a generator:
    retrieved turns in the order in which they were said, the summary, the entities, recent turns, so that what stands
    later is newer (no summary is older than a turn that is no recent one). `sent_tokens`: of all messages to the model,
    with what fences the sections; None where none is asked."""

    sections: tuple[Section, ...]
    contexts: tuple[Context, ...]
    documents: tuple[Context, ...] = ()
    sent_tokens: int | None = None

    def section(self, name: SectionName) -> Section:
        """Raises KeyError for `documents` where none were looked for."""
        return {section.name: section for section in self.sections}[name]

    @property
    def tokens(self) -> int:
        """The tokens of all that is sent; of all sections where no model is asked."""
        return sum(section.tokens for section in self.sections) if self.sent_tokens is None else self.sent_tokens

    @property
    def remembered_tokens(self) -> int:
        """The tokens of what is remembered and of documents: all sections but the system prompt and the question."""
        return sum(section.tokens for section in self.sections if section.name not in PROMPT)

    @property
    def memory_text(self) -> str:
        """All that is shown but the entities, for judges."""
        return _join([context for context in self.contexts if context.id != "entities"])

    @property
    def entities_text(self) -> str:
        """The section of entities; empty without entities."""
        return self.text_of("entities")

    def text_of(self, id: str) -> str:
        """The text of the contexts with this id."""
        return _join([context for context in self.contexts if context.id == id])

    @property
    def over(self) -> Mapping[SectionName, int]:
        """Sections that take more than their budget, since they are never cut -> tokens beyond it."""
        return {
            section.name: section.tokens - section.budget
            for section in self.sections
            if section.budget is not None and section.tokens > section.budget
        }


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a section that fits its budget. `contexts`: those with the number of their turn (of their place, for
    chunks)."""

    contexts: tuple[tuple[int, Context], ...] = ()
    cut: str = ""


class ContextBuilder:
    """Budgets are in tokens; 0 leaves a section out. `encoding`: auto (o200k_base with the extra `tokens`,
    else an estimate) | o200k_base | cl100k_base | estimate. A section has as many tokens as each of its texts has
    alone: the summary, the list of entities, every turn and its date, every chunk and its title. What fences them in a
    prompt comes on top. The system prompt is never cut; one over its budget says so (`BuiltContext.over`)."""

    def __init__(
        self,
        *,
        system_tokens: Tokens = 1500,
        memory_tokens: Tokens = 500,
        entities_tokens: Tokens = 200,
        recent_tokens: Tokens = 1500,
        retrieved_tokens: Tokens = 1500,
        question_tokens: Tokens = 100,
        documents_tokens: Tokens = 1500,
        encoding: Encoding = "auto",
    ) -> None:
        of_memory = (memory_tokens, entities_tokens, recent_tokens, retrieved_tokens)
        tokens = (*of_memory, documents_tokens, question_tokens)
        self.budgets: Mapping[SectionName, int] = {"system": system_tokens, **dict(zip(NAMES, tokens, strict=True))}
        self.encoding = encoding

    @property
    def provenance(self) -> Mapping[str, str]:
        """How tokens are counted here."""
        return {"encoding": ("o200k_base" if is_exact() else "estimate") if self.encoding == "auto" else self.encoding}

    def preflight(self) -> Sequence[Problem]:
        problem = encoding_problem(self.encoding, "context.encoding")
        return [] if problem is None else [problem]

    @cached_property
    def count(self) -> Counter:
        """Raises ConfigError where the encoding is not installed."""
        return counter(self.encoding)

    def build(
        self,
        remembered: MemoryContent,
        question: str,
        language: str | None = None,
        documents: Sequence[Context] | None = None,
    ) -> BuiltContext:
        """Build the context of a question. `language` (ko, en; None: that of the question) is that of the words User
        and Assistant. `documents`, best first, are cut to their budget, whatever the memory demands for itself; None:
        no documents were searched. Raises ConfigError where the encoding is not installed."""
        known_languages: dict[str | None, Language] = {"ko": "ko", "en": "en"}
        speech_language = known_languages.get(language) or detect_language(question)
        free = {} if remembered.is_budgeted else dict.fromkeys(NAMES)
        budgets: Mapping[SectionName, int | None] = {**self.budgets, **free, "documents": self.budgets["documents"]}
        newest_first = self._turns(remembered.recent[::-1], budgets["recent"], speech_language)
        parts: dict[SectionName, _Part] = {
            "memory": self._memory(replace_surrogates(remembered.memory).strip(), budgets["memory"]),
            "entities": self._entities(remembered.entities, budgets["entities"]),
            "recent": _Part(newest_first.contexts[::-1], newest_first.cut),
            "retrieved": self._turns(remembered.retrieved, budgets["retrieved"], speech_language),
        }
        if documents is not None:
            parts["documents"] = self._chunks(documents, budgets["documents"])
        asked = replace_surrogates(question)
        sections = tuple(
            Section(name, asked, self.count(asked), budgets[name])
            if name == "question"
            else self._section(name, parts[name], budgets[name])
            for name in NAMES
            if name == "question" or name in parts
        )
        retrieved = sorted(parts["retrieved"].contexts, key=lambda turn: turn[0])
        shown = (*retrieved, *parts["memory"].contexts, *parts["entities"].contexts, *parts["recent"].contexts)
        chunks = parts["documents"].contexts if "documents" in parts else ()
        return BuiltContext(sections, tuple(context for _, context in shown), tuple(context for _, context in chunks))

    def add_prompt(self, context: BuiltContext, messages: Sequence[tuple[str, str]]) -> BuiltContext:
        """The context with the section `system` and the tokens of all `messages` (role, text) to a model; unchanged
        without messages."""
        if not messages:
            return context
        text = "\n\n".join(text for role, text in messages if role == "system")
        system = Section("system", text, self.count(text), self.budgets["system"])
        sent_tokens = sum(self.count(text) for _, text in messages)
        return replace(context, sections=(system, *context.sections), sent_tokens=sent_tokens)

    def _section(self, name: SectionName, part: _Part, budget: int | None) -> Section:
        contexts = [context for _, context in part.contexts]
        return Section(name, _join(contexts), sum(map(self._size, contexts)), budget, part.cut)

    def _size(self, context: Context) -> int:
        return self.count(context.title) + self.count(context.text)

    # --- what is cut ----------------------------------------------------------------------------------

    def _memory(self, memory: str, budget: int | None) -> _Part:
        text, n_cut = (memory, 0) if budget is None else whole_sentences(memory, budget, self.count)
        cut_text = _count_text(n_cut, "sentence")
        if not text and memory and budget is not None and (text := shorten_text(memory, budget, self.count)):
            cut_text = _cut_short("sentence", n_cut)
        return _Part(((0, Context("memory", text)),) if text else (), cut_text)

    def _entities(self, entities: Sequence[Entity], budget: int | None) -> _Part:
        lines = [_line(entity) for entity in entities]
        n = len(lines)
        if budget is not None:
            n = largest_fitting(n, lambda n: self.count("\n".join(lines[-n:])) <= budget)
        text, cut_text = "\n".join(lines[-n:] if n else ()), _count_text(len(lines) - n, "entity")
        if lines and budget is not None and not n and (text := shorten_text(lines[-1], budget, self.count)):
            cut_text = _cut_short("entity", len(lines))
        return _Part(((0, Context("entities", text)),) if text else (), cut_text)

    def _turns(self, turns: Sequence[ChatTurn], budget: int | None, language: Language) -> _Part:
        return self._fitting_whole([(turn.number, _context(turn, language)) for turn in turns], budget, "turn")

    def _chunks(self, documents: Sequence[Context], budget: int | None) -> _Part:
        chunks = [Context(each.id, replace_surrogates(each.text), replace_surrogates(each.title)) for each in documents]
        return self._fitting_whole(list(enumerate(chunks, 1)), budget, "chunk")

    def _fitting_whole(self, contexts: Sequence[tuple[int, Context]], budget: int | None, noun: str) -> _Part:
        """The first ones stay longest."""
        numbered: list[tuple[int, Context]] = []
        left = budget
        for number, context in contexts:
            if left is not None and (left := left - self._size(context)) < 0:
                break
            numbered.append((number, context))
        if contexts and not numbered and budget is not None:
            number, context = contexts[0]
            if text := shorten_text(context.text, budget - self.count(context.title), self.count):
                short = Context(context.id, text, context.title)
                return _Part(((number, short),), _cut_short(noun, len(contexts)))
        return _Part(tuple(numbered), _count_text(len(contexts) - len(numbered), noun))


def render_turn(turn: ChatTurn, language: Language) -> str:
    """The speakers and their words, a line each. Further lines of a text are indented, so that a text cannot imitate
    the words of another speaker."""
    user, assistant = LABELS[language]
    said = ((" ".join(turn.speaker.split()) or user, turn.user), (assistant, turn.assistant))
    return "\n".join(
        f"{label}: " + "\n  ".join(text.strip().splitlines()) for label, text in said if text and not text.isspace()
    )


def _context(turn: ChatTurn, language: Language) -> Context:
    title = replace_surrogates(" ".join(turn.said_at.split()))
    return Context(turn.id or f"turn-{turn.number}", replace_surrogates(render_turn(turn, language)), title)


def _line(entity: Entity) -> str:
    return replace_surrogates(f"- {' '.join(entity.key.split())}: {' '.join(entity.value.split())}")


def _join(contexts: Sequence[Context]) -> str:
    return "\n\n".join(f"# {context.title}\n{context.text}" if context.title else context.text for context in contexts)


def _count_text(n: int, noun: str) -> str:
    """`2 turns`; empty for 0."""
    several = "entities" if noun == "entity" else f"{noun}s"
    return f"{n} {noun if n == 1 else several}" if n else ""


def _cut_short(noun: str, n: int) -> str:
    """The words for: one of `n` was cut short, the others are left out."""
    return ", ".join(filter(None, (f"the end of 1 {noun}", _count_text(n - 1, noun))))
