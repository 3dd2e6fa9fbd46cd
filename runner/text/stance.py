"""Whether a text states what stands at one place of it, or denies it, tells it of the past, or leaves it open.

    denied   under a negation of its clause, in the half of a contrast that is given up, or as what held before
    open     asked, wished, possible, or under a condition
    stated   the rest

A clause ends with punctuation or with the words and endings that join clauses (but, and; 고, 지만, 는데). English tells
it mostly before the place and within a few words, Korean after it, down to the end of the clause's predicate.
"""

from __future__ import annotations

import re
from typing import Literal

Stance = Literal["stated", "open", "denied"]

_SENTENCE_END = re.compile(r"[!\n…]+|[.](?=\s|$|[^\w\s])|[?？]+")
_HANGUL = re.compile("[가-힣]")
_RIEUL = "[" + "".join(chr(0xAC00 + 28 * number + 8) for number in range(399)) + "]"  # syllables that end with ㄹ
WINDOW = 90  # characters on either side that may tell
_ANSWERED = re.compile(r"[?？]\s*(?:네|예|응|넵|맞|yes\b|yep\b|yeah\b|correct\b|exactly\b|right\b)")
_LABEL = re.compile(
    r"(?:\b(?:former|formerly|previous|previously|prior|old|was|ex|earlier|outdated|not|no longer)(?: "
    r"[a-z]+){0,2}|(?<![가-힣])(?:이전|기존|예전|과거|변경 전|종전|구|전|옛)(?: [가-힣]+){0,2})"
    r"\s?[:=]\s*(?:the |an? )?$"
)


def stance(plain: str, start: int, end: int) -> Stance:
    """The stance towards the characters from `start` to `end` of a text in lower case."""
    before, after, asks = _sentence(plain, start, end)
    if _LABEL.search(before):
        return "denied"
    if _HANGUL.search(before[-24:] + plain[start:end] + after[:24]):
        korean = _korean(before, after, asks)
        if korean != "stated" or not re.search("[a-z]{2}", before + after):
            return korean
    return _english(before, after, asks)


_NOT_BEFORE = re.compile(
    r"(?:\bnot|\b(?:is|was|are|were)n['’]t|\bnever|\brather than|\binstead of)\s+(?:(?:a|an|the|in|on|at|by|"
    r"to|from|of|for|with)\s+){0,2}\W?$"
)
_NOT_AFTER = re.compile(
    r"^\W?(?:이|가|은|는|도|만|으?로|에|에서)?(?:는|가|이)?\s?(?:아니(?!라도|면|나)|아닙|아닌|아님|아녜|아냐|말고(?!도|는))"
)
_NOT_EITHER = re.compile(r"^\W?(?:뿐|만)\s?(?:만\s?)?아니라")


def is_refuted(plain: str, start: int, end: int) -> bool:
    """Whether "not" negates exactly the words at this place: not 8 euros, 8유로가 아닙니다."""
    before, after = plain[max(0, start - 40) : start], plain[end : end + 20]
    return bool(_NOT_BEFORE.search(before)) or bool(_NOT_AFTER.match(after) and not _NOT_EITHER.match(after))


def _sentence(plain: str, start: int, end: int) -> tuple[str, str, bool]:
    """The sentence before and after the place, and whether the sentence is a question."""
    before = plain[max(0, start - WINDOW) : start]
    starts = [match.end() for match in _SENTENCE_END.finditer(before) if match.end() < len(before) or match[0] != "."]
    before = before[starts[-1] :] if starts else before
    after = plain[end : end + WINDOW]
    stop = _SENTENCE_END.search(after)
    asks = stop is not None and stop[0][0] in "?？" and not _ANSWERED.match(after, stop.start())
    return before, after[: stop.start()] if stop else after, asks


# --- English ----------------------------------------------------------------------------------------

