"""An evaluation that asks a pretended model within a pretended budget, both kept in files beside the run.

`asked.txt` has a line for every case of every run that was begun, `prepared.txt` one for every preparation, and
`loaded.txt` one for every time that a run read its questions.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.errors import BudgetSpentError, CorpusError, InputError, StopRunError
from runner.llm.models import Models
from runner.protocols import Workspace
from runner.records import CaseSet, Judgements, Preparation, Scores, Timing


@dataclass(frozen=True)
class Question:
    id: str
    language: str | None = "en"
    difficulty: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    text: str
    timings: Mapping[str, Timing] = field(default_factory=dict)

    def record(self) -> Mapping[str, Any]:
        return {"text": self.text}


class Spending:
    """`name` tells runs of a sweep apart. What happens when is read from files, which a second start may change:
    a budget of `limit.txt` asked cases, and in `events.txt` lines such as `stop 7` (at the case that is begun as
    the seventh, counted over all runs), `break q03` (whenever this case is run) or `corpus a` (in the run a)."""

    def __init__(self, *, models: Models, name: str = "a", n: int = 25, backwards: bool = False) -> None:
        self.models, self.name, self.n, self.backwards = models, name, n, backwards

    def load(self) -> CaseSet[Question]:
        if not self._is_rehearsed():
            _noted("loaded.txt", self.name)
        cases = [Question(f"q{number:02}") for number in range(self.n)]
        return CaseSet(tuple(reversed(cases) if self.backwards else cases), (), {"questions": str(self.n)})

    async def prepare(self, cases: Sequence[Question], workspace: Workspace) -> Preparation:
        if self._is_rehearsed():
            return Preparation()
        number = _noted("prepared.txt", self.name)
        if self._happens("corpus", self.name):
            raise CorpusError("there is no index")
        if self._happens("down", number):
            raise StopRunError("the server is down")
        return Preparation({"pi": 3.14, "of": self.name, "none": {}}, {"prepared": number})

    async def run(self, case: Question) -> Reply:
        if self._is_rehearsed():
            return Reply(case.id)
        number = _noted("asked.txt", f"{self.name} {case.id}")
        if number > int(_lines("limit.txt")[0]):
            raise BudgetSpentError("budget.requests: 30 are spent")
        if self._happens("stop", number):
            raise StopRunError("the key is refused")
        if self._happens("input", number):
            raise InputError("the model is unknown")
        if self._happens("break", case.id):
            raise ValueError("on purpose")
        if self._happens("kill", number):
            os.kill(os.getpid(), signal.SIGKILL)
        if self._happens("interrupt", number):
            os.kill(os.getpid(), signal.SIGINT)
        if self._happens("interrupt", number) or self._happens("hang", number):
            await asyncio.sleep(60)
        return Reply(case.id)

    async def judge(self, case: Question, output: Reply) -> Judgements:
        return {}

    def score(self, case: Question, output: Reply | None, judgements: Judgements) -> Scores:
        return Scores({"score": int(case.id[1:]) / 100}) if output else Scores({}, unscored=("score",))

    def _is_rehearsed(self) -> bool:
        """The command counts what it will ask before it starts."""
        return self.models._door.rehearsal is not None

    def _happens(self, what: str, when: int | str) -> bool:
        return f"{what} {when}" in _lines("events.txt")


def _lines(name: str) -> list[str]:
    return Path(name).read_text(encoding="utf-8").splitlines()


def _noted(name: str, line: str) -> int:
    """The number of the line in its file."""
    with Path(name).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    return len(_lines(name))
