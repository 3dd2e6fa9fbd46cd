"""Facts of English clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.domains.memory.extraction import english_words as words
from runner.domains.memory.extraction.facts import Fact
from runner.text.names import names
from runner.text.numbers import quantities

LONGEST_KEY, LONGEST_VALUE = 9, 10  # words


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# --- clauses ----------------------------------------------------------------------------------------

_OPENING = _pattern(rf"^(?:{words.OPENINGS}\b[,:.!]?\s*)+")
_CLAUSES = _pattern(
    rf"[,;]?\s+{words.CONJUNCTIONS}\s+"
    rf"|[,;]\s+(?=(?:and\s+)?{words.SUBJECTS}\b)"
    rf"|\s+and\s+(?={words.SUBJECTS}\s+(?:\w+\s+){{1,5}}?(?:is|are|was|were|will|has|have)\b)"
    r"|;\s+|\s+[—–-]\s+"
)
_NOT_BUT = _pattern(r"\b(?:not|no longer|never)\b.+?\bbut\b")
_BUT = _pattern(r"[,;]?\s+but\s+")
_HAS_CHANGED = _pattern(r"^(?P<key>.+?)\s+(?:(?:has|have|had)\s+)?(?:been\s+)?(?:changed|updated|moved)$")
_IT_IS = _pattern(r"^(?:it|that|this|he|she)(?:\s+is|\s+will be|['’]s)\s+")
_LEAD_IN = re.compile(r"^[^:]{1,60}:\s+(?=\S+\s+\S)")

# --- facts: `key`, `value`, and `old` -----------------------------------------------------------------

_HELPED = rf"(?:\s+{words.AUXILIARIES}|\s+{words.ADVERBS}|['’](?:s|ve|d|ll|m|re))*"
_WE = rf"^(?:please|let['’]s|let us|we|i|they|he|she|you|[A-Z]\w+(?:\s[A-Z]\w+)?){_HELPED}\s+"
_FROM = r"(?:from\s+(?P<old>[^;]+?)\s+)?"
_KEY, _VALUE = r"(?P<key>[^,;]+?)", r"(?P<value>.+)$"
_CHANGED = rf"(?:{words.CHANGED}|{words.CHANGE}s?)"
_THEN = rf"(?:,?\s+{words.ADVERBS})*,?"

_BECAME = _pattern(rf"^{_KEY}{_HELPED}\s+{words.CHANGED}{_THEN}(?::|\s+{_FROM}(?:to|until|at|for|as))\s+{_VALUE}")
_MADE = _pattern(
    rf"{_WE}{_CHANGED}\s+(?P<key>{words.DETERMINERS}\s+[^,;]+?){_THEN}\s+{_FROM}(?:to|until|at|as|for|by)\s+{_VALUE}"
)
_SWITCHED = _pattern(rf"{_WE}{_CHANGED}\s+from\s+(?P<old>.+?)\s+to\s+{_VALUE}")
_REPLACED = _pattern(rf"{_WE}replaced?\s+(?P<old>.+?)\s+(?:with|by)\s+{_VALUE}")
_UPGRADED = _pattern(rf"{_WE}(?:up|down)grad(?:ed|ing)\s+{_FROM}to\s+(?:version\s+)?(?P<value>v?\d\S*)$")
_IS_RENAMED = _pattern(r"\brenam")
_CHOSE = _pattern(
    rf"{_WE}(?:chose|picked|selected|use|using|elected|appointed|took)\s+(?P<value>.+?)\s+(?:as|for)\s+"
    rf"(?P<key>{words.DETERMINERS}\s+[^,;]+)$"
)
_CALLED = _pattern(
    rf"^{_KEY}\s+{words.BE}\s+(?:{words.ADVERBS}\s+)*(?:called|named|titled|renamed)(?:\s+to)?\s+{_VALUE}"
)
_HAS_OF = _pattern(rf"^{_KEY}\s+(?:has|have|had)\s+an?\s+(?P<what>[\w ]+?)\s+of\s+{_VALUE}")
_HAS_NAMELY = _pattern(
    rf"^{_KEY}\s+(?:has|have)\s+an?\s+(?:(?:different|separate|new|own|other)\s+)?(?P<what>[\w' ]+?),?"
    rf"\s+(?:namely|called)\s+{_VALUE}"
)
_WITH_OF = _pattern(rf"{_WE}(?:\w+\s+)?(?:with\s+)?an?\s+(?P<key>[\w' ]+?)\s+of\s+(?P<value>[$€£]?\d.*)$")
_WE_HAVE = _pattern(
    rf"^(?:we|i){_HELPED}\s+{words.HAVE}\s+(?:(?:about|around|only|exactly|at least|another)\s+)*"
    r"(?P<value>[$€£]?\d[\d,.]*\s+(?P<key>[A-Za-z][\w' -]*?))"
    r"(?:\s+(?:in|on|at|for|to|that|with|by|from|and|this|last|next|now)\b.*)?$"
)
_HAS_ROLE = re.compile(
    rf"^(?P<value>[A-Z][\w.'’-]*(?:\s[A-Z][\w.'’-]*){{0,3}})\s+(?:is|will be|has become|became|took over as)\s+"
    rf"(?:{words.ADVERBS}\s+)*(?P<key>(?:the|our|my)\s+(?:new\s+)?[a-z][\w ]*)$"
)
_FOR_WHOM = _pattern(rf"^for\s+(?P<whom>the\s+\w+(?:\s\w+){{0,3}}?)\s+(?P<key>the\s+[^,;]+?)\s+{words.BE}\s+{_VALUE}")
_IS = _pattern(
    rf"^{_KEY}\s+{words.BE}\s+(?:(?:{words.ADVERBS}|going to be|set to be|about|around|roughly)\s+)*{_VALUE}"
)
_PARTICIPLE = _pattern(
    rf"^(?:not\s+)?{words.PARTICIPLES}(?:\s+{words.ADVERBS})*\s+(?:to|at|by|for|after|in|on|as|with|until|within|before"
    rf"|from|around|between|under|(?=every))\s*{_VALUE}"
)
_DOES = _pattern(
    rf"^(?P<key>(?:{words.DETERMINERS}\s+)?[A-Za-z][^,;]*?)\s+(?:(?:must|should|can|will|may|shall|now|also|only)\s+)*"
    rf"{words.VERBS}\b(?!\s+{words.VERBS}\b)(?P<rest>.+)$"
)
_COLON = re.compile(r"^(?P<key>[A-Za-z][\w'’&/. -]{1,40}?)\s*(?::|=)\s+(?P<value>\S.*)$")
_SELF = tuple(
    (key, _pattern(rf"^(?:i{_HELPED}|(?:please\s+)?call me)\s+{pattern}$")) for key, pattern in words.OF_ONESELF
)

# --- parts of facts -----------------------------------------------------------------------------------

_NO_KEY = _pattern(rf"^(?:{words.NO_KEYS}\b|(?:this|that|these|those|all|some)$|\d|.*\b{words.NO_KEY_ENDS}$)")
_OWNED = _pattern(rf"^{words.DETERMINERS}\s")
_FULL_NAME = re.compile(rf"(?!(?i:{words.DETERMINERS})\s)[A-Z][\w'’.-]*\s(?:and\s)?[A-Z]")
_ANY_NAME = re.compile(rf"(?!(?i:{words.DETERMINERS})\s)[A-Z]")
_SMALL_TALK = _pattern(rf"^(?:(?:very|so|really|rather|quite|a bit|too)\s+)*{words.SMALL_TALK}$")
_ONE_OF_MANY = _pattern(r"^(?:an?|one of|known|also|very|so|really|\w+ing|\w+ed)\b")
_NOT_OLD = _pattern(
    r"^(?P<new>.+?),?\s+(?:instead of|rather than|and not|not|no longer|in place of)\s+(?P<old>.+)$"
    r"|^(?:no longer|not)\s+(?P<old2>.+?),?\s+but\s+(?:now\s+)?(?P<new2>.+)$"
)
_DENIED = re.compile(r"^not\s+(?:[$€£]?\d|[A-Z])")
_OF_IT = _pattern(r"\s+(?:for|of|to|about) (?:it|that|this|them|the bill)$")
_TRAILING = _pattern(rf"(?:,?\s+{words.TRAILING})+$")
_LEADING = _pattern(r"^(?:about|around|approximately|roughly|exactly|on|at|in|for|by|to|still|now)\s+")


def facts_of(sentence: str) -> Iterator[Fact]:
    """Facts of all clauses of a sentence, in order."""
    subject = ""
    for piece in _CLAUSES.split(_OPENING.sub("", sentence.strip().rstrip(".!"))):
        for clause in [piece] if _NOT_BUT.search(piece) else _BUT.split(piece):
            plain = _TRAILING.sub("", _OPENING.sub("", clause.strip(" ,.!")))
            match = _HAS_CHANGED.match(plain) or _IS.match(plain)
            if match and ("value" not in match.groupdict() or _is_denied(match["value"])):
                subject = match["key"] if _is_key(match["key"]) else ""
            elif plain:
                yield from _of_clause(_IT_IS.sub(f"{subject} is ", plain) if subject else plain)


def _of_clause(clause: str) -> list[Fact]:
    """At most one."""
    if (lead := _LEAD_IN.match(clause)) and (facts := _of_clause(_OPENING.sub("", clause[lead.end() :]))):
        return facts
    for key, pattern in _SELF:
        if match := pattern.match(clause):
            return [Fact(key, _value(match["value"]), _value(match.groupdict().get("old") or ""))]
    for read in (_changed, _named, _had, _told):
        fact = read(clause)
        if fact is not None:
            return [fact] if any(map(str.isalnum, fact.value)) and (fact.key or fact.old) else []
    return []


def _changed(clause: str) -> Fact | None:
    if match := _UPGRADED.match(clause):
        return Fact("version", _value(match["value"]), _value(match["old"] or ""))
    if match := _SWITCHED.match(clause) or _REPLACED.match(clause):
        return Fact("", _value(match["value"]), _value(match["old"]))
    match = _MADE.match(clause) or _BECAME.match(clause)
    if match is None or not _is_key(match["key"]):
        return None
    key = f"{match['key']} name" if _IS_RENAMED.search(clause[: match.start("key")]) else match["key"]
    return _fact(key, match["value"], old=match["old"] or "")


def _named(clause: str) -> Fact | None:
    if (match := _CALLED.match(clause)) and _is_key(match["key"]):
        key = _key(match["key"])
        return _fact(key if key.endswith("name") else f"{key} name", match["value"])
    if (match := _CHOSE.match(clause) or _HAS_ROLE.match(clause)) and _is_key(match["key"]):
        return _fact(match["key"], match["value"])
    return None


def _had(clause: str) -> Fact | None:
    if match := _FOR_WHOM.match(clause):
        return _fact(f"{_key(match['whom'])} {_key(match['key'])}", match["value"])
    if match := _WITH_OF.match(clause):
        return _fact(match["key"], match["value"])
    if match := _WE_HAVE.match(clause):
        return Fact(_key(match["key"]), _value(match["value"]), is_loose=True)
    if (match := _HAS_OF.match(clause) or _HAS_NAMELY.match(clause)) and _is_key(match["key"]):
        return _fact(f"{_key(match['key'])} {match['what']}", match["value"])
    return None


def _told(clause: str) -> Fact | None:
    if (match := _COLON.match(clause)) and _is_key(match["key"]) and not _IS.match(match["key"]):
        return _fact(match["key"], match["value"])
    if (match := _IS.match(clause)) and _is_key(match["key"]):
        key, value = match["key"], match["value"]
        if participle := _PARTICIPLE.match(value):
            return None if _FULL_NAME.match(key) else _fact(key, participle["value"], is_loose=True)
        if _SMALL_TALK.match(value) or (_ANY_NAME.match(key) and _ONE_OF_MANY.match(value)):
            return None  # who is a violinist may be a mother, too
        return _fact(key, value)
    return _with_quantity(clause)


def _with_quantity(clause: str) -> Fact | None:
    match = _DOES.match(clause)
    if match is None or not _is_key(match["key"]):
        return None
    rest, is_name = match["rest"], _FULL_NAME.match(match["key"]) is not None
    said = [quantity.text for quantity in quantities(rest) if not (is_name and quantity.unit.startswith("date."))]
    said = said or ([] if is_name else names(rest))
    return _fact(match["key"], rest[max(0, rest.find(said[0])) :], is_loose=True) if said else None


def _fact(key: str, value: str, *, old: str = "", is_loose: bool = False) -> Fact:
    new, before = _value(value), _value(old)
    if match := _NOT_OLD.match(new):
        new, before = _value(match["new"] or match["new2"]), before or _value(match["old"] or match["old2"])
    if len(new.split()) > LONGEST_VALUE or _DENIED.match(new):  # what something is not tells of no value
        return Fact("", "")
    return Fact(_key(key), new, before, is_loose)


def _is_denied(value: str) -> bool:
    return _DENIED.match(value) is not None and _NOT_OLD.match(value) is None


def _is_key(text: str) -> bool:
    plain = text.strip()
    return 0 < len(plain.split()) <= LONGEST_KEY and not _NO_KEY.match(plain) and any(map(str.isalnum, plain))


def _key(text: str) -> str:
    return _OWNED.sub("", _OF_IT.sub("", " ".join(text.split()).strip(" '\"“”*_")))


def _value(text: str) -> str:
    plain = _OF_IT.sub("", " ".join(text.split()).rstrip(".!"))
    plain = _TRAILING.sub("", plain.strip(" .,!;'\"“”‘’*_`"))
    while (shorter := _LEADING.sub("", plain)) != plain:
        plain = shorter
    return plain.strip(" .,'\"“”‘’")
