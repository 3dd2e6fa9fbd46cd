"""The command from its words to its files, against a real server on loopback."""

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.commands.generate import settings
from runner.errors import ConfigError, InputError
from tests.command_line.started import begun
from tests.docs.pages import documentation
from tests.runner.commands.generate.scripted import Asked, Scripted
from tests.services.models_replies import Reply
from tests.services.models_server import ModelsServer
from tests.small_data import write_texts

ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
NOTES = {
    "moon.md": "---\ntitle: The Moon\n---\n# Moon\n\nThe Moon circles the Earth in 27 days.\n",
    "우주/해.md": "# 해\n\n해의 빛은 지구까지 8분 걸린다고 한다.\n",
}


def written(asked: Asked) -> list[dict[str, Any]]:
    good = {
        "en": ("How many days does the Moon need for one round?", "27 days", "The Moon circles the Earth in 27 days."),
        "ko": ("해의 빛이 지구까지 오는 데 몇 분 걸리나요?", "8분", "해의 빛은 지구까지 8분 걸린다고 한다."),
    }
    bad = {"en": ("Which crater of the Moon is deepest?", "", ""), "ko": ("해의 표면 온도는 몇 도인가요?", "", "")}
    names = ("question", "answer", "quote")
    return [
        {"number": n, **dict(zip(names, (good if is_answerable else bad)[asked.language], strict=True))}
        for n, _, _, is_answerable in asked.orders
    ]


def found(asked: Asked) -> dict[str, Any]:
    answers = {"How many": "27 days", "해의 빛": "8분"}
    answer = next((answer for start, answer in answers.items() if asked.fields["question"].startswith(start)), "")
    return {"stands_alone": True, "answered": bool(answer), "answer": answer}


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "노트", NOTES)
    server.respond = Scripted(written, found)
    model = ["model=local:small", f"provider.local.base_url={server.url}"]
    return ["generate", "corpus=노트", "out=질문.jsonl", "unanswerable_share=0.5", *model]


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_a_test_set_of_a_vault(words: list[str], capsys: pytest.CaptureFixture[str], server: ModelsServer) -> None:
    assert main(words) == 0
    queries = lines("질문.jsonl")
    assert {query["query"]: query["answerable"] for query in queries} == {
        "How many days does the Moon need for one round?": True,
        "Which crater of the Moon is deepest?": False,
        "해의 빛이 지구까지 오는 데 몇 분 걸리나요?": True,
        "해의 표면 온도는 몇 도인가요?": False,
    }
    assert [query["expected_notes"] for query in queries if query["answerable"]] == [["moon.md"], ["우주/해.md"]]
    made = json.loads(Path("질문.provenance.json").read_text(encoding="utf-8"))
    assert made["model"] == {"model": "local:small", "url": server.url}
    assert made["counts"]["kept"] == made["counts"]["ordered"] == 4
    assert made["settings"]["chunker"] == {"max_chars": 3000, "min_chars": 200, "overlap": 0, "headings": True}
    assert made["usage_total"]["live"]["requests"] == server.count == 6
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == [
        "질문.jsonl: 4 questions, 2 answerable and 2 not, about 2 of 2 chunks",
        "dropped none of 4",
    ]
    assert re.fullmatch(
        r"local:small: 6 requests, [\d,]+ tokens, \$0\.0000; 0 answered from the cache", out.split("\n")[2]
    )
    assert f"data goes to {server.url.removesuffix('/v1')} (local)\n" in err
    assert "writing questions about 2 chunks: 2/2" in err and "checking 4 questions: 4/4" in err
    evaluated = ["dataset=vault", "dataset.notes=노트", "dataset.queries=질문.jsonl", "retriever=keyword"]
    assert main([*evaluated, "strict=true", "tracking=none", "out=o"]) == 0
    assert Path("o/errors.jsonl").read_text(encoding="utf-8") == ""
    summary = json.loads(Path("o/summary.json").read_text(encoding="utf-8"))
    assert summary["metrics"]["chunk/recall_at_k"]["value"] == 1.0


