"""Made-up notes in Korean and English that link to each other, as many as wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SYLLABLES = "가나다라마바사아자차카타파하고노도로모보소오조초코토포호기니디리미비시이지치"
CONSONANTS, VOWELS = "bcdfghklmnprstvw", "aeiou"
PARTICLES = ("은", "를", "에서", "으로", "와", "")
TOPIC = 40  # notes that share words and link to each other more often than to others


def generated_notes(n: int, seed: int = 42) -> dict[str, str]:
    """Path -> text of a note with front matter, about 1.5 KB; every second one is Korean. The first notes of a topic
    are linked to most."""
    random = np.random.default_rng(seed)
    words = {"ko": _words(random, 4000, korean=True), "en": _words(random, 4000, korean=False)}
    titles = [
        " ".join(words[_language(number)][place] for place in random.integers(0, 4000, 2)) + f" {number}"
        for number in range(n)
    ]
    paths = [f"topic-{number // TOPIC:03}/{title.replace(' ', '-')}.md" for number, title in enumerate(titles)]
    return {path: _note(random, number, titles, words[_language(number)]) for number, path in enumerate(paths)}


def write_notes(folder: Path, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _language(number: int) -> str:
    return ("ko", "en")[number % 2]


def _note(random: np.random.Generator, number: int, titles: list[str], words: list[str]) -> str:
    language = _language(number)
    lines = [
        "---",
        f"title: {titles[number]}",
        f"aliases: [{titles[number]} note]",
        f"tags: [topic-{number // TOPIC}]",
        f"lang: {language}",
        "---",
        f"# {titles[number]}",
    ]
    for section in range(3):
        sentences = [_sentence(random, number, words, language) for _ in range(4)]
        target = titles[_target(random, number, len(titles))]
        link = (f"[[{target}]]", f"[[{target}|{target.split()[0]}]]", f"![[{target}]]")[section]
        lines += ["", f"## {words[int(random.integers(4000))]}", "", *sentences, f"{sentences[0][:-1]} {link}."]
    return "\n".join([*lines, "", "```", "[[no link]]", "```", ""])


def _target(random: np.random.Generator, number: int, n: int) -> int:
    """Mostly of the topic, mostly one of its first notes."""
    if random.random() < 0.2:
        return int(random.integers(n))
    first = number - number % TOPIC
    return min(n - 1, first + int(TOPIC * random.random() ** 2))


def _sentence(random: np.random.Generator, number: int, words: list[str], language: str) -> str:
    """Half of its words are of the topic; words are as unevenly frequent as in real texts."""
    places = np.minimum(random.zipf(1.3, 12), 4000) - 1
    own = (number // TOPIC * 97 + random.integers(0, 60, 12)) % 4000
    chosen = np.where(random.random(12) < 0.5, own, places)
    if language == "ko":
        ends = random.integers(0, len(PARTICLES), 12)
        return " ".join(words[place] + PARTICLES[end] for place, end in zip(chosen, ends, strict=True)) + "."
    return " ".join(words[place] for place in chosen) + "."


def _words(random: np.random.Generator, count: int, *, korean: bool) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < count:
        size = int(random.integers(2, 4))
        if korean:
            word = "".join(SYLLABLES[place] for place in random.integers(0, len(SYLLABLES), size))
        else:
            pairs = zip(random.integers(0, len(CONSONANTS), size), random.integers(0, len(VOWELS), size), strict=True)
            word = "".join(CONSONANTS[one] + VOWELS[other] for one, other in pairs)
        words[word] = None
    return list(words)
