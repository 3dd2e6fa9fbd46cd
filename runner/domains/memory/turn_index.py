"""The turns of one session, which grows by a turn at a time, ranked for a question: by BM25, by vectors, or by both."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from runner.domains.memory.records import ChatTurn, SessionKey, SessionState, session_of
from runner.errors import Problem, StopRunError
from runner.llm.metering import Meter, call_with_meter, owner_of, pass_on
from runner.protocols import Embedder, Workspace, attribute_of
from runner.retrieval.fusion import BALANCED, POOL, convex_values, fuse
from runner.system.threads import in_thread
from runner.text.tokens import by_script, words

Tokens = Literal["auto", "word"]
Unit = Literal["turn", "session"]
Ranked = Literal["bm25", "dense", "hybrid"]
Scores = Mapping[int, float]  # by place
TERMS: dict[Tokens, Callable[[str], list[str]]] = {"auto": by_script, "word": words}
KEPT = 64  # sessions whose index stays in memory


@dataclass(frozen=True, slots=True)
class Recency:
    """(1 - weight) x score + weight x 0.5 ^ (age / half_life), of scores from 0 to 1, which is the highest; the newest
    has age 0."""

    weight: float
    half_life: float

    def weigh(self, score: float, age: int) -> float:
        """The score of a turn that is `age` turns older than the newest."""
        freshness: float = 0.5 ** (age / self.half_life)
        return (1 - self.weight) * score + self.weight * freshness


class TurnIndex:
    """Scores as Lucene has them: sum of ln(1 + (N - n + 0.5) / (n + 0.5)) * tf / (tf + k1 * (1 - b + b * length /
    mean length)) over the terms of the question, those that it says twice counted twice."""

    def __init__(self, terms: Callable[[str], list[str]], k1: float, b: float) -> None:
        self.turns: list[ChatTurn] = []
        self._terms, self._k1, self._b = terms, k1, b
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)  # term -> (place, times)
        self._lengths: list[int] = []
        self._total = 0

    def add(self, turn: ChatTurn) -> None:
        """Index a turn; it is the newest then."""
        terms = self._terms(text_of(turn))
        for term, times in Counter(terms).items():
            self._postings[term].append((len(self.turns), times))
        self.turns.append(turn)
        self._lengths.append(len(terms))
        self._total += len(terms)

    def scores(self, question: str) -> Scores:
        """The scores of the turns that share a term with the question."""
        scores: defaultdict[int, float] = defaultdict(float)
        mean = self._total / max(1, len(self.turns)) or 1.0
        for term, asked in Counter(self._terms(question)).items():
            postings = self._postings.get(term, ())
            weight = asked * math.log(1 + (len(self.turns) - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, times in postings:
                norm = self._k1 * (1 - self._b + self._b * self._lengths[place] / mean)
                scores[place] += weight * times / (times + norm)
        return scores

    def best(
        self, question: str, n: int, besides: Collection[int] = (), recency: Recency | None = None
    ) -> tuple[ChatTurn, ...]:
        """At most `n` turns that share a term with the question, best first. `besides`: numbers of turns to leave
        out."""
        order = in_order(weigh_scores(self.scores(question), 0.0, len(self.turns) - 1, recency))
        wanted = (self.turns[place] for place in order if self.turns[place].number not in besides)
        return tuple(turn for turn, _ in zip(wanted, range(n), strict=False))


def weigh_scores(scores: Scores, lowest: float, last: int, recency: Recency | None) -> Scores:
    """The scores, raised for newer places; `lowest`: the score that counts as 0, `last`: the newest place."""
    if recency is None or not scores:
        return scores
    span = max(scores.values()) - lowest or 1.0
    return {place: recency.weigh((score - lowest) / span, last - place) for place, score in scores.items()}


def in_order(scores: Scores) -> list[int]:
    """Best first, the newer of two with the same score (to nine digits: the last bits of a sum are no reason)."""
    return sorted(scores, key=lambda place: (-round(scores[place], 9), -place))


def text_of(turn: ChatTurn) -> str:
    """A turn as it is indexed: speaker, user, assistant, one a line."""
    return f"{turn.speaker}\n{turn.user}\n{turn.assistant}"


class TurnVectors:
    """Cosines of turns by an embedder, which embeds each turn once, all new ones at once. The vectors of a turn are
    dropped with the last session that has it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[SessionKey, dict[str, NDArray[np.float32]]] = OrderedDict()

    async def cosines(self, key: SessionKey, turns: Sequence[ChatTurn], question: str) -> NDArray[np.float64]:
        """The cosines by place; NaN where a turn, or the question, has no features. Raises the errors of the
        embedder."""
        texts = [text_of(turn).strip() for turn in turns]
        known_vectors = self._vectors.get(key, {})
        missing = list(dict.fromkeys(text for text in texts if text not in known_vectors))
        rows, query_vector = await self._embed(missing, question)
        vectors = known_vectors | dict(zip(missing, rows, strict=True))
        self._vectors[key] = {text: vectors[text] for text in texts}
        self._vectors.move_to_end(key)
        if len(self._vectors) > KEPT:
            self._vectors.popitem(last=False)
        return np.array([self._cosine(vectors[text], query_vector) for text in texts], dtype=np.float64)

    def forget(self, key: SessionKey) -> None:
        """Drop the vectors of a session."""
        self._vectors.pop(key, None)

    async def _embed(self, texts: list[str], question: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        def embed() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            passages = self._embedder.embed(texts, "passage") if texts else np.empty((0, 0), dtype=np.float32)
            return passages, self._embedder.embed([question], "query")[0]

        result: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], Meter] = await in_thread(
            partial(call_with_meter, embed, owner=owner_of())
        )
        pass_on(result[1])
        return result[0]

    def _cosine(self, passage: NDArray[np.float32], question: NDArray[np.float32]) -> float:
        if len(passage) != len(question):
            if passage.any() and question.any() and not attribute_of(self._embedder, "is_rehearsed"):
                raise StopRunError(
                    f"embedder: vectors of {len(passage)} numbers for turns and of {len(question)} for a question: two "
                    "models answer under one name"
                )
            passage = np.resize(passage, len(question))
        if not passage.any() or not question.any():
            return math.nan
        return float(passage.astype(np.float64) @ question.astype(np.float64))


