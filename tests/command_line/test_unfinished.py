"""A row is finished when everything that was asked for it came; the same command asks for exactly what is missing."""

import time
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest

from runner.cli import main
from runner.config.compose import compose_cells
from runner.llm.structured import IDENTICAL
from runner.run.planning import plan_cells
from tests.command_line.result_files import read, rows
from tests.command_line.started import begun
from tests.services.models_replies import QUESTION, Reply, completion, error
from tests.services.models_server import ModelsServer
from tests.small_data import small_data

Respond = Callable[[dict[str, Any]], Reply | None]
TWO = "evaluation.rubrics=[faithfulness,answer_relevancy]"  # rubrics, which are told apart by what they are shown


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    return [*rag(server.url, tmp_path), "max_failure_rate=1"]


def rag(url: str, folder: Path) -> list[str]:
    models = ["judge=openai", "judge.model=local:small", "judge.health=false", "generator=openai"]
    models += ["generator.model=local:small", f"provider.local.base_url={url}"]
    return [
        "+experiment=full_rag",
        *small_data(folder),
        "retriever=keyword",
        "tracking=none",
        "format=json",
        *models,
        TWO,
    ]


def is_asked(body: Mapping[str, Any], words: str) -> bool:
    """Whether a question with these words is to be answered, or an answer to it judged."""
    question = QUESTION.search(str(body["messages"][1]["content"]))
    return question is not None and words in question.group(1)


def is_judged(body: Mapping[str, Any]) -> bool:
    return "response_format" in body


def by_relevancy(body: Mapping[str, Any]) -> bool:
    return is_judged(body) and 'name="contexts"' not in str(body["messages"][1]["content"])


def failing(reply: Callable[[dict[str, Any]], Reply], rubric: str = "answer_relevancy") -> Respond:
    """One judgement of one case fails."""

    def respond(body: dict[str, Any]) -> Reply | None:
        is_it = is_judged(body) and by_relevancy(body) == (rubric == "answer_relevancy")
        return reply(body) if is_it and is_asked(body, "red planet") else None

    return respond


def refusing(body: dict[str, Any]) -> Reply:
    return completion(body, None, refusal="No.")


def malformed(body: dict[str, Any]) -> Reply:
    return completion(body, '{"verdict": "good"}')


def cut(body: dict[str, Any]) -> Reply:
    """All tokens that it might have were used."""
    whole = orjson.loads(completion(body, '{"score": 0.').body)
    whole["choices"][0]["finish_reason"] = "length"
    whole["usage"]["completion_tokens"] = body["max_tokens"]
    return Reply(body=orjson.dumps(whole))


def broken(body: dict[str, Any]) -> Reply:
    reply = error(500, "Something broke.", kind="server_error")
    return Reply(reply.status, reply.body, {"retry-after-ms": "1"})


# By words of a question: the rubric of which the judgement fails, how, and how often a command asks for it.
FAILURES: dict[str, tuple[str, Callable[[dict[str, Any]], Reply], int]] = {
    "red planet": ("answer_relevancy", refusing, 1),
    "circle the Earth": ("answer_relevancy", malformed, IDENTICAL + 1),
    "light need": ("answer_relevancy", cut, 2),
    "며칠에": ("answer_relevancy", broken, 6),
    "붉은 행성": ("faithfulness", refusing, 1),
}


def failing_variously(body: dict[str, Any]) -> Reply | None:
    for asked, (rubric, reply, _) in FAILURES.items():
        if is_judged(body) and is_asked(body, asked) and by_relevancy(body) == (rubric == "answer_relevancy"):
            return reply(body)
    return None


def counted(server: ModelsServer) -> dict[str, int]:
    """Requests by the words of the question that they are about."""
    found = [next((asked for asked in FAILURES if is_asked(body, asked)), "") for body in server.requests]
    return {asked: found.count(asked) for asked in sorted(set(found))}


