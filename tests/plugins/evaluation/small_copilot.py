"""A copilot over three documents, with a retriever that goes by words and conversations of a few turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from plugins.evaluation.copilot import Copilot
from plugins.memory.full_history import FullHistoryMemory
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.records import Conversation, Fact, Probe
from runner.llm.projection import Projection
from runner.records import (
    Answer,
    Assessment,
    Chunk,
    Context,
    Corpus,
    DataSet,
    Document,
    Judgement,
    Query,
    Ranking,
    Scores,
    ToolCall,
    Trajectory,
)
from runner.system.store import Store
from tests.plugins.evaluation.small_retrieval import retrieval
from tests.runner.domains.memory.talks import talk

TEXTS = {"budget": "Budgets warn at 80 %.", "export": "Reports are exported as CSV.", "seats": "Seats cost $5."}
MENU = "Nothing was found. See the menu."


class Data:
    def load(self) -> DataSet:
        documents = [Document(id, text) for id, text in TEXTS.items()]
        chunks = [Chunk(f"{id}#0", id, text, 0, len(text)) for id, text in TEXTS.items()]
        return DataSet(Corpus(documents, chunks, "f"), ())


@dataclass
class ByName:
    """Finds the documents whose ids stand in the question; an agent says that there is none where it finds none."""

    is_agent: bool = False
    asked: list[str] = field(default_factory=list)

    def index(self, corpus: Corpus, workspace: Any) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self.asked += [query.text for query in queries]
        return [self._ranking(query.text.casefold()) for query in queries]

    def _ranking(self, text: str) -> Ranking:
        ids = tuple(f"{id}#0" for id in TEXTS if id in text)
        scores = tuple(1.0 - place / 10 for place in range(len(ids)))
        call = ToolCall("search_all", {}, ids, Assessment(ids))
        told = Trajectory((call,), "sufficient") if ids else Trajectory((call,), "calls_spent", "not_found", MENU, 0.1)
        return Ranking(ids, scores, scores, trajectory=told if self.is_agent else None)


@dataclass
class Says:
    answers: Mapping[str, str] = field(default_factory=dict)
    given: dict[str, tuple[Query, Sequence[Context]]] = field(default_factory=dict)

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        self.given[query.id] = query, contexts
        text = self.answers.get(query.text)
        return Answer("I do not know.", refused=True) if text is None else Answer(text)


@dataclass
class Grades:
    on_failure: Literal["zero", "exclude"] = "zero"
    fails: bool = False
    baseline: bool = False  # without a model
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        self.asked.append((rubric, fields))
        if self.fails:
            return Judgement(None, error="no reply")
        names = ("relevance", "completeness", "accuracy", "noise")
        return Judgement(0.75, details={"scores": {name: {"score": 7, "reason": ""} for name in names}})


@dataclass
class Given:
    conversations: Sequence[Conversation]

    def load(self) -> tuple[Sequence[Conversation], tuple[()]]:
        return self.conversations, ()


TALK = talk(
    "How do I export reports?",
    "And seats?",
    "Our budget is $900.",
    "What is our budget, and when do budgets warn?",
    "What is our budget?",
    "Who built the pyramids?",
    facts={"money": Fact("money", "$900", 3, "budget")},
    probes=(
        Probe("export", "How do I export reports?", 0, notes=("export",)),
        Probe("seats", "And seats?", 1, notes=("seats",), answers=("$5",)),
        Probe("both", "What is our budget, and when do budgets warn?", 3, expected=("money",), notes=("budget",)),
        Probe("money", "Which amount of money was told?", 4, expected=("money",), answers=("$900",), evidence=("t3",)),
        Probe("never", "Who built the pyramids?", 5, answerable=False),
    ),
)
ANSWERS = {
    "How do I export reports?": "As CSV [1].",
    "And seats?": "$5 [1]",
    "What is our budget, and when do budgets warn?": "At 80 % [1].",
    "Which amount of money was told?": "$900",
}


def copilot(retriever: Any = None, memory: Any = FullHistoryMemory, talk: Conversation = TALK, **parts: Any) -> Copilot:
    unit: Any = {"model": "openai:x", "input_tokens": 1, "output_tokens": 1, "usd": 0.001}
    given: dict[str, Any] = {
        "scenario": Given([talk]),
        "context": ContextBuilder(encoding="estimate"),
        "generator": Says(ANSWERS),
        "judge": Grades(),
        "high": 0.6,
        "projection": Projection(providers={}, update=unit, rerank=unit, answer=unit),
        "memory": memory(store=LocalStore(), summariser=ExtractiveSummariser()) if isinstance(memory, type) else memory,
        **parts,
    }
    return Copilot(retrieval=retrieval(Data(), retriever or ByName()), **given)


async def scored(tested: Copilot, folder: Path) -> dict[str, tuple[Scores, Any]]:
    cases = tested.load().cases
    found = {}
    async with tested.open():
        await tested.prepare(cases, Store(folder, {id(tested.retrieval.retriever): "words"}))
        for case in cases:
            output = await tested.run(case)
            found[case.probe.id] = tested.score(case, output, await tested.judge(case, output)), output
    return found
