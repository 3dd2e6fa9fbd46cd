"""Refusals: answers which say that they have no answer, in Korean and English.

What a clause says is told by its cues (`refusals.en.yaml`, `refusals.ko.yaml`):

know    the speaker does not know, tell or help             I can't tell you; 잘 모르겠습니다
able    the speaker lacks something or cannot do something   I have no such file; 볼 권한이 없습니다
source  a source does not tell                               The leaflet leaves it out; 자료에 없습니다
told    something is not told, wherever that is              The fee is not mentioned; 확인되지 않습니다
pending something is not decided or announced yet            No date has been set; 아직 미정입니다
bare    a word in the place of an answer                     Unknown; 모름
sends   to somebody else, or somewhere else                  Please contact our team; 문의해 주세요
asks    asks back, or promises to look                       Which model do you have? 확인 후 안내드리겠습니다
aside   says nothing of the matter                           Good question! The documents only discuss billing
fact    anything else

An answer is a refusal if its first sentence, asides left out, is one of the first six, or if all of its sentences send
the reader elsewhere or ask back; and if nothing in it answers after all. A short answer that gives no number where one
is asked for, and speaks of something missing, vague or known to others, is a refusal, too.

What answers, the question decides: what is denied where it asks whether something is possible, mentioned or missing; a
referral where it asks whom or where to ask; a word such as "unknown" where it asks for a status or a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import dropwhile

from runner.records import Answer, Query
from runner.text.citations import without_citations
from runner.text.courtesies import is_courtesy
from runner.text.language import Language, detect_language
from runner.text.patterns import compile_late
from runner.text.refusal_cues import UNKNOWN, Cues, Kind, cues
from runner.text.relevancy import asked_kind, holds_kind
from runner.text.sentences import split_sentences
from runner.text.words import all_forms, content_words

REFUSAL: dict[Language, str] = {
    "en": "The sources do not answer this question.",
    "ko": "제공된 자료에서 이 질문의 답을 찾을 수 없습니다.",
}

BY_WEIGHT: tuple[Kind, ...] = (
    "know",
    "able",
    "source",
    "told",
    "pending",
    "bare",
    "sends",
    "asks",
)  # the first of a sentence counts
SHORT = 160  # characters of an answer in which a missing number tells something
WORDING: dict[Language, int] = {"en": 6, "ko": 3}  # words of an answer that may be a wording itself

# Where a sentence falls into clauses.
_CONTRAST = compile_late(
    r",?;? (?:but|however|although|though|yet)\b,? |; |: | [—–-] | \((?=[^()]*\)?$)|, so |,? as i (?=can|do|am|have)"
    r"|,? (?:and|so|hence|therefore|thus),? (?=(?:i|we|it|this|that|the|these|they|there|you|please|can not)\b)"
    r"|, (?=(?:best|better|please|just|try)\b)"
    r"|(?<=지만),? |(?<=으나),? |(?<=니다만),? |(?<=[가-힣]며),? |(?<=[이하되았었했있없]고),? (?!있|싶|않)"
    r"|(?<=[아어여해와려져돼라혀])(?<![의논인락대관통위]해)(?<!따라)서,? "
    r"(?!(?:보|죄송|미안|감사|유감))"
    r"|(?<=므로),? |(?<=니까),? |(?<=[가으이하되없있않]니),? (?!다)|(?<=[없않못있][는은]데),? ",
    re.IGNORECASE,
)
_REASON = compile_late(  # between a reason and what follows from it
    r",? (?:hence|therefore|thus),? |, so | so (?=(?:i|we|it) )|(?:므로|니까|[으이하되없있]니),? |[는은]데,? "
    r"|[아어여해와려져돼라혀]서,? ",
    re.IGNORECASE,
)
_SUBORDINATE = compile_late(
    r"^(?:although|though|while|even though|if|when|whenever|unless|since|because|as)\b", re.IGNORECASE
)
_SUBORDINATE_FIRST = compile_late(
    r"^(?:although|though|while|whilst|even though|since|because|as|given that)\b([^,]*), (?=\S)", re.IGNORECASE
)

# What is taken off a sentence or a clause.
_QUOTED = compile_late(r"“[^”]*”|\"[^\"]*\"|‘[^’]*’|「[^」]*」|(?<!\w)'[^']*'(?!\w)")
_WRAPPED = compile_late(r"^[\"'“‘「(\[]+([^\"”’」)\]]+)[\"'”’」)\].]+$")
_NOISE = compile_late(r"\*{1,3}|_{2,3}|`|(?<=[가-힣])~(?=[가-힣])|[\U0001F300-\U0001FAFF]")
_LABEL = compile_late(r"^[\w가-힣' ]{1,24}: (?=(?:not|no|un\w+|n/a|none|미\w+|없음|불명|확인|알 수)\b)", re.IGNORECASE)
_SIGH = compile_late(r" ?(?:[ㅠㅜㅎㅋ]+|ㅈㅅ|~+(?= ))(?: |$)|[ㅠㅜㅎㅋ]+")
_TAG = compile_late(  # what may follow the predicate: ", I'm afraid", ", 고객님"
    r"(?:, (?:i[’']?m (?:afraid|sorry)|i am (?:afraid|sorry)|i fear|sorry|apologies|unfortunately|sadly|alas|mate"
    r"|love|sir|madam|tbh|to be honest|though)|(?<=\w),? (?:at the moment|at present|right now"
    r"|for now|so far|as of now)"
    r"|,? (?:고객님|선생님|어르신|회원님|미안|죄송|미안해요?|죄송해요|죄송합니다))+$",
    re.IGNORECASE,
)
_END_MARKS = " .!…~。,)(;"
_CONTRACTIONS = compile_late(
    r"\b(ca|wo|sha|ai|could|would|should|do|does|did|is|are|was|were|has|have|had)n[’']?t\b|\bcannot\b"
)
_IRREGULAR = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_CLITICS = (("’", "'"), ("'m ", " am "), ("'ve ", " have "), ("'re ", " are "), ("'ll ", " will "), ("'d ", " would "))
_IS = compile_late(r"\b(it|that|there|this|what|here|he|she|who|nothing|something|answer)'?s (?!own\b)")
_HANGUL = compile_late(r"[가-힣]")

# Answers of a word or two, and fields of JSON without one.
_NOTHING = compile_late(
    r"^(?:(?:해당 ?)?없(?:음|습니다|어요|다|네요|었습니다)|존재하지 않(?:음|습니다|아요|는다)"
    r"|포함(?:되어 있지|되지) 않(?:음|습니다|아요|는다)|none|nothing|not applicable|n/?a)$",
    re.IGNORECASE,
)
_NO_ALONE = compile_late(r"^(?:no|nope)$", re.IGNORECASE)
_EMPTY_FIELD = compile_late(
    r"^\s*\{\s*\"(?:answer|response|result|output|답변?|응답)\"\s*:\s*(?:null|\"\s*\"|\"n/?a\")", re.IGNORECASE
)
_NAME_WORD = r"(?:[A-Z][\w'’]*|a|an|the|of|in|for|to|and|or)"
_TITLE = compile_late(rf"^{_NAME_WORD}(?: {_NAME_WORD})+$")

# What answers after all.
_GUESS = compile_late(
    r"\b(?:somewhere|I (?:think|guess|believe|suppose|reckon)|probably|perhaps|maybe)[^,]*$"
    r"|(?:데|지만|도) [^,]*(?:것 같|거예요|거야|듯해|듯합니다|일걸"
    r"|(?:원|명|개|년|시|분|일|월|번|살|회)(?: ?쯤| ?정도)\??$)",
    re.IGNORECASE,
)
_VALUE = compile_late(r"\d|[이삼사오육칠팔구십백천만억]{2,} ?(?:원|명|개|년|퍼센트|미터|킬로)")
_NAME = compile_late(r"(?<=[a-z,;] )(?!I\b|AI\b)[A-Z][a-z]+")
_NO_VALUE = compile_late(  # a year, a telephone number, an address, a name such as E52
    r"\b(?:19|20)\d\d(?!\d)(?:년)?|\+?\d[\d() ]*-[\d -]+|\S+@\S+|https?://\S+|[A-Za-z]+\d+|\d+/\d+"
)
_ENDLESS = compile_late(
    r"\b(?:lifetime|forever|always|endless|(?:sun|mon|tues|wednes|thurs|fri|satur)days?)\b|평생|영구|무기한",
    re.IGNORECASE,
)
_BUT = r"(?:(?:but|however|though|still|that said|instead),? )?"
_NO_SUBJECT = compile_late(  # it, or a source
    rf"^{_BUT}(?:it|he|she|they|that|this|there)\b(?! (?:only|does|do|is about))"
    rf"|^{_BUT}(?:the|your|its|a|section \d+)(?: [\w'-]+)? ?(?:leaflet|label|manual|documents?|text|page|website|sheet"
    r"|note|article|report|guide|policy|contract|terms|law|footnote|notice|,|list|sources?)\b"
    r"(?= (?:says?|states?|gives?|recommends?|specif|sets?|puts?|shows?|names?|lists?|indicates?|on the other)\b)"
    r"(?!.* (?:only|does not|do not))"
    r"|^(?:(?:하지만|그러나|다만|그래도),? )?(?:[가-힣0-9]+ ){0,2}[가-힣0-9]+(?:에|에는|에서는|에서) [^은는]*$",
    re.IGNORECASE,
)
_INDIRECT = compile_late(  # a question within the answer: who was not invited
    r"\b(?:say|tell|know|mention|specify|state)s? (?:who|what|when|where|which|how|why|whether)\b|[는은인]지[는도]? ",
    re.IGNORECASE,
)
_DENIAL = compile_late(r"impossible|not|no|없|않|아직|못|안|아니|불가능|더")
_IMPOSSIBLE = compile_late(r"안 ?[되돼됩됨]|불가|수 ?(?:는|가)? ?없|\b(?:can|could) ?not\b|\bcan[’']t\b|not possible")
_CONTENT = compile_late(
    r", (?:but|however|though) (?:the|your|its) [\w ]+? (?:says?|states?|gives?|lists?|recommends?|shows?)\b"
)
_DENIED_VERB = compile_late(  # the start of a Korean verb that is denied: 갱신되지 않습니다
    r"(?<![가-힣])([가-힣]{2}|밝)[가-힣]{0,4}?(?:지(?:는|도)? ?(?:않|못)| ?수(?:가|는|도)? ?없)"
)
_ASKED_BACK = compile_late(r"(?:않|없|못|모르|안 )[가-힣 ]{0,6}\?$")  # a Korean denial in the tone of a question
_GREETING = compile_late(
    r"^(?:안녕하세요|안녕하십니까)|^(?:고객님|글쎄|음+|답변?|결론|응답)$"
    r"|^(?:아쉽|안타깝|유감(?:스럽|이))지만$|^(?:죄송|미안|감사)"
)


def says_unknown(sentence: str) -> bool:
    """Whether one sentence only says that the sources or the speaker do not know; quoted words do not count."""
    return sentence_kind(sentence) in UNKNOWN


def sentence_kind(sentence: str) -> Kind:
    """What one sentence of an answer says; quoted words do not count."""
    return _kind(_plain_sentence(sentence))


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence, without its marks."""
    return _parts(_plain_sentence(sentence))