class TurnSearch:
    """The indexes of the sessions that were asked for last.

    `bm25`: what shares a term with the question. `dense`: the cosine of the embedder, of all that has features.
    `hybrid`: weight x keyword + (1 - weight) x cosine, of the POOL best by either, normalised
    (runner.retrieval.fusion); `weight` None: what the embedder says. Of a session, the cosine is that of its best turn.
    """

    def __init__(
        self,
        *,
        tokens: Tokens,
        k1: float,
        b: float,
        unit: Unit = "turn",
        recency: Recency | None = None,
        ranking: Ranked = "bm25",
        embedder: Embedder | None = None,
        weight: float | None = None,
    ) -> None:
        self._terms, self._k1, self._b = TERMS[tokens], k1, b
        self._unit, self._recency, self._ranking = unit, recency, ranking
        self._embedder = embedder if ranking != "bm25" else None
        self._vectors = None if self._embedder is None else TurnVectors(self._embedder)
        suggested = BALANCED if self._embedder is None else attribute_of(self._embedder, "keyword_weight")
        self._weight = weight if weight is not None else BALANCED if suggested is None else float(suggested)
        self._indexes: OrderedDict[tuple[SessionKey, str], TurnIndex] = OrderedDict()

    def problems(self) -> Iterator[Problem]:
        """The problems of an embedder that cannot embed turns while a session is running."""
        if self._ranking == "bm25":
            return
        name = type(self._embedder).__name__
        if self._embedder is None or not attribute_of(self._embedder, "has_vectors"):
            fault = "needs vectors, and embedder=none makes none"
        elif attribute_of(self._embedder, "is_fitted"):
            fault = f"embeds turns as they are said, and {name} is fitted on all texts before it embeds the first"
        else:
            return
        yield Problem("embedder", f"memory.ranking={self._ranking} {fault}; choose embedder=e5 or embedder=openai")

    async def prepare(self, workspace: Workspace) -> None:
        """Vectors are kept there."""
        if self._embedder is not None:
            await in_thread(self._embedder.prepare, (), workspace)

    @property
    def provenance(self) -> Mapping[str, object]:
        return {} if self._embedder is None else {"embedder": attribute_of(self._embedder, "provenance")}

    async def best(
        self, key: SessionKey, state: SessionState, question: str, n: int, besides: Collection[int] = ()
    ) -> tuple[ChatTurn, ...]:
        """At most `n` turns, best first, the newer of two with the same score. With unit `session` the turns of the n
        best sessions, each session in the order in which it was said. `besides`: numbers of turns that are not
        wanted."""
        index = self._index(key, state)
        units = by_session(index.turns) if self._unit == "session" else [[turn] for turn in index.turns]
        keyword = {} if self._ranking == "dense" else self._keyword(index, units, question)
        if self._vectors is None:
            scores, lowest = keyword, 0.0
        else:
            said = [turn for turns in units for turn in turns]
            scores = _of_units(units, await self._vectors.cosines(key, said, question)) if said else {}
            if self._ranking == "hybrid" and said:
                scores = _fuse_legs(keyword, scores, len(units), self._weight)
            lowest = min(scores.values(), default=0.0)
        order = in_order(weigh_scores(scores, lowest, len(units) - 1, self._recency))
        left = ([turn for turn in units[place] if turn.number not in besides] for place in order)
        return tuple(turn for turns, _ in zip(filter(None, left), range(n), strict=False) for turn in turns)

    def forget(self, key: SessionKey) -> None:
        """Drop the indexes and vectors of a session."""
        for known in [known for known in self._indexes if known[0] == key]:
            del self._indexes[known]
        if self._vectors is not None:
            self._vectors.forget(key)

    def _keyword(self, index: TurnIndex, units: Sequence[Sequence[ChatTurn]], question: str) -> Scores:
        if self._unit == "turn":
            return index.scores(question)
        unit_index = TurnIndex(self._terms, self._k1, self._b)
        for turns in units:
            unit_index.add(ChatTurn("\n".join(map(text_of, turns))))
        return unit_index.scores(question)

    def _index(self, key: SessionKey, state: SessionState) -> TurnIndex:
        name = (key, state.generation)
        index = self._indexes.get(name)
        if index is None or not _continues(index.turns, state.turns):
            index = self._indexes[name] = TurnIndex(self._terms, self._k1, self._b)
        self._indexes.move_to_end(name)
        if len(self._indexes) > KEPT:
            self._indexes.popitem(last=False)
        for turn in state.turns[len(index.turns) :]:
            index.add(turn)
        return index