def test_the_same_command_makes_the_same_questions_and_asks_nothing_again(
    words: list[str], server: ModelsServer
) -> None:
    assert main(words) == 0
    first = Path("질문.jsonl").read_bytes()
    assert main(words) == 1  # the file is there
    Path("질문.jsonl").unlink()
    Path("질문.provenance.json").unlink()
    assert main(words) == 0
    assert Path("질문.jsonl").read_bytes() == first
    assert server.count == 6
    assert main([*words, "cache=none", "out=other.jsonl"]) == 0
    assert (server.count, Path("other.jsonl").read_bytes()) == (12, first)


def test_a_file_that_is_there_is_not_asked_for(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("질문.jsonl").write_text("", encoding="utf-8")
    assert main(words) == 1
    assert capsys.readouterr().err == "error: out: 질문.jsonl exists; name another file, or remove it\n"
    assert server.count == 0


def test_nothing_left_is_an_error_that_says_why(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.respond = Scripted(written, lambda asked: {"stands_alone": False, "answered": True, "answer": ""})
    assert main(words) == 3
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: no question is left of 4 ordered, so nothing is written: 4 because it is not self-contained"
    )
    assert not Path("질문.jsonl").exists()


def test_a_budget_stops_it(words: list[str], capsys: pytest.CaptureFixture[str], server: ModelsServer) -> None:
    assert main([*words, "budget.requests=3", "max_concurrency=1"]) == 3
    assert "error: budget.requests=3 is spent" in capsys.readouterr().err
    assert server.count == 3
    assert main(words) == 0
    assert server.count == 6


@pytest.mark.parametrize(("typed", "asked"), [(b"n\n", False), (b"y\n", True)])
def test_a_terminal_is_asked_before_much_is_spent(
    words: list[str], server: ModelsServer, typed: bytes, asked: bool
) -> None:
    outer, inner = pty.openpty()
    os.write(outer, typed)
    price = "provider.local.prices.usd_per_million.small={input: 1000, output: 1000}"
    command = [sys.executable, "-m", "runner", *words, price, "budget.confirm_over=0.5"]
    try:
        done = subprocess.run(command, stdin=inner, stderr=inner, stdout=subprocess.PIPE, env=ENV, check=False)
        told = os.read(outer, 100_000).decode()
    finally:
        os.close(outer)
        os.close(inner)
    assert "Continue? [y/N]" in told
    assert re.search(r"local:small: about 6 requests, [\d,]+ tokens, \$\d+\.\d{4}\r?\n", told)
    assert (done.returncode, server.count) == ((0, 6) if asked else (1, 0))
    assert ("not started; budget.confirm_over=null starts without asking" in told) is not asked


def test_bad_lines_of_a_corpus_are_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = "The Moon circles the Earth in 27 days."
    bad = "\n".join([json.dumps({"id": "moon", "text": text}), *["{"] * 7])
    Path("c.jsonl").write_text(bad, encoding="utf-8")
    assert main([*words, "corpus=c.jsonl", "unanswerable_share=0"]) == 0
    err = capsys.readouterr().err
    assert err.count("skipped c.jsonl:") == 5 and "skipped 2 more" in err
    assert main([*words, "corpus=c.jsonl", "out=x.jsonl", "strict=true"]) == 1


# --- words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "problems"),
    [
        (
            [],
            [
                "corpus: a value is required; give one with corpus=VALUE",
                "out: a value is required; give one with out=VALUE",
            ],
        ),
        (["corpsu=c", "corpus=c", "out=o"], ["corpsu: unknown setting; did you mean 'corpus'?"]),
        (
            ["corpus=c", "out=o", "questions_per_chunk=11", "max_chunks_sample=0", "unanswerable_share=1.5"],
            [
                "questions_per_chunk: expected 10 or less, got 11",
                "max_chunks_sample: expected 1 or more, got 0",
                "unanswerable_share: expected 1 or less, got 1.5",
            ],
        ),
        (
            ["corpus=c", "out=o", "question_type=factual,analitical", "difficulty=[]", "language=jp"],
            [
                "question_type.1: expected 'factual', 'analytical', 'inferential' or 'paraphrased', got 'analitical'; "
                "did you mean 'analytical'?",
                "difficulty: expected List should have at least 1 item after validation, not 0, got []",
                "language: expected 'auto', 'ko' or 'en', got 'jp'",
            ],
        ),
        (
            ["corpus=c", "out=o", "budget.usdd=1", "chunker.max_char=5", "provider.local.base_ur=x", "cache=off"],
            [
                "provider.local.base_ur: unknown setting; did you mean 'base_url'?",
                "cache: expected 'use', 'none', 'read', 'refresh' or 'replay', got 'off'",
                "budget.usdd: unknown setting; did you mean 'usd'?",
                "chunker.max_char: unknown setting; did you mean 'max_chars'?",
            ],
        ),
        (["corpus=c,d", "out=o"], ["corpus: one value only; a list is written [a,b]"]),
        (["corpus=c", "out=o", "notes"], ["notes: expected KEY=VALUE, +KEY=VALUE or ~KEY"]),
    ],
)
def test_everything_that_is_wrong_is_named(words: list[str], problems: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(words)
    assert sorted(map(str, raised.value.problems)) == sorted(problems)


def test_one_or_several_types_and_files() -> None:
    cfg = settings(["corpus=[a.jsonl,나.jsonl]", "out=o", "question_type=factual", "difficulty=easy,hard"])
    assert cfg.testset.corpus == ["a.jsonl", "나.jsonl"]
    assert (cfg.testset.question_type, cfg.testset.difficulty) == (["factual"], ["easy", "hard"])


def test_providers_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "provider").mkdir()
    (tmp_path / "provider" / "mine.yaml").write_text(
        "# @package provider.mine\nbase_url: http://x/v1\n", encoding="utf-8"
    )
    words = ["corpus=c", "out=o", "model=mine:m", "provider=[openai,mine]", "--config-dir", str(tmp_path)]
    assert settings(words).provider.mine.base_url == "http://x/v1"
    with pytest.raises(ConfigError, match="provider"):
        settings(["corpus=c", "out=o", "provider=[opnai]"])


