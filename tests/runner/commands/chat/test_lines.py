import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.commands.chat import Line, read, sanitise


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("예산은 1억이에요\n", Line("예산은 1억이에요")),
        ("  Hello  \r\n", Line("Hello")),
        ("/eval 아까 말한  예산은?\n", Line("아까 말한 예산은?", "eval")),
        ("/EVAL x", Line("x", "eval")),
        ("/eval\u3000예산은?", Line("예산은?", "eval")),  # an ideographic space
        ("/quit", Line("", "quit")),
        ("  /help  ", Line("", "help")),
        ("/", Line("", "")),
        ("/메모리", Line("", "메모리")),
        ("//etc/hosts is a file", Line("/etc/hosts is a file")),
        ("1/2", Line("1/2")),
        ("\ufeff안녕", Line("안녕")),
        ("a\x1b[2Jb\x00\x07", Line("a[2Jb")),
        ("ab\u202ecd\u2066", Line("abcd")),
        ("a\udc80b", Line("a?b")),
        ("전각 ＡＢ １２３", Line("전각 ＡＢ １２３")),
        ("👩‍👩‍👧 가족", Line("👩‍👩‍👧 가족")),
    ],
)
def test_a_line_is_said_or_a_command(typed: str, line: Line) -> None:
    assert read(typed) == line


@pytest.mark.parametrize("typed", ["", "\n", "   \t\n", "\u3000", "\u200b\u200d", "\x1b\n", "\ufeff\n"])
def test_lines_without_anything_to_be_seen_are_none(typed: str) -> None:
    assert read(typed) is None


def test_letters_that_came_in_pieces_are_put_together() -> None:
    apart = unicodedata.normalize("NFD", "예산은 1억이에요")
    assert len(apart) > 9
    assert read(apart) == Line("예산은 1억이에요")
    assert read(unicodedata.normalize("NFD", "/eval 예산은?")) == Line("예산은?", "eval")


@given(st.text(st.characters(codec=None)))
def test_what_is_shown_can_be_written_and_steers_no_terminal(text: str) -> None:
    shown = sanitise(text)
    shown.encode("utf-8")
    assert not any(unicodedata.category(character) == "Cc" and character not in "\n\t" for character in shown)