def normalise_clause(clause: str) -> str:
    """A clause as cues see it: in lower case, contractions written out, without what opens it."""
    if _is_korean(clause):
        return cues("ko").before["opener"].sub("", clause)
    return _without_opener(_expanded(clause))


@lru_cache(maxsize=4096)  # asked for each metric of a case, by the plan and by the run
def is_refusal(answer: str, question: str | None = None) -> bool:
    """Whether an answer says that it has none, and does not answer after all.

    It looks at the answer and the question alone: whether a reference is itself a word like "unknown" or "없음" is for
    the caller, which compares the answer with the references first. An empty text is not a refusal. Without the
    question, an answer that some questions make a refusal (없음, "None", "not mentioned") counts as one, and one that
    only sends the reader elsewhere or asks back does not.
    """
    if _EMPTY_FIELD.search(answer):
        return True
    sentences = [plain for sentence in split_sentences(answer) if (plain := _plain_sentence(sentence))]
    question = question.strip() or None if question else None
    statements = list(dropwhile(lambda sentence: _kind(sentence) == "aside", sentences))
    if not statements:
        return question is not None and any(map(_is_partial, sentences)) and not _asks_whether(question)
    if _is_said(answer.strip(), question) or _GUESS.search(statements[0]):
        return False
    if question is not None and _kind(statements[0]) == "fact" and _denies_at_the_end(statements, question):
        return True
    if _kind(statements[0]) in ("sends", "asks"):
        if _asks_whether(question) and _IMPOSSIBLE.search(statements[0]):
            return False
        return question is not None and not _asks(question, "whom") and "fact" not in map(_kind, statements)
    if _kind(statements[0]) == "know" and _CONTENT.search(statements[0]):
        return False
    if not _leaves_open(statements[0], question):
        return question is not None and _lacks_number(" ".join(sentences), question)
    facts = [sentence for sentence in statements[1:] if _kind(sentence) == "fact"]
    return not any(_answers(fact, statements[0], question) for fact in facts)


