"""The words that a sentence denies, in Korean and English."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from runner.text.words import Word, forms, is_content, words

SCOPE = 80  # characters after an English negation
NEAR = 8  # words before a Korean negation

_ENGLISH_CUE = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|hardly|unable|fail(?:s|ed|ure)?|lack(?:s|ed|ing)?)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_ENGLISH_IDIOM = re.compile(
    r"\bnot (?:only|just|merely|necessarily)\b|\bno (?:matter|doubt|longer than|later than|(?:more|less|fewer) than)\b"
    r"|\bwhether or not\b|\bif not\b|\bno\.\s?(?=\d)|^\W*no\b(?=\s*[,.])",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[,;:.!?()]|\b(?:but|and|or|because|if|when|unless|although|while|since)\b", re.IGNORECASE)
_WEAK = frozenset(
    ("be", "been", "being", "have", "had", "has", "get", "got", "any", "able", "only", "to", "also", "a", "an", "the")
)

_KOREAN_BEFORE = re.compile(r"(?<![가-힣])(?:안|못)\s+(?=[가-힣])")
_KOREAN_AFTER = re.compile(
    r"않|없|아니(?!라도|나|면)|아닙|아닌|아님|못(?=하|해|했|합|한|함)|지 못|지 ?(?:말|마)(?=[가-힣])"
)
_KOREAN_PREFIX = re.compile(
    r"(?<![가-힣])(?:(?P<whole>불가(?!피)[가-힣]*)"
    r"|(?:미|비|무|불)(?P<root>지원|포함|제공|허용|공개|적용|해당|완료|설치|활성))"
)
_KOREAN_IDIOM = re.compile(
    r"뿐(?:만)? ?아니라|만 ?아니라|[지질] ?않으면 ?안|수밖에 ?(?:는 )?없|틀림없|끊임없|[상관]관 ?없|문제 ?없"
    r"|빠짐없|다름없|변함없|어김없|아니요|아니오"
)
_AUXILIARY = re.compile(
    r"(?:있|되|돼|하|해)(?:지(?:는|도|가|를)?|진|질)"
)  # 활성화되어 *있지* 않다, 지원이 *되지* 않는다
_GENERIC = frozenset(["수", "것", "것이", "것은", "할", "될", "일", "되", "됩니다", "됨", "된다", "돼요", "되나요"])


def denied_words(text: str) -> list[Word]:
    """The denied words, in no order; idioms that deny nothing (not only, 뿐만 아니라, 수밖에 없다) do not count.

    English: the first full word after the negation, within its clause (not be *refunded*). Korean: the word
    before 않다, 없다, 아니다, 못하다, 말다 (*환불되지* 않습니다), the word after 안 and 못, the root of 불가능, 미지원.
    """
    plain = _blank(_KOREAN_IDIOM, _blank(_ENGLISH_IDIOM, text))
    return [*_english(plain), *_korean(plain)]


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _english(text: str) -> Iterator[Word]:
    for match in _ENGLISH_CUE.finditer(text):
        limit = match.end() + SCOPE
        end = _CLAUSE_END.search(text, match.end(), limit)
        clause = text[match.end() : end.start() if end else limit]
        full = [word for word in words(clause) if word.text.lower() not in _WEAK]
        if full:
            yield replace(full[0], start=full[0].start + match.end())


def _korean(text: str) -> Iterator[Word]:
    if not (_KOREAN_BEFORE.search(text) or _KOREAN_AFTER.search(text) or _KOREAN_PREFIX.search(text)):
        return
    all_words = words(text)
    starts = [word.start for word in all_words]
    for match in _KOREAN_BEFORE.finditer(text):
        after = all_words[bisect_left(starts, match.end())]
        if after.text in _GENERIC:
            yield from _last_full(_before(all_words, starts, match))
        else:
            yield after
    for match in _KOREAN_AFTER.finditer(text):
        yield from _last_full(_before(all_words, starts, match))
    for match in _KOREAN_PREFIX.finditer(text):
        if match["root"]:
            yield Word(match["root"], match.start(), forms(match["root"]))
        else:
            yield Word("가능", match.start(), forms("가능"))
            yield from _last_full(_before(all_words, starts, match))


def _before(text_words: Sequence[Word], starts: Sequence[int], match: re.Match[str]) -> Sequence[Word]:
    """The few words before a negation."""
    at = bisect_left(starts, match.start())
    return text_words[max(0, at - NEAR) : at]


def _last_full(before: Sequence[Word]) -> Iterator[Word]:
    """The last of these words that is neither a function word nor part of the negation."""
    full = (
        word
        for word in reversed(before)
        if word.text not in _GENERIC and is_content(word.text) and not _AUXILIARY.fullmatch(word.text)
    )
    yield from islice(full, 1)
