import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plugins.embedder.lsa import LsaEmbedder
from plugins.embedder.none import NoEmbedder
from plugins.embedder.openai import OpenaiEmbedder
from plugins.memory.retrieved_turns import RetrievedTurnsMemory
from plugins.memory.store.local import LocalStore
from runner.domains.memory.records import ChatTurn, SessionKey
from runner.domains.memory.turn_index import Recency
from runner.errors import Problem, StopRunError
from runner.protocols import Workspace
from tests.corpora import workspace
from tests.plugins.embedder.embedding_server import models, texts_of
from tests.plugins.memory.summarisers import ListingSummariser
from tests.services.models_server import ModelsServer

KEY, OTHER = SessionKey("acme", "s1"), SessionKey("globex", "s1")


async def test_turns_that_share_words_with_the_question_best_first() -> None:
    memory = RetrievedTurnsMemory(store=LocalStore(), summariser=ListingSummariser(), n=2)
    async with memory.open():
        for text in ("예산은 1억이에요", "점심은 국수였어요", "예산이 1.5억으로 늘었어요", "예산 회의는 화요일이에요"):
            await memory.append(KEY, ChatTurn(text))
        await memory.append(OTHER, ChatTurn("예산은 9억이에요"))
        shown = await memory.read(KEY, "예산이 얼마로 늘었죠?")
        assert shown.retrieved[0].user == "예산이 1.5억으로 늘었어요"
        assert len(shown.retrieved) == 2
        assert (shown.recent, shown.memory, shown.is_budgeted) == ((), "", True)
        await memory.append(KEY, ChatTurn("늘었죠, 예산이"))
        assert (await memory.read(KEY, "예산이 늘었죠")).retrieved[0].number == 5
        assert (await memory.read(KEY, "xyz")).retrieved == ()


async def test_tokens_n_and_the_formula_are_settings() -> None:
    store = LocalStore()
    words = RetrievedTurnsMemory(store=store, summariser=ListingSummariser(), tokens="word", n=1, b=0.0)
    pairs = RetrievedTurnsMemory(store=store, summariser=ListingSummariser(), tokens="auto")
    async with words.open(), pairs.open():
        await words.append(KEY, ChatTurn("예산은 tea"))
        await words.append(KEY, ChatTurn("tea and a lot more that is said here"))
        assert (await words.read(KEY, "예산이")).retrieved == ()
        assert len((await pairs.read(KEY, "예산이")).retrieved) == 1
        assert [turn.number for turn in (await words.read(KEY, "tea")).retrieved] == [2]  # length does not count
        assert [turn.number for turn in (await pairs.read(KEY, "tea")).retrieved] == [1, 2]


async def test_newer_turns_gain_by_recency() -> None:
    """A newer turn with fewer of the words comes first only with recency."""
    texts = ("tea budget", *["nothing"] * 8, "tea")
    found = {}
    for recency in (0.0, 0.9):
        memory = RetrievedTurnsMemory(
            store=LocalStore(), summariser=ListingSummariser(), recency=recency, half_life=1.0
        )
        async with memory.open():
            for text in texts:
                await memory.append(KEY, ChatTurn(text))
            found[recency] = [turn.number for turn in (await memory.read(KEY, "tea budget")).retrieved]
    assert (found[0.0], found[0.9]) == ([1, 10], [10, 1])
    recent = Recency(0.9, half_life=1.0)
    assert recent.weigh(1.0, 9) == pytest.approx(0.1 + 0.9 / 512) and recent.weigh(0.0, 0) == 0.9


async def test_whole_sessions() -> None:
    """D2 has both words, in two turns; D1 and D3 one of them."""
    memory = RetrievedTurnsMemory(store=LocalStore(), summariser=ListingSummariser(), unit="session", n=1)
    said = [("D1:1", "tea"), ("D2:1", "a budget"), ("D2:2", "soup"), ("D2:3", "the tea"), ("D3:1", "budget talk")]
    async with memory.open():
        for id, text in said:
            await memory.append(KEY, ChatTurn(text, id=id))
        assert [turn.id for turn in (await memory.read(KEY, "tea budget")).retrieved] == ["D2:1", "D2:2", "D2:3"]
        await memory.append(KEY, ChatTurn("tea budget tea budget", id="D4:1"))
        assert [turn.id for turn in (await memory.read(KEY, "tea budget")).retrieved] == ["D4:1"]