def refusal_for(query: Query) -> str:
    """The sentence that declines a question, in its language."""
    languages: dict[str | None, Language] = {"ko": "ko", "en": "en"}
    return REFUSAL[languages.get(query.language) or detect_language(query.text)]


def mark_refusal(answer: Answer, question: str) -> Answer:
    """The answer, refused where its generator says so or where its text does: what its reader gets decides."""
    if answer.refused or not is_refusal(answer.text, question):
        return answer
    return replace(answer, refused=True)


@lru_cache(maxsize=4096)  # of a question, its answer and their clauses, each asked for several times
def _language(text: str) -> Language:
    return detect_language(text)


# --- the question -------------------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def _asks(question: str | None, what: str) -> bool:
    """Whether a question asks for something, as the cues of questions name it; without a question it does not."""
    return question is not None and cues(_language(question)).questions[what].search(question.lower()) is not None


def _asks_whether(question: str | None) -> bool:
    return question is not None and not _asks(question, "which")


def _is_said(answer: str, question: str | None) -> bool:
    """Whether the question asks for a name or for words, and the whole answer is a title or stands in quotes."""
    if _TITLE.search(answer) is not None:
        return _asks(question, "name")
    return _WRAPPED.search(answer) is not None and (_asks(question, "wording") or _asks(question, "name"))