def _of_units(units: Sequence[Sequence[ChatTurn]], cosines: NDArray[np.float64]) -> Scores:
    """The best score of each unit; `cosines` are in the order of the turns. A unit without a score has none."""
    scores: dict[int, float] = {}
    for place, own in enumerate(np.split(cosines, np.cumsum([len(turns) for turns in units])[:-1])):
        if not np.isnan(own).all():
            scores[place] = float(np.nanmax(own))
    return scores


def _fuse_legs(keyword: Scores, dense: Scores, total: int, weight: float) -> Scores:
    """Fuse two rankings as the hybrid retriever does by default."""
    legs = [(scores, in_order(scores)[:POOL]) for scores in (keyword, dense)]
    values = [
        convex_values(np.array([scores[place] for place in order]), pool=POOL, total=total, normalization="zscore")
        for scores, order in legs
    ]
    places = [np.array(order, dtype=np.int64) for _, order in legs]
    union, sums = fuse(places, values, np.array([[weight], [1 - weight]]))
    return dict(zip(union.tolist(), sums.tolist(), strict=True))


def by_session(turns: Sequence[ChatTurn]) -> list[list[ChatTurn]]:
    """The turns by session, in the order in which sessions began; turns without a known session form one."""
    turns_by_session: dict[str, list[ChatTurn]] = {}
    for turn in turns:
        turns_by_session.setdefault(session_of(turn), []).append(turn)
    return list(turns_by_session.values())


def _continues(indexed: Sequence[ChatTurn], turns: Sequence[ChatTurn]) -> bool:
    """Whether `turns` begin with the indexed ones. Their numbers decide: within a generation none is given twice."""
    if not indexed:
        return True
    return (
        len(indexed) <= len(turns)
        and indexed[0].number == turns[0].number
        and (indexed[-1].number == turns[len(indexed) - 1].number)
    )
