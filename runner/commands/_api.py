"""Experiments from Python: what `import runner` offers, for notebooks and pytest.

    import runner

    sweep = runner.run("full_rag", {"k": "3,5", "tracking": "none"})
    sweep.runs[0].metrics["right"].value
    sweep.runs[0].cases().frame()          # pandas
    runner.compare(sweep.runs[0], sweep.runs[1]).verdict

    report = runner.evaluate(ask, [{"question": "How long does a refund take?", "answers": ["14 days"]}])
    assert report["right"].value > 0.8

    runner.score({"q1": {"moon": 1}}, {"q1": ["sun", "moon"]})["mrr@10"]

Everything also works inside a running event loop, where runs are made in a thread. Progress goes to stderr, which
notebooks show; objects have a display as tables. Errors are those of runner.errors.
"""

from __future__ import annotations

import asyncio
import html
import inspect
import io
import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from contextvars import copy_context
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from runner.errors import EvaluationError, InputError, did_you_mean, install_command
from runner.records import Estimate

if TYPE_CHECKING:
    import pandas as pd

    from runner.metrics.metric import Catalogue
    from runner.system.folder import RunFolder

__all__ = ["Cases", "Comparison", "Report", "Run", "Sweep", "compare", "evaluate", "run", "score"]

T = TypeVar("T")
Overrides = Sequence[str] | Mapping[str, Any]
Output = Mapping[str, Any]  # the result of an evaluated function: `answer` and perhaps `contexts`
Measure = Callable[[Mapping[str, Any], Output], float | bool | None]
CUTOFFS = (1, 3, 5, 10)
GOLD = ("answers", "answerable", "expected_notes", "expected_chunks", "checks")
KEPT = ("id", *GOLD, "language", "difficulty", "tags", "history")