_BREAK = re.compile(
    r"[;:,()—–]|\s-\s|\b(?:(?<!anything )(?<!anywhere )(?<!anyone )(?<!nobody )(?<!nothing )but|and yet|yet|"
    r"so|because|although|though|while|whereas|until|till|other than|(?<!rather )(?<!other )than|before|since|"
    r"which|who|that's|now|instead(?! of)|hence|just|then|and (?:went|picked|chose|bought|moved|got|took|"
    r"started))\b"
)
_NOT = (
    r"(?:not|never|no longer|nor|neither|without|hardly|cannot|no|none of)\b|\b\w+n['’]t\b|\bdont\b|\bisnt\b|"
    r"\bcant\b|\bdoesnt\b|\bdidnt\b|\baint\b|\bwont\b|\bwasnt\b"
)
_DENIES = re.compile(
    rf"(?:\b(?:{_NOT})|\b(?:stopped|quit(?:ting)?|gave up|given up|giving up|got rid of|(?:moved|moving) out "
    rf"of|(?<!from )scratch|cancell?ed|ruled out|rejected|avoiding|refused?|refuses|declined|forget|scrap|instead of|"
    rf"rather than|moved away from|switched from(?!.* to )|ported \w+ \w+ from(?!.* to )|changed from(?!.* to "
    rf")|moved from(?!.* to )|switched away from|done with|turned down|far from|in place of|broke up with|"
    rf"unable to|returned|(?:picked|chose|chosen|went with) .* over|(?:traded|swapped|exchanged)|(?:everyone|"
    rf"everybody|everything|all) .*except|every\w+ except|(?:people|everyone|everybody|they|some|others|folks) "
    rf"(?:think|thinks|assume|assumes|believe|believes|take)|(?:wrongly|mistakenly|falsely) \w+|doubts?|"
    rf"mistakes? (?:me|us|him|her|them|it) for|anything (?:but|except)|anywhere (?:but|except)|anyone (?:but|"
    rf"except)|nowhere near|hold the|called off|decided against|(?:almost|nearly) \w+ed|mistyped|misspoke|"
    rf"misread|retired from|dislikes?|disliked|can['’]?t stand|first said|initially said|used to|formerly|"
    rf"previously|hates?|asked about|failed to|fail to|lacks?|without)\b)"
)
_GIVEN_UP = re.compile(
    r"\b(?:sold|left(?! [^,.]* for )|lost|dropped|ditched|replaced|replacing|avoids?|ex|former|skip|"
    r"scratch)(?:-| (?:(?:the|an?|my|our|his|her|their|old) )?)$"
)
_OF_A_NOUN = re.compile(
    r"(?:without|no|none of|hardly|neither|nor|instead of|rather than|in place of|.* (?:over|except))$"
)
_ASKS_FIRST = re.compile(
    r"^\W*(?:(?:hey|hi|so|and|um|ok|wait)[, ]+)?(?:is|are|was|were|do|does|did|can|could|will|would|should|"
    r"has|have) (?:the|it|you|we|he|she|they|i|there|that|this|my|your|our|his|her)\b"
)
_AFFIRMS = re.compile(
    r"\b(?:not|n['’]t|isn['’]t) (?:only|just|merely|simply|until)\b|\bnever (?:left|leave|leaves|leaving|"
    r"miss(?:es|ed)?|fails?|failed|stopp?(?:ed|s)?|without|changed|chang(?:e|es|ing)|been (?:surer?|happier|"
    r"better))\b|\bno (?:doubt|question|wonder|matter|problem|less than|fewer than|later than|more than|other "
    r"than|one (?:but|except))\b"
    r"|\bcan(?:['’]t|not) (?:go a \w+ without|wait|live without|do without|go wrong|get enough|stop|help|"
    r"imagine life without|start (?:the|my) day without|resist|beat|stress enough|believe)\b|\bcouldn['’]t "
    r"(?:be happier|live without|agree more)\b"
    r"|\bdon['’]t (?:forget|worry|mind)\b|\b(?:isn['’]t|aren['’]t|nothing|no one|nobody) (?:\w+ )?(?:better|"
    r"but|other than|else|except|anything but|beats?)\b"
    r"|\bdidn['’]t (?:i|we) (?:mention|say|tell)\b|\bnot (?:changing|surprisingly)\b|\bwho doesn['’]t\b|"
    r"\bnever (?:get|gets|got) (?:tired|bored|enough)\b|\bwhy not\b|\bif not\b|\bno,|\bdon['’]t (?:talk|think "
    r"i)\b|\bonce (?:a|per|in|every)\b|\bno\.? ?(?=\d)|\bnever (?:\w+ )?any(?:thing|one|where)? (?:but|except|"
    r"other than)\b|\bleft for\b|\bhaven['’]t (?:missed|stopped|left|changed)\b|\b(?:doesn['’]t|don['’]t|"
    r"didn['’]t) (?:change|affect)\b"
)
_WHOLE = re.compile(r"^\W*(?:no|nope|nah|wait|actually|hmm|well)[,.]?\s*$")
_OPENS = re.compile(
    r"\b(?:if|unless|in case|suppose|supposing|imagine|assuming|provided|what if|say it (?:was|were)|were it|"
    r"had it been|should it)\b"
    r"|\b(?:might|(?<!in )(?<!since )(?<!by )(?<!of )(?<!last )(?<!next )(?<!this )(?<!until )may(?! \d)|"
    r"could|maybe|perhaps|possibly|potentially|considering|consider|thinking (?:about|of \w+ing)|thought "
    r"about|toying|debating|deciding|leaning|torn between|whether|not sure|unsure|chance|hopefully|one day|"
    r"tempted|looking at|(?:would|could|might|should|['’]d) have|would be|would|dream(?: job)? (?:is|was)|one "
    r"option|options?|candidates?|shortlist(?:ed)?|guess|rumou?rs?|discussing|being discussed|on the table|up "
    r"in the air|some(?:one|body) asked|asked if|wondering|wonder|flirting with|tentatively|pencill?ed)\b"
    r"|\b(?:wish(?:es|ed|ing)?|hop(?:e|es|ed|ing)|want(?:s|ed)? it to be|would rather|['’]d rather|rather it|"
    r"fingers crossed|dream(?:s|ed|ing)? (?:of|about)|['’]d love|would love|['’]d like|would like|if only|"
    r"wanted|want|wants|pray(?:ing)?|preferred|would prefer|['’]d prefer|ideally|longing|should have been|"
    r"rooting for|keen on|aiming)\b"
)
_TAKE_DOWN = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?(?:note|remember|add|save|write|record|keep|put|update|log|"
    r"jot)\b|\bdid(?:n['’]t)? (?:i|we) (?:mention|say|tell)|\b(?:did you know|guess what)"
)
_CONDITION = re.compile(
    r"^\W*(?:if|unless|in case|suppose|supposing|imagine|assuming|(?:were|had) (?:it|i|we|he|she|they|there)|"
    r"say it was|say it were|provided)\b"
)
_AFTER_DENIES = re.compile(
    r"^\W{0,2}(?:\s*(?:session|meeting|one|job|thing|plan|deal|account|option|idea|work|appointment|trip|"
    r"days?|phase|club|class|team|budget|figure|date|guy|subscription)s?)?\s*(?:(?:is|was|are|were|does|do|"
    r"did|has|have|had|will|would|can|could|should)(?:\s+(?:not|no longer|never)\b|n['’]t\b)(?!\s+(?:only|"
    r"just|changed|changing|moved|wrong|bad|going anywhere))"
    r"|(?:is|was|are|were|got|has been|had been|have been|['’]s)\s+(?:\w+ )?(?:cancell?ed|called off|out|off|"
    r"over|wrong|scrapped|dropped|replaced|bumped|rejected|history|gone|incorrect|outdated|moved to|pushed|"
    r"ruled out|a mistake|a typo|old news|off the table|before|sold|obsolete|retired|deprecated|a thing of)\b|"
    r"left (?:the|our|us)\b|before (?:i|he|she|we|they)\b|fell through|no more|no longer|didn['’]t (?:happen|"
    r"work|pan)|got (?:bumped|cancell?ed|moved|pushed|replaced|changed|scrapped)|(?:moved|changed|turned|"
    r"switched|became|becomes|pushed|bumped) (?:in)?to\b|(?:is|was|['’]s) (?:in )?the (?:past|old|previous|"
    r"former)|(?:has |have )?(?:lapsed|collapsed|expired|ended|closed down|shut down)\b|\w* ?(?:is|are|was|"
    r"were) (?:false|untrue|a lie|a myth|made up)\b|for a (?:bit|while|time|long time)|→|->|=>|(?:but|and) "
    r"(?:i )?(?:quit|stopped|gave|now)|until (?:last|recently)|anymore|isnt\b|wasnt\b"
    r"|(?:used to be|back then|is what it was)|,? no wait|,? scratch that|,? sorry|,? i mean\b|\s?\(?(?:wrong|"
    r"outdated|old|not true)\)?$)"
)
_CALLED_OFF = re.compile(
    r"^(?:['’]s)?(?: \w+){0,2}?(?: (?:is|was|were|are|got|has been|had been|have been)|['’]s)? (?:all |now |"
    r"been )?(?:cancell?ed|called off|scrapped|ruled out|off the table|off the (?:thread|list|team)|obsolete|"
    r"retired|deprecated|discontinued|outdated|no longer (?:valid|true|right)|void)\b|^['’]s (?:out|off|over|"
    r"gone|done|not)\b"
)
_AFTER_CHANGE = re.compile(
    r"^[^.;]{0,24}?(?:,|;|\bbut|\band|\s-|—)\s*(?:but )?(?:\w+ ){0,2}?(?:then\b|it['’]s |it stays|it is |"
    r"(?:it['’]?s |is |are |i['’]m |we['’]re )?(?:now|actually|these days|currently|nowadays)\b|i meant|it "
    r"turned out|turns out|it['’]s really|eat(?:s)? everything now|changed to|moved to|switched to)"
)
_OLD_BEFORE = re.compile(
    r"(?:\b(?:used to|formerly|previously|originally|at first|initially|was supposed to|in the past|back then|"
    r"years ago|(?:it|that|this|i|he|she|we|they|there) (?:was|were)|was|were|had been|i said|thought|they "
    r"said|assumed|believed|thinks|think|figured|changed from|moved from|switched from|from|everyone thinks|"
    r"guessed|talked about|corrected|replaced|replaces|i had)\b)"
)
_AFTER_OPEN = re.compile(
    r"^\s?(?:\w+ ){0,2}?(?:(?:might|(?<!in )(?<!since )(?<!by )(?<!of )may(?! \d)|could)\b|(?:is|was|are|were|"
    r"['’]s|seems|sounds|looks) (?:just |only |still |also )*(?:being |under |an? |one |on |not |up |the "
    r")?(?:option|possib|considered|considering|consideration|debat|discuss|candidate|likely|tempting|nice "
    r"idea|maybe|decided|confirmed|final|certain|on the table|in the running|rumou?r|undecided|tbd|tentative|"
    r"contender|backup|guess|table|up in the air|confirmed|idea|suggestion|thought)|would (?:be|have|suit|"
    r"work|do|make)|has been floated|came up|maybe\b|perhaps\b|possibly|or\b(?!\s+so)|if\b(?! (?:any|you))|"
    r"tbd|though i wish|was (?:mentioned|suggested|proposed|floated)|crossed my mind|sounds|some ?day|one "
    r"day)"
)


