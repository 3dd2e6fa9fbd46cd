"""Sentences that state nothing: apologies, thanks, offers, requests to the reader and bare links."""

from __future__ import annotations

import re

from runner.text.patterns import compile_late

_COURTESY = compile_late(
    r"^(?:"
    r"(?:I['’]m |I am |we['’]re |we are )?(?:very |so |really |truly )?(?:sorry|afraid)\b|(?:my |our )?apologies\b"
    r"|unfortunately[.!]?$|(?:sure|certainly|of course|no problem|great|thank(?:s| you)\b.*|you['’]re welcome)[.!]*$"
    r"|(?:please )?(?:let me know|feel free|do not hesitate|don['’]t hesitate)\b|(?:I )?hope (?:this|that) helps"
    r"|if (?:you )?(?:have|need|require|would like|want)\b.*\b(?:questions?|help|assistance|let me know|feel free)\b"
    r"|(?:please )?(?:provide|share|clarify|rephrase|give)\b.*\b(?:more|details|question|context|information)\b"
    r"|(?:please )?(?:check|see|use|try) the (?:menu|links?)(?: items?)?(?: below)?[.:!]?$"
    r"|is there anything|(?:could|can|would|do) you\b.*\?$"
    r"|(?:죄송|미안|유감|안타깝)"
    r"|(?:다른|더 궁금|추가|도움).*(?:말씀해|알려|문의해|질문해) ?(?:주|달라)"
    r"|(?:아래|다음)(?:의)? (?:메뉴|링크)[를을]? ?(?:확인|이용|참고)해 ?(?:주|보)"
    r"|감사합니다"
    r"|\[[^\]]+\]\([^)]*\)$"  # a link alone: an offer to look elsewhere
    r")",
    re.IGNORECASE,
)


def is_courtesy(sentence: str) -> bool:
    """Whether one sentence, Markdown markers aside, is a courtesy."""
    return _COURTESY.search(sentence.strip(" \t-*#>")) is not None
