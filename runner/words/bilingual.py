"""Errors in two languages: the English message, and a Korean one beside it.

An error is raised in English, wherever that is. Its Korean line is found by the English one, as gettext finds a
translation by its original: errors.en.yaml has patterns, errors.ko.yaml what they are in Korean. A message that no
pattern fits gets the sentence of its exit code, which points to the English one.
"""

from __future__ import annotations

import re
import string
from functools import cache

from runner.words.wording import wording

ROOM, SERVICE = "errors", "service"
LABELS = {"ko": "오류"}  # of languages that stand beside English
ALREADY = {"ko": re.compile("니다|세요")}  # what running systems say is raised in the language of the run
KEY = re.compile(r"(\S+(?: \S+)?: )(.+)")  # `judge.model: …`, `notes.csv:12: …`: what stands before a message


def add_translation(message: str, language: str, exit_code: int, lead: str = "") -> str:
    """The English message, and below it that of another language; `lead` stands before both."""
    if language not in LABELS:
        return f"{lead}{message}"
    english = "\n".join(_in_english(line, language) or line for line in message.splitlines())
    translation = translate(message, language, exit_code)
    if ALREADY[language].search(message) and translation == _of_kind(language, exit_code):
        translation = message
    return (
        f"{lead}{translation}"
        if english == translation
        else f"{lead}{english}\n{LABELS[language]}: {lead}{translation}"
    )


def _in_english(text: str, language: str) -> str | None:
    """A line that is said of a running system in the language of the run, in English; None for any other."""
    if text[:1] == " ":
        line = _in_english(text.lstrip(), language)
        return line and text[: len(text) - len(text.lstrip())] + line
    if (led := KEY.fullmatch(text)) is not None and (inner := _in_english(led[2], language)) is not None:
        return led[1] + inner
    english = wording("en", SERVICE).texts
    for key, pattern in _patterns(language, SERVICE):
        if (match := pattern.fullmatch(text)) is not None:
            values = {name: _in_english(value, language) or value for name, value in match.groupdict().items()}
            return english[key].replace("!r}", "}").format(**values)
    return None


def translate(message: str, language: str, exit_code: int) -> str:
    """The lines of a message, without the usage of a command; those that have no words stay as they are. Where none
    has, the sentence of the exit code."""
    lines = [line for line in message.splitlines() if not line.startswith("usage: ")]
    found = [_line(line, language) for line in lines]
    if any(found):
        return "\n".join(own or line for own, line in zip(found, lines, strict=True))
    return _of_kind(language, exit_code)


def in_language(line: str, language: str) -> str:
    """A line about a problem of the data, translated where the language has words for it, else unchanged."""
    return (_line(line, language) if language in LABELS else None) or line


def _of_kind(language: str, exit_code: int) -> str:
    texts = wording(language, ROOM).texts
    return texts.get(f"kind.{exit_code}", texts["kind.3"])


def _line(line: str, language: str) -> str | None:
    indent = line[: len(line) - len(line.lstrip())]
    text = _sentence(line.strip(), language, ("head", "end", "line"))
    return None if text is None else indent + text


def _sentence(text: str, language: str, groups: tuple[str, ...]) -> str | None:
    """A sentence of one of the groups, with the key that stands before it, if one does."""
    words = wording(language, ROOM)
    led = KEY.fullmatch(text) if "line" in groups else None
    if led is not None and (inner := _sentence(led[2], language, groups)) is not None:
        return led[1] + inner
    for key, pattern in _patterns("en", ROOM):
        if key.partition(".")[0] not in groups or (match := pattern.fullmatch(text)) is None:
            continue
        values = match.groupdict()
        if key.startswith("end."):
            inner = _sentence(values["rest"].rstrip("."), language, groups)
            if inner is None:
                continue
            values["rest"] = inner
        return words(key, **{name: _value(value, language) for name, value in values.items()})
    return None


def _value(text: str, language: str) -> str:
    return _sentence(text, language, ("value",)) or text


@cache
def _patterns(language: str, room: str) -> list[tuple[str, re.Pattern[str]]]:
    """The patterns in the order of the file, except that sentences that follow another one come first."""
    texts = wording(language, room).texts.items()
    chosen = [(key, text) for key, text in texts if room != ROOM or not key.startswith("kind.")]
    return [(key, _pattern(text)) for key, text in sorted(chosen, key=lambda entry: not entry[1].startswith("{told}"))]


def _pattern(text: str) -> re.Pattern[str]:
    """`no choice '{name}'` as an expression with a group of that name. What comes last may be empty."""
    parts = [
        re.escape(literal) + (f"(?P<{name}>.{'*' if name == 'rest' else '+?'})" if name else "")
        for literal, name, _, _ in string.Formatter().parse(text)
    ]
    return re.compile("".join(parts), re.S)
