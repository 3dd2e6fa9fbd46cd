"""The statements of a conversation, read from the contexts of a ContextBuilder, and which of them still hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from runner.domains.memory.context import LABELS
from runner.records import Context
from runner.text.language import Language
from runner.text.numbers import quantities
from runner.text.sentences import split_sentences
from runner.text.words import Word, content_words

ACKNOWLEDGED: dict[Language, str] = {"en": "Noted.", "ko": "알겠습니다."}

_LABELS = [f"(?P<{language}_{n}>{label}): " for language, labels in LABELS.items() for n, label in enumerate(labels)]
_SPOKEN = re.compile("|".join(_LABELS))
_LINE = re.compile(r"\n(?! )")  # continuation lines of a statement are indented

# Words of questions that ask for nothing that was said: how they ask, when it was said, that it was said.
_INTERROGATIVE = r"(?:얼마|뭐|뭔|뭘|무엇|누구|누가|언제|어디|몇|어느|어떤|어땠|어때|어떻|어떡)"
_ASKING = re.compile(
    rf"{_INTERROGATIVE}[가-힣]{{0,4}}|왜[요지]?"
    r"|(?:현재|지금|요즘|요새|최근|아까|방금|처음|지난번|이전|예전|앞서)(?:에|에는|은|는|의|까지|도|으로|부터)?"
    r"|전에|다시|혹시"
    r"|말(?:했|한|하|해|할|씀)[가-힣]{0,5}"
    r"|(?:얘기|이야기|언급|설명|기억|정리|요약)(?:[하했해한할나난][가-힣]{0,5})?"
    r"|(?:알려|가르쳐|대답해|했|됐|되었|있었)[가-힣]{0,3}"
    r"|(?:상황|내용|우리|저희|제|내)[은는이가을를도]?"
    r"|now|currently?|latest|recently|earlier|previously|again|said|say|saying|tell|told|telling|mention(?:ed)?"
    r"|remember(?:ed)?|remind|recall|talk(?:ed)?|please",
    re.IGNORECASE,
)
_WANTS = re.compile(
    rf"[?？]|(?<![가-힣])(?:{_INTERROGATIVE}|왜)|궁금|싶(?:어|습|은|다)"
    r"|(?:줘|봐|세요|십시오|줄래|달라|볼래|니|까|나요|가요|죠|지)[요.!~]*$"
    r"|^\W*(?:tell|show|give|list|explain|describe|remind|summari[sz]e|analy[sz]e|compare|find|check"
    r"|calculate|help|what|who|whose|which|when|where|why|how|is|are|do|does|did|can|could|will|would|please)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:(?:안녕|반가|고마|감사|수고)[가-힣]*|hello|hi|hey|good (?:morning|afternoon|evening)|thanks|thank you)"
    r"(?![a-z가-힣])[\s,.!~]*",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_STATES = re.compile(
    r"(?:니다|[어아여해했았었였]요|에요|예요|네요|거든요?|[했았었였]어|이야)[.!~]*$|[a-z0-9%][.!]*$", re.IGNORECASE
)


_DENIES = re.compile(
    r"(?:\s|[이가은는])아(?:니|닙니|녜)[가-힣]{0,4}[.!~]*$|\b(?:is|are|was|were)(?:\s+not\b|n['’]t\b)(?!.*\bbut\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Statement:
    """`context`: its number, from 1. `is_reply`: the assistant said it. `before`: what the same speaker said just
    before, or empty."""

    context: int
    text: str
    before: str = ""
    is_reply: bool = False

    @cached_property
    def units(self) -> frozenset[str]:
        """The units of the quantities in it; "" for bare numbers."""
        return frozenset(quantity.unit for quantity in quantities(self.text))

    @cached_property
    def denies(self) -> bool:
        """Whether the statement says what something is not."""
        return _DENIES.search(self.text) is not None


def statements(contexts: Sequence[Context]) -> list[Statement]:
    """The statements from the oldest to the newest. Names of speakers are kept, `User` and `Assistant` are not. A
    summary begins with the newest statement."""
    return [statement for number, context in enumerate(contexts, 1) for statement in _statements(number, context)]


def _statements(number: int, context: Context) -> Iterator[Statement]:
    if context.id in ("memory", "entities"):
        sentences = split_sentences(context.text)
        yield from (Statement(number, text) for text in (sentences[::-1] if context.id == "memory" else sentences))
        return
    for line in _LINE.split(context.text):
        label = _SPOKEN.match(line)
        before = ""
        for sentence in split_sentences(line[label.end() :] if label else line):
            yield Statement(number, sentence, before, label is not None and str(label.lastgroup).endswith("_1"))
            before = sentence


def asked_words(question: str) -> list[Word]:
    """The words of a question that a statement with the answer may have: its content words and its figures."""
    telling = [word for word in content_words(question) if not _ASKING.fullmatch(word.text)]
    return [*telling, *figures(question)]


def figures(text: str) -> list[Word]:
    """Numbers as they are written: the 1 of Server1, the 11 of 11월."""
    return [Word(match[0], match.start(), frozenset({match[0]})) for match in _FIGURE.finditer(text)]


def replaces(newer: Statement, older: Statement) -> bool:
    """Whether a statement about the same gives another value of the same kind. What the assistant says replaces
    nothing that the user said, and what something is not replaces nothing."""
    if newer.denies or (newer.is_reply and not older.is_reply):
        return False
    return not older.units or not older.units.isdisjoint(newer.units)


def without_speaker(line: str) -> str:
    """The line without the speaker's label of a ContextBuilder."""
    label = _SPOKEN.match(line)
    return line[label.end() :] if label else line


def is_question(text: str) -> bool:
    """Whether the line asks a question or makes a request."""
    return _WANTS.search(text.strip()) is not None


def tells_something(text: str) -> bool:
    """Whether the line states something, greets or thanks, and asks for nothing."""
    polite = _POLITE.match(text.strip())
    rest = text.strip()[polite.end() :] if polite else text.strip()
    return (not rest and polite is not None) or (_WANTS.search(rest) is None and _STATES.search(rest) is not None)
