"""Sweeps as a person starts them: what is compared, and with what."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.compare import case_index
from runner.compare.sides import Finder
from runner.data import stored
from runner.llm.calls import FILE as CALLS
from runner.llm.calls import read_calls
from tests.command_line.result_files import read
from tests.services.models_server import ModelsServer
from tests.small_data import small_data, write_jsonl

ANSWERED = ["+experiment=full_rag", "tracking=none", "retriever=keyword"]
JSON = "format=json"


@pytest.fixture
def data(empty_folder: Path) -> list[str]:
    return [*ANSWERED, *small_data(Path("자료"))]


@pytest.fixture(scope="module")
def swept_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with contextlib.chdir(tmp_path_factory.mktemp("swept")):
        assert main([*ANSWERED, *small_data(Path("자료")), JSON, "k=1,2", "out=s"]) == 0
        return Path.cwd()


@pytest.fixture
def swept(swept_once: Path, data: list[str], empty_folder: Path) -> list[str]:
    """The words of the finished sweep `s` over k=1,2."""
    shutil.copytree(swept_once, empty_folder, dirs_exist_ok=True)
    return [*data, JSON, "k=1,2", "out=s"]


def test_a_sweep_is_compared_with_the_baseline_that_was_named(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    swept = ["generator.min_coverage=0,0.5,1", "baseline=generator.min_coverage=0.5", "verbose=true"]
    assert main([*data, *swept, "out=s"]) == 0
    found = read("s/summary.json")["comparison"]
    assert (found["baseline"], found["cells"], found["n_common"]) == ("1", ["0", "1", "2"], 8)
    assert "Compared with generator.min_coverage=0.5" in capsys.readouterr().out
    assert "## Compared with generator.min_coverage=0.5" in Path("s/summary.md").read_text(encoding="utf-8")


def test_the_first_run_is_the_baseline_and_choosing_another_runs_no_case_again(
    swept: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert read("s/summary.json")["comparison"]["baseline"] == "0"
    shutil.copy("s/0/per_item.jsonl", "before.jsonl")
    assert main([*swept, "baseline=1"]) == 0
    assert "resuming: 8 of 8 cases are done" in capsys.readouterr().err
    assert Path("s/0/per_item.jsonl").read_bytes() == Path("before.jsonl").read_bytes()
    assert read("s/summary.json")["comparison"]["baseline"] == "1"


def test_a_baseline_that_is_no_run_is_told_before_anything_runs(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*data, "k=1,2", "out=s", "baseline=k=5"]) == 1
    assert "baseline: no run of this sweep is 'k=5'; expected one of 0 (k=1), 1 (k=2)" in capsys.readouterr().err
    assert not Path("s").exists()


def test_the_first_command_that_lists_the_cases_of_a_cell_makes_their_columns(
    data: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_index, "LARGE", 1)
    assert main([*data, JSON, "k=1,2", "out=s"]) == 0
    path = Path("s/1/per_item.jsonl")
    assert not path.with_name(case_index.FILE).exists()
    listed = case_index.read_cases(path, writes=True)
    assert len(listed) == 8
    assert path.with_name(case_index.FILE).exists()


# --- what cells share -----------------------------------------------------------------------------

ON_THE_CLOCK = ("latency_ms", "timings", "seal")


def rows_of(folder: str) -> dict[str, str]:
    """Rows by id as they were written, without what depends on the clock."""
    found = {}
    for line in Path(folder, "per_item.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for name in ("appends_ms", "updates_ms"):
            (row["output"].get("upkeep") or {}).pop(name, None)
        found[row["id"]] = json.dumps({name: row[name] for name in row if name not in ON_THE_CLOCK})
    return found


def results_of(folder: str) -> list[str]:
    """Files of a run in which numbers stand, as they were written, without what depends on the clock or the command."""
    summary, snapshot = read(f"{folder}/summary.json"), read(f"{folder}/snapshot.json")
    del summary["timing"], snapshot["timing"], snapshot["run"], snapshot["cases"]["latency_ms"]
    del snapshot["config"]
    return [*map(json.dumps, (summary, snapshot)), Path(folder, "errors.jsonl").read_text(encoding="utf-8")]


OTHERS = "sample=8"
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("words", "swept"),
    [
        (["+experiment=full_rag", "retriever=hybrid", "embedder=lsa"], ["k=3,1"]),
        (["+experiment=full_rag", "k=2"], ["retriever=keyword,semantic"]),
        pytest.param(
            ["+experiment=full_rag", "retriever=keyword", "generator=given"],
            ["judge.supported=0.1,0.9", "retriever.b=0,1", "sample=8,5"],
            marks=SLOW,
        ),
        pytest.param(["+experiment=memory", OTHERS], ["memory.window=4,1"], marks=SLOW),
        pytest.param(["+experiment=copilot", OTHERS], ["k=3,1"], marks=SLOW),
        pytest.param(["+experiment=full_rag"], ["retriever=keyword,agentic"], marks=SLOW),
        pytest.param(["+experiment=full_rag", "retriever=agentic"], ["k=3,1"], marks=SLOW),
        pytest.param(["+experiment=full_rag", "retriever=keyword"], ["seed=1,2"], marks=SLOW),
        pytest.param(
            ["+experiment=retrieval_only", "retriever=keyword", "metric=[recall,mrr,rbp]"], ["k=3,1"], marks=SLOW
        ),
    ],
    ids=["answers", "retrievers", "several", "memory", "copilot", "agentic", "agentic k", "seeds", "rankings"],
)
def test_a_cell_says_what_the_same_run_says_alone(tmp_path: Path, words: list[str], swept: list[str]) -> None:
    """File by file for the last cell, which shares most, and where k is swept for both again after one was cut off in
    the middle: what cells share changes nothing."""
    data = [] if OTHERS in words else small_data(tmp_path / "자료")
    if "generator=given" in words:
        _answer_badly(tmp_path / "자료" / "queries.jsonl")
    shared = [*words, *data, "tracking=none", "format=json"]
    sweep = [*shared, *swept, "out=s", "cache_dir=cache"]
    assert main(sweep) == 0
    last = [f"{option}={values.rpartition(',')[2]}" for option, _, values in (word.partition("=") for word in swept)]
    assert main([*shared, *last, "out=alone", "cache_dir=alone_cache"]) == 0
    cells = range(2 ** len(swept))
    results = [(rows_of(f"s/{number}"), results_of(f"s/{number}")) for number in cells]
    assert results[-1] == (rows_of("alone"), results_of("alone"))
    assert len({summary for _, (summary, *_) in results}) == len(cells)  # what is swept does change something
    if not swept[0].startswith("k="):
        return
    rows = Path("s/1/per_item.jsonl")
    rows.write_bytes(b"".join(rows.read_bytes().splitlines(keepends=True)[:3]))
    assert main(sweep) == 0
    assert [(rows_of(f"s/{number}"), results_of(f"s/{number}")) for number in cells] == results


def _answer_badly(queries: Path) -> None:
    """With answers of which the documents support a half."""
    records = [json.loads(line) for line in queries.read_text(encoding="utf-8").splitlines()]
    texts = [f"{record.get('answers', ['Nobody'])[0]} and cheese from far away." for record in records]
    write_jsonl(queries, [{**record, "answer": text} for record, text in zip(records, texts, strict=True)])


def calls_of(folder: str) -> list[str]:
    """Requests and replies of a run, without what depends on the clock."""
    told = read_calls(Path(folder, CALLS))
    return sorted(json.dumps({name: call[name] for name in call if name not in ("at", "ms")}) for call in told)


@pytest.mark.parametrize(
    "swept",
    [
        "judge.temperature=0,0.5,0",
        *(pytest.param(word, marks=SLOW) for word in ("min_score=0,0.2,0.9", "judge.repeats=1,2,1")),
    ],
)
def test_a_cell_asks_models_what_the_same_run_asks_alone(swept: str, tmp_path: Path, server: ModelsServer) -> None:
    """Of stored replies, which the cells read once: rows, calls, requests and cost are those of a run by itself."""
    models = ["judge=openai", "judge.model=local:small", "generator=openai", "generator.model=local:large"]
    models += [f"provider.local.base_url={server.url}", "retriever=keyword", "tracking=none"]
    shared = ["+experiment=full_rag", *small_data(tmp_path / "자료"), *models, JSON, "sample=4"]
    assert main([*shared, swept, "out=first"]) == 0
    sent = len(server.requests)
    assert main([*shared, swept, "out=s"]) == 0
    option, _, values = swept.partition("=")
    for number, value in list(enumerate(values.split(",")))[1:]:
        assert main([*shared, f"{option}={value}", f"out=alone-{number}"]) == 0
        cell, alone = (
            (rows_of(folder), results_of(folder), calls_of(folder), read(f"{folder}/summary.json")["timing"]["usage"])
            for folder in (f"s/{number}", f"alone-{number}")
        )
        assert cell == alone
    assert len(server.requests) == sent
    assert len(calls_of("s/2")) >= 10


# --- references -----------------------------------------------------------------------------------

REFERENCES = ("none", "random", "gold")


def outputs(folder: str) -> list[Any]:
    rows = map(json.loads, Path(folder, "per_item.jsonl").read_text(encoding="utf-8").splitlines())
    return [row["output"] for row in rows]


def test_references_are_run_beside_a_sweep_and_marked(swept: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the sweep has run before."""
    before = Path("s/1/per_item.jsonl").read_bytes()
    assert main([*swept, "format=both", "baselines=auto", "verbose=true"]) == 0
    assert Path("s/1/per_item.jsonl").read_bytes() == before
    assert read("s/summary.json")["references"][2]["folder"] == "gold"
    state = read("s/sweep.json")
    assert [cell["folder"] for cell in state["cells"]] == ["0", "1"]
    assert [(run["folder"], run["status"]) for run in state["references"]] == [
        (name, "completed") for name in REFERENCES
    ]
    assert [read(f"s/{name}/run.json")["reference"] for name in REFERENCES] == list(REFERENCES)
    assert "reference" not in read("s/0/run.json")
    text = Path("s/gold/summary.md").read_text(encoding="utf-8")
    assert "> **A reference run, not a system: its context was taken from the gold documents.**" in text
    assert read("s/gold/summary.json")["metrics"]["recall_at_10"]["value"] == 1.0
    assert read("s/none/summary.json")["metrics"]["recall_at_10"]["value"] == 0.0
    assert {tuple(output["contexts"]) for output in outputs("s/none")} == {()}
    shown = capsys.readouterr().out
    assert "A reference run, not a system: it was given no context." in shown
    assert "Share of the gap closed" in shown
    gaps = {gap["name"]: gap for gap in read("s/summary.json")["comparison"]["gaps"]}
    assert not any(gap["is_significant"] for gap in gaps.values())  # six documents


