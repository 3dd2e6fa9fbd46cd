"""The statements of a conversation, read from the contexts of a ContextBuilder, and which of them still hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from runner.domains.memory.context import LABELS
from runner.records import Context
from runner.text.cues import cue_pattern, load_cues
from runner.text.language import Language, detect_language
from runner.text.numbers import quantities
from runner.text.sentences import split_sentences
from runner.text.words import Word, all_forms, content_words, forms

Courtesy = Literal["thanks", "greeting", "assent", "chatter"]

REPLIES: Mapping[Courtesy | Literal["told"], Mapping[Language, str]] = {
    "thanks": {"en": "You're welcome.", "ko": "천만에요."},
    "greeting": {"en": "Hello.", "ko": "안녕하세요."},
    "assent": {"en": "Understood.", "ko": "네, 알겠습니다."},
    "chatter": {"en": "I see.", "ko": "네, 그렇군요."},
    "told": {"en": "Noted.", "ko": "알겠습니다."},
}
_COURTESIES: tuple[Courtesy, ...] = get_args(Courtesy)

CUES = tuple(f"{__package__}/cues.{language}.yaml" for language in ("en", "ko"))

ASKED_ELSEWISE = ("overrun", "person", "raise")  # groups of cues
_LABELS = [f"(?P<{language}_{n}>{label}): " for language, labels in LABELS.items() for n, label in enumerate(labels)]
_SPOKEN = re.compile("|".join(_LABELS))
_LINE = re.compile(r"\n(?! )")  # continuation lines of a statement are indented

# Words of questions that ask for nothing that was said: how they ask, when it was said, that it was said.
_INTERROGATIVE = r"(?:얼마|뭐|뭔|뭘|무엇|누구|누가|언제|어디|몇|어느|어떤|어땠|어때|어떻|어떡)"
_ASKING = re.compile(
    rf"{_INTERROGATIVE}[가-힣]{{0,4}}|왜[요지]?"
    r"|(?:현재|지금|요즘|요새|최근|아까|방금|처음|지난번|이전|예전|앞서)(?:에|에는|은|는|의|까지|도|으로|부터)?"
    r"|전에|다시|혹시|있[어었나지는니습]?[가-힣]{0,3}|잡[혀히혔힌][가-힣]{0,3}"
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
_ENDS = cue_pattern("ends", *CUES)

_DENIES = re.compile(
    r"(?:\s|[이가은는])아(?:니|닙니|녜)[가-힣]{0,4}[.!~]*$|\b(?:is|are|was|were)(?:\s+not\b|n['’]t\b)(?!.*\bbut\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Statement:
    """`context`: its number, from 1. `is_reply`: the assistant said it. `before`: what the same speaker said just
    before, or empty. `changed`: the earlier statement whose value it changes without naming what it is of (it grew to
    $150,000), or empty."""

    context: int
    text: str
    before: str = ""
    is_reply: bool = False
    changed: str = ""

    @cached_property
    def units(self) -> frozenset[str]:
        """The units of the quantities in it; "" for bare numbers."""
        return frozenset(quantity.unit for quantity in quantities(self.text))

    @cached_property
    def is_wished(self) -> bool:
        """Whether the statement tells what somebody wishes, plans or takes for possible."""
        return is_wish(self.text)

    @cached_property
    def is_change(self) -> bool:
        """Whether the statement gives a value and says of it no more than that it is new."""
        words = [word for word in content_words(self.text) if not cue_pattern("changes", *CUES).fullmatch(word.text)]
        return bool(self.units) and not words and not self.is_reply

    @cached_property
    def tells_change(self) -> bool:
        """Whether the statement says that something has changed."""
        return cue_pattern("changed", *CUES).search(self.text) is not None

    @cached_property
    def of_others(self) -> bool:
        """Whether the statement is about somebody who is neither the user nor of the user's own team."""
        return is_of_others(self.text)

    @cached_property
    def denies(self) -> bool:
        """Whether the statement says what something is not."""
        return _DENIES.search(self.text) is not None


def statements(contexts: Sequence[Context]) -> list[Statement]:
    """The statements from the oldest to the newest. Names of speakers are kept, `User` and `Assistant` are not. A
    summary begins with the newest statement."""
    told = [statement for number, context in enumerate(contexts, 1) for statement in _statements(number, context)]
    for number, statement in enumerate(told):
        if statement.is_change and not statement.before and not statement.is_wished:
            told[number] = replace(statement, changed=_changed(statement, told[:number]))
    return told


