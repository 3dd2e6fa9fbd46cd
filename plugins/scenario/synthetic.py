"""Conversations made from a seed, without a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from runner.domains.memory.phrases import Phrases
from runner.domains.memory.records import Conversation
from runner.domains.memory.synthesis import length, write_script
from runner.domains.memory.synthetic_probes import probes
from runner.errors import Problem
from runner.records import DataProblem

FOLDER = Path(__file__).parent / "synthetic_data"
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which look like digits


class SyntheticScenarios:
    """`updates`: share of facts that change; `unanswerable`: share of probes about facts that are never stated.
    Languages and tenants take turns. Each tenant has a code that its conversations state, and that must not show in
    those of any other."""

    def __init__(
        self,
        *,
        conversations: Annotated[int, Field(ge=1)] = 60,
        turns_min: Annotated[int, Field(ge=5)] = 10,
        turns_max: Annotated[int, Field(ge=5)] = 200,
        languages: Annotated[list[Literal["ko", "en"]], Field(min_length=1)] | None = None,
        tenants: Annotated[int, Field(ge=1, le=99)] = 4,
        updates: Annotated[float, Field(ge=0, le=1)] = 0.4,
        unanswerable: Annotated[float, Field(ge=0, le=1)] = 0.15,
        seed: int = 42,
    ) -> None:
        self.conversations = conversations
        self.turns_min = turns_min
        self.turns_max = turns_max
        self.languages = languages if languages is not None else ["ko", "en"]
        self.tenants = tenants
        self.updates = updates
        self.unanswerable = unanswerable
        self.seed = seed

    def preflight(self) -> list[Problem]:
        if self.turns_min <= self.turns_max:
            return []
        expected = f"expected at least scenario.turns_min ({self.turns_min}), found {self.turns_max}"
        return [Problem("scenario.turns_max", expected)]

    def load(self) -> tuple[list[Conversation], tuple[DataProblem, ...]]:
        phrases = [Phrases.read(FOLDER / f"{language}.yaml") for language in self.languages]
        codes = self._codes()
        made = [self._conversation(n, phrases[n % len(phrases)], codes) for n in range(self.conversations)]
        return made, ()

    def _conversation(self, number: int, phrases: Phrases, codes: list[str]) -> Conversation:
        random = Random(f"{self.seed}/{number}")
        tenant = (number // len(self.languages)) % self.tenants
        n_turns = length(random, self.turns_min, self.turns_max)
        script = write_script(random, phrases, n_turns, self.updates, codes[tenant])
        chosen_probes = probes(random, phrases, script, self.unanswerable)
        canaries = tuple(code for code in codes if code != codes[tenant])
        return Conversation(
            id=f"{phrases.language}-{number + 1:04d}",
            turns=tuple(script.turns),
            probes=tuple(replace(probe, canaries=canaries) for probe in chosen_probes),
            facts={fact.id: fact for fact in script.facts},
            language=phrases.language,
            tenant=f"tenant-{tenant + 1}",
            tags=("synthetic",),
        )

    def _codes(self) -> list[str]:
        """Numbered, so that no two tenants have the same."""
        random = Random(f"{self.seed}/codes")
        return [
            f"{random.choice(LETTERS)}{random.choice(LETTERS)}-{random.randint(10, 99)}{n:02d}"
            for n in range(self.tenants)
        ]
