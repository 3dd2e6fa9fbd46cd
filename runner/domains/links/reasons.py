"""Why a link is suggested, in words, and how far a reason connects two texts, by words alone.

connection = grounded x shared, 0..1
  grounded  share of the reason's evidence that stands in one of the texts: the content words that it quotes, all of
            its content words where it quotes none
  shared    1 where some of the evidence stands in both texts, 1/2 where there is some in each, else 0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from runner.domains.links.mentions import Mention
from runner.llm.health import ControlItem, Controls
from runner.text.language import Language
from runner.text.particles import with_particles
from runner.text.sentences import split_sentences
from runner.text.words import Word, all_forms, content_words

FILE = Path(__file__).with_name("controls.yaml")
RUBRIC = "link_reason"
SHARED = 4  # words named at most
QUOTED = 140  # characters of a quotation
_QUOTED = re.compile(r"[“\"「『]([^”\"」』]+)[”\"」』]")

_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "whole": "The text says “{said}”, which is what the note “{name}” is called.",
        "part": "The text says {said}; a note is called “{name}”.",
        "text": "The note is also about {shared}: “{quote}”",
        "near": "The note is about something like it: “{quote}”",
        "links": "Where “{source}” links to it, it is also about {shared}: “{quote}”",
        "linked_by": "{n} other notes link to it.",
        "linked_by_one": "1 other note links to it.",
    },
    "ko": {
        "whole": "본문에 나오는 “{said}”[은/는] “{name}” 노트의 이름입니다.",
        "part": "본문에 {said}[이/가] 나오며, “{name}”[이라는/라는] 노트가 있습니다.",
        "text": "이 노트도 {shared}[을/를] 다룹니다: “{quote}”",
        "near": "이 노트는 비슷한 내용을 다룹니다: “{quote}”",
        "links": "“{source}” 노트에서 이 노트로 건 링크 주변에도 {shared}[이/가] 나옵니다: “{quote}”",
        "linked_by": "다른 노트 {n}개가 이 노트로 링크합니다.",
        "linked_by_one": "다른 노트 1개가 이 노트로 링크합니다.",
    },
}


def of_mention(mention: Mention, language: Language) -> str:
    """The sentence that says which words of a note name the other one."""
    words = mention.words if mention.is_whole else ", ".join(f"“{word}”" for word in mention.words.split(", "))
    return _say(language, "whole" if mention.is_whole else "part", said=words, name=mention.name)


def of_text(question: str, text: str, language: Language) -> str:
    """A reason by the words that a text shares with the question, and its sentence with most of them."""
    shared_words, quote = _shared_words(question, text)
    if not quote:
        return ""
    if not shared_words:
        return _say(language, "near", quote=quote)
    return _say(language, "text", shared=_quote(shared_words), quote=quote)


def of_link(question: str, sentence: str, source: str, language: Language) -> str:
    """The reason by the words that the sentence around a link shares with the question; empty where it shares none."""
    shared, quote = _shared_words(question, sentence)
    return _say(language, "links", source=source, shared=_quote(shared), quote=quote) if shared else ""


def of_back_links(count: int, language: Language) -> str:
    """The sentence that says how many notes link to it; empty for none."""
    return _say(language, "linked_by_one" if count == 1 else "linked_by", n=count) if count else ""


def n_shared(question: str, text: str) -> int:
    """How many content words two texts have in common."""
    return len(_common_words(question, text))


def _say(language: Language, key: str, **values: object) -> str:
    return with_particles(_WORDS[language][key].format(**values))


def _shared_words(question: str, text: str) -> tuple[list[str], str]:
    sentences = split_sentences(text)
    if not sentences:
        return [], ""
    best = max(sentences, key=lambda sentence: len(_common_words(question, sentence))).lstrip("-*+#>| ")
    return _common_words(question, text)[:SHARED], best if len(best) <= QUOTED else best[: QUOTED - 1] + "…"


def _common_words(question: str, text: str) -> list[str]:
    """Content words of the question that the text has too, in their order."""
    text_forms = {form for word in _words(text) for form in word.forms}
    shared_words: dict[frozenset[str], str] = {}
    for word in _words(question):
        if not word.forms.isdisjoint(text_forms):
            shared_words.setdefault(word.forms, word.text)
    return list(shared_words.values())


@lru_cache(maxsize=4096)
def _words(text: str) -> Sequence[Word]:
    return content_words(text)


def _quote(words: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)


@dataclass(frozen=True, slots=True)
class Connection:
    """`missing`: evidence that is in neither text; `in_both`: words that are in both, in the order of the reason."""

    score: float
    missing: tuple[str, ...]
    in_both: tuple[str, ...]


def connection(reason: str, note: str, linked_note: str) -> Connection:
    """How far two notes share what a reason quotes, or else says: 0..1."""
    quoted = " ".join(_QUOTED.findall(reason))
    evidence = content_words(quoted) or content_words(reason)
    if not evidence:
        return Connection(0.0, (), ())
    here, there = all_forms(content_words(note)), all_forms(content_words(linked_note))
    in_one = [not word.forms.isdisjoint(here) for word in evidence]
    in_other = [not word.forms.isdisjoint(there) for word in evidence]
    in_both = [word.text for word, a, b in zip(evidence, in_one, in_other, strict=True) if a and b]
    missing = [word.text for word, a, b in zip(evidence, in_one, in_other, strict=True) if not (a or b)]
    shared = 1.0 if in_both else 0.5 if any(in_one) and any(in_other) else 0.0
    score = shared * (1 - len(missing) / len(evidence))
    return Connection(score, tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(in_both)))


@cache
def link_controls() -> Controls:
    """Reasons, in both languages, whose right judgement is known (controls.yaml says how they are written)."""
    scenes = yaml.safe_load(FILE.read_text(encoding="utf-8"))["scenes"]
    return Controls(RUBRIC, tuple(item for scene in scenes for item in _of_scene(scene)))


def _of_scene(scene: Mapping[str, Any]) -> Iterator[ControlItem]:
    shared = {name: scene[name] for name in ("anchor", "context", "target", "language")}
    plain = {
        entry["id"]: ControlItem(f"{scene['id']}-{entry['id']}", {**shared, "reason": entry["reason"]}, entry["side"])
        for entry in scene["reasons"]
    }
    yield from plain.values()
    for entry in scene["injections"]:
        before = plain[entry["to"]]
        fields = {**before.fields, "reason": f"{before.fields['reason']} {entry['reason']}"}
        yield replace(before, id=f"{scene['id']}-{entry['id']}", fields=fields, without=before.id)
