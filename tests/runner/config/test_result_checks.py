"""What comes out of a component that breaks its promises, built as a run builds it."""

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from omegaconf import OmegaConf
from pydantic import BaseModel

from runner import protocols
from runner.config.components import build
from runner.config.result_checks import checked_component, unchecked
from runner.domains.agent.candidate import Candidate
from runner.domains.agent.protocols import Reranker
from runner.domains.links.suggesting import Place, Suggester, Suggestion, Suggestions
from runner.errors import ComponentError, EvaluationError, StopRunError
from runner.llm.votes import gather_judgements
from runner.records import (
    Answer,
    Assessment,
    CaseSet,
    Chunk,
    Corpus,
    DataSet,
    Document,
    Judgement,
    Preparation,
    Query,
    Ranking,
    Scores,
    Timing,
)

CORPUS = Corpus(
    [Document("a", "alpha"), Document("b", "beta")],
    [Chunk("a#0", "a", "alpha", 0, 5), Chunk("b#0", "b", "beta", 0, 4)],
    "corpus",
)
QUERY = Query("q1", "alpha", True, {"a": 1})
NAME = f"{__name__}.Component"


def checked(protocol: type, methods: Mapping[str, Any], key: str = "thing") -> Any:
    """An object with these methods, as a configuration would make it."""
    cls = type("Component", (), {"__module__": __name__, "foreign_ids": False, **methods})
    return checked_component(cls(), protocol, key, {})