_CHANGES = re.compile(
    r"\b(?:corrected|(?:chang|mov|relocat|transfer|dropp|drop|fell|fall|increas|cut|grew|climb|switch|"
    r"push|bump|went|go|correct|updat|bring|reschedul|migrat|upgrad|raise|rose|shift)\w*)\b"
)
_FROM = re.compile(r"\b(?:from|corrected)\s*(?:the\s*)?$")
_TO = re.compile(r"^\W{0,2}\s*(?:\w+ ){0,3}?(?:to|over to|into)\b")
_WAS = re.compile(r"\b(?:was|were)\s+(?:an? |the )?$")
_UNTIL = re.compile(r"[^.;]*\buntil\b")
_ONLY_NOT = re.compile(r"^\W*(?:no,?|nope,?|nah,?|wait,?)?\s*not\s*$")
_IS_RIGHT = re.compile(r"\s*,?\s*(?:right|yes|ok)\b")
_ASKS_ELSE = re.compile(
    r"[,;]\s*\w*$|\b(?:right|yes|ok|okay|huh|eh)\W*$"
    r"|^[^?]*,\s*(?:how|what|when|where|why|who|which|do|does|did|is|are|can|could|should|would|any)\b"
)
_CLAUSE = re.compile(r"[,;:(—–]|\band\b")
OF_A_NOUN, OF_A_VERB, OPENED = 2, 4, 8  # words between what denies or leaves open, and what it stands to