# --- a run, a sweep ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimates(Mapping[str, Estimate]):
    """Metrics by their names in summary.json, in their order, which are found by any of their names: `recall@5`,
    `recall`, `faithfulness`. A missing one raises KeyError with a similar name."""

    by_name: Mapping[str, Estimate]
    catalogue: Catalogue = field(repr=False)

    def __getitem__(self, name: str) -> Estimate:
        found = self.name_of(name)
        if found is None:
            raise KeyError(f"no metric '{name}'{self.similar_to(name)}")
        return self.by_name[found]

    def similar_to(self, name: str) -> str:
        """The names that may be meant by an unknown one, for a message."""
        present = (each for each in self.catalogue.spellings if self.name_of(each) is not None)
        return did_you_mean(name, dict.fromkeys([*self.by_name, *present]))

    def name_of(self, name: object) -> str | None:
        """The name in summary.json of what is meant; None where the run has no such metric."""
        return self.catalogue.name_among(name, self.by_name) if isinstance(name, str) else None

    def __contains__(self, name: object) -> bool:
        return self.name_of(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def __str__(self) -> str:
        return _text_table("", _HEADERS, _rows(self.by_name))

    def _repr_html_(self) -> str:
        return _table("", _HEADERS, _rows(self.by_name))


def _estimates_in(summary: Mapping[str, Any]) -> dict[str, Estimate]:
    return {name: _estimate(entry) for name, entry in (summary.get("metrics") or {}).items()}


def _catalogue_in(head: Mapping[str, Any]) -> Catalogue:
    from runner.metrics.catalogue import catalogue_in

    return catalogue_in(head)


@dataclass(frozen=True)
class Run:
    """A finished run, by its folder: `Run("outputs/…")`.

    Raises:
        InputError: the folder holds no run; raised when something is read.
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """run.json: settings, versions, models, status, exit code."""
        return self._open.run

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """summary.json; empty for a run that ended before it was written."""
        return self._open.summary

    @property
    def status(self) -> str:
        """completed, partial or failed."""
        return str(self.head.get("status"))

    @property
    def exit_code(self) -> int:
        """The exit code of the command line for such a run."""
        return int(self.head.get("exit_code") or 0)

    @cached_property
    def metrics(self) -> Estimates:
        """The metrics: `run.metrics["recall@5"].value`, `.ci_low`, `.ci_high`, `.n`; also by their names in
        summary.json (`recall_at_5`, `mean_faithfulness`)."""
        return Estimates(_estimates_in(self.summary), _catalogue_in(self.head))

    def cases(self) -> Cases:
        """Returns:
        The rows of per_item.jsonl, read when they are iterated.
        """
        return Cases(self.path / "per_item.jsonl", self)

    def calls(self, case: str) -> list[dict[str, Any]]:
        """The model calls of a case.

        Args:
            case: the id of a case.

        Returns:
            One mapping a call, as calls.jsonl.zst has it, in the order in which they were sent; empty for a case
            without calls.
        """
        from runner.llm.calls import FILE, calls_of

        return sorted(calls_of(self.path / FILE, [case])[case], key=lambda call: int(call["at"]))

    @cached_property
    def _open(self) -> RunFolder:
        from runner.system.folder import legible, open_run

        with legible(self.path):
            return open_run(self.path)

    def _repr_html_(self) -> str:
        return _table(f"{self.path} ({self.status})", _HEADERS, _rows(self.metrics))


@dataclass(frozen=True)
class Cases:
    """The rows of a run, one mapping a case; every iteration reads the file row by row."""

    path: Path
    owner: object = field(default=None, repr=False, compare=False)  # keeps the temporary folder alive

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        from runner.system.folder import lines

        return lines(self.path)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def frame(self) -> pd.DataFrame:
        """The rows as a table.

        Returns:
            A pandas frame with a row a case: id, status, language, question, answer, then every metric and
            `judge.RUBRIC`.

        Raises:
            InputError: pandas is not installed.
        """
        pd = _pandas()
        return pd.DataFrame([_flatten_row(row) for row in self])

    def _repr_html_(self) -> str:
        first_rows = [_flatten_row(row) for _, row in zip(range(20), self, strict=False)]
        headers = list(dict.fromkeys(name for row in first_rows for name in row))
        return _table(
            f"{len(self):,} cases", headers, [[_text_of(row.get(name)) for name in headers] for row in first_rows]
        )


@dataclass(frozen=True)
class Sweep:
    """The runs of one command: a single run, or one run a cell. `exit_code` is the most severe one."""

    path: Path
    exit_code: int = 0

    @cached_property
    def runs(self) -> Sequence[Run]:
        """The runs in the order of the command."""
        from runner.system.folder import is_sweep, open_sweep

        if not is_sweep(self.path):
            return [Run(self.path)]
        return [Run(self.path / str(cell["folder"])) for cell in open_sweep(self.path).get("cells") or ()]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def frame(self) -> pd.DataFrame:
        """The runs as a table.

        Returns:
            A pandas frame with a row a run: its folder, status, and the value of each metric.

        Raises:
            InputError: pandas is not installed.
        """
        pd = _pandas()
        return pd.DataFrame(
            [
                {
                    "run": run.path.name,
                    "status": run.status,
                    **{name: estimate.value for name, estimate in run.metrics.items()},
                }
                for run in self.runs
            ]
        )

    def _repr_html_(self) -> str:
        return "".join(run._repr_html_() for run in self.runs)


def run(experiment: str, overrides: Overrides = (), *, quiet: bool = False) -> Sweep:
    """Run an experiment, or a sweep of it, as `python -m runner +experiment=EXPERIMENT OVERRIDE …` does.

    Args:
        experiment: a choice of conf/experiment, such as full_rag.
        overrides: words of the command line (`["k=3,5", "retriever=hybrid"]`), or a mapping: `{"k": "3,5"}` sweeps, a
            list (`{"cutoffs": [1, 5]}`) is one value.
        quiet: whether nothing is printed.

    Returns:
        The runs. A failed run has a `status` and an `exit_code` that say so.

    Raises:
        ConfigError: settings are wrong; the message names all of them.
        InputError: the overrides are no words, or a data file cannot be used.
    """
    return _in_thread(lambda: _launch_words([f"+experiment={experiment}", *_words(overrides)]), quiet=quiet)


def _launch_words(words: Sequence[str]) -> Sweep:
    from runner.config import arguments
    from runner.config.compose import plan_of
    from runner.run.sweep import launch_in_folder
    from runner.system import redaction

    redaction.learn_environment()
    redaction.learn(list(words))
    plan = plan_of(arguments.read(words))
    if plan.cells[0].cfg.dry_run:
        raise InputError("dry_run: there is nothing to return; python -m runner checks without a run")
    folder, exit_code = launch_in_folder(plan)
    return Sweep(folder, exit_code)


def _words(overrides: Overrides) -> list[str]:
    if isinstance(overrides, Mapping):
        return [f"{name}={_in_grammar(value)}" for name, value in overrides.items()]
    if isinstance(overrides, str):
        raise InputError(f"overrides: expected a list such as ['{overrides}'] or a mapping, got a text")
    return list(overrides)


def _in_grammar(value: Any) -> str:
    """A value in Hydra's grammar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{name}:{_in_grammar(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_in_grammar, value))}]"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


# --- two runs, a ranking ----------------------------------------------------------------------------


Place = Run | Sweep | str | os.PathLike[str]


@dataclass(frozen=True)
class Comparison:
    """A comparison. `record`: the content of compare.json; `verdict`: better, worse, mixed, within noise …, of the
    candidate."""

    record: Mapping[str, Any]

    @property
    def verdict(self) -> str:
        """The overall verdict over the main metrics (runner.compare.verdicts.Overall)."""
        return str(self.record["verdict"])

    @property
    def metrics(self) -> Sequence[Mapping[str, Any]]:
        """The metrics with their values, difference, interval and p."""
        rows: Sequence[Mapping[str, Any]] = self.record["metrics"]
        return rows

    def _repr_html_(self) -> str:
        from markdown_it import MarkdownIt

        from runner.report.comparison import render
        from runner.words.wording import LANGUAGES

        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        return str(markdown.render(render([self.record], LANGUAGES["en"])))


def compare(a: Place, b: Place, *, seed: int = 42) -> Comparison:
    """Compare a run with a baseline. Both are a Run, a run folder, a snapshot file, an MLflow run id or
    `latest:EXPERIMENT`.

    Args:
        a: the baseline.
        b: the candidate.
        seed: of intervals and tests.

    Returns:
        The comparison, by the rules that the candidate was made with.

    Raises:
        InputError: a reference names no run, or a sweep of several.
    """
    from dataclasses import replace

    from runner.commands.compare import rules_of_run
    from runner.compare.compare import compare as compared
    from runner.compare.record import record_of
    from runner.compare.sides import Finder

    with tempfile.TemporaryDirectory() as scratch:
        finder = Finder(Path(scratch), None)
        candidate = finder.open(_reference(b))
        baseline = replace(finder, candidates=[candidate.snapshot.run]).open(_reference(a))
        comparison = compared(baseline, candidate, rules_of_run(candidate.snapshot.config), seed=seed)
    return Comparison(record_of(comparison, fail_on_regression=False))


def _reference(run: Place) -> str:
    if isinstance(run, Sweep):
        if len(run.runs) != 1:
            raise InputError(f"{run.path} has {len(run.runs)} runs; expected one of its `runs`")
        run = run.runs[0]
    return str(run.path if isinstance(run, Run) else os.fspath(run))


Qrels = Mapping[str, Mapping[str, int]] | str | os.PathLike[str]
Ranking = Mapping[str, Mapping[str, float] | Sequence[str]] | str | os.PathLike[str]


def score(qrels: Qrels, ranking: Ranking, *, cutoffs: Sequence[int] = CUTOFFS) -> dict[str, float]:
    """Compute ranking metrics as trec_eval does: means over the queries that have a relevant document.

    Args:
        qrels: query -> document -> grade, or a file of TREC or BEIR form.
        ranking: query -> document -> score, or documents best first, or a TREC run file.
        cutoffs: of `NAME@k`, each from 1.

    Returns:
        The values by name (`recall@5`), 0..1. A query without a ranking counts 0.

    Raises:
        InputError: no query has a relevant document.
        DataError: a file cannot be used.
    """
    from runner.commands.score import evaluate as scored
    from runner.data import trec_runs as trec

    table = trec.read_qrels(Path(qrels)) if isinstance(qrels, str | os.PathLike) else _encode(qrels)
    rankings = (
        trec.read_run(Path(ranking))
        if isinstance(ranking, str | os.PathLike)
        else _encode({query: _scores(documents) for query, documents in ranking.items()})
    )
    relevant = {query: grades for query, grades in table.items() if any(grade > 0 for grade in grades.values())}
    if not relevant:
        raise InputError("qrels: no query has a relevant document (a grade above 0)")
    values = scored(relevant, rankings, sorted(set(cutoffs)))
    return {name: math.fsum(column.tolist()) / len(column) for name, column in values.items()}


def _encode(table: Mapping[str, Mapping[str, Any]]) -> dict[bytes, dict[bytes, Any]]:
    return {
        query.encode(): {document.encode(): value for document, value in row.items()} for query, row in table.items()
    }


def _scores(documents: Mapping[str, float] | Sequence[str]) -> Mapping[str, float]:
    if isinstance(documents, Mapping):
        return documents
    if isinstance(documents, str):
        raise InputError(f"ranking: expected a list of documents or document -> score, got '{documents}'")
    return {document: -float(place) for place, document in reversed(list(enumerate(documents)))}


# --- a function -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report(Mapping[str, Estimate]):
    """Metrics by any of their names: `report["right"].value`, `report["faithfulness"]`, `report["recall@5"]`. `run`:
    the run with all other results; `errors`: the errors of the function, by case. A report prints as a table."""

    metrics: Estimates
    run: Run
    errors: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Estimate:
        return self.metrics[name]

    def __contains__(self, name: object) -> bool:
        return name in self.metrics

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def cases(self) -> Cases:
        """Returns:
        The rows, as `Run.cases`.
        """
        return self.run.cases()

    @property
    def _title(self) -> str:
        return f"{len(self.cases()):,} cases, {len(self.errors):,} errors"

    def __str__(self) -> str:
        return _text_table(self._title, _HEADERS, _rows(self.metrics))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _table(self._title, _HEADERS, _rows(self.metrics))


def evaluate(
    function: Callable[[str], Any] | Callable[[str], Awaitable[Any]],
    cases: Iterable[Mapping[str, Any] | str],
    *,
    metrics: Sequence[str | Measure] | None = None,
    overrides: Overrides = (),
    concurrency: int = 4,
    out: str | os.PathLike[str] | None = None,
    quiet: bool = True,
) -> Report:
    """Ask a function every question, and measure its answers as full_rag measures those of a system.

        report = runner.evaluate(ask, [{"question": "How long?", "answers": ["14 days"]}], metrics=["right", polite])

    Args:
        function: question -> answer (a text), or a mapping with `answer` and `contexts` (texts, or mappings with `id`
            and `text`); plain or async. An exception makes a failed case, which has no score. Metrics of contexts are
            measured where the function returns contexts, those of rankings where the cases also say what is relevant.
        cases: questions; or mappings with `question`, and `answers`, `answerable`, `expected_notes` … as a queries file
            has them.
        metrics: names of metrics, and functions (case, output) -> a number, True or False, or None where it does not
            apply, which appear by their own names; default: all that the run has.
        overrides: of the run, such as `["judge=openai", "judge.model=openai:gpt-4.1-mini"]`; by default a judge
            without a model.
        concurrency: questions in flight.
        out: the folder of the run, which is kept; default: one that is deleted with the report.
        quiet: whether nothing of the run is printed.

    Returns:
        The metrics with their intervals, the run, and the errors of the function.

    Raises:
        InputError: cases are wrong, or a metric is unknown.
        EvaluationError: the function raised for every case; its first exception is the cause.
    """
    items = [_case(case, number) for number, case in enumerate(cases, start=1)]
    if not items:
        raise InputError("cases: expected at least one")
    _check_gold(items)
    outputs, raised = _in_thread(lambda: asyncio.run(_answers(function, items, concurrency)), quiet=quiet)
    errors = {id: f"{type(error).__name__}: {error}" for id, error in raised.items()}
    if not outputs:
        first = raised[items[0]["id"]]
        raise EvaluationError(f"the function raised for every case: {errors[items[0]['id']]}") from first
    finished = _run_of(items, outputs, overrides, None if out is None else os.fspath(out), quiet=quiet)
    return Report(_choose(finished, metrics, items, outputs), finished, errors)


def _run_of(
    cases: Sequence[Mapping[str, Any]],
    outputs: Mapping[str, Output],
    overrides: Overrides,
    out: str | None,
    *,
    quiet: bool,
) -> Run:
    """Make the run. Its temporary folder is deleted with the returned object, unless `out` names a folder."""
    folder = Path(tempfile.mkdtemp(prefix="runner-"))
    try:
        path = _written_cases(cases, outputs, folder / "queries.jsonl")
        words = ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={path}", "retriever=given"]
        words += ["generator=given", "tracking=none", "max_failure_rate=1.0", f"out={out or folder / 'run'}"]
        words += [] if any("cache_dir=" in word for word in _words(overrides)) else [f"cache_dir={folder / 'cache'}"]
        finished = run("full_rag", [*words, *_words(overrides)], quiet=quiet).runs[0]
        if not finished.metrics:
            raise InputError(f"the cases cannot be evaluated: {finished.head.get('error_message')}")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(finished, shutil.rmtree, folder, ignore_errors=True)
    return finished


def _case(case: Mapping[str, Any] | str, number: int) -> Mapping[str, Any]:
    fields = {"question": case} if isinstance(case, str) else dict(case)
    question = fields.get("question") or fields.get("query")
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"cases: case {number} has no question; expected a text or {{'question': …, 'answers': […]}}")
    return {"id": f"case-{number}", "answerable": True, **fields, "question": question}


