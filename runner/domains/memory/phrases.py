"""What generated conversations are put together from: phrases and facts of one language, read from YAML.

A phrase holds `{key}`, `{value}` and the like, and where Korean needs it particles as runner.text.particles says.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from runner.text.particles import with_particles

DAYS = range(2, 29)  # of a month, in dates that every month has


@dataclass(frozen=True)
class Slot:
    """One fact that a user may state. `values` in their order where `is_ordered`: later ones are larger."""

    key: str
    kind: Mapping[str, Sequence[str]]
    values: tuple[str, ...]
    is_ordered: bool


@dataclass(frozen=True)
class Domain:
    """A field of talk, the facts it can plant, and whose facts they may be."""

    topic: str
    slots: tuple[Slot, ...]
    owners: tuple[str, ...]


class Phrases:
    """`data`: the content of a phrase file."""

    def __init__(self, language: str, data: Mapping[str, Any]) -> None:
        self.language = language
        self.data = data

    @classmethod
    def read(cls, path: Path) -> Phrases:
        text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8"))
        return cls(path.stem, yaml.safe_load(text))

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """The fields of talk of this language."""
        return tuple(
            Domain(each["topic"], tuple(self._slot(slot) for slot in each["slots"]), tuple(each["owners"]))
            for each in self.data["domains"]
        )

    def _slot(self, data: Mapping[str, Any]) -> Slot:
        kind = self.data["kinds"][data["kind"]]
        if "count" in data:
            return Slot(data["key"], kind, _number_forms(data["count"], data["form"]), is_ordered=True)
        values = data.get("values") or kind.get("values") or _dates(**kind["dates"])
        return Slot(data["key"], kind, tuple(values), is_ordered=False)

    def code(self, value: str) -> Slot:
        """The fact that names a code."""
        return Slot(self.data["code"]["key"], self.data["code"], (value,), is_ordered=False)


def fill_phrase(phrase: str, **words: str) -> str:
    """A phrase with its placeholders filled, and Korean particles that fit the words."""
    return with_particles(phrase.format(**words))


def after(opening: str, phrase: str) -> str:
    """The opening and the phrase as one sentence, or as two where the opening is a sentence itself."""
    goes_on = opening and not opening.endswith(". ") and not phrase.startswith("I ")
    return opening + (phrase[0].lower() + phrase[1:] if goes_on else phrase)


def _number_forms(range_: Sequence[float], form: str) -> tuple[str, ...]:
    first, last, step = range_
    numbers = [round(first + n * step, 6) for n in range(round((last - first) / step) + 1)]
    return tuple(form.format(int(number) if number == int(number) else number) for number in numbers)


def _dates(form: str, months: Sequence[Any]) -> tuple[str, ...]:
    return tuple(form.format(month=month, day=day) for month in months for day in DAYS)