def _english(before: str, after: str, asks: bool) -> Stance:
    breaks = [match.end() for match in _BREAK.finditer(before)]
    near = before[breaks[-1] :] if breaks and not _WHOLE.match(before) else before
    if _is_asked(before, after, asks):
        return "open"
    if _is_denied(before, near, after):
        return "denied"
    opens = any(len(near[match.end() :].split()) <= OPENED for match in _OPENS.finditer(near))
    if opens or (_CONDITION.match(before) and not breaks):
        return "open"
    return "open" if _AFTER_OPEN.match(_CLAUSE.split(after, maxsplit=1)[0]) else "stated"


def _is_asked(before: str, after: str, asks: bool) -> bool:
    if _ASKS_FIRST.match(before) and not _TAKE_DOWN.search(before):
        return True
    if not asks or _TAKE_DOWN.search(before):
        return False
    return not _ASKS_ELSE.search(after) or (not before.strip() and _IS_RIGHT.match(after) is not None)


def _is_denied(before: str, near: str, after: str) -> bool:
    """`near`: what stands before in the same clause."""
    plain = _AFFIRMS.sub(lambda match: " " * len(match[0]), near)
    for match in _DENIES.finditer(plain):
        if len(plain[match.end() :].split()) <= (OF_A_NOUN if _OF_A_NOUN.match(match[0]) else OF_A_VERB):
            return True
    if _ONLY_NOT.match(before) or _GIVEN_UP.search(plain) or _AFTER_DENIES.match(after) or _CALLED_OFF.match(after):
        return True
    if _WAS.search(near) and _UNTIL.match(after):
        return True
    if _OLD_BEFORE.search(near) and _AFTER_CHANGE.match(after):
        return True
    return bool(_FROM.search(near) and _CHANGES.search(before) and _TO.match(after))


