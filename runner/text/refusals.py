"""Refusals: answers that only say that the sources do not tell, in Korean and English."""

from __future__ import annotations

import re

from runner.text.citations import without_citations
from runner.text.courtesies import is_courtesy
from runner.text.language import Language
from runner.text.sentences import split_sentences

REFUSAL: dict[Language, str] = {
    "en": "The sources do not answer this question.",
    "ko": "제공된 자료에서 이 질문의 답을 찾을 수 없습니다.",
}

_NOT = r"(?:not|n['’]t|never)"
_SOURCE = (
    r"(?:documents?|contexts?|sources?|texts?|passages?|articles?|excerpts?|materials?|(?:search )?results|notes?)"
)
_FACTS = (
    r"(?:information|info|knowledge|answers?|details?|data|mention|evidence|context|indication|references?|specifics)"
)
_KNOW = r"(?:know|have|find|answer|determine|tell|provide|see|locate|confirm|say)"
_TELL = r"(?:answer|mention|specify|state|say|address|tell|indicate|explain)"
_HOLD = r"(?:contain|include|provide|give|have|offer|cover|discuss|describe)"
_SOURCES_DO_NOT = rf"\b{_SOURCE}\b(?:,? [\w'’-]+){{0,4}} (?:do|does|did|could|can) ?{_NOT}(?: \w+ly)?"

_ENGLISH = (
    # I do not know; I am unable to find; I have no information
    rf"\bI(?:['’]m| am)? (?:(?:do|did|could|can|am|was|will|would) ?{_NOT}|cannot|can['’]t)"
    rf"(?: currently| really| actually)? (?:able to )?{_KNOW}\b",
    rf"\bI(?:['’]m| am| was) (?:unable|not able) to {_KNOW}\b",
    rf"\b(?:I|we) (?:have|had|found|see) no (?:\w+ )?{_FACTS}\b",
    # the documents do not say; the text does not contain any information
    rf"{_SOURCES_DO_NOT} {_TELL}\b",
    rf"{_SOURCES_DO_NOT} {_HOLD}(?: (?!about|on)[\w'’-]+){{0,3}} {_FACTS}\b",
    rf"{_SOURCES_DO_NOT} {_HOLD} (?:any )?"
    r"(?:(?:specific|explicit|enough|sufficient) \w+|whether|how|why|when|where|who)\b",
    rf"\b(?:provided|given|retrieved|available|above) {_SOURCE} (?:do|does|did) ?{_NOT}(?: \w+ly)? {_HOLD}\b",
    # there is no information; no details found
    rf"\bthere(?: is|['’]s| was| are| were) (?:no|not any|not enough|insufficient) (?:[\w'’-]+ ){{0,2}}{_FACTS}\b",
    rf"^(?:sorry,? (?:but )?)?(?:no|not enough|insufficient) (?:[\w'’-]+ ){{0,2}}{_FACTS}\b(?! (?:is|are) needed)",
    # no related documents were found; this content is not available yet
    rf"^no (?:\w+ )?{_SOURCE} (?:(?:were|was|have been|could be) )?found\b",
    r"^(?:this|that|the requested) (?:content|topic|information|page) is"
    r" (?:not (?:yet )?available(?: yet)?|being prepared)[.!]?$",
    # not mentioned in the text; cannot be determined from the context
    rf"\b{_NOT} (?:\w+ly )?(?:mentioned|specified|stated|provided|found|addressed|covered|discussed|included|answered"
    rf"|given) (?:anywhere )?(?:in|by) (?:the |these |any of the |my |our )?(?:\w+ ){{0,2}}{_SOURCE}\b",
    rf"\b(?:cannot|can ?{_NOT}|could ?{_NOT}) be (?:answered|determined|inferred|found)\b"
    rf"(?=.* (?:from|with|in|on|using) (?:the )?(?:\w+ ){{0,2}}(?:{_SOURCE}|{_FACTS})\b|[.!]?$)",
    r"^(?:unanswerable|unknown|no answer(?: found| available)?|not available|n/a)[.!]?$",
)

_SOURCE_KO = r"(?:문서|자료|맥락|문맥|컨텍스트|출처|본문|지문|글|텍스트|검색 결과|내용|정보|노트)들?"
_IN_SOURCE_KO = rf"{_SOURCE_KO}(?:만|을|를)?(?:에서|에|으로|로|만으로| 안에| 내에서?| 중에| 가운데)(?:는|도)?"
_FACTS_KO = r"(?:정보|내용|답변?|언급|근거|설명|기록|자료|단서|문서)"
_HARD_KO = r"(?:가|는|에는|엔)? ?(?:어렵|어려|힘들|곤란)[가-힣]*[.!]?$"