def returning(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def returning_later(value: Any) -> Callable[..., Any]:
    async def later(*_: Any, **__: Any) -> Any:
        return value

    return later


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(ComponentError) as error:
        call()
    return str(error.value)


def searched(*rankings: Any) -> Callable[[], Any]:
    retriever = checked(protocols.Retriever, {"index": returning({}), "search": returning(list(rankings))}, "retriever")
    retriever.index(CORPUS, None)
    return lambda: retriever.search([QUERY], 10)


IDS = ("a#0", "b#0")
RANKINGS: list[tuple[Any, str]] = [
    (None, "expected a Ranking, got None"),
    (Ranking(IDS, (2.0, 1.0), (1.5, 0.5)), "relevance of 'a#0' is 1.5; expected a number in 0..1"),
    (Ranking(IDS, (2.0, 1.0), (1.0, -0.5)), "relevance of 'b#0' is -0.5; expected a number in 0..1"),
    (Ranking(IDS, (2.0, 1.0), (1.0, math.nan)), "relevance of 'b#0' is nan; expected a number in 0..1"),
    (Ranking(IDS, (2.0, 1.0), (True, 0.0)), "relevance of 'a#0' is True; expected a number in 0..1"),
    (Ranking(IDS, (2.0, 1.0), (10**400, 0.0)), "relevance of 'a#0' is 1000"),
    (Ranking(IDS, (1.0, 2.0), (1.0, 1.0)), "scores are not in descending order: 1.0 stands before 2.0"),
    (Ranking(IDS, (math.nan, 2.0), (1.0, 1.0)), "score of 'a#0' is nan; expected a finite number"),
    (Ranking(IDS, (math.inf, 2.0), (1.0, 1.0)), "score of 'a#0' is inf; expected a finite number"),
    (Ranking(IDS, (2.0, -math.inf), (1.0, 1.0)), "score of 'b#0' is -inf; expected a finite number"),
    (Ranking(IDS, ("2", "1"), (1.0, 1.0)), "score of 'a#0' is '2'; expected a finite number"),  # type: ignore[arg-type]
    (Ranking(IDS, (2.0,), (1.0, 1.0)), "expected as many ids as scores and relevance, got 2, 1 and 2"),
    (Ranking(("a#0", "a#0"), (2.0, 1.0), (1.0, 1.0)), "ids: 'a#0' stands there twice"),
    (Ranking((7,), (2.0,), (1.0,)), "ids: expected the id of a chunk, got 7 at rank 1"),  # type: ignore[arg-type]
    (
        Ranking(("z",), (2.0,), (1.0,)),
        "ids: the corpus has no chunk 'z'; expected ids of its chunks, such as 'a#0' "
        "(an attribute foreign_ids = True lets any id pass)",
    ),
    (
        Ranking(IDS, (2.0, 1.0), (1.0, 1.0), {"words": Ranking(IDS, (1.0, 2.0), (1.0, 1.0))}),
        "leg words: scores are not in descending order: 1.0 stands before 2.0",
    ),
    (Ranking(IDS, (2.0, 1.0), (1.0, 1.0), None), "legs: expected rankings by name, got None"),  # type: ignore[arg-type]
    (
        Ranking(IDS, (2.0, 1.0), (1.0, 1.0), {}, "did"),  # type: ignore[arg-type]
        "trajectory: expected a Trajectory or None, got 'did'",
    ),
    (Ranking(IDS, None, (1.0, 1.0)), "scores: expected a tuple, got None"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("ranking", "message"), RANKINGS)
def test_a_ranking_is_checked(ranking: Any, message: str) -> None:
    assert refusal(searched(ranking)).startswith(f"retriever ({NAME}): search: {message}")


def test_there_is_one_ranking_for_each_query() -> None:
    good = Ranking(IDS, (2.0, 1.0), (1.0, 0.5))
    message = f"retriever ({NAME}): search: returned 2 rankings for 1 queries"
    assert refusal(searched(good, good)) == message
    assert searched(good)() == [good]


def test_a_tie_is_put_into_the_order_of_trec_eval() -> None:
    (ranking,) = searched(Ranking(IDS, (1.0, 1.0), (0.2, 0.4)))()
    assert ranking == Ranking(("b#0", "a#0"), (1.0, 1.0), (0.4, 0.2))


def test_lists_arrays_and_rounded_cosines_are_taken_as_what_they_mean() -> None:
    scores, relevance = np.array([2, 1], np.float32), np.array([1.0000001, 0.5], np.float32)
    (ranking,) = searched(Ranking(list(IDS), scores, relevance))()  # type: ignore[arg-type]
    assert ranking == Ranking(IDS, (2.0, 1.0), (1.0, 0.5)) and type(ranking.scores[0]) is float


def test_ids_of_elsewhere_pass_where_a_retriever_says_so() -> None:
    foreign = Ranking(("z",), (2.0,), (1.0,))
    methods = {"index": returning({}), "search": returning([foreign]), "foreign_ids": True}
    retriever = checked(protocols.Retriever, methods)
    retriever.index(CORPUS, None)
    assert retriever.search([QUERY], 10) == [foreign]


UNIT = np.eye(2, 3, dtype=np.float32)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (UNIT.tolist(), "expected float32 [2, dim], got list"),
        (UNIT[0], "expected float32 [2, dim], got an array of shape [3]"),
        (UNIT[:1], "expected float32 [2, dim], got an array of shape [1, 3]"),
        (UNIT[:, :0], "expected float32 [2, dim], got an array of shape [2, 0]"),
        (UNIT.astype(int), "expected float32 [2, dim], got an array of int64"),
        (UNIT * np.float32(np.nan), "the vector of text 1 holds numbers that are not finite"),
        (
            UNIT * np.float32(3),
            "the vector of text 1 has length 3; expected 1, or a row of zeros for a text without features",
        ),
    ],
)
def test_vectors_are_checked(vectors: Any, message: str) -> None:
    embedder = checked(protocols.Embedder, {"prepare": returning(None), "embed": returning(vectors)}, "embedder")
    assert refusal(lambda: embedder.embed(["x", "y"], "query")) == f"embedder ({NAME}): embed: {message}"