# --- Korean -----------------------------------------------------------------------------------------

_CLAUSE_START = re.compile(
    r"[,;:()·/]|(?:(?<=[았었였했됐겠이])고|지만|는데|은데|인데|니까|라서|어서|아서|해서|으며|거든요?|니다|[어아여해에예]요|다가|던데|[지죠네]요?|아니라|아니고|말고|대신)(?=\s|$)"
)
_NEUTRAL = re.compile(
    r"아닐\s리[가는]?\s?없|라는\s?거\s?(?:몰랐|모르)|(?:처럼|만큼)\s[^,]*없|아니냐고|없이는?\s[^,]*못|없으면\s[^,]*못|사족을\s?못|틀림\s?없|끊임\s?없|"
    r"변함\s?없|문제\s?없|(?<!는\s)(?<!은\s)상관\s?없|다름\s?없|어김\s?없|의심[가-힣]*(?:\s여지[가-힣]*)?\s?없|빠짐\s?없|관계\s?없|말고는[^,]*없|"
    r"말고[는]?\s(?:다른|누구|아무)[^,]*(?:없|안|않|못)|밖에[가-힣]*\s[^,]*(?:없|안|않|못|모르)"
    r"|뿐만?\s?아니|만\s?아니라|[안]\s?(?:바뀌|바꼈|바꿨|변|달라|잊|까먹|빠지|빼)|(?:바뀌|변하|달라지|잊지|변경되|빼먹|거르|빠지)지?\s?(?:는\s?|를\s?)?않|"
    r"변동[은도이]?\s?없|변경[은도이]?\s?없|수밖에\s?없|[을를이]?\s?(?:떠나|떠난|벗어난|빠진|빼먹은|거른|놓친|바꾼|바뀐|어긴|잊은)\s?(?:적|날|"
    r"일)[이은도]?[^,]*없|아니나|아닌\s?게|없이는?\s못|없으면\s?(?:못|안)|없인\s?못|안\s?(?:그래도|녕|되면)|아니면\s?안|모르(?:시|겠)"
    r"|둘도\s?없|더할\s?나위\s?없|하나도\s?안\s?(?:변|바)|못지\s?않|에\s?불과|만한\s?[가-힣]*\s?없|보다\s[^,]*없|지\s?않나|지\s?않아\?|잖|"
    r"아니\s?근데|안\s?\S*면\s?(?:안|못)|않을\s?수[가는]?\s?없|(?:빼고|말고|외에)\s다른[^,]*(?:못|안|않|없)"
)
_DENY_WORD = re.compile(
    r"(?:^|(?<=\s)|(?<=[이가은는도을를에서로]))(?:안(?!에(?:는|서|만|도)?(?:\s|$))|못)\s?(?=[가-힣])|않|(?<![가-힣])없|[이가은는도]\s?없|없[어습다는네었고던음]|아니|아닙|아닌|아녀|"
    r"아녜|아녔|아냐|아님|아뇨|아뉨|못\s?[하했합한]|못해|말[고구]|빼[고구줘]|빼\s?주|대신에?(?:$|\s)|ㄴㄴ|노노|취소|그만\s?[두뒀둔할했]|관[뒀두둔둘]|때려|끊었|"
    r"끊[은기]|틀렸|틀린|틀려|잘못\s?(?:적|썼|말|알|된)|무산|물\s?건너|탈락|제외|접었|포기|불가|반대|싫|오해|헛소문|거짓|무리|사양|탈퇴|중단[했됐]|정리했|피하고|피해요|"
    r"빠지고|[은는]\s무슨|개뿔|이?라곤|거절|퇴사|그만|팔았|헤어|환불|반품|줄\s?(?:몰|모르)|지\s?(?:말|마[세라십])|해지[했됐하함되]|별로|(?:이라는|라는)\s(?:사람|"
    r"분|거|것|곳)[은는]?\s(?:몰라|모르)|[을를]\s?떠[났난]|에서\s(?:이사\s)?나[왔온옴]|[은는]\s빠졌|거절|옛날|예전\s?(?:얘기|이야기|일|거|값|정보)|과거|폐기|"
    r"철회|뺐|에서\s?빠졌|지웠|절대\s?(?:안|아니|못)|손\s?놨|손\s?뗐"
)
_CHANGED = re.compile(
    r"^(?:\s?(?:씨|님|쪽)?에서|로부터|을|를|은|는|이|가|했다가|하다가)?\s?(?:\S+\s){0,3}?\S*(?<!기)(?:으?로)\s?(?:[가-힣]+\s)?(?:이동|전근|"
    r"발령|전학|전입|바뀌|바꾸|바꿨|바뀜|바꼈|바꿔|변경|옮|이사|이직|갈아|수정|정정|넘어|교체|조정|연기|미뤄|미뤘|당겨|당겼|전향|전환|대체|올랐|내렸|늘|줄|정했|업데이트|했|됐|갔|"
    r"결정|확정)"
)
_PAST_THEN = re.compile(
    r"^[가-힣]{0,6}?(?:이었|였|었|했|던|썼|다녔|샀|탔|봤|갔|왔)[가-힣]{0,4}(?:는데|지만|다가|고|으나|건데|거)(?:요)?(?:\s|,|$)|^\s?(?:쓰다가|"
    r"다니다가|하다가|타다가|살다가|였다가|이었다가|[가-힣]{1,3}다가)(?=\s|$)|^[가-힣]{0,2}\s?[가-힣]{0,3}[았었]었|^(?:이었었|였었|이였었)|^(?:을|를|"
    r"에서?|으?로)?\s?[가-힣]{1,3}다가(?=\s|$)|^\s?(?:출신)(?:이었)"
)
_ONCE_BEFORE = re.compile(
    r"(?:^|\s)(?:(?:예전|전|옛날|과거|처음|어릴 때|그전|이전|한동안|작년|저번|원래)"
    r"(?:엔|에는|까지는|까진)|[가-힣]+까지(?:는|만\s?해도)?|원래는|원랜|한때|"
    r"왕년엔?|(?:예전|과거|옛날)에)\s?[^,]*$"
)
_PAST_PREDICATE = re.compile(r"[았었였했렸셨썼샀났갔왔봤탔뒀웠쳤졌켰][가-힣]{0,5}[.!~ㅋㅎㅠㅜ]*$")
_KEEPS = re.compile(r"(?:부터|이후|쭉|계속|내내|여전)")
_FORMERLY = re.compile(r"(?:^|\s)(?:기존|종전|변경 전|이전)(?:의|에|엔|에는)?\s[^,]*$")
_HELD_BEFORE = re.compile(
    r"(?:^|\s)(?:처음|전에|예전|옛날|원래|한때|어릴|기존|당초|애초|왕년|그전|원랜|처음엔)[가-힣]*\s?[^,]*$"
)
_PAST_BUT = re.compile(r"[았었였했썼샀탔갔왔봤렸졌셨](?:는데|지만|다가)요?\s*$")
_PAST_ENDS = re.compile(r"^[가-힣]{0,4}?(?:이었|였|이였|했었|었었)")
_THOUGHT = re.compile(
    r"(?:인|한|된|는|은|던)?\s?줄\s?(?:로)?\s?(?:알|았|아[는시])|으?로\s?(?:착각|오해|보(?:는데|던데|시던데|시는데))|으?로\s?알고(?:들)?\s?(?:계시|"
    r"계셨|계신|있었|있던|있으신|있는데)|(?:이?라고|다고)\s?(?:알고|생각(?:하|했)|하셨다가|들으[셨신]|들었는데|착각|오해|했는데|했다가|했지만|한\s?적|말한\s?적|잘못|"
    r"우기|그러|그래|하는데|하던데|쓰여|적혀|적었|썼는데|나와)|라더니|라며\?|라뇨|라니[!,]|라고\s?누가"
)
_HEARD = re.compile(r"[가-힣]{0,3}라던데요?\s?(?:틀|아니|아닌|사실|근데|잘못)|\s?보다는?\s*$")
_INTENDS = re.compile(rf"{_RIEUL}\s?(?:거|게|래|수|텐데)|예정|계획|야\s?(?:돼|되|지|죠|해|겠)|고\s?싶")
_IF_BEFORE = re.compile(r"[가-힣](?<!하)면\s[^,]{0,20}$|하면\s[^,]{0,20}$")
_OPEN_TAIL = re.compile(
    rf"으?면\s?(?:좋|하|얼마|[^가-힣]|$)|(?:이|라|다|었|았|였|했|자)?으?면(?:요|은|야)?(?:\s|$)|라면|다면|[가-힣]면(?:\s|$|,)|거든?\s?(?:전화|"
    rf"말)|지도\s?(?:모|몰)|수도\s?(?:있|없)|수\s?있|{_RIEUL}까|[니]까\?|[것거]\s?같|(?:^|\s)같(?:대|아|은데)|듯\s?(?:해|하|합|싶|$)|듯$|"
    rf"고민|검토|후보|미정|생각\s?중|싶|바라|바란|바랍|바람|바랬|희망|원했|원하|원해|기대|[인신은는한던]지(?:[는를]?\s?(?:모르|몰라|아[세시]|궁금|확인|여쭤|물어)|"
    rf"\s?\?|$)|[을일할될갈]지|냐고|냐는|냐$|냐\?|[인은는한건던운신]가요?$|[인은는한건던운]가\s?(?:싶|봐)|(?<![끝만떠신])(?<!일어)(?<!겁)나요$|"
    rf"[하되있없였었았겠맞]나$|[하되있였었았맞이]니$|어때|어떨|어떰|했으면|됐으면|으면\s?해|좋겠|좋을\s?텐데|텐데|려나|을걸|일걸|추측|예상|소문|아마|가능성|가정|맞나|맞아\?|"
    rf"맞죠\?|셈\s?치|치고|다치|고려|알아보|저울질|논의|얘기만|얘기가\s?나|거론|물망|냐[고는]?\s?물어|질문|궁금|꿈꾸|꿈이|부럽|소원|로망|버킷|달라고|조르|어떻|이라\s?치|"
    rf"든\s?[가-힣]+든|라도\s?(?:[가-힣]+면|괜찮|상관)|될\s?(?:뻔|수)|할\s?뻔|뻔"
)
_NOT_OPEN = re.compile(
    r"(?:한테|에게|께)\s?물어[가-힣]*|모르(?:시|겠)?면|괜찮(?:으시)?면|싶어\s?하|이?라면\s?(?:사족|환장|죽|자다가|언제|무조건)|하면\s?(?:역시|떠오)|(?:꼽|"
    r"말하|치|따지)(?:자|라)면|때면|되면\s?꼭|오면\s?(?:늘|항상)|나\s?[봐보]|고\s?싶었던|면\s?(?:충분|끝|됩니다|돼|된다|되지|돼요|됨)|수\s?있(?:어요|습니다|"
    r"게\s?됐|었)?(?=\s?(?:다행|감사))|기대\s?(?:돼|된|만발)|궁금(?:해\s?하|하시)|하나면|하고\s?싶었|더라고|더라구"
)
_ASKS = re.compile(
    r"(?:나요|까요?|니까|습니까|가요|[인]가|냐|니|는지|을지|던가|래|죠|지|어때|려나|맞나|였나|이었나|이었어|건가|라며|려고|어요|에요|예요|야|어|아|요|임|음|까|해|해요)\s*$"
)
_BEFORE_OPEN = re.compile(
    r"(?:^|\s)(?:장래\s?희망|꿈[은이]|소원|아마|어쩌면|혹시|만약|만일|만약에|가령|행여|설마|아마도|혹여|이왕이면|가능하면|부디|제발|될\s?수\s?있으면|"
    r"만에\s?하나)[가-힣]*\s?[^,]{0,30}$"
)
_FINAL = re.compile(
    r"(?:습니다|[입합됩립집깁갑]니다|니다|니당|[어아여해에예]요|[이야]에용|예욤|세요|네요?|[죠쥬]|(?<![까다])지요?|[하가보먹]자|거든요?|거덩|잖아요?|더라[고구]요?|군요|"
    r"구나|라니까요?|래요|대요|[이란]래|[한된간온인는단란]대|이야|임|음|함|됨|[었았였했됐]어|[었았였했됐]다|이다|[었았였했됐]음|라고요|라구요|데요|[ㅋㅎㅠ~]+)$"
)
_JOINS = re.compile(
    r"(?:(?:^|[^하라다냐자])고|하고요?|고요|구요|지만|는데|은데|인데|데|니까|[시으이]니|라서|이라|어서|아서|해서|이며|으며|다가|여서|[해어아]도)$"
)
_WORD = re.compile(r"\S+")


