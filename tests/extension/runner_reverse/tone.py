"""A whole evaluation: it reads answers from a file and says how they sound. Its metrics say what they are; those of
`Mood` do not."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from runner.metrics.metric import Grades, Metric
from runner.protocols import Workspace
from runner.records import CaseSet, Judgements, Preparation, Scores, Timing
from runner.report.blocks import EVERYWHERE, Fact, Note, Section, Table, section
from runner.report.document import Document
from runner.system.store import fingerprint
from runner.words.wording import Wording

INSULTS = {"fool", "idiot", "바보"}
THANKS = {"please", "thank", "고맙습니다"}


@dataclass(frozen=True)
class Said:
    """One question and what was answered."""

    id: str
    question: str
    text: str
    language: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        return self.text.lower().split()


@dataclass(frozen=True)
class Heard:
    case: Said

    @property
    def timings(self) -> Mapping[str, Timing]:
        return {}

    def record(self) -> Mapping[str, Any]:
        return {"query": self.case.question, "answer": self.case.text}


class Tone:
    metrics = (
        Metric(
            name="toxicity",
            better="lower",
            label={"en": "Toxicity", "ko": "유해성"},
            meaning={"en": "Share of insulting words; lower is better.", "ko": "모욕적인 단어의 비율(낮을수록 좋음)"},
            main=True,
            depends=("queries",),
        ),
        Metric(
            name="politeness",
            better="higher",
            label={"en": "Politeness", "ko": "공손함"},
            grades=Grades({"needs_work": {"en": "Nobody says thank you.", "ko": "고맙다는 말이 없음"}}),
            depends=("queries",),
        ),
        Metric(
            name="words",
            better="neither",
            label={"en": "Words", "ko": "단어 수"},
            range=(0, float("inf")),
            depends=("queries",),
        ),
    )

    words = files("runner_reverse") / "words"

    @staticmethod
    def sections(document: Document) -> Iterator[Section | None]:
        """Which insults were heard, and how often."""
        say, insults = document.say, document.summary.get("insults") or {}
        rows = [[word, str(count)] for word, count in insults.items()]
        table = Table([say("tone.word"), say("tone.count")], rows, media=EVERYWHERE, narrow=True)
        yield section("insults", say("tone.insults"), table if rows else Note(say("tone.kind"), media=EVERYWHERE))

    @staticmethod
    def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
        words = str((row.get("output") or {}).get("answer", "")).lower().split()
        yield Fact(say("tone.insults"), ", ".join(sorted(INSULTS.intersection(words))), after="answer")
        yield Fact("", key="expected")  # nobody expects a document

    def __init__(self, *, path: str) -> None:
        self.path = path

    def load(self) -> CaseSet[Said]:
        return loaded(self.path)

    async def prepare(self, cases: Sequence[Said], workspace: Workspace) -> Preparation:
        return Preparation()

    async def run(self, case: Said) -> Heard:
        return Heard(case)

    async def judge(self, case: Said, output: Heard) -> Judgements:
        return {}

    def score(self, case: Said, output: Heard | None, judgements: Judgements) -> Scores:
        """`shouting` is not among the metrics that it declares."""
        n = len(case.words)
        return Scores(
            {
                "toxicity": sum(word in INSULTS for word in case.words) / n,
                "politeness": float(not THANKS.isdisjoint(case.words)),
                "words": float(n),
                "shouting": sum(letter.isupper() for letter in case.text) / len(case.text),
            }
        )

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        counts = Counter(word for row in rows for word in str(row["output"]["answer"]).lower().split())
        return {"insults": {word: counts[word] for word in sorted(INSULTS) if counts[word]}}


class Mood(Tone):
    """It declares nothing. A metric of reasoning traces is called `score` as well; the two have nothing in common."""

    metrics = ()

    def score(self, case: Said, output: Heard | None, judgements: Judgements) -> Scores:
        return Scores({"score": 1.0 - sum(word in INSULTS for word in case.words) / len(case.words)})


def loaded(path: str) -> CaseSet[Said]:
    lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    cases = [Said(line["id"], line["question"], line["answer"], line.get("language")) for line in lines]
    asked, said = ([[case.id, text(case)] for case in cases] for text in (lambda c: c.question, lambda c: c.text))
    return CaseSet(cases, identity={"queries": fingerprint(asked), "given": fingerprint(said)})
