"""Checks by words whether a question makes sense to a reader who has not seen the source.

A question fails if it refers to a text (this document, 위 글에서), or uses a pronoun before any noun that the pronoun
could stand for. The model checks what these rules miss.
"""

from __future__ import annotations

import re

from runner.text.words import content_words, english_stem

_TEXT = r"(?:texts?|passages?|articles?|paragraphs?|excerpts?|snippets?|chunks?|contexts?|documents?|sources?)"
_SHOWN = r"(?:tables?|figures?|diagrams?|sections?|chapters?|pages?|lists?|notes?|examples?|authors?|writers?)"
_TOLD = r"(?:mentioned|described|stated|discussed|listed|shown|given|outlined|explained|provided|defined|cited)"
_TELLS = r"(?:say|state|mention|describe|explain|argue|claim|suggest|imply|report|define|list|discuss|recommend)"

_ENGLISH = (
    rf"\b(?:this|these|the (?:above|following|given|provided|present|preceding|previous|said))"
    rf"(?: \w+)? (?:{_TEXT}|{_SHOWN})\b",
    rf"\b(?:according to|based on|{_TOLD} (?:in|by|on)) the (?:{_TEXT}|{_SHOWN})\b",
    rf"\b(?:in|from|of|by) the {_TEXT}(?=\W*$|\s*[,;:.?!])",
    rf"\bthe (?:{_TEXT}|authors?|writers?) {_TELLS}s?\b",
    rf"\b{_TOLD} (?:above|below|here|earlier|previously)\b",
)

_TEXT_KO = r"(?:글|본문|지문|문단|단락|텍스트|발췌문|문서|자료|기사|내용|구절|출처|표|그림|예시|노트|컨텍스트)"
_PARTICLE_KO = r"(?:은|는|이|가|을|를|의|에|에는|에서|에서는|에서의|에서도|으로|로|과|와|도|만)?"
_UNBOUND_KO = r"(?:^|[,.]\s*|(?<=[은는이가을를에서로와과도])\s+)"  # without a noun before it that names the text
_TOLD_KO = (
    r"(?:따르면|의하면|따를 때|보면|근거하면"
    r"|(?:언급|설명|제시|소개|기술|서술|명시|기재|정의)(?:된|한|하는|하고|되어|돼)|나온|나오는|나와|적힌|적혀|말하는|다루는|등장하는)"
)
_KOREAN = (
    rf"(?<![가-힣])(?:이|본|위|위의|아래|아래의|다음|다음의|해당|주어진|제시된|제공된|상기|앞의)\s?{_TEXT_KO}{_PARTICLE_KO}"
    r"(?=[\s,.?!]|$)",
    rf"{_UNBOUND_KO}{_TEXT_KO}(?:에|에서|에서는|을|를|만|만을|상)?\s*{_TOLD_KO}",
    rf"{_UNBOUND_KO}(?:글|본문|지문|발췌문)(?:에서|에|의)(?=\s)",
    r"(?<![가-힣])(?:위|앞|아래)에서?\s*(?:언급|설명|말|소개|제시|서술|기술|다룬|나온)",
)
_ABOUT_A_TEXT = re.compile("|".join((*_ENGLISH, *_KOREAN)), re.IGNORECASE)

_PRONOUN = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|he|him|his|she|her|hers|this|these|those|here)\b"
    r"|(?<![가-힣])(?:그것|이것|저것|그녀|그들|이들|이곳|그곳)[가-힣]*"
    r"|(?<![가-힣])(?:이는|이를|그는|그가|그를|그의)(?![가-힣])"
    r"|(?<![가-힣])(?:이|그|저|해당|이러한|그러한|이런|그런)\s+[가-힣]+",
    re.IGNORECASE,
)
_IMPERSONAL = re.compile(
    r"\bit (?:(?:normally |usually |typically |generally )?(?:take|cost)s?\b"
    r"|(?:is |was |be )?(?:possible|impossible|necessary|safe|true|likely|allowed|permitted|legal|better|important)\b"
    r"|(?:is|was) (?:called|said|known) )",
    re.IGNORECASE,
)
# Words that a pronoun cannot stand for.
_LIGHT_WORDS = """
happen mean call work take make need use cause affect become know say tell describe explain purpose main primary reason
name role goal difference effect impact result feature function benefit advantage type kind number amount percent time
long far old big large high deep fast often day hour minute second week month year
"""
_LIGHT = frozenset(map(english_stem, _LIGHT_WORDS.split()))


def refers_outside(question: str) -> str:
    """The words that refer outside of the question; empty where there are none."""
    about_a_text = _ABOUT_A_TEXT.search(question)
    if about_a_text:
        return about_a_text[0].strip(" ,.")
    for pronoun in _PRONOUN.finditer(question):
        if not _IMPERSONAL.match(question, pronoun.start()) and not _names_something(question[: pronoun.start()]):
            return pronoun[0]
    return ""


def _names_something(text: str) -> bool:
    """Whether a following pronoun could stand for something in the text."""
    return any(word.forms.isdisjoint(_LIGHT) for word in content_words(text)) or re.search(r"\d", text) is not None
