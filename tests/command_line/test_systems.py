"""A service, a function and a program that run, evaluated as they stand, over real connections."""

import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.command_line.result_files import rows, summary
from tests.command_line.started import begun
from tests.services.rag_service import RagService, answer, serving_answers
from tests.small_data import QUERIES, small_data, write_jsonl

FULL = ["+experiment=full_rag", "tracking=none", "format=md", "judge.health=false"]


@pytest.fixture(scope="module")
def started() -> Iterator[RagService]:
    with serving_answers() as service:
        yield service


@pytest.fixture
def service(started: RagService) -> RagService:
    started.reset()
    return started


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    return [*small_data(tmp_path / "data"), *FULL]


def http(service: RagService, path: str = "/ask") -> list[str]:
    return ["system=http", f"system.url={service.url}{path}"]


# --- over HTTP ------------------------------------------------------------------------------------


def test_a_service_is_evaluated_by_what_it_says(
    service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, *http(service), "out=o"]) == 0
    said = capsys.readouterr()
    assert f"data goes to {service.url} (system)" in said.err
    assert f"{service.url}/ask: 8" in said.err  # the plan
    assert sorted(each["question"] for each in service.asked) == sorted(query["query"] for query in QUERIES)
    assert service.asked[0].keys() == {"question", "top_k", "shift"}  # no history where there is none
    found = summary("o")["metrics"]
    assert {name: found[name]["value"] for name in ("right", "recall_at_k", "mrr")} == dict.fromkeys(
        ("right", "recall_at_k", "mrr"), 1.0
    )
    assert found["mean_faithfulness"]["n_scored"] == 6  # the two refusals claim nothing
    row = rows("o")["q1"]
    assert row["output"]["contexts"][0]["id"] == "moon" and row["timings"].keys() == {"system"}
    usage = summary("o")["timing"]["usage"]["system"][f"{service.url}/ask"]["live"]
    assert (usage["requests"], usage["input_tokens"], usage["output_tokens"]) == (8, 600, 60)
    shown = Path("o/summary.md").read_text("utf-8")
    assert f"Answers come from {service.url}/ask. Nothing was retrieved or generated here" in shown
    assert "generator=extractive" not in shown and "Baselines without a language model: judge=lexical" in shown


def test_killed_half_way_and_resumed_no_question_is_answered_twice(service: RagService, words: list[str]) -> None:
    """What was in flight when the process was killed was not answered; it is asked again with the same key."""
    line = [*words, *http(service), "out=o", "max_concurrency=2", "format=json"]
    service.hold_after = 4
    process = begun(*line)
    wait_until(lambda: len(service.asked) == 6 and len(finished("o")) == 4)
    process.kill()
    process.join(30)
    assert len(service.answered) == 4
    service.hold_after = None
    service.gate.set()
    wait_until(lambda: service.in_flight == 0)
    assert sum(service.answered.values()) == 4
    assert main(line) == 0
    assert service.answered == dict.fromkeys((query["query"] for query in QUERIES), 1)
    assert len(service.asked) == 10
    twice = {question: keys for question, keys in service.keys.items() if len(keys) > 1}
    assert len(twice) == 2 and all(first == second != "" for first, second in twice.values())
    assert summary("o")["metrics"]["right"]["value"] == 1.0


def test_a_reply_that_was_not_judged_yet_is_not_paid_twice(service: RagService, words: list[str]) -> None:
    """The journal is lost; what the service said is not."""
    line = [*words, *http(service), "out=o", "format=json"]
    assert main(line) == 0
    Path("o/per_item.jsonl").unlink()
    assert main(line) == 0
    assert len(service.asked) == 8


def test_another_run_asks_anew_unless_told_otherwise(service: RagService, words: list[str]) -> None:
    for out, cache, asked in (("a", "true", 3), ("b", "true", 3), ("c", "false", 6)):
        line = [*words, *http(service), f"system.cache={cache}", "sample=3", f"out={out}", "format=json"]
        assert main(line) == 0
        assert len(service.asked) == asked


