"""M_i from M_(i-1) and the turns since, by rules: where statements about the same thing differ, the newest is kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from runner.domains.memory.bounds import is_within
from runner.domains.memory.entities import normalise_key
from runner.domains.memory.extraction import grammar
from runner.domains.memory.extraction.grammar import Fact, facts_of, has, identity, kind, mood, same_thing, words_in
from runner.domains.memory.recall import as_told, courtesy
from runner.domains.memory.records import Bounds, ChatTurn, Entity, Summary
from runner.text.courtesies import is_courtesy
from runner.text.matching import shows
from runner.text.names import names
from runner.text.numbers import quantities
from runner.text.sentences import split_sentences
from runner.text.words import content_words

SIMILAR, LEAST_WORDS = (
    0.45,
    5,
)  # two statements that share so many words, and such a share of their words, are one repeated
MOST, LONGEST = 20_000, 400  # characters that are read: of a turn, of a sentence
ALIKE = 0.5  # share of its words that a correction of one of a few turns has in common with it
LATEST = 3  # lines back to which a correction without a word of what it corrects may go
ASSISTANTS = {"en": "Assistant", "ko": "어시스턴트"}
_SPEAKER, _ENDED = re.compile(r"^\[([^\[\]\n]{1,60})\] "), re.compile(r"[.!?。…]['\"”’)]*$")
_ADDRESSED = re.compile(r"^(?:to|dear)\s[^:,]{1,40}:|^[^:]{1,20}(?:에게|께)\s*:", re.IGNORECASE)
_SORRY = re.compile(r"^(?:so |i['’]m )?(?:sorry|apologies|죄송\S*|미안\S*)[,.!]?\s+(?=\S)", re.IGNORECASE)
QUOTED_WORDS = 3  # up to so many are a name in quotation marks
_UNREAD = re.compile(  # words in reverse order, code, data, markup, quoted lines, roles that do not exist here
    "[\u202d\u202e][^\u202c\n]*\u202c?|(?:```|~~~)(?:.|\n)*?(?:```|~~~|\\Z)|\\{[^\n]*\\}|</?[A-Za-z][^<>\n]{0,80}>"
    r"|^\s*(?:>.*|(?:assistant|user|system|human|ai|bot|developer|사용자|어시스턴트|시스템|도우미|봇)\s*[:：].*"
    r"|#+\s*(?:system|assistant|user|시스템).*)$",
    re.IGNORECASE | re.MULTILINE,
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_QUOTED = re.compile(
    r"“([^”]{1,5000})”|「([^」]{1,5000})」|『([^』]{1,5000})』|(?<![A-Za-z0-9])\"([^\"]{1,5000})\""
    r"|(?<![\w'])'([^'\n]{1,500})'(?![A-Za-z0-9])|‘([^’\n]{1,500})’(?![A-Za-z0-9])"
)
_SPOKEN = re.compile(
    r"(?:님이|께서|[가이]|\b(?:said|told \w+|goes|wrote:?|emailed:?|keeps (?:saying|going)))\s$", re.IGNORECASE
)
_SAYING = re.compile(r"[:：=?!]|\b(?:is|are|was|am)\b|[가-힣](?:다|요)\W*$")


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence of the memory. `speaker`: empty for the user."""

    text: str
    speaker: str
    facts: tuple[Fact, ...] = ()
    mood: grammar.Mood = "statement"
    turn: int = 0

    @property
    def is_assistant(self) -> bool:
        return self.speaker in ASSISTANTS.values()

    @property
    def rank(self) -> int:
        """The order in which lines are dropped where there is too much: first what an assistant said, then lines
        without a fact."""
        return 0 if self.is_assistant else 1 + bool(self.facts)

    @property
    def shown(self) -> str:
        text = self.text if _ENDED.search(self.text) else f"{self.text}."
        return f"[{self.speaker}] {text}" if self.speaker else text


def digest(
    memory: str, entities: Sequence[Entity], turns: Sequence[ChatTurn], language: str | None, bounds: Bounds
) -> Summary:
    """A sentence a line, the newest first; what an assistant, or one of two people, said has the name in brackets
    before it. A value that has changed is neither in the memory nor in the entities any more."""
    digested = _Digest(memory, entities)
    for turn in turns:
        for line in _lines_of(turn, ASSISTANTS.get(language or "en", "Assistant")):
            digested.take(line)
    return Summary(_fit_lines(digested.lines, bounds), tuple(digested.changes.items()))


