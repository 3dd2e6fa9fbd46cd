"""python -m runner score: the numbers of trec_eval, and clear refusals."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from runner.commands.score import main
from runner.errors import DataError, InputError
from tests.trec_eval import NAMES, measured

CUTOFFS = (1, 3, 5, 10)

QRELS = """
q1 0 apple 1
q1 0 pear 2
q1 0 plum 0
q2 0 apple 1
q3 0 apple 0
q4 0 fig 1
"""
RUN = """
q1 Q0 plum 1 9.0 me
q1 Q0 apple 2 5.0 me
q1 Q0 kiwi 3 5.0 me
q2 Q0 apple 1 1.0 me
q2 Q0 pear 2 2.0 me
q3 Q0 apple 1 1.0 me
q9 Q0 apple 1 1.0 me
"""


def score(tmp_path: Path, capsys: pytest.CaptureFixture[str], qrels: str, run: str, *options: str) -> dict:
    (tmp_path / "정답.txt").write_text(qrels, encoding="utf-8")
    (tmp_path / "실행.txt").write_text(run, encoding="utf-8")
    assert main([str(tmp_path / "정답.txt"), str(tmp_path / "실행.txt"), *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_by_hand(tmp_path, capsys):
    """q1: plum, kiwi (a tie, by id descending), apple. q2: pear, apple (the rank column is not read).
    q3 has no relevant document and is left out; q4 is not in the run and counts 0; q9 is not judged."""
    values = score(tmp_path, capsys, QRELS, RUN, "--cutoffs", "2,3")
    assert values["queries"] == 3
    assert values["recall@2"] == (0 + 1 + 0) / 3
    assert values["recall@3"] == (1 / 2 + 1 + 0) / 3
    assert values["precision@3"] == pytest.approx((1 / 3 + 1 / 3 + 0) / 3)
    assert values["mrr@3"] == pytest.approx((1 / 3 + 1 / 2 + 0) / 3)
    assert values["map@3"] == pytest.approx((1 / 3 / 2 + 1 / 2 + 0) / 3)
    assert values["hit_rate@2"] == 1 / 3


def test_per_query(tmp_path, capsys):
    values = score(tmp_path, capsys, QRELS, RUN, "--per-query")
    assert list(values) == ["q1", "q2", "q4"]
    assert values["q1"]["recall@3"] == 0.5
    assert values["q2"]["mrr@10"] == 0.5
    assert set(values["q4"].values()) == {0.0}
    names = {f"{name}@{k}" for name in (*NAMES, "mrr") for k in CUTOFFS}
    assert all(set(measures) == names for measures in values.values())


def test_differences_between_the_files_are_told(tmp_path, capsys):
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    main([str(tmp_path / "qrels"), str(tmp_path / "run")])
    assert capsys.readouterr().err == (
        "note: 1 of 4 judged queries have no relevant document and are left out\n"
        "note: 1 of 3 queries are not in the run and count 0\n"
        "note: 1 queries of the run have no judgements and are left out\n"
    )


def test_cutoffs_beyond_every_ranking(tmp_path, capsys):
    values = score(tmp_path, capsys, QRELS, RUN, "--cutoffs", "1000000000")
    assert values["recall@1000000000"] == pytest.approx((1 / 2 + 1 + 0) / 3)


def test_an_empty_run_scores_zero(tmp_path, capsys):
    assert set(score(tmp_path, capsys, QRELS, "").values()) == {3, 0.0}


@pytest.mark.parametrize("seed", range(30))
def test_against_pytrec_eval(tmp_path, capsys, seed):
    """Random graded runs with ties, missing and unjudged queries, duplicates and Korean ids."""
    source = random.Random(seed)
    ids = [source.choice((f"문서{n}", f"doc{n}", f"가-{n}", f"é{n}", f"𝄞{n}")) for n in range(40)]
    queries = [f"질의{n}" if n % 2 else f"q{n}" for n in range(12)]
    qrels = {query: graded(source, ids) for query in queries}
    lines = {query: scored(source, ids) for query in [*queries[:9], "unjudged"]}
    shuffled = [(query, *line) for query, found in lines.items() for line in found]
    source.shuffle(shuffled)

    values = score(
        tmp_path,
        capsys,
        "# by seed\n" + written(qrels, beir=seed % 2 == 1),
        "".join(f"{query} Q0 {id} {source.randint(1, 9)} {value!r} tag of mine\n" for query, id, value in shuffled),
        "--per-query",
    )
    expected = oracle(qrels, {query: best(found) for query, found in lines.items()})
    assert values.keys() == expected.keys()
    for query in values:
        assert values[query] == pytest.approx(expected[query], abs=1e-12)

    means = score(
        tmp_path, capsys, (tmp_path / "정답.txt").read_text("utf-8"), (tmp_path / "실행.txt").read_text("utf-8")
    )
    assert means.pop("queries") == len(expected)
    for name, value in means.items():
        assert value == pytest.approx(sum(one[name] for one in expected.values()) / len(expected), abs=1e-12)


def written(qrels: dict[str, dict[str, int]], *, beir: bool) -> str:
    """In four columns with a remark behind them, or in three under a header."""
    lines = [(query, id, grade) for query, judged in qrels.items() for id, grade in judged.items()]
    if beir:
        return "query-id\tcorpus-id\tscore\n" + "".join(f"{query}\t{id}\t{grade}\n" for query, id, grade in lines)
    return "".join(f"{query} 0 {id} {grade} sure\n" for query, id, grade in lines)


def graded(source: random.Random, ids: list[str]) -> dict[str, int]:
    return {id: source.choice((-1, 0, 0, 1, 1, 2, 3)) for id in source.sample(ids, source.randint(1, 20))}


def scored(source: random.Random, ids: list[str]) -> list[tuple[str, float]]:
    """Many ties, some differences that float32 does not see, some documents twice."""
    values = [source.choice((1.0, 2.0, 2.0 + 1e-12, 0.1, -3.5, 1e-300)) for _ in ids]
    found = source.sample(list(zip(ids, values, strict=True)), source.randint(1, 40))
    return found + [(id, source.choice((0.1, 2.5))) for id, _ in found[: source.randint(0, 5)]]


def best(found: list[tuple[str, float]]) -> dict[str, float]:
    return {id: max(value for other, value in found if other == id) for id, _ in found}


def oracle(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], *, rank: bool = True
) -> dict[str, dict[str, float]]:
    """pytrec_eval, fed with scores made from ranks (it compares float32), and with an unjudged document
    for a query without results (it would leave the query out). Negative grades are given as 0."""
    relevant = {query: judged for query, judged in qrels.items() if max(judged.values()) > 0}
    found = {}
    for query in relevant:
        scores = run.get(query) or {"no document": 1.0}
        found[query] = from_ranks(scores) if rank else scores
    grades = {query: {id: max(0, grade) for id, grade in judged.items()} for query, judged in relevant.items()}
    return measured(grades, found, CUTOFFS)


def from_ranks(scores: dict[str, float]) -> dict[str, float]:
    by_id = sorted(scores, key=str.encode, reverse=True)
    order = sorted(by_id, key=scores.__getitem__, reverse=True)  # stable, also when reversed
    return {id: float(-rank) for rank, id in enumerate(order)}


def test_ties_are_broken_as_pytrec_eval_breaks_them(tmp_path, capsys):
    source = random.Random(5)
    ids = [f"문서{n}" if n % 2 else f"Doc{n}" for n in range(20)] + ["가", "z", "é"]
    qrels = {f"q{n}": {id: source.choice((0, 1, 2)) for id in ids} for n in range(20)}
    run = {query: {id: source.choice((1.0, 2.0)) for id in ids} for query in qrels}  # exact in float32
    values = score(
        tmp_path,
        capsys,
        "".join(f"{query} 0 {id} {grade}\n" for query, judged in qrels.items() for id, grade in judged.items()),
        "".join(f"{query} Q0 {id} 1 {value} t\n" for query, found in run.items() for id, value in found.items()),
        "--per-query",
    )
    expected = oracle(qrels, run, rank=False)
    for query in values:
        assert values[query] == pytest.approx(expected[query], abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing: QRELS, RUN"),
        (["qrels"], "missing: RUN"),
        (["qrels", "run", "--per_query"], "unknown option --per_query; did you mean '--per-query'?"),
        (
            ["qrels", "run", "--cutoffs", "0,5"],
            "--cutoffs: expected whole numbers from 1 to 1e15, separated by commas, found '0,5'",
        ),
        (
            ["qrels", "run", "--cutoffs", f"5,{10**16}"],
            f"--cutoffs: expected whole numbers from 1 to 1e15, separated by commas, found '5,{10**16}'",
        ),
        (
            ["qrels", "run", "--cutoffs", "five"],
            "--cutoffs: expected whole numbers from 1 to 1e15, separated by commas, found 'five'",
        ),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(InputError) as raised:
        main(arguments)
    usage = "usage: python -m runner score [--per-query] [--cutoffs K,K,…] [--language en|ko] QRELS RUN"
    assert str(raised.value) == f"{message}\n{usage}"


def test_judgements_without_a_relevant_document(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("q 0 d 0\n")
    with pytest.raises(DataError) as raised:
        main([str(path), str(tmp_path / "run")])
    assert str(raised.value) == f"{path}: no query has a relevant document (a grade above 0)"


def test_on_the_command_line(tmp_path):
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text("q1 Q0 apple 1\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "runner", "score", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    usage_error = run()
    assert (usage_error.returncode, usage_error.stdout) == (1, "")
    bad_file = run(str(tmp_path / "qrels"), str(tmp_path / "run"))
    assert bad_file.returncode == 1
    assert f"{tmp_path / 'run'}:1: expected 6 columns" in bad_file.stderr
    assert "Traceback" not in bad_file.stderr
    assert run("--help").returncode == 0