def _leaves_open(opening: str, question: str | None) -> bool:
    """Whether the opening sentence leaves the question without an answer."""
    if _NOTHING.search(opening):
        return not (_asks_whether(question) or any(_asks(question, what) for what in ("how_much", "wording")))
    if _NO_ALONE.search(opening):
        return question is not None and not _asks_whether(question)
    kind = _kind(opening)
    if kind not in UNKNOWN:
        return False
    if kind == "pending" and (question is None or _holds_value(opening)):
        return False
    return question is None or kind == "know" or not _is_answer(kind, opening, question)


def _denies_at_the_end(statements: Sequence[str], question: str) -> bool:
    """Whether an answer that opens with a statement ends by leaving open what the question asks: "It covers boats, but
    does not mention drones". The statements before hold no value and no name, and what is denied is of the question."""
    *stated, last = (clause for sentence in statements for clause in _parts(sentence))
    kind = _kind_of_clause(last)
    if _asks_whether(question) or kind not in ("know", "able", "source", "told"):
        return False
    facts = [clause for clause in stated if _kind_of_clause(clause) == "fact" and not _limits_a_source(clause)]
    if any(_holds_value(clause) or _NAME.search(clause) for clause in facts):
        return False
    if any(_asks(question, what) for what in ("denies", "wording")) or _is_answer("source", last, question):
        return False
    asked = all_forms(content_words(question))
    before = [word for sentence in statements[:-1] for word in content_words(sentence)]
    if sum(not word.forms.isdisjoint(asked) for word in before) > 1 and not any(map(_limits_a_source, statements)):
        return False
    denied = content_words(last)
    return kind in ("know", "able") or not denied or any(not word.forms.isdisjoint(asked) for word in denied)


def _lacks_number(answer: str, question: str) -> bool:
    """Whether a short answer to a question for a number or a time gives none, and speaks of sources, of what is lost,
    secret or vague, or of others who know."""
    evidence = cues(_language(answer)).evidence
    plain = _expanded(answer)
    if len(answer) > SHORT or cues(_language(answer)).after_all.search(plain):
        return False
    if not (evidence["soft"].search(plain) and evidence["meta"].search(plain)):
        return False
    kind = asked_kind(question)
    if not (kind in ("quantity", "time") or _asks(question, "number")):
        return False
    if any(_asks(question, what) for what in ("denies", "wording", "whom")) or _asks_whether(question):
        return False
    return not (
        _VALUE.search(answer) or _ENDLESS.search(answer) or holds_kind(answer, "quantity") or holds_kind(answer, "time")
    )


