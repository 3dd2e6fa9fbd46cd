"""Runs that search with embeddings of a server: planned to the request, paid for once, replayed without it."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plugins.retriever.keyword import KeywordRetriever
from runner.cli import main
from runner.config.compose import compose_cells
from runner.run.planning import plan_cells
from tests.services.models_replies import DIMENSIONS, Reply, vector
from tests.services.models_server import ModelsServer
from tests.small_data import CORPUS, QUERIES, small_data


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    model = ["embedder=openai", "embedder.model=local:small", f"provider.local.base_url={server.url}"]
    return ["+experiment=retrieval_only", *small_data(tmp_path), "tracking=none", "format=json", "out=o", *model]


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
        f"{stored.with_suffix('.damaged')}; they count as missing"
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
    demanding = [
        "+experiment=full_rag",
        *words[1:],
        "retriever=semantic",
        "generator=openai",
        "generator.model=local:small",
    ]
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


# --- what is no vector ------------------------------------------------------------------------------

Change = Callable[[str, list[float]], list[float]]


def sending(change: Change, *, sent_by: str = "small", when: str = "") -> Callable[[dict[str, Any]], Reply | None]:
    """A server whose vectors are `change(text, the right one)`, for requests that hold the text `when`."""

    def respond(body: dict[str, Any]) -> Reply | None:
        if not any(when in text for text in body["input"]):
            return None
        vectors = [change(text, vector(text, DIMENSIONS)) for text in body["input"]]
        data = [{"index": place, "embedding": each} for place, each in enumerate(vectors)]
        return Reply(body=json.dumps({"model": sent_by, "data": data}).encode())

    return respond


def bought(server: ModelsServer) -> Counter[str]:
    return Counter(text for request in server.requests for text in request["input"])


def ranked(folder: str) -> list[Any]:
    rows = map(json.loads, Path(folder, "per_item.jsonl").read_text(encoding="utf-8").splitlines())
    return sorted((row["id"], row["output"]["retrieved"]) for row in rows)


def test_another_model_behind_the_name_is_refused_each_time_and_leaves_nothing(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*words, "retriever=semantic"]
    passages = [f"{document['title']}\n" for document in CORPUS]

    def is_passage(text: str) -> bool:
        return any(title.strip() in text for title in passages) and "?" not in text

    small = sending(lambda text, right: right)
    large = sending(lambda text, right: right[:48], sent_by="large")
    server.respond = lambda body: (small if is_passage(body["input"][0]) else large)(body)
    for _ in range(2):
        assert main(asked) == 3
        (line,) = [line for line in capsys.readouterr().err.splitlines() if "another model" in line]
        assert "error: local:small at http://127.0.0.1" in line
        assert "sends vectors of 48 numbers (as 'large'), and those stored in " in line
        assert "have 64 (as 'small'): another model answers under this name" in line
    assert not list(Path(".runner_cache").glob("rankings/*/manifest.json"))
    assert max(count for text, count in bought(server).items() if is_passage(text)) == 1
    server.respond = None
    assert main(asked) == 0
    assert main([*asked, "cache_dir=clean", "out=p"]) == 0
    assert ranked("o") == ranked("p")


def test_a_model_that_changes_between_two_requests_for_passages(words: list[str], server: ModelsServer) -> None:
    asked = [*words, "retriever=semantic", "embedder.batch_size=3", "max_concurrency=1"]
    server.respond = sending(lambda text, right: right[:48], when="달", sent_by="new")
    assert [main(asked), main(["plan", *asked]), main(asked)] == [3, 0, 3]
    assert not list(Path(".runner_cache").glob("semantic/*/manifest.json"))
    server.respond = None
    assert main(asked) == 0
    assert main([*asked, "cache_dir=clean", "out=p"]) == 0
    assert ranked("o") == ranked("p")


NO_VECTORS: list[tuple[Change, str]] = [
    (lambda text, right: [], "an empty list"),
    (lambda text, right: [0.0] * 64, "nothing but zeros"),
    (lambda text, right: [None, *right[1:]], "numbers that are not finite"),
    (lambda text, right: [1e300, *right[1:]], "numbers that are not finite"),
    (lambda text, right: [0.5] * 64, "the same number 64 times"),
    (lambda text, right: [0.1, 0.2, 0.3], "sends the same vector for different texts"),
]


def test_what_is_no_vector_is_an_error_of_the_server(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for the same command again, which asks again: nothing of it was kept."""
    for change, fault in NO_VECTORS:
        server.respond = sending(change)
        server.reset()
        assert main([*words, "retriever=semantic"]) == 3
        said = capsys.readouterr().err
        assert len([line for line in said.splitlines() if line.startswith("error: ") and fault in line]) == 1, said
        assert server.count == 1
    server.respond = None
    assert main([*words, "retriever=semantic"]) == 0


@pytest.mark.parametrize("when", ["red planet?", "Mars is called"])
def test_one_shorter_vector_costs_itself_only(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str], when: str
) -> None:
    """Of a question, and of a passage."""
    asked = [*words, "retriever=semantic"]
    server.respond = sending(lambda text, right: right[:63] if when in text else right)
    assert main(asked) == 3
    said = capsys.readouterr().err
    assert "sent no usable vector for '" in said and "one of 63 numbers" in said and "have 64" in said
    assert said.count("one of 63 numbers") == 1
    assert max(bought(server).values()) == 1
    first = len(bought(server))
    server.respond = None
    assert main(asked) == 0
    found = bought(server)
    assert [text for text, count in found.items() if count > 1] == [text for text in found if when in text]
    assert len(found) == len(CORPUS) + len(QUERIES) >= first


def test_a_plan_writes_nothing_that_a_run_reads_and_a_run_builds_once(
    words: list[str], server: ModelsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["+experiment=full_rag", *words[1:], "retriever=keyword", "generator=openai", "generator.model=local:small"]
    built = []
    build = KeywordRetriever._build

    def counted(retriever: KeywordRetriever, *arguments: Any) -> None:
        built.append(1)
        build(retriever, *arguments)

    monkeypatch.setattr(KeywordRetriever, "_build", counted)
    assert main(["plan", *asked]) == 0
    assert [path for path in Path(".runner_cache").rglob("*") if path.is_file() and path.name != "models.sqlite"] == []
    assert len(built) == 1
    assert main(asked) == 0
    assert len(built) == 2
    assert len(list(Path(".runner_cache").glob("keyword/*/manifest.json"))) == 1
    assert not list(Path(".runner_cache").glob(".building-*"))
    assert main([*asked, "out=p", "k=1"]) == 0
    assert len(built) == 2
