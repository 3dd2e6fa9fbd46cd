"""Data that could be read although they were altered, all the way: no case tells of an error that is not one of ours,
and all of it can be written and summed up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf

from runner.config import arguments
from runner.config.components import build
from runner.config.compose import plan_of
from runner.metrics.aggregate import aggregate, latency
from runner.metrics.catalogue import built_in_catalogue
from runner.records import Row
from runner.run.engine import run_case
from runner.run.serving import open_evaluation
from runner.system.journal import encode
from runner.system.store import Store
from tests.fuzz.damage import files_of
from tests.fuzz.forms import FORMS
from tests.fuzz.inputs import FOREIGN, inputs, refused

FILES = {form.name: form for form in FORMS}
# The words of an evaluation, and the settings that name its files.
EVALUATIONS: dict[str, tuple[list[str], dict[str, str]]] = {
    "scenarios.jsonl": (
        ["+experiment=memory", "scenario=file", "memory=window", "memory/store=local"],
        {"scenario.path": "scenarios.jsonl"},
    ),
    "links.jsonl": (
        ["+experiment=links", "suggester=lexical"],
        {"dataset.notes": "notes", "dataset.links": "links.jsonl", "dataset.events": "events.jsonl"},
    ),
    "traces.jsonl": (["+experiment=trace_quality"], {"dataset.traces": "traces.jsonl"}),
}


@pytest.fixture(scope="module")
def composed() -> dict[str, DictConfig]:
    words = {name: [*asked, *(f"{key}=x" for key in keys)] for name, (asked, keys) in EVALUATIONS.items()}
    return {name: plan_of(arguments.read(given)).cells[0].cfg for name, given in words.items()}


def evaluated(cfg: DictConfig, folder: Path) -> list[Row]:
    built = build(cfg.evaluation)

    async def rows() -> list[Row]:
        found = built.root.load()
        async with open_evaluation(built.root):
            await built.root.prepare(found.cases, Store(folder / "cache", built.identities))
            return [await run_case(built.root, case, 10) for case in found.cases]

    return asyncio.run(rows())


@inputs(25, shrinks=False)
@given(name=st.sampled_from(sorted(EVALUATIONS)), data=st.data())
def test_altered_data(composed: dict[str, DictConfig], tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = FILES[name].make(tmp_path)
    path.write_bytes(data.draw(files_of(FILES[name].records)))
    cfg = composed[name].copy()
    OmegaConf.update(cfg, "cache_dir", str(tmp_path / "cache"))
    for key, file in EVALUATIONS[name][1].items():
        OmegaConf.update(cfg, key, str(tmp_path / file))
    made: Any = refused(lambda: evaluated(cfg, tmp_path), names=[str(path), *EVALUATIONS[name][1]])
    for row in made or ():
        assert row.error is None or not FOREIGN.search(row.error), row
        assert orjson.loads(encode(row))["id"] == row.id
    orjson.dumps([aggregate(made or [], built_in_catalogue(), seed=1, resamples=50), latency(made or [])])