def test_vectors_of_zeros_and_of_another_precision_pass_and_another_length_does_not() -> None:
    def embed(self: Any, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[Any]:
        return np.eye(len(texts), 3 if kind == "passage" else 4) * (texts[0] != "")

    embedder = checked(protocols.Embedder, {"prepare": returning(None), "embed": embed}, "embedder")
    assert embedder.embed(["", ""], "passage").dtype == np.float32
    message = f"embedder ({NAME}): embed: returned vectors of 4 numbers, after some of 3"
    assert refusal(lambda: embedder.embed(["x"], "query")) == message
    embedder.prepare([], None)
    assert embedder.embed(["x"], "query").shape == (1, 4)


@pytest.mark.parametrize(
    ("judgement", "message"),
    [
        (Judgement(1.5), "faithfulness: score is 1.5; expected a number in 0..1"),
        (Judgement(-0.1), "faithfulness: score is -0.1; expected a number in 0..1"),
        (Judgement(math.nan), "faithfulness: score is nan; expected a number in 0..1"),
        (Judgement(True), "score: expected float | None, got True"),
        (Judgement("1"), "score: expected float | None, got '1'"),  # type: ignore[arg-type]
        (Judgement(None), "faithfulness: gave neither a score nor an error"),
        (Judgement(1.0, 7), "reasoning: expected str, got 7"),  # type: ignore[arg-type]
        (Judgement(1.0, details=[1]), "details: expected Mapping[str, Any], got list"),  # type: ignore[arg-type]
        (
            Judgement(1.0, details={"votes": {"1": "yes"}}),
            "faithfulness: details: votes: 1: expected float | None, got 'yes'",
        ),
        (0.5, "expected Judgement, got 0.5"),
        (None, "expected Judgement, got None"),
    ],
)
def test_a_judgement_is_checked(judgement: Any, message: str) -> None:
    judge = checked(protocols.Judge, {"judge": returning_later(judgement)}, "judge")
    assert refusal(lambda: asyncio.run(judge.judge("faithfulness", {}))) == f"judge ({NAME}): judge: {message}"


def test_a_wrong_member_of_a_panel_is_left_out_and_named() -> None:
    wrong = checked(protocols.Judge, {"judge": returning_later(Judgement(7.0))}, "judge.judges.first")
    right = checked(protocols.Judge, {"judge": returning_later(Judgement(1.0))})

    async def both() -> Mapping[str, Judgement]:
        return await gather_judgements({"first": wrong.judge("r", {}), "second": right.judge("r", {})})

    first, second = asyncio.run(both()).values()
    assert second.score == 1.0
    assert (first.score, first.error) == (
        None,
        f"judge.judges.first ({NAME}): judge: r: score is 7.0; expected a number in 0..1",
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("text", "expected Answer, got 'text'"),
        (Answer(None), "text: expected str, got None"),  # type: ignore[arg-type]
        (Answer("x", refused="no"), "refused: expected bool, got 'no'"),  # type: ignore[arg-type]
        (Answer("x", citations=("1",)), "citations[0]: expected int, got '1'"),  # type: ignore[arg-type]
        (Answer("x", citations=(0,)), "citations: expected numbers of contexts, from 1, got 0"),
        (
            Answer("x [2].", citations=(2, 3)),
            "citations: expected numbers of the 0 contexts, or of sources that the text cites, got 3",
        ),
    ],
)
def test_an_answer_is_checked(answer: Any, message: str) -> None:
    generator = checked(protocols.Generator, {"generate": returning_later(answer)}, "generator")
    assert refusal(lambda: asyncio.run(generator.generate(QUERY, ()))) == f"generator ({NAME}): generate: {message}"


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (None, "expected list[list[str]], got None"),
        ([["a"]], "returned tokens of 1 texts for 2"),
        (["a", "b"], "text 1: expected list[str], got 'a'"),
        ([["a"], [7]], "text 2: expected list[str], got 7 in it"),
    ],
)
def test_tokens_are_checked(tokens: Any, message: str) -> None:
    tokenizer = checked(protocols.Tokenizer, {"tokenize": returning(tokens)}, "tokenizer")
    assert refusal(lambda: tokenizer.tokenize(["x", "y"])) == f"tokenizer ({NAME}): tokenize: {message}"


@pytest.mark.parametrize(
    ("assessment", "message"),
    [
        (Assessment(("z",)), "ranked: 'z' is none of the 1 candidates"),
        (Assessment(("a#0", "a#0")), "ranked: 'a#0' stands there twice"),
        (Assessment(("a#0",), True, 3.0), "confidence is 3.0; expected a number in 0..1"),
        (Assessment(("a#0",), "yes"), "sufficient: expected bool | None, got 'yes'"),  # type: ignore[arg-type]
        (["a#0"], "expected Assessment, got list"),
    ],
)
def test_what_a_reranker_says_is_checked(assessment: Any, message: str) -> None:
    reranker = checked(Reranker, {"prepare": returning(None), "rerank": returning(assessment)}, "reranker")
    candidates = [Candidate("a#0", "alpha")]
    assert refusal(lambda: reranker.rerank(QUERY, candidates, [])) == f"reranker ({NAME}): rerank: {message}"


