"""Chooses the chunks to ask about, and the kinds of questions; deterministic for a corpus and a wish."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from runner.records import Chunk, Corpus
from runner.text.language import Language, detect_language

QuestionType = Literal["factual", "analytical", "inferential", "paraphrased"]
Difficulty = Literal["easy", "mid", "hard"]

MIN_WORDS = 5  # words; a shorter chunk is not asked about


@dataclass(frozen=True, slots=True)
class Slot:
    """One ordered question; `number` counts from 1 within its chunk."""

    number: int
    type: QuestionType
    difficulty: Difficulty
    answerable: bool


@dataclass(frozen=True, slots=True)
class Order:
    """The ordered questions about one chunk, in one language."""

    chunk: Chunk
    title: str
    language: Language
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The settings of orders. `share`: the part (0..1) of questions without an answer in the corpus. `language`: None
    for that of each chunk."""

    per_chunk: int
    max_chunks: int
    types: Sequence[QuestionType]
    difficulties: Sequence[Difficulty]
    share: float
    language: Language | None
    seed: int


def eligible(corpus: Corpus) -> list[Chunk]:
    """The chunks that are long enough to ask about: MIN_WORDS words."""
    return [chunk for chunk in corpus.chunks if len(chunk.text.split()) >= MIN_WORDS]


def orders(corpus: Corpus, wish: Wish) -> list[Order]:
    """Orders for at most `max_chunks` eligible chunks in corpus order. All pairs of type and difficulty occur equally
    often, up to one, and unanswerable questions are spread at random."""
    chance = random.Random(wish.seed)
    chunks = eligible(corpus)
    if len(chunks) > wish.max_chunks:
        chunks = [chunks[place] for place in sorted(chance.sample(range(len(chunks)), wish.max_chunks))]
    total = len(chunks) * wish.per_chunk
    unanswerable = set(chance.sample(range(total), round(wish.share * total)))
    pairs = _pairs(wish, chance)
    ordered = []
    for place, chunk in enumerate(chunks):
        slots = []
        for number in range(wish.per_chunk):
            type_, difficulty = next(pairs)
            is_answerable = place * wish.per_chunk + number not in unanswerable
            slots.append(Slot(number + 1, type_, difficulty, is_answerable))
        ordered.append(Order(chunk, title_of(corpus, chunk), _language(corpus, chunk, wish), tuple(slots)))
    return ordered


def _pairs(wish: Wish, chance: random.Random) -> Iterator[tuple[QuestionType, Difficulty]]:
    """Endless pairs of type and difficulty; each round has every pair once."""
    pairs = list(product(dict.fromkeys(wish.types), dict.fromkeys(wish.difficulties)))
    while True:
        chance.shuffle(pairs)
        yield from pairs


def title_of(corpus: Corpus, chunk: Chunk) -> str:
    """The title of a chunk: that of its document and the headings above it."""
    above = dict.fromkeys((corpus.title_of(chunk.id), *chunk.headings))
    return " > ".join(title for title in above if title)


def _language(corpus: Corpus, chunk: Chunk, wish: Wish) -> Language:
    told = corpus.document_by_id[chunk.document_id].language
    named: dict[str | None, Language] = {"ko": "ko", "en": "en"}
    return wish.language or named.get(told) or detect_language(chunk.text)