@pytest.mark.parametrize("cache", ["use", pytest.param("none", marks=pytest.mark.slow)])
def test_the_same_command_asks_for_exactly_what_failed(cache: str, words: list[str], server: ModelsServer) -> None:
    words += [f"cache={cache}", "out=o"]
    server.respond = failing_variously
    assert main(words) == 0
    before = rows("o")
    assert [row["unscored"] for row in before.values() if row["unscored"]].count(["answer_relevancy"]) == 4
    failed = {
        id: next(FAILURES[asked][0] for asked in FAILURES if asked in row["output"]["query"])
        for id, row in before.items()
        if row["unscored"]
    }
    assert {id: row["unscored"] for id, row in before.items() if row["unscored"]} == {
        id: [rubric] for id, rubric in failed.items()
    }
    server.reset()
    assert main(words) == 0
    assert counted(server) == {asked: n for asked, (_, _, n) in sorted(FAILURES.items())}  # however often it fails
    assert rows("o") == before
    server.respond = None
    server.reset()
    assert main(words) == 0
    assert counted(server) == dict.fromkeys(sorted(FAILURES), 1)
    after = rows("o")
    for id, rubric in failed.items():
        assert after[id]["judgements"][rubric]["score"] is not None
        assert (after[id]["status"], after[id]["unscored"]) == ("ok", [])
        assert list(after[id]["judgements"]) == list(before[id]["judgements"])
        other = ({"faithfulness", "answer_relevancy"} - {rubric}).pop()
        for name in ("output", "latency_ms", "timings"):
            assert after[id][name] == before[id][name]
        assert after[id]["judgements"][other] == before[id]["judgements"][other]
    assert (len(after), len(failed)) == (8, 5)
    assert {id: row for id, row in after.items() if id not in failed} == {
        id: row for id, row in before.items() if id not in failed
    }
    server.reset()
    assert main(words) == 0
    assert server.count == 0


