"""One grammar for all commands: how arguments are read, what is said of wrong ones, and their help."""

import importlib
import re
from pathlib import Path

import pytest

from runner.cli import COMMANDS, main
from runner.commands import Command, Option, Place, one_of, share, whole_number_reader
from runner.errors import InputError
from runner.words.wording import wording

DECLARED = [importlib.import_module(f"runner.commands.{name}").COMMAND for name in COMMANDS]
ALL = [*DECLARED, *(part for command in DECLARED for part in command.parts.values())]
COPY = Command(
    "copy",
    (Place("source"), Place("target", Path, default=Path("out")), Place("more", default=(), several=True)),
    (Option("depth", "N", whole_number_reader(1, 9), 3), Option("dry_run"), Option("kind", "a|b", one_of("a", "b"))),
)
RUN = Command("go", (Place("record"),), (Option("trust"),), words="OPTION=VALUE")


@pytest.mark.parametrize("words", [["--depth", "5"], ["--depth=5"], ["depth=5"]])
@pytest.mark.parametrize("before", [True, False])
def test_an_option_is_written_in_three_ways_anywhere(words: list[str], before: bool) -> None:
    options = COPY.read([*words, "x"] if before else ["x", *words])
    assert (options.source, options.depth, options.target, options.more) == ("x", 5, Path("out"), [])


@pytest.mark.parametrize("words", [["x", "target=y", "z"], ["--target", "y", "x", "z"], ["source=x", "target=y", "z"]])
def test_a_place_may_be_given_by_its_name(words: list[str]) -> None:
    options = COPY.read(words)
    assert (options.source, options.target, options.more) == ("x", Path("y"), ["z"])


@pytest.mark.parametrize(
    ("words", "value"), [([], False), (["--dry-run"], True), (["dry_run=true"], True), (["dry_run=false"], False)]
)
def test_a_switch(words: list[str], value: bool) -> None:
    assert COPY.read(["x", *words]).dry_run is value


def test_places_and_what_stands_behind_two_dashes() -> None:
    options = COPY.read(["a", "b", "c", "--", "--d", "x=y"])
    assert (options.source, options.target, options.more) == ("a", Path("b"), ["c", "--d", "x=y"])


def test_the_words_of_a_run_are_handed_on_as_they_were_typed() -> None:
    options = RUN.read(["-cd", "own", "k=3", "rec", "+experiment=x", "~a", "--trust", "--cfg", "job"])
    assert (options.record, options.trust) == ("rec", True)
    assert options.words == ["-cd", "own", "k=3", "+experiment=x", "~a", "--cfg", "job"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "missing: SOURCE"),
        (["x", "--dept", "3"], "unknown option --dept; did you mean '--depth'?"),
        (["x", "--depth"], "--depth: expected a value"),
        (["x", "--depth="], "--depth: expected a value"),
        (["x", "--depth", "--dry-run"], "--depth: expected a value"),
        (["x", "--depth", "-1"], "--depth: expected a whole number from 1 to 9, found '-1'"),
        (["x", "depth=10"], "depth: expected a whole number from 1 to 9, found '10'"),
        (["x", "--depth", "²"], "--depth: expected a whole number from 1 to 9, found '²'"),
        (["x", "--kind", "c"], "--kind: expected a or b, found 'c'"),
        (["x", "--dry-run=true"], "--dry-run takes no value"),
        (["x", "dry_run=yes"], "dry_run: expected true or false, found 'yes'"),
    ],
)
def test_wrong_words_say_what_is_expected_and_show_the_usage(words: list[str], message: str) -> None:
    with pytest.raises(InputError) as raised:
        COPY.read(words)
    usage = "usage: python -m runner copy [--depth N] [--dry-run] [--kind a|b] SOURCE [TARGET] [MORE [MORE …]]"
    assert str(raised.value) == f"{message}\n{usage}"


def test_an_unknown_flag_of_a_command_that_takes_the_words_of_a_run() -> None:
    with pytest.raises(InputError, match=r"^unknown option --trusts; did you mean '--trust'\?\nusage: .* RECORD \["):
        RUN.read(["rec", "--trusts"])


@pytest.mark.parametrize("text", ["nan", "inf", "-0.1", "1.1", "x", ""])
def test_shares_are_numbers_from_0_to_1(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        share()(text)


def test_what_is_declared_has_words_and_no_other_word_is_there() -> None:
    said = {f"{command.name}.{argument.name}" for command in ALL for argument in (*command.places, *command.options)}
    said |= {command.name for command in ALL} | {"arguments", "options", "settings", "default"}
    texts = wording("en", "commands").texts
    assert {key for key in texts if key.removesuffix(".more") not in said} == set()
    assert said - texts.keys() == set()


@pytest.mark.parametrize("name", [*COMMANDS, "calibrate min_score"])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_help_of_every_command(name: str, language: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [name.replace("_", "-") if " " not in name else name]
    assert main([*words[0].split(), "--help", f"report.language={language}"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: python -m runner {words[0]}")
    assert bool(re.search("[가-힣]{2}.*니다", shown)) is (language == "ko")
    assert "{{" not in shown
    assert max(map(len, shown.splitlines()[1:])) <= 130
