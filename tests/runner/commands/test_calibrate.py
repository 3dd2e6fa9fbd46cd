"""python -m runner calibrate: a judge against people, from the words of the command to its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer
from tests.small_data import write_jsonl

MOON = {"id": "moon", "title": "Moon", "text": "The Moon circles the Earth in 27 days."}
LABELS: list[dict[str, Any]] = [
    {
        "id": "en-right",
        "question": "How long does the Moon need?",
        "answer": "The Moon circles the Earth in 27 days.",
        "contexts": [MOON],
        "ratings": {"faithfulness": [4, 4], "answer_relevancy": 4},
        "language": "en",
        "system": "s1",
        "history": [{"role": "user", "text": "Tell me of planets."}, {"role": "assistant", "text": "Gladly."}],
    },
    {
        "id": "en-wrong",
        "question": "How long does the Moon need?",
        "answer": "The Moon circles the Earth in 99 days.",
        "contexts": [MOON],
        "ratings": {"faithfulness": [1, 2]},
        "language": "en",
        "system": "s2",
    },
    {
        "id": "ko-right",
        "question": "달은 지구를 며칠에 한 바퀴 도나요?",
        "answer": "달은 지구를 27일에 한 바퀴 돕니다.",
        "contexts": ["달은 지구를 27일에 한 바퀴 돈다."],
        "ratings": {"faithfulness": [4, 3], "answer_relevancy": 4},
        "language": "ko",
        "system": "s1",
    },
    {
        "id": "ko-wrong",
        "question": "태양의 빛이 지구까지 몇 분 걸리나요?",
        "answer": "50분 걸립니다.",
        "contexts": ["태양은 별이다. 빛이 지구까지 8분 걸린다."],
        "ratings": {"faithfulness": 1},
        "language": "ko",
        "system": "s2",
    },
]
FILES = {"calibration.json", "calibration.md", "items.jsonl"}


@pytest.fixture(autouse=True)
def labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_jsonl(tmp_path / "라벨.jsonl", LABELS)


def calibrate(*words: str) -> int:
    return main(["calibrate", "라벨.jsonl", "scale=1,4", *words])


def asked(server: ModelsServer) -> list[str]:
    return ["judge=openai", "judge.model=local:grader", f"provider.local.base_url={server.url}"]


def result(folder: str = "out") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "calibration.json").read_text(encoding="utf-8"))
    return found


def items(folder: str = "out") -> dict[str, Any]:
    lines = Path(folder, "items.jsonl").read_text(encoding="utf-8").splitlines()
    return {item["id"]: item for item in map(json.loads, lines)}


def scoring(scores: Callable[[str], str | None]) -> Callable[[dict[str, Any]], Reply | None]:
    """A server whose judge says what `scores` makes of the prompt."""

    def respond(body: dict[str, Any]) -> Reply | None:
        content = scores(body["messages"][1]["content"])
        return None if content is None else completion(body, content)

    return respond


def says(score: float) -> str:
    return json.dumps({"reasoning": "왜냐하면", "score": score}, ensure_ascii=False)


def test_the_lexical_judge(capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate("out=out") == 0
    found = result()
    assert {path.name for path in Path("out").iterdir()} == FILES
    assert (found["status"], found["judge"], found["baseline"]) == ("completed", "lexical", True)
    faithfulness, relevancy = found["rubrics"]["faithfulness"], found["rubrics"]["answer_relevancy"]
    assert (faithfulness["n"], faithfulness["n_judged"], faithfulness["n_groups"]) == (4, 4, 4)
    assert (relevancy["n"], relevancy["n_judged"]) == (2, 2)
    assert faithfulness["pearson"]["value"] > 0.9
    assert faithfulness["mean_human"] == pytest.approx((1 + 1 / 6 + 5 / 6 + 0) / 4)
    assert faithfulness["confusion"] == {
        "true_positive": 2,
        "false_positive": 0,
        "false_negative": 0,
        "true_negative": 2,
    }
    assert set(faithfulness["slices"]["language"]) == {"en", "ko"}
    assert set(faithfulness["slices"]["system"]) == {"s1", "s2"}
    assert "usage" not in found["timing"] and "judging" not in found
    wrong = items()["en-wrong"]["rubrics"]["faithfulness"]
    assert (wrong["human"], wrong["ratings"]) == (pytest.approx(1 / 6), [0.0, pytest.approx(1 / 3)])
    assert wrong["judge"] < 0.5 and "99" in wrong["reasoning"]
    shown = capsys.readouterr()
    assert "Judge against people: lexical – Faithfulness" in shown.out
    assert "results in out" in shown.err
    assert Path("out/calibration.md").read_text(encoding="utf-8").startswith("# Judge against people: lexical\n")


def test_a_report_in_korean(capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate("report.language=ko", "out=결과") == 0
    assert "판정기와 사람의 비교" in capsys.readouterr().out
    assert Path("결과/calibration.md").read_text(encoding="utf-8").startswith("# 판정기와 사람의 비교: lexical\n")


def test_a_folder_of_its_own_by_default() -> None:
    assert calibrate() == calibrate() == 0
    assert len(list(Path("outputs").glob("*-calibrate-*/calibration.md"))) == 2


def test_thresholds_and_names_of_ratings() -> None:
    renamed = [{**LABELS[0], "ratings": {"grounded": 4, "useful": 3}}, {**LABELS[1], "ratings": {"grounded": 2}}]
    write_jsonl(Path("other.jsonl"), renamed)
    words = ["ratings=faithfulness:grounded", "threshold=0.1,0.3", "scale=1,4", "out=out"]
    assert main(["calibrate", "other.jsonl", *words]) == 0
    found = result()
    assert list(found["rubrics"]) == ["faithfulness"]
    assert found["labels"]["names"] == {"faithfulness": "grounded"}
    assert found["threshold"] == {"judge": 0.1, "human": 0.3}
    assert found["rubrics"]["faithfulness"]["confusion"]["false_negative"] == 1


def test_bad_lines_are_named_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("라벨.jsonl").open("a", encoding="utf-8") as file:
        file.write(
            '{"id": "x", "question": "q", "answer": "a", "contexts": [], "ratings": {"faithfulness": 9}}\nnoise\n'
        )
    assert calibrate("out=out") == 0
    message = capsys.readouterr().err
    assert "라벨.jsonl:5: ratings.faithfulness: expected a number from 1 to 4, found number 9" in message
    assert "라벨.jsonl:6: not JSON" in message
    assert result()["labels"]["problems"] == {"errors": 2, "warnings": 0}
    assert calibrate("out=strict", "strict=true") == 1


# --- with a model ------------------------------------------------------------------------------------


def test_a_model_judges_and_what_it_said_is_asked_once(server: ModelsServer) -> None:
    server.respond = scoring(lambda prompt: says(0.9 if "27" in prompt.rpartition("answer")[2] else 0.2))
    assert calibrate(*asked(server), "out=first") == 0
    assert server.count == 6  # four for faithfulness, two for relevancy
    prompts = [body["messages"][1]["content"] for body in server.requests]
    assert sum("Tell me of planets." in prompt for prompt in prompts) == 2
    assert sum("달은 지구를 27일에 한 바퀴 돈다." in prompt for prompt in prompts) == 1  # relevancy sees no contexts
    first = result("first")
    assert first["rubrics"]["faithfulness"]["confusion"]["true_positive"] == 2
    assert items("first")["ko-right"]["rubrics"]["faithfulness"]["reasoning"] == "왜냐하면"
    assert first["timing"]["usage"]["judge"]["local:grader"]["live"]["requests"] == 6

    assert calibrate(*asked(server), "out=second") == 0
    assert server.count == 6
    second = result("second")
    assert second["timing"]["usage"]["judge"]["local:grader"]["cached"]["requests"] == 6
    for name in ("rubrics", "provenance", "labels", "cases", "config"):
        assert first[name] == second[name]
    assert items("first") == items("second")


def test_an_answer_that_the_judge_cannot_judge_is_a_row_and_counts_in_no_number(
    server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.respond = scoring(lambda prompt: "no JSON" if "99" in prompt else says(0.5))
    assert calibrate(*asked(server), "out=out") == 3
    found = result()
    assert (found["status"], found["exit_code"], found["cases"]["unscored"]) == ("failed", 3, 1)
    entry = found["rubrics"]["faithfulness"]
    assert (entry["n"], entry["n_judged"], entry["n_failed"], entry["mean_judge"]) == (4, 3, 1, 0.5)
    failed = items()["en-wrong"]["rubrics"]["faithfulness"]
    assert failed["judge"] is None and failed["error"]
    assert items()["en-right"]["rubrics"]["answer_relevancy"]["judge"] == 0.5
    message = capsys.readouterr().err
    assert (
        "error: 1 of 4 answers were not judged (max_failure_rate is 5.0%); items.jsonl lists them; 1 of them: "
        in message
    )
    assert calibrate(*asked(server), "out=other", "max_failure_rate=0.5") == 0


def test_what_is_wrong_for_every_answer_ends_it_and_leaves_what_is_there(
    server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = error(401, "Incorrect API key provided.", kind="invalid_request_error", code="invalid_api_key")

    def respond(body: dict[str, Any]) -> Reply:
        return completion(body, says(0.5)) if server.count <= 3 else refusal

    server.respond = respond
    assert calibrate(*asked(server), "max_concurrency=1", "out=out") == 3
    found = result()
    assert (found["status"], found["exit_code"]) == ("partial", 3)
    assert found["cases"]["pending"] == 4 - found["cases"]["ok"] > 0
    assert len(items()) == found["cases"]["ok"] >= 1
    assert "Incorrect API key" in found["error_message"]
    assert capsys.readouterr().err.count("Incorrect API key") == 1
    text = Path("out/calibration.md").read_text(encoding="utf-8")
    assert "Incorrect API key" in text and "The same command goes on from here" in text

    server.respond = scoring(lambda prompt: says(0.5))
    before = server.count
    assert calibrate(*asked(server), "max_concurrency=1", "out=out") == 0
    assert server.count - before == 3  # three of six were answered


def test_repeats_and_panels_say_how_far_they_agree(server: ModelsServer) -> None:
    def respond(body: dict[str, Any]) -> Reply:
        right = "27" in body["messages"][1]["content"].rpartition("answer")[2]
        return completion(body, says((0.8 if right else 0.2) + 0.1 * (body["model"] == "b")))

    server.respond = respond
    names = [f"judge.judges.{name}.model=local:{model}" for name, model in zip(PANEL, "abb", strict=True)]
    assert calibrate("judge=panel", *names, f"provider.local.base_url={server.url}", "out=out") == 0
    entry = result()["judging"]["faithfulness"]
    assert (entry["n"], entry["votes"], entry["failed"]) == (4, 3, 0)
    assert 0.9 < entry["alpha"] < 1
    assert "Agreement of votes" in Path("out/calibration.md").read_text(encoding="utf-8")


PANEL = ("first", "second", "third")


@pytest.mark.parametrize(
    ("word", "n", "n_asked"),  # en-wrong is rated for faithfulness only
    [("case=en-wrong", 1, 1), ("case=ko-right", 1, 2), ("sample=3", 3, None)],
)
def test_no_more_is_judged_than_was_asked_for(word: str, n: int, n_asked: int | None, server: ModelsServer) -> None:
    assert calibrate(*asked(server), word, "out=out") == 0
    assert len(items()) == result()["labels"]["n"] == n
    rated = {each["id"]: len(each["ratings"]) for each in LABELS}
    assert server.count == (n_asked or sum(rated[name] for name in items()))


def test_a_spent_budget_ends_it(server: ModelsServer) -> None:
    words = ["max_concurrency=1", "budget.requests=2", "out=out"]
    assert calibrate(*asked(server), *words) == 3
    assert result()["status"] == "partial"
    assert server.count == 2


def test_what_is_missing_is_told_before_anything_is_asked(
    server: ModelsServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert calibrate("judge=openai", "out=out") == 1
    assert "the environment variable OPENAI_API_KEY is not set" in capsys.readouterr().err
    assert calibrate(*asked(server), "cache=replay", "out=out") == 3
    assert "cache=replay: replies are not stored: 6 of local:grader" in capsys.readouterr().err
    assert server.count == 0 and not Path("out").exists()


# --- a run whose means are corrected ------------------------------------------------------------------


def test_the_means_of_a_run_are_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    given = [
        {
            "id": f"q{n}",
            "query": label["question"],
            "answer": label["answer"] if n < 4 else f"{label['answer']} ({n})",
            "contexts": label["contexts"],
            "answerable": True,
            "expected_notes": ["moon"],
            "language": label["language"],
        }
        for n, label in enumerate(LABELS * 4)
    ]
    write_jsonl(Path("given.jsonl"), given)
    words = [
        "retriever=given",
        "generator=given",
        "dataset=jsonl",
        "dataset.corpus=null",
        "dataset.queries=given.jsonl",
    ]
    assert main(["+experiment=full_rag", *words, "tracking=none", "out=run"]) == 0
    assert calibrate("run=run", "out=out") == 0
    entry = result()["corrected"]["faithfulness"]
    assert (entry["n_labelled"], entry["n_shared"], entry["n_others"]) == (4, 4, 12)
    assert entry["corrected"]["low"] < entry["corrected"]["value"] < entry["corrected"]["high"]
    assert "4 of the 4 labelled answers are from this run." in Path("out/calibration.md").read_text(encoding="utf-8")
    assert "Mean of the run: judge" in capsys.readouterr().out

    assert calibrate("run=run", "judge.supported=0.7", "out=other") == 5
    assert "judge.supported: 0.5 in the run, 0.7 here" in capsys.readouterr().err
    assert calibrate("run=out", "out=other") == 1
    assert "out: not a run folder" in capsys.readouterr().err


# --- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scale=4"], "scale: expected LOW,HIGH such as 1,5, got '4'"),
        (["scale=5,1"], "scale: expected LOW,HIGH such as 1,5, got '5,1'"),
        (["scale=-inf,inf"], "scale: expected LOW,HIGH such as 1,5, got '-inf,inf'"),
        (["scale=a,b"], "scale: expected numbers separated by commas, got 'a,b'"),
        (["threshold=2"], "threshold: expected one or two numbers 0..1, got '2'"),
        (["threshold=0.1,0.2,0.3"], "threshold: expected one or two numbers 0..1, got '0.1,0.2,0.3'"),
        (["threshold=nan"], "threshold: expected one or two numbers 0..1, got 'nan'"),
        (["ratings=fathfulness"], "ratings: no rubric 'fathfulness'; did you mean 'faithfulness'?"),
        (["ratings=faithfulness:x"], "LABELS: no answer in 라벨.jsonl has a rating called x"),
        (["judge=openia"], "judge: no choice 'openia'; did you mean 'openai'?"),
        (["judge=lexical,openai"], "calibrate takes one judge; for several, use it several times"),
        (["evaluation=retrieval_only"], "calibrate needs an evaluation with a judge"),
        (["--cfg", "job"], "calibrate composes no run; use python -m runner --cfg job to print a configuration"),
        (["run=nowhere"], "nowhere: no such folder"),
        ([], "ratings.faithfulness: 4 is not within 0..1; give the scale of the ratings, such as scale=1,5"),
    ],
)
def test_wrong_words(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    scale = [] if not words or words[0].startswith("scale") else ["scale=1,4"]
    assert main(["calibrate", "라벨.jsonl", *scale, *words]) == 1
    assert message in capsys.readouterr().err
    assert not Path("outputs").exists()


def test_a_folder_that_holds_a_run_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run").mkdir()
    Path("run/run.json").write_text("{}")
    assert calibrate("out=run") == 1
    assert "out: run holds a run; choose another folder" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", *words]) == 0
    assert "scale=LOW,HIGH" in capsys.readouterr().out