@pytest.mark.parametrize(
    ("suggestions", "message"),
    [
        ([], "returned 0 values for 1"),
        ([Suggestions((Suggestion("x", 1.5),))], "here: best: confidence of 'x' is 1.5; expected a number in 0..1"),
        ([Suggestions((Suggestion("x", 0.1), Suggestion("y", 0.9)))], "here: best: confidences are not in descending"),
        ([Suggestions((Suggestion("here", 0.1),))], "here: best: a note is suggested that is the note itself"),
        ([Suggestions((Suggestion("x", 0.2), Suggestion("x", 0.1)))], "here: best: a note is suggested twice"),
    ],
)
def test_suggestions_are_checked(suggestions: Any, message: str) -> None:
    methods = {"index": returning({}), "suggest": returning(suggestions), "reason": returning("")}
    suggester = checked(Suggester, methods, "suggester")
    place = Place("here", "", "text", "en")
    assert refusal(lambda: suggester.suggest([place], 5)).startswith(f"suggester ({NAME}): suggest: {message}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "expected DataSet, got None"),
        (DataSet(CORPUS, [QUERY, QUERY]), "case 2: id: 'q1' is that of an earlier case"),
        (DataSet(CORPUS, [Query("q", None, True, {})]), "case 1: text: expected str, got None"),  # type: ignore[arg-type]
        (
            DataSet(CORPUS, [Query("q", "x", True, {"a": "yes"})]),  # type: ignore[dict-item]
            "case 1: relevance.a: expected int, got 'yes'",
        ),
        (
            DataSet(Corpus(CORPUS.documents, [CORPUS.chunks[0]] * 2, "f"), [QUERY]),
            "corpus.chunks: 1 of 2 have an id of another one",
        ),
        (DataSet(CORPUS, [QUERY], ("oops",)), "problems: [0]: expected DataProblem, got 'oops'"),  # type: ignore[arg-type]
        (
            DataSet(Corpus(CORPUS.documents, [Chunk("a#0", "a", None, 0, 1)], "f"), [QUERY]),  # type: ignore[arg-type]
            "chunk 'a#0': text: expected str, got None",
        ),
        (
            DataSet(Corpus([], CORPUS.chunks, "f"), [QUERY]),
            "chunk 'a#0' is of 'a', which is no document of the corpus",
        ),
    ],
)
def test_a_data_set_is_checked(data: Any, message: str) -> None:
    dataset = checked(protocols.Dataset, {"load": returning(data)}, "dataset")
    assert refusal(dataset.load) == f"dataset ({NAME}): load: {message}"


@pytest.mark.parametrize(
    ("method", "value", "message"),
    [
        ("load", [1], "load: expected CaseSet, got list"),
        ("load", CaseSet([7]), "load: case 1: id: expected text, got None"),
        ("prepare", Preparation({"x": {1}}), "prepare: expected JSON values: Object of type set"),
        ("run", None, "run: expected an output with `timings` and `record()`, got None"),
        ("judge", {"m": 1}, "judge: m: expected Judgement, got 1"),
        ("judge", {"m": Judgement(2.0)}, "judge: m: score is 2.0; expected a number in 0..1"),
        ("score", None, "score: expected Scores, got None"),
        ("score", Scores({}, unscored="m"), "score: unscored: expected tuple[str, ...], got 'm'"),  # type: ignore[arg-type]
        ("score", Scores({}, weights={"m": -1.0}), "score: weights: m: expected a number of 0 or more, got -1.0"),
        ("check_judge", None, "check_judge: expected Mapping[str, Any], got None"),
        ("sums", {"timing": 3}, "sums: timing: expected {'latency': stages}, got 3"),
    ],
)
def test_what_an_evaluation_says_is_checked(method: str, value: Any, message: str) -> None:
    is_async = method in ("prepare", "run", "judge", "check_judge")
    evaluation = checked(
        protocols.Evaluation, {method: (returning_later if is_async else returning)(value)}, "evaluation"
    )

    def call() -> Any:
        result = getattr(evaluation, method)(*{"load": ()}.get(method, (None,)))
        return asyncio.run(result) if is_async else result

    assert refusal(call).startswith(f"evaluation ({NAME}): {message}")


# --- what is raised ---------------------------------------------------------------------------------


class Unreadable(Exception):  # noqa: N818 - a name of somebody else
    def __str__(self) -> str:
        raise RuntimeError("no text")


class UnreadableEvaluationError(EvaluationError):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[..., Any]:
    def method(*_: Any, **__: Any) -> Any:
        raise error

    return method


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(0), "SystemExit: 0"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (Unreadable(), "Unreadable: (its text cannot be read: RuntimeError)"),
        (UnreadableEvaluationError(""), "UnreadableEvaluationError: (its text cannot be read: RuntimeError)"),
        (BaseExceptionGroup("several", [ValueError("one"), SystemExit(1)]), "ValueError: one"),
        (asyncio.CancelledError(), "CancelledError"),
        (GeneratorExit(), "GeneratorExit"),
        (StopIteration(), "StopIteration"),
    ],
)
def test_whatever_is_raised_names_component_module_and_line(error: BaseException, said: str) -> None:
    retriever = checked(protocols.Retriever, {"search": raising(error)}, "retriever")
    message = refusal(lambda: retriever.search([QUERY], 10))
    assert message.startswith(f"retriever ({NAME}): search: {said} ({__name__}, line ")