def outdated_turns(turns: Sequence[ChatTurn]) -> frozenset[int]:
    """Numbers of the turns with a statement that a later turn, in the order given, replaced, corrected or ended."""
    digested, n_statements = _Digest("", (), least=ALIKE), Counter[int]()
    for turn in turns:
        for line in _lines_of(turn, ASSISTANTS["en"]):
            if not line.is_assistant:
                digested.take(line)
                n_statements[turn.number] += 1
    return frozenset(n_statements - Counter(line.turn for line in digested.lines))


# --- what a turn states -----------------------------------------------------------------------------


def _lines_of(turn: ChatTurn, assistant: str) -> Iterator[_Line]:
    """Of the user what says something: no questions, wishes, courtesies and small talk, a request only where it is to
    hold from now on or changes something. Of the assistant what tells a number or a name, without an if or a may."""
    speaker = " ".join(turn.speaker.replace("[", "").replace("]", "").split())[:60]
    sentences = _sentences(turn.user)
    was_wrong = any(
        mood(text) == "correction" and not _values(text) for text in sentences
    )  # I misread it. It's $1,300.
    for text in sentences:
        how = "correction" if was_wrong and mood(text) in ("statement", "chatter", "newly") else mood(text)
        is_bare = how == "correction" and not words_in(grammar.without(text, how)) and not re.search(r"\d", text)
        if (how in grammar.UNREAL and not grammar.is_standing(text)) or text.endswith("?") or is_bare:
            continue
        facts = () if how == "hearsay" else facts_of(text)
        tells = bool(facts or _values(text)) or how in ("correction", "changed", "cancellation")
        if grammar.is_request(text) and how not in ("correction", "changed", "cancellation"):
            facts = tuple(fact for fact in facts if not fact.is_loose)
            tells = bool(facts) or grammar.is_standing(text)
        elif how != "chatter":
            tells = tells or len(words_in(text)) > (not has(text, "first_person"))
        if tells and not (how == "chatter" and has(text, "weather") and not facts):
            yield _Line(text, speaker, _add_owner(facts, speaker), how, turn.number)
    for text in _sentences(turn.assistant):
        facts = tuple(fact for fact in facts_of(text) if re.search(r"\d", fact.value) or names(f"is {fact.value}"))
        if facts and not has(text, "unsure") and not grammar.is_request(text):
            yield _Line(text, assistant, facts)


def _sentences(text: str) -> list[str]:
    sentences = (as_told(each) for each in split_sentences(own_words(text[:MOST])) if len(each) <= LONGEST)
    return [
        each
        for each in sentences
        if not is_courtesy(_SORRY.sub("", each)) and not courtesy(each) and not _ADDRESSED.match(each)
    ]


def _add_owner(facts: Sequence[Fact], speaker: str) -> tuple[Fact, ...]:
    """Add the owner to the key of a fact: of two people, each may have a dog."""
    return tuple(replace(fact, key=f"{speaker} {fact.key}" if fact.key and speaker else fact.key) for fact in facts)


# --- what holds no longer ---------------------------------------------------------------------------


