"""The conversations that come with the program, in Korean and English."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from runner.data.problems import ProblemLog
from runner.domains.memory.records import Conversation
from runner.domains.memory.scenario_files import read_scenarios
from runner.records import DataProblem

FOLDER = Path(__file__).parent / "builtin_data"
LANGUAGES = ("ko", "en")


class BuiltinScenarios:
    """15 to 20 turns each: facts in a row, a change of topic, facts that change, implicit references, injections.
    `style=natural`: a few others, in the words of a chat, for which no part of the program was written.
    `strict` stops at nothing, as they have no bad line."""

    def __init__(
        self,
        *,
        language: Literal["both", "ko", "en"] = "both",
        style: Literal["plain", "natural"] = "plain",
        strict: bool = False,
    ) -> None:
        self.folder = FOLDER if style == "plain" else FOLDER / style
        self.languages = LANGUAGES if language == "both" else (language,)

    def load(self) -> tuple[list[Conversation], tuple[DataProblem, ...]]:
        paths = [str(self.folder / f"{language}.yaml") for language in self.languages]
        return [*_conversations(*paths)], ()


@cache  # of files that come with the program, without a fault, and are the same as long as it runs
def _conversations(*paths: str) -> Sequence[Conversation]:
    return tuple(read_scenarios([*paths], "scenario", ProblemLog(strict=True)))