def test_what_the_core_has_a_meaning_for_passes() -> None:
    for error in (StopRunError("no key"), EvaluationError("no reply"), TimeoutError(), KeyboardInterrupt()):
        retriever = checked(protocols.Retriever, {"search": raising(error)})
        with pytest.raises(type(error)) as raised:
            retriever.search([QUERY], 10)
        assert raised.value is error


def test_what_ends_the_run_is_found_in_a_group() -> None:
    group = ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("inner", [StopRunError("no key")])])
    judge = checked(protocols.Judge, {"judge": raising(group)})
    with pytest.raises(StopRunError, match="no key"):
        asyncio.run(judge.judge("r", {}))


def test_a_method_that_is_async_where_none_is_expected_and_the_reverse() -> None:
    retriever = checked(protocols.Retriever, {"search": returning_later([])}, "retriever")
    expected = f"retriever ({NAME}): search: is async: expected `def search`, whose result is there when it returns"
    assert refusal(lambda: retriever.search([QUERY], 10)) == expected
    judge = checked(protocols.Judge, {"judge": returning(Judgement(1.0))}, "judge")
    expected = f"judge ({NAME}): judge: is not async: expected `async def judge`"
    assert refusal(lambda: asyncio.run(judge.judge("r", {}))) == expected


def test_the_exit_code_is_that_of_the_stage() -> None:
    codes = {}
    for method in ("load", "index", "search", "score"):
        protocol = {"load": protocols.Dataset, "score": protocols.Evaluation}.get(method, protocols.Retriever)
        component = checked(protocol, {method: raising(ValueError())})
        with pytest.raises(ComponentError) as error:
            getattr(component, method)(None, None, *([None] if method == "score" else []))
        codes[method] = error.value.exit_code
    assert codes == {"load": 1, "index": 2, "search": 3, "score": 3}


def test_an_embedder_that_fails_while_an_index_is_built_ends_as_an_index_does() -> None:
    embedder = checked(protocols.Embedder, {"embed": raising(ValueError("x"))}, "embedder")
    retriever = checked(protocols.Retriever, {"index": lambda *_: embedder.embed(["x"], "passage")}, "retriever")
    with pytest.raises(ComponentError) as error:
        retriever.index(CORPUS, None)
    assert str(error.value).startswith(f"embedder ({NAME}): embed: ValueError: x (") and error.value.exit_code == 2


def test_what_an_evaluation_holds_open_is_checked_and_what_is_done_inside_is_not() -> None:
    @contextlib.asynccontextmanager
    async def broken(self: Any) -> Any:
        yield None
        raise ValueError("cannot close")

    evaluation = checked(protocols.Evaluation, {"open": broken}, "evaluation")

    async def used(error: Exception | None) -> None:
        async with evaluation.open():
            if error is not None:
                raise error

    message = refusal(lambda: asyncio.run(used(None)))
    assert message.startswith(f"evaluation ({NAME}): open: ValueError: cannot close (")
    with pytest.raises(KeyError):
        asyncio.run(used(KeyError("mine")))


# --- built from a configuration -----------------------------------------------------------------------


class Slotted:
    """Nothing can be put onto its objects."""

    __slots__ = ()

    def index(self, corpus: Any, workspace: Any) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Any, depth: int) -> Any:
        return [None]


class Delegating:
    """Its methods are those of something else."""

    def __init__(self) -> None:
        self._inner = Slotted()
        self.search = self._inner.search

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)


class Registered:
    """A class that demands something of each of its subclasses."""

    def __init_subclass__(cls, *, register: str) -> None:
        super().__init_subclass__()

    def index(self, corpus: Any, workspace: Any) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Any, depth: int) -> Any:
        return [None]


