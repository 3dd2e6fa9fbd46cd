import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from plugins.embedder.lsa import LsaEmbedder
from plugins.embedder.none import NoEmbedder
from plugins.evaluation.trace_quality import NAMES, TOOL_NAMES, TraceQuality
from plugins.judge.lexical import LexicalJudge
from plugins.novelty.local import LocalNovelty
from runner.domains.traces.records import Trace
from runner.errors import ConfigError
from runner.metrics.profile import AutoProfile, ProfileChoice, profile_by_name, shipped_profiles
from runner.metrics.tool_use import ToolUse
from runner.protocols import Embedder, Judge, Workspace
from runner.records import DataProblem, Judgement
from runner.system.store import Store
from tests.runner.domains.traces.examples import finance, recovering, trace


@dataclass
class Given:
    """Traces that are there already."""

    traces: Sequence[Trace]

    def read(self, look: Callable[[Trace], None]) -> tuple[Sequence[Trace], tuple[DataProblem, ...]]:
        for each in self.traces:
            look(each)
        return self.traces, ()


class Counts:
    """Vectors of how often a text holds a, b and c."""

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None:
        self.n_prepared, self.n_embedded = len(texts), 0

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        rows = np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32)
        self.n_embedded += len(texts)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def evaluation(
    *traces: Trace,
    profile: ProfileChoice | None = None,
    embedder: Embedder | None = None,
    judge: Judge | None = None,
    judge_completion: bool = True,
    **novelty: Any,
) -> TraceQuality:
    return TraceQuality(
        dataset=Given(traces),
        profile=profile or AutoProfile(),
        profiles=dict(shipped_profiles()),
        novelty=LocalNovelty(embedder=embedder or NoEmbedder(), **novelty),
        judge=judge or LexicalJudge(),
        judge_completion=judge_completion,
    )


def rows_of(subject: TraceQuality, tmp_path: Path, ids: set[str] | None = None) -> dict[str, dict[str, Any]]:
    """Rows as the engine writes them, by id."""

    async def all_rows() -> dict[str, dict[str, Any]]:
        cases = [case for case in subject.load().cases if ids is None or case.id in ids]
        await subject.prepare(cases, Store(tmp_path, {id(subject.novelty.embedder): "1"}))
        rows = {}
        for case in cases:
            output = await subject.run(case)
            scores = subject.score(case, output, await subject.judge(case, output))
            rows[case.id] = {
                "id": case.id,
                "metrics": scores.values,
                "labels": scores.labels,
                "tags": case.tags,
                "output": output.record(),
            }
        return rows

    return asyncio.run(all_rows())


def test_a_trace_is_scored_by_its_domain_and_told_under_every_profile(tmp_path: Path) -> None:
    row = rows_of(evaluation(finance(rating=4, quality="good")), tmp_path)["finance-1"]
    assert row["metrics"] == {
        "score": pytest.approx(0.724, abs=1e-12),
        "complexity": pytest.approx(0.425, abs=1e-12),
        "novelty": 0.5,
        "diversity": 1.0,
        "outcome": 0.92,
    }
    assert row["labels"] == {"rule": "none", "domain": "finance"}
    assert row["tags"] == ("finance", "good")
    output = row["output"]
    assert (output["query"], output["domain"], output["profile"]) == ("Analyze TSMC Q4 earnings", "finance", "finance")
    assert output["weights"] == {"complexity": 0.2, "novelty": 0.25, "diversity": 0.1, "outcome": 0.45}
    assert output["before_rules"] == row["metrics"]["score"]
    assert output["rating"] == 4
    expected = {"default": 0.66125, "finance": 0.724, "code": 0.719, "medical": 0.76975, "customer_service": 0.711}
    assert output["scores"] == pytest.approx(expected, abs=1e-12)


