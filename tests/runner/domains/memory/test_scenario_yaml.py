from pathlib import Path

import pytest

from runner.data.problems import ProblemLog
from runner.domains.memory.records import Conversation
from runner.domains.memory.scenario_files import read_scenarios
from runner.errors import DataError

SCENARIO = """\
# A comment.
version: 1
conversations:
  - id: no
    sessions:
      - date: 2026-11-03
        turns:
          - {user: 예산은 1억이에요., assistant: yes}
          - user: "10"
            assistant: |
              two
              lines
    facts:
      - {id: budget, value: 1억, turn: 1}
    probes:
      - id: p
        question: 예산은?
        after_turn: 2
        answerable: true
        expected: &budget [budget]
        canaries: [HB-4471, "007"]
      - id: q
        question: 그리고?
        expected: *budget
"""


def read(folder: Path, text: str, name: str = "s.yaml") -> tuple[list[Conversation], list[str]]:
    path, log = folder / name, ProblemLog()
    path.write_text(text, encoding="utf-8")
    found = read_scenarios([str(path)], "scenario.path", log)
    return found, [str(problem).replace(f"{folder}/", "") for problem in log.problems]


@pytest.mark.parametrize("name", ["s.yaml", "s.YML"])
def test_words_and_dates_are_texts(tmp_path: Path, name: str) -> None:
    (found,), problems = read(tmp_path, SCENARIO, name)
    assert found.id == "no"
    assert [(turn.user, turn.assistant, turn.said_at) for turn in found.turns] == [
        ("예산은 1억이에요.", "yes", "2026-11-03"),
        ("10", "two\nlines\n", "2026-11-03"),
    ]
    assert [each.expected for each in found.probes] == [("budget",), ("budget",)]
    assert found.probes[0].canaries == ("HB-4471", "007")
    assert problems == []


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "{b: " * 100_000, "- " * 100_000])
def test_what_is_nested_too_deeply_is_refused_and_ends_no_process(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"s\.yaml is not YAML: nested too deeply$"):
        read(tmp_path, text)


def test_problems_name_the_line_of_the_object(tmp_path: Path) -> None:
    wrong = SCENARIO.replace("question: 예산은?", "qestion: 예산은?").replace("turn: 1}", "turn: 1, vlue: x}")
    with pytest.raises(DataError) as caught:
        read(tmp_path, wrong)
    assert str(caught.value).splitlines()[1:] == [
        f"  {tmp_path}/s.yaml:16: probes[0].question: expected text, found nothing"
    ]
    good = SCENARIO + "  - {id: second, turns: [{user: a}], probes: [{id: p, question: b, after_turn: 7}]}\n  - 5\n"
    found, problems = read(tmp_path, good)
    assert [each.id for each in found] == ["no"]
    assert problems == [
        "s.yaml:25: probes[0].after_turn: expected at most the number of turns (1), found 7",
        "s.yaml:1: conversations[2]: expected an object, found number 5",
    ]


def test_numbers_are_no_texts(tmp_path: Path) -> None:
    _, problems = read(
        tmp_path, SCENARIO + "  - {id: 5, turns: [{user: 1.5}, {user: -2e3}, {user: null}, {user: ~}]}\n"
    )
    assert problems == [
        "s.yaml:25: id: expected text that is not blank, found number 5",
        "s.yaml:25: turns[0].user: expected text that is not blank, found number 1.5",
        "s.yaml:25: turns[1].user: expected text that is not blank, found number -2000.0",
        "s.yaml:25: turns[2].user: expected text, found null",
        "s.yaml:25: turns[3].user: expected text, found null",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": expected `version: 1` and `conversations: [...]`, found null"),
        ("- a\n", ": expected `version: 1` and `conversations: [...]`, found a list of 1"),
        ("conversations: []\n", ": version: expected 1, found nothing"),
        ("version: 2\n", ": version: expected 1, found number 2"),
        ("version: true\n", ": version: expected 1, found true"),
        ("version: 1\nversion: 1\n", ":2 is not YAML: 'version' is there twice"),
        ("version: 1\nconversations: [\n", ":3 is not YAML: did not find expected node content"),
        (
            "version: 1\nconversation: []\n",
            ": conversations: expected a list, found nothing; did you mean 'conversation'?",
        ),
        ("version: 1\nx: &a [*a]\n", ": line 2: *a stands inside of what it names"),
    ],
)
def test_files_that_hold_no_scenarios(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, text)
    assert str(caught.value) == f"scenario.path: {tmp_path}/s.yaml{message}"


@pytest.mark.parametrize("number", ["9" * 5000, "1e999"])
def test_a_number_that_is_too_large(tmp_path: Path, number: str) -> None:
    with pytest.raises(DataError, match=r"s\.yaml:2 is not YAML: a number is too large$"):
        read(tmp_path, f"version: 1\nconversations: [{{id: {number}}}]\n")


def test_aliases_of_aliases_do_not_multiply(tmp_path: Path) -> None:
    bomb = "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 30))
    with pytest.raises(DataError, match=r"s\.yaml: line 6: its aliases \(\*x4 …\) stand for more than 100,000 values$"):
        read(tmp_path, f"x0: &x0 [1]\n{bomb}{SCENARIO}")
