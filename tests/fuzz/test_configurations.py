"""What a person types, and configuration files: run, or refused with the key and what would have worked."""

from __future__ import annotations

import io
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from runner.cli import COMMANDS, main
from runner.config import arguments
from runner.config.components import build
from runner.config.compose import plan_of
from runner.config.frozen import FrozenConfig
from runner.config.options import problems_of
from tests.fuzz.damage import NASTY, damaged, paths, values
from tests.fuzz.inputs import SURPRISE, ended, inputs, refused
from tests.small_data import small_data

EVALUATIONS = [
    ["+experiment=full_rag", "judge=openai", "generator=openai"],
    ["+experiment=memory", "memory=recursive_summary"],
    ["+experiment=trace_quality"],
    ["+experiment=links"],
    ["+experiment=copilot"],
    ["dataset=trec", "retriever=hybrid", "embedder=openai", "dataset.corpus=x", "dataset.topics=x", "dataset.qrels=x"],
]
KEYS = [
    "k", "cutoffs", "seed", "sample", "timeout_ms", "max_concurrency", "min_score", "case", "out",
    "format", "cache",
    "report.language", "budget.usd", "dataset", "dataset.queries", "retriever", "retriever.k1",
    "tokenizer", "provider.openai.prices",
    "regression.rules", "+experiment", "evaluation", "evaluation.require.mrr", "hydra.run.dir",
    "x", "retriever@x", "models.x",
    "baseline", "compare", "tracking.uri", "hydra.launcher",
]  # fmt: skip
TEXTS = [value for value in NASTY if isinstance(value, str)]
WORDS = [
    "1", "1,2", "0", "-1", "1e999", "nan", "inf", "null", "[]", "[1,2]", "[", "{a: 1}", "{", "'",
    '"', "\\", "${k}", "${",
    "${x}", "choice(1,2)", "range(1,3)", "glob(*)", "a,b", ",", "true", "${oc.env:NOBODY}",
    "keyword", "keyword,hybrid", "~", "가,나",
    "1_000",
]  # fmt: skip
SOME = st.integers(0, 2**20)  # which of several, whose number is not known yet


@st.composite
def words(draw: st.DrawFn) -> str:
    prefix = draw(st.sampled_from(["", "", "", "+", "++", "~", "-", "--"]))
    key = draw(st.sampled_from(KEYS) | st.text(max_size=6))
    value = draw(st.sampled_from(WORDS) | st.sampled_from(TEXTS) | st.text(max_size=12))
    return f"{prefix}{key}{draw(st.sampled_from(['=', '=', '=', '', '@', ':']))}{value}".replace("\0", "")


@inputs(80)
@given(typed=st.lists(words(), min_size=1, max_size=3))
def test_words_of_a_command_line(typed: Sequence[str]) -> None:
    keys = [word.partition("=")[0].lstrip("+~").partition("@")[0] for word in typed]
    line = refused(lambda: arguments.read(typed), names=[*typed, *keys, "--config"], codes=(1,))
    if line is not None and not line.asks_hydra:
        refused(lambda: arguments.cells(line.overrides), names=keys, codes=(1,))


@pytest.fixture(scope="module")
def composed() -> list[DictConfig]:
    return [plan_of(arguments.read(evaluation)).cells[0].cfg for evaluation in EVALUATIONS]


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@inputs(50, shrinks=False)
@given(number=SOME, changes=st.lists(st.tuples(SOME, values()), min_size=1, max_size=3))
def test_values_of_a_configuration(
    composed: list[DictConfig], number: int, changes: Sequence[tuple[int, object]]
) -> None:
    """Every problem names a key and says what is wrong, in one line; without one, everything can be built."""
    cfg = deepcopy(composed[number % len(composed)])
    places = [place for place in paths(OmegaConf.to_container(cfg)) if all(isinstance(step, str) for step in place)]
    for where, value in changes:
        place = ".".join(map(str, places[where % len(places)]))
        try:
            OmegaConf.update(cfg, place, deepcopy(value), force_add=True, merge=False)
        except (OmegaConfBaseException, TypeError, ValueError):  # no value that YAML could hold
            continue
    problems = problems_of(cfg)
    for problem in problems:
        assert problem.message and "Traceback" not in str(problem)
    if not problems:
        refused(lambda: build(cfg.evaluation), names=["configuration"], codes=(1,))


@inputs(8, shrinks=False)
@given(typed=st.lists(words(), min_size=1, max_size=2))
def test_whole_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: list[str]
) -> None:
    """Nothing is written but by a run that was asked for; there is none here."""
    monkeypatch.chdir(tmp_path)
    data = small_data(tmp_path / "data")
    before = sorted(tmp_path.rglob("*"))
    line = ["tracking=none", "retriever=keyword", *data, *typed, "dry_run=true"]
    ended(lambda: main(line), lambda: "".join(capsys.readouterr()), codes=(0, 1, 2))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture(scope="module")
def frozen() -> bytes:
    text = FrozenConfig(
        "x", {"evaluation": "retrieval_only"}, {"k": 3, "retriever": {"_target_": "x", "가": [1, None]}}
    ).yaml()
    return text.encode()


@inputs(40)
@given(data=st.data())
def test_frozen_files(tmp_path: Path, frozen: bytes, data: st.DataObject) -> None:
    path = tmp_path / "frozen.yaml"
    content = data.draw(damaged(frozen))
    path.write_bytes(content)
    read = refused(lambda: FrozenConfig.read(path), names=[str(path)], codes=(1,))
    if read is not None:
        assert read.values == FrozenConfig.read(_written(tmp_path / "same.yaml", frozen)).values


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@inputs(3, shrinks=False)
@given(content=damaged(b"_target_: plugins.retriever.keyword.KeywordRetriever\ntokenizer: ${tokenizer}\nk1: 1.5\n"))
def test_choices_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own" / "retriever").mkdir(parents=True, exist_ok=True)
    (tmp_path / "own" / "retriever" / "mine.yaml").write_bytes(content)
    line = ["-cd", "own", "retriever=mine", *small_data(tmp_path / "data"), "tracking=none", "dry_run=true"]
    ended(lambda: main(line), lambda: "".join(capsys.readouterr()), codes=(0, 1, 2))


@inputs(8)
@given(
    name=st.sampled_from([name for name in COMMANDS if name != "ui"]),
    typed=st.lists(words() | st.sampled_from(["--help", "corpus=x", "out=y", "--out", "LABELS", "x/y"]), max_size=3),
)
def test_commands_with_wrong_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, typed: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hello\n\xff\n")))  # for chat
    try:
        code = main([name, *typed])
    except SystemExit as ended_by_help:
        code = int(ended_by_help.code or 0)
    text = "".join(capsys.readouterr())
    assert code in (0, 1, 2, 3) and not SURPRISE.search(text), (code, text)
