"""The token F1 that LoCoMo publishes, by the rules of its script (snap-research/locomo, task_eval/evaluation.py).

Commas and punctuation go, letters are small, a, an, the and `and` go, and words are stemmed (runner.text.porter); F1 is
that of SQuAD over what is left. By category: of a multi-hop answer each part between commas is held against each part
of what was said, and the best ones are averaged; of an open-domain answer what stands after a semicolon is left out;
an adversarial question has 1 where the answer declines, else 0.

Where this differs: the script knows an answer that declines by "no information available" and "not mentioned" alone;
here one counts that declines in other words, too. Of several known answers (corrected labels have them) the best
counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from runner.metrics.metric import Metric
from runner.text.porter import stem

NAME = "locomo_f1"
METRICS = (
    Metric(
        name=NAME,
        better="higher",
        label={"en": "LoCoMo F1", "ko": "LoCoMo F1"},
        meaning={
            "en": "Token F1 as LoCoMo publishes it: stemmed, by the rules of each category.",
            "ko": "LoCoMo가 발표하는 방식의 토큰 F1(어간으로 비교하고 범주별 규칙을 따름)",
        },
        shown=frozenset({"slices", "cases"}),
        depends=("queries", "gold", "metric_code.locomo"),
        group="answers",
    ),
)

_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DECLINES = ("no information available", "not mentioned")


def locomo_f1(category: str, answers: Sequence[str], reply: str, *, refused: bool) -> float | None:
    """The F1 of a reply; None for a category that LoCoMo does not have, and for an answerable question without a known
    answer."""
    if category == "adversarial":
        return float(refused or any(phrase in reply.lower() for phrase in _DECLINES))
    if category not in ("multi_hop", "temporal", "open_domain", "single_hop") or not answers:
        return None
    if refused:
        return 0.0
    return max(_of_one(category, answer, reply) for answer in answers)


def _of_one(category: str, answer: str, reply: str) -> float:
    if category != "multi_hop":
        return _f1(reply, answer.partition(";")[0].strip() if category == "open_domain" else answer)
    parts = [each.strip() for each in answer.split(",")]
    return sum(max(_f1(part.strip(), each) for part in reply.split(",")) for each in parts) / len(parts)


def _f1(said: str, answer: str) -> float:
    ours, theirs = _tokens(said), _tokens(answer)
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0


def _tokens(text: str) -> list[str]:
    plain = text.replace(",", "").lower().translate(_PUNCTUATION)
    return [stem(word) for word in _ARTICLES.sub(" ", plain).split()]
