"""Whether a sentence denies what it says, in Korean and English."""

from __future__ import annotations

import re

_ENGLISH = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|hardly|scarcely|barely|unable|fails? to"
    r"|failed to|lacks?|lacked|lacking)\b|n['’]t\b",
    re.IGNORECASE,
)
_ENGLISH_IDIOM = re.compile(
    r"\bnot only\b|\bno (?:matter|doubt|longer than|later than|more than|less than|fewer than)\b|\bnot just\b|\bwhether or not\b"
    r"|\bif not\b|\bno\.\s?(?=\d)|^\W*no\b\s*,",
    re.IGNORECASE,
)
_KOREAN = re.compile(
    r"않|(?<![가-힣])(?:안|못)(?=\s|하|해|되|돼|됩|했|합|한다)|못(?:하|해|했|합|한|함)|지 못|아니(?!라도|나)|아닙|아닌|아님|없|[가-힣]지 ?(?:말|마세|마십|마라)"
    r"|불가(?:능|하|합|피)?|(?<![가-힣])(?:미|비|무|불)(?:지원|포함|제공|허용|가능|공개|적용|해당|완료|설치|활성)"
)
_KOREAN_IDIOM = re.compile(
    r"뿐(?:만)? ?(?:아니라|만)|(?:지|질) 않으면 안 ?(?:되|된|됩|돼)|수밖에 없|(?:할|될|일) 수밖에|틀림없|끊임없|상관없|관계없|관계 없|상관 없"
    r"|에 불과|불가피|만 아니라|때문만은 아니|안내|안전|안녕|문제없|빠짐없|다름없|변함없|어김없"
)


def negations(text: str) -> int:
    """How many negations the text holds; idioms that deny nothing (not only, 뿐만 아니라, 수밖에 없다) are left out."""
    plain = _KOREAN_IDIOM.sub(" ", _ENGLISH_IDIOM.sub(" ", text))
    return len(_ENGLISH.findall(plain)) + len(_KOREAN.findall(plain))


def is_negated(text: str) -> bool:
    """Whether the negations leave the text denying something: two of them cancel out."""
    return negations(text) % 2 == 1