class _Digest:
    """`lines`: oldest first. `changes`: entities to set, by their key. `least`: the share of its words that a
    correction without the old value must have in common with the line that it corrects; 0 where all lines are at hand,
    so that it may correct the most similar one."""

    def __init__(self, memory: str, entities: Sequence[Entity], least: float = 0) -> None:
        sentences = [sentence for line in memory.splitlines() for sentence in split_sentences(line)]
        self.lines = [_read(sentence) for sentence in reversed(sentences)]
        self.changes: dict[str, str] = {}
        self.least = least
        self._entities = {entity.key: entity.value for entity in entities}

    def take(self, line: _Line) -> None:
        facts = line.facts
        if line.is_assistant:
            facts = tuple(fact for fact in facts if fact.key and not self._is_known(fact))
            if not facts:
                return
        earlier_facts = [fact for old in self.lines for fact in old.facts if fact.key]
        earlier_facts += (Fact(key, value) for key, value in self._entities.items())
        stale = [(fact, value) for fact in facts for value in self._replace(fact, earlier_facts)]
        lines_left = [left for old in self.lines for left in _still_true(old, facts, stale)]
        before = [old for old in lines_left if not _says_anew(line, old)]
        ended = [old for old in lines_left if old not in before]
        if not ended and not any(_is_replaced(fact, other) for fact in facts for other in earlier_facts):
            ended = [old for old in _outdated_lines(line, before) if _common_share(line, old) >= self.least]
            before = [each for old in before for each in (_remainder(old, line) if old in ended else [old])]
        for old in ended:
            self._end(old, line)
            stale += [(Fact("", line.text), value) for value in _words_of(re.sub(r"\S+[은는이가]\s", "", old.text))]
        self.lines = [*before, *_without_old(replace(line, facts=facts), stale)]

    def _is_known(self, fact: Fact) -> bool:
        """Whether a fact of an assistant repeats the statement of a person. Only such facts count: an assistant may be
        made to say anything."""
        users_lines = [line for line in self.lines if not line.is_assistant]
        parts = [quantity.text for quantity in quantities(fact.value)] or [fact.value]
        return (
            any(same_thing(fact, other) for line in users_lines for other in line.facts)
            or all(any(shows(line.text, [part]) for line in users_lines) for part in parts)
            or any(normalise_key(value) == normalise_key(fact.value) for value in self._entities.values())
        )

    def _replace(self, fact: Fact, known_facts: Sequence[Fact]) -> list[str]:
        """Takes in a fact; the values that it takes the place of."""
        same = [other for other in known_facts if _is_replaced(fact, other)]
        keys = [key for key in self._entities if any(normalise_key(other.key) == key for other in same)]
        for key in keys or ([normalise_key(fact.key)] if fact.key else []):
            self._set(key, fact.value)
        values = [other.value for other in same] + ([fact.old] if fact.old else [])
        return [value for value in dict.fromkeys(values) if normalise_key(value) != normalise_key(fact.value)]

    def _set(self, key: str, value: str) -> None:
        self.changes.pop(key, None)
        self.changes[key] = self._entities[key] = value

    def _end(self, old: _Line, line: _Line) -> None:
        """Gives the entities of a line that holds no longer what took its place."""
        for fact in old.facts:
            if self._entities.get(normalise_key(fact.key)) == fact.value and fact not in _others(old, line):
                values = [value for value in _values(line.text) if kind(value) == kind(fact.value)]
                self._set(normalise_key(fact.key), values[-1] if values else line.text)


def _is_replaced(fact: Fact, old_fact: Fact) -> bool:
    if fact.key and same_thing(fact, old_fact):
        return True
    is_old = bool(fact.old) and normalise_key(fact.old) == normalise_key(old_fact.value)
    return is_old and (not fact.key or bool(identity(fact.key) & identity(old_fact.key)))


def _still_true(line: _Line, facts: Sequence[Fact], stale: Sequence[tuple[Fact, str]]) -> Iterator[_Line]:
    """The line, or its remaining part: the facts in it that no later fact replaced."""
    facts_left = [other for other in line.facts if not any(_is_replaced(fact, other) for fact in facts)]
    values = [value for fact, value in stale if _mentions(line, fact, value)]
    if len(facts_left) == len(line.facts) and not values:
        yield line
    else:
        yield from (
            _line_of(other, line.speaker) for other in facts_left if other.key and not shows(other.value, values)
        )


def _mentions(line: _Line, fact: Fact, value: str) -> bool:
    """Whether a line mentions a value as that of the subject whose value has changed."""
    others = [other for other in line.facts if normalise_key(other.value) == normalise_key(value)]
    is_of_it = not line.facts or line.is_assistant or kind(value) != "text" or identity(line.text) & identity(fact.key)
    is_free = all(same_thing(fact, other) for other in others)  # another subject may have that value, too
    return bool(is_of_it) and is_free and shows(line.text, [value], besides=[fact.value])


def _says_anew(line: _Line, old: _Line) -> bool:
    """Whether a statement takes the place of an older one although no fact tells: it says nearly the same, with
    something else in one place."""
    if line.speaker != old.speaker or (_keys(line) and _keys(old)):
        return False
    new_stems, old_stems = _stems(line.text), _stems(old.text)
    return len(new_stems | old_stems) >= LEAST_WORDS and len(new_stems & old_stems) >= SIMILAR * len(
        new_stems | old_stems
    )


def _outdated_lines(line: _Line, lines: Sequence[_Line]) -> list[_Line]:
    """The line that a correction, a change or an end is about: the one with the value that it denies, else the newest
    of those that speak most of the same, else the last one, where the sentence is about nothing else."""
    changes = line.mood in ("correction", "cancellation", "changed", "newly")
    own = [old for old in reversed(lines) if changes and old.speaker == line.speaker]
    near = [(_nearness(line, old, back), -back, old) for back, old in enumerate(own)]
    best = max(near, key=lambda each: each[:2], default=(0, 0, line))
    return [best[2]] if best[0] > 0 else []


