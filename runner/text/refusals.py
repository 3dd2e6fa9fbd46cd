"""Refusals: answers that only say that the sources do not tell."""

from __future__ import annotations

import re

from runner.text.citations import without_citations
from runner.text.language import Language
from runner.text.sentences import split_sentences

REFUSAL: dict[Language, str] = {
    "en": "The sources do not answer this question.",
    "ko": "제공된 자료에서 이 질문의 답을 찾을 수 없습니다.",
}

_SOURCE = (
    r"(?:documents?|contexts?|sources?|texts?|passages?|articles?|excerpts?|materials?|(?:search )?results|notes?)"
)
_NOT = r"(?:not|n['’]t|never)"
_TELL = r"(?:know|have|find|answer|determine|tell|provide|see|locate|confirm|say)"
_FACTS = (
    r"(?:information|info|knowledge|answers?|details?|data|mention|evidence|context|indication|references?|specifics)"
)

_ENGLISH = re.compile(
    "|".join(
        (
            rf"\bI(?:['’]m| am)? (?:(?:do|did|could|can|am|was|will|would) ?{_NOT}|cannot|can['’]t)"
            rf"(?: currently| really| actually)? (?:able to )?{_TELL}\b",
            rf"\bI(?:['’]m| am| was) (?:unable|not able) to {_TELL}\b",
            rf"\b(?:I|we) (?:have|had|found|see) no (?:\w+ )?{_FACTS}\b",
            rf"\b{_SOURCE}\b(?:,? [\w'’-]+){{0,4}} (?:do|does|did|could|can) ?{_NOT}(?: \w+ly)?"
            rf" (?:answer|mention|specify|state|say|address|tell|indicate|explain)\b",
            rf"\b{_SOURCE}\b(?:,? [\w'’-]+){{0,4}} (?:do|does|did) ?{_NOT}(?: \w+ly)?"
            rf" (?:contain|include|provide|give|have|offer|cover|discuss|describe)"
            rf"(?: (?!about|on)[\w'’-]+){{0,3}} (?:{_FACTS}|(?:specific|explicit|enough|sufficient) \w+|whether|how|why|when|where|who)\b",
            rf"\b(?:provided|given|retrieved|available|above) {_SOURCE} (?:do|does|did) ?{_NOT}(?: \w+ly)? "
            rf"(?:contain|include|provide|give|have|offer|cover|discuss|describe)\b",
            rf"\bthere(?: is|['’]s| was| are| were) (?:no|not any|not enough|insufficient) (?:[\w'’-]+ ){{0,2}}{_FACTS}\b",
            rf"^(?:sorry,? (?:but )?)?(?:no|not enough|insufficient) (?:[\w'’-]+ ){{0,2}}{_FACTS}\b(?! (?:is|are) needed)",
            rf"\b{_NOT} (?:\w+ly )?(?:mentioned|specified|stated|provided|found|addressed|covered|discussed|included"
            rf"|answered|given) (?:anywhere )?(?:in|by) (?:the |these |any of the |my |our )?(?:\w+ ){{0,2}}{_SOURCE}\b",
            rf"\b(?:can{_NOT}|cannot|can ?{_NOT}|could ?{_NOT}) be (?:answered|determined|inferred|found)\b"
            rf"(?=.* (?:from|with|in|on|using) (?:the )?(?:\w+ ){{0,2}}(?:{_SOURCE}|{_FACTS})\b|[.!]?$)",
            r"^(?:unanswerable|unknown|no answer(?: found| available)?|not available|n/a)[.!]?$",
        )
    ),
    re.IGNORECASE,
)