def test_two_deployments_are_compared(service: RagService, capsys: pytest.CaptureFixture[str]) -> None:
    many = [
        {"answerable": True, **query, "id": f"{query['id']}-{n}", "query": f"{query['query']} ({n})"}
        for query in QUERIES
        for n in (1, 2, 3)
    ]
    data = ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={write_jsonl(Path('many.jsonl'), many)}"]
    assert (
        main([*data, *FULL, "system=http", f"system.url={service.url}/ask,{service.url}/old", "verbose=true", "out=s"])
        == 0
    )
    assert [summary(f"s/{cell}")["metrics"]["right"]["value"] for cell in (0, 1)] == [1.0, 0.25]
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Compared with system.url={service.url}/ask" in shown
    assert "−0.750 ▼" in shown


def test_a_rule_on_what_needs_contexts_where_a_system_says_none(
    service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What only one of the runs has is not evaluated."""
    silent = ["system.contexts=null", "system.ids=null", "system.scores=null"]
    assert main([*words, *http(service), "out=full", "format=json"]) == 0
    assert main([*words, *http(service), *silent, "out=silent", "format=json"]) == 0
    capsys.readouterr()
    assert main(["compare", "full", "silent", "--out", "c"]) == 0
    assert "Rules not evaluated: Faithfulness, Recall@5." in capsys.readouterr().out
    assert main(["compare", "full", "silent", "--rules", "none", "--out", "d"]) == 0
    assert main(["compare", "silent", "full", "--out", "e"]) == 0
    assert "Rules not evaluated: Faithfulness, Recall@5." in capsys.readouterr().out


def test_a_field_of_the_body_is_swept(service: RagService, words: list[str]) -> None:
    assert main([*words, *http(service), "system.fields.top_k=1,2", "out=s", "format=json"]) == 0
    assert [summary(f"s/{cell}")["metrics"]["precision_at_1"]["value"] for cell in (0, 1)] == [1.0, 1.0]
    assert sorted(each["top_k"] for each in service.asked) == [1] * 8 + [2] * 8


def test_a_budget_of_requests_holds(service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    line = [*words, *http(service), "out=o", "max_concurrency=1", "format=json"]
    assert main([*line, "budget.requests=3"]) == 3
    assert "budget.requests=3 is spent" in capsys.readouterr().err
    assert len(service.asked) == 3
    assert main([*line, "budget.requests=8"]) == 0
    assert len(service.asked) == 8


def test_what_is_too_much_is_waited_for_and_what_fails_is_tried_again(service: RagService, words: list[str]) -> None:
    service.faults.extend([(429, {"Retry-After": "0.2"}), (503, {})])
    assert main([*words, *http(service), "out=o", "format=json"]) == 0
    assert len(service.asked) == 10
    assert summary("o")["timing"]["latency"]["system"]["n"] == 6  # the others needed a second attempt


def test_so_many_at_once(service: RagService, words: list[str]) -> None:
    service.delay_s = 0.05
    assert main([*words, *http(service), "out=o", "max_concurrency=3", "format=json"]) == 0
    assert service.most_in_flight == 3


def test_a_plan_asks_nothing(service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    line = [*words, *http(service), "system.repeats=2", "out=o", "format=json"]
    assert main(["plan", *line]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"16 questions to running systems ({service.url}/ask: 16), which may cost something of their own" in said
    assert service.asked == [] and not Path("o").exists()
    assert main(line) == 0
    capsys.readouterr()
    assert main(["plan", *line]) == 0
    assert "no requests to send: all 16 replies are stored or shared" in capsys.readouterr().out


def test_what_no_request_depends_on_is_swept_without_asking_again(service: RagService, words: list[str]) -> None:
    assert main([*words, *http(service), "k=1,3", "out=s", "format=json"]) == 0
    assert len(service.asked) == 8


def test_how_it_is_asked_is_no_part_of_what_was_asked(service: RagService, words: list[str]) -> None:
    """A run that stopped is gone on with under another timeout, with other retries and fewer at once."""
    line = [*words, *http(service), "out=o", "format=json"]
    service.faults.extend([(500, {})] * 3)
    assert main([*line, "system.retries=0", "max_concurrency=1"]) == 3
    assert len(rows("o")) == 8
    assert main([*line, "system.timeout_ms=9000", "system.max_concurrency=2", "report.language=ko"]) == 0
    assert len(service.asked) == 8 + 3
    assert list(Path("o").glob("per_item.before-*")) == []


def test_without_a_corpus_known_answers_are_enough(service: RagService, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [{"answerable": True, **{key: query[key] for key in query if key != "expected_notes"}} for query in QUERIES]
    queries = write_jsonl(Path("questions.jsonl"), asked)
    words = ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={queries}", *FULL, *http(service), "out=o"]
    service.reply = lambda reply: {"answer": reply["answer"]}
    assert main(words) == 0
    found = summary("o")["metrics"]
    assert found["right"] == {**found["right"], "value": 1.0, "n": 8}
    assert not {"recall_at_k", "mrr", "mean_faithfulness"} & {name for name in found if found[name]["n"]}
    shown = " ".join(Path("o/summary.md").read_text("utf-8").replace("\\", "").split())
    assert (
        "The system does not return its contexts in 8 of 8 replies (system.contexts=contexts[].text finds "
        "nothing; the reply has the keys answer). Retrieval, faithfulness and other metrics that need contexts are not "
        "judged there."
    ) in shown
    assert "6 of 8 questions have no gold documents: retrieval is not judged there." in shown
    assert "The system does not return its contexts in 8 of 8 replies" in " ".join(
        capsys.readouterr().out.replace("│", " ").split()
    )


def test_contexts_without_ids_are_found_by_their_texts(service: RagService, words: list[str]) -> None:
    service.reply = lambda reply: {**reply, "contexts": [each["text"] for each in reply["contexts"]]}
    assert main([*words, *http(service), "out=o", "report.language=ko"]) == 0
    assert summary("o")["metrics"]["recall_at_k"]["value"] == 1.0
    assert summary("o")["system"]["by"] == {"ids": 2, "texts": 6, "unidentified": 0, "nothing": 0}
    assert "응답 8건 중 6건에서는 컨텍스트의 문서를 본문으로 알아냈습니다." in Path("o/summary.md").read_text("utf-8")


def test_documents_that_cannot_be_told_are_not_judged(service: RagService, words: list[str]) -> None:
    service.reply = lambda reply: {**reply, "contexts": [{"id": "point-7", "text": "A page."}]}
    assert main([*words, *http(service), "out=o"]) == 0
    found = summary("o")
    assert (found["metrics"].get("recall_at_k") or {"n": 0})["n"] == 0
    assert found["metrics"]["mean_faithfulness"]["n"] == 6
    assert "(such as point-7). Retrieval is not judged there." in Path("o/summary.md").read_text("utf-8")


def test_ids_of_another_kind_are_told_without_a_corpus(service: RagService) -> None:
    queries = write_jsonl(Path("q.jsonl"), [{"answerable": True, **query} for query in QUERIES])
    words = ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={queries}", *FULL, *http(service), "out=o"]
    service.reply = lambda reply: {**reply, "contexts": [{"id": "point-7", "text": "A page."}]}
    assert main(words) == 0
    shown = " ".join(Path("o/summary.md").read_text("utf-8").split())
    assert "No id that the system returns is that of a gold document (such as point-7)." in shown


def test_answers_to_the_same_question_that_differ(
    service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of three answers to q1 the second is wrong; all others are the same three times."""
    said: list[str] = []

    def reply(real: dict[str, Any]) -> dict[str, Any]:
        said.append(real["answer"])
        is_second = "Moon circles" in real["answer"] and said.count(real["answer"]) == 2
        return {**real, "answer": "The Moon has no atmosphere."} if is_second else real

    service.reply = reply
    assert main([*words, *http(service), "system.repeats=3", "out=o"]) == 0
    assert len(service.asked) == 24
    row = rows("o")["q1"]
    assert row["metrics"]["right"] == pytest.approx(2 / 3) and len(row["output"]["replies"]) == 3
    assert {"faithfulness", "faithfulness#2", "faithfulness#3"} <= row["judgements"].keys()
    found = summary("o")
    assert found["counts"]["steady"] == {"all": 7, "some": 1}
    assert found["metrics"]["right"]["value"] == pytest.approx((7 + 2 / 3) / 8)
    assert found["metrics"]["right_spread"]["value"] == pytest.approx((1 / 3) ** 0.5 / 8)
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Questions answered right all 3 times: 7; some times: 1; never: 0." in shown
    assert main([*words, *http(service), "system.repeats=3", "out=o", "format=json"]) == 0
    assert len(service.asked) == 24


def test_wrong_settings_are_told_before_anything_is_asked(
    service: RagService, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ["system.answer=a[", "system.body={q: '{query}'}", "report.language=ko"]
    assert main([*words, *http(service), *wrong, "out=o"]) == 1
    said = capsys.readouterr().err
    assert "system.answer: contexts[].text 같은 JMESPath 식이어야 하는데 'a['" in said
    assert (
        "system.body: {query} 자리에 들어갈 값이 없습니다. 쓸 수 있는 이름: question, history, language, id, k" in said
    )
    assert main([*words, *http(service), "baselines=auto"]) == 1
    assert "baselines: a running system retrieves and answers by itself" in capsys.readouterr().err
    assert main([*words, *http(service), "evaluation.require.recall_at_k=0.5"]) == 1
    assert "evaluation.require.recall_at_k: expected null" in capsys.readouterr().err
    assert main([*words, "system=htp"]) == 1
    assert "did you mean 'http'" in capsys.readouterr().err
    assert service.asked == []


# --- in this process, and in one of its own -------------------------------------------------------


FUNCTION = """
from tests.services.rag_service import answer as known

asked = []

def answer(question, k, history=None):
    asked.append(question)
    with open("asked.txt", "a") as file:
        file.write(question + "\\n")
    return known(question, top_k=k)

async def shifted(question):
    return known(question, shift=1)
"""
PROGRAM = """
import json, os, sys

known = json.load(open("known.json"))
print("loading", file=sys.stderr)
with open("started.txt", "a") as file:
    file.write(f"{os.getpid()}\\n")
for line in sys.stdin:
    print(json.dumps(known[json.loads(line)["question"]]), flush=True)
"""


def write_program(text: str = PROGRAM) -> None:
    """my_rag.py, and what it knows."""
    Path("known.json").write_text(json.dumps({each["query"]: answer(each["query"]) for each in QUERIES}), "utf-8")
    Path("my_rag.py").write_text(text, encoding="utf-8")


def test_a_function_is_evaluated(words: list[str], empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("my_rag.py").write_text(FUNCTION, encoding="utf-8")
    monkeypatch.syspath_prepend(empty_folder)
    line = [*words, "system=python", "system.target=my_rag:answer,my_rag:shifted", "out=s", "format=json"]
    assert main(line) == 0
    assert [summary(f"s/{cell}")["metrics"]["right"]["value"] for cell in (0, 1)] == [1.0, 0.25]
    assert main(line) == 0
    asked = Path("asked.txt").read_text("utf-8").splitlines()
    assert sorted(asked) == sorted(query["query"] for query in QUERIES)  # not again


def test_a_program_is_evaluated(words: list[str]) -> None:
    write_program()
    assert main([*words, "system=command", f"system.command='{sys.executable} my_rag.py'", "out=o", "format=json"]) == 0
    assert summary("o")["metrics"]["right"]["value"] == 1.0
    assert len(Path("started.txt").read_text("utf-8").splitlines()) == 1


def test_a_program_that_dies_half_way(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each process answers three questions; nothing that was answered is asked again."""
    dying = PROGRAM.replace(
        "for line in sys.stdin:",
        "for n, line in enumerate(sys.stdin):\n    if n == 3 and not os.path.exists('whole'): sys.exit(7)",
    )
    write_program(dying.replace("json.loads(line)", "print(line, file=open('asked.txt', 'a')) or json.loads(line)"))
    line = [*words, "system=command", f"system.command='{sys.executable} my_rag.py'", "out=o", "format=json"]
    assert main(line) == 3
    said = capsys.readouterr()
    assert "the process ended with exit code 7 before it answered; its last output on stderr: loading" in said.err
    assert len(Path("asked.txt").read_text("utf-8").split("\n\n")) - 1 == 6  # two of eight killed their process
    Path("whole").touch()
    assert main(line) == 0
    assert summary("o")["metrics"]["right"]["value"] == 1.0
    assert len(Path("asked.txt").read_text("utf-8").split("\n\n")) - 1 == 8


def test_an_edited_program_is_asked_anew(words: list[str]) -> None:
    """And so after a change of a module beside it: never two programs in one mean."""
    text = "def reply(known, question):\n    assert len(question) % 3, question\n    return known[question]\n"
    Path("known_answers.py").write_text(text, "utf-8")
    text = PROGRAM.replace("import json", "from known_answers import reply\nimport json")
    write_program(text.replace('known[json.loads(line)["question"]]', 'reply(known, json.loads(line)["question"])'))
    line = [*words, "system=command", f"system.command='{sys.executable} my_rag.py'", "out=o", "format=json"]
    assert main(line) == 3
    assert 0 < sum(row["status"] == "ok" for row in rows("o").values()) < 8
    silent = "def reply(known, question):\n    return {'answer': 'Nobody knows.'}\n"
    Path("known_answers.py").write_text(silent, "utf-8")
    assert main(line) == 0
    assert {row["output"]["answer"] for row in rows("o").values()} == {"Nobody knows."}


SECRET = "9f8e7d6c-5b4a-3210-Fedc"


@pytest.mark.parametrize(
    "word", ["--token {}", "--api-key={}", "-k {}", "-H 'Authorization: Bearer {}'", "--header 'X-API-Key: {}'"]
)
def test_a_key_in_a_command_is_in_no_file(
    words: list[str], capsys: pytest.CaptureFixture[str], empty_folder: Path, word: str
) -> None:
    write_program()
    command = shlex.split(f"{sys.executable} my_rag.py {word.format(SECRET)}")
    Path("my_conf/system").mkdir(parents=True)
    Path("my_conf/system/mine.yaml").write_text(json.dumps({"defaults": ["command", "_self_"], "command": command}))
    line = ["--config-dir", "my_conf", *words, "system=mine", "out=o", "format=both", "sample=2"]
    assert main(line) == 0
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    written = [path for path in empty_folder.rglob("*") if path.is_file() and "my_conf" not in path.parts]
    assert [path.name for path in written if SECRET.encode() in path.read_bytes()] == []
    assert len(written) > 10


def test_a_record_of_a_stranger_runs_no_program(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    write_program()
    small = ["sample=1", "format=json", "out=o"]
    assert main([*words, "system=command", f"system.command='{sys.executable} my_rag.py'", *small]) == 0
    assert main(["freeze", "o", "experiments/one"]) == 0
    capsys.readouterr()
    record = ["-cd", "experiments/one", "-cn", "frozen", "out=again"]
    assert main(record) == 1
    assert "system.command: " in (said := capsys.readouterr().err)
    assert "your configuration does not name this program or function" in said
    assert main([*record, f"system.command='{sys.executable} my_rag.py'"]) == 0


def wait_until(is_so: Any) -> None:
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def finished(folder: str) -> dict[str, Any]:
    return rows(folder) if Path(folder, "per_item.jsonl").exists() else {}
