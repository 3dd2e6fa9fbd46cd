"""A model that writes and checks questions by rule, over the test server on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.services.models_replies import Reply, completion

SOURCE = re.compile(r'<data-\w+ name="sources?" number="\d+">\n(.*?)\n</data-', re.S)
FIELD = re.compile(r'<data-\w+ name="(question|answer_a|answer_b)">\n(.*?)\n</data-', re.S)
ORDER = re.compile(r"^(\d+)\. (\w+), (\w+), (not )?answerable$", re.M)
# Of a maker of questions, but for its models, its files and how much it makes.
SETTINGS: dict[str, Any] = {
    "question_type": ["factual"],
    "difficulty": ["easy"],
    "unanswerable_share": 0.0,
    "language": "auto",
    "temperature": 0.0,
    "max_tokens": 500,
    "seed": 1,
    "chunker": {},
    "strict": False,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, taken apart."""

    step: str  # write | check | compare
    language: str
    orders: list[tuple[int, str, str, bool]]
    sources: list[str]
    fields: Mapping[str, str]


@dataclass
class Scripted:
    """`write` returns the questions for a source, `check` the finding, `compare` whether answers are the same."""

    write: Callable[[Asked], Any]
    check: Callable[[Asked], Any] = lambda asked: {"stands_alone": True, "answered": True, "answer": ""}
    compare: Callable[[Asked], Any] = lambda asked: True
    log: list[Asked] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Reply | None:
        asked = taken_apart(body)
        self.log.append(asked)
        said = {"write": self.write, "check": self.check, "compare": self.compare}[asked.step](asked)
        if isinstance(said, Reply):
            return said
        if asked.step == "write":
            said = {"questions": said}
        elif asked.step == "check":
            said = {"reason": "", **said}
        else:
            said = {"reason": "", "same": said}
        return completion(body, json.dumps(said, ensure_ascii=False))

    def steps(self) -> list[str]:
        return [asked.step for asked in self.log]


def taken_apart(body: Mapping[str, Any]) -> Asked:
    system, user = (message["content"] for message in body["messages"][:2])
    names = {"questions": "write", "answered": "check", "same": "compare"}
    schema = body["response_format"]["json_schema"]["schema"]["properties"]
    (step,) = (step for name, step in names.items() if name in schema)
    orders = [(int(n), kind, level, not negated) for n, kind, level, negated in ORDER.findall(system)]
    return Asked(step, "ko" if "십시오" in system else "en", orders, SOURCE.findall(user), dict(FIELD.findall(user)))