def test_what_was_asked_again_equals_what_came_at_once(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the failures were too many for the run to end well, too."""
    words = words[:-1]
    assert main([*words, "out=whole", "cache=none"]) == 0
    server.respond = failing(refusing)
    assert main([*words, "out=again", "cache=none"]) == 3
    assert "the same command keeps finished cases and runs the rest again" in capsys.readouterr().err
    server.respond = None
    assert main([*words, "out=again", "cache=none"]) == 0
    assert capsys.readouterr().err.count("not all is done") == 0
    assert (Path("again/errors.jsonl").read_text(), read("again/run.json")["status"]) == ("", "completed")
    whole, again = read("whole/summary.json"), read("again/summary.json")
    assert whole.pop("timing") and again.pop("timing")
    assert whole == again


def test_the_newest_folder_is_gone_on_with_until_nothing_is_missing(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.respond = failing(refusing)
    assert main(words) == 0
    (folder,) = Path("outputs").glob("2*")
    assert read(folder / "run.json")["status"] == "completed"
    assert capsys.readouterr().err.splitlines()[-1] == (
        "unfinished cases: 1 (they failed, or one of their judgements did); the same command requests only what is "
        f"missing ({folder})"
    )
    server.respond = None
    server.reset()
    assert main(words) == 0
    assert (server.count, list(Path("outputs").glob("2*"))) == (1, [folder])
    assert "unfinished" not in capsys.readouterr().err
    time.sleep(1)
    assert main(words) == 0
    assert len(list(Path("outputs").glob("2*"))) == 2


def test_a_sweep_is_gone_on_with_until_nothing_is_missing(words: list[str], server: ModelsServer) -> None:
    words += ["k=1,2"]
    server.respond = failing(refusing)
    assert main(words) == 0
    (folder,) = Path("outputs").glob("2*")
    server.respond = None
    server.reset()
    assert main(words) == 0
    assert list(Path("outputs").glob("2*")) == [folder]
    assert server.count == 2
    assert [read(folder / cell / "summary.json")["cases"]["unscored"] for cell in "01"] == [0, 0]


@pytest.mark.parametrize("cache", ["use", pytest.param("none", marks=pytest.mark.slow)])
def test_a_case_whose_answer_failed_is_asked_again(cache: str, words: list[str], server: ModelsServer) -> None:
    """A reply that was of no use does not come from the cache as if it were final."""
    words += [f"cache={cache}", "out=o"]
    server.respond = lambda body: completion(body, "") if not is_judged(body) and is_asked(body, "red planet") else None
    assert main(words) == 0
    assert read("o/summary.json")["cases"]["failed"] == 1
    server.reset()
    assert main(words) == 0
    assert server.count == 3  # the same request, while the reply is empty
    server.respond = None
    server.reset()
    assert main(words) == 0
    assert server.count == 3  # an answer and two judgements
    assert read("o/summary.json")["cases"] == {
        "total": 8, "ok": 8, "failed": 0, "timeout": 0, "pending": 0, "unscored": 0,
    }  # fmt: skip


def test_stored_replies_of_no_use_are_planned_again_and_served_where_nothing_may_be_asked(
    words: list[str], server: ModelsServer
) -> None:
    server.respond = failing(refusing)
    assert main([*words, "out=o"]) == 0
    assert plan_cells(compose_cells([*words, "out=o"])[1]).total.live == 1
    before = rows("o")
    server.reset()
    assert main([*words, "out=replayed", "cache=replay"]) == 0
    assert server.count == 0
    assert {id: row["metrics"] for id, row in rows("replayed").items()} == {
        id: row["metrics"] for id, row in before.items()
    }


def test_rows_of_a_command_that_is_killed_while_it_asks_again_are_not_lost(
    words: list[str], server: ModelsServer
) -> None:
    """With nothing cached, what was bought for them is in their rows alone."""
    words += ["out=o", "cache=none", "max_concurrency=1"]
    server.respond = lambda body: refusing(body) if by_relevancy(body) else None
    assert main(words) == 0
    before, asked, n_before = rows("o"), count(), server.count
    server.respond = lambda body: Reply(delay_s=600) if next(asked) >= 3 else None
    running = begun(*words)
    deadline = time.monotonic() + 60
    while server.count < n_before + 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.kill()
    running.join()
    assert len(rows("o")) == 1 + 3  # a refusal was finished before, since no rubric judges it
    server.respond = None
    server.reset()
    assert main(words) == 0
    assert server.count == 8 - 1 - 3
    after = rows("o")
    assert [row["output"] for row in after.values()] == [before[id]["output"] for id in after]
    assert (len(after), read("o/summary.json")["cases"]["unscored"]) == (8, 0)
    assert not Path("o/.unfinished.jsonl").exists()


def test_rows_that_wait_count_again_when_nothing_more_is_asked(words: list[str], server: ModelsServer) -> None:
    words += ["out=o", "cache=none", "max_concurrency=1", "sample=3"]
    server.respond = lambda body: refusing(body) if by_relevancy(body) else None
    assert main(words) == 0
    before = read("o/summary.json")
    server.respond = lambda body: error(401, "No.", kind="invalid_request_error", code="invalid_api_key")
    assert main(words) == 3
    after = read("o/summary.json")
    assert (after["cases"], after["metrics"]) == (before["cases"], before["metrics"])
    assert read("o/run.json")["status"] == "partial"


VOTING = {
    "repeats": ["judge=openai", "judge.model=local:small", "judge.repeats=3"],
    "panel of repeats": [
        "judge=panel",
        "~judge.judges.third",
        "judge.judges.first.model=local:small",
        "judge.judges.second.model=local:other",
        "judge.judges.second.repeats=2",
    ],
}


@pytest.mark.parametrize(
    ("judge", "cache"),
    [
        *(pytest.param("repeats", cache, marks=pytest.mark.slow) for cache in ("use", "none")),
        ("panel of repeats", "none"),
    ],
)
def test_the_same_command_asks_for_exactly_the_votes_that_failed(
    judge: str, cache: str, server: ModelsServer, tmp_path: Path
) -> None:
    """The numbers are then those of a run in which nothing failed, the cost of the case too."""
    words = [*rag(server.url, tmp_path), *VOTING[judge], "judge.health=false", "max_failure_rate=1", f"cache={cache}"]
    words = [word for word in words if judge == "repeats" or word != "judge.model=local:small"]
    assert main([*words, "out=whole", "cache_dir=other"]) == 0
    failed: list[dict[str, Any]] = []

    def one_vote(body: dict[str, Any]) -> Reply | None:
        if not (is_judged(body) and by_relevancy(body) and is_asked(body, "red planet")):
            return None
        if (body["model"] == "small" and judge != "repeats") or (failed and body != failed[0]):
            return None
        failed.append(body)
        return refusing(body)

    server.respond = one_vote
    assert main([*words, "out=o"]) == 0
    judged = [row for row in rows("o").values() if row["judgements"]]  # a refusal is not
    assert len(judged) == 7
    (before,) = [row for row in judged if "kept_votes" in row["judgements"]["answer_relevancy"]["details"]]
    assert before["unscored"] == [] and before["judgements"]["answer_relevancy"]["score"] is not None
    server.reset()
    assert main([*words, "out=o"]) == 0
    assert (server.count, rows("o")[before["id"]]) == (1, before)
    server.respond = None
    server.reset()
    assert main([*words, "out=o"]) == 0
    assert server.count == 1
    assert {id: row["judgements"] for id, row in rows("o").items()} == {
        id: row["judgements"] for id, row in rows("whole").items()
    }
    whole, again = read("whole/summary.json"), read("o/summary.json")
    assert whole.pop("timing") and again.pop("timing")
    assert whole == again
    server.reset()
    assert main([*words, "out=o"]) == 0
    assert server.count == 0