def test_calls_are_held_against_the_expected_ones_where_a_trace_names_them(tmp_path: Path) -> None:
    expected = (ToolUse("financial_data_api"), ToolUse("comparison_tool", {"metric": "gross_margin"}))
    told, untold = finance(expected_tools=expected), finance("2")
    subject = evaluation(told, untold)
    rows = rows_of(subject, tmp_path)
    assert {name: rows["finance-1"]["metrics"][name] for name in TOOL_NAMES} == {
        "tool_match_strict": 0.0,  # the second call has no arguments
        "tool_match_unordered": 0.0,
        "tool_match_subset": 0.0,
        "tool_match_superset": 0.0,
        "redundant_calls": 0.0,
        "steps_over_reference": 0.0,
    }
    assert not set(TOOL_NAMES) & set(rows["2"]["metrics"])
    named = rows_of(evaluation(finance(expected_tools=expected[:1])), tmp_path)["finance-1"]["metrics"]
    assert (named["tool_match_superset"], named["tool_match_subset"], named["steps_over_reference"]) == (1.0, 0.0, 1.0)
    with_reference, without = subject.load().cases
    assert subject.score(with_reference, None, {}).unscored == (*NAMES, *TOOL_NAMES)
    assert subject.score(without, None, {}).unscored == NAMES


def test_what_is_expected_is_part_of_the_task() -> None:
    first, second = (evaluation(finance(expected_tools=each)).load().identity for each in (None, ()))
    assert first["tasks"] != second["tasks"]


def test_a_profile_of_a_name_holds_for_every_domain(tmp_path: Path) -> None:
    row = rows_of(evaluation(finance(), profile=profile_by_name("medical")), tmp_path)["finance-1"]
    assert row["metrics"]["score"] == pytest.approx(0.76975, abs=1e-12)
    assert row["output"]["profile"] == "medical"


def test_rules_are_labels(tmp_path: Path) -> None:
    rows = rows_of(evaluation(recovering(), trace("one", [("thought", "hm", "search")])), tmp_path)
    assert rows["recovering"]["labels"]["rule"] == "recovery_bonus"
    assert rows["one"]["labels"]["rule"] == "single_thought+one_tool"
    assert rows["one"]["metrics"]["score"] == 0.0


def test_novelty_is_the_distance_to_what_came_before(tmp_path: Path) -> None:
    texts = {"1": "aaa", "2": "bbb", "3": "aaab", "4": "ccc"}
    traces = [trace(id, [("thought", text, None)], objective="-") for id, text in texts.items()]
    rows = rows_of(evaluation(*traces, embedder=Counts()), tmp_path)
    found = {id: row["metrics"]["novelty"] for id, row in rows.items()}
    assert found == pytest.approx({"1": 0.5, "2": 1.0, "3": 1 - 3 / 10**0.5, "4": 1.0}, abs=1e-6)


def test_a_sample_changes_no_score(tmp_path: Path) -> None:
    traces = [trace(str(n), [("thought", "abc"[n % 3] * (n + 1) + "a" * (n % 4), None)]) for n in range(12)]
    everything = rows_of(evaluation(*traces, embedder=Counts(), max_elements=3), tmp_path)
    embedder = Counts()
    some = rows_of(evaluation(*traces, embedder=embedder, max_elements=3), tmp_path, ids={"2", "10"})
    assert some == {id: everything[id] for id in ("2", "10")}
    assert embedder.n_prepared == 12
    assert embedder.n_embedded == 3 + 4  # each with the three before it, as far as there are


def test_the_embedder_of_the_program_finds_what_is_said_again(tmp_path: Path) -> None:
    texts = ("환불을 요청한 고객", "Refactor the parser module", "환불을 요청한 고객", "혈압약의 상호작용을 확인")
    traces = [trace(str(n), [("thought", text, None)], objective=text) for n, text in enumerate(texts)]
    rows = rows_of(evaluation(*traces, embedder=LsaEmbedder()), tmp_path)
    assert rows["2"]["metrics"]["novelty"] == pytest.approx(0.0, abs=1e-5)
    assert rows["1"]["metrics"]["novelty"] > 0.9 < rows["3"]["metrics"]["novelty"]


def test_a_trace_that_failed_leaves_all_its_metrics_unscored() -> None:
    subject = evaluation(finance())
    case = subject.load().cases[0]
    scores = subject.score(case, None, {})
    assert (scores.values, scores.unscored) == ({}, NAMES)


def test_identities_tell_tasks_from_traces() -> None:
    first = evaluation(finance()).load().identity
    other_agent = evaluation(finance(confidence=0.4)).load().identity
    other_task = evaluation(finance(domain="code")).load().identity
    assert first["tasks"] == other_agent["tasks"] != other_task["tasks"]
    assert first["traces"] != other_agent["traces"]