async def test_what_is_deleted_is_not_found_again() -> None:
    memory = RetrievedTurnsMemory(store=LocalStore(), summariser=ListingSummariser())
    async with memory.open():
        await memory.append(KEY, ChatTurn("secret"))
        assert (await memory.read(KEY, "secret")).retrieved
        await memory.delete(KEY)
        await memory.append(KEY, ChatTurn("new"))
        assert (await memory.read(KEY, "secret")).retrieved == ()
        assert [turn.user for turn in (await memory.inspect(KEY)).turns] == ["new"]
        assert len(memory.upkeep(KEY).appends_ms) == 1


async def test_appends_and_reads_at_once() -> None:
    memory = RetrievedTurnsMemory(store=LocalStore(), summariser=ListingSummariser(), n=1000)
    async with memory.open():

        async def write(writer: int) -> None:
            for number in range(20):
                await memory.append(KEY, ChatTurn(f"tea {writer} {number}"))
                assert (await memory.read(KEY, "tea")).retrieved
                await memory.update(KEY)

        await asyncio.gather(*map(write, range(20)))
        found = (await memory.read(KEY, "tea")).retrieved
    assert sorted(turn.number for turn in found) == list(range(1, 401))


# --- by vectors -----------------------------------------------------------------------------------


class Drawn:
    """Vectors that were drawn by hand; none of a text that has no place in the drawing."""

    def __init__(self, vectors: Mapping[str, tuple[float, ...]]) -> None:
        self.vectors = vectors
        self.asked: list[str] = []

    def prepare(self, texts: Sequence[str], workspace: Workspace) -> None: ...

    def embed(self, texts: Sequence[str], kind: str) -> NDArray[np.float32]:
        self.asked += [f"{kind}: {text}" for text in texts]
        return np.array([self.vectors.get(text, (0.0, 0.0)) for text in texts], dtype=np.float32)


SAID = {"tea": (1.0, 0.0), "leaf": (0.8, 0.6), "car": (0.0, 1.0), "hm": (0.0, 0.0)}
ASKED = {"tea?": (0.6, 0.8)}  # cosines: tea .6, leaf .96, car .8


async def numbers(embedder: Any, turns: Sequence[ChatTurn], question: str = "tea?", **settings: Any) -> list[int]:
    memory = RetrievedTurnsMemory(
        store=LocalStore(), summariser=ListingSummariser(), embedder=embedder, **{"ranking": "dense", **settings}
    )
    async with memory.open():
        for turn in turns:
            await memory.append(KEY, turn)
        return [turn.number for turn in (await memory.read(KEY, question)).retrieved]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"ranking": "bm25"}, [1]),
        ({"ranking": "dense"}, [2, 3, 1]),
        ({"ranking": "dense", "n": 2}, [2, 3]),
        ({"ranking": "hybrid", "weight": 0.5}, [1, 2, 3]),
        ({"ranking": "hybrid", "weight": 0.2}, [2, 1, 3]),
        ({"ranking": "hybrid", "weight": 0.0}, [2, 3, 1]),
        ({"ranking": "hybrid", "weight": None}, [1, 2, 3]),  # nothing is said by the embedder: one half
        ({"ranking": "dense", "recency": 0.9, "half_life": 1.0}, [3, 2, 1]),
    ],
)
async def test_by_words_by_vectors_and_by_both(settings: Mapping[str, Any], expected: list[int]) -> None:
    """Of four turns, normalised: by words tea 1.73, others -.58; by vectors leaf 1.02, car .58, tea .03. With weight .5
    tea has .88, leaf .22, car 0; with weight .2 tea .37, leaf .70, car .35. Recency gives the newest .9, the one before
    half, then a quarter, then an eighth."""
    assert await numbers(Drawn(SAID | ASKED), [ChatTurn(text) for text in SAID], **settings) == expected


async def test_an_embedder_says_the_weight() -> None:
    embedder: Any = Drawn(SAID | ASKED)
    embedder.keyword_weight = 0.2
    assert await numbers(embedder, [ChatTurn(text) for text in SAID], ranking="hybrid") == [2, 1, 3]