_REMINDS = re.compile(r"\s?(?:기억|알지|맞지)")
_KNOWS = re.compile(r"라는\s?거\s?(?:몰랐|모르)|알(?:지|죠)$|아시죠$|아시지요$")
_TAKEN = re.compile(r"에서|을|를|은|는|이|가")
_WHO_SAYS, _SAYS_SO = re.compile(r"(?:누가|왜)\s[^,]*$"), re.compile(r"이?라\s?그래")
_LONG_PAST = re.compile(r"[았었했였]었")


def _korean(before: str, after: str, asks: bool) -> Stance:
    predicate, after_predicate = _predicate(after)
    clause = _clause(before)
    if _is_korean_denied(before, after, predicate, clause) or (
        _PAST_THEN.match(predicate) and after_predicate.strip() and not _REMINDS.match(after_predicate)
    ):
        return "denied"
    without_denials = _NOT_OPEN.sub(_blank, predicate)
    if (
        (_IF_BEFORE.search(before) and _INTENDS.search(predicate))
        or _OPEN_TAIL.search(without_denials)
        or _BEFORE_OPEN.search(clause)
    ):
        return "open"
    return "open" if asks and not after_predicate.strip() and not _KNOWS.search(after) else "stated"


def _is_korean_denied(before: str, after: str, predicate: str, clause: str) -> bool:
    if _THOUGHT.search(predicate) or _DENY_WORD.search(_NEUTRAL.sub(_blank, predicate)) or _HEARD.match(after):
        return True
    if (_CHANGED.match(after) and _is_from(after)) or (_FORMERLY.search(clause) and _TAKEN.match(after)):
        return True
    if (_WHO_SAYS.search(before) and _SAYS_SO.match(after)) or _LONG_PAST.search(predicate):
        return True
    if _HELD_BEFORE.search(clause) and (_PAST_ENDS.match(predicate) or _PAST_BUT.search(predicate)):
        return True
    return bool(
        _ONCE_BEFORE.search(clause) and _PAST_PREDICATE.search(predicate.rstrip()) and not _KEEPS.search(predicate)
    )


