"""Exact match and token F1 of an answer against the known answers of a question; the best known answer counts. Whether
one of them occurs in the answer is for runner.text.matching to say.

The formulas are those of SQuAD (Rajpurkar et al., 2016) and KorQuAD 1.0 (Lim et al., 2019); both ignore
case, punctuation and space, SQuAD also a, an and the. What `normalise_answer` and the comparisons do exactly,
and where that differs:

- Unicode NFKC and case folding: １９８９ = 1989, ㎏ = kg. Citation marks such as [2] are dropped: they are
  not part of the answer.
- Punctuation and symbols between two letters are deleted (U.S. = US), as SQuAD does; elsewhere they are
  spaces. Numbers keep what changes their value: a decimal point and a minus sign stay (2.5 is not 25, -5
  is not 5, .5 = 0.5), a thousands comma goes (1,000 = 1000), and other marks between digits separate
  (1939-1945 is two numbers). Both official scripts delete all of these.
- An article goes only where another word follows, so that the answers A, Vitamin A and The The remain.
- Text of which nothing would be left (++) stays as it is, so that it equals only itself.
- Tokens are words, except that each Hangul syllable, Chinese character or kana is a token of its own
  (the mixed segmentation of CMRC 2018, Cui et al., 2019). KorQuAD compares all single characters; here
  a number or a Latin word is compared whole, so 1989 and 1998 have nothing in common.
- Spaces beside Hangul do not count (아랍 에미리트 = 아랍에미리트), and for exact match a Korean answer may
  carry one particle or copula more than the known answer (임수경입니다 = 임수경) where the sounds agree.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from runner.metrics.metric import Grades, Metric
from runner.text.citations import without_citations
from runner.text.matching import gives
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
_MARKS = compile_late(r"(?:[^\w\s]|_)+")
_THOUSANDS = compile_late(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLE = compile_late(rf"\b(?:a|an|the)\s+(?=[^\W{_CJK}])")
_SPACE_BY_CJK = compile_late(rf"(?<=[{_CJK}])\s+|\s+(?=[{_CJK}])")
_TOKEN = compile_late(rf"[{_CJK}]|[^\s{_CJK}]+")
_ONLY_CJK = compile_late(rf"[{_CJK}]")

# What may follow a Korean noun: after a final consonant, after a vowel, after either.
_AFTER_CONSONANT = frozenset(["은", "이", "을", "과", "으로", "이에요", "이라고", "이며", "이고"])
_AFTER_VOWEL = frozenset(["는", "가", "를", "와", "다", "예요", "였다", "였습니다", "라고", "며", "고"])
_AFTER_ANY = frozenset(
    ["의", "에", "에서", "에게", "로", "도", "만", "까지", "부터", "이다", "입니다", "이었다", "이었습니다"]
)


def exact_match(answer: str, known_answers: Sequence[str]) -> float | None:
    """Args:
        answer: of the system.
        known_answers: right ones.

    Returns:
        1.0 when the normalised answer is one of the known ones, else 0.0; None when no answer is known.
    """
    return _exact_match(answer, tuple(known_answers))


@lru_cache(maxsize=KEPT)
def _exact_match(answer: str, known: tuple[str, ...]) -> float | None:
    return _best(lambda one: float(_is_same_answer(answer, one)), known)


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


def contains_answer(answer: str, known_answers: Sequence[str]) -> float | None:
    """Args:
        answer: of the system.
        known_answers: right ones.

    Returns:
        1.0 when the answer gives one of the known ones in any form in which it may be written, and does not say that
        this is not it (runner.text.matching), else 0.0; None when no answer is known.
    """
    return _contains_answer(answer, tuple(known_answers)) if known_answers else None


@lru_cache(maxsize=KEPT)
def _contains_answer(answer: str, known: tuple[str, ...]) -> float:
    return float(gives(without_citations(answer), known))


def answer_matches(answer: str, known_answers: Sequence[str]) -> bool | None:
    """Args:
        answer: of the system.
        known_answers: right ones.

    Returns:
        Whether the answer is a known one, or contains one; None when no answer is known.
    """
    return bool(contains_answer(answer, known_answers) or exact_match(answer, known_answers)) if known_answers else None


@lru_cache(maxsize=KEPT)
def normalise_answer(text: str) -> str:
    """The form in which answers are compared: words and numbers, one space between them."""
    plain = _nfkc(_nfkc(without_citations(text)).casefold())
    words = _ARTICLE.sub("", " ".join(_nfkc(_MARKS.sub(_mark, _THOUSANDS.sub("", plain))).split()))
    return words or " ".join(plain.split())


def tokens(text: str) -> list[str]:
    """Words of the normalised text; Hangul syllables, Chinese characters and kana one by one."""
    return _TOKEN.findall(normalise_answer(text))


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _mark(match: re.Match[str]) -> str:
    """The replacement of a run of characters that are neither letters, digits nor space."""
    run, text = match[0], match.string
    before = text[match.start() - 1 : match.start()]
    after = text[match.end() : match.end() + 1]
    accents = "".join(char for char in run if unicodedata.category(char).startswith("M"))
    if accents:
        return accents
    if run == "." and after.isdigit() and not before.isalpha():
        return "." if before.isdigit() else " 0."
    if run[-1] in "-−" and after.isdigit() and not before.isalnum():
        return " -"
    between = before.isalnum() and after.isalnum() and not _ONLY_CJK.search(before + after)
    return "" if between and not (before.isdigit() and after.isdigit()) else " "


def _is_same_answer(answer: str, known: str) -> bool:
    ours, theirs = (_SPACE_BY_CJK.sub("", normalise_answer(text)) for text in (answer, known))
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
