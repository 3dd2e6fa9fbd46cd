"""Commands with values of their options that make no sense, and over folders that are damaged. They end as the table of
exit codes says, in one `error:` line or with a result, and what was there before is as it was."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.cli import COMMANDS, main
from runner.llm.calls import FILE, CallLog, CallRequest
from runner.llm.metering import asking_for
from tests.fuzz.damage import NASTY, PLACES, altered, damaged, encoded, files_of
from tests.fuzz.forms import FORMS
from tests.fuzz.inputs import ERROR, ended, inputs
from tests.fuzz.samples import QUICK

FILES = {form.name: form for form in FORMS}
# As a command line may hold them: what is no text comes as escaped bytes.
TEXTS = [value.replace("\0", "").replace("\ud800", "\udc80") for value in NASTY if isinstance(value, str)]
NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "0.5",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1_0",
    "1,2",
    "1,1,1",
    "5,1",
    "٣",
    "9" * 400,
    "3.0",
]
PATHS = ["run", "sweep", "sweep/0", "record", "notes", "queries.jsonl", "new", "a/b/c", ".", "/", "/dev/null", "loop"]

# Words that make a whole command, and those of its options that get a value.
WORDS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "score": (["qrels.txt", "ranked.txt"], ["--cutoffs="]),
    "compare": (["run", "sweep/0"], ["--rules=", "--seed=", "--language=", "--out=", "--junit=", "--uri="]),
    "results": (["run"], ["--uri="]),
    "calls": (["run", "q1"], ["--role=", "--language="]),
    "embed": (
        ["dataset=jsonl", "dataset.corpus=notes", "retriever=keyword", "tokenizer=word", "--dry-run"],
        ["dataset=", "dataset.corpus=", "retriever=", "tokenizer=", "embedder=", "dataset.chunker.max_chars=", "x="],
    ),
    "labels": (["run"], ["--n=", "--pick=", "--rubric=", "--seed=", "--out="]),
    "traces": (["logs.jsonl", "new.jsonl"], ["--domain=", "--confidence="]),
    "import": (
        ["queries.jsonl", "out=new.jsonl"],
        ["out=", "question=", "answer=", "contexts=", "separator=", "encoding=", "sheet=", "language=", ""],
    ),
    "links_dataset": (["notes", "new.jsonl"], ["--remove-ratio=", "--seed=", "--link-text=", "--context-chars="]),
    "freeze": (["run", "new"], ["--question="]),
    "reproduce": (["record", "dry_run=true"], ["k=", "out=", "cache_dir=", "retriever=", "cutoffs=", "x="]),
    "calibrate": (
        ["rated.jsonl", "out=new", "judge=lexical"],
        ["scale=", "threshold=", "ratings=", "run=", "sample=", "out=", "report.language=", "case=", "judge="],
    ),
    "plan": (["+experiment=full_rag", *QUICK], ["k=", "sample=", "budget.usd=", "dataset=", "cutoffs=", "case="]),
    "export": (["sweep", "new"], ["--language=", ""]),
    "init": (["new"], ["--for=", "--language=", ""]),
    "snapshot": (["run"], [""]),
    "clean": (["--dry-run"], ["--idle=", "--tenant=", "memory.store.url=", "memory.store.ttl_hours="]),
    "generate": (
        ["corpus=notes", "out=new.jsonl", "cache=replay"],
        [
            "corpus=",
            "out=",
            "questions_per_chunk=",
            "model=",
            "language=",
            "chunker.max_chars=",
            "difficulty=",
            "seed=",
        ],
    ),
    "validate": (["notes", "queries.jsonl"], ["k=", "dataset.chunker.max_chars=", "sample=", "case=", ""]),
}
# `validate` also fails where a label names nothing, which is a warning of a run.
LABELS = re.compile(rf"{ERROR.pattern}|warning: [^ ]+:\d+: (expected_\w+(\[\d+\])?|document|notes): ")
# Commands that read the folder of a run, a sweep or a record.
READERS = [
    ["results", "IT"], ["compare", "IT", "good", "--out", "new"], ["compare", "good", "IT", "--out", "new"],
    ["snapshot", "IT", "new.json"], ["freeze", "IT", "new"], ["traces", "IT", "new.jsonl"],
    ["calibrate", "rated.jsonl", "judge=lexical", "run=IT", "out=new"], ["calls", "IT"], ["calls", "IT", "q1"],
    ["labels", "IT", "--out", "new.csv"],
]  # fmt: skip
READ = {
    "run": (
        "run.json",
        "summary.json",
        "snapshot.json",
        "per_item.jsonl",
        ".hydra/config.yaml",
        "summary.md",
        "calls.jsonl.zst",
    ),
    "sweep": ("sweep.json", "summary.json", "0/run.json", "0/summary.json", "1/snapshot.json", "0/.hydra/config.yaml"),
    "record": ("frozen.yaml", "environment.json", "snapshot.json", "summary.md"),
}


def test_every_command_is_here() -> None:
    """Or in test_tracking.py (`ui`, `track`) and test_configurations.py (`chat`); the rest run on or print a script."""
    assert {*WORDS, "ui", "chat", "track", "serve", "watch", "completion"} == set(COMMANDS)


@pytest.fixture(scope="module")
def kept(small_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of every kind, `run`, `good` (the same), `sweep` and `record`."""
    folder = tmp_path_factory.mktemp("kept")
    shutil.copytree(small_runs, folder, dirs_exist_ok=True)
    for name in ("notes/b.md", "ranked.txt", "logs.jsonl", "rated.jsonl"):
        FILES[name].make(folder)
    (folder / "loop").symlink_to("loop")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["freeze", "run", "record"]) == 0
    _keep_calls(folder / "run")
    shutil.copytree(folder / "run", folder / "good")
    return folder