def _nearness(line: _Line, old: _Line, back: int) -> float:
    denied, before = words_in(line.text, "denied"), frozenset().union(*words_in(old.text))
    if n_denied := sum(bool(forms & before) for forms in denied):
        return 4 + n_denied
    new_words = words_in(grammar.without(line.text, "correction", "changed"))
    n_shared = sum(_shares(forms, old.text, before) for forms in new_words)
    if _is_of_another(line, old, n_shared):
        return 0
    topics, kinds, old_kinds = _topics(line.text) & _topics(old.text), _kinds(line.text), _kinds(old.text)
    near: float = n_shared + len(topics)
    if line.mood == "cancellation":
        return near if n_shared else (near + 0.5) * (back == 0 and (has(line.text, "refers") or not denied))
    same_kind = bool(kinds & old_kinds or (kinds and old_kinds and "number" in kinds | old_kinds))
    if same_kind and (back < LATEST or near):
        return 2 + near
    new_names, old_names = set(names(line.text)), set(names(f"is {old.text}"))
    near = near + 0.5 * bool(new_names & old_names and new_names - old_names)  # Dr. Falk retired, I see Dr. Moreau
    if line.mood == "newly":
        return near * bool(topics or near % 1)
    if near or back or len(line.text.split()) > 2 * LEAST_WORDS or has(line.text, "vague"):
        return near
    is_of_other = (_topics(line.text) and _topics(old.text)) or (kinds and not same_kind)
    return 0.5 * (has(line.text, "refers") if line.mood == "correction" else not is_of_other)


def _common_share(line: _Line, old: _Line) -> float:
    """Share of the words of the shorter line that both lines have; 0 where that is only one word."""
    new_words, old_words = words_in(grammar.without(line.text, "correction", "changed")), words_in(old.text)
    forms = frozenset().union(*old_words)
    n_shared = sum(_shares(word, old.text, forms) for word in new_words)
    return (n_shared > 1) * n_shared / max(1, min(len(new_words), len(old_words)))


def _shares(forms: frozenset[str], text: str, before: frozenset[str]) -> bool:
    """Whether a word occurs there, too, perhaps as part of a longer one: 신문, 종이신문."""
    full = {form for form in forms if len(form) > 1}  # not 님 of 이하은 님으로
    is_part = any(form[0] >= "가" and form in text.replace(" ", "") for form in full)
    return not forms & frozenset(grammar.table("ko")["copulas"]) and (is_part or bool(full & before))


def _is_of_another(line: _Line, old: _Line, n_shared: int) -> bool:
    """Whether a line is about somebody else, of the same turn, or about another subject by its name: one that has
    nothing in common with the old one's, or has a distinguishing part of its own as the old one has (the sales and the
    travel budget)."""
    if (line.turn and line.turn == old.turn) or _people(line.text) - _people(old.text):
        return True
    keys = [identity(fact.key) for fact in line.facts if fact.key and not has(fact.key, "refers")]
    pairs = [(key, identity(other.key)) for key in keys for other in old.facts]
    is_sibling = any(key & other and key - other and other - key for key, other in pairs)
    return is_sibling or (not n_shared and bool(pairs) and not any(key & other for key, other in pairs))


@lru_cache(maxsize=4096)
def _topics(text: str) -> frozenset[str]:
    return frozenset(name for name in grammar.table(grammar.language_of(text))["topics"] if has(text, "topics", name))


def _people(text: str) -> set[str]:
    """The people that a text speaks of: in English, those at its beginning."""
    start = text.lower() if grammar.language_of(text) == "ko" else " ".join(text.lower().split()[:4])
    return set(re.findall(grammar.any_of(grammar.table(grammar.language_of(text))["people"]), start))


def _values(text: str) -> list[str]:
    values = [quantity.text for quantity in quantities(text)] + names(text)
    return values + [match[0] for pattern in (grammar.WEEKDAY, grammar.VERSION) for match in pattern.finditer(text)]


def _words_of(text: str) -> list[str]:
    """The values and words of a line, the longest first, without particles."""
    forms = {form for word in content_words(text) for form in (word.text, *word.forms)}
    return sorted({*forms, *_values(text), *text.split()}, key=len, reverse=True)


