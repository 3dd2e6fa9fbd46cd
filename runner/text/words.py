"""Content words of Korean and English, reduced to stems that inflected forms share.

English words lose inflection (plural, -ing, -ed, -ly, 's). Korean words lose particles and verb endings;
since an ending cannot always be told from the end of a stem, a word has several possible forms, and two
words are the same when they share one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from runner.text.patterns import compile_late
from runner.text.units import NUMBER_WORDS

_WORD = compile_late(r"[A-Za-zÀ-ɏ]+(?:['’][A-Za-z]+)?|(?<!\d)[가-힣]+")  # 일 in 30일 is a unit, no word

_ENGLISH_FUNCTION_WORDS = """
a an the this that these those it its itself he she they them their theirs his her hers him we us our ours you your
yours i me my mine who whom whose which what when where why how all any both each few more most other some such only
own same so than too very can could will would shall should may might must do does did doing done be am is are was
were been being have has had having of at by for with about against between into through during before after above
below to from up down in out on off over under again further then once here there and but if or because as until while
no nor not also however yes just even still much many well etc one ones upon via per within without among along across
toward towards whether either neither although though yet ever never every since thus hence therefore moreover
furthermore additionally including include includes included like get gets got cannot don't doesn't didn't isn't
aren't wasn't weren't can't won't couldn't wouldn't shouldn't haven't hasn't hadn't i'm it's that's there's let's
you're they're we're he's she's what's
"""
_KOREAN_FUNCTION_WORDS = """
그 이 저 것 수 등 및 또 더 때 중 데 다 그리고 그러나 하지만 그런데 근데 또는 또한 그래서 따라서 즉 그럼 그러면 만약
만일 혹시 이는 이를 이것 그것 저것 이거 그거 저거 거 게 건 걸 걸로 것도 것은 것이 것을 것입니다 거예요 거죠 건가요
건데 거기 여기 저기 이런 그런 저런 이러한 그러한 이렇게 그렇게 어떤 어떻게 어느 무슨 무엇 무엇을 무엇이 무엇인가요
무엇입니까 뭐 뭐가 뭘 뭔 뭐예요 뭔가요 언제 언제까지 언제부터 언제인가요 어디 어디서 어디에 어디인가요 누구 누가
누구인가요 왜 얼마 얼마나 얼마예요 얼마인가요 몇 며칠 정도 모든 각 약 좀 잘 매우 아주 가장 제 제가 내 내가 네 저는
나는 우리 우리가 저희 저희가 그냥 이제 자꾸 아직 있다 없다 있는 없는 있으며 없으며 있고 없고 있으면 없으면 있는데
없는데 있습니다 없습니다 있어요 없어요 있나요 없나요 있을까요 합니다 됩니다 입니다 이다 한다 된다 하는 되는 하고
되고 하며 되며 하면 되면 해요 돼요 돼 해도 하나요 되나요 할까요 될까요 인가요 하려면 하는데 되는데 되죠 않습니다
않는다 않는 않고 않아요 아닙니다 아니다 아니라 아니요 아니오 예 안 못 수도 수가 대해 대한 위해 위한 통해 통한 따라
따른 의해 경우 때문 때문에 싶어요 싶은데 싶은데요 싶습니다 주세요 알려주세요 알려줘 궁금해요 궁금합니다
"""
_NUMBERS = NUMBER_WORDS.keys() | {"hundred", "thousand", "million", "billion", "trillion"}
FUNCTION_WORDS = frozenset(_ENGLISH_FUNCTION_WORDS.split()) | frozenset(_KOREAN_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, where it starts, and the forms that it may have elsewhere."""

    text: str
    start: int
    forms: frozenset[str]


def words(text: str) -> list[Word]:
    """All words of letters, in order."""
    return [Word(match[0], match.start(), forms(match[0])) for match in _WORD.finditer(text)]


def content_words(text: str) -> list[Word]:
    """Words that carry meaning, in order: no function words, no single Latin letters, no number words."""
    return [word for word in words(text) if is_content(word.text)]