def test_the_same_weights_are_the_same_whatever_chose_them() -> None:
    traces = (finance(), finance("2", domain="물류"))

    def weights(*given: Trace, profile: ProfileChoice | None = None) -> str:
        return evaluation(*given, profile=profile).load().identity["trace_weights"]

    assert weights(traces[0]) == weights(traces[0], profile=profile_by_name("finance"))
    assert (
        weights(traces[1])
        == weights(traces[1], profile=profile_by_name("default"))
        != weights(traces[1], profile=profile_by_name("code"))
    )
    assert weights(*traces) not in (weights(*traces, profile=profile_by_name("finance")), weights(traces[0]))


def test_language_is_told_or_found(tmp_path: Path) -> None:
    korean = trace("ko", [("thought", "", None)], objective="환불 규정을 찾아 주세요")
    cases = evaluation(korean, finance(), finance(id="told", language="ko")).load().cases
    assert [case.language for case in cases] == ["ko", "en", "ko"]


def test_what_it_cannot_do_without() -> None:
    novelty = LocalNovelty(embedder=NoEmbedder())
    parts: dict[str, Any] = {"profile": AutoProfile(), "novelty": novelty, "judge": LexicalJudge()}
    with pytest.raises(ConfigError, match="dataset: holds no traces; dataset=traces does"):
        TraceQuality(dataset=object(), profiles=dict(shipped_profiles()), **parts)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"evaluation\.profiles: the profile 'default' is missing"):
        TraceQuality(dataset=Given([]), profiles={}, **parts)


# --- whether the task was done ----------------------------------------------------------------------


class Says:
    """A judge of one answer."""

    on_failure: Literal["zero", "exclude"] = "zero"

    def __init__(self, said: Judgement, on_failure: Literal["zero", "exclude"] = "zero") -> None:
        self.said, self.on_failure = said, on_failure
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        self.asked.append((rubric, fields))
        return self.said


def test_a_judge_is_shown_the_task_the_steps_and_the_result_and_nothing_that_tells_success(tmp_path: Path) -> None:
    judge = Says(Judgement(0.75, "Almost."))
    row = rows_of(evaluation(finance(), judge=judge), tmp_path)["finance-1"]
    assert row["metrics"]["task_completion"] == 0.75
    ((rubric, fields),) = judge.asked
    assert rubric == "task_completion"
    assert fields == {
        "objective": "Analyze TSMC Q4 earnings",
        "steps": [f"{step.type}: {' '.join(filter(None, (step.tool, step.content)))}" for step in finance().steps],
        "result": finance().summary,
        "language": "en",
    }


@pytest.mark.parametrize(("on_failure", "value"), [("zero", 0.0), ("exclude", None)])
def test_a_failed_judgement_counts_as_the_judge_says(
    on_failure: Literal["zero", "exclude"], value: float | None, tmp_path: Path
) -> None:
    subject = evaluation(finance(), judge=Says(Judgement(None, "", "no score"), on_failure))
    assert rows_of(subject, tmp_path)["finance-1"]["metrics"]["task_completion"] == value
    case = subject.load().cases[0]
    output = asyncio.run(subject.run(case))
    failed = {"task_completion": Judgement(None, "", "no score")}
    assert subject.score(case, output, failed).unscored == ("task_completion",)
    assert subject.score(case, None, {}).unscored == (*NAMES, "task_completion")


@pytest.mark.parametrize("others", [{}, {"judge": Says(Judgement(1.0)), "judge_completion": False}])
def test_a_judge_of_words_is_not_asked_and_no_judge_where_nobody_wants_it(tmp_path: Path, others: Any) -> None:
    subject = evaluation(finance(), **others)
    assert "task_completion" not in rows_of(subject, tmp_path)["finance-1"]["metrics"]
    assert asyncio.run(subject.check_judge()) == {}
    assert subject.idle == ("judge",)
    assert "judge" not in subject.load().identity
    assert subject.sums([]) == ({} if others else {"trace": {"completion_not_judged": True}})


# --- time -------------------------------------------------------------------------------------------


def test_embedding_is_told_as_a_share_of_a_batch_where_anything_is_embedded(tmp_path: Path) -> None:
    def timings(subject: TraceQuality) -> dict[str, Any]:
        rows_of(subject, tmp_path)
        return dict(asyncio.run(subject.run(subject.load().cases[0])).timings)

    assert timings(evaluation(finance())) == {}
    told = timings(evaluation(finance(), embedder=Counts()))
    assert list(told) == ["embedding_share", "scoring"]
    assert all(timing.ms > 0 and timing.live for timing in told.values())
