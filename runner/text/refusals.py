"""Refusals: answers which say that the sources, or the speaker, do not know, in Korean and English.

A small grammar takes the place of a list of answers. It reads an English clause from its front: a speaker or a source,
an inability or a negation, and a verb of telling; or a negation and a noun of information. It reads a Korean clause
from its end: a predicate of absence or inability, and what may precede it (a source, a noun of information, a topic).

An answer is a refusal if its first sentence, courtesies aside, says only that. The sentences after it may speak of
something else ("다만 …", "However, …") or say where to ask. The answer is no refusal if it answers after all: by
general knowledge, a guess, yes or no, "as for …", or any statement after "nothing specific". A contrast within one
sentence ("I don't know who, but …", "나와 있지 않지만 …") is an answer, too.

없음, "None" and the like are answers to a question that asks for yes or no, how many or how much; "not mentioned" is
the answer to the question whether something is mentioned. Without a question they are refusals. "No" is a refusal only
if the question does not ask for yes or no.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import dropwhile
from typing import Literal

from runner.records import Answer, Query
from runner.text.citations import without_citations
from runner.text.courtesies import is_courtesy
from runner.text.language import Language, detect_language
from runner.text.patterns import compile_late
from runner.text.sentences import split_sentences

Kind = Literal["unknown", "aside", "fact"]

REFUSAL: dict[Language, str] = {
    "en": "The sources do not answer this question.",
    "ko": "제공된 자료에서 이 질문의 답을 찾을 수 없습니다.",
}

# --- English: a clause from its front ---------------------------------------------------------------------

_SOURCE = (
    r"(?:documents?|documentation|contexts?|sources?|texts?|passages?|articles?|excerpts?|materials?|notes?|files?"
    r"|records"
    r"|(?:search )?results|search|knowledge base|help cent(?:er|re)|reports?|manuals?|conversations?|transcripts?"
    r"|paragraphs?)"
)
_INFO = (
    r"(?:information|info|knowledge|answers?|response|details?|data|mentions?|context|references?|specifics"
    r"|indications?"
    r"|records?|matches|results|documents?|passages?|sources?|idea|clue|access|background)"
)
_TELL = (
    r"(?:answers?|mentions?|specif(?:y|ies)|states?|says?|address(?:es)?|tells?|indicates?|explains?|names?|reveals?"
    r"|contains?|includes?|provides?|gives?|ha(?:ve|s)|offers?|covers?|discuss(?:es)?|describes?|lists?|discloses?"
    r"|shows?|clarif(?:y|ies)|refers?|touch(?:es)?|talks?|match(?:es)?|yields?|returns?)"
)
_TOLD = (
    r"(?:mentioned|specified|stated|provided|found|addressed|covered|discussed|included|answered|given|disclosed|listed"
    r"|described|known|indicated|explained|available|clear|determined|answerable|documented|recorded|present)"
)
_ADVERB = r"(?:(?:\w+ly|yet|also|even|still|quite|just) )?"
_DETERMINE = r"(?:know|tell|say|determine|answer|conclude|respond|reply|judge|draw (?:a )?conclusions?)"
_KNOW = rf"(?:{_DETERMINE}|recall|remember|locate|confirm|identify|verify|(?:help|assist)(?: you)?(?: with|$))"
_SPEAKER = r"(?:I|we|this (?:assistant|chatbot))"
_NOT = r"(?:(?:do|does|did|can|could|would|will|have|has|had|is|are|was|were|am|wo|ca)(?:n['’]t| ?not)|never)"
_CANNOT = r"(?:cannot|can['’]?t|can ?not|could(?:n['’]t| not))"
_UNABLE = r"(?:unable|not able|not equipped|not authori[sz]ed|not possible|impossible|difficult|hard)"
_NO = r"(?:no|nothing|not enough|not any|not sufficient|insufficient)"
_IS_NOT = r"(?:(?:is|was|are|were)(?: not|n['’]t)|never)"
_NP = r"(?:[\w'’%&./-]+ ){0,9}?"  # a subject
_FROM = (
    rf"(?:(?:anywhere |here |based )*(?:in|by|from|within|on|using|with)(?: [\w'’-]+){{0,4}} (?:{_SOURCE}|information))"
)
_ABOUT = (  # what may follow a noun of information: "no information desk" has none of it
    r"(?=$|[,.!]| (?:about|on|regarding|concerning|related|relating|relevant|of|as to|for|that|which|whether|how|when"
    r"|who|why|where|what|here|available|provided|given|found|returned|at|to (?:this|that|the|your)"
    rf"|(?:needed |required )?to (?:{_KNOW}|provide|give|support|be able|make)|{_FROM})\b| ?$)"
)
_SUBJECT = (
    rf"(?:it|this|that|(?:(?:this|that|the|such|any|your) )?(?:\w+ )?(?:{_INFO}|content|topic|page|question|problem))"
)

_FORMS = (
    # I do not know; unable to determine; it is impossible to say; I couldn't find; I have no information
    rf"(?:{_SPEAKER} )?(?:{_NOT}|{_CANNOT}) {_ADVERB}(?:be able to )?{_KNOW}\b",
    rf"{_SPEAKER} (?:{_NOT}|{_CANNOT}) {_ADVERB}(?:be able to )?(?:find|see)\b",
    rf"{_SPEAKER} {_NOT} {_ADVERB}(?:have|possess)(?: (?!about|on|in)[\w'’-]+){{0,5}} (?:{_INFO}{_ABOUT}"
    rf"|evidence\b)",
    rf"(?:{_SPEAKER} )?(?:{_NOT}|{_CANNOT}) (?:be able to )?(?:provide|offer"
    rf"|give)(?: [\w'’-]+){{0,3}} (?:{_INFO}|evidence)\b",
    rf"{_SPEAKER}?(?: am| was| are| were|['’]m|['’]re)? ?{_ADVERB}{_UNABLE} to"
    rf" (?:{_KNOW}|find|see|(?:provide|give) (?:\w+ ){{0,3}}{_INFO})\b",
    rf"{_SPEAKER} (?:am|is|are|was|were)n['’]t able to (?:{_KNOW}|find|see)\b",
    rf"it(?: is|['’]s| was) {_UNABLE} to (?:{_DETERMINE}|provide (?:\w+ ){{0,3}}{_INFO})\b",
    rf"(?:{_SPEAKER} (?:have|had|found|see|saw|know)|(?:{_SPEAKER} )?lack) (?:{_NO} )?(?:\w+ ){{0,2}}?"
    rf"(?:(?:{_INFO}|evidence){_ABOUT}|(?<=nothing )about\b)",
    rf"{_SPEAKER} (?:am|are|was|were)(?: not|n['’]t) (?:given|provided with) (?:enough|sufficient|any)\b",
    r"(?:(?:I|we)(?:['’]m|['’]re| am| are) )?(?:not (?:\w+ly )?(?:sure|certain|aware|confident|clear)|unsure"
    r"|uncertain)"
    r"(?:$| (?:about|on|of|what|who|when|where|how|why|whether|if|which)\b)",
    r"(?:idk|dunno|no (?:idea|clue))\b",
    # you have not told me; the documents do not say; nothing in the text; neither document mentions
    rf"you {_NOT} {_ADVERB}(?:told|tell|mention(?:ed)?|said|say|shared?|specif(?:y|ied)|provided?)\b",
    rf"{_NP}{_SOURCE}(?:,? [\w'’-]+){{0,5}}? {_NOT} {_ADVERB}(?:(?:seem|appear) to )?{_TELL}\b",
    rf"{_NP}{_SOURCE}(?:,? [\w'’-]+){{0,5}}? (?:(?:is|are) (?:silent|insufficient|not (?:enough|sufficient))"
    rf"|lacks?"
    rf"|fails? to {_TELL}|(?:{_TELL}|makes?) {_NO})\b",
    rf"(?:no|neither|none of)\b (?:[\w'’-]+ ){{0,4}}?{_SOURCE}(?: [\w'’-]+){{0,3}}? {_TELL}\b",
    rf"nothing (?:{_FROM}|was found|relevant|about)",
    # there is no information; no details found; insufficient context to answer
    rf"there(?: (?:is|was|are|were)|['’]s| seems? to be| appears? to be|(?: is| was| are| were)n['’]t)"
    rf" (?:{_NO}|any|enough)\b(?: [\w'’-]+){{0,3}}? ?(?:{_INFO}{_ABOUT}|{_FROM})",
    rf"there(?: is| was|['’]s) {_NO} (?:\w+ )?evidence(?:$| (?:{_FROM}|to {_DETERMINE}\b))",
    rf"{_NO} (?:[\w'’-]+ ){{0,2}}?(?:{_INFO}|evidence)(?: (?:(?:is|was|were|are|has been|have been|could be"
    rf"|can be) )?(?:found|available|provided|given|returned|located|exists?)\b| to {_DETERMINE}\b"
    rf"| (?:about|on|regarding|of this)\b| {_FROM}|$)",
    # it is not mentioned; the answer is unknown; cannot be determined; beyond the scope of the documents
    rf"{_NP}{_IS_NOT} {_ADVERB}(?:mentioned|specified|stated|{_TOLD} {_FROM}"
    rf"|(?:anywhere )?in (?:the |my |any |your |our )?(?:\w+ )?{_SOURCE})",
    rf"{_SUBJECT} {_IS_NOT} {_ADVERB}{_TOLD}(?: yet)?(?:$| {_FROM})",
    rf"{_SUBJECT}(?:['’]s| is| was| remains) (?:not (?:\w+ )?(?:clear|known|certain)|un(?:clear|known|certain)"
    r"|being prepared)\b",
    rf"{_SUBJECT} (?:is|was|are|were) (?:unavailable|missing|insufficient|not (?:enough|sufficient))(?:$"
    rf"| {_FROM})",
    rf"(?:{_SUBJECT} )?{_CANNOT} be (?:answered|determined|inferred|established|found|verified|confirmed"
    rf"|known)\b",
    rf"{_NP}{_CANNOT} be (?:answered|determined|inferred|found|established|verified) {_FROM}",
    rf"{_NP}(?:is|are|was) (?:unclear|unknown|missing) {_FROM}",
    rf"{_NP}(?:(?:is|are|falls?|it['’]s|that['’]s) )?(?:outside|beyond) (?:of )?(?:\w+ ){{0,5}}?"
    rf"(?:{_INFO}|{_SOURCE}|scope$|experience$|expertise$)\b",
    rf"(?:unanswerable|unknown|undetermined|unspecified|unclear|n/?a|not (?:{_TOLD}|applicable)"
    rf"|not in (?:\w+ ){{0,2}}{_SOURCE})(?: {_FROM})?$",
)
_ENGLISH = compile_late(f"^(?:{'|'.join(_FORMS)})", re.IGNORECASE)
# Each form holds one of these; most answers hold none, and the forms take 20 ms to compile.
_MAY_DENY = compile_late(
    r"n['’]t\b|not\b|\b(?:no|none|nothing|neither|never|cant|any|enough|idk|dunno)\b|^n/?a\b|unable|impossible"
    r"|difficult|hard to\b|lack|unsure|uncertain|silent|insufficient|fail|missing|outside|beyond|being prepared"
    r"|un(?:clear|known|answerable|determined|specified|available)"
    r"|\b(?:I|we|assistant|chatbot) (?:have|had|found|see|saw|know)\b",
    re.IGNORECASE,
)
_OPENER = compile_late(  # what may precede the clause that counts
    r"^(?:(?:(?:I['’]m|I am|we['’]re|we are) )?(?:very |so |really )?(?:sorry|afraid)(?: that)?[,.]? ?(?:but )?"
    r"|(?:I|we) (?:apologi[sz]e|regret)\b,? ?(?:but |that )?"
    r"|(?:unfortunately|regrettably|sadly|currently|well|hmm+|um+|at this time|to be honest|honestly|therefore|so)"
    r"(?:,? ?(?:\.\.\.|…)? |, )"
    rf"|(?:based on|according to|from|in|given|within|using|as per) (?:[\w'’-]+ ){{0,6}}?(?:{_SOURCE}|information)"
    r"(?: [\w'’-]+){0,4}, |(?:after (?:review|check|read|search|look)ing|as an? (?:AI|assistant|language)"
    r"|as of my)[^,]*, "
    r"|(?:I|we)(?:['’]ve| have)? (?:looked|searched|checked|reviewed|read|went)\b[^,]*?,? (?:and|but) )",
    re.IGNORECASE,
)

# --- Korean: a clause from its end ------------------------------------------------------------------------

_SOURCE_KO = (
    r"(?:문서|자료|맥락|문맥|컨텍스트|출처|본문|지문|텍스트|발췌문|검색 ?결과|노트|매뉴얼|설명서|기획서|안내서"
    r"|명세서|회의록|보고서|기사"
    r"|대화(?: ?기록| ?내용)?|지식 ?베이스|안내문|단락|메모|데이터베이스|(?<![가-힣])글)(?:들)?"
)
_PLACE_KO = compile_late(
    rf"(?:{_SOURCE_KO}|내용|정보|범위|저희(?: 쪽)?|제게|제 쪽)(?:(?:만|을|를)?(?:에서|에|으로|로)(?:만)?|만으로|상"
    r"| ?(?:안|내|중|가운데|속|어디)(?:에서?|에도)?)(?:는|도)?(?![가-힣])(?! (?:따르|의하))"
    rf"|{_SOURCE_KO}(?:은|는|이|가| 모두)(?= )"
)
_INFO_KO = (
    r"(?:정보|내용|답|답변|정답|대답|언급|명시|기재|근거|설명|기록|자료|단서|문서|결과|데이터|안내|사항|질문|부분)"
)
_INFO_LEFT = compile_late(
    r"(?:^|(?:관련|관련된|관련한|해당|그런|그러한|이런|그|이|어떤|아무런?|충분한|구체적인|필요한|명확한|정확한"
    r"|직접적인|상세한|추가|대한|관한|질문의"
    rf"|대해|검색|[가-힣]+(?:하신|주신|된|만한)) )(?:[가-힣]+ )?{_INFO_KO}(?:들)?에?(?:[이가은는을를도]|대해서?는)? ?$"
    r"|(?P<compound>정보(?:들)?[이가은는을를도]? ?$)"
)
_ELSEWHERE_KO = compile_late(r"[가-힣A-Za-z](?:에|에서|에게)(?:는|도)? (?!대한|대해|관한|관해|관련|따르|따라|의하)")
_TOPIC_LEFT = compile_late(r"(?:(?<![에서])[은는이가도]|대해서?는|인지|는지|할지) (?:정확히 |현재 |아직 )?$")
_FILLER_KO = compile_late(
    r"(?:저는|저도|제가|저희는|나도|나는|잘|그건|그것은|이건|이것은|그 (?:질문|부분|내용)은|아직|현재(?:로서는"
    r"|로는)?|정확히|정확하게|해당|전혀"
    r"|아쉽게도|안타깝게도|음+|글쎄요?|죄송하지만|더 이상)(?:[,.… ]+|$)"
)

_END = r"(?:[가-힣]{0,7}|(?:고)? ?있[가-힣]{0,4}|[는은운] ?(?:것|듯|걸|거|점|상태|상황)[가-힣 ]{0,14})$"
_IMPOSSIBLE = r"수(?:가|는|도)? ?없"
_HARD = r"(?:가|는|에는|엔|에)?(?: 다소| 조금| 매우)? ?(?:어렵|어려|힘들|힘듭|곤란|불가)"
_IS_NOT_KO = r"(?:되|돼|하)?(?:어|고)? ?(?:있지|지)(?:는)? ?(?:않|못)"


def _unable(nouns: str) -> str:
    """Verbs made of these nouns, in every form of inability: 답변할 수 없, 답변이 어렵, 답변 불가, 답변 못 하."""
    return (
        rf"(?:{nouns})[을를이가은는도]?(?: ?(?:해|정확히) ?)? ?(?:(?:드릴|할|될|줄|제공할|내릴|알|찾을) ?{_IMPOSSIBLE}"
        rf"|(?:드리|하|되|주|제공하|내리)기{_HARD}|(?:생성|제공) ?불가|{_HARD}|안 ?(?:되|돼|됩|됨)"
        r"|못 ?(?:하|해|했|합|함|드|찾)|찾지 ?못)"
    )


_Before = Literal["anything", "nothing", "place", "info", "topic"]
_KOREAN: tuple[tuple[str, tuple[_Before, ...]], ...] = (  # predicate, what may stand before it
    (_unable("답변?|대답|응답"), ("anything",)),
    (rf"(?:모르겠|알 ?{_IMPOSSIBLE}|알기{_HARD})", ("anything",)),
    (r"(?:모르|모릅|모름|모른|몰라)", ("nothing", "place", "info")),
    (rf"(?:찾을 ?{_IMPOSSIBLE}|찾지 ?(?:는 )?못|못 ?찾|찾기{_HARD}|검색되지 ?않)", ("nothing", "place", "info")),
    (rf"(?:{_unable('확인|판단|파악|특정')}|확인[이은]? ?{_IS_NOT_KO})", ("nothing", "place", "info", "topic")),
    (rf"(?:알려|말씀|안내)(?:해)? ?(?:드릴 ?{_IMPOSSIBLE}|드리기{_HARD})", ("nothing", "place", "info", "topic")),
    (
        r"(?:[가-힣]신|들은|말한|언급[된한]|알려진|안내된|명시된|기재된|확인된) (?:적|바)(?:이|가|는|도)? ?없",
        ("anything",),
    ),
    (r"(?<!수 )(?<!필요가 )(?<!문제가 )(?<!차이가 )(?:없|존재하지 ?않)", ("place", "info")),
    (r"(?:부족|불충분|충분하지 ?않|충분치 ?않|모자라|제한적)", ("info",)),
    (
        rf"(?:(?:언급|명시|기재|기술|서술|제시|수록)(?:이|가)? ?(?:{_IS_NOT_KO}|안 ?(?:되|돼|됐))"
        r"|(?:나와|적혀|쓰여|실려|드러나) ?있지(?:는)? ?않|안 ?(?:나와|적혀|쓰여)|(?<![가-힣])미(?:기재|언급|제공|상))",
        ("anything",),
    ),
    (
        rf"(?:(?:나오|나타나|보이|주어지|밝히|답하|다루|밝혀지|전하|말하|등장하|담|들|다뤄|들어)(?:어|고)? ?(?:있지"
        rf"|지)(?:는)? ?않"
        rf"|(?:포함|제공|설명|안내|소개|등록|공개|정의|규정){_IS_NOT_KO}|(?:알려)? ?주지 ?않|안 ?(?:보이|나오|보여"
        rf"|보입|나옵))",
        ("place", "info"),
    ),
    (r"(?:가지고|갖고|보유하고) ?있지 ?않", ("info",)),
    (r"(?:남아|남겨져) ?있지 ?않", ("place", "info")),
    (r"기억(?:[이은]? ?나지 ?않|[이은]? ?없|[이은]? ?안 ?나|하지 ?못| ?못)", ("anything",)),
    (r"준비 ?중", ("info",)),
)
_PREDICATES = tuple((compile_late(predicate + _END), frozenset(before)) for predicate, before in _KOREAN)
_WITHOUT_ANSWER = compile_late(  # 문서에 없는 내용입니다; 문서의 범위를 벗어납니다; 답할 수 없는 질문입니다
    rf"(?:{_SOURCE_KO}(?:에|에는|에서)? ?(?:없|(?:나오|등록되|포함되|언급되|다루)지 ?않)|(?:대답|답변?)(?:할"
    rf"|을? ?드릴) ?수 ?없)[는은]"
    r" (?:내용|정보|질문|사항|부분|주제)(?:이|입|예|임|인)?[가-힣]*$"
    rf"|{_SOURCE_KO}의? ?범위[를에]?(?:서)? ?(?:벗어나|벗어난|벗어납|넘어서|넘어선|넘어섭)[가-힣 ]*$"
)

# --- asides, and what answers after all ---------------------------------------------------------------------

_ASIDE = compile_late(
    rf"^(?:the|these|they|it)\b(?: \w+){{0,2}} ?(?:{_SOURCE})?(?: \w+)? ?(?:only|just|merely|mainly|mostly)\b"
    r"|^(?:you (?:may|might|can|could|should) |please )(?:want to |wish to )?"
    r"(?:contact|consult|check|refer|reach out|visit)\b|^(?:hi|hello|hey|dear|good (?:question|morning)"
    r"|great question)\b"
    r"|^(?:our|the) (?:\w+ ){0,2}(?:team|agents?|staff) (?:can|will|may)\b|^hmm+$|^(?:답변?|결론|응답|answer|response)$"
    r"|(?:문의|확인|참고|상담)(?:해 주|하시|해 보|하세)|^(?:안녕하세요|고객님|좋은 질문|글쎄|음+$)|양해"
    r"|^(?:아쉽|안타깝|유감(?:스럽|이))지만$"
    r"|(?:살펴|찾아|검토|검색|확인).*(?:봤|보았|했|하였)(?:지만|으나)?$"
    rf"|^(?:제공된 |주어진 )?{_SOURCE_KO}[은는](?: 주로| 단지)? .*만\b",
    re.IGNORECASE,
)
_AFTER_ALL = compile_late(
    r"^(?:(?:but|however|though|that said|still),? )?(?:(?:yes|no|as for)\b"
    r"|.*\b(?:(?:general|typical|usual|common)(?:ly)?|likely|probably|presumably|perhaps|might be|inferred"
    r"|suggests? that|(?:I|we) (?:think|believe|guess|assume|would)|my (?:own )?knowledge)\b)"
    r"|^(?:(?:하지만|그러나|다만|그래도),? )?(?:네|예|아니요|아니오)[,.]"
    r"|일반적으로|일반 지식|보통|통상|대개|아마|추정|추측|짐작|유추|제 생각에|제가 아는",
    re.IGNORECASE,
)
_SPECIFIC = compile_late(
    r"\b(?:specific(?:ally)?|explicit(?:ly)?|definite|exact(?:ly)?)\b|구체적|명시적|직접적", re.IGNORECASE
)
_SUBORDINATE = compile_late(
    r"^(?:although|though|while|even though|if|when|whenever|unless|since|because)\b", re.IGNORECASE
)
_CONTRAST = compile_late(
    r",?;? (?:but|however|although|though)\b,? |; |: | [—–-] | \((?=[^()]*\)?$)"
    r"|(?<=지만),? |(?<=으나),? |(?<=니다만),? |(?<=[가-힣]며),? |(?<=[이하되았었했있없]고),? (?!있|싶|않)",
    re.IGNORECASE,
)
_QUOTED = compile_late(r"“[^”]*”|\"[^\"]*\"|‘[^’]*’|「[^」]*」|(?<!\w)'[^']*'(?!\w)")
_WRAPPED = compile_late(r"^[\"'“‘「(\[]+([^\"”’」)\]]+)[\"'”’」)\].]+$")
_NOISE = compile_late(r"\*{1,3}|_{2,3}|`|[ㅠㅜㅎㅋ]+|[\U0001F300-\U0001FAFF]")
_END_MARKS = " .!…~。,)"

_NOTHING = compile_late(
    r"^(?:(?:해당 ?)?없(?:음|습니다|어요|다|네요|었습니다)|존재하지 않(?:음|습니다|아요|는다)|포함(?:되어 있지"
    r"|되지) 않(?:음|습니다|아요|는다)"
    r"|none|nothing|not applicable|n/?a)$",
    re.IGNORECASE,
)
_NO_ALONE = compile_late(r"^(?:no|nope)$", re.IGNORECASE)
_WHICH = compile_late(
    r"^(?:(?:in|on|at|by|for|to|from) )?(?:who|whose|whom|what|when|where|which|why|how)\b"
    r"|언제|어디|어느|누구|누가|(?<![가-힣])왜|어떻게|무엇|무슨|뭐|뭔|몇|얼마|이름|날짜|알려",
    re.IGNORECASE,
)
_HOW_MUCH = compile_late(
    r"\bhow (?:many|much)\b|\b(?:is|are|was|were) there\b|몇 ?(?!년|월|일|시)|얼마|무엇이 있|뭐가 있", re.IGNORECASE
)
_MENTIONS = compile_late(r"mention|stat(?:e|ed)|specif|discuss|address|언급|명시|나와|기재|적혀|기술", re.IGNORECASE)


def says_unknown(sentence: str) -> bool:
    """Whether one sentence only says that the sources or the speaker do not know; quoted words do not count."""
    return _kind(_plain_sentence(sentence)) == "unknown"


@lru_cache(maxsize=4096)  # asked for each metric of a case, by the plan and by the run
def is_refusal(text: str, question: str | None = None) -> bool:
    """Whether an answer opens by saying that the sources or the speaker do not tell, and does not answer after all.

    An empty text is not a refusal. Without the question, answers that some questions make a refusal (없음, "None", "not
    mentioned") count as one.
    """
    sentences = [plain for sentence in split_sentences(text) if (plain := _plain_sentence(sentence))]
    statements = list(dropwhile(lambda sentence: _kind(sentence) == "aside", sentences))
    if not statements or not _leaves_open(statements[0], question):
        return False
    facts = [sentence for sentence in statements[1:] if _kind(sentence) == "fact"]
    return not (facts and _SPECIFIC.search(statements[0])) and not any(_AFTER_ALL.search(fact) for fact in facts)


def refusal_for(query: Query) -> str:
    """The sentence that declines a question, in its language."""
    languages: dict[str | None, Language] = {"ko": "ko", "en": "en"}
    return REFUSAL[languages.get(query.language) or detect_language(query.text)]


def mark_refusal(answer: Answer, question: str) -> Answer:
    """The answer, refused where its generator says so or where its text does: what its reader gets decides."""
    if answer.refused or not is_refusal(answer.text, question):
        return answer
    return replace(answer, refused=True)


def _leaves_open(opening: str, question: str | None) -> bool:
    """Whether the opening sentence leaves the question without an answer."""
    whether = question is not None and _WHICH.search(question.strip()) is None
    if _NOTHING.search(opening):
        return not whether and not (question and _HOW_MUCH.search(question))
    if _NO_ALONE.search(opening):
        return question is not None and not whether
    if question and whether and _MENTIONS.search(question) and _MENTIONS.search(opening):
        return False
    return _kind(opening) == "unknown"


def _plain_sentence(sentence: str) -> str:
    """The sentence without citations, Markdown, sighs, end marks and quoted words; marks around all of it are removed,
    too."""
    plain = _NOISE.sub("", without_citations(sentence)).strip(" \t-#>•")
    plain = _QUOTED.sub("“”", _WRAPPED.sub(r"\1", plain))
    return " ".join(plain.split()).strip(_END_MARKS)


@lru_cache(maxsize=4096)
def _kind(sentence: str) -> Kind:
    """A sentence is of the kind of its clauses: any fact makes it a fact, and a refusal outweighs courtesies."""
    kinds = {_kind_of_clause(clause) for part in _CONTRAST.split(sentence) if (clause := part.strip(_END_MARKS))}
    return "fact" if "fact" in kinds else "unknown" if "unknown" in kinds else "aside"


def _kind_of_clause(clause: str) -> Kind:
    bare = _without_opener(clause)
    if _SUBORDINATE.search(bare):
        return "aside" if is_courtesy(bare) else "fact"
    if _is_refusal_en(bare) or _is_refusal_ko(bare):
        return "unknown"
    return "aside" if not bare or is_courtesy(clause) or _ASIDE.search(bare) else "fact"


def _without_opener(clause: str) -> str:
    """A clause without "Sorry, but", "Based on the documents," and the like."""
    while (match := _OPENER.match(clause)) and match.end():
        clause = clause[match.end() :].strip()
    return clause


def _is_refusal_en(clause: str) -> bool:
    return _MAY_DENY.search(clause) is not None and _ENGLISH.search(clause) is not None


def _is_refusal_ko(clause: str) -> bool:
    if detect_language(clause) != "ko":
        return False
    matches = ((predicate.search(clause), allowed) for predicate, allowed in _PREDICATES)
    return _WITHOUT_ANSWER.search(clause) is not None or any(
        match is not None and bool(allowed & _before(clause[: match.start()])) for match, allowed in matches
    )


def _before(text: str) -> set[_Before]:
    """The text before a Korean predicate; nobody (아무도) is not a speaker."""
    if not _FILLER_KO.sub("", text).strip(" ,"):
        return {"anything", "nothing"}
    elsewhere = _ELSEWHERE_KO.search(_PLACE_KO.sub(" ", text) + " ") is not None
    info = _INFO_LEFT.search(text)
    kinds: set[_Before] = set() if "아무도" in text else {"anything"}
    if _PLACE_KO.search(text):
        kinds.add("place")
    if info and not (elsewhere and info["compound"]):
        kinds.add("info")
    if not elsewhere and _TOPIC_LEFT.search(text):
        kinds.add("topic")
    return kinds
