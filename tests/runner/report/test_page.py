import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from runner.report.blocks import (
    Block,
    Cell,
    Chart,
    Code,
    Facts,
    Grid,
    Matrix,
    Note,
    Points,
    Section,
    Steps,
    Table,
    Warnings,
)
from runner.report.metric import Value
from runner.report.page import _json, html, write_page
from runner.words.wording import LANGUAGES
from tests.html_pages import parse

HOSTILE = "</script><script>alert(1)</script><!-- & \u2028 ]]> \\"
STYLE = (Path(__file__).parents[3] / "runner/report/templates/page.css").read_text(encoding="utf-8")


def written(folder: Path, *sections: Section, language: str = "en") -> str:
    write_page(folder / "report.html", LANGUAGES[language], [Section("", "A <title>", []), *sections])
    return (folder / "report.html").read_text(encoding="utf-8")


def a_section(id: str, title: str, text: str = "x") -> Section:
    return Section(id, title, [Note(text)])


def test_a_page_is_whole(tmp_path: Path) -> None:
    text = written(tmp_path, a_section("a", "<A>"), a_section("b", "B"), language="ko")
    assert text.startswith("<!doctype html>\n")
    root = parse(text.removeprefix("<!doctype html>"))
    assert root.one("html").attributes == {"lang": "ko"}
    assert root.one("title").text == "A <title>"
    assert [each.attributes["href"] for each in root.one("nav").all("a")] == ["#a", "#b"]
    assert root.one("section", id="a").one("h2").text == "<A>"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_one_section_needs_no_contents(tmp_path: Path) -> None:
    assert "<nav" not in written(tmp_path, a_section("a", "A"))


def test_nothing_but_its_own_style_and_script_may_run(tmp_path: Path) -> None:
    root = parse(written(tmp_path, a_section("a", "A")).removeprefix("<!doctype html>"))
    (policy,) = [
        each.attributes["content"] or ""
        for each in root.all("meta")
        if each.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    for directive, name in (("script-src", "script"), ("style-src", "style")):
        digest = base64.b64encode(hashlib.sha256(root.one(name).text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_nothing_comes_from_elsewhere(tmp_path: Path) -> None:
    text = written(tmp_path, a_section("a", "A"))
    assert not re.search(
        r"https?:|//[a-z]|@import|url\(|\ssrc=|<link|<iframe", re.sub(r"^\s*//.*$", "", text, flags=re.M)
    )


def test_data_cannot_leave_its_element() -> None:
    block = b"".join(_json({"texts": [HOSTILE], "number": 1.5})).decode()
    assert not set(block) & {"<", ">", "&"}
    assert json.loads(block) == {"texts": [HOSTILE], "number": 1.5}


def test_without_data_there_is_no_element_for_it(tmp_path: Path) -> None:
    assert "application/json" not in written(tmp_path, a_section("a", "A"))


VALUE = Value("m", 0.5, 2, 2, 0.25, 0.75, 0.5)
CORNERS = [(down, across) for down in (True, False) for across in (True, False)]
EVERY_KIND: list[Block] = [
    Note(HOSTILE),
    Note(HOSTILE, "strong"),
    Warnings([Note(HOSTILE, "alarm")]),
    Steps([HOSTILE]),
    Points([HOSTILE]),
    Table([HOSTILE, "b"], [[HOSTILE, Cell(HOSTILE, drawing=VALUE, limits=HOSTILE, detail=HOSTILE)]], HOSTILE),
    Table(["a"], [[HOSTILE]], groups=[(HOSTILE, 1)]),
    Grid((HOSTILE, HOSTILE), (HOSTILE, HOSTILE), {place: Cell(HOSTILE) for place in CORNERS}, (True, True), HOSTILE),
    Facts([(HOSTILE, HOSTILE)]),
    Code(HOSTILE),
    Chart("c", HOSTILE, [HOSTILE, "b"], {HOSTILE: [VALUE, VALUE], "other": [VALUE, None]}),
    Matrix("m", [HOSTILE, "b"], [[1.0, 0.5], [0.5, None]], HOSTILE, HOSTILE, "–"),
    Section("s", HOSTILE, [Note(HOSTILE)]),
    Section("", HOSTILE, [Note(HOSTILE)], folded=True),
]


@pytest.mark.parametrize("block", EVERY_KIND, ids=lambda block: type(block).__name__)
def test_no_text_of_a_block_is_markup(block: Block) -> None:
    shown = html([block])
    assert "<script" not in shown and "<!--" not in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_characters_that_steer_are_made_visible() -> None:
    assert html([Note("a\x1b[31m\u202eb\r\nc")]) == "<p>a\ufffd[31m\ufffdb\nc</p>"


# --- colours --------------------------------------------------------------------------------------


def schemes() -> dict[str, dict[str, str]]:
    """Light, dark and paper: the colours of page.css by name."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.S)
    light, dark, paper = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", block)) for block in blocks)
    return {"light": light, "dark": dark, "paper": paper}


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    channels = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, relative luminance: 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark", "paper"])
def test_texts_stand_out_from_the_ground(scheme: str) -> None:
    colours = schemes()[scheme]
    for text in ("ink", "quiet", "accent", "bad"):
        for ground in ("paper", "shade"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("scheme", ["light", "dark", "paper"])
def test_lines_and_losses_stand_out_from_the_ground(scheme: str) -> None:
    colours = schemes()[scheme]
    for name in ("s1", "s2", "s3", "s4", "s5", "s6", "accent"):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    assert contrast(colours["loss"], colours["paper"]) >= 2.5


def test_all_schemes_have_the_same_colours() -> None:
    light, dark, paper = schemes().values()
    assert light.keys() == dark.keys() == paper.keys()
