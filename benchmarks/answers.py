"""How well `right` without a model agrees with people, on public sets of answers that people judged.

    python benchmarks/answers.py FOLDER ...      a clone, work tree or bare, of each repository below
    python benchmarks/answers.py ROWS.jsonl      answers of one's own: {"query", "answers", "answer", "label", "style"}

Read are QA-Eval (EVOUNA: Natural Questions and TriviaQA, five systems), OpenQA-eval (NQ301), semantic-answer-similarity
(pairs of answers to NQ-open, SQuAD and, in German, GermanQuAD; right from 1.5 of 2) and scuffed_qa_annotator (answers
that fail exact match, right where a person finds them so). The cuts of the rule were chosen on EVOUNA Natural
Questions; the other sets took no part.

Printed are, by set, the share decided, and agreement and kappa with people among these: of plain string match (the
answer contains a reference without case, articles and punctuation, as the script of SQuAD compares), of the same beside
a refusal, and of the rule; the bias of each system (share said to be right less that of people, among the decided); and
four comparisons of systems by the mean difference and the p of a sign test, undecided counting half.
"""

from __future__ import annotations

import csv
import io
import json
import re
import string
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binomtest

from runner.metrics.reference_rule import decide_by_reference
from runner.text.refusals import is_refusal
from runner.text.reply import read_reply

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
PAIRS = (("gpt4", "newbing"), ("fid", "newbing"), ("fid", "chatgpt"), ("chatgpt", "gpt4"))
RIGHT_FROM = 1.5  # of 0..2, in pairs of answers


@dataclass(frozen=True, slots=True)
class Row:
    """One answer and what people say of it."""

    group: str
    question: str
    references: tuple[str, ...]
    answer: str
    is_right: bool
    system: str = ""
    question_id: str = ""


def main(paths: Sequence[str]) -> None:
    rows = [row for path in paths for row in read(Path(path))]
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    verdicts = {name: {row: rule(row) for row in rows} for name, rule in RULES.items()}
    sys.stdout.write(f"{'set':16}{'n':>7}" + "".join(f"{name:>26}" for name in RULES) + "\n")
    for group, members in groups.items():
        cells = [_cell([(verdicts[name][row], row.is_right) for row in members]) for name in RULES]
        sys.stdout.write(f"{group:16}{len(members):>7,}" + "".join(f"{cell:>26}" for cell in cells) + "\n")
    for group, members in groups.items():
        if any(row.system for row in members):
            _write_systems(group, members, verdicts)


def _cell(pairs: Sequence[tuple[float, bool]]) -> str:
    decided = [(verdict == 1, is_right) for verdict, is_right in pairs if verdict != 0.5]
    agreement = sum(one == other for one, other in decided) / max(1, len(decided))
    return f"{len(decided) / len(pairs):.3f}: {agreement:.3f} / {_kappa(decided):.3f}"


def _kappa(pairs: Sequence[tuple[bool, bool]]) -> float:
    n = max(1, len(pairs))
    said, true = sum(one for one, _ in pairs) / n, sum(other for _, other in pairs) / n
    chance = said * true + (1 - said) * (1 - true)
    return (sum(one == other for one, other in pairs) / n - chance) / (1 - chance) if chance < 1 else 0.0


def _write_systems(group: str, rows: Sequence[Row], verdicts: dict[str, dict[Row, float]]) -> None:
    by_system: dict[str, list[Row]] = defaultdict(list)
    by_question: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        by_system[row.system].append(row)
        by_question[row.question_id][row.system] = row
    for name, of in verdicts.items():
        biases = []
        for system, members in by_system.items():
            decided = [row for row in members if of[row] != 0.5]
            bias = sum(of[row] - row.is_right for row in decided) / len(decided)
            biases.append(f"{system} {bias:+.3f}")
        sys.stdout.write(f"\n{group}, bias of {name}: {', '.join(biases)}")
    whole = [systems for systems in by_question.values() if len(systems) == len(SYSTEMS)]
    scores: dict[str, Callable[[Row], float]] = {"people": lambda row: float(row.is_right)}
    scores |= {name: of.__getitem__ for name, of in verdicts.items()}
    for baseline, candidate in PAIRS if whole else ():
        cells = []
        for name, score in scores.items():
            changes = [score(systems[candidate]) - score(systems[baseline]) for systems in whole]
            better, n = sum(change > 0 for change in changes), sum(change != 0 for change in changes)
            p = binomtest(better, n).pvalue if n else 1.0
            cells.append(f"{name} {sum(changes) / len(changes):+.3f} (p {p:.1g})")
        sys.stdout.write(f"\n{group}, {baseline} -> {candidate}: {'; '.join(cells)}")
    sys.stdout.write("\n")


