"""Compare finished runs with a baseline: what is better or worse, with evidence."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from runner.commands import LANGUAGE, SEED, URI, Command, Option, Place, one_of
from runner.errors import ConfigError, InputError, did_you_mean
from runner.system import terminal
from runner.system.writing import make_folder, relative_path
from runner.words.bilingual import LABELS
from runner.words.wording import LANGUAGES, Wording, wording_of

if TYPE_CHECKING:
    from runner.compare.regression import Regression
    from runner.report.comparison_words import Record

SEVERAL = "runner.comparisons"
TARGET = "runner.compare.regression.Regression"

COMMAND = Command(
    "compare",
    (Place("baseline"), Place("candidate", several=True)),
    (
        Option("rules", "NAME|FILE"),
        Option("fail_on_regression"),
        Option("allow_incomparable"),
        Option("comparability", "lenient|strict", one_of("lenient", "strict"), "lenient"),
        Option("junit", "FILE", Path),
        Option("out", "FOLDER", Path),
        LANGUAGE,
        URI,
        SEED,
    ),
)


def main(argv: Sequence[str]) -> int:
    """Raises InputError for references that name no run and for rules that do not fit, TrackingError for MLflow."""
    options = COMMAND.read(argv)
    from runner.compare.compare import compare_all
    from runner.compare.record import record_of
    from runner.compare.sides import Finder
    from runner.report.comparison import panels
    from runner.report.comparison_junit import no_place_for_junit, write_junit

    rules = None if options.rules is None else rules_of(options.rules)
    if options.junit is not None and (problem := no_place_for_junit(options.junit)) is not None:
        raise InputError(f"--junit: {problem}")
    with tempfile.TemporaryDirectory() as scratch:
        finder = Finder(Path(scratch), options.uri)
        candidates = [finder.open(name) for name in options.candidate]
        regression = rules_of_run(candidates[0].snapshot.config) if rules is None else rules
        besides = [candidate.snapshot.run for candidate in candidates]
        baseline = replace(finder, candidates=besides).open(options.baseline)
        how = {"allow_incomparable": options.allow_incomparable, "strict": options.comparability == "strict"}
        found = compare_all(baseline, candidates, regression, seed=options.seed, **how)
    say = LANGUAGES[options.language] if options.language else wording_of({"config": candidates[0].snapshot.config})
    records = [record_of(each, fail_on_regression=options.fail_on_regression) for each in found]
    folder = options.out or _new_folder()
    _write(folder, records, say)
    if options.junit is not None:
        options.junit.parent.mkdir(parents=True, exist_ok=True)
        write_junit(options.junit, records, say)
    for record in records:
        terminal.show(*panels(record, say))
    terminal.note(say("compare.report", path=relative_path(folder)))
    for record in records:
        if record["exit_code"]:
            terminal.fail(_message(record, folder / "compare.md", say.language))
    return max(int(record["exit_code"]) for record in records)


def _message(record: Record, file: Path, language: str) -> str:
    """Why the exit code is not 0, in English and in the language of the comparison."""
    from runner.run.comparing import reason_of

    label = record["candidate"]["label"]
    beside = "" if language not in LABELS else f"\n{LABELS[language]}: {label}: {reason_of(record, file, language)}"
    return f"{label}: {reason_of(record, file)}{beside}"


def rules_of(name: str) -> Regression:
    """The rules of conf/regression/NAME.yaml, or of a file of that form. Raises ConfigError and InputError."""
    from runner.config.frozen import read_mapping

    rule_files = {Path(path.name).stem: Path(str(path)) for path in files("conf").joinpath("regression").iterdir()}
    source = rule_files.get(name)
    if source is None and not Path(name).is_file():
        raise InputError(f"--rules: no rules '{name}' and no such file{did_you_mean(name, rule_files)}")
    try:
        values = read_mapping(source or Path(name))
    except InputError as error:
        raise InputError(f"--rules: {error}") from None
    return _regression(values)


def rules_of_run(config: Mapping[str, Any]) -> Regression:
    """The rules of the evaluation of a run; `default` where its configuration names none."""
    values = config.get("regression")
    return _regression(values) if isinstance(values, Mapping) else rules_of("default")


def _regression(values: Mapping[str, Any]) -> Regression:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from runner.config.components import build, check

    try:
        settings = OmegaConf.create({"regression": {**values, "_target_": TARGET}})
    except OmegaConfBaseException as error:
        raise InputError(f"regression: {' '.join(str(error).split())}") from None
    problems = check(settings.regression)
    if problems:
        raise ConfigError(problems)
    regression: Regression = build(settings.regression).root
    return regression


def _new_folder() -> Path:
    """Make a new folder; a second start in the same second gets the next number."""
    start = time.strftime("%Y%m%d-%H%M%S")
    for number in count(1):
        folder = Path("outputs") / f"{start}{'' if number == 1 else f'.{number}'}-compare"
        try:
            make_folder(folder, exist_ok=False)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("counting does not end")


def _write(folder: Path, records: Sequence[Record], say: Wording) -> None:
    """Write compare.md and .json. Raises InputError for a run folder, which holds its own comparison."""
    from runner.compare.snapshot import write_bytes
    from runner.report.comparison import write, write_comparison

    if any((folder / name).exists() for name in ("run.json", "sweep.json")):
        raise InputError(f"--out: {folder} holds a run; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    value = records[0] if len(records) == 1 else {"schema": 1, "kind": SEVERAL, "comparisons": records}
    write_bytes(folder / "compare.json", orjson.dumps(value, option=orjson.OPT_INDENT_2))
    write(folder / "compare.md", records, say)
    write_comparison(folder, records, say)
