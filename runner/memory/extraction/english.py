"""Facts of English clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.memory.extraction.facts import Fact
from runner.text.names import names
from runner.text.numbers import quantities

LONGEST_KEY, LONGEST_VALUE = 7, 10  # words

_OPENING = re.compile(
    r"^(?:(?:by the way|actually|also|and|but|so|oh|ok(?:ay)?|well|yes|no|right|sure|thanks|thank you|update|correction|fyi"
    r"|just so you know|as of (?:now|today)|from now on|for the record|in fact|meanwhile|good news|bad news|sorry|hi|hello"
    r"|note that|please note that|remember that|it turns out(?: that)?|i hear(?:d)?(?: that)?|i (?:think|believe|guess)(?: that)?"
    r"|today|yesterday|this (?:morning|week)|now|then|finally)\b[,:.!]?\s*)+",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"[,;]?\s+(?:because|although|though|since|so that|so|while|whereas)\s+"
    r"|[,;]\s+(?=(?:and\s+)?(?:we|i|you|he|she|it|they|the|our|my|your|his|her|their|this|that|there|which|who|please|so|followed"
    r"|i['’]m|it['’]s|that['’]s|not\s+\w+ed)\b)"
    r"|\s+and\s+(?=(?:we|i|you|he|she|it|they|the|our|my|his|her|their|this|that)\s+(?:\w+\s+){1,5}?(?:is|are|was|were|will|has|have)\b)"
    r"|;\s+|\s+[—–-]\s+",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(r"\b(?:not|no longer|never)\b.+?\bbut\b", re.I)
_BUT = re.compile(r"[,;]?\s+but\s+", re.I)
_HAS_CHANGED = re.compile(r"^(?P<key>.+?)\s+(?:(?:has|have|had)\s+)?(?:been\s+)?(?:changed|updated|moved)$", re.I)
_IT_IS = re.compile(r"^(?:it|that|this|he|she)(?:\s+is|\s+will be|['’]s)\s+", re.I)
_DETERMINER = r"(?:the|our|my|this|that|its|his|her|their|your|an?|most of (?:the|our)|all (?:the|our))"
_PRONOUN = re.compile(
    r"^(?:(?:i|we|you|he|she|it|they|there|here|what|which|who|how|why|where|when|everything|nothing|something|everyone|nobody"
    r"|one|someone|both|none|let|let's|if|as|at|in|on|to|for|not|with|by|after|before|from|than|then|check|because|whether"
    r"|please|ignore|forget|remember)\b|(?:this|that|these|those|all|some)$|\d|.*\b(?:there|that|who|which|if|would|could|should|may|might)$)",
    re.IGNORECASE,
)
_ADVERB = (
    r"(?:now|currently|still|also|already|just|recently|finally|officially|again|once more|once again|back|up|down|out|further"
    r"|only|actually|mostly|all|then|always|probably|instead|over|forward|slightly|today|yesterday|later|since|even)"
)
_CHANGED = (
    r"(?:raised|cut|increased|decreased|grown|grew|risen|rose|gone|went|slipped|slid|moved|changed|shifted|postponed|pushed"
    r"|brought|delayed|reduced|lowered|dropped|fallen|fell|updated|revised|set|extended|shortened|renamed|switched|bumped"
    r"|shrunk|shrank|expanded|adjusted|corrected|rescheduled|upgraded|downgraded|transferred|relocated|promoted|doubled"
    r"|halved|trimmed|boosted|climbed|jumped|improved|reassigned|handed|converted|migrated|fixed|put|settled|made)"
)
_CHANGES = (
    r"(?:raise|cut|increase|decrease|move|change|shift|postpone|push|bring|delay|reduce|lower|update|revise|set|extend"
    r"|shorten|rename|switch|bump|expand|adjust|correct|reschedule|upgrade|downgrade|transfer|relocate|migrate|drop)s?"
)
_AUX = (
    r"(?:has|have|had|was|were|is|are|be|been|being|got|gets|will|would|must|should|can|may|to|going|'ve|’ve|'s|’s|decided"
    r"|agreed|had to|want|wants|need|needs|am|'m|’m|'re|’re|'ll|’ll)"
)
_KEY = r"(?P<key>[^,;]+?)"
_VALUE = r"(?P<value>.+)"
_OLD = r"(?:from\s+(?P<old>[^;]+?)\s+)?"

_RENAMED = re.compile(
    rf"^{_KEY}\s+(?:is|are|was|were|has been|have been|will be|'s|’s)\s+(?:{_ADVERB}\s+)*(?:called|named|titled|renamed)(?:\s+to)?\s+{_VALUE}$",
    re.I,
)
_BECAME = re.compile(
    rf"^{_KEY}(?:\s+{_AUX}|\s+{_ADVERB}|['’](?:s|ve|d))*\s+{_CHANGED}(?:,?\s+{_ADVERB})*,?\s+{_OLD}(?:to|until|at)\s+{_VALUE}$",
    re.I,
)
_MADE = re.compile(
    rf"^(?:please|let['’]s|let us|we|i|they|he|she|you|[A-Z]\w+(?:\s[A-Z]\w+)?)(?:\s+{_AUX}|\s+{_ADVERB}|['’](?:ve|d|ll|m|re))*\s+(?:{_CHANGED}|{_CHANGES})"
    rf"\s+(?P<key>{_DETERMINER}\s+[^,;]+?)(?:,?\s+{_ADVERB})*,?\s+{_OLD}(?:to|until|at|as)\s+{_VALUE}$",
    re.I,
)
_REPLACED = re.compile(
    rf"^(?:we|i|they|he|she|[A-Z]\w+)(?:\s+{_AUX}|\s+{_ADVERB}|['’](?:ve|d|ll|m|re))*\s+(?:(?:{_CHANGED}|{_CHANGES})\s+from\s+(?P<old>.+?)\s+to"
    r"|replaced?\s+(?P<old2>.+?)\s+(?:with|by))\s+(?P<value>.+)$",
    re.I,
)
_VERSION = re.compile(
    rf"^(?:we|i|they)(?:\s+{_AUX}|\s+{_ADVERB}|['’](?:ve|d|ll|m|re))*\s+(?:up|down)grad(?:ed|ing)\s+{_OLD}to\s+(?:version\s+)?(?P<value>v?\d\S*)$",
    re.I,
)
_IS_RENAMED = re.compile(r"\brenam", re.I)
_HAS_ROLE = re.compile(
    rf"^(?P<value>[A-Z][\w.'’-]*(?:\s[A-Z][\w.'’-]*){{0,3}})\s+(?:is|will be|has become|became|took over as|takes over as)\s+(?:{_ADVERB}\s+)*"
    r"(?P<key>(?:the|our|my)\s+(?:new\s+)?[a-z][\w ]*)$"
)
_USED_FOR = re.compile(
    r"^(?:we|i)\s+(?:now\s+|currently\s+|are\s+|['’]re\s+)*us(?:e|ing)\s+(?P<value>.+?)\s+(?:as|for)\s+(?P<key>(?:the|our|my)\s+.+)$",
    re.I,
)
_HAS_OF = re.compile(rf"^{_KEY}\s+(?:has|have|had)\s+an?\s+(?P<attribute>[\w ]+?)\s+of\s+{_VALUE}$", re.I)
_IS = re.compile(
    rf"^{_KEY}(?:\s+(?P<be>is|are|was|were|will be|has been|have been|becomes|became|remains|equals|means))\s+"
    rf"(?P<rest>(?:(?:{_ADVERB}|going to be|set to be|about|around|approximately|roughly)\s+)*){_VALUE}$",
    re.I,
)
_COLON = re.compile(r"^(?P<key>[A-Za-z][\w'’&/. -]{1,40}?)\s*(?::|=)\s+(?P<value>\S.*)$")
_WE_HAVE = re.compile(
    r"^(?:we|i)(?:\s+(?:now|currently|still|also|already|just|recently))*(?:['’]ve)?\s+(?:have|got|own|use|bought|hired|need|ordered|run|employ|lead|manage|booked)"
    r"\s+(?:(?:now|about|around|only|exactly|at least|another|got)\s+)*(?P<value>[$€£₩]?\d[\d,.]*\s+(?P<key>[A-Za-z][\w' -]*?))(?:\s+(?:in|on|at|for|to|that|with|by|from|and|this|last|next)\b.*)?$",
    re.I,
)
_DOES = re.compile(
    rf"^(?P<key>(?:{_DETERMINER}\s+)?[A-Za-z][^,;]*?)\s+(?:(?:must|should|can|will|may|shall|now|also|only)\s+)*(?P<verb>be|is|are|was|were|has|have|costs?|takes?|accounts?"
    r"|goes|lasts?|weighs?|starts?|ends?|opens?|closes?|uses?|runs?|needs?|holds?|contains?|covers?|makes?|earns?|pays?|expires?|arrives?"
    r"|leaves?|begins?|happens?|measures?|meets?|serves?|departs?|rose|went|gone|grew|belongs?|reports?)\b(?P<rest>.+)$",
    re.I,
)
_PARTICIPLE = re.compile(
    r"^(?:not\s+)?(?:\w+(?:ed|en|wn|ne)|kept|held|led|run|made|built|paid|sent|done|set|cut|due|based|located|hosted|scheduled|planned)"
    rf"(?:\s+{_ADVERB})*\s+(?P<link>to|at|by|for|after|in|on|as|with|until|every|within|before|from|around|between|under)\b\s*(?P<value>.+)$",
    re.I,
)
_TRAILING = re.compile(
    rf"(?:,?\s+(?:{_ADVERB}|for now|as of (?:today|now)|at the moment|right now|please|by the way|i (?:hear|think|guess|believe)|too"
    r"|this time|from now on|per the board|as well|after all|so far|in all|in total))+$",
    re.I,
)
_OF_IT = re.compile(r"\s+(?:for|of|to|about) (?:it|that|this|them|the bill)$", re.I)
_NOT_OLD = re.compile(
    r"^(?P<new>.+?),?\s+(?:instead of|rather than|and not|not|no longer|in place of)\s+(?P<old>.+)$|^no longer\s+(?P<old2>.+?),?\s+but\s+(?:now\s+)?(?P<new2>.+)$"
    r"|^not\s+(?P<old3>.+?),?\s+but\s+(?P<new3>.+)$",
    re.I,
)
_LEADING = re.compile(r"^(?:about|around|approximately|roughly|exactly|on|at|in|for|by|the|an?|to|still|now)\s+", re.I)

_SELF: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (key, re.compile(rf"^i(?:['’](?:m|ve|d|ll)|\s+{_AUX}|\s+{_ADVERB})*\s+{pattern}$", re.I))
    for key, pattern in (
        (
            "home",
            r"(?:live|living|moved|relocated|moving|relocating)\s+(?:with \w+ )?(?:from\s+(?P<old>.+?)\s+)?(?:in|to)\s+(?P<value>.+)",
        ),
        ("employer", r"(?:work|working|worked)\s+(?:at|for)\s+(?P<value>.+)"),
        ("employer", r"(?:joined|joining)\s+(?P<value>[A-Z].+)"),
        ("job", r"(?:work|working)\s+as\s+(?P<value>.+)"),
        ("hometown", r"(?:come|came|am)?\s*(?:originally\s+)?from\s+(?P<value>[A-Z].+)"),
        ("age", r"(?:turned\s+)?(?P<value>\d{1,3})(?:\s+years?\s+old)?"),
        ("name", r"(?:called|named)\s+(?P<value>[A-Z].+)"),
    )
) + (("name", re.compile(r"^(?:please\s+)?call me\s+(?P<value>[A-Z].+)$", re.I)),)


def facts_of(sentence: str) -> Iterator[Fact]:
    """Facts of all clauses of a sentence, in order."""
    subject = ""
    for piece in _CLAUSES.split(sentence.strip().rstrip(".!")):
        for clause in [piece] if _NOT_BUT.search(piece) else _BUT.split(piece):
            plain = _OPENING.sub("", clause.strip(" ,.!"))
            if match := _HAS_CHANGED.match(plain):
                subject = match["key"] if _is_key(match["key"]) else ""
            elif plain:
                yield from _of_clause(_IT_IS.sub(f"{subject} is ", plain) if subject else plain)


def _of_clause(clause: str) -> Iterator[Fact]:
    clause = _TRAILING.sub("", clause)
    for key, pattern in _SELF:
        if match := pattern.match(clause):
            yield Fact(key, _value(match["value"]), _value(match.groupdict().get("old") or ""))
            return
    for read in (_changed, _named, _had, _told):
        found = read(clause)
        if found is not None:
            if found.value and (found.key or found.old):
                yield found
            return


def _changed(clause: str) -> Fact | None:
    if match := _REPLACED.match(clause):
        return Fact("", _value(match["value"]), _value(match["old"] or match["old2"]))
    if match := _VERSION.match(clause):
        return Fact("version", _value(match["value"]), _value(match["old"] or ""))
    match = _MADE.match(clause) or _BECAME.match(clause)
    if match is None or not _is_key(match["key"]):
        return None
    key = f"{match['key']} name" if _IS_RENAMED.search(clause[: match.start("key")]) else match["key"]
    return _fact(key, match["value"], old=match["old"] or "")


def _named(clause: str) -> Fact | None:
    match = _RENAMED.match(clause)
    if match is None or not _is_key(match["key"]):
        return None
    key = _key(match["key"])
    return _fact(key if key.endswith("name") else f"{key} name", match["value"])


def _had(clause: str) -> Fact | None:
    if match := _WE_HAVE.match(clause):
        return Fact(_key(match["key"]), _value(match["value"]), is_loose=True)
    if (match := _USED_FOR.match(clause) or _HAS_ROLE.match(clause)) and _is_key(match["key"]):
        return _fact(match["key"], match["value"])
    if (match := _HAS_OF.match(clause)) and _is_key(match["key"]):
        return _fact(f"{_key(match['key'])} {match['attribute']}", match["value"])
    return None


def _told(clause: str) -> Fact | None:
    if (match := _COLON.match(clause)) and _is_key(match["key"]) and not _IS.match(match["key"]):
        return _fact(match["key"], match["value"])
    match = _IS.match(clause)
    if match is not None and _is_key(match["key"]):
        value = match["value"]
        if participle := _PARTICIPLE.match(value):
            return _fact(match["key"], participle["value"], is_loose=True)
        if not _says_what_kind(match["key"], value):
            return _fact(match["key"], value)
    return _with_quantity(clause)


def _with_quantity(clause: str) -> Fact | None:
    match = _DOES.match(clause)
    if match is None or not _is_key(match["key"]):
        return None
    rest = match["rest"]
    said = [quantity.text for quantity in quantities(rest)] or names(rest)
    if not said:
        return None
    return _fact(match["key"], rest[max(0, rest.find(said[0])) :], is_loose=True)


def _fact(key: str, value: str, *, old: str = "", is_loose: bool = False) -> Fact | None:
    new, before = _value(value), _value(old)
    if match := _NOT_OLD.match(new):
        new = _value(match["new"] or match["new2"] or match["new3"])
        before = before or _value(match["old"] or match["old2"] or match["old3"])
    if len(new.split()) > LONGEST_VALUE:
        return Fact("", "")
    return Fact(_key(key), new, before, is_loose)


def _is_key(text: str) -> bool:
    plain = text.strip()
    return 0 < len(plain.split()) <= LONGEST_KEY and not _PRONOUN.match(plain) and any(map(str.isalnum, plain))


def _says_what_kind(key: str, value: str) -> bool:
    """Somebody is a violinist, and may be a mother too."""
    is_name = key[:1].isupper() and re.match(_DETERMINER + r"\s", key, re.I) is None
    return is_name and re.match(r"(?:an?|one of|known|also|very|so|really|\w+ing|\w+ed)\b", value, re.I) is not None


def _key(text: str) -> str:
    plain = _OF_IT.sub("", " ".join(text.split()).strip(" '\"“”*_"))
    return re.sub(rf"^(?:{_DETERMINER})\s+", "", plain, flags=re.I)


def _value(text: str) -> str:
    plain = _OF_IT.sub("", " ".join(text.split()).rstrip(".!"))
    plain = _TRAILING.sub("", plain.strip(" .,!;'\"“”‘’*_`"))
    while (shorter := _LEADING.sub("", plain)) != plain:
        plain = shorter
    return plain.strip(" .,'\"“”‘’")