def _is_answer(kind: Kind, opening: str, question: str) -> bool:
    """Whether what reads like a refusal is what the question asks for."""
    evidence = cues(_language(opening)).evidence
    of_speaker = evidence["speaks"].search(_expanded(opening)) is not None
    if (
        _asks(question, "wording")
        and not of_speaker
        and (kind == "bare" or len(opening.split()) <= WORDING[_language(opening)])
    ):
        return True
    if _asks(question, "denies") and _INDIRECT.search(opening) is None:
        return kind != "source" if _asks(question, "why") else True
    if not _asks_whether(question):
        return False
    if kind != "know" and any(match[1] in question for match in _DENIED_VERB.finditer(opening)):
        return True
    if kind == "pending" or _only_denies(opening, question):
        return True
    patterns = cues(_language(opening)).questions
    if _asks(question, "mentions") and patterns["mentions"].search(opening.lower()):
        return True
    stems = {match[0] for match in patterns["stems"].finditer(opening.lower())}
    return _asks(question, "able") and any(stem in question.lower() for stem in stems)


def _only_denies(opening: str, question: str) -> bool:
    """Whether a statement says nothing but words of the question, of which it denies one."""
    asked, plain = all_forms(content_words(question)), _expanded(opening)
    said = [word for word in content_words(plain) if not _DENIAL.match(word.text)]
    return bool(said) and all(not word.forms.isdisjoint(asked) or word.text[:2] in question for word in said)


# --- what answers after all ---------------------------------------------------------------------------------


def _answers(fact: str, opening: str, question: str | None) -> bool:
    """Whether a statement after an opening that leaves the question open answers it after all."""
    after, before = cues(_language(fact)), cues(_language(opening))
    plain = _expanded(fact)
    if after.after_all.search(plain) or after.after_all.search(_without_opener(plain)):
        return True
    if before.hedges.search(_without_opener(_expanded(opening))) or before.hedges.search(_expanded(opening)):
        return True
    takes_back = after.contrasts.search(plain) is not None
    return (takes_back or _holds_value(fact)) and _is_about(fact, opening, question)


def _is_about(fact: str, opening: str, question: str | None) -> bool:
    """Whether a statement speaks of what the question and the opening speak of, or names no subject of its own."""
    about = all_forms(content_words(question or opening))
    said = content_words(fact)
    if question is not None and any(not word.forms.isdisjoint(about) for word in said):
        return True
    return _NO_SUBJECT.search(fact) is not None


def _holds_value(text: str) -> bool:
    """Whether a text holds a number that is no year and no telephone number."""
    return _VALUE.search(_NO_VALUE.sub(" ", text)) is not None


# --- the kind of a sentence ---------------------------------------------------------------------------------


def _plain_sentence(sentence: str) -> str:
    """The sentence without citations, Markdown, sighs, end marks and quoted words; marks around all of it are removed,
    too."""
    plain = _SIGH.sub("; ", _NOISE.sub("", without_citations(sentence))).strip(" \t-#>•")
    plain = _LABEL.sub("", _QUOTED.sub("“”", _WRAPPED.sub(r"\1", plain)))
    return " ".join(plain.split()).strip(_END_MARKS)


def _parts(sentence: str) -> list[str]:
    """The clauses of a plain sentence."""
    return [clause for part in _CONTRAST.split(sentence) if (clause := part.strip(_END_MARKS))]


@lru_cache(maxsize=4096)
def _kind(sentence: str) -> Kind:
    """A sentence is of the kind of its clauses. A fact outweighs all, unless it is the reason of what follows; a
    refusal outweighs a referral, and that an aside."""
    kinds = [_kind_of_clause(clause) for clause in _parts(sentence)]
    if "fact" in kinds and not (kinds[-1] in UNKNOWN and _is_reason(sentence)):
        return "fact"
    return next((kind for kind in BY_WEIGHT if kind in kinds), "aside")


def _limits_a_source(clause: str) -> bool:
    """Whether a clause says where a source ends, or what alone it holds."""
    plain, evidence = _expanded(clause), cues(_language(clause)).evidence
    return evidence["limits"].search(plain) is not None and any(
        evidence[name].search(plain) for name in ("source", "tells")
    )


