"""Runs that search with embeddings of a server: planned to the request, paid for once, replayed without it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.compose import compose_cells
from runner.planning import plan_cells
from tests.services.models_server import ModelsServer
from tests.small_data import CORPUS, QUERIES, small_data


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    model = ["embedder=openai", "embedder.model=local:small", f"provider.local.base_url={server.url}"]
    return ["+experiment=full_rag", *small_data(tmp_path), "tracking=none", "format=json", "out=o", *model]


def usage(folder: str) -> Any:
    return json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))["timing"].get("usage", {})


def test_a_plan_tells_every_request_of_a_sweep_and_leaves_no_made_up_vector(
    words: list[str], server: ModelsServer
) -> None:
    sweep = [*words, "retriever=semantic,hybrid"]
    _, cells = compose_cells(sweep)
    found = plan_cells(cells)
    assert server.count == 0
    assert not list(Path(".runner_cache").glob("semantic/*/manifest.json"))
    assert main(sweep) == 0
    texts = Counter(text for request in server.requests for text in request["input"])
    assert len(texts) == len(CORPUS) + len(QUERIES)
    assert set(texts.values()) == {1}
    assert found.total.live == server.count
    assert plan_cells(cells).total.live == 0


@pytest.mark.parametrize(("cache", "times"), [("use", 1), ("none", 2)])
def test_a_plan_of_runs_that_share_nothing_stored_tells_every_request(
    words: list[str], server: ModelsServer, cache: str, times: int
) -> None:
    sweep = [*words, "retriever=semantic", "k=1,2", "cold_start=true", f"cache={cache}"]
    _, cells = compose_cells(sweep)
    found = plan_cells(cells)
    assert main(sweep) == 0
    assert found.total.live == server.count == times * (1 + len(QUERIES))


def test_what_is_embedded_is_counted_for_the_run(words: list[str]) -> None:
    assert main([*words, "retriever=semantic"]) == 0
    counted = usage("o")["embedder"]["local:small"]
    assert counted["live"]["requests"] == 1 + len(QUERIES)
    assert counted["cached"]["requests"] == 0
    assert main([*words, "retriever=semantic", "cold_start=true", "cache=replay", "out=p"]) == 0
    counted = usage("p")["embedder"]["local:small"]
    assert counted["live"]["requests"] == 0
    assert counted["cached"]["requests"] == 1 + len(QUERIES)


@pytest.mark.parametrize("command", [[], ["plan"]])
def test_stored_embeddings_that_are_damaged_are_set_aside_and_that_is_told(
    command: list[str], words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "retriever=semantic"]) == 0
    (stored,) = Path(".runner_cache", "embeddings").glob("*.sqlite")
    stored.write_text("no database at all", encoding="utf-8")
    capsys.readouterr()
    again = [*command, *words, "retriever=semantic", "cold_start=true", "out=p"]
    note = (
        "note: the stored embeddings were damaged or of another version, and are now "
        f"{stored.with_suffix('.damaged')}; they count as not there"
    )
    assert main(again) == 0
    assert capsys.readouterr().err.splitlines().count(note) == 1
    assert server.count == (1 if command else 2) * (1 + len(QUERIES))
    assert main(again) == 0
    assert note not in capsys.readouterr().err


def test_replies_are_asked_for_anew_and_indexes_made_anew_apart_from_each_other(
    words: list[str], server: ModelsServer
) -> None:
    """`cache` is for what a server says, `cold_start` for what is made of it."""
    asked = 1 + len(QUERIES)
    for more, times in (
        ([], 1), (["cache=refresh"], 1), (["cache=none"], 1), (["cold_start=true"], 1),
        (["cold_start=true", "cache=refresh"], 2), (["cache_dir=elsewhere"], 3),
    ):  # fmt: skip
        assert main([*words, "retriever=semantic", *more, f"out=of-{'-'.join(more).replace('=', '-')}"]) == 0
        assert server.count == times * asked, more


def test_made_up_vectors_do_not_say_whether_retrieval_is_good_enough(words: list[str]) -> None:
    demanding = [*words, "retriever=semantic", "generator=openai", "generator.model=local:small"]
    _, cells = compose_cells([*demanding, "evaluation.require.recall_at_k=1.0", "k=1"])
    (cell,) = plan_cells(cells).cells
    assert cell.stopped is None
    assert sum(expected.live for expected in cell.expected.values()) == 1 + 2 * len(QUERIES)


def test_a_server_that_refuses_ends_the_run_at_once(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.api_key = "a key that nobody has"
    assert main([*words, "retriever=semantic"]) == 3
    assert server.count == 1
    said = capsys.readouterr().err
    assert said.count("the server answers 401: Incorrect API key provided.") == 1
