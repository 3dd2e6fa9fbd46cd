"""How far a reason connects two texts, judged from words alone.

connection = grounded x shared, 0..1
  grounded  share of the reason's evidence that stands in one of the texts: the content words that it quotes, all of
            its content words where it quotes none
  shared    1 where some of the evidence stands in both texts, 1/2 where there is some in each, else 0
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from runner.text.words import all_forms, content_words

_QUOTED = re.compile(r"[“\"「『]([^”\"」』]+)[”\"」』]")


@dataclass(frozen=True, slots=True)
class Connection:
    """`missing`: evidence that is in neither text; `in_both`: words that are in both, in the order of the reason."""

    score: float
    missing: tuple[str, ...]
    in_both: tuple[str, ...]


def connection(reason: str, one: str, other: str) -> Connection:
    quoted = " ".join(_QUOTED.findall(reason))
    evidence = content_words(quoted) or content_words(reason)
    if not evidence:
        return Connection(0.0, (), ())
    here, there = all_forms(content_words(one)), all_forms(content_words(other))
    in_one = [not word.forms.isdisjoint(here) for word in evidence]
    in_other = [not word.forms.isdisjoint(there) for word in evidence]
    both = [word.text for word, a, b in zip(evidence, in_one, in_other, strict=True) if a and b]
    missing = [word.text for word, a, b in zip(evidence, in_one, in_other, strict=True) if not (a or b)]
    shared = 1.0 if both else 0.5 if any(in_one) and any(in_other) else 0.0
    score = shared * (1 - len(missing) / len(evidence))
    return Connection(score, tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(both)))
