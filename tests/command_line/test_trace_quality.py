"""Traces scored from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.domains.memory.embedded_server import acquire, release
from tests.command_line.result_files import summary
from tests.small_data import write_jsonl

RUN = ["+experiment=trace_quality", "tracking=none"]
PROFILES = ["default", "finance", "code", "medical", "customer_service"]
LEGAL = """\
_target_: runner.metrics.profile.Profile
name: legal
weights: {complexity: 0.1, novelty: 0.1, diversity: 0.1, outcome: 0.7}
"""


def rows(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(out, "per_item.jsonl").read_text(encoding="utf-8").splitlines()]


def traces(*domains: str, **metadata: Any) -> None:
    lines = [
        {
            "id": f"t{number}",
            "metadata": {"task_domain": domain, "success": True, **metadata},
            "task": {"objective": "계약을 검토"},
            "steps": [{"type": "thought"}, {"type": "observation"}],
            "outcome": {"confidence": 0.9},
        }
        for number, domain in enumerate(domains)
    ]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    Path("traces.jsonl").write_text(text, encoding="utf-8")


def test_all_profiles_in_one_sweep() -> None:
    assert main([*RUN, "format=json", f"profile={','.join(PROFILES)}", "out=s"]) == 0
    cells = [summary(f"s/{number}") for number in range(5)]
    means = {profile: cell["metrics"]["score"]["value"] for profile, cell in zip(PROFILES, cells, strict=True)}
    assert len(set(means.values())) == 5
    for number, (profile, cell) in enumerate(zip(PROFILES, cells, strict=True)):
        found = rows(f"s/{number}")
        assert {row["output"]["profile"] for row in found} == {profile}
        assert all(row["metrics"]["score"] == row["output"]["scores"][profile] for row in found)
        assert cell["trace"]["sensitivity"] == cells[0]["trace"]["sensitivity"]  # of the traces, not of the run
        assert cell["trace"]["sensitivity"]["profiles"] == PROFILES
        assert sum(cell["trace"]["shares"].values()) == pytest.approx(1.0)
    compared = json.loads(Path("s/summary.json").read_text(encoding="utf-8"))
    assert len(compared["cells"]) == 5


def test_a_run_tells_the_same_twice() -> None:
    for out in ("a", "b"):
        assert main([*RUN, "format=json", "embedder=lsa", "deterministic=true", f"out={out}"]) == 0
    first, second = summary("a"), summary("b")
    assert {**first, "timing": None} == {**second, "timing": None}
    assert first["metrics"]["novelty"]["value"] > 0.5


def test_a_profile_of_ones_own_is_one_file() -> None:
    traces("legal", "code", "물류")
    Path("mine/profile").mkdir(parents=True)
    Path("mine/profile/legal.yaml").write_text(LEGAL, encoding="utf-8")
    words = ["--config-dir", "mine", *RUN, "dataset.traces=traces.jsonl"]
    assert main([*words, "format=json", "out=auto"]) == 0
    assert [row["output"]["profile"] for row in rows("auto")] == ["legal", "code", "default"]
    assert rows("auto")[0]["metrics"]["score"] == pytest.approx(0.027 + 0.05 + 0.63)
    assert list(rows("auto")[0]["output"]["scores"]) == [*PROFILES, "legal"]
    assert main([*words, "profile=legal", "out=legal"]) == 0
    assert {row["output"]["profile"] for row in rows("legal")} == {"legal"}
    told = Path("legal/summary.md").read_text(encoding="utf-8").partition("```sh\n")[2].partition("\n")[0]
    assert told == f"python -m runner {' '.join(words)} profile=legal"
    assert main([*words[2:], "format=json", "out=without"]) == 0
    assert rows("without")[0]["output"]["profile"] == "default"


def test_weights_that_do_not_sum_to_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "profile=code", "profile.weights.outcome=0.3", "out=o"]) == 1
    assert "profile.weights: expected weights that sum to 1 (these sum to 1.1)" in capsys.readouterr().err


def test_an_agent_that_got_worse_is_a_regression_where_mistakes_weigh_most() -> None:
    """The same tasks by two agents can be compared; in finance a loss of .0135 is too much, in code it is not."""
    words = [*RUN, "dataset.traces=traces.jsonl", "format=json"]
    traces("finance", "code", "code")
    assert main([*words, "out=a"]) == 0
    text = Path("traces.jsonl").read_text(encoding="utf-8")
    Path("traces.jsonl").write_text(text.replace("0.9}", "0.87}"), encoding="utf-8")
    assert main([*words, "out=b", "compare=a", "fail_on_regression=true"]) == 4
    gate = json.loads(Path("b/compare.json").read_text(encoding="utf-8"))["gate"]["rules"]
    found = {(rule["metric"], *(rule["slice"] or {}).values()): rule["status"] for rule in gate}
    assert found[("score", "finance")] == "fired"
    assert found[("score",)] == found[("outcome",)] == found[("score", "code")] == "passed"
    assert main([*words, "out=c", "compare=b", "fail_on_regression=true"]) == 0


def test_an_agent_that_calls_other_tools_is_a_regression_where_a_rule_is_about_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A match is better when higher, redundant calls when lower: the rules need no direction."""
    words = [*RUN, "dataset.traces=calls.jsonl", "format=json"]
    calls("search", "book")
    assert main([*words, "out=a"]) == 0
    calls("search", "search", "book")
    rules = [
        f"regression.rules=[{{metric: {name}, margin: 0.5}}]"
        for name in ("tool_match_strict", "redundant_calls", "tool_match_superset")
    ]
    codes = []
    for number, rule in enumerate(rules):
        codes.append(main([*words, rule, "compare=a", "fail_on_regression=true", f"out=b{number}"]))
        (found,) = json.loads(Path(f"b{number}/compare.json").read_text("utf-8"))["gate"]["rules"]
        assert found["status"] == ("fired" if codes[-1] else "passed")
    assert codes == [4, 4, 0]  # every expected call is still made
    assert main(["compare", "b0", "a", "--rules", "trace_quality", "--fail-on-regression", "--out", "c"]) == 0
    misspelt = "regression.rules=[{metric: redundant_call, margin: 0}]"
    assert main([*words, misspelt, "compare=a", "out=d"]) == 1
    assert "no metric 'redundant_call'; did you mean 'redundant_calls'?" in capsys.readouterr().err