@pytest.mark.usefixtures("stored")
def test_shares_of_the_gap_on_the_demo_data() -> None:
    words = ["+experiment=retrieval_only", "dataset=demo_en", "retriever=keyword", "sample=40", "tracking=none"]
    assert main([*words, "baselines=auto", JSON, "out=s"]) == 0
    gaps = {gap["name"]: gap for gap in read("s/summary.json")["comparison"]["gaps"]}
    values = [read(f"s/{name}/summary.json")["metrics"]["recall_at_k"]["value"] for name in ("0", "random", "gold")]
    assert gaps["recall_at_k"]["ceiling"]["value"] == values[2]
    share = (values[0] - values[1]) / (values[2] - values[1])
    assert gaps["recall_at_k"]["shares"] == {"0": pytest.approx(share)}
    assert 0.5 < share < 1


def test_one_run_gets_references_and_no_comparison(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of which none is the latest run."""
    assert main([*data, "baselines=auto", "out=outputs/s", "report.language=ko"]) == 0
    text = capsys.readouterr().out
    assert "격차를 좁힌 비율" in text and "비교하지" not in text
    assert "## 격차를 좁힌 비율" in Path("outputs/s/summary.md").read_text(encoding="utf-8")
    assert read("outputs/s/summary.json")["comparison"]["cells"] == ["0"]
    assert Finder(tmp_path, f"sqlite:///{tmp_path}/none.db").find("latest:full_rag").label == "outputs/s/0"


def test_contexts_that_came_with_the_questions_are_not_those_of_a_reference(data: list[str], tmp_path: Path) -> None:
    path = next(Path(tmp_path / "자료").glob("queries*"))
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    write_jsonl(path, [{**record, "contexts": ["The Moon is made of cheese."]} for record in records])
    assert main([*data, "baselines=auto", "k=1", JSON, "out=s"]) == 0
    assert any("27" in output["answer"] for output in outputs("s/gold"))
    assert not any("27" in output["answer"] for output in outputs("s/0"))


def test_references_are_held_against_a_baseline_only_where_somebody_asks_for_one(data: list[str]) -> None:
    """As candidates for a regression."""
    words = [*data, JSON, "compare=before", "fail_on_regression=true"]
    assert main([*data, JSON, "out=before"]) == 0
    assert main([*words, "out=s", "baselines=auto"]) == 0
    assert Path("s/0/compare.json").is_file()
    assert not Path("s/none/compare.json").exists()
    words += ["retriever=oracle", "retriever.mode=none", "junit=rules.xml"]
    words += ["regression=default"]  # whose margins need no evidence of eight cases
    assert main([*words, "out=none"]) == 4
    assert Path("none/compare.json").is_file() and Path("rules.xml").is_file()


def test_a_dry_run_and_a_plan_count_the_references(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "k=1,2", "baselines=auto", "dry_run=true"]) == 0
    assert "dry run: 5 runs composed and checked" in capsys.readouterr().err


def test_references_are_uploaded_as_such(data: list[str], mlflow_store: str, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    words = [word for word in data if not word.startswith("tracking=")]
    words += ["tracking=mlflow", f"tracking.uri={mlflow_store}", "tracking.figures=false", JSON, f"out={tmp_path.name}"]
    assert main([*words, "k=1,2", "baselines=auto"]) == 0
    client = MlflowClient(mlflow_store)
    found = client.get_experiment_by_name("full_rag")
    assert found is not None
    runs = client.search_runs([found.experiment_id], f"tags.sweep_id = '{tmp_path.name}'")
    told = {run.info.run_name: (run.data.tags["sweep_role"], run.data.tags.get("reference")) for run in runs}
    end = f" · jsonl · {tmp_path.name}"
    assert {name: told[f"reference: {name} context{end}"] for name in REFERENCES} == {
        name: ("reference", name) for name in REFERENCES
    }
    assert told[f"k=1{end}"] == ("cell", None)
    latest = Finder(tmp_path / "downloads", mlflow_store).open("latest:full_rag")
    assert latest.snapshot.config["retriever"]["_target_"] == "plugins.retriever.keyword.KeywordRetriever"


def test_another_sweeper_is_refused_before_anything_runs(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It would choose other values than those under which the runs are told."""
    sweeper = Path("settings/hydra/sweeper/search.yaml")
    sweeper.parent.mkdir(parents=True)
    sweeper.write_text("_target_: hydra_plugins.search.Sweeper\nn_trials: 3\n", encoding="utf-8")
    assert main(["-cd", "settings", *data, "k=3,10", "hydra/sweeper=search", "out=s"]) == 1
    assert capsys.readouterr().err == (
        "error: 1 problem in the configuration:\n"
        "  hydra/sweeper: 'search' is not supported; expected basic, with all values on the command line (k=3,5,10), "
        "or optuna, which searches them\n"
    )
    assert not Path("s").exists()
    assert main([*data, "k=1,2", "hydra/sweeper=basic", "dry_run=true"]) == 0


def test_two_deterministic_sweeps_differ_in_nothing_but_timing_nor_does_a_cell_that_is_run_alone(
    data: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan, two cells and three references ask for one data set; another command reads it again, for the files may
    have changed."""
    reads: list[Any] = []
    own = stored.read_documents
    monkeypatch.setattr(stored, "read_documents", lambda *given: (reads.append(given), own(*given))[1])
    summaries = []
    for number, cache in enumerate(("one", "other"), start=1):
        shutil.rmtree("s", ignore_errors=True)
        assert main([*data, JSON, "k=1,2", "baselines=auto", "out=s", f"cache_dir={cache}"]) == 0
        assert len(reads) == number
        summaries.append(read("s/summary.json"))
    one, other = ({**summary, "id": "s"} for summary in summaries)
    assert one["comparison"]["timing"]["pareto"]["latency"] is True
    assert one != other
    assert json.dumps(_untimed(one)) == json.dumps(_untimed(other))
    assert main([*data, JSON, "k=2", "out=alone"]) == 0
    assert len(reads) == 3
    assert json.dumps(_untimed(read("alone/summary.json"))) == json.dumps(_untimed(read("s/1/summary.json")))
    cell, alone = (Path(folder, "snapshot.json") for folder in ("s/1", "alone"))
    assert read(str(cell))["identity"] == read(str(alone))["identity"]


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _untimed(item) for name, item in value.items() if name != "timing"}
    return list(map(_untimed, value)) if isinstance(value, list) else value