@pytest.mark.parametrize("flag", ["--multirun", "--cfg"])
def test_flags_of_runs_are_none_of_its_own(flag: str) -> None:
    with pytest.raises(InputError, match="generate takes settings"):
        settings(["corpus=c", "out=o", flag])


def test_the_documentation_has_the_defaults() -> None:
    page = documentation("en")["recipes/test-set.md"]
    table = page.partition("| setting |")[2].partition("\n\n")[0]
    told = {name: value for name, value in re.findall(r"^\| `(\w+)` \| (\S+) \|", table, re.M) if value != "all"}
    cfg = settings(["corpus=c", "out=o"])
    assert told == {name: str(cfg[name]) for name in told}
    assert {"model", "questions_per_chunk", "max_chunks_sample", "unanswerable_share", "language"} == set(told)


def test_help_names_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--help"]) == 0
    text = capsys.readouterr().out
    cfg = settings(["corpus=c", "out=o"])
    for name in cfg:
        assert (re.search(rf"^{name}:", text, re.M) is not None) == (name not in ("models", "testset", "provider")), (
            name
        )


# --- one budget over all launches ---------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["use", "none"])
def test_a_budget_holds_over_all_launches(
    cache: str, words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    words += [f"cache={cache}", "max_concurrency=1"]
    for _ in range(3):
        assert main([*words, "budget.requests=4"]) == 3
        assert server.count == 4
        assert "budget.requests=4 is spent (4 used)" in capsys.readouterr().err
    enough = 6 if cache == "use" else 4 + 6  # what no cache keeps is asked again
    assert main([*words, f"budget.requests={enough}"]) == 0
    assert server.count == enough
    made = json.loads(Path("질문.provenance.json").read_text(encoding="utf-8"))
    assert made["usage_total"]["live"]["requests"] == enough
    assert sorted(path.name for path in Path().iterdir() if path.name.startswith((".질문", "질문"))) == [
        "질문.jsonl", "질문.provenance.json",
    ]  # fmt: skip


def test_what_a_launch_that_was_killed_had_asked_counts(words: list[str], server: ModelsServer) -> None:
    words += ["cache=none", "max_concurrency=1", "budget.requests=3"]
    answer = server.respond
    server.respond = lambda body: Reply(delay_s=600) if server.count == 2 else answer and answer(body)
    running = begun(*words)
    deadline = time.monotonic() + 60
    while server.count < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.kill()
    running.join()
    server.respond = answer
    assert main(words) == 3
    assert server.count == 3  # the second may have been answered, for all that anybody knows
