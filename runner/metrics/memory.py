"""The content of a memory, counted without a judge, and the overall score of a judged one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from runner.metrics.metric import Grades, Metric
from runner.text.matching import shows as shows
from runner.text.matching import shows_inside
from runner.text.sentences import split_sentences

METRICS = (
    Metric(
        name="facts_present",
        better="higher",
        label={"en": "Facts Present", "ko": "사실 보존율"},
        meaning={
            "en": "Share of the expected facts that the context shows.",
            "ko": "필요한 사실 중 컨텍스트에 보이는 비율",
        },
        grades=Grades(),
        main=True,
        headline=6,
        shown=frozenset({"cases", "worst"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="facts_current",
        better="higher",
        label={"en": "Facts Up to Date", "ko": "사실 최신율"},
        meaning={
            "en": "Share of probes after a change whose context shows every current fact and no outdated one.",
            "ko": "사실이 바뀐 뒤의 질문 중 컨텍스트에 지금 맞는 것만 모두 보이는 비율",
        },
        grades=Grades(),
        headline=6,
        shown=frozenset({"cases"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="summary_current",
        better="higher",
        label={"en": "Summary Up to Date", "ko": "요약 최신율"},
        meaning={
            "en": "Share of changed facts for which summary and entities hold the new value and no earlier one.",
            "ko": "바뀐 사실 중 요약과 엔티티에 새 값만 있고 옛 값은 없는 비율",
        },
        grades=Grades(),
        shown=frozenset({"cases"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="stale_present",
        better="lower",
        label={"en": "Stale Facts Present", "ko": "낡은 사실 잔존율"},
        meaning={
            "en": "Share of outdated facts that the context still shows; lower is better.",
            "ko": "이제 맞지 않는 사실 중 컨텍스트에 아직 보이는 비율(낮을수록 좋음)",
        },
        shown=frozenset({"sweeps", "cases"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="evidence_recall",
        better="higher",
        label={"en": "Evidence Recall", "ko": "근거 재현율"},
        meaning={
            "en": "Share of the turns with the answer that are in the context themselves, not only in a summary.",
            "ko": "답이 담긴 턴 중 요약이 아니라 턴 그대로 컨텍스트에 있는 비율",
        },
        grades=Grades(),
        main=True,
        shown=frozenset({"sweeps", "cases"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="evidence_held",
        better="higher",
        label={"en": "Evidence Held", "ko": "근거 보존율"},
        meaning={
            "en": "Share of the turns with the answer that are in the context, or whose words its summary supports.",
            "ko": "답이 담긴 턴 중 컨텍스트에 그대로 있거나 요약이 그 내용을 뒷받침하는 비율",
        },
        grades=Grades(),
        shown=frozenset({"cases"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="turn_recall",
        better="higher",
        label={"en": "Turn Recall", "ko": "턴 재현율"},
        meaning={
            "en": "Share of the turns with the answer among the first k that the memory gives.",
            "ko": "답이 담긴 턴 중 메모리가 내놓은 처음 k개 턴에 든 비율",
        },
        shown=frozenset(),
        depends=("k", "conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="session_recall",
        better="higher",
        label={"en": "Session Recall", "ko": "세션 재현율"},
        meaning={
            "en": "Share of the sessions with the answer among the first k that the memory gives.",
            "ko": "답이 담긴 세션 중 메모리가 내놓은 처음 k개 세션에 든 비율",
        },
        shown=frozenset(),
        depends=("k", "conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="leakage",
        better="lower",
        label={"en": "Leakage Between Tenants", "ko": "테넌트 간 누출"},
        meaning={
            "en": "Share of probes in which text of another tenant appears; lower is better.",
            "ko": "다른 테넌트의 내용이 보인 질문의 비율(낮을수록 좋음)",
        },
        shown=frozenset({"cases"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="answer_facts",
        better="higher",
        label={"en": "Facts in Answer", "ko": "답변 속 사실"},
        meaning={"en": "Share of the expected facts that the answer gives.", "ko": "필요한 사실 중 답변에 나온 비율"},
        grades=Grades(),
        main=True,
        shown=frozenset({"sweeps", "worst"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="answer_stale",
        better="lower",
        label={"en": "Stale Facts in Answer", "ko": "답변 속 낡은 사실"},
        meaning={
            "en": "Share of outdated facts that the answer still gives; lower is better.",
            "ko": "이제 맞지 않는 사실 중 답변에 아직 나온 비율(낮을수록 좋음)",
        },
        shown=frozenset(),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
)
SIZE_METRICS = (
    Metric(
        name="memory_sentences",
        better="lower",
        label={"en": "Memory Sentences", "ko": "메모리 문장 수"},
        meaning={"en": "In the summary.", "ko": "요약의 문장 수"},
        range=(0.0, float("inf")),
        shown=frozenset(),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="memory_tokens",
        better="lower",
        label={"en": "Memory Tokens", "ko": "메모리 토큰 수"},
        meaning={
            "en": "Of summary and entities, as the context shows them.",
            "ko": "컨텍스트에 든 요약과 엔티티의 토큰 수",
        },
        range=(0.0, float("inf")),
        shown=frozenset(),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="documents_tokens",
        better="lower",
        label={"en": "Document Tokens", "ko": "문서 토큰 수"},
        meaning={"en": "Of documents in the context.", "ko": "컨텍스트에 든 문서의 토큰 수"},
        range=(0.0, float("inf")),
        shown=frozenset(),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
    Metric(
        name="context_tokens",
        better="lower",
        label={"en": "Context Tokens", "ko": "컨텍스트 토큰 수"},
        meaning={"en": "Of the whole context without the question.", "ko": "질문을 뺀 컨텍스트 전체의 토큰 수"},
        range=(0.0, float("inf")),
        shown=frozenset({"sweeps"}),
        depends=("conversations", "queries", "gold", "metric_code.memory"),
        group="memory",
    ),
)

WEIGHTS = {"relevance": 0.35, "completeness": 0.30, "accuracy": 0.25, "noise": 0.10}
CRITERIA = tuple(WEIGHTS)
MAX = 10.0  # of a criterion
Z = 1.959963984540054  # normal quantile of a 95 % interval

Forms = Sequence[str]  # the ways in which one fact may be written

LostAt = Literal["none", "forgotten", "refused_known", "stale_answer", "unused", "made_up"]

# (label, first, last) of a bin; None: no end.
TURNS = (("0-4", 0, 4), ("5-9", 5, 9), ("10-19", 10, 19), ("20-49", 20, 49), ("50-99", 50, 99), ("100+", 100, None))
UPDATES = (("0", 0, 0), ("1", 1, 1), ("2", 2, 2), ("3-4", 3, 4), ("5+", 5, None))


def overall(
    relevance: float, completeness: float, accuracy: float, noise: float, weights: Mapping[str, float] = WEIGHTS
) -> float:
    """The overall score of a memory: the weighted mean of its scores, with noise turned round.

    Args:
        relevance: 0..10.
        completeness: 0..10.
        accuracy: 0..10.
        noise: 0..10, better when lower.
        weights: of the four; they sum to 1.

    Returns:
        0..100. The scores of an empty memory, 0/0/0/0, make 100 times the weight of noise: 10 by default.
    """
    scores = (relevance, completeness, accuracy, MAX - noise)
    return 10 * sum(score * weights[name] for name, score in zip(CRITERIA, scores, strict=True))


# --- one probe --------------------------------------------------------------------------------------


def find_facts(text: str, facts: Iterable[Forms], besides: Iterable[Forms] = ()) -> list[bool]:
    """Whether each fact shows in a text.

    Args:
        text: a memory, or a context.
        facts: forms of each fact, any of which is enough.
        besides: forms of other facts. What is only part of one of these does not count: for a fact that is no longer
            true, those that took its place.

    Returns:
        One value a fact, in order.
    """
    longer = [form for forms in besides for form in forms]
    return [shows(text, forms, besides=longer) for forms in facts]


def evidence_recall(
    evidence: Iterable[str], conversation_ids: Collection[str], prompt_ids: Collection[str]
) -> float | None:
    """Args:
        evidence: ids of the turns that hold the answer.
        conversation_ids: ids of the turns that the conversation has.
        prompt_ids: ids of the turns that the generator sees.

    Returns:
        The share of the evidence that is shown, 0..1; None when the conversation has none of it.
    """
    return _share([id in prompt_ids for id in dict.fromkeys(evidence) if id in conversation_ids])


def leakage(texts: Iterable[str], canaries: Sequence[str]) -> float | None:
    """1.0 when a canary shows in one of the texts, even inside a word; None without canaries."""
    return float(any(shows_inside(text, canaries) for text in texts)) if canaries else None


def lost_at(*, answerable: bool, refused: bool, readable: bool | None, right: bool, stale: bool) -> LostAt:
    """The first stage at which a probe failed.

    Args:
        answerable: whether the conversation holds the answer.
        refused: whether the answer refuses.
        readable: whether the generator could read all that the answer needs; None where that is not known.
        right: whether the answer is right.
        stale: whether the answer gives a fact that is no longer true.

    Returns:
        The stage; `none` where the probe was answered right.
    """
    if right:
        return "none"
    if not answerable:
        return "made_up"
    if readable is False:
        return "forgotten"
    if refused:
        return "refused_known"
    if stale:
        return "stale_answer"
    return "unused"


def n_sentences(text: str) -> int:
    """How many sentences a memory has (runner.text.sentences)."""
    return len(split_sentences(text))


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


# --- retention --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recall:
    """Whether a fact was present `turns` after it was said and `updates` of the memory since."""

    turns: int
    updates: int
    present: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """Share of `n` facts that were present, with its 95 % interval; None where n is 0."""

    label: str
    n: int
    share: float | None
    low: float | None
    high: float | None


def retention(recalls: Iterable[Recall]) -> dict[str, tuple[Bin, ...]]:
    """How long facts are kept.

    Args:
        recalls: of facts that probes asked for.

    Returns:
        All bins by `turns` and by `updates`, in order. The intervals (Wilson, 1927) take facts of one conversation for
        independent.
    """
    recall_list = list(recalls)
    return {
        "turns": _bins(recall_list, TURNS, lambda recall: recall.turns),
        "updates": _bins(recall_list, UPDATES, lambda recall: recall.updates),
    }


def _bins(
    recalls: Sequence[Recall], bounds: Sequence[tuple[str, int, int | None]], age: Callable[[Recall], int]
) -> tuple[Bin, ...]:
    bins = []
    for label, first, last in bounds:
        flags = [each.present for each in recalls if age(each) >= first and (last is None or age(each) <= last)]
        bins.append(Bin(label, len(flags), _share(flags), *wilson(sum(flags), len(flags))))
    return tuple(bins)


def wilson(k: int, n: int) -> tuple[float, float] | tuple[None, None]:
    """The 95 % score interval of a share (Wilson, 1927), without a correction for continuity.

    Args:
        k: successes.
        n: trials.

    Returns:
        (low, high), 0..1; None without trials.
    """
    if not n:
        return None, None
    share, spread = k / n, Z * Z / n
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return (0.0 if k == 0 else middle - half), (1.0 if k == n else middle + half)
