"""`calibrate min_score`: the cut that best separates answerable from unanswerable questions."""

import json
from pathlib import Path

import numpy as np
import pytest

from runner.cli import main
from runner.commands.calibrate.min_score import measure
from runner.errors import InputError
from tests.small_data import write_jsonl

WORDS = [f"{one}{two}" for one in ("bal", "dor", "fen", "gal") for two in ("mira", "tolo", "sune")]


def data(folder: Path, *, unanswerable: int = 12) -> Path:
    """Twelve documents of two rare words each, a question about both words of each, and questions about others."""
    corpus = [{"id": word, "title": "", "text": f"The {word} keeps its {word[::-1]}."} for word in WORDS]
    asked = [
        {"id": f"a{n}", "query": f"{word} {word[::-1]}", "answerable": True, "expected_notes": [word]}
        for n, word in enumerate(WORDS)
    ]
    other = [
        {"id": f"u{n}", "query": f"{word} without zzz{n} or yyy{n}", "answerable": False, "expected_notes": []}
        for n, word in enumerate(WORDS[:unanswerable])
    ]
    other[:1] = [{**first, "query": "zzz yyy"} for first in other[:1]]  # finds nothing
    write_jsonl(folder / "corpus.jsonl", corpus)
    write_jsonl(folder / "queries.jsonl", asked + other)
    return folder


@pytest.mark.parametrize(
    ("language", "advice"),
    [
        ("en", "keyword: set min_score="),
        ("ko", "keyword: 알맞은 값은 min_score="),
    ],
)
def test_the_cut_to_set_is_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str, advice: str
) -> None:
    words = ["calibrate", "min_score", str(data(tmp_path / "data")), "retriever=keyword,hybrid", f"out={tmp_path}/o"]
    assert main([*words, f"report.language={language}", f"cache_dir={tmp_path}/cache"]) == 0
    assert advice in capsys.readouterr().out
    found = json.loads((tmp_path / "o" / "min_score.json").read_text(encoding="utf-8"))["retrievers"]
    assert [each["retriever"] for each in found] == ["keyword", "hybrid"]
    keyword = found[0]
    assert (keyword["n"], keyword["n_unanswerable"], keyword["auc"]) == (24, 12, 1.0)
    assert keyword["f1_always_no"] == pytest.approx(2 * 12 / (12 + 24))
    assert keyword["best_f1"] == 1.0 and keyword["best_declined_of_answerable"] == 0.0 and keyword["beats_always_no"]


def test_a_score_at_the_limit_is_not_declined() -> None:
    scores, labels = np.repeat([0.1, 0.3, 0.5], [10, 5, 5]), np.repeat([True, False], 10)
    assert measure(scores, labels, 0.3, seed=1)["declined_of_answerable"] == 0.0
    assert measure(scores, labels, 0.4, seed=1)["declined_of_answerable"] == 0.5


def test_the_f1_of_the_best_cut_is_that_of_parts_that_it_was_not_chosen_on() -> None:
    random = np.random.default_rng(1)
    scores, labels = random.random(200), random.random(200) < 0.3  # nothing to tell
    found = measure(scores, labels, 0.3, seed=42)
    assert found["auc"] == pytest.approx(0.5, abs=0.1)
    assert not found["beats_always_no"]


@pytest.mark.parametrize(
    ("unanswerable", "message"),
    [(0, "found 12 answerable and 0 unanswerable ones"), (9, "found 12 answerable and 9 unanswerable ones")],
)
def test_too_few_questions_of_a_kind_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], unanswerable: int, message: str
) -> None:
    folder = data(tmp_path / "data", unanswerable=unanswerable)
    assert main(["calibrate", "min_score", str(folder), "retriever=keyword", f"cache_dir={tmp_path}/cache"]) == 1
    assert f"expected at least 10 questions of each kind; {message}" in capsys.readouterr().err


def test_a_folder_without_the_files_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "min_score", str(tmp_path)]) == 1
    assert f"{tmp_path} has no corpus.jsonl and no queries.jsonl" in capsys.readouterr().err


def test_too_few_scores_are_an_error_before_anything_is_measured() -> None:
    with pytest.raises(InputError, match="at least 10 questions of each kind"):
        measure(np.array([0.5]), np.array([True]), 0.3, seed=1)
