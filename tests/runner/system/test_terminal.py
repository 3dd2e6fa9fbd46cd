"""What passes the door to the terminal, and that nothing else does."""

import pytest
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runner.system import redaction, terminal

STEERING = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"]
STEERING += [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0xFEFF)]
ATTACKS = [
    "\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31mred\x9d0;t\x9c",
    "good\rerror: bad",
    "abc\u202edcba\u2066x\u2069",
    "".join(STEERING),
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_steers_the_terminal(attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(title=Text(attack), caption=Text(attack))
    table.add_column(attack)
    table.add_row(attack)
    table.add_row(Text(attack))
    terminal.show(attack, Text(attack), table, Panel(Text(attack), title=Text(attack), subtitle=Text(attack)))
    terminal.lines(attack)
    terminal.write(attack)
    terminal.note(attack)
    terminal.ask(attack)
    terminal.fail(attack)
    out, err = capsys.readouterr()
    assert not {*STEERING} & {*out, *err}
    assert "\ufffd" in out and "\ufffd" in err


def test_texts_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    text = "[bold]x[/bold] [/] [link=http://evil]y[/link] :smile:"
    table = Table()
    table.add_column(text, no_wrap=True)
    table.add_row(text)
    terminal.show(text, table)
    assert capsys.readouterr().out.count(text) == 3


def test_scripts_emoji_and_lone_surrogates_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.lines("한국어\tمی\u200cخواهم 👩\u200d💻 \ud800 a\r\nb")
    assert capsys.readouterr().out == "한국어\tمی\u200cخواهم 👩\u200d💻 ? a\nb\n"


def test_colours_of_ours_stay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal.show(Text("red", style="red"))
    assert "\x1b[31mred" in capsys.readouterr().out


def test_a_secret_is_not_cut_in_two_by_the_end_of_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    secret = "Wrapped-Secret-1234567890-abcdefghij"
    redaction.learn({"password": secret})
    table = Table(secret)
    table.add_row(f"a {secret} b")
    terminal.show(Panel(Group(Text(f"x {secret}"), table), title=Text(secret)), table, Text(secret), secret)
    out = "".join(capsys.readouterr().out.split())
    assert "Wrapped" not in out and "abcdefghij" not in out and "***" in out
