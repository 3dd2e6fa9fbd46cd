"""Labels of people: picked from a run, filled in a spreadsheet, held against its judge."""

import contextlib
import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.commands.labels import pick_answers
from runner.compare.case_index import read_cases
from tests.command_line.result_files import read, rows
from tests.services.models_replies import completion
from tests.services.models_server import ModelsServer
from tests.small_data import CORPUS, small_data, write_jsonl

RUBRIC = "answer_relevancy"


def table(path: str | Path, encoding: str = "utf-8-sig") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(Path(path).read_text(encoding), newline="")))


def write_table(
    path: str, lines: Sequence[Mapping[str, str]], encoding: str = "utf-8-sig", delimiter: str = ","
) -> None:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(lines)
    Path(path).write_bytes(out.getvalue().encode(encoding))


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty answers in two languages, judged by words alone; those in Korean are wrong."""
    topics = [
        ("q", "en", "Where is the red planet, number {}?", "Mars"),
        ("질", "ko", "위성 {}번은 몇 개 있다고 하나요?", "세 개"),
    ]
    queries = [
        {"id": f"{name}{n}", "query": text.format(n), "language": language, "answerable": True,
         "expected_notes": ["mars"], "answers": [answer]}
        for name, language, text, answer in topics for n in range(20)
    ]  # fmt: skip
    queries[0]["query"] = "=SUM(1,2) is the red planet?"
    with contextlib.chdir(tmp_path_factory.mktemp("labels")):
        write_jsonl(Path("c.jsonl"), CORPUS)
        write_jsonl(Path("q.jsonl"), queries)
        words = ["dataset=jsonl", "dataset.corpus=c.jsonl", "dataset.queries=q.jsonl", "retriever=keyword"]
        assert main(["+experiment=full_rag", *words, "tracking=none", "format=json", "out=run"]) == 0
        return Path.cwd()


@pytest.fixture
def run(run_once: Path, empty_folder: Path) -> str:
    shutil.copytree(run_once, empty_folder, dirs_exist_ok=True)
    return "run"


def test_a_spreadsheet_is_made_filled_and_read_back(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["labels", run, "out=labels.csv", "n=20", f"rubric={RUBRIC}"]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines()[:2])) <= 80
    assert "20 of 40 judged answers are in labels.csv. Give each a rating for: Answer Relevancy" in " ".join(
        said.split()
    )
    assert f"Then: python -m runner calibrate labels.csv run=run ratings={RUBRIC}" in said
    assert Path("labels.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    lines = table("labels.csv")
    kept = rows("run")
    assert [line["rating"] + line["comment"] for line in lines] == [""] * 20
    assert Counter(line["language"] for line in lines) == {"en": 10, "ko": 10}
    for line in lines:
        assert line["answer"].lstrip("'") == kept[line["id"]]["output"]["answer"]
        assert line["contexts"].startswith("[1] ")
        assert "score" not in line
    for number, line in enumerate(lines):
        line["rating"] = str(number % 2)
    lines[0]["rating"], lines[1]["rating"] = "예", "No"
    write_table("labels.csv", lines)
    capsys.readouterr()
    assert main(["calibrate", "labels.csv", "run=run", f"ratings={RUBRIC}", "out=c"]) == 0
    found = read("c/calibration.json")
    entry, corrected = found["rubrics"][RUBRIC], found["corrected"][RUBRIC]
    assert (entry["n"], entry["mean_human"]) == (20, 0.5)
    assert entry["kappa"] is not None
    assert len(entry["worst"]) == 10
    assert (corrected["n_shared"], corrected["n_others"]) == (20, 20)
    assert corrected["corrected"]["low"] < corrected["corrected"]["value"] < corrected["corrected"]["high"]
    assert corrected["more_to_halve"] > 20
    assert f"about {corrected['more_to_halve']:,} more labelled answers" in " ".join(capsys.readouterr().out.split())


def test_a_formula_of_a_question_runs_in_no_spreadsheet(run: str) -> None:
    assert main(["labels", run, "n=40"]) == 0
    questions = [line["question"] for line in table("labels.csv")]
    assert [question for question in questions if question.startswith("=")] == []
    assert "'=SUM(1,2) is the red planet?" in questions


def test_the_same_seed_picks_the_same_and_nothing_is_written_over(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert main(["labels", run, f"out={name}.csv", "n=10", f"seed={seed}"]) == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes() != Path("c.csv").read_bytes()
    assert main(["labels", run, "out=a.csv"]) == 1
    assert "out: a.csv is there, and may hold ratings of people" in capsys.readouterr().err


def test_korean_excel_and_semicolons_are_read(run: str) -> None:
    assert main(["labels", run, "n=10", f"rubric={RUBRIC}"]) == 0
    lines = [{**line, "rating": "1"} for line in table("labels.csv")]
    for name, encoding, delimiter in (("ko", "cp949", ","), ("de", "utf-8", ";"), ("tab", "utf-8-sig", "\t")):
        write_table(f"{name}.csv", lines, encoding, delimiter)
        assert main(["calibrate", f"{name}.csv", "run=run", f"ratings={RUBRIC}", f"out={name}"]) == 0
        assert read(f"{name}/calibration.json")["rubrics"][RUBRIC]["n"] == 10


def test_people_are_held_against_each_other_first(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["labels", run, "n=10", f"rubric={RUBRIC}", "raters=anna,ben"]) == 0
    lines = table("labels.csv")
    assert Counter(line["rater"] for line in lines) == {"anna": 10, "ben": 10}
    for number, line in enumerate(lines):
        line["rating"] = str(number % 2)
    write_table("both.csv", lines)
    write_table("anna.csv", lines[:10])
    write_table("ben.csv", [{**line, "rating": str(1 - int(line["rating"]))} for line in lines[10:]])
    for words, alpha in (("both.csv", "1.00"), ("anna.csv,ben.csv", "-0.90")):
        capsys.readouterr()
        assert main(["calibrate", words, "run=run", f"ratings={RUBRIC}", f"out=c-{alpha}"]) == 0
        told = capsys.readouterr().err
        assert f"10 answers have ratings of up to 2 people; Krippendorff's alpha among them is {alpha}" in told
        entry = read(f"c-{alpha}/calibration.json")["rubrics"][RUBRIC]
        assert f"{entry['people']['alpha']['value']:.2f}" == alpha


def test_what_is_no_rating_is_told_with_its_line(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["labels", run, "n=10", f"rubric={RUBRIC}"]) == 0
    lines = [{**line, "rating": "1"} for line in table("labels.csv")]
    lines[0]["rating"], lines[1]["id"] = "good", "nobody"
    lines[2] = lines[3]
    write_table("labels.csv", lines)
    capsys.readouterr()
    assert main(["calibrate", "labels.csv", "run=run", f"ratings={RUBRIC}", "out=c"]) == 0
    told = capsys.readouterr().err
    assert "labels.csv:2: rating: expected a number, yes or no, found 'good'" in told
    assert "id: the run has no answer with the id 'nobody'" in told
    assert "labels.csv has rated this answer at labels.csv:" in told
    write_table("other.csv", [{"id": "q1", "score": "1", "rubric": RUBRIC}])
    assert main(["calibrate", "other.csv", "run=run"]) == 1
    assert "other.csv:1: no column 'rating'" in capsys.readouterr().err


def test_labels_that_are_no_sample_correct_no_mean(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["labels", run, "n=10", f"rubric={RUBRIC}", "pick=failing"]) == 0
    assert "pick=failing does not take a random sample of the run" in " ".join(capsys.readouterr().err.split())
    write_table("labels.csv", [{**line, "rating": "0"} for line in table("labels.csv")])
    assert main(["calibrate", "labels.csv", "run=run", f"ratings={RUBRIC}", "out=c"]) == 0
    assert "so no mean is corrected" in " ".join(capsys.readouterr().err.split())
    assert "corrected" not in read("c/calibration.json")


def judged(id: str, score: float, right: float | None = None, votes: Sequence[float] = (), at: str = "none") -> Any:
    details = {"votes": {str(number): vote for number, vote in enumerate(votes)}}
    return {"id": id, "language": "en", "metrics": {"right": right}, "labels": {"lost_at": at},
            "output": {"query": "?", "answer": id},
            "judgements": {"r": {"score": score, "error": None, "details": details}}}  # fmt: skip


@pytest.fixture
def picked(tmp_path: Path) -> Callable[..., list[Any]]:
    """Of rows, by their index."""

    def of(rows: Sequence[Any], pick: str, n: int, seed: int) -> list[Any]:
        write_jsonl(tmp_path / "per_item.jsonl", rows)
        cases = read_cases(tmp_path / "per_item.jsonl", writes=False)
        return list(pick_answers(cases, tmp_path, "r", pick, n, seed).rows)

    return of


def test_each_pick_takes_what_it_says(picked: Callable[..., list[Any]]) -> None:
    items = [
        judged("sure", 1.0, 1.0), judged("open", 0.55, 1.0), judged("split", 0.9, 1.0, (1.0, 0.2)),
        judged("strict", 0.1, 1.0), judged("lost", 0.8, 0.0, at="retrieval"), judged("low", 0.3, None),
    ]  # fmt: skip

    def ids(pick: str, n: int = 9) -> set[str]:
        return {row["id"] for row in picked(items, pick, n, 1)}

    assert ids("random") == {row["id"] for row in items}
    assert ids("uncertain") == {"open", "low", "split"}
    assert ids("uncertain", 1) == {"split"}
    assert ids("disagreement", 3) == {"split", "strict", "lost"}
    assert ids("failing") == {"lost", "low"}


def test_a_sample_has_its_share_of_each_language_and_band(picked: Callable[..., list[Any]]) -> None:
    items = [{**judged(f"{n}", n % 3 / 2), "language": "ko" if n < 90 else "en"} for n in range(120)]
    sample = picked(items, "random", 40, 3)
    assert Counter(row["language"] for row in sample) == {"ko": 30, "en": 10}
    assert {row["judgements"]["r"]["score"] for row in sample} == {0.0, 0.5, 1.0}
    assert len({row["id"] for row in sample}) == 40


def test_the_judge_of_the_run_is_taken_where_none_is_named(
    server: ModelsServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.respond = lambda body: completion(body, json.dumps({"score": 0.75, "reasoning": "fine"}))
    judge = ["judge=openai", "judge.model=local:small", "judge.health=false", f"provider.local.base_url={server.url}"]
    words = ["+experiment=full_rag", *small_data(tmp_path), *judge, "tracking=none", "format=json", "out=run"]
    assert main(words) == 0
    asked = server.count
    assert main(["labels", "run", f"rubric={RUBRIC}"]) == 0
    write_table("labels.csv", [{**line, "rating": "1"} for line in table("labels.csv")])
    assert main(["calibrate", "labels.csv", "run=run", f"ratings={RUBRIC}", "out=c"]) == 0
    assert read("c/calibration.json")["rubrics"][RUBRIC]["mean_judge"] == 0.75
    assert server.count == asked  # its replies are stored


def test_wrong_words_are_told(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        ([run, "pick=best"], "pick: expected random, disagreement, uncertain or failing, found 'best'"),
        ([run, "rubric=faithfulnes"], "rubric: the run has no judgement of 'faithfulnes'; did you mean 'faithfulness'"),
        ([run, "n=0"], "n: expected a whole number of at least 1, found '0'"),
        (["nothing"], "nothing"),
    ):
        assert main(["labels", *words]) == 1
        assert message in capsys.readouterr().err
