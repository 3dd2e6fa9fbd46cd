"""Facts of which one is contradicted later, in the format of the memory updates of letta-evals.

A line is {"input": question, "ground_truth": answer, "agent_args": {"extra": {"facts": [texts], "contradicting_fact":
text, "supporting_fact_indices": [numbers from 0]}}}: what the question asked for before and what it asks for now.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Annotated

from pydantic import Field

from runner.data.fields import Fields
from runner.data.files import missing_files
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.domains.memory.records import ChatTurn, Conversation, Fact, Probe
from runner.errors import DataError, Problem
from runner.records import DataProblem
from runner.text.matching import mentions, shows
from runner.text.names import names
from runner.text.words import Word, content_words, is_content, words

KEY = "scenario.path"
CATEGORY = "update"
NOTED = "Noted."
SHORT = 2  # letters of a word that is no name
_IS_NAME = re.compile(r"(?:[A-Z][\w'’.-]+ ?){2,3}")
_WHO = re.compile(r"(?:person|people|individual|friend|one)s?", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*")
_IN_BRACKETS = re.compile(r"\(([^()]+)\)")
AFTERWARDS = (
    ("Thanks. That is all I have for now.", "You are welcome."),
    ("Could you keep your replies short, please?", "Of course."),
    ("I am going to get a coffee.", "Enjoy it."),
    ("I am back.", "Welcome back."),
    ("It is rather quiet here today.", "Then there is time to think."),
    ("I had a good lunch.", "Glad to hear it."),
    ("Do you ever get tired?", "No, I am fine."),
    ("It looks like rain outside.", "An umbrella may help."),
    ("I am almost done for today.", "Good work."),
)


class LettaScenarios:
    """One conversation a line: a turn a fact, the contradicting one, `turns_after` turns about nothing, the question.

    What a probe expects is what changed, not the sentence that told it: the gold answer, as it is or as the update
    words it, where the memory speaks of somebody whom the question names. What must no longer show is what the update
    took out of a fact, or the whole fact where that still stands in the update. The contradicting fact has the key of
    those that it takes the place of.
    """

    def __init__(self, *, path: str, turns_after: Annotated[int, Field(ge=0)] = 9, strict: bool = False) -> None:
        self.path = path
        self.turns_after = turns_after
        self.strict = strict

    def preflight(self) -> list[Problem]:
        return missing_files([self.path], KEY, DataError)

    def load(self) -> tuple[list[Conversation], tuple[DataProblem, ...]]:
        log = ProblemLog(strict=self.strict)
        lines = read_jsonl(self.path, KEY, log, DataError)
        read = [self._conversation(Fields(data, self.path, line, log)) for line, data in lines]
        conversations = [conversation for conversation in read if conversation is not None]
        log.stop_if_strict()
        if not conversations:
            raise DataError(f"{KEY}: no conversations in {self.path}{why_empty(log, self.path)}")
        return conversations, log.problems

    def _conversation(self, fields: Fields) -> Conversation | None:
        question, answer = fields.required_text("input"), fields.required_text("ground_truth")
        agent = fields.object("agent_args")
        case = agent.object("extra")
        texts = (*case.texts("facts"), case.required_text("contradicting_fact").strip('"'))
        old = _replaced_turns(case, len(texts) - 1)
        if fields.failed or agent.failed or case.failed:
            return None
        update = len(texts)
        key = f"fact-{min(old)}"
        about = _about(question, answer, texts[-1])
        facts = [
            Fact(f"fact-{turn}", _outdated_words(text, texts[-1]), turn, key, about=about)
            if turn in old
            else Fact(f"fact-{turn}", text.rstrip("."), turn, f"fact-{turn}")
            for turn, text in enumerate(texts[:-1], 1)
        ]
        value, *aliases = _forms(answer, texts[-1], [texts[turn - 1] for turn in old])
        facts.append(Fact("update", value, update, key, tuple(aliases), about))
        ids = [fact.id for fact in facts]
        turns = [ChatTurn(text, NOTED, id=id) for id, text in zip(ids, texts, strict=True)]
        turns += [ChatTurn(user, reply) for user, reply in islice(cycle(AFTERWARDS), self.turns_after)]
        probe = Probe(
            id="changed",
            question=question,
            after_turn=len(turns),
            expected=("update",),
            forbidden=tuple(f"fact-{turn}" for turn in old),
            answers=(answer,),
            evidence=("update",),
            category=CATEGORY,
        )
        return Conversation(
            id=f"update-{fields.line}",
            turns=tuple(_number(turn, number) for number, turn in enumerate(turns, 1)),
            probes=(probe,),
            facts={fact.id: fact for fact in facts},
            language="en",
        )


def _about(question: str, answer: str, update: str) -> tuple[tuple[str, ...], ...]:
    """Groups of words of a question that the update repeats: those of names that are not the answer; where the answer
    is a name, the others too."""
    named = {part for name in names(question) for part in name.split()}
    who = tuple(sorted(part for part in named if len(part) > SHORT and not mentions(answer, [part])))
    rest = {word.text.removesuffix("'s") for word in content_words(question)} - named
    topic = tuple(sorted(word for word in rest if _WHO.fullmatch(word) is None)) if _IS_NAME.fullmatch(answer) else ()
    groups = (tuple(word for word in group if mentions(update, [word])) for group in (who, topic))
    return tuple(group for group in groups if group)


def _forms(answer: str, update: str, old: Sequence[str]) -> list[str]:
    """The gold answer, with and without what it says in brackets, and where the update says none of these, what it
    says that no old fact does; at last all of it."""
    plain = answer.rstrip(".")
    inner = [part.removeprefix("or ") for part in _IN_BRACKETS.findall(plain)]
    forms = [plain, *dict.fromkeys([_BRACKETS.sub(" ", plain).strip(), *inner] if inner else [])]
    if not shows(update, forms):
        forms += sorted(_new_words(update, old), key=len, reverse=True)[:1]
    if not shows(update, forms):
        forms.append(update.rstrip("."))
    return forms


def _outdated_words(fact: str, update: str) -> str:
    """The longest run of words of a fact that is not in the update, or the fact where there is none."""
    runs = [run for run in _new_words(fact, [update]) if shows(fact, [run]) and not shows(update, [run])]
    return max(runs, key=len, default=fact.rstrip("."))


def _new_words(text: str, others: Sequence[str]) -> list[str]:
    """Runs of words that are in none of the other texts in any inflection, from a full word to a full word."""
    known_forms = {form for other in others for word in words(other) for form in word.forms}
    runs: list[list[Word]] = [[]]
    for word in words(text):
        if word.forms.isdisjoint(known_forms) or (runs[-1] and not is_content(word.text)):
            runs[-1].append(word)
        elif runs[-1]:
            runs.append([])
    return [_text_of(text, run) for run in runs if any(is_content(word.text) for word in run)]


def _text_of(text: str, run: Sequence[Word]) -> str:
    full = [word for word in run if is_content(word.text)]
    return text[full[0].start : full[-1].start + len(full[-1].text)].removesuffix("'s")


def _replaced_turns(fields: Fields, n_facts: int) -> tuple[int, ...]:
    """Turns, from 1, of the facts that are no longer true."""
    name = "supporting_fact_indices"
    indices = fields.items(name) or []
    right = [index for index in indices if isinstance(index, int) and 0 <= index < n_facts]
    if not right or right != indices:
        fields.wrong(name, f"a list of numbers from 0 to {n_facts - 1}", fields.data.get(name))
    return tuple(index + 1 for index in right)


def _number(turn: ChatTurn, number: int) -> ChatTurn:
    return ChatTurn(turn.user, turn.assistant, id=turn.id, number=number)
