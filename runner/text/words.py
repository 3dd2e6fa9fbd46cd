"""Content words of Korean and English, reduced to stems that inflected forms share.

English words lose inflection (plural, -ing, -ed, -ly, 's). Korean words lose particles and verb endings;
since an ending cannot always be told from the end of a stem, a word has several possible forms and two
words are the same when they share one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:['’][A-Za-z]+)?|[가-힣]+|\d+(?:[.,:]\d+)*")

STOPWORDS = frozenset(
    """a an the this that these those it its itself he she they them their theirs his her hers him we us our ours you
    your yours i me my mine who whom whose which what when where why how all any both each few more most other some such
    only own same so than too very can could will would shall should may might must do does did doing done be am is are
    was were been being have has had having of at by for with about against between into through during before after
    above below to from up down in out on off over under again further then once here there and but if or because as
    until while no nor not s t don isn aren wasn weren doesn didn won also however yes just even still much many well
    etc e g i'm it's don't doesn't didn't isn't aren't wasn't can't cannot won't let's that's there's you're they're
    one ones upon via per within without among along across toward towards whether either neither although though yet
    ever never every since thus hence therefore moreover furthermore additionally including include includes included
    like get gets got make makes made use""".split()
) | frozenset(
    """그 이 저 것 수 등 및 또 더 때 중 그리고 그러나 하지만 또는 또한 그래서 따라서 즉 이는 이를 이것 그것 저것 이런 그런
    저런 이러한 그러한 어떤 무엇 언제 어디 누구 어떻게 왜 모든 각 약 좀 잘 매우 아주 가장 제 내 네 저는 나는 우리 있다 없다
    있는 없는 있습니다 없습니다 있어요 없어요 합니다 됩니다 입니다 이다 한다 된다 하는 되는 하고 되고 하며 되며 해요 돼요
    대해 대한 위해 위한 통해 통한 따라 따른 의해 경우 수도 것은 것이 것을 것입니다 때문 때문에 네 예 아니요 아니오""".split()
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it stands in the text and the forms under which it may be met elsewhere."""

    text: str
    forms: frozenset[str]


def content_words(text: str) -> list[Word]:
    """Words that carry meaning, in order: no function words, no numbers."""
    found = (match[0] for match in _WORD.finditer(text))
    return [
        Word(word, forms(word))
        for word in found
        if not word[0].isdigit() and word.lower() not in STOPWORDS and (len(word) > 1 or "가" <= word <= "힣")
    ]


@lru_cache(maxsize=65536)
def forms(word: str) -> frozenset[str]:
    """All forms of one word: one English stem, or the possible Korean stems."""
    return frozenset(_korean_forms(word)) if "가" <= word[0] <= "힣" else frozenset({english_stem(word)})


def same_word(first: str, second: str) -> bool:
    return not forms(first).isdisjoint(forms(second))


# --- English ----------------------------------------------------------------------------------------

_IRREGULAR = {
    "children": "child", "men": "man", "women": "woman", "people": "person", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "went": "go", "gone": "go", "goes": "go", "took": "take", "taken": "take", "gave": "give",
    "given": "give", "came": "come", "became": "become", "began": "begin", "begun": "begin", "wrote": "write",
    "written": "write", "built": "build", "bought": "buy", "sold": "sell", "told": "tell", "said": "say",
    "paid": "pay", "kept": "keep", "held": "hold", "led": "lead", "left": "leave", "lost": "lose", "met": "meet",
    "ran": "run", "saw": "see", "seen": "see", "sent": "send", "spent": "spend", "thought": "think", "won": "win",
    "knew": "know", "known": "know", "grew": "grow", "grown": "grow", "chose": "choose", "chosen": "choose",
    "found": "find", "fell": "fall", "fallen": "fall", "rose": "rise", "risen": "rise", "broke": "break",
    "broken": "break", "drove": "drive", "driven": "drive", "held": "hold", "better": "good", "best": "good",
    "worse": "bad", "worst": "bad", "larger": "large", "largest": "large", "higher": "high", "highest": "high",
    "lower": "low", "lowest": "low", "older": "old", "oldest": "old", "analyses": "analysis", "data": "data",
}  # fmt: skip


def english_stem(word: str) -> str:
    """Lower-case stem without plural, -ing, -ed, -ly and a possessive; words of up to 3 letters stay."""
    word = unicodedata.normalize("NFKD", word.lower().replace("’", "'"))
    word = "".join(character for character in word if not unicodedata.combining(character))
    word = re.sub(r"'(?:s|re|ve|ll|d|m|t)?$", "", word)
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3:
        return word
    return _without_e(_without_suffix(_singular(word)))


def _singular(word: str) -> str:
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(?:ss|x|z|ch|sh)es$", word):
        return word[:-2]
    return word.removesuffix("s")


def _without_suffix(word: str) -> str:
    for suffix in ("ingly", "edly", "ing", "ed", "ly"):
        stem = word.removesuffix(suffix)
        if stem != word and len(stem) >= 3 and re.search(r"[aeiouy]", stem):
            if suffix == "ly":
                return stem + "le" if stem.endswith(("b", "p")) and not stem.endswith("ip") else re.sub("i$", "y", stem)
            stem = re.sub(r"([bdfgmnprt])\1$", r"\1", stem)
            return re.sub(r"i$", "y", stem)
    return word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


# --- Korean -----------------------------------------------------------------------------------------


def _decomposed(pattern: str) -> re.Pattern[str]:
    return re.compile(unicodedata.normalize("NFD", pattern))


_PARTICLE = re.compile(
    r"(?:(?:에서|에게|한테|으로|로|까지|부터|만|과|와|께서|에|께)?(?:은|는|도|만|의|를|을|이|가|까지|부터|나|라도|요)?"
    r"|으?로서|으?로써|이?라[고는도며]|이란|란|이나|이며|처럼|만큼|마다|조차|밖에|보다|이?랑|하고|들|들의|들은|들이|들을"
    r"|입니다|이에요|예요|이다|였다|이었다|이고|인|일|이었[고습].*)$"
)
# In decomposed form: an optional past or honorific, then the ending.
_ENDING = _decomposed(
    r"(?:으?시)?(?:\u11bb|어\u11bb|아\u11bb|여\u11bb|\u11bb었|겠)?"
    r"(?:습니다|습니까|\u11b8니다|\u11b8니까|세요|십시오|\u11ab다|는다|다|네요|군요|지요|죠|고|며|면|으며|으면|는|은|을|던"
    r"|지|지만|게|도록|려고|으려고|러|기|기가|기를|음|어|아|여|어요|아요|여요|어서|아서|여서|어야|아야|여야|니|으니|므로"
    r"|거나|는데|은데|으므로|\u11ab|\u11af|\u11b7|\u11ab데|\u11af지|요|자|자마자|면서|으면서)?$"
)
_LIGHT_VERB = _decomposed(r"(?:하|되|시키|받|당하|드리)$")
_CONTRACTED = str.maketrans({"해": "하", "돼": "되", "했": "핬", "됐": "됬"})


def _korean_forms(word: str) -> set[str]:
    found = {word}
    if (noun := _PARTICLE.sub("", word, count=1)) and noun != word:
        found.add(noun)
    opened = unicodedata.normalize("NFD", word.translate(_CONTRACTED))
    verb = _ENDING.sub("", opened, count=1)
    noun = _LIGHT_VERB.sub("", verb)
    for stem in (verb, noun):
        closed = unicodedata.normalize("NFC", stem)
        if len(closed) >= 2 or (closed and stem == verb and len(word) > 1):
            found.add(closed)
    return found