def _keep_calls(run: Path) -> None:
    """As a run that asks models writes them."""
    log = CallLog(run / FILE, "all", lambda _: False)
    for case in ("q1", "q2"):
        request = {"model": "small", "messages": [{"role": "user", "content": "안녕"}]}
        with asking_for(case), log.chat(CallRequest("generator", "local:small", request, case.encode())):
            pass
        log.end_case(case, is_whole=True)
    log.close()


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and "cache" not in str(path.relative_to(folder))
    }


def copied(kept: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = folder / "here"
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(kept, here, symlinks=True)
    monkeypatch.chdir(here)
    return here


def unchanged(before: dict[str, bytes], folder: Path, *, but: str = "") -> None:
    after = contents(folder)
    lost = [name for name, content in before.items() if name != but and after.get(name) != content]
    assert not lost, lost


@inputs(20, shrinks=False)
@given(name=st.sampled_from(sorted(WORDS)), data=st.data())
def test_options(
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    data: st.DataObject,
) -> None:
    folder = copied(kept, tmp_path, monkeypatch)
    before = contents(folder)
    whole, options = WORDS[name]
    values = (
        st.sampled_from(NUMBERS) | st.sampled_from(TEXTS) | st.sampled_from(PATHS) | st.text("a1가,.-/= '", max_size=5)
    )
    for _ in range(data.draw(st.integers(1, 2))):
        whole = [*whole, data.draw(st.sampled_from(options)) + data.draw(values)]
    why = LABELS if name == "validate" else ERROR
    ended(lambda: main([name, *whole]), lambda: "".join(capsys.readouterr()), codes=(0, 1, 2, 3, 5), why=why)
    unchanged(before, folder, but="run/snapshot.json")


@inputs(15, shrinks=False)
@given(data=st.data())
def test_damaged_folders(
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    data: st.DataObject,
) -> None:
    folder = copied(kept, tmp_path, monkeypatch)
    it = data.draw(st.sampled_from(sorted(READ)))
    path = folder / it / data.draw(st.sampled_from(READ[it]))
    if data.draw(st.integers(0, 3)) == 0:
        PLACES[data.draw(st.sampled_from(sorted(PLACES)))](path)
    elif path.suffix == ".json" and data.draw(st.booleans()):
        path.write_bytes(encoded(data.draw(altered(orjson.loads(path.read_bytes())))))
    elif path.suffix == ".jsonl":
        path.write_bytes(data.draw(files_of([orjson.loads(line) for line in path.read_bytes().splitlines()])))
    else:
        path.write_bytes(data.draw(damaged(path.read_bytes())))
    before = contents(folder)
    again = [["reproduce", "record", "dry_run=true"], ["compare", "good", "record", "--out", "new"]]
    words = data.draw(st.sampled_from(again if it == "record" else READERS))
    words = [word.replace("IT", it) for word in words]
    ended(lambda: main(words), lambda: "".join(capsys.readouterr()), codes=(0, 1, 2, 5))
    unchanged(before, folder)
