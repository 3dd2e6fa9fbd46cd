"""Questions that go on with an earlier one ("1월은?", "How do I set that up?"), as a search engine is asked them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.domains.memory.recall import asked_words, tells_something
from runner.domains.memory.records import Remembered

SHORT = 1  # a question with so many words to look for, or fewer, says too little alone

_POINTS_BACK = re.compile(
    # 그거, 그건, 이걸, 그 설정; 거기에서
    r"(?<![가-힣])(?:[그이]\s?(?:거|것|건|걸|게)(?:는|은|를|을|가|도|만|로|랑|보다)?(?![가-힣])|그\s+[가-힣]|거기)"
    r"|\b(?:it|its|them|those|these)\b"
    r"|\b(?:this|that|that one|there)(?=\s*(?:[?.!,]|$|(?:is|does|do|work|cost|mean|take|on|off|up|for|with|too)\b))"
    r"|\b(?:do|does|is|set|turn|change|stop|use|see|find)\s+(?:this|that)\b",
    re.IGNORECASE,
)
# What is left of 1월은 and OAuth는요.
_PARTICLES = frozenset(["은", "는", "이", "가", "을", "를", "도", "만", "의", "에", "은요", "는요"])
_GOES_ON = re.compile(r"^\W*(?:and|what about|how about|그러면|그럼|그리고|그렇다면)(?![a-z가-힣])", re.IGNORECASE)


def goes_on(question: str) -> bool:
    """Whether a question cannot be understood without those before it, as far as its words show."""
    if _POINTS_BACK.search(question) is not None or _GOES_ON.match(question) is not None:
        return True
    telling = {word.text for word in asked_words(question) if word.text not in _PARTICLES}
    return len(telling) <= SHORT


def search_text(question: str, remembered: Remembered) -> str:
    """The question, behind the one that it goes on with where the turns that are remembered word for word hold such
    a one: the newest question that can be understood alone."""
    if not goes_on(question):
        return question
    origin = next((asked for asked in _asked(remembered) if not goes_on(asked)), None)
    return question if origin is None else f"{origin} {question}"


def _asked(remembered: Remembered) -> Iterator[str]:
    """What the user asked, the newest first."""
    for turn in reversed(remembered.recent):
        if turn.user.strip() and not tells_something(turn.user):
            yield turn.user