def is_content(word: str) -> bool:
    """Whether a word carries meaning: no function word, no number word, no single Latin letter."""
    lower = word.lower().replace("’", "'")
    return lower not in FUNCTION_WORDS and lower not in _NUMBERS and (len(word) > 1 or _is_hangul(word))


def all_forms(some_words: Iterable[Word]) -> frozenset[str]:
    """The forms of all words together."""
    return frozenset(form for word in some_words for form in word.forms)


@lru_cache(maxsize=65536)
def forms(word: str) -> frozenset[str]:
    """All forms of one word: one English stem, or the possible Korean stems."""
    return frozenset(_korean_forms(word)) if _is_hangul(word) else frozenset({english_stem(word)})


def _is_hangul(word: str) -> bool:
    return "가" <= word[0] <= "힣"


def particle(word: str) -> str:
    """The case particle that a Korean word ends with, the same for 은 and 는, 이 and 가 …; empty without."""
    match = _CASE.search(word) if _is_hangul(word) else None
    return _CASES[match[0]] if match else ""


# --- English ----------------------------------------------------------------------------------------

_IRREGULAR = {
    "children": "child", "men": "man", "women": "woman", "people": "person", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "went": "go", "gone": "go", "goes": "go", "took": "take", "taken": "take", "taking": "take",
    "gave": "give", "given": "give", "giving": "give", "came": "come", "coming": "come", "became": "become",
    "began": "begin", "begun": "begin", "wrote": "write", "written": "write", "writing": "write", "built": "build",
    "bought": "buy", "sold": "sell", "told": "tell", "said": "say", "says": "say", "paid": "pay", "kept": "keep",
    "held": "hold", "led": "lead", "left": "leave", "lost": "lose", "losing": "lose", "met": "meet", "ran": "run",
    "saw": "see", "seen": "see", "sent": "send", "spent": "spend", "thought": "think", "won": "win", "knew": "know",
    "known": "know", "grew": "grow", "grown": "grow", "chose": "choose", "chosen": "choose", "found": "find",
    "fell": "fall", "fallen": "fall", "rose": "rise", "risen": "rise", "broke": "break", "broken": "break",
    "drove": "drive", "driven": "drive", "made": "make", "making": "make", "used": "use", "using": "use", "uses": "use",
    "better": "good", "best": "good", "worse": "bad", "worst": "bad", "larger": "large", "largest": "large",
    "higher": "high", "highest": "high", "lower": "low", "lowest": "low", "older": "old", "oldest": "old",
    "longer": "long", "longest": "long", "shorter": "short", "shortest": "short", "news": "news", "series": "series",
    "species": "species", "analyses": "analysis", "got": "get", "gotten": "get",
    "taught": "teach", "caught": "catch", "brought": "bring", "fought": "fight", "slept": "sleep", "felt": "feel",
    "heard": "hear", "stood": "stand", "understood": "understand", "ate": "eat", "eaten": "eat", "drank": "drink",
    "drunk": "drink", "swam": "swim", "swum": "swim", "sang": "sing", "sung": "sing", "rode": "ride", "ridden": "ride",
    "spoke": "speak", "spoken": "speak", "wore": "wear", "worn": "wear", "threw": "throw", "thrown": "throw",
    "flew": "fly", "flown": "fly", "drew": "draw", "drawn": "draw", "knives": "knife", "wives": "wife",
    "wolves": "wolf", "halves": "half", "shelves": "shelf", "geese": "goose", "forgot": "forget",
    "forgotten": "forget", "hid": "hide", "hidden": "hide", "stole": "steal", "stolen": "steal", "shook": "shake",
    "blew": "blow", "woke": "wake", "bred": "breed", "fed": "feed", "dug": "dig", "hung": "hang", "lent": "lend",
    "meant": "mean", "shot": "shoot", "sought": "seek", "swept": "sweep", "bitten": "bite",
    "dying": "die", "lying": "lie", "tying": "tie", "does": "do",
}  # fmt: skip