class Modelled(BaseModel):
    limit: int = 3

    def index(self, corpus: Any, workspace: Any) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Any, depth: int) -> Any:
        return [None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRecord:
    limit: int = 3

    def index(self, corpus: Any, workspace: Any) -> Mapping[str, Any]:
        return {}

    @property
    def search(self) -> Any:
        return lambda queries, depth: [None]


class OneOnly(type):
    """A metaclass that makes no second class."""

    made: ClassVar[list[str]] = []

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        if cls.made:
            raise TypeError("one is enough")
        cls.made.append(name)
        return super().__new__(cls, name, bases, namespace)


class Single(metaclass=OneOnly):
    def index(self, corpus: Any, workspace: Any) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Any, depth: int) -> Any:
        return [None]


class Secretive:
    @property
    def provenance(self) -> Mapping[str, Any]:
        return self.missing  # type: ignore[attr-defined,no-any-return]

    def index(self, corpus: Any, workspace: Any) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Any, depth: int) -> Any:
        return []


class Unmade:
    def __init__(self) -> None:
        raise KeyError("setting")


class Half:
    def index(self, corpus: Any, workspace: Any) -> Mapping[str, Any]:
        return {}


class Taker:
    def __init__(self, *, retriever: protocols.Retriever) -> None:
        self.retriever = retriever


def taken(name: str) -> Any:
    node = {"part": {"_target_": f"{__name__}.{name}"}}
    top = {"_target_": f"{__name__}.Taker", "retriever": "${part}"}
    return build(OmegaConf.create({**node, "top": top}).top).root.retriever


@pytest.mark.parametrize("name", ["Slotted", "Delegating", "Registered", "Modelled", "FrozenRecord", "Single"])
def test_every_kind_of_class_is_checked(name: str) -> None:
    expected = f"part ({__name__}.{name}): search: expected a Ranking, got None"
    assert refusal(lambda: taken(name).search([QUERY], 1)) == expected


def test_a_view_keeps_the_name_of_the_class_and_a_copy_is_checked() -> None:
    import copy

    retriever = taken("Slotted")
    assert isinstance(retriever, Slotted) and type(retriever).__qualname__ == "Slotted"
    for copied in (copy.deepcopy(retriever), copy.copy(retriever)):
        assert isinstance(copied, Slotted) and unchecked(copied) is not unchecked(retriever)
        assert refusal(lambda copied=copied: copied.search([QUERY], 1)).startswith("part (")  # type: ignore[misc]


def test_a_view_shows_the_attributes_of_its_component_and_changes_them() -> None:
    retriever = taken("Modelled")
    assert retriever.limit == 3 and "limit" in dir(retriever)
    retriever.limit = 5
    assert unchecked(retriever).limit == 5 and retriever.limit == 5
    assert not isinstance(retriever, protocols.CachedRetriever) and not hasattr(retriever, "search_async")


def test_a_component_and_its_views_have_one_identity() -> None:
    node = {"part": {"_target_": f"{__name__}.Slotted"}}
    top = {"_target_": f"{__name__}.Taker", "retriever": "${part}"}
    built = build(OmegaConf.create({**node, "top": top}).top)
    retriever = built.root.retriever
    assert built.identities[id(retriever)] == built.identities[id(unchecked(retriever))]
    assert built.parts["part"] is retriever


def test_a_provenance_that_lacks_an_attribute_is_not_taken_for_none() -> None:
    message = refusal(lambda: getattr(taken("Secretive"), "provenance", {}))
    assert message.startswith(f"part ({__name__}.Secretive): provenance: AttributeError: 'Secretive' object has no")


def test_what_cannot_be_made_or_lacks_a_method_is_named() -> None:
    assert refusal(lambda: taken("Unmade")).startswith(f"part ({__name__}.Unmade): __init__: KeyError: 'setting' (")
    expected = (
        f"part ({__name__}.Half): expected Retriever, with the methods index, search; {__name__}.Half has no search"
    )
    assert refusal(lambda: taken("Half")) == expected


def test_tracebacks_are_kept_for_the_log(tmp_path: Path) -> None:
    log: dict[str, str] = {}
    component = type("Component", (), {"__module__": __name__, "load": raising(ValueError("x"))})()
    message = refusal(checked_component(component, protocols.Dataset, "dataset", log).load)
    assert list(log) == [message] and "Traceback" in log[message] and "ValueError: x" in log[message]


def test_a_latency_is_a_number() -> None:
    from runner.config.result_checks import record_and_timings

    class Output:
        timings: Mapping[str, Any] = {"run": Timing(math.nan)}

        def record(self) -> Mapping[str, Any]:
            return {}

    assert refusal(lambda: record_and_timings(Half(), Output())) == (
        f"evaluation ({__name__}.Half): timings of its output: run: expected a number of ms, 0 or more, got nan"
    )
