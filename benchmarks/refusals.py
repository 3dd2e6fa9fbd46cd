"""How well refusals are told from answers on lists of labelled answers: precision, recall, answers kept, by language.

    python benchmarks/refusals.py [FILE ...]      default: tests/runner/text/refusals_by_question.jsonl

A line of FILE is {"query": "...", "answer": "...", "label": 1, "lang": "en"}: 1 for a refusal, 0 for an answer; without
a question, `query` is left out, and without a language the letters of the answer tell it. An answer is read as a reply
first, as a run does: what a model thought and JSON around an answer do not count.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.text.language import detect_language
from runner.text.refusals import is_refusal
from runner.text.reply import read_reply

DEFAULT = Path(__file__).resolve().parents[1] / "tests" / "runner" / "text" / "refusals_by_question.jsonl"


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer, whether people call it a refusal, and whether it is told as one."""

    language: str
    label: bool
    told: bool


def main(paths: Sequence[Path]) -> None:
    print(
        f"{'':30}{'language':>10}{'refusals':>10}{'recall':>9}{'precision':>11}{'answers':>9}{'kept':>8}{'us each':>9}"
    )
    for path in paths:
        started = time.process_time()
        rows = list(_read(path))
        elapsed_us = 1e6 * (time.process_time() - started) / len(rows)
        for language in sorted({row.language for row in rows}):
            _print_line(path.stem, language, [row for row in rows if row.language == language], elapsed_us)


def _read(path: Path) -> Iterator[Labelled]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        question = row.get("query")
        reply = read_reply(row["answer"], question or "")
        yield Labelled(
            language=row.get("lang") or detect_language(row["answer"]),
            label=bool(row["label"]),
            told=not reply.answer.strip() or is_refusal(reply.answer, question),
        )


def _print_line(name: str, language: str, rows: Sequence[Labelled], elapsed_us: float) -> None:
    refusals = [row for row in rows if row.label]
    answers = [row for row in rows if not row.label]
    told = [row for row in rows if row.told]
    recall = _share(row.told for row in refusals)
    precision = _share(row.label for row in told)
    kept = _share(not row.told for row in answers)
    print(
        f"{name:30.30}{language:>10}{len(refusals):>10}{recall:>9}{precision:>11}{len(answers):>9}{kept:>8}{elapsed_us:>9.0f}"
    )


def _share(holds: Iterable[bool]) -> str:
    values = list(holds)
    return f"{sum(values) / len(values):.3f}" if values else "-"


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or [DEFAULT])