def _is_partial(sentence: str) -> bool:
    """Whether a sentence says what a source holds only, and no value: "The plaque only gives the height"."""
    plain, evidence = _expanded(sentence), cues(_language(sentence)).evidence
    return (
        not _holds_value(sentence)
        and _NAME.search(sentence) is None
        and all(evidence[name].search(plain) for name in ("only", "tells", "source"))
    )


def _is_reason(sentence: str) -> bool:
    return _REASON.search(sentence) is not None and not _holds_value(sentence)


@lru_cache(maxsize=4096)
def _kind_of_clause(clause: str) -> Kind:
    clause = _TAG.sub("", clause)
    return _korean_kind(clause) if _is_korean(clause) else _english_kind(clause)


def _is_korean(clause: str) -> bool:
    return _HANGUL.search(clause) is not None and _language(clause) == "ko"


def _english_kind(clause: str) -> Kind:
    if clause.endswith("?"):
        return "asks"
    bare = normalise_clause(clause)
    if match := _SUBORDINATE_FIRST.match(bare):
        if _holds_value(match[1]):
            return "fact"
        bare = _without_opener(bare[match.end() :])
    elif _SUBORDINATE.search(bare) and not is_courtesy(bare):
        return "fact"
    if not bare:
        return "aside"
    found = cues("en")
    if not found.evidence["any"].search(bare):
        return _rest(clause, bare, found)
    if found.names.search(bare):
        return "fact"
    for group in found.groups:
        if group.pattern.search(bare):
            return "fact" if group.kind in ("aside", "sends") and _holds_value(bare) else group.kind
    return "aside" if is_courtesy(clause) else "fact"


def _rest(clause: str, bare: str, found: Cues) -> Kind:
    """The kind of a clause that no cue of an absence marks."""
    asides = (group for group in found.groups if group.kind == "aside")
    if is_courtesy(clause) or _GREETING.search(clause):
        return "aside"
    return "aside" if not _holds_value(bare) and any(group.pattern.search(bare) for group in asides) else "fact"


def _expanded(clause: str) -> str:
    """A clause in lower case, its contractions written out: can't -> can not, I've -> i have."""
    text = clause.lower() + " "
    for mark, words in _CLITICS:
        text = text.replace(mark, words)
    text = _CONTRACTIONS.sub(lambda match: f"{_IRREGULAR.get(match[1], match[1])} not" if match[1] else "can not", text)
    return _IS.sub(r"\1 is ", text).strip()


def _without_opener(clause: str) -> str:
    """A clause without "Sorry, but", "Based on the documents," and the like."""
    openers = cues("en").openers
    while (match := openers.match(clause)) and match.end():
        clause = clause[match.end() :].strip()
    return clause


# --- Korean: what stands before a predicate -----------------------------------------------------------------


def _korean_kind(clause: str) -> Kind:
    found = cues("ko")
    clause = normalise_clause(clause)
    if not clause:
        return "aside"
    if not found.evidence["any"].search(clause):
        return _rest(clause, clause, found)
    if found.names.search(clause):
        return "fact"
    if clause.endswith("?") and not _ASKED_BACK.search(clause):
        return "asks"
    clause = clause.rstrip("?")
    for group in found.groups:
        match = group.pattern.search(clause)
        if match is None:
            continue
        if group.after & _before(clause[: match.start()]):
            return "fact" if group.kind in ("aside", "sends") and _holds_value(clause) else group.kind
    if found.before["whole"].search(clause):
        return "source"
    return "aside" if is_courtesy(clause) or _GREETING.search(clause) else "fact"


@lru_cache(maxsize=4096)
def _before(text: str) -> frozenset[str]:
    """What the text before a Korean predicate is; nobody (아무도) is not a speaker."""
    before = cues("ko").before
    if not before["filler"].sub("", text).strip(" ,"):
        return frozenset({"anything", "nothing"})
    elsewhere = before["elsewhere"].search(before["place"].sub(" ", text) + " ") is not None
    info = before["info"].search(text)
    found = {
        "anything": "아무도" not in text,
        "place": before["place"].search(text) is not None or before["place_only"].search(text.strip()) is not None,
        "info": info is not None and not (elsewhere and info["compound"]),
        "topic": not elsewhere and before["topic"].search(text) is not None,
    }
    return frozenset(name for name, holds in found.items() if holds)
