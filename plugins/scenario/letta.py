"""Facts of which one is contradicted later, in the format of the memory updates of letta-evals.

A line is {"input": question, "ground_truth": answer, "agent_args": {"extra": {"facts": [texts], "contradicting_fact":
text, "supporting_fact_indices": [numbers from 0]}}}: what the question asked for before and what it asks for now.
"""

from __future__ import annotations

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

KEY = "scenario.path"
CATEGORY = "update"
NOTED = "Noted."
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

    Facts are told by the whole sentence, since the words that changed mostly stand in other facts too. The
    contradicting fact has the key of those that it takes the place of.
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
        said = (*case.texts("facts"), case.required_text("contradicting_fact").strip('"'))
        old = _replaced(case, len(said) - 1)
        if fields.failed or agent.failed or case.failed:
            return None
        update = len(said)
        key = f"fact-{min(old)}"
        facts = [
            Fact(id=f"fact-{turn}", value=text.rstrip("."), turn=turn, key=key if turn in old else f"fact-{turn}")
            for turn, text in enumerate(said[:-1], 1)
        ]
        facts.append(Fact("update", said[-1].rstrip("."), update, key))
        ids = [fact.id for fact in facts]
        turns = [ChatTurn(text, NOTED, id=id) for id, text in zip(ids, said, strict=True)]
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
            turns=tuple(_numbered(turn, number) for number, turn in enumerate(turns, 1)),
            probes=(probe,),
            facts={fact.id: fact for fact in facts},
            language="en",
        )


def _replaced(fields: Fields, n_facts: int) -> tuple[int, ...]:
    """Turns, from 1, of the facts that are no longer true."""
    name = "supporting_fact_indices"
    indices = fields.items(name) or []
    right = [index for index in indices if isinstance(index, int) and 0 <= index < n_facts]
    if not right or right != indices:
        fields.wrong(name, f"a list of numbers from 0 to {n_facts - 1}", fields.data.get(name))
    return tuple(index + 1 for index in right)


def _numbered(turn: ChatTurn, number: int) -> ChatTurn:
    return ChatTurn(turn.user, turn.assistant, id=turn.id, number=number)
