"""Experiments from Python, as a notebook and pytest ask for them."""

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import runner
from runner.errors import ConfigError, EvaluationError, InputError
from tests.small_data import small_data

ANSWERS = {"How long does a refund take?": "A refund takes 14 days.", "What does shipping cost?": "It costs 9 dollars."}
CASES = [
    {"id": "refund", "question": "How long does a refund take?", "answers": ["14 days"]},
    {"id": "shipping", "question": "What does shipping cost?", "answers": ["4 dollars"]},
]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> runner.Sweep:
    folder = tmp_path_factory.mktemp("api")
    words = [*small_data(folder), "tracking=none", "format=json", "retriever=keyword", f"cache_dir={folder / 'cache'}"]
    return runner.run("full_rag", [*words, "k=1,3", f"out={folder / 'out'}"], quiet=True)


def test_a_sweep_has_its_runs_their_metrics_and_cases(swept: runner.Sweep) -> None:
    assert (len(swept), swept.exit_code) == (2, 0)
    first, second = swept.runs
    assert (first.status, first.head["k"], second.head["k"]) == ("completed", 1, 3)
    right = first.metrics["right"]
    assert right.value is not None
    assert right.ci_low is not None
    assert right.ci_high is not None
    assert right.ci_low <= right.value <= right.ci_high
    assert right.n == 8
    assert [row["id"] for row in first.cases()] == [row["id"] for row in first.cases()]
    assert len(first.cases()) == 8
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(InputError, match=r"^frame\(\) needs pandas: pip install"),
    ):
        patch.setitem(sys.modules, "pandas", None)
        first.cases().frame()
    frame = first.cases().frame()
    assert list(frame["id"]) == [row["id"] for row in first.cases()]
    assert frame["right"].mean() == pytest.approx(right.value)
    assert {"question", "answer", "judge.faithfulness", "latency_ms"} <= set(frame.columns)
    assert list(swept.frame()["right"]) == [run.metrics["right"].value for run in swept]


def test_everything_shows_itself_as_html(swept: runner.Sweep) -> None:
    report = runner.evaluate(lambda question: "<script>", ["<b>?"])
    for shown in (swept, swept.runs[0], swept.runs[0].cases(), report, report.cases()):
        assert shown._repr_html_().startswith("<table>")
        assert "<script>" not in shown._repr_html_()
        assert "<b>" not in shown._repr_html_()


def test_two_runs_are_compared(swept: runner.Sweep) -> None:
    found = runner.compare(swept.runs[0], swept.runs[1])
    assert found.verdict == found.record["verdict"]
    assert {"right", "recall_at_k"} & {metric["name"] for metric in found.metrics}
    assert runner.compare(str(swept.runs[0].path), swept.runs[1].path).record["metrics"] == found.metrics
    assert "<table>" in found._repr_html_()
    with pytest.raises(InputError, match=r"has 2 runs; expected one of its `runs`"):
        runner.compare(swept, swept.runs[0])


def test_wrong_settings_are_raised(swept: runner.Sweep) -> None:
    with pytest.raises(ConfigError, match="k: expected"):
        runner.run("full_rag", {"k": 99})
    with pytest.raises(InputError, match="full_rog"):
        runner.run("full_rog")
    with pytest.raises(InputError, match="overrides: expected a list"):
        runner.run("full_rag", "k=3")
    with pytest.raises(InputError, match="nothing"):
        _ = runner.Run(Path("nothing")).status


def test_a_mapping_is_written_as_hydra_reads_it(tmp_path: Path) -> None:
    data = dict(word.split("=", 1) for word in small_data(tmp_path))
    settings = {**data, "tracking": "none", "format": "json", "retriever": "keyword", "cutoffs": [1, 2], "sample": None}
    sweep = runner.run("retrieval_only", {**settings, "strict": True, "out": tmp_path / "o"}, quiet=True)
    assert sweep.runs[0].head["config"]["cutoffs"] == [1, 2]
    assert (sweep.runs[0].head["config"]["strict"], sweep.runs[0].path.resolve()) == (True, tmp_path / "o")


def test_rankings_are_scored_as_by_hand() -> None:
    qrels = {"q1": {"moon": 1}, "q2": {"sun": 1, "mars": 0}, "q3": {"mars": 0}}
    found = runner.score(qrels, {"q1": ["sun", "moon"], "q2": {"mars": 0.2, "sun": 0.9}}, cutoffs=[1, 2])
    assert (found["recall@1"], found["recall@2"], found["mrr@2"]) == (0.5, 1.0, 0.75)
    with pytest.raises(InputError, match="no query has a relevant document"):
        runner.score({"q": {"d": 0}}, {"q": ["d"]})
    with pytest.raises(InputError, match="expected a list of documents"):
        runner.score(qrels, {"q1": "moon"})


