"""Calibrating a judge that asks a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runner.commands.calibrate.calibrated import LABELS, calibrate, items, result
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer


def asked(server: ModelsServer) -> list[str]:
    return ["judge=openai", "judge.model=local:grader", f"provider.local.base_url={server.url}"]


def scoring(scores: Callable[[str], str | None]) -> Callable[[dict[str, Any]], Reply | None]:
    """A server whose judge says what `scores` makes of the prompt."""

    def respond(body: dict[str, Any]) -> Reply | None:
        content = scores(body["messages"][1]["content"])
        return None if content is None else completion(body, content)

    return respond


def says(score: float) -> str:
    return json.dumps({"reasoning": "왜냐하면", "score": score}, ensure_ascii=False)


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
    assert "Incorrect API key" in text and "Run the same command again to resume" in text

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


@pytest.mark.parametrize("cache", ["use", "none"])
def test_a_budget_holds_over_all_launches_of_the_same_command(cache: str, server: ModelsServer) -> None:
    words = [*asked(server), f"cache={cache}", "max_concurrency=1"]
    for _ in range(2):
        assert calibrate(*words, "budget.requests=4") == 3
        assert server.count == 4
    (folder,) = Path("outputs").glob("2*")
    assert result(str(folder))["status"] == "partial"
    enough = 6 if cache == "use" else 4 + 6
    assert calibrate(*words, f"budget.requests={enough}") == 0
    assert (server.count, list(Path("outputs").glob("2*"))) == (enough, [folder])
    assert result(str(folder))["timing"]["usage_total"]["live"]["requests"] == enough


def test_what_could_not_be_judged_is_asked_again_by_the_same_command(server: ModelsServer) -> None:
    words = [*asked(server), "max_failure_rate=1"]
    server.respond = lambda body: completion(body, None, refusal="No.") if "99" in str(body["messages"]) else None
    assert calibrate(*words) == 0
    (folder,) = Path("outputs").glob("2*")
    server.respond = None
    server.reset()
    assert calibrate(*words) == 0
    assert (server.count, list(Path("outputs").glob("2*"))) == (1, [folder])
    assert result(str(folder))["cases"]["unscored"] == 0