@lru_cache(maxsize=65536)
def english_stem(word: str) -> str:
    """Lower-case stem without accents, possessive, plural, -ing, -ed and -ly; words of up to 3 letters stay."""
    word = word.lower()
    if not word.isascii():
        letters = unicodedata.normalize("NFKD", word.replace("’", "'"))
        word = "".join(letter for letter in letters if not unicodedata.combining(letter))
    word = _CLITIC.sub("", word)
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    return word if len(word) <= 3 else _without_e(_without_suffix(_singular(word)))


_CLITIC = compile_late(r"'(?:s|re|ve|ll|d|m|t)?$")


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
        if stem == word or len(stem) < (4 if suffix == "ly" else 3) or not re.search(r"[aeiouy]", stem):
            continue
        if suffix == "ly" and stem.endswith("b"):
            return stem + "le"  # possibly -> possible
        if len(stem) > 3:
            stem = re.sub(r"([bdgmnprt])\1$", r"\1", stem)  # stopped -> stop, but added -> add
        return re.sub(r"i$", "y", stem)
    return word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


# --- Korean -----------------------------------------------------------------------------------------


def _decompose(pattern: str) -> re.Pattern[str]:
    return re.compile(unicodedata.normalize("NFD", pattern))


_PARTICLE = compile_late(
    r"(?:(?:에서|에게|한테|으로|로|까지|부터|만|과|와|께서|에|께)?(?:은|는|도|만|의|를|을|이|가|까지|부터|나|라도|요)?"
    r"|으?로서|으?로써|이?라[고는도며]|이란|란|이나|이며|처럼|만큼|마다|조차|밖에|보다|이?랑|하고|들(?:은|이|을|의|에게|도)?"
    r"|입니다|이에요|예요|이다|였다|이었다|이고|인|일|이었습니다|였습니다|인가요|인지|인데요?)$"
)
_CASES = {
    "은": "은", "는": "은", "이": "이", "가": "이", "을": "을", "를": "을", "과": "과", "와": "과", "의": "의",
    "에": "에", "에서": "에서", "에게": "에게", "으로": "로", "로": "로", "부터": "부터", "까지": "까지",
}  # fmt: skip
_CASE = compile_late(rf"(?<=[가-힣])(?:{'|'.join(sorted(_CASES, key=len, reverse=True))})$")
# In decomposed form: an honorific or a past, then the ending. \u11bb is a final ㅆ, \u11b8 ㅂ, \u11ab ㄴ, \u11af ㄹ.
_ENDING = _decompose(
    r"(?:으?시)?(?:\u11bb|어\u11bb|아\u11bb|여\u11bb|\u11bb었|겠)?"
    r"(?:습니다|습니까|\u11b8니다|\u11b8니까|세요|십시오|\u11ab다|는다|다|네요|군요|지요|죠|고|며|면|으며|으면|는|은|을|던"
    r"|지|지만|게|도록|려고|으려고|려면|으려면|러|기|기가|기를|음|어|아|여|어요|아요|여요|어서|아서|여서|어야|아야|여야|니"
    r"|으니|므로|거나|는데|은데|으므로|나요|는가|\u11ab가요|\u11ab|\u11af|\u11b7|\u11ab데|\u11af지|요|자|면서|으면서"
    r"|(?<=하)(?:야|서|도)|(?<=되)(?:야|서|도))$"
)
_LIGHT_VERB = _decompose(r"(?:하|되|시키|받|당하|드리)$")
_CONTRACTED = str.maketrans({"해": "하", "돼": "되", "했": "핬", "됐": "됬"})


def _korean_forms(word: str) -> set[str]:
    if len(word) == 1:
        return {word}
    decomposed = unicodedata.normalize("NFD", word.translate(_CONTRACTED))
    verb = _ENDING.sub("", decomposed, count=1)
    stem, root = _compose(verb), _compose(_LIGHT_VERB.sub("", verb))
    stems = {word, _PARTICLE.sub("", word, count=1), stem}
    if len(root) >= 2:
        stems.add(root)
    if decomposed == verb + "\u11ab" and len(stem) >= 2:
        stems.add(_compose(verb + "\u11af"))  # 만든 -> 만들
    return stems - {""}


def _compose(letters: str) -> str:
    return unicodedata.normalize("NFC", letters)