def _check_gold(cases: Sequence[Mapping[str, Any]]) -> None:
    """Raises InputError where only some of the cases say which documents are relevant."""
    needing = [case for case in cases if case["answerable"]]
    with_gold = [case for case in needing if case.get("expected_notes") or case.get("expected_chunks")]
    if with_gold and len(with_gold) < len(needing):
        raise InputError(
            f"cases: {len(with_gold)} of {len(needing)} have expected_notes; expected all of them, or none"
        )


async def _answers(
    function: Callable[[str], Any], cases: Sequence[Mapping[str, Any]], concurrency: int
) -> tuple[dict[str, Output], dict[str, Exception]]:
    outputs: dict[str, Output] = {}
    errors: dict[str, Exception] = {}
    waiting = iter(cases)

    async def work() -> None:
        for case in waiting:
            try:
                outputs[case["id"]] = _output(await _call(function, case["question"]))
            except Exception as error:
                errors[case["id"]] = error

    await asyncio.gather(*(work() for _ in range(max(1, concurrency))))
    return outputs, errors


async def _call(function: Callable[[str], Any], question: str) -> Any:
    reply = function(question) if inspect.iscoroutinefunction(function) else await asyncio.to_thread(function, question)
    return await reply if inspect.isawaitable(reply) else reply


