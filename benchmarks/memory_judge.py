"""Whether the lexical judge of memories tells one that holds the evidence of a question from one that does not.

    python benchmarks/memory_judge.py [FILE] [--others 10] [--every 1]

FILE: conversations as LoCoMo has them; default: ../shared/data/locomo_noncommercial/locomo_a.json.

For each question with an answer and evidence, two memories are judged: the turns of its evidence among `--others`
other turns of the conversation, in their order and with their dates, and these others alone. The others are drawn with
a seed (`drawn`), or are the ones that share most with the question by BM25 (`closest`). AUC is the chance that of any
memory with and any without evidence, of whatever questions, the one with it has the higher overall score; `pairs` is
the share of questions for which it has (ties count half). `answer known`: the judge is given the published answer as
what is true, as evaluation=memory does; `unknown`: it is given nothing, as in `chat`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import asyncio
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from plugins.judge.lexical import LexicalJudge
from plugins.scenario.locomo import LocomoScenarios
from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.records import ChatTurn, Conversation, MemoryContent, Probe
from runner.domains.memory.turn_index import TERMS, TurnIndex

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "locomo_noncommercial" / "locomo_a.json"
SEED = 42
ALL = "all"


@dataclass
class Scored:
    """Overall scores, a question each."""

    evidence: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)

    @property
    def auc(self) -> float:
        """Mann and Whitney (1947)."""
        n, ranks = len(self.evidence), rankdata([*self.evidence, *self.others])
        return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * len(self.others)))

    @property
    def pairs(self) -> float:
        return float(np.mean([(a > b) + 0.5 * (a == b) for a, b in zip(self.evidence, self.others, strict=True)]))


def measured(path: str, others: str, *, known: bool, n: int = 10, every: int = 1) -> dict[str, Scored]:
    """By category, and of all; of every so many questions one."""
    return asyncio.run(_measured(path, others, known, n, every))


async def _measured(path: str, others: str, known: bool, n: int, every: int) -> dict[str, Scored]:
    conversations, _ = LocomoScenarios(path=path).load()
    judge, builder = LexicalJudge(), ContextBuilder(encoding="estimate")
    scored: dict[str, Scored] = defaultdict(Scored)
    cases = [case for conversation in conversations for case in _cases(conversation, others, n)]
    for probe, evidence, rest in cases[::every]:
        scores = []
        for turns in ((*evidence, *rest), rest):
            shown = MemoryContent(recent=tuple(sorted(turns, key=lambda turn: turn.number)), is_budgeted=False)
            fields = {
                "question": probe.question,
                "memory": builder.build(shown, probe.question, "en").memory_text,
                "entities": "",
                "reference": list(probe.answers) if known else [],
                "stale": [],
                "language": "en",
            }
            scores.append((await judge.judge("memory", fields)).score or 0.0)
        for category in (ALL, probe.category):
            scored[category].evidence.append(scores[0])
            scored[category].others.append(scores[1])
    return scored


def _cases(
    conversation: Conversation, others: str, n: int
) -> Iterator[tuple[Probe, Sequence[ChatTurn], Sequence[ChatTurn]]]:
    drawing, index = random.Random(SEED), TurnIndex(TERMS["auto"], k1=1.5, b=0.75)
    for turn in conversation.turns:
        index.add(turn)
    for probe in conversation.probes:
        if not probe.answerable or not probe.evidence:
            continue
        evidence = [turn for turn in conversation.turns if turn.id in probe.evidence]
        rest = [turn for turn in conversation.turns if turn.id not in probe.evidence]
        numbers = {turn.number for turn in evidence}
        closest = index.best(probe.question, n, numbers)
        yield probe, evidence, drawing.sample(rest, n) if others == "drawn" else closest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=str(DEFAULT))
    parser.add_argument("--others", type=int, default=10, help="turns beside the evidence")
    parser.add_argument("--every", type=int, default=1, help="take one of so many questions")
    asked = parser.parse_args()
    print(f"{'others':8} {'answer':8} {'category':12} {'n':>5} {'AUC':>6} {'pairs':>6}")
    for others in ("drawn", "closest"):
        for known in (True, False):
            scored = measured(asked.file, others, known=known, n=asked.others, every=asked.every)
            for category, each in sorted(scored.items()):
                told = f"{others:8} {'known' if known else 'unknown':8} {category:12} {len(each.others):5}"
                print(f"{told} {each.auc:6.3f} {each.pairs:6.3f}")


if __name__ == "__main__":
    main()
