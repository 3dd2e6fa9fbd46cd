"""How many tokens a text is for a language model, before a server has counted them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from typing import Any, Literal

from runner.errors import ConfigError, Problem, install_command
from runner.text.patterns import compile_late

Counter = Callable[[str], int]  # the tokens of a text
Encoding = Literal["auto", "o200k_base", "cl100k_base", "estimate"]

LONG = 200  # characters; a shorter text is counted as fast as its digest is made
MOST_COUNTED = 100_000  # texts; about 15 MB

PER_MESSAGE = 4  # what a chat format adds to each message

_FENCE = compile_late(r"(?<=\n)(?=</?data-)")

# What `estimate` counts.
_WORD = compile_late(r"[A-Za-z]+")
_HANGUL = compile_late(r"[가-힣]")
_OTHER_CJK = compile_late(r"[ぁ-ヿ㐀-䶿一-鿿]")
_OTHER_LETTER = compile_late(r"[^\W\d_A-Za-z가-힣ぁ-ヿ㐀-䶿一-鿿]")
_DIGITS = compile_late(r"\d{1,3}")
_MARKS = compile_late(r"([^\w\s])\1*")
_LINE = compile_late(r"\n+")
_INVISIBLE = compile_late(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def count_tokens(text: str) -> int:
    """Count tokens by the encoding of OpenAI's models (o200k_base) where the extra `tokens` is installed, else
    estimate. A long text, as prompts are, is counted once, by the plan, for all requests that share it; so is each
    context in it, which other prompts hold, too."""
    encoding = _encoding()
    if len(text) < LONG:
        return int(estimate(text) if encoding is None else encoding.count(text))
    key = encoding is None, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if (tokens := _counted.get(key)) is None:
        if len(_counted) >= MOST_COUNTED:
            _counted.clear()
        tokens = _counted[key] = estimate(text) if encoding is None else _exactly(text, encoding)
    return tokens


def _exactly(text: str, encoding: Any) -> int:
    pieces = _pieces(text)
    return int(encoding.count(text)) if len(pieces) == 1 else sum(map(count_tokens, pieces))


def _pieces(text: str) -> list[str]:
    """Cut where data is fenced (runner.llm.fencing). No token goes beyond a line end before `<`, or before what is
    neither a space nor a slash, so that the tokens of the pieces are those of the text."""
    pieces = []
    for piece in _FENCE.split(text):
        tag, end, data = piece.partition(">\n")
        is_cut = len(data) >= LONG and tag.startswith("<data-") and not (data[0].isspace() or data[0] == "/")
        pieces += [tag + end, data] if is_cut else [piece]
    return pieces


_counted: dict[tuple[bool, bytes], int] = {}  # tokens of long texts, estimated or exact, by their digests


def counter(encoding: Encoding) -> Counter:
    """`auto` is `count_tokens`. Raises ConfigError for an encoding by name without the extra `tokens`."""
    if encoding == "auto":
        return count_tokens
    if encoding == "estimate":
        return estimate
    if problem := encoding_problem(encoding, "encoding"):
        raise ConfigError([problem])
    found = _encoding(encoding)
    return lambda text: int(found.count(text))


def encoding_problem(encoding: Encoding, key: str) -> Problem | None:
    """The problem of a token encoding that is not installed, under the key of its setting."""
    if encoding in ("auto", "estimate") or _encoding(encoding) is not None:
        return None
    return Problem(key, f"{encoding} needs the extra `tokens`: {install_command('tokens')}")


def is_exact() -> bool:
    """Whether tokens are counted by an encoding; otherwise they are estimated from characters."""
    return _encoding() is not None


def estimate(text: str) -> int:
    """Estimate the number of tokens: of Korean and English prose within 6 % of o200k_base over a corpus and within 15 %
    for nine paragraphs in ten; code, tables and other languages are further off, and so are the encodings of other
    models."""
    words = sum(max(1.0, len(word) / 6.2) for word in _WORD.findall(text))
    return round(
        0.96 * words
        + 0.77 * len(_HANGUL.findall(text))
        + 1.5 * len(_OTHER_CJK.findall(text))
        + 0.4 * len(_OTHER_LETTER.findall(text))
        + 1.8 * len(_DIGITS.findall(text))
        + 0.87 * sum(1 for _ in _MARKS.finditer(text))
        + 0.3 * len(_LINE.findall(text))
        + 0.25 * len(_INVISIBLE.findall(text))
    )


@cache
def _encoding(name: str = "o200k_base") -> Any:
    try:
        from rs_bpe.bpe import openai
    except ImportError:
        return None
    return getattr(openai, name)()