def _output(reply: Any) -> Output:
    output = {"answer": reply} if isinstance(reply, str) else reply
    if not isinstance(output, Mapping) or not isinstance(output.get("answer"), str):
        raise TypeError(f"expected a text, or a mapping with `answer`, got {type(reply).__name__}")
    return output


def _written_cases(cases: Sequence[Mapping[str, Any]], outputs: Mapping[str, Output], path: Path) -> Path:
    """Write the queries file. A case without an output has no answer, which `generator=given` reports as its error.
    An output without contexts says nothing of what was found, so that nothing is measured by it."""
    import orjson

    from runner.system.writing import write_bytes

    lines = [_written_case(case, outputs.get(case["id"])) for case in cases]
    write_bytes(path, b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def _written_case(case: Mapping[str, Any], output: Output | None) -> dict[str, Any]:
    line = {"query": case["question"], **{name: case[name] for name in KEPT if name in case}}
    if output is None:
        return {"checks": [], **line}  # a question may go without what is to be found
    if output.get("contexts") is None:
        return {**line, "answer": output["answer"]}
    contexts = [
        {"id": f"context-{number}", "text": context} if isinstance(context, str) else dict(context)
        for number, context in enumerate(output["contexts"], start=1)
    ]
    return {**line, "contexts": contexts, "answer": output["answer"]}


def _choose(
    run: Run,
    metrics: Sequence[str | Measure] | None,
    cases: Sequence[Mapping[str, Any]],
    outputs: Mapping[str, Output],
) -> Estimates:
    """The metrics of a run that have a value, or those that were asked for, with the functions among them."""
    known = run.metrics
    if metrics is None:
        return Estimates({name: each for name, each in known.items() if each.value is not None}, known.catalogue)
    estimates: dict[str, Estimate] = {}
    for metric in metrics:
        if isinstance(metric, str):
            if (name := known.name_of(metric)) is None:
                raise InputError(f"metrics: no metric '{metric}'{known.similar_to(metric)}")
            estimates[name] = known[name]
        else:
            values = [metric(case, outputs[case["id"]]) for case in cases if case["id"] in outputs]
            estimates[getattr(metric, "__name__", type(metric).__name__)] = _mean_of(values, len(cases) - len(values))
    return Estimates(estimates, known.catalogue)


def _mean_of(values: Sequence[float | bool | None], n_failed: int) -> Estimate:
    """The mean over the cases with a value; `n` also counts those whose function raised."""
    import numpy as np

    from runner.metrics.statistics import mean_intervals

    scores = np.array([[float(value)] for value in values if value is not None], dtype=np.float64)
    n = len(scores) + n_failed
    if not len(scores):
        return Estimate(None, n, 0, None, None)
    bounds = np.array([[0.0, 1.0]]) if ((scores >= 0) & (scores <= 1)).all() else None
    low, high = (None if math.isnan(end) else float(end) for end in mean_intervals(scores, ranges=bounds, seed=42)[0])
    return Estimate(float(scores.mean()), n, len(scores), low, high)


# --- inside -----------------------------------------------------------------------------------------

_HEADERS = ("metric", "value", "95 % interval", "n")
_FIELDS = frozenset(each.name for each in fields(Estimate))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise InputError(f"frame() needs pandas: {install_command('frames')}") from None
    return pandas


def _in_thread(work: Callable[[], T], *, quiet: bool) -> T:
    """Call `work`, in a thread if an event loop is running, since event loops cannot be nested."""

    def run_quietly() -> T:
        if not quiet:
            return work()
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return work()

    if not _has_loop():
        return run_quietly()
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(copy_context().run, run_quietly).result()


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _estimate(entry: Mapping[str, Any]) -> Estimate:
    missing = dict.fromkeys(("value", "n", "n_scored", "ci_low", "ci_high"))
    return Estimate(**{**missing, **{name: value for name, value in entry.items() if name in _FIELDS}})


def _flatten_row(row: Mapping[str, Any]) -> dict[str, Any]:
    output = row.get("output") or {}
    judge_scores = {
        f"judge.{rubric}": judgement.get("score") for rubric, judgement in (row.get("judgements") or {}).items()
    }
    head = {name: row.get(name) for name in ("id", "status", "language", "difficulty", "error")}
    texts = {"question": output.get("query"), "answer": output.get("answer")}
    return {**head, **texts, **(row.get("metrics") or {}), **judge_scores, "latency_ms": row.get("latency_ms")}


def _rows(metrics: Mapping[str, Estimate]) -> list[list[str]]:
    with_value = ((name, estimate) for name, estimate in metrics.items() if estimate.value is not None)
    return [
        [name, _text_of(estimate.value), _interval_text(estimate), _count_text(estimate)]
        for name, estimate in with_value
    ]


def _text_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of a fixed width, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    texts = [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]) for first, *others in (headers, *rows)
    ]
    return "\n".join([*filter(None, [title]), texts[0], "-" * len(texts[0]), *texts[1:]])


def _interval_text(estimate: Estimate) -> str:
    return (
        "" if estimate.ci_low is None or estimate.ci_high is None else f"{estimate.ci_low:.4f} – {estimate.ci_high:.4f}"
    )


def _count_text(estimate: Estimate) -> str:
    """The cases with a score, and of how many where some have none."""
    return str(estimate.n) if estimate.n_scored in (None, estimate.n) else f"{estimate.n_scored}/{estimate.n}"


def _text_of(value: Any) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)[:200]


def _table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headers)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
