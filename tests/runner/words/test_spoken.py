"""What commands print comes from words of both languages: every way to the terminal is followed in the code, and every
command runs in both languages."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.cli import COMMANDS, main
from tests.record_folders import copy_of
from tests.small_data import write_jsonl

ROOT = Path(__file__).resolve().parents[3]
DOORS = {"write", "lines", "show", "note", "ask", "fail"}  # of runner.system.terminal
SPEAKERS = re.compile(r"say|words?|_words|name|wording|beside|in_language")  # their arguments are keys and values
# What is typed, whatever the language.
IN_BOTH = re.compile(r"(python -m runner|cd)\b.*|https?://|\bMB\b|\w[\w.]*=\S*|--[a-z-]+", re.S)
A_WORD = re.compile(r"[A-Za-z가-힣]{2}")
A_NAME = re.compile(r"[\w.=/:-]*")


class Module:
    """A module of the program, and what reaches the terminal in it."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.functions = {
            node.name: node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        self.constants = {
            target.id: node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def literals(self) -> Iterator[tuple[int, str]]:
        """Line and text of each literal with a word in it that is printed."""
        for function in [*self.functions.values(), self.tree]:
            for call in _own(function):
                if isinstance(call, ast.Call) and _is_door(call):
                    for argument in call.args:
                        yield from _words(argument, is_part=True)
                        yield from self._in(argument, function, frozenset())

    def _in(self, node: ast.expr, function: ast.AST, seen: frozenset[str]) -> Iterator[tuple[int, str]]:
        """Literals that become a part of the value of an expression."""
        if isinstance(node, ast.Constant):
            yield from _words(node)
        elif isinstance(node, ast.Name) and node.id not in seen:
            for value in _assigned(node.id, function) or [self.constants.get(node.id)]:
                if value is not None:
                    yield from self._in(value, function, seen | {node.id})
        elif isinstance(node, ast.Call):
            yield from self._of_call(node, function, seen)
        else:
            for part in _parts(node):
                yield from _words(part, is_part=isinstance(node, ast.JoinedStr))
                yield from self._in(part, function, seen)

    def _of_call(self, call: ast.Call, function: ast.AST, seen: frozenset[str]) -> Iterator[tuple[int, str]]:
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        own = self.functions.get(name)
        if own is not None and name not in seen:
            for node in _own(own):
                if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value is not None:
                    yield from self._in(node.value, own, seen | {name})
        elif not SPEAKERS.fullmatch(name):
            joins = isinstance(call.func, ast.Name) or name in ("join", "fromkeys")
            for argument in call.args if joins else ():
                yield from self._in(argument, function, seen)


def _words(node: ast.expr, *, is_part: bool = False) -> Iterator[tuple[int, str]]:
    """A literal with a word; a word alone may be a key or a name, unless it is shown as it is, or a part of a text."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    if A_WORD.search(IN_BOTH.sub("", text)) and (is_part or not A_NAME.fullmatch(text)):
        yield node.lineno, text


def _parts(node: ast.expr) -> list[ast.expr]:
    """The expressions whose values become a part of that of this one."""
    if isinstance(node, ast.Subscript | ast.Attribute | ast.Compare | ast.Lambda):
        return []
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return [node.elt]
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _own(child)


def _is_door(call: ast.Call) -> bool:
    door = call.func
    if isinstance(door, ast.Name):
        return door.id == "print"
    if not isinstance(door, ast.Attribute):
        return False
    place = ast.unparse(door.value)
    return (place == "terminal" and door.attr in DOORS) or (
        place in ("sys.stdout", "sys.stderr") and door.attr == "write"
    )


def _assigned(name: str, function: ast.AST) -> list[ast.expr]:
    """What a name of a function is given, also what is appended to it."""
    found: list[ast.expr] = []
    for node in _own(function):
        if isinstance(node, ast.Assign):
            found += [value for target in node.targets for value in _given(name, target, node.value)]
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            found += [node.value] if getattr(node.target, "id", "") == name else []
        elif isinstance(node, ast.For | ast.comprehension) and getattr(node.target, "id", "") == name:
            found.append(node.iter)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend", "insert")
            and getattr(node.func.value, "id", "") == name
        ):
            found += node.args
    return found


def _given(name: str, target: ast.expr, value: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return [each for one, other in pairs for each in _given(name, one, other)]
    return [value] if getattr(target, "id", "") == name else []


PATHS = sorted((ROOT / "runner").rglob("*.py"))


def test_what_is_printed_comes_from_words() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in PATHS
        for line, text in Module(path.read_text(encoding="utf-8")).literals()
    }
    assert sorted(found) == []


@pytest.mark.parametrize(
    "printed",
    [
        """terminal.lines("done")""",
        """terminal.note(f"{n} more")""",
        """terminal.write("a line\\n" if n else "")""",
        """terminal.show(*_lines(n))""",
        """text = "a line"; terminal.lines(text)""",
        """texts = []; texts.append(f"{n} lines"); terminal.lines(*texts)""",
        """a, b = n, "a line"; terminal.lines(", ".join([b]))""",
        """terminal.lines(CONSTANT)""",
        """print("done")""",
        """sys.stdout.write(say("key") + " and more")""",
    ],
)
def test_a_literal_is_seen_however_it_reaches_the_terminal(printed: str) -> None:
    others = "CONSTANT = 'a line'\ndef _lines(n):\n    yield f'{n} lines'\n"
    assert list(Module(f"{others}def main(n):\n    {printed}\n").literals())


def test_keys_values_and_what_is_typed_are_no_literals() -> None:
    code = """
def main(options, out, say):
    command = f"python -m runner reproduce {out}"
    terminal.lines(say("freeze.written", place=out), f"  {command}", f"{out}: {options.get('name of a thing')}")
"""
    assert list(Module(code).literals()) == []


# --- what commands print -----------------------------------------------------------------------------

QRELS, RUN = "q1 0 d1 1\nq2 0 d1 0\nq3 0 d9 1\n", "q1 Q0 d1 1 2.0 tag\nq7 Q0 d1 1 2.0 tag\n"
CHATS = [{"id": "a", "messages": [{"role": "user", "content": "예약해 줘"}, {"role": "assistant", "content": "네"}]}, 5]
SPOKEN_ELSEWHERE = {
    "calibrate": "tests/runner/commands/calibrate",
    "calls": "tests/command_line/test_calls.py",
    "chat": "tests/command_line/test_chat.py",
    "completion": "prints a script",
    "generate": "tests/runner/commands/test_generate.py",
    "reproduce": "tests/runner/commands/freeze",
    "serve": "tests/runner/commands/serve",
    "ui": "below",
    "watch": "tests/command_line/test_watch.py",
}
COMMAND_LINES = {
    "clean": ["clean outputs outputs", "clean cache"],
    "compare": ["compare sweep/0 sweep/1 out={}_compared"],
    "embed": ["embed dataset=vault dataset.notes=notes"],
    "export": ["export sweep {}_site"],
    "freeze": ["freeze run {}_record", "freeze run {}_record"],
    "import": ["import logs.csv out={}.jsonl"],
    "init": ["init {}_project"],
    "labels": ["labels run out={}.csv"],
    "links_dataset": ["links-dataset notes {}_links.jsonl"],
    "plan": ["plan +experiment=full_rag sample=3"],
    "results": ["results run"],
    "score": ["score a.qrels a.run"],
    "snapshot": ["snapshot run {}_snapshot.json"],
    "traces": ["traces chats.jsonl {}_traces.jsonl"],
    "track": ["track run --uri sqlite:///{}.db"],
    "validate": ["validate notes"],
}
LANGUAGE_IS_SETTING = {"embed"}  # of its own: language=ko
OF_THE_RUN = {"results", "track"}  # speak the language of the run alone
SENTENCE = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b")


def test_every_command_is_run_in_both_languages_somewhere() -> None:
    assert COMMAND_LINES.keys() | SPOKEN_ELSEWHERE.keys() == set(COMMANDS)


@pytest.fixture(scope="module")
def prepared(small_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spoken")
    copy_of(small_runs, folder)
    (folder / "notes").mkdir()
    (folder / "outputs").mkdir()
    (folder / "notes" / "A.md").write_text("# A\n\nSee [[B]] and [[Zed]].\n", encoding="utf-8")
    (folder / "notes" / "B.md").write_text("# B\n\nBack to [[A]].\n", encoding="utf-8")
    (folder / "a.qrels").write_text(QRELS, encoding="utf-8")
    (folder / "a.run").write_text(RUN, encoding="utf-8")
    (folder / "logs.csv").write_text("question,answer\nHow long?,14 days\n,\n", encoding="utf-8")
    write_jsonl(folder / "chats.jsonl", CHATS)
    return folder


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_a_command_says_the_same_in_both_languages(
    name: str, prepared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line that is the same in both has a sentence in it; and what Korean prints has Korean."""
    monkeypatch.chdir(prepared)
    monkeypatch.setattr(sys, "argv", ["runner"])
    setting = "language" if name in LANGUAGE_IS_SETTING else "report.language"
    texts = {}
    for language in ("en", "ko"):
        codes = {main([*line.format(name).split(), f"{setting}={language}"]) for line in COMMAND_LINES[name]}
        assert codes == {0}
        shown = capsys.readouterr()
        texts[language] = shown.out + shown.err
        for made in (prepared / f"{name}{end}" for end in ENDS):
            shutil.rmtree(made, ignore_errors=True)
            made.unlink(missing_ok=True)
    korean = [line for line in texts["ko"].splitlines() if not IN_BOTH.search(line)]
    assert [line for line in korean if SENTENCE.search(line) and not re.search("[가-힣]", line)] == []
    if name not in OF_THE_RUN:
        assert re.search("[가-힣]", texts["ko"]) and texts["en"] != texts["ko"]


ENDS = (
    "_compared",
    "_site",
    "_record",
    ".jsonl",
    "_project",
    ".csv",
    "_links.jsonl",
    "_snapshot.json",
    "_traces.jsonl",
)


def test_the_pages_of_a_server_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--uri", "http://127.0.0.1:9", "--language", "ko"]) == 0
    assert capsys.readouterr().out == "실행을 추적하는 서버에 자체 UI가 있습니다: http://127.0.0.1:9\n"
