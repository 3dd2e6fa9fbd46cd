"""Facts of Korean clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.memory.extraction.facts import Fact
from runner.text.numbers import quantities

LONGEST_KEY, LONGEST_VALUE = 6, 8  # words

_OPENING = re.compile(
    r"^(?:(?:참|아|어|음|네|예|그리고|그런데|근데|아니|참고로|사실|그래서|일단|우선|이제|앞으로는|앞으로|오늘부터|오늘|어제|방금|정정할게요|정정합니다|아참|그럼"
    r"|또|다시|결국|그러다|드디어|마침내|최종적으로|확인해 보니|알고 보니|다행히|아쉽게도|회의 결과)[,.!]?\s+)+"
)
_CLAUSES = re.compile(
    r"(?<=[가-힣\d%A-Za-z])(?:이고|이며|인데|이지만|는데|은데|지만|어서|아서|해서|으니|니까|으며|하며|(?<![라다자])고(?!,?\s+(?:있|싶|나서|해|하|합|했)))[,]?\s+(?=\S)"
    r"|(?<=[가-힣]),\s+(?!\d)|;\s+|\s+[—–-]\s+"
)
_COPULA = (
    r"(?:이에요|예요|이예요|에요|입니다|이었어요|였어요|이었습니다|였습니다|이라고요|라고요|이라고 (?:해요|합니다|하네요|하더라고요|해|불러요|부릅니다|들었어요)"
    r"|라고 (?:해요|합니다|하네요|하더라고요|해|불러요|부릅니다|들었어요)|이래요|이랍니다|이다|이야|이네요|이군요|이지요|이죠|이거든요|인데요"
    r"|(?:이|가) (?:됐어요|되었어요|됐습니다|되었습니다|돼요|됩니다|맞아요|맞습니다)|이 될 (?:예정이에요|거예요))"
)
_VERBAL = re.compile(r"(?:보|쓰|줄|높|붙|모|들|먹|죽|속)입니다$")
# After a vowel these may be endings of verbs (크네요), too: what stands before must look like a value.
_SHORT_COPULA = re.compile(
    r"^(?P<value>.*[\dA-Za-z%원명개대억만층호](?:\s?님)?)(?:야|네요|군요|지요|죠|래요|랍니다|거든요|고|며|임|다)$"
)
_NOT_SUBJECTS = frozenset(
    """
    이 그 저 많이 같이 없이 굳이 가까이 깊이 높이 특히 빨리 아니 하는 되는 있는 없는 쓰는 가는 오는 보는 같은 많은 좋은 새로운 나오는 사는 다니는
    맡은 받은 넣은 남은 작은 높은 낮은 빠른 이런 저런 그런 어떤 이는 그는 것은 것이 것을 수는 수가 때는 거는 건 다시는 또는 혹은 또한 늘어난 줄어든
    여기는 거기는 이거는 그거는 그건 이건 이게 그게 저게 게 무엇이 뭐가 누가 어디가 언제가
    """.split()
)
_SELF = frozenset("저는 나는 전 난 제가 내가 저도 나도 저희는 우리는 저희가 우리가".split())
_OWNER = re.compile(
    r"^(?:(?:저희|우리|저희가|우리가|제가|내가|제|내|나의|저의|우리의|저희의|현재|지금|그중|그럼|그러면)\s+)+"
)
_ADNOMINAL = re.compile(r"(?:는|은|된|한|던|린|난|운|인)$")
_NO_KEY = re.compile(r"(?:면|는지|부터|라도|에게|께|[을를])(?:\s|$)|^\d+\S*$")
_AFTER_CONNECTIVE = re.compile(
    r"^.*(?:보면|따르면|하면|앞두고|관련해서|관련해|위해|대해|하고|해서|면서|에서는?|으로는|라서|때문에)\s+(?=\S)"
)
_ADVERB = (
    r"(?:다시|한 번 더|한번 더|또|결국|이제|이제는|지금은|현재|현재는|최종|최종적으로|약|대략|모두|총|전부|대부분|아직|그중|매달|매월|매주|매년|매일|일단|우선|정확히|드디어"
    r"|새로|급히|방금|오늘|어제|이번에|조금|많이|더|갑자기|거의|원래|당분간|주로|이미|곧|바로|확실히|공식적으로|앞으로)"
)
_CHANGE = re.compile(
    r"(?:늘|줄|바뀌|바뀐|바뀔|바꾸|바꿨|바꿀|변경|옮|미루|미뤄|미뤘|밀렸|밀려|밀릴|연기|당겨|당겼|당기|앞당|조정|수정|정했|정해|정하|확정|결정|올렸|올려|올리|올랐|올라|오를"
    r"|내렸|내려|내리|낮췄|낮춰|낮추|높였|높여|높이|감소|증가|교체|갈아|이전|전환|인상|인하|삭감|증액|감액|되었|됐|된|돼|됩|될|했|하기로|가기로|쓰기로|잡혔|잡았|잡아|맞췄"
    r"|개명|승진|재조정|축소|확대|단축|연장|업데이트|정정|고쳤|고치|바로잡|선정|지정|배정|뽑|합의|채택|갱신|이동|넘어|깎|뛰|떨어|커졌|작아졌|많아졌|적어졌|합시다|할게요|하죠|가죠|해요|합니다|씁니다|써요|갑니다|예정|계획)"
)
_BECAME = re.compile(
    rf"^(?:{_ADVERB}\s+)*(?:(?P<old>[^,]{{1,30}}?)에서\s+(?:{_ADVERB}\s+)*)?(?P<value>[^,]{{1,40}}?)(?<![새별대때])(?:으로|로)\s+(?P<verb>.+)$"
)
_INSTEAD = re.compile(r"^(?P<old>[^,]{1,30}?)\s*(?:대신에?|말고|이 아니라|가 아니라|이 아닌|가 아닌)\s+(?P<rest>.+)$")
_IS = re.compile(rf"^(?:{_ADVERB}\s+)*(?P<value>.+?)\s?{_COPULA}$")
_CONNECTIVE = re.compile(r"(?:이고|이며|인데|이지만|이라서|이니까|이니)$")
_PLACED = re.compile(rf"^(?:{_ADVERB}\s+)*(?P<value>[^,]{{1,30}}?)에\s+(?:있|위치|자리)")
_VERSION = re.compile(r"^v?\d+(?:\.\d+)+\S*$|^v\d\S*$")
_PERSON = re.compile(
    r"^(?P<value>[^,]{1,30}?)(?:\s?님)?(?:(?:이|가|께서)\s+(?:해요|합니다|맡|담당|진행|승인|관리|책임|봐요|봅니다)|께\s+\S|에게\s+\S)"
)
_USES = re.compile(r"^(?P<value>[^,]{1,30}?)(?:을|를)\s+(?:쓰|씁|써|사용|이용|고르|골랐|선택|채택|택했|도입|맡)")
_COLON = re.compile(r"^(?P<key>[가-힣A-Za-z][^:=,.?!]{0,24}?)\s?(?::|=)\s*(?P<value>\S.*)$")
_SUFFIX = re.compile(r"\s?(?:님|씨|정도|쯤|가량|께|께서)$")

_OF_SELF: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (key, re.compile(rf"^(?:{_ADVERB}\s+)*{pattern}"))
    for key, pattern in (
        ("사는 곳", r"(?P<value>\S+(?:\s\S+)?)에(?:서)?\s+(?:살|삽|거주)"),
        ("사는 곳", r"(?:(?P<old>\S+)에서\s+)?(?P<value>\S+(?:\s\S+)??)(?:으로|로)\s+(?:이사|이주)"),
        ("직장", r"(?P<value>\S+(?:\s\S+)?)에(?:서)?\s+(?:다니|다녀|다닙|근무|일하|일해|일합|재직|취직|입사)"),
        ("직장", r"(?:(?P<old>\S+)에서\s+)?(?P<value>\S+(?:\s\S+)?)(?:으로|로)\s+이직"),
        ("이름", r"(?P<value>[가-힣A-Za-z]+?)(?:이?라고)\s+(?:해요|합니다|불러|부르)"),
        ("나이", rf"(?P<value>(?:만\s?)?\d{{1,3}}\s?(?:살|세)){_COPULA}$"),
        (
            "직업",
            rf"(?P<value>\S*(?:[^가-힣\s]|개발자|디자이너|기획자|교사|선생님|의사|간호사|변호사|회계사|학생|작가|기자|연구원|엔지니어|약사|공무원|주부|사업가|요리사|운전사|마케터|매니저)){_COPULA}$",
        ),
    )
)


def facts_of(sentence: str) -> Iterator[Fact]:
    """Facts of all clauses of a sentence, in order."""
    for clause in _clauses(sentence.strip().rstrip(".!~ ")):
        yield from _of_clause(_OPENING.sub("", clause.strip(" ,.!")))


def _clauses(sentence: str) -> Iterator[str]:
    """Each with its connective ending."""
    start = 0
    for match in _CLAUSES.finditer(sentence):
        yield sentence[start : match.end()].rstrip(" ,;")
        start = match.end()
    yield sentence[start:]


def _of_clause(clause: str) -> Iterator[Fact]:
    if match := _COLON.match(clause):
        yield from _made(match["key"], match["value"])
        return
    found = _subject(clause)
    key, rest = found if found is not None else ("", clause)
    if not key:
        for own, pattern in _OF_SELF:
            if match := pattern.match(rest):
                yield Fact(own, _value(match["value"]), _value(match.groupdict().get("old") or ""))
                return
    yield from _said_of(key, rest)


def _said_of(key: str, rest: str) -> Iterator[Fact]:
    old = ""
    if match := _INSTEAD.match(rest):
        old, rest = match["old"], match["rest"]
    became = _BECAME.match(rest)
    if became is not None and became["value"].endswith("기"):  # 쓰기로 했어요
        became = None
    if became is not None and (
        _CHANGE.match(_without_adverbs(became["verb"])) or (key and _is_quantity(became["value"]))
    ):
        yield from _made(key, became["value"], became["old"] or old)
    elif value := _stated(rest):
        yield from _made(key, value, old)
    elif match := _USES.match(rest) or _PLACED.match(rest) or _PERSON.match(rest):
        yield from _made(key, match["value"], old)
    elif key and (found := quantities(rest)):
        yield from _made(key, found[0].text, old, is_loose=True)


def _made(key: str, value: str, old: str = "", *, is_loose: bool = False) -> Iterator[Fact]:
    new = _value(value)
    if not key and _VERSION.match(new):
        key = "버전"
    if new and len(new.split()) <= LONGEST_VALUE and (key or old) and not _NO_KEY.search(key):
        yield Fact(_key(key), new, _value(old), is_loose)


def _subject(clause: str) -> tuple[str, str] | None:
    """What a clause is about and the rest of it: the words up to the first topic or subject, and after a topic, up to
    a subject that follows at once. An empty key for the one who speaks."""
    words = clause.split(" ")
    for at, word in enumerate(words[:LONGEST_KEY]):
        stem = _stem(word)
        if not stem:
            continue
        rest = words[at + 1 :]
        if word in _SELF:
            if rest and _ADNOMINAL.search(rest[0]):  # 제가 좋아하는 색은
                continue
            return _joined("", rest)
        if word.endswith(("이", "가")) and rest and _ADNOMINAL.search(rest[0]):  # 태그가 없는 리소스는
            for later in range(at + 2, min(len(words), LONGEST_KEY + 1)):
                if words[later].endswith(("은", "는")) and (end := _stem(words[later])):
                    return " ".join([*words[:later], end]), " ".join(words[later + 1 :])
        key = " ".join([*words[:at], stem])
        key = _AFTER_CONNECTIVE.sub("", key)
        return _joined(key, rest) if word.endswith(("은", "는")) else (key, " ".join(rest))
    return None


def _joined(topic: str, rest: list[str]) -> tuple[str, str]:
    """`저희 팀은 인원이 6명이에요` is about 팀 인원."""
    if (
        len(rest) > 1
        and rest[0].endswith(("이", "가"))
        and (stem := _stem(rest[0]))
        and not rest[1].startswith(("아니", "아닌"))
    ):
        return f"{topic} {stem}".strip(), " ".join(rest[1:])
    return topic, " ".join(rest)


_PARTICLES = ("에는", "에서는", "에게는", "에도", "께서는", "은", "는", "이", "가", "을", "를", "도")


def _stem(word: str) -> str:
    """The word without the particle that makes it a topic, subject or object; empty when it is none."""
    if word in _NOT_SUBJECTS or len(word) < 2:
        return ""
    if word in _SELF:
        return word
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) > len(particle):
            return word[: -len(particle)]
    return ""


def _without_adverbs(text: str) -> str:
    return re.sub(rf"^(?:{_ADVERB}\s+)+", "", text)


def _stated(rest: str) -> str:
    """The value of a clause that ends with a copula, be it a connective one (1억이고); else empty."""
    plain = _CONNECTIVE.sub("이에요", rest)
    match = None if _VERBAL.search(plain) else _IS.match(plain) or _SHORT_COPULA.match(plain)
    return _without_adverbs(match["value"]) if match else ""


def _is_quantity(text: str) -> bool:
    return bool(quantities(text))


def _key(text: str) -> str:
    return _OWNER.sub("", " ".join(text.split()).strip(" '\"“”‘’*_"))


def _value(text: str) -> str:
    plain = _without_adverbs(" ".join(text.split()).strip(" .,!'\"“”‘’*_`"))
    return _SUFFIX.sub("", plain).strip(" .,'\"“”‘’")