# --- what decides: 1 right, 0 wrong, .5 undecided ------------------------------------------------------


def string_match(row: Row) -> float:
    answer = f" {_squad(row.answer)} "
    return float(any(f" {_squad(reference)} " in answer for reference in row.references))


def without_refusals(row: Row) -> float:
    return 0.0 if is_refusal(row.answer, row.question) else string_match(row)


def rule(row: Row) -> float:
    answer = read_reply(row.answer, row.question).answer
    decision = decide_by_reference(row.question, row.references, answer) if answer.strip() else None
    if decision is None or (decision.by != "reference" and is_refusal(answer, row.question)):
        return 0.0
    return 0.5 if decision.right is None else float(decision.right)


RULES: dict[str, Callable[[Row], float]] = {
    "string match": string_match,
    "string match, refusals": without_refusals,
    "rule": rule,
}


def _squad(text: str) -> str:
    text = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


# --- readers ---------------------------------------------------------------------------------------------


def read(path: Path) -> Iterator[Row]:
    """The rows of a file, or of every set that a clone contains."""
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["label"] is not None:
                yield Row(row["style"], row["query"], tuple(row["answers"]), row["answer"], bool(row["label"]))
        return
    files = frozenset(_git(path, "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    for file, reader in READERS.items():
        if file in files:
            yield from reader(path)


def _git(path: Path, *words: str) -> str:
    folder = path / ".git" if (path / ".git").exists() else path
    command = ["git", f"--git-dir={folder}", *words]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")


def _show(path: Path, file: str) -> str:
    return _git(path, "show", f"HEAD:{file}")


def _evouna(path: Path) -> Iterator[Row]:
    for name in ("NQ", "TQ"):
        for number, row in enumerate(json.loads(_show(path, f"EVOUNA/{name}.json"))):
            references = tuple(each.strip() for each in (row["golden_answer"] or "").split("/") if each.strip())
            for system in () if row["improper"] else SYSTEMS:
                answer, judged = row[f"answer_{system}"], row[f"judge_{system}"]
                if answer and answer.strip() and judged is not None and references:
                    yield Row(f"EVOUNA {name}", row["question"], references, answer, bool(judged), system, str(number))


def _nq301(path: Path) -> Iterator[Row]:
    references: dict[str, tuple[str, ...]] = {}
    for name in ("NQ_FiD", "NQ_DPR", "NQ_EMDR2"):
        for line in _show(path, f"data/model_outputs/{name}.jsonl").splitlines():
            row = json.loads(line)
            references.setdefault(row["question"].strip().lower(), tuple(row["answer"]))
    for row in csv.DictReader(io.StringIO(_show(path, "data/NQ301_human.tsv")), delimiter="\t"):
        known = references[row["Question"].strip().lower()]
        if row["Model answer"].strip():
            yield Row("NQ301", row["Question"], known, row["Model answer"], row["Acceptable?"] == "Yes")


def _similarity(path: Path) -> Iterator[Row]:
    asked = {
        row["answer"]: row["question"]
        for row in csv.DictReader(io.StringIO(_show(path, "data/data/nq/nq_open_filtered.csv")))
    }
    for name in ("NQ-open_SAS", "SQuAD_SAS", "GermanQuAD_SAS"):
        for row in csv.DictReader(io.StringIO(_show(path, f"data/data/{name}.csv"))):
            if re.fullmatch(r"[\d.]+", row["label"] or "") and row["answer1"].strip() and row["answer2"].strip():
                question = asked.get(row["answer1"], "") if name.startswith("NQ") else ""
                yield Row(name, question, (row["answer1"],), row["answer2"], float(row["label"]) >= RIGHT_FROM)


def _mturk(path: Path) -> Iterator[Row]:
    for row in csv.DictReader(io.StringIO(_show(path, "mturk/analyze_data/second_time.csv"))):
        label, answer = row["Answer.sentiment.label"], row["Input.qap_modelans"]
        references = tuple(re.findall(r"'((?:[^'\\]|\\.)+)'|\"([^\"]+)\"", row["Input.qap_goldans"]))
        known = tuple(one or other for one, other in references)
        if label != "Unsure" and answer.strip() and known:
            is_right = label in ("Definitely correct", "I think its correct")
            yield Row("not exact, SQuAD", row["Input.qap_question"], known, answer, is_right)


READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "EVOUNA/NQ.json": _evouna,
    "data/NQ301_human.tsv": _nq301,
    "data/data/GermanQuAD_SAS.csv": _similarity,
    "mturk/analyze_data/second_time.csv": _mturk,
}


if __name__ == "__main__":
    main(sys.argv[1:])
