"""Every kind of file that somebody hands to the program, with a good one of each and what reads it.

Those of tests/fuzz/test_data_files.py, and all others: one table, so that what can happen to any file happens to each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plugins.dataset.faq_guide import FaqGuideDataset
from plugins.dataset.jsonl import JsonlDataset
from plugins.dataset.links import LinksDataset
from plugins.dataset.squad import SquadDataset
from plugins.dataset.traces import TracesDataset
from plugins.dataset.trec import TrecDataset
from plugins.dataset.vault import VaultDataset
from plugins.scenario.file import FileScenarios
from plugins.scenario.letta import LettaScenarios
from plugins.scenario.locomo import LocomoScenarios
from plugins.scenario.memorybank import MemorybankScenarios
from runner.commands import score
from runner.commands.compare import rules_of
from runner.compare.snapshots import read_snapshot
from runner.config.frozen import FrozenConfig
from runner.data.labels import read_labels
from runner.data.problems import ProblemLog
from runner.data.ratings import RatingSpec
from runner.domains.traces.chat_logs import read_chat_logs
from runner.domains.traces.trajectories import read_trajectories
from runner.llm.prompts import FOLDER as PROMPTS
from runner.llm.prompts import read_prompt
from runner.llm.rubrics import FOLDER as RUBRICS
from runner.llm.rubrics import read_rubric
from runner.system.folder import open_run, open_sweep
from tests.fuzz.damage import encoded, jsonl
from tests.fuzz.samples import (
    ANSWERED,
    CHAT,
    CONVERSATION,
    CORRECTIONS,
    DOCUMENTS,
    EVENTS,
    LETTA,
    LINKS,
    LOCOMO,
    MEMORYBANK,
    NOTE,
    QRELS,
    QUERIES,
    RANKED,
    RATED,
    ROW,
    RULES,
    SQUAD,
    TOPICS,
    TRACE,
    YAML,
)

WANTED = RatingSpec({"faithfulness": "faithfulness", "answer_relevancy": "answer_relevancy"}, None)


@dataclass(frozen=True)
class Form:
    """`read` reads the file `name` of a folder that has `beside`, too, as a run or a command would. `records`: its
    objects, where it holds JSON (a list: one a line). `says`: what a refusal may name instead of the file."""

    name: str
    content: bytes
    read: Callable[[Path], Any]
    beside: Mapping[str, bytes]
    records: Any
    says: tuple[str, ...]

    def load(self, folder: Path) -> Any:
        return self.read(folder / self.name)

    def make(self, folder: Path) -> Path:
        """The folder with all its files; the path of the one that matters."""
        for name, content in {**self.beside, self.name: self.content}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder / self.name


def form(
    name: str, content: Any, read: Callable[[Path], Any], *says: str, beside: Mapping[str, bytes] | None = None
) -> Form:
    if isinstance(content, bytes):
        return Form(name, content, read, beside or {}, None, says)
    written = jsonl(content) if name.endswith("l") else encoded(content)
    return Form(name, written, read, beside or {}, content, says)


def _folder(path: Path, name: str) -> str:
    return str(path.parent / name)


def _scores(path: Path) -> Any:
    return score.main([_folder(path, "qrels.txt"), _folder(path, "ranked.txt")])


def _trec(path: Path) -> Any:
    files = {name: _folder(path, file) for name, file in (("topics", "topics"), ("qrels", "qrels.txt"))}
    return TrecDataset(corpus=_folder(path, "corpus.jsonl"), **files).load()


def _links(path: Path) -> Any:
    names = {name: _folder(path, f"{name}.jsonl") for name in ("links", "events")}
    return LinksDataset(notes=_folder(path, "notes"), **names).read()


def _locomo(path: Path) -> Any:
    return LocomoScenarios(path=_folder(path, "locomo.json"), labels="both").load()


def _bank(path: Path) -> Any:
    return MemorybankScenarios(path=_folder(path, "bank.json"), questions=_folder(path, "asked.jsonl")).load()


def _guide(path: Path) -> Any:
    return FaqGuideDataset(**{name: _folder(path, f"{name}.jsonl") for name in ("faq", "guide", "queries")}).load()


def _rated(path: Path) -> Any:
    return read_labels(str(path.parent if path.parent.name == "mtrag" else path), WANTED, ProblemLog())


def _logs(path: Path) -> Any:
    return list(read_chat_logs(str(path), ProblemLog(), domain="default", confidence=0.5))


def _rows(path: Path) -> Any:
    return list(read_trajectories(path, ProblemLog(), domain="default", confidence=0.5))


def _own(path: Path) -> Any:
    return VaultDataset(notes=_folder(path, ""), queries=str(path.parent.parent / "queries.jsonl")).load()


CORPUS, ASKED = jsonl(DOCUMENTS), jsonl(QUERIES)
TREC = {"corpus.jsonl": CORPUS, "topics": TOPICS, "qrels.txt": QRELS, "ranked.txt": RANKED}
VAULT = {
    "notes/달.md": NOTE,
    "notes/a.md": b"# A\n\nThe Moon, see [[\xeb\x8b\xac]].\n",
    "queries.jsonl": ASKED,
    "links.jsonl": jsonl(LINKS),
    "events.jsonl": jsonl(EVENTS),
}
LOCOMOS = {"locomo.json": encoded(LOCOMO), "label_errors.json": encoded(CORRECTIONS)}
BANK = {"bank.json": encoded(MEMORYBANK[0]), "asked.jsonl": jsonl(MEMORYBANK[1])}
GUIDE = {"faq.jsonl": jsonl(DOCUMENTS[:1]), "guide.jsonl": jsonl(DOCUMENTS[1:]), "queries.jsonl": ASKED}
MTRAG = {"mtrag/corpus.jsonl": CORPUS, "mtrag/responses.jsonl": jsonl(ANSWERED)}
FROZEN = FrozenConfig("x", {"evaluation": "retrieval_only"}, {"k": 3, "retriever": {"_target_": "x", "가": [1, None]}})
CONFIG = ("--rules", "rules", "margin", "must_not_break", "regression")


def _jsonl(path: Path) -> Any:
    return JsonlDataset(corpus=_folder(path, "corpus.jsonl"), queries=_folder(path, "queries.jsonl")).load()


FORMS = [
    form("queries.jsonl", QUERIES, _jsonl, "dataset.queries", beside={"corpus.jsonl": CORPUS}),
    form("corpus.jsonl", DOCUMENTS, _jsonl, "dataset.corpus", beside={"queries.jsonl": ASKED}),
    form("topics", TOPICS, _trec, "dataset.qrels", "dataset.topics", beside=TREC),
    form("qrels.txt", QRELS, _trec, "dataset.qrels", "dataset.topics", beside=TREC),
    form("ranked.txt", RANKED, _scores, beside=TREC),
    form("squad.json", SQUAD, lambda path: SquadDataset(path=str(path)).load(), "dataset.path"),
    form("notes/b.md", NOTE, _own, "dataset.notes", "dataset.queries", beside=VAULT),
    form("links.jsonl", LINKS, _links, "dataset.links", beside=VAULT),
    form("events.jsonl", EVENTS, _links, "dataset.events", beside=VAULT),
    form("faq.jsonl", DOCUMENTS[:1], _guide, "dataset.faq", "dataset.queries", beside=GUIDE),
    form("guide.jsonl", DOCUMENTS[1:], _guide, "dataset.guide", "dataset.queries", beside=GUIDE),
    form("traces.jsonl", [TRACE], lambda path: list(TracesDataset(traces=[str(path)]).read()[0]), "dataset.traces"),
    form("logs.jsonl", [CHAT], _logs, "LOGS"),
    form("per_item.jsonl", [ROW], _rows, "LOGS"),
    form("scenarios.jsonl", [CONVERSATION], lambda path: FileScenarios(path=str(path)).load()),
    form("scenarios.yaml", YAML, lambda path: FileScenarios(path=str(path)).load()),
    form("letta.jsonl", [LETTA], lambda path: LettaScenarios(path=str(path)).load()),
    form("locomo.json", LOCOMO, _locomo, beside=LOCOMOS),
    form("label_errors.json", CORRECTIONS, _locomo, beside=LOCOMOS),
    form("bank.json", MEMORYBANK[0], _bank, beside=BANK),
    form("asked.jsonl", MEMORYBANK[1], _bank, beside=BANK),
    form("rated.jsonl", [RATED], _rated),
    form("mtrag/corpus.jsonl", DOCUMENTS, _rated, "mtrag", beside=MTRAG),
    form("mtrag/responses.jsonl", ANSWERED, _rated, "mtrag", beside=MTRAG),
    form("rules.yaml", RULES, lambda path: rules_of(str(path)), *CONFIG),
    form("rubric.yaml", (RUBRICS / "faithfulness.yaml").read_bytes(), lambda path: read_rubric("f", str(path))),
    form("prompt.yaml", (PROMPTS / "answer.yaml").read_bytes(), lambda path: read_prompt(str(path), "key")),
    form("frozen.yaml", FROZEN.yaml().encode(), FrozenConfig.read),
    form("snapshot.json", json.loads("{}"), read_snapshot),
    form("run.json", {"status": "completed"}, lambda path: open_run(path.parent), "a run folder"),
    form("sweep.json", {"cells": []}, lambda path: open_sweep(path.parent), "a sweep folder"),
]