def _kinds(text: str) -> set[str]:
    """The kinds of values in a text, names apart."""
    kinds = {kind(quantity.text) for quantity in quantities(text)}
    return kinds | {
        name for name, pattern in (("version", grammar.VERSION), ("weekday", grammar.WEEKDAY)) if pattern.search(text)
    }


def _others(old: _Line, line: _Line) -> list[Fact]:
    """The facts of a line that a correction is not about: those with values of another kind."""
    kinds = _kinds(line.text) or {"text"}
    return [fact for fact in old.facts if kind(fact.value) not in kinds] if len(old.facts) > 1 else []


def _remainder(old: _Line, line: _Line) -> Iterator[_Line]:
    """The part of a line that a newer line does not replace: the other items of a list, or the facts that the newer
    line does not mention."""
    if line.mood != "cancellation":
        yield from (_line_of(fact, old.speaker) for fact in _others(old, line))
        return
    for form in frozenset().union(*words_in(line.text)):
        item, joint = rf"(?<!\w){form}", r"(?:이?랑|하고|과|와|,| and)\s"
        text = re.sub(
            rf"{item}{joint}(?=\S+\s\S|[A-Z])|{joint}{form}(?=[을를도은는]?(?:[\s.]|$))",
            "",
            old.text,
            flags=re.IGNORECASE,
        )
        if text != old.text:
            yield replace(old, text=text, facts=(), turn=0)
            return


def _keys(line: _Line) -> bool:
    return any(fact.key for fact in line.facts)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(grammar.stem(word.text) for word in content_words(text))


def _without_old(line: _Line, stale: Sequence[tuple[Fact, str]]) -> Iterator[_Line]:
    """A line that says what has changed, without what it was before."""
    text, denied = line.text, grammar.any_of(grammar.table(grammar.language_of(line.text))["denied"])
    values = [value for fact, value in stale if not fact.key and len(value) > 1]
    for _, value in stale if line.mood != "cancellation" else ():
        pattern = rf"\s*,?\s*{denied}".replace(r"\{\}", re.escape(value))
        text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    clauses = grammar.clauses_of(text)
    first = next((at for at, each in enumerate(clauses[:-1]) if each and shows(each, values)), None)
    text = " ".join(clauses[first + 1 :]) if first is not None and line.mood != "cancellation" else text
    plain = replace(line, text=" ".join(text.split()).strip(" -–—,"))
    if any(fact.key and shows(plain.text, [value], besides=[fact.value]) for fact, value in stale):
        yield from (replace(_line_of(fact, line.speaker), turn=line.turn) for fact in line.facts)
    else:
        yield plain


def _line_of(fact: Fact, speaker: str) -> _Line:
    key = fact.key.removeprefix(f"{speaker} ") or ("현재" if grammar.language_of(fact.value) == "ko" else "now")
    return _Line(f"{key}: {fact.value}", speaker, (fact,))


# --- as text ----------------------------------------------------------------------------------------


def _read(text: str) -> _Line:
    """A line as `shown` has written it, or a sentence that another component wrote."""
    match = _SPEAKER.match(text)
    speaker, plain = (match[1], text[match.end() :]) if match else ("", text)
    return _Line(plain, speaker, _add_owner(facts_of(plain), "" if speaker in ASSISTANTS.values() else speaker))


def _fit_lines(lines: Sequence[_Line], bounds: Bounds) -> str:
    """The lines that fit: the most important ones, and of these the newest; newest first."""
    places: set[int] = set()
    for place in sorted(range(len(lines)), key=lambda place: (-lines[place].rank, -place)):
        chosen = sorted({*places, place}, reverse=True)
        if len(places) < bounds.max_sentences and is_within("\n".join(lines[each].shown for each in chosen), bounds):
            places.add(place)
    return "\n".join(lines[place].shown for place in sorted(places, reverse=True))


def own_words(text: str) -> str:
    """The words of the author of a text: without code, data, hidden characters, forged roles and quotations of others.
    Text in quotation marks stays where it is a name, or the reported words of a person."""
    return _QUOTED.sub(_unquote, _INVISIBLE.sub("", _UNREAD.sub(" ", text)))


def _unquote(match: re.Match[str]) -> str:
    inner = next(group for group in match.groups() if group is not None)
    is_name = len(inner.split()) <= QUOTED_WORDS and not _SAYING.search(inner)
    is_of_a_person = _SPOKEN.search(match.string, max(0, match.start() - 20), match.start()) is not None
    return match[0] if is_name or (is_of_a_person and not inner.endswith("?")) else "…"
