"""The batch that embeds: what it leaves for runs, what it does when it is stopped and given again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli import main
from tests.services.models_replies import embeddings, error
from tests.services.models_server import ModelsServer

Caught = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    lines = [{"id": f"d{n}", "title": f"Note {n}", "text": f"Text of note number {n}."} for n in range(10)]
    Path("docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return ["dataset=jsonl", "dataset.corpus=docs.jsonl"]


def served(server: ModelsServer) -> list[str]:
    at = [f"provider.local.base_url={server.url}", "provider.local.api_key_env=null"]
    return ["embedder=openai", "embedder.model=local:vectors", "embedder.batch_size=2", *at]


def test_documents_with_their_tags_are_indexed(capsys: Caught) -> None:
    assert main(["embed", "dataset=faq_guide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "documents: 62, in 113 chunks"
    assert lines[1] == "  doc_type: faq 32, guide 81"
    assert lines[-1].startswith("index: agentic, ")
    assert {path.name for path in Path(".runner_cache").iterdir()} >= {"semantic", "keyword"}


def test_a_dry_run_asks_nobody_and_builds_nothing(documents: list[str], server: ModelsServer, capsys: Caught) -> None:
    assert main(["embed", "--dry-run", *documents, *served(server)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "would embed 10 texts; 0 are there already"
    assert (said.err, server.count) == ("", 0)
    assert not Path(".runner_cache/semantic").exists()


def test_what_is_there_is_not_embedded_again(documents: list[str], server: ModelsServer, capsys: Caught) -> None:
    words = ["embed", *documents, *served(server)]
    assert main(words) == 0
    assert "embedded: 10 texts; 0 were there already" in capsys.readouterr().out
    count = server.count
    assert count == 5
    assert main(words) == 0
    assert "embedded: 0 texts; 10 were there already" in capsys.readouterr().out
    with Path("docs.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "new", "title": "New", "text": "A new note."}\n')
    assert main(words) == 0
    assert "embedded: 1 texts; 10 were there already" in capsys.readouterr().out
    assert server.count == count + 1


def test_a_server_that_fails_half_way_leaves_what_came_back(
    documents: list[str], server: ModelsServer, capsys: Caught
) -> None:
    words = ["embed", *documents, *served(server), "max_concurrency=1"]
    server.respond = lambda body: (
        embeddings(body) if server.count <= 3 else error(401, "no", kind="invalid_request_error")
    )
    assert main(words) == 3
    assert "no" in capsys.readouterr().err
    server.respond = embeddings
    assert main(["embed", "--dry-run", *words[1:]]) == 0
    left = capsys.readouterr().out.splitlines()[-1]
    assert left == "would embed 4 texts; 6 are there already"
    assert main(words) == 0
    assert "embedded: 4 texts; 6 were there already" in capsys.readouterr().out


def test_a_run_finds_what_the_batch_embedded(documents: list[str], server: ModelsServer) -> None:
    assert main(["embed", *documents, *served(server), "retriever=semantic"]) == 0
    before = server.count
    Path("q.jsonl").write_text(
        '{"id": "q", "query": "Text of note number 3.", "answerable": true, "expected_notes": ["d3"]}\n'
    )
    run = ["dataset.queries=q.jsonl", "retriever=semantic", "tracking=none", "format=json", "warmup=0", "out=o"]
    assert main([*documents, *served(server), *run]) == 0
    assert server.count == before + 1  # the question alone


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        ([], 1, "dataset: there are no documents to embed; choose dataset=vault dataset.notes=FOLDER, "),
        (["dataset=jsonl"], 1, "dataset.corpus: a value is required; give one with dataset.corpus=VALUE"),
        (["dataset=jsonl", "dataset.corpus=none.jsonl"], 2, "dataset.corpus: "),
        (["dataset=faq_guide", "embeder=e5"], 1, "embeder: unknown setting; did you mean 'embedder'?"),
        (["dataset=faq_guide", "--dry"], 1, "unknown option --dry; did you mean '--dry-run'?"),
        (["dataset=faq_guide", "embedder=none"], 1, "embedder"),
    ],
)
def test_what_cannot_be_embedded(words: list[str], code: int, expected: str, capsys: Caught) -> None:
    assert main(["embed", *words]) == code
    assert expected in capsys.readouterr().err
