"""Conversations with a copilot, about documents that come with the program, in Korean and English."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from runner.data.problems import ProblemLog
from runner.domains.memory.records import Conversation
from runner.domains.memory.scenario_files import read_scenarios
from runner.records import DataProblem

FOLDER = Path(__file__).parent / "copilot_data"
LANGUAGES = ("ko", "en")


class CopilotScenarios:
    """13 to 17 turns each. Every question is a turn: about the documents of the data set `about`, about earlier turns,
    or about both."""

    def __init__(
        self,
        *,
        about: Literal["faq_guide", "demo"] = "faq_guide",
        language: Literal["both", "ko", "en"] = "both",
        strict: bool = False,
    ) -> None:
        self.about = about
        self.languages = LANGUAGES if language == "both" else (language,)
        self.strict = strict

    def load(self) -> tuple[list[Conversation], tuple[DataProblem, ...]]:
        log = ProblemLog(strict=self.strict)
        paths = [str(FOLDER / self.about / f"{language}.yaml") for language in self.languages]
        return read_scenarios(paths, "scenario", log), log.problems