def _changed(statement: Statement, earlier: Sequence[Statement]) -> str:
    """The last earlier statement of a person with a value of the same kind, or the one that this one changed."""
    alike = (
        other.changed or other.text
        for other in reversed(earlier)
        if not (other.is_reply or other.is_wished or other.units.isdisjoint(statement.units))
    )
    return next(alike, "")


def is_of_others(text: str) -> bool:
    """Whether a text names somebody else than who speaks, such as the team next door."""
    return cue_pattern("others", *CUES).search(text) is not None


def is_wish(text: str) -> bool:
    """Whether a text wishes, plans, or takes something for possible."""
    return cue_pattern("wished", *CUES).search(text) is not None


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
    return [*with_other_words(question, telling), *figures(question)]


def with_other_words(question: str, words: Sequence[Word]) -> list[Word]:
    """The words of a question, those that ask for what is told in others (초과: 비용, 지출) with those as further
    forms; of an expression of several words (over the budget) one word with them."""
    found = list(words)
    for group in ASKED_ELSEWISE:
        asked = cue_pattern(f"asks_{group}", *CUES).search(question)
        if asked is None:
            continue
        inside = [word for word in found if word.start < asked.end() and asked.start() < word.start + len(word.text)]
        others = [word for word in found if word not in inside]
        told = {word for file in CUES for word in load_cues(file).get(group, ())} - all_forms(others)
        if " " in asked[0] or not inside:
            found = [*others, Word(asked[0], asked.start(), forms(asked[0]) | told)]
        else:
            found = [replace(word, forms=word.forms | told) if word in inside else word for word in found]
    return found


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


def is_reply(line: str) -> bool:
    """Whether a line of a ContextBuilder is what the assistant said."""
    label = _SPOKEN.match(line)
    return label is not None and str(label.lastgroup).endswith("_1")


def spoken_lines(text: str) -> list[str]:
    """The lines of a context, each with what continues it."""
    return _LINE.split(text)


def is_acknowledgement(sentence: str, line: str) -> bool:
    """Whether a sentence of a spoken line says no more than a courtesy, or that one has heard the other."""
    if _SPOKEN.match(line) is None:
        return False
    plain = without_speaker(sentence)
    is_heard = cue_pattern("acknowledged", *CUES).fullmatch(plain.strip(" .!~")) is not None
    return (is_reply(line) and is_heard) or courtesy(plain) is not None


def is_question(text: str) -> bool:
    """Whether the line asks a question or makes a request; a question mark after what is told does not make one."""
    return _WANTS.search(as_told(text.strip())) is not None


def as_told(text: str) -> str:
    """The text with a full stop for the question mark after what is told (my dog is called Bori, you know?)."""
    return cue_pattern("told", *CUES).sub(lambda match: f"{match[0].rstrip(' ?？')}.", text)


def as_statements(text: str) -> str:
    """The text as what it takes for granted: a question that tells something of who asks is read as a statement (the
    name in "How do I tell my therapist, Dr. Amari, that I am late?"), and so is what is told with a question mark."""
    return "\n".join(" ".join(map(_as_statement, split_sentences(line))) for line in text.splitlines())


def _as_statement(sentence: str) -> str:
    told = as_told(sentence)
    plain = without_speaker(told)
    opening = cue_pattern("presupposes", *CUES).search(plain) if plain.rstrip().endswith(("?", "？")) else None
    return told if opening is None else f"{plain[opening.end() :].strip().rstrip(' ?？')}."


def tells_something(text: str) -> bool:
    """Whether the line states something, greets, thanks, agrees or makes small talk, and asks for nothing."""
    if courtesy(text) is not None:
        return True
    polite = _POLITE.match(text.strip())
    rest = text.strip()[polite.end() :] if polite else text.strip()
    return not is_question(rest) and (_STATES.search(rest) or _ENDS.search(rest)) is not None


def courtesy(text: str) -> Courtesy | None:
    """What kind of courtesy the whole line is; None where it says or asks more."""
    plain = " ".join(text.split()).strip(" .,!~^?" if "?" not in text else " .,!~^")
    parts = [part for part in re.split(r"[,.!]\s*", plain) if part]
    kinds = [next((kind for kind in _COURTESIES if cue_pattern(kind, *CUES).fullmatch(part)), None) for part in parts]
    return kinds[-1] if kinds and None not in kinds else None


def courteous_reply(text: str) -> str:
    """The reply to what tells something: to thanks and greetings in kind, else that it was heard."""
    return REPLIES[courtesy(text) or "told"][detect_language(text)]