async def test_a_session_is_as_near_as_its_best_turn() -> None:
    """D1 tea .6 and car .8; D2 leaf .96 and hm, which has no vector; D3 hm alone; then D1 again."""
    said = (("D1:1", "tea"), ("D2:1", "hm"), ("D1:2", "car"), ("D2:2", "leaf"), ("D3:1", "hm"))
    turns = [ChatTurn(text, id=id) for id, text in said]
    assert await numbers(Drawn(SAID | ASKED), turns, unit="session", n=1) == [2, 4]
    assert await numbers(Drawn(SAID | ASKED), turns, unit="session", n=9) == [2, 4, 1, 3]
    assert await numbers(Drawn(SAID | ASKED), turns, unit="session", n=1, ranking="hybrid", weight=0.9) == [1, 3]


async def test_nothing_to_be_near_to() -> None:
    assert await numbers(Drawn(SAID), [ChatTurn("tea")]) == []
    assert await numbers(Drawn(SAID | ASKED), []) == []
    assert await numbers(Drawn(SAID | ASKED), [], ranking="hybrid") == []
    assert await numbers(Drawn(SAID | ASKED), [ChatTurn("hm")], ranking="hybrid") == []


async def test_a_turn_is_embedded_once_and_forgotten_with_its_session() -> None:
    embedder = Drawn(SAID | ASKED)
    memory = RetrievedTurnsMemory(
        store=LocalStore(), summariser=ListingSummariser(), embedder=embedder, ranking="dense", n=1
    )
    async with memory.open():
        for text in ("tea", "car"):
            await memory.append(KEY, ChatTurn(text))
            assert (await memory.read(KEY, "tea?")).retrieved[0].user == text
        await memory.delete(KEY)
        await memory.append(KEY, ChatTurn("tea"))
        assert (await memory.read(KEY, "tea?")).retrieved[0].user == "tea"
    passages = [text for text in embedder.asked if text.startswith("passage")]
    assert passages == ["passage: tea", "passage: car", "passage: tea"]


async def test_vectors_of_two_lengths_are_of_two_models() -> None:
    vectors = {"tea": (1.0, 0.0)}
    embedder = Drawn(vectors)
    memory = RetrievedTurnsMemory(
        store=LocalStore(), summariser=ListingSummariser(), embedder=embedder, ranking="dense"
    )
    async with memory.open():
        await memory.append(KEY, ChatTurn("tea"))
        await memory.read(KEY, "tea?")
        embedder.vectors = {"tea?": (1.0, 0.0, 0.0)}
        with pytest.raises(StopRunError, match="vectors of 2 numbers for turns and of 3 for a question"):
            await memory.read(KEY, "tea?")


async def test_a_server_is_asked_once_for_each_text(
    server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its vectors outlive the process: the second memory is a new one."""
    monkeypatch.setenv("TEST_KEY", "sk-any")
    for _ in range(2):
        door = models(server.url, tmp_path)
        embedder = OpenaiEmbedder(models=door, model="test:tiny")
        memory = RetrievedTurnsMemory(
            store=LocalStore(), summariser=ListingSummariser(), embedder=embedder, ranking="dense", n=1
        )
        async with door.open(), memory.open():
            await memory.prepare(workspace(tmp_path, embedder))
            for text in ("예산은 1억이에요", "점심은 국수였어요", "회의는 화요일이에요"):
                await memory.append(KEY, ChatTurn(text))
            for _ in range(2):
                assert (await memory.read(KEY, "점심은 국수였어요")).retrieved[0].number == 2
    assert sorted(texts_of(server)) == sorted(
        ["예산은 1억이에요", "점심은 국수였어요", "회의는 화요일이에요", "점심은 국수였어요"]
    )


@pytest.mark.parametrize(
    ("embedder", "fault"),
    [
        (None, "needs vectors, and embedder=none makes none"),
        (NoEmbedder(), "needs vectors, and embedder=none makes none"),
        (
            LsaEmbedder(),
            "embeds turns as they are said, and LsaEmbedder is fitted on all texts before it embeds the first",
        ),
    ],
)
def test_embedders_that_cannot_embed_what_is_said_later(embedder: Any, fault: str) -> None:
    def problems(ranking: Any) -> list[Problem]:
        parts = {"store": LocalStore(), "summariser": ListingSummariser(), "embedder": embedder}
        return RetrievedTurnsMemory(**parts, ranking=ranking).preflight()

    works = "choose embedder=e5 or embedder=openai"
    assert problems("bm25") == []
    assert problems("dense") == [Problem("embedder", f"memory.ranking=dense {fault}; {works}")]
    assert problems("hybrid") == [Problem("embedder", f"memory.ranking=hybrid {fault}; {works}")]