def calls(*names: str) -> None:
    """Four traces that should search and then book, and call what is given."""
    steps = [{"type": "tool_call", "tool": {"name": name}, "arguments": {}} for name in names]
    lines = [
        {
            "id": f"t{number}",
            "metadata": {"task_domain": "code", "success": True},
            "task": {"objective": "Book a room"},
            "steps": steps,
            "expected_tools": ["search", "book"],
            "outcome": {"confidence": 0.9},
        }
        for number in range(4)
    ]
    write_jsonl(Path("calls.jsonl"), lines)


def test_novelty_by_time() -> None:
    traces("code", "code", created_at="2026-11-03T09:30:00Z")
    words = [*RUN, "dataset.traces=traces.jsonl", "novelty.order=time", "novelty.ttl_ms=3600000", "embedder=lsa"]
    assert main([*words, "out=o"]) == 0
    assert [row["metrics"]["novelty"] for row in rows("o")] == [0.5, pytest.approx(0.0, abs=1e-6)]


def test_novelty_in_a_redis_is_that_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*RUN, "embedder=lsa", "format=json"]
    server = acquire()
    try:
        assert main([*words, "novelty=redis", f"novelty.url=unix://{server.socket}", "out=redis"]) == 0
    finally:
        release(server)
    assert main([*words, "out=local"]) == 0
    metrics = [{row["id"]: row["metrics"] for row in rows(out)} for out in ("redis", "local")]
    assert metrics[0] == metrics[1]
    assert main([*words, "novelty=redis", "novelty.url=redis://127.0.0.1:1", "novelty.retries=0", "out=gone"]) == 3
    assert "the store redis://127.0.0.1:1 cannot be reached" in capsys.readouterr().err
    assert main([*words, "novelty=redis", "novelty.name=team", "novelty.password_env=NOT_SET", "out=bad"]) == 1
    said = capsys.readouterr().err
    assert "novelty.name: this embedder is fitted on the traces of a run" in said
    assert "novelty.password_env: the environment variable NOT_SET is not set" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["dataset=demo"],
            "dataset._target_: expected Traces, with the methods read; plugins.dataset.demo.DemoDataset has no read; "
            "expected dataset=traces\n",
        ),
        (["dataset.traces=no.jsonl"], "dataset.traces: file not found: no.jsonl"),
        (["novelty.ttl_ms=5"], "novelty.ttl_ms: counts the time between traces: it needs novelty.order=time"),
        (["profile=finanse"], "profile: no choice 'finanse'; did you mean 'finance'?"),
        (["novelty.order=time", "dataset.traces=traces.jsonl"], "2 traces have no metadata.created_at: t0, t1"),
        (["retriever=hybrid"], "trace_quality has no retriever; it uses dataset, embedder, novelty"),
    ],
)
def test_what_cannot_be_scored(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    traces("code", "code")
    assert main([*RUN, "out=o", *words]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("retriever", ["semantic", "hybrid"])
def test_a_retriever_by_vectors_wants_an_embedder(retriever: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["+experiment=retrieval_only", f"retriever={retriever}", "embedder=none", "tracking=none"]) == 1
    assert "embedder: none makes no vectors, and this retriever needs them" in capsys.readouterr().err


def test_traces_are_no_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["+experiment=retrieval_only", "dataset=traces", "tracking=none"]) == 1
    assert "dataset=traces has no corpus and no questions" in capsys.readouterr().err


def test_the_report_says_that_embedding_times_are_shares_of_batches(tmp_path: Path) -> None:
    for embedder, is_told in (("none", False), ("lsa", True)):
        out = tmp_path / embedder
        words = ["+experiment=trace_quality", f"embedder={embedder}", f"out={out}", "tracking=none"]
        assert main([*words, "sample=5"]) == 0
        report, page = ((out / name).read_text("utf-8") for name in ("summary.md", "report.html"))
        assert ("| embedding (share of batch) | " in report) is is_told
        for text in (report, page):
            assert ("The embedding time of a trace is an equal share of the time of its batch" in text) is is_told
