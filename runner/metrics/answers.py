"""Exact match and token F1 of an answer against the references of a question, and whether it contains one of them; the
best reference counts. Whether a reference occurs in the answer is for runner.text.matching to say.

The formulas are those of SQuAD (Rajpurkar et al., 2016) and KorQuAD 1.0 (Lim et al., 2019), on the normal form of
runner.text.normal_form. Spaces beside Hangul do not count (아랍 에미리트 = 아랍에미리트), and for exact match a Korean
answer may carry one particle or copula more than the reference (임수경입니다 = 임수경) where the sounds agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from runner.metrics.metric import Grades, Metric
from runner.text.matching import Distinctions, gives, says_another
from runner.text.normal_form import normalise, tokens
from runner.text.patterns import compile_late

NO_GRADE = {
    "en": "Exact Match and Token F1 have no grade: an answer in a full sentence may be right and scores low.",
    "ko": "정확 일치와 토큰 F1에는 등급이 없습니다. 완전한 문장으로 답하면 맞아도 점수가 낮기 때문입니다.",
}

METRICS = (
    Metric(
        name="exact_match",
        better="higher",
        label={"en": "Exact Match", "ko": "정확 일치 (EM)"},
        meaning={
            "en": "Share of answers that consist of a known answer only; a full sentence does not count.",
            "ko": "알려진 정답만으로 이루어진 답변의 비율(완전한 문장은 해당하지 않음)",
        },
        no_grade=NO_GRADE,
        depends=("queries", "gold", "metric_code.answers"),
        group="answers",
        shown=frozenset({"sweeps"}),
        tells_right=True,
    ),
    Metric(
        name="contains_answer",
        better="higher",
        label={"en": "Contains Answer", "ko": "정답 포함"},
        meaning={
            "en": "Share of answers that give a known answer, however it is written (1.5억, 150,000,000).",
            "ko": "알려진 정답이 어떤 표기로든(1.5억, 150,000,000) 들어 있는 답변의 비율",
        },
        grades=Grades(),
        depends=("queries", "gold", "metric_code.answers"),
        group="answers",
        shown=frozenset({"sweeps"}),
    ),
    Metric(
        name="token_f1",
        better="higher",
        label={"en": "Token F1", "ko": "토큰 F1"},
        meaning={
            "en": "Word overlap with the closest known answer; the other words of a full sentence lower it.",
            "ko": "가장 가까운 알려진 정답과 단어가 겹치는 정도(완전한 문장으로 답하면 낮아짐)",
        },
        no_grade=NO_GRADE,
        depends=("queries", "gold", "metric_code.answers"),
        group="answers",
        shown=frozenset({"sweeps", "cases", "worst"}),
    ),
)

KEPT = 4096  # answers, for the metrics that look at one, and for further runs of a sweep
_CJK = r"\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_SPACE_BY_CJK = compile_late(rf"(?<=[{_CJK}])\s+|\s+(?=[{_CJK}])")

# What may follow a Korean noun: after a final consonant, after a vowel, after either.
_AFTER_CONSONANT = frozenset(["은", "이", "을", "과", "으로", "이에요", "이라고", "이며", "이고"])
_AFTER_VOWEL = frozenset(["는", "가", "를", "와", "다", "예요", "였다", "였습니다", "라고", "며", "고"])
_AFTER_ANY = frozenset(
    ["의", "에", "에서", "에게", "로", "도", "만", "까지", "부터", "이다", "입니다", "이었다", "이었습니다"]
)


def exact_match(answer: str, known_answers: Sequence[str], distinctions: Distinctions | None = None) -> float | None:
    """Args:
        answer: of the system.
        known_answers: right ones.
        distinctions: of all references of the data set; None: nothing is known of others.

    Returns:
        1.0 when the normalised answer is one of the known ones, else 0.0; None when no answer is known.
    """
    return _exact_match(answer, tuple(known_answers), distinctions)


@lru_cache(maxsize=KEPT)
def _exact_match(answer: str, known: tuple[str, ...], distinctions: Distinctions | None) -> float | None:
    return _best(lambda one: float(_is_same_answer(answer, one) and not says_another(answer, one, distinctions)), known)


def token_f1(answer: str, references: Sequence[str]) -> float | None:
    """Harmonic mean of token precision and recall, tokens counted as a bag, as in SQuAD.

    Args:
        answer: of the system.
        references: right answers, of which the best one counts.

    Returns:
        0..1; None when no answer is known.
    """
    return _token_f1(answer, tuple(references))


@lru_cache(maxsize=KEPT)
def _token_f1(answer: str, known: tuple[str, ...]) -> float | None:
    return _best(lambda one: _f1(tokens(answer), tokens(one)), known)


def contains_answer(
    answer: str, known_answers: Sequence[str], distinctions: Distinctions | None = None
) -> float | None:
    """Args:
        answer: of the system.
        known_answers: right ones.
        distinctions: of all references of the data set; None: nothing is known of others.

    Returns:
        1.0 when the answer gives one of the known ones in any form in which it may be written, and does not say that
        this is not it (runner.text.matching), else 0.0; None when no answer is known.
    """
    return _contains_answer(answer, tuple(known_answers), distinctions) if known_answers else None


@lru_cache(maxsize=KEPT)
def _contains_answer(answer: str, known: tuple[str, ...], distinctions: Distinctions | None) -> float:
    return float(gives(answer, known, distinctions))


def answer_matches(answer: str, known_answers: Sequence[str]) -> bool | None:
    """Args:
        answer: of the system.
        known_answers: right ones.

    Returns:
        Whether the answer is a known one, or contains one; None when no answer is known.
    """
    return bool(contains_answer(answer, known_answers) or exact_match(answer, known_answers)) if known_answers else None


def _is_same_answer(answer: str, known: str) -> bool:
    ours, theirs = (_SPACE_BY_CJK.sub("", normalise(text)) for text in (answer, known))
    return ours == theirs or (ours.startswith(theirs) and _is_ending(ours[len(theirs) :], theirs[-1:]))


def _is_ending(ending: str, last: str) -> bool:
    """Whether a particle or copula may stand after a noun with this last character."""
    if not "가" <= last <= "힣":  # the last sound of a digit or a Latin letter read aloud is unknown
        return bool(last) and ending in _AFTER_CONSONANT | _AFTER_VOWEL | _AFTER_ANY
    has_final_consonant = (ord(last) - ord("가")) % 28 > 0
    return ending in _AFTER_ANY or ending in (_AFTER_CONSONANT if has_final_consonant else _AFTER_VOWEL)


def _f1(answer: Sequence[str], known: Sequence[str]) -> float:
    shared = sum((Counter(answer) & Counter(known)).values())
    return 2 * shared / (len(answer) + len(known)) if shared else 0.0


def _best(score: Callable[[str], float], known: Sequence[str]) -> float | None:
    return max(map(score, known), default=None)