_자료 = (
    r"(?:문서|자료|맥락|문맥|컨텍스트|출처|본문|지문|글|텍스트|검색 결과|내용|정보|노트)(?:들)?(?:만|을|를)?"
    r"(?:에서|에는|에서는|에|로|으로|로는|으로는|만으로는| 안에| 내에서?| 중에| 가운데)(?:는|도)?"
)
_사실 = r"(?:정보|내용|답|답변|언급|근거|설명|기록|자료|단서|문서)"
_KOREAN = re.compile(
    "|".join(
        (
            rf"{_자료}.*(?:찾을 수 없|찾지 못|확인할 수 없|확인되지 않|확인하지 못|알 수 없|판단할 수 없"
            rf"|나와 ?있지 않|나오지 않|나타나지 않|포함(?:되어|돼) ?있지 않|포함되지 않|(?:언급|명시|기술|기재|설명|서술)"
            rf"(?:되어 ?있지|돼 ?있지|되지|하지|하고 있지) ?않|적혀 ?있지 않|다루지 않|다루고 있지 않|{_사실}[이가은는]? ?없)",
            rf"(?:관련|해당|질문|대한|관한|그런|그러한|충분한|구체적인|필요한)(?:된|된 |의)?.{{0,20}}{_사실}[을를이가은는도]?"
            rf" ?(?:찾을 수 없|찾지 못|확인할 수 없|가지고 있지 않|갖고 있지 않|없습니다|없어요|없다|없음|부족)",
            rf"{_자료.replace('(?:에서|', '(?:[은는]|에서|')}.{{0,40}}(?:답하지|답을 (?:주지|제공하지)|{_사실}[을를] "
            rf"(?:제공하지|포함하(?:지|고 있지)|담고 있지|주지)) ?않",
            r"(?:대답|답변?|답변?을)(?:을)? ?(?:해 ?)?(?:드릴|할|줄|제공할) 수 (?:가 )?없",
            r"^(?:죄송(?:합니다|하지만|해요),?\.? ?)?(?:저는 |저도 |그건 |그것은 |이건 |그 질문은 )?(?:잘 )?(?:모르겠|모릅니다|몰라요|알 수 없)",
        )
    )
)

_COURTESY = re.compile(
    r"^(?:(?:I['’]m |I am |we['’]re |we are )?(?:very |so |really |truly )?(?:sorry|afraid)\b|(?:my |our )?apologies\b"
    r"|unfortunately[.!]?$|(?:sure|certainly|of course|no problem|great|thank(?:s| you)\b.*|you['’]re welcome)[.!]*$"
    r"|(?:please )?(?:let me know|feel free|do not hesitate|don['’]t hesitate)\b|(?:I )?hope (?:this|that) helps"
    r"|if (?:you )?(?:have|need|require|would like|want)\b.*\b(?:questions?|help|assistance|let me know|feel free)\b"
    r"|(?:please )?(?:provide|share|clarify|rephrase|give)\b.*\b(?:more|details|question|context|information)\b"
    r"|is there anything|(?:could|can|would|do) you\b.*\?$"
    r"|(?:죄송|미안|유감|안타깝)|(?:다른|더 궁금|추가|도움).*(?:말씀해|알려|문의해|질문해) ?(?:주|달라)|감사합니다)",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    rf"^(?:the|these|they|it)\b(?: \w+){{0,2}} ?(?:{_SOURCE})?(?: \w+)? ?(?:only|just|merely|mainly|mostly)\b"
    r"|^(?:you (?:may|might|can|could|should) |please )(?:want to |wish to )?(?:contact|consult|check|refer|reach out|visit)\b"
    r"|.*(?:문의|확인|참고|상담)(?:해 주|하시|해 보|하세)"
    r"|^(?:제공된 |주어진 )?(?:문서|자료|컨텍스트|본문|글)(?:들)?[은는](?: 주로| 단지)? .*만\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|‘[^’]*’|「[^」]*」|`[^`]*`")


def says_unknown(sentence: str) -> bool:
    """Whether one sentence says that the sources or the speaker do not tell; quoted words do not count."""
    plain = _QUOTED.sub('""', without_citations(sentence)).strip(" \t-*#>")
    return bool(_ENGLISH.search(plain) or _KOREAN.search(plain))


def is_courtesy(sentence: str) -> bool:
    """Whether one sentence is an apology, an offer or a request to the reader."""
    return _COURTESY.search(sentence.strip(" \t-*#>")) is not None


def _clauses(sentence: str) -> list[str]:
    """The parts of a sentence before and after "but" and "however"; a bare apology goes with what follows."""
    return [part for part in re.split(r",?;? (?:but|however|although|지만),? ", sentence) if part.strip()]


def is_refusal(text: str) -> bool:
    """Whether an answer gives nothing but a refusal.

    Every sentence must say that the answer is unknown, be a courtesy (an apology, an offer, a question
    back), or tell what the sources are about instead; an answer that says "I do not know, however …" and
    goes on with facts is no refusal, nor is an empty text.
    """
    sentences = [part for sentence in split_sentences(text) for part in _clauses(sentence)]
    unknown = [says_unknown(sentence) for sentence in sentences]
    if not any(unknown):
        return False
    return all(
        is_unknown or is_courtesy(sentence) or _INSTEAD.search(sentence)
        for sentence, is_unknown in zip(sentences, unknown, strict=True)
    )