def _blank(match: re.Match[str]) -> str:
    return "ㅡ" * len(match[0])


def _is_from(after: str) -> bool:
    """Whether what changed did so from the place, not to it."""
    return re.match(r"\s?(?:씨|님|쪽)?(?:에서|을|를|은|는|이(?!라)|가|로부터|했다가|하다가)", after) is not None


def _clause(before: str) -> str:
    starts = [match.end() for match in _CLAUSE_START.finditer(before)]
    return before[starts[-1] :] if starts else before


def _predicate(after: str) -> tuple[str, str]:
    """The rest of the clause, and the text after it."""
    comma = re.search(r"[,;()]|\s[-–—]\s", after)
    limit = comma.start() if comma else len(after)
    words = list(_WORD.finditer(after, 0, limit))
    for number, word in enumerate(words[:7]):
        text = word[0].rstrip(".!~ㅋㅎㅠㅜ^;")
        if (
            _FINAL.search(text)
            and (number or len(text) > 1 or after[:1] != " ")
            and not _more(after[word.end() : limit])
        ):
            return after[: word.end()], after[word.end() :]
        if _JOINS.search(text) and not _more(after[word.end() : limit]):
            return after[: word.end()], after[word.end() :]
    return after[:limit], after[limit:]


def _more(following: str) -> bool:
    """Whether the text that follows continues the predicate."""
    return (
        re.match(
            r"\s?(?:계[시셨신]|않|없|안\s|못\s|싶|있|못|말(?:[고아았])|아니|아닌|아닙|좋겠|같|적\s|몰라|모르|해요?$|했으면|수\s?[있없도])",
            following,
        )
        is not None
    )