def test_a_function_is_evaluated() -> None:
    def short(case: object, output: object) -> bool:
        return len(str(output)) < 1000

    report = runner.evaluate(ANSWERS.__getitem__, CASES, metrics=["right", short])
    assert report["right"].value == 0.5
    assert (report["short"].value, report["short"].n) == (1.0, 2)
    assert set(report) == {"right", "short"}
    assert {row["id"]: row["metrics"]["right"] for row in report.cases()} == {"refund": 1.0, "shipping": 0.0}
    whole = runner.evaluate(ANSWERS.__getitem__, CASES)
    assert whole["answer_relevancy"] is whole["mean_answer_relevancy"]
    assert not [name for name in whole if name.startswith(("recall", "mrr", "mean_faithfulness"))]  # texts alone
    (row, _) = whole.cases()
    assert row["output"]["expected"] == []
    with pytest.raises(KeyError, match="did you mean 'right'"):
        _ = report["rigth"]
    with pytest.raises(InputError, match="metrics: no metric 'rigth'; did you mean 'right'"):
        runner.evaluate(ANSWERS.__getitem__, CASES, metrics=["rigth"])


def test_contexts_and_gold_make_ranking_metrics() -> None:
    cases = [{"question": "How long?", "answers": ["14 days"], "expected_notes": ["refunds"]}]
    said = {"answer": "14 days [1]", "contexts": [{"id": "refunds", "text": "A refund takes 14 days."}]}
    report = runner.evaluate(lambda question: said, cases)
    assert [report[name].value for name in ("recall_at_k", "recall", "recall@5", "faithfulness", "right")] == [1.0] * 5
    with pytest.raises(KeyError, match="did you mean 'faithfulness'"):
        _ = report["faithfulnes"]


def test_what_a_function_raises_is_a_failed_case() -> None:
    def ask(question: str) -> str:
        if "cost" in question:
            raise ValueError("no luck")
        return ANSWERS[question]

    def length(case: object, output: object) -> float:
        return 11

    report = runner.evaluate(ask, CASES, metrics=["right", length])
    assert report.errors == {"shipping": "ValueError: no luck"}
    assert {row["id"]: row["status"] for row in report.cases()} == {"refund": "ok", "shipping": "failed"}
    assert [(each.value, each.n_scored, each.n) for each in report.values()] == [(1.0, 1, 2), (11.0, 1, 2)]
    assert str(report).splitlines() == [
        "2 cases, 1 errors",
        "metric    value    95 % interval    n",
        "-------------------------------------",
        "right    1.0000  0.0250 – 1.0000  1/2",
        "length  11.0000                   1/2",
    ]
    assert repr(report) == str(report) and "<td>11.0000</td>" in report._repr_html_()


def test_a_function_that_always_raises_raises() -> None:
    with pytest.raises(EvaluationError, match="raised for every case: TypeError: expected a text, or a mapping with"):
        runner.evaluate(lambda question: 5, CASES)


@pytest.mark.parametrize("cases", [[], [{"answers": ["x"]}], [""]])
def test_wrong_cases_are_told(cases: list[object]) -> None:
    with pytest.raises(InputError, match="cases: "):
        runner.evaluate(ANSWERS.__getitem__, cases)  # type: ignore[arg-type]


def test_an_event_loop_may_run(swept: runner.Sweep) -> None:
    async def ask(question: str) -> str:
        await asyncio.sleep(0)
        return ANSWERS[question]

    async def notebook() -> runner.Report:
        return runner.evaluate(ask, CASES)

    assert asyncio.run(notebook())["right"].value == 0.5


LIGHT = """
import sys
before = set(sys.modules)
import runner
heavy = {"numpy", "pydantic", "hydra", "pandas", "mlflow", "runner.commands._api", "yaml"} & (set(sys.modules) - before)
assert not heavy, heavy
assert {"run", "compare", "score", "evaluate"} <= set(dir(runner)) and callable(runner.run)
import runner.run, runner.compare, runner.run.engine
assert callable(runner.run) and callable(runner.compare)
from runner import Sweep, evaluate, run
try:
    run("nothing_like_it")
except runner.commands._api.InputError as error:
    print("fine")
"""


def test_the_import_is_light_and_packages_of_the_same_name_hide_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("fine\n", 0), done.stderr


def test_what_is_offered_is_documented() -> None:
    for name in set(runner.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(runner.commands._api, name)), name
    assert set(runner.commands._api.__all__) == set(runner.__all__) - {"__version__"}
