"""Scenario files of one's own."""

from __future__ import annotations

from runner.data.files import missing_files
from runner.data.problems import ProblemLog
from runner.domains.memory.records import Conversation
from runner.domains.memory.scenario_files import read_scenarios
from runner.errors import DataError, Problem
from runner.records import DataProblem


class FileScenarios:
    """JSON Lines or YAML, as runner.domains.memory.scenario_files says."""

    def __init__(self, *, path: str | list[str], strict: bool = False) -> None:
        self.paths = [path] if isinstance(path, str) else path
        self.strict = strict

    def preflight(self) -> list[Problem]:
        return missing_files(self.paths, "scenario.path", DataError)

    def load(self) -> tuple[list[Conversation], tuple[DataProblem, ...]]:
        log = ProblemLog(strict=self.strict)
        conversations = read_scenarios(self.paths, "scenario.path", log)
        return conversations, log.problems
