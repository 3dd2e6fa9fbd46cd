"""What may follow a Korean noun in the same word: suffixes, particles, the copula with its endings, light verbs.

A table of morpheme classes and of how they join, read in decomposed letters, so that what melts into the last syllable
(커핀데 = 커피 + ㄴ데, 개발잡니다 = 개발자 + ㅂ니다) is read as well:

    noun  plural or title or measure (들, 님, 씨, 쯤, 정도, 씩)*  then one of
          particle (particle or topic)* copula?         부산에서부터만은, 부산까지예요
          copula: 이 (left out after a vowel), honorific, tense, ending       간호사이셨습니다, 12명이래요
          a light verb (하다, 되다, 받다, 시키다) in any form                 요리하는, 이직했다

Whether 은 or 는, 이 or nothing follows is told by the last letter of the noun; after a digit or a Latin letter either.
A given name that ends with a consonant may take 이 first (은별이한테). Where a space was left out, another word may
follow a particle that begins no noun (부산으로옮겼어요).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

_SUFFIXES = "들 님 씨 쯤 정도 씩 짜리 가량 경 째 동안 내내 쪽 거 꺼 것 때 측 산 행 발 반 전 후 초 말"
_COUNTED = "쯤 정도 씩 짜리 가량 경 째 동안 간 내 내내 쪽 이나 전 후 차 대 당 이서 이상 이하 이내 넘게 미만 반"
_NOUN_SUFFIXES = "들 네 님 씨 쯤 정도 씩 짜리 가량 경 동안 내내 쪽 거 꺼 것 측 때"
_TITLES = (
    "선생 교수 박사 원장 사장 회장 부장 차장 과장 대리 팀장 실장 이사 대표 주임 사원 변호사 기자 작가 "
    "감독 선수 코치 이모 삼촌 형 누나 언니 오빠"
)
_PARTICLES = {
    "any": "에 에서 에게 에게서 한테 한테서 께 께서 에다 에다가 의 도 만 까지 부터 마다 조차 마저 밖에 보다 "
    "처럼 만큼 대로 같이 하고 뿐 서 "
    "만한 요 에도 에는 에선 에만 엔 한텐 에겐",
    "closed": "은 이 을 과 으로 으로서 으로써 으론 이랑 이나 이나마 이라도 이든 이든지 이란 이며",
    "open": "는 가 를 와 랑 나 나마 라도 든 든지 란 야 며",
    "open or ㄹ": "로 로서 로써 론",
}
_STACKED = (
    "까지 부터 만 도 은 는 의 조차 밖에 마저 처럼 보다 나 라도 이라도 이나 에 에서 에게 한테 로 으로 이 "
    "가 을 를 선 요 서 뿐 씩 쯤 정도 들 야 이야"
)
_LIGHT_VERBS = "하 해 되 돼 받 당하 당했 시키 시켰 드리 드려 드렸"
_GOES_ON = "으로 에서 에게 한테 까지 부터 를 라고 로 밖에"  # what no noun goes on with: a left out space
_NEGATED = "아니 아닙 아닌 아녀 아녜 아냐 아님 맞 없 있 말고 대신 빼고 라고 이라고"

# Endings after a vowel (이, 시), after a past or 겠, after either.
# Final letters: \u11ab is ㄴ, \u11af ㄹ, \u11b7 ㅁ, \u11b8 ㅂ.
_AFTER_VOWEL = (
    "\u11b8니다 \u11b8니당 \u11b8니까 \u11b8니다만 \u11b8죠 면 니 니까 며 면서 \u11ab데 \u11ab지 "
    "\u11ab가 \u11ab걸 \u11ab들 \u11b7다 \u11b7당 "
    "\u11af까 \u11af걸 \u11af지 \u11af게 \u11af텐데 \u11af거야 \u11af거예 \u11af수 \u11af듯 라 라고 라구 "
    "라는 라서 라니 라니까 라면 라던데 라더라 라더니 라더라고 라며 라면서 라던 라 랍니다 "
    "란다 란 란다 라네 라길래 라도 라야 라지 래 래서 랬 랬어 래도 랬는데 래매 랬잖아 랬지 자 려고 야 에 "
    "여 시 셔 세 어 어서 여서 여도 십니다 신 신데 실 시죠"
)
_AFTER_PAST = (
    "습니다 습니당 습니까 습니다만 어 어도 어야 으면 으니 으니까 으며 으면서 는데 는지 음 을 을까 을걸 "
    "을지 을텐데 을듯 다 다가 다고 다는 다면 다던데 다던 다더라 "
    "답니다 단다 대 대서 다며 다니까 었 었는데 었어 었지 었습니다 었던 었고 었다 던 던데 나 냐 니 죠"
)
_AFTER_ANY = (
    "고 구 지 지만 지는 지도 죠 쥬 네 거든 거덩 거등 잖아 자나 다 당 더라 더라고 더라구 더군 던 던데 "
    "던가 기 기도 기는 긴 기에 구나 군 구만 나 냐 냐고 냐는 다만 다가 도록 든 든지 게 "
    "고서 고는 고도 다니 다네 다던데 음 슴"
)


def _any(*names: str) -> str:
    listed = sorted({name for line in names for name in line.split()}, key=len, reverse=True)
    return "(?:" + "|".join(unicodedata.normalize("NFD", name) for name in listed) + ")"


def _jamo(pattern: str) -> str:
    return unicodedata.normalize("NFD", pattern)


_NOMINAL = "기 게 자 구 나 든 신 시 세 군 며 당 음 어 아 란 여 심 대 던"  # 나, 면, 라 have their place elsewhere
_I = _jamo("이")
_POLITE = _jamo("(?:요|용|욤|염|여|옹)?")
_NASAL = "(?:(?<=[\u110b\u1103][\u1161\u116d\u1163])[\u11bc\u11b7])?"  # 이당, 예욤, 이얌
_PAST = _any("이었 이였 였 이셨 셨 이시었 이겠 겠 었")
_FUSED = _any("이에 예 이예 에 이어 여 이야 야 이여 이시 이세 이셔 세 셔 이신 이십니다 십니다")
_DO = f"{_any(_LIGHT_VERBS)}[\u1100-\u11ff]*"
_ON = f"{_any(_GOES_ON)}[\u1100-\u11ff]{{4,}}"
_DENIED = f"{_any('이 가 은 는 도 만')}?{_any(_NEGATED)}[\u1100-\u11ff]*"
_ROLE = f"{_any(_TITLES)}(?:{_jamo('님')})?"


def _copula(between: str) -> str:
    """`between`: 이, or nothing after a vowel, where what may be the last syllable of a noun (정수기) is no ending."""
    no_noun = "" if between == _I else f"(?!{_any(_NOMINAL)}$)"
    present = f"{no_noun}{between}{_jamo('(?:시|겠)?')}{_any(_AFTER_VOWEL, _AFTER_ANY)}"
    if between == _I:
        present = f"(?:{present}|{_I}[\u11ab\u11af\u11b7])"
    past = f"{_PAST}(?:{_jamo('겠')})?{_any(_AFTER_PAST, _AFTER_ANY)}"
    topics = _jamo("(?:도|는|만|을|은|의|이|가)?")
    return f"(?:{present}|{past}|{_FUSED}){topics}{_NASAL}{_POLITE}{_NASAL}"


_COPULA_CLOSED = _copula(_I)
_COPULA_OPEN = f"(?:{_COPULA_CLOSED}|{_copula(f'(?:{_I})?')})"
_STACK = f"{_any(_STACKED)}{{0,3}}"


def _tails(particles: str, copula: str) -> str:
    return f"(?:{particles}{_STACK}(?:{_COPULA_OPEN})?{_POLITE}|{copula}|{_DENIED}|{_ON}|{_POLITE})"


_OPEN = _tails(_any(_PARTICLES["any"], _PARTICLES["open"], _PARTICLES["open or ㄹ"]), _COPULA_OPEN)
_CLOSED = _tails(_any(_PARTICLES["any"], _PARTICLES["closed"]), _COPULA_CLOSED)
_CLOSED_BY_RIEUL = _tails(_any(_PARTICLES["any"], _PARTICLES["closed"], _PARTICLES["open or ㄹ"]), _COPULA_CLOSED)
_EITHER = _tails(_any(*_PARTICLES.values()), _COPULA_OPEN)
_AFTER_SUFFIX = f"{_any(_NOUN_SUFFIXES)}{{1,2}}{_EITHER}"
_AFTER_COUNT = f"(?:{_any(_COUNTED)}{{0,2}}){_EITHER}"
_NAME = f"(?:{_I})?(?:{_ROLE})?{_OPEN}"

_BY_FINAL = {
    "open": f"(?:{_OPEN}|{_AFTER_SUFFIX}|{_DO})",
    "closed": f"(?:{_jamo('아')}|{_CLOSED}|{_AFTER_SUFFIX}|{_DO}|{_I}{_OPEN}|{_I}{_AFTER_SUFFIX})",
    "rieul": f"(?:{_jamo('아')}|{_CLOSED_BY_RIEUL}|{_AFTER_SUFFIX}|{_DO}|{_I}{_OPEN}|{_I}{_AFTER_SUFFIX})",
    "either": f"(?:{_EITHER}|{_AFTER_SUFFIX}|{_DO})",
    "count": f"(?:{_AFTER_COUNT}|{_any(_COUNTED)}?{_DO}|{_jamo('에')}[\u1100-\u11ff]{{6,}})",
    "titled": f"{_ROLE}{_EITHER}",
}
_COUNTRY = re.compile("(?:한|미|중|영|태|외|내|타)국$")
_FINAL_RIEUL = 8
_MELTED = re.compile("[\u11ab\u11af\u11b8]")


@cache
def _tail(kind: str) -> re.Pattern[str]:
    """Compiled when it is needed first: all of them take a tenth of a second."""
    return re.compile(_BY_FINAL[kind])


@lru_cache(maxsize=16384)
def follows(noun: str, ending: str) -> bool:
    """Whether `ending`, Hangul, may follow a noun (its last word in Hangul, a digit or a Latin letter)."""
    if not ending:
        return True
    letters = unicodedata.normalize("NFD", ending)
    if ending[0] == "인" and _COUNTRY.search(noun):  # a people, not the copula
        return False
    if _tail(_final(noun)).fullmatch(letters):
        return len(noun) > 1 or ending == "하고" or not re.match(_DO, letters) or len(ending) > 2
    return len(noun) == 3 and _tail("titled").fullmatch(letters) is not None


@lru_cache(maxsize=4096)
def follows_count(rest: str) -> bool:
    """Whether Hangul may follow a number with its unit."""
    return _tail("count").fullmatch(unicodedata.normalize("NFD", rest)) is not None


def melts(noun: str, word: str) -> bool:
    """Whether the copula melts into the last syllable of a noun: 커핀데, 개발잡니다, 누나ㄹ지도."""
    ours, theirs = unicodedata.normalize("NFD", noun), unicodedata.normalize("NFD", word)
    tail = theirs[len(ours) :]
    return (
        theirs.startswith(ours)
        and len(tail) > 2
        and _MELTED.match(tail) is not None
        and bool(_tail("open").fullmatch(tail))
    )


def _final(noun: str) -> str:
    last = noun[-1:]
    if not "가" <= last <= "힣":
        return "either"
    final = (ord(last) - ord("가")) % 28
    return "open" if final == 0 else "rieul" if final == _FINAL_RIEUL else "closed"