_KOREAN = (
    # 문서에서 … 찾을 수 없습니다; 본문에는 … 나와 있지 않습니다; 자료에 … 정보가 없습니다
    rf"{_IN_SOURCE_KO}.*(?:찾을 수 없|찾지 못|확인할 수 없|확인되지 않|확인하지 못|알 수 없|판단할 수 없|나오지 않"
    r"|나와 ?있지 않|나타나지 않|포함(?:되어|돼) ?있지 않|포함되지 않|적혀 ?있지 않|다루지 않|다루고 있지 않"
    r"|(?:언급|명시|기술|기재|설명|서술)(?:되어 ?있지|돼 ?있지|되지|하지|하고 있지) ?않"
    rf"|{_FACTS_KO}[이가은는]? ?없)",
    # 관련 정보를 찾을 수 없습니다; 구체적인 내용이 없습니다
    rf"(?:관련|해당|질문|대한|관한|그런|그러한|충분한|구체적인|필요한)(?:된|의)?.{{0,20}}{_FACTS_KO}[을를이가은는도]?"
    r" ?(?:찾을 수 없|찾지 못|확인할 수 없|가지고 있지 않|갖고 있지 않|없습니다|없어요|없다|없음|부족)",
    # 제공된 문서는 이 질문에 답하지 않습니다
    rf"{_SOURCE_KO}(?:[은는]|에서는?|에는?).{{0,40}}"
    rf"(?:답하지|답을 (?:주지|제공하지)|{_FACTS_KO}[을를] (?:제공하지|포함하지|포함하고 있지|담고 있지|주지)) ?않",
    # 해당 내용은 준비 중입니다
    r"^(?:해당|요청하신|문의하신|이) ?(?:내용|정보|문서|주제)[은는이가] (?:아직 |현재 )?준비 ?중",
    # 질문하신 내용은 자료에 없습니다; 질문에 대한 정보가 제공되지 않았습니다
    rf"(?:질문|요청|문의)하신 {_FACTS_KO}[은는이가] {_IN_SOURCE_KO} ?(?:없|보이지 않)",
    rf"(?:관련|해당|질문|대한|관한)(?:된|의)?.{{0,20}}{_FACTS_KO}[은는이가] (?:제공되지|주어지지) 않",
    # 답변드릴 수 없습니다; 답변드리기 어렵습니다; 자료만으로는 알기 어렵습니다; 답을 알 수 없습니다; 모르겠습니다
    r"(?:대답|답변?)을? ?(?:해 ?)?(?:드릴|할|줄|제공할) 수 (?:가 )?없",
    rf"(?:대답|답변?)을? ?(?:해 ?)?(?:드리기|하기|주기|제공하기){_HARD_KO}",
    rf"{_IN_SOURCE_KO}.*(?:알기|알려드리기|확인하기|판단하기|파악하기|말씀드리기){_HARD_KO}",
    r"(?:대답|정답|답변?)[은는을를] 알 수 없",
    r"^(?:찾지 못했|찾을 수 없|확인할 수 없|확인하지 못했)[가-힣]*[.!]?$",
    r"^(?:죄송(?:합니다|하지만|해요)[,.]? ?)?(?:저는 |저도 |그건 |그것은 |이건 |그 질문은 )?(?:잘 )?"
    r"(?:모르겠|모릅니다|몰라요|알 수 없)",
)
_UNKNOWN = re.compile("|".join((*_ENGLISH, *_KOREAN)), re.IGNORECASE)

# What a refusal may add: what the sources are about instead, and where else to ask.
_INSTEAD = re.compile(
    rf"^(?:the|these|they|it)\b(?: \w+){{0,2}} ?(?:{_SOURCE})?(?: \w+)? ?(?:only|just|merely|mainly|mostly)\b"
    r"|^(?:you (?:may|might|can|could|should) |please )(?:want to |wish to )?"
    r"(?:contact|consult|check|refer|reach out|visit)\b"
    r"|.*(?:문의|확인|참고|상담)(?:해 주|하시|해 보|하세)"
    rf"|^(?:제공된 |주어진 )?{_SOURCE_KO}[은는](?: 주로| 단지)? .*만\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|‘[^’]*’|「[^」]*」|`[^`]*`")
_CONTRAST = re.compile(r",?;? (?:but|however|although),? |지만,? ", re.IGNORECASE)


def says_unknown(sentence: str) -> bool:
    """Whether one sentence says that the sources or the speaker do not tell; quoted words do not count."""
    plain = _QUOTED.sub('""', without_citations(sentence)).strip(" \t-*#>")
    return _UNKNOWN.search(plain) is not None


def is_refusal(text: str) -> bool:
    """Whether an answer gives nothing but a refusal; an empty text is none.

    Every clause must say that the answer is unknown, be a courtesy (an apology, an offer), or tell what
    the sources are about instead or where else to ask. An answer that says "I do not know, however …" and
    goes on with facts is no refusal.
    """
    clauses = [part for sentence in split_sentences(text) for part in _CONTRAST.split(sentence) if part.strip()]
    unknown = [says_unknown(clause) for clause in clauses]
    return any(unknown) and all(
        is_unknown or is_courtesy(clause) or _INSTEAD.search(clause) is not None
        for clause, is_unknown in zip(clauses, unknown, strict=True)
    )
