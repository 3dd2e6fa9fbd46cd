"""report.html in a real browser, opened from disk."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

import pytest

from runner import report
from tests.compared_runs import compared
from tests.run_folders import dump, row, write_run, write_sweep_folder
from tests.services.browser import MISSING, Browser, browsing, installed

pytestmark = pytest.mark.skipif(installed() is None, reason=MISSING)

ATTACK = "<img src=x onerror=\"document.title='stolen'\"></script><script>document.title='stolen'</script>"
OUTCOMES = ("none", "below_k", "wrong_answer")
N = 60
# What reaches beyond the window, unless a box of its own scrolls to it.
CUT = """[...document.body.querySelectorAll("*")].filter((each) => !each.closest(".scroll, pre, svg")
    && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((each) => each.outerHTML)"""
# Tables that such a box shows a part of.
PARTLY = """[...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.getAttribute("aria-label"))"""

# Numbers that stand in two lines.
BROKEN = """[...document.querySelectorAll("table.narrow .number")].filter((each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    return /^[\\d.]+$/.test(each.textContent) && range.getClientRects().length > 1;
  }).map((each) => each.textContent)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing(str(installed())) as found:
        yield found


def rows() -> list[dict[str, Any]]:
    """q-00 to q-59: recall falls with the number, every third question is right, every other one Korean. q-01 is
    hostile."""
    return [
        row(
            f"q-{n:02}",
            language="ko" if n % 2 else "en",
            metrics={"recall_at_k": 1 - n / 100} | ({"ndcg_at_k": n / 100} if n in (7, 8) else {}),
            labels={"lost_at": OUTCOMES[n % 3]},
            output={
                "query": f"{ATTACK} 공격" if n == 1 else f"질문 {n}번?" if n % 2 else f"Question {n}?",
                "answer": ATTACK if n == 1 else f"It is {n}. [1]",
                "contexts": [{"id": "doc-1#0", "title": ATTACK, "text": f"{ATTACK} context of {n}"}],
            },
        )
        for n in range(N)
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report on disk, in a folder whose name needs care."""
    folder = write_run(tmp_path_factory.mktemp("보고서 #1 100%"), rows=rows())
    report.write(folder)
    return (folder / "report.html").as_uri()


@pytest.fixture
def opened(browser: Browser, page: str) -> Browser:
    browser.open(page)
    return browser


def ids(browser: Browser) -> list[str]:
    return list(browser.ask("[...document.querySelectorAll('.cases .id')].map((each) => each.textContent)"))


def count(browser: Browser) -> str:
    return str(browser.ask("document.querySelector('[data-count]').textContent"))


def choose(browser: Browser, filter: str, value: str) -> None:
    """Types or picks, and waits until the table has followed."""
    browser.ask(f"""(async () => {{
      const field = document.querySelector("[data-filter='{filter}']");
      field.value = {json.dumps(value)};
      field.dispatchEvent(new Event("input", {{ bubbles: true }}));
      await new Promise((done) => setTimeout(done, 300));
    }})()""")


def option(browser: Browser, filter: str, text: str) -> str:
    """The value of the option that begins with a text."""
    return str(
        browser.ask(f"""[...document.querySelectorAll("[data-filter='{filter}'] option")]
        .find((each) => each.textContent.startsWith({json.dumps(text)})).value""")
    )


def sort(browser: Browser, title: str) -> str | None:
    """Clicks on the head of a column; tells its aria-sort."""
    found = browser.ask(f"""(() => {{
      const heads = [...document.querySelectorAll(".cases thead th")];
      const head = heads.find((each) => each.textContent === {json.dumps(title)});
      head.querySelector("button").click();
      return head.getAttribute("aria-sort");
    }})()""")
    return None if found is None else str(found)


def test_it_opens_from_disk_without_a_complaint_and_asks_for_nothing(opened: Browser, page: str) -> None:
    assert opened.requests() == [page]
    assert opened.complaints() == []
    assert opened.ask("document.title") == "Evaluation report: full_rag"


def test_what_a_question_says_does_nothing(opened: Browser) -> None:
    choose(opened, "text", "공격")
    opened.ask("document.querySelector('.cases .question').click()")
    opened.ask("[...document.querySelectorAll('details')].forEach((each) => { each.open = true; })")
    assert ids(opened) == ["q-01"]
    assert opened.ask("document.querySelector('.cases .question').textContent") == f"{ATTACK} 공격"
    assert ATTACK in opened.ask("document.querySelector('.cases .detail').textContent")
    assert opened.ask("document.querySelectorAll('img').length") == 0
    assert opened.ask("document.title") == "Evaluation report: full_rag"
    assert opened.complaints() == []


def test_even_a_script_that_got_in_would_not_run(opened: Browser) -> None:
    opened.ask("""(() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'stolen'";
      document.body.append(script);
      document.body.insertAdjacentHTML("beforeend", "<img src='x' onerror='document.title = \\"stolen\\"'>");
    })()""")
    assert opened.ask("document.title") == "Evaluation report: full_rag"
    assert any("Content Security Policy" in text for text in opened.complaints())


def test_the_worst_come_first_a_page_at_a_time(opened: Browser) -> None:
    failing = [n for n in range(N) if n % 3]
    assert count(opened) == "1–25 of 60"
    assert ids(opened) == [f"q-{n:02}" for n in sorted(failing, reverse=True)[:25]]
    opened.ask("document.querySelector(\"[data-step='1']\").click()")
    assert count(opened) == "26–50 of 60"
    opened.ask("document.querySelector(\"[data-step='1']\").click()")
    assert (count(opened), len(ids(opened))) == ("51–60 of 60", 10)
    assert opened.ask("document.querySelector(\"[data-step='1']\").disabled")
    opened.ask("document.querySelector(\"[data-step='-1']\").click()")
    assert count(opened) == "26–50 of 60"


def test_sorting_up_down_and_back(opened: Browser) -> None:
    before = ids(opened)
    assert sort(opened, "Recall@5") == "ascending"
    assert ids(opened)[:3] == ["q-59", "q-58", "q-57"]
    assert sort(opened, "Recall@5") == "descending"
    assert ids(opened)[:3] == ["q-00", "q-01", "q-02"]
    assert sort(opened, "Case") == "ascending"
    assert ids(opened)[:2] == ["q-00", "q-01"]
    assert opened.ask("document.querySelectorAll('[aria-sort]').length") == 1
    assert sort(opened, "Case") == "descending"
    assert sort(opened, "Case") is None
    assert ids(opened) == before


def test_what_has_no_value_comes_last_either_way(opened: Browser) -> None:
    sort(opened, "nDCG@5")
    assert ids(opened)[:2] == ["q-07", "q-08"]
    sort(opened, "nDCG@5")
    assert ids(opened)[:2] == ["q-08", "q-07"]
    assert count(opened) == "1–25 of 60"


def test_filters_work_together(opened: Browser) -> None:
    choose(opened, "outcome", "failing")
    assert count(opened) == "1–25 of 40"
    choose(opened, "language", option(opened, "language", "ko"))
    assert count(opened) == "1–20 of 20"
    choose(opened, "outcome", option(opened, "outcome", "ranked below k"))
    assert count(opened) == "1–10 of 10"
    choose(opened, "text", "번 질문 3")
    assert sorted(ids(opened)) == ["q-13", "q-31", "q-37", "q-43"]
    choose(opened, "text", "nothing like this")
    assert (count(opened), ids(opened)) == ("No case matches.", [])
    choose(opened, "text", "")
    choose(opened, "outcome", "")
    choose(opened, "language", "")
    assert count(opened) == "1–25 of 60"


def test_text_is_found_whatever_its_case_and_composition(opened: Browser) -> None:
    choose(opened, "text", "QUESTION 10")
    assert ids(opened) == ["q-10"]
    choose(opened, "text", normalize("NFD", "질문 11"))
    assert ids(opened) == ["q-11"]
    choose(opened, "text", "q-12")
    assert ids(opened) == ["q-12"]


def test_a_filter_begins_again_on_the_first_page(opened: Browser) -> None:
    opened.ask("document.querySelector(\"[data-step='1']\").click()")
    choose(opened, "outcome", "failing")
    assert count(opened) == "1–25 of 40"


def test_a_case_opens_to_everything_that_is_known_of_it(opened: Browser) -> None:
    choose(opened, "text", "q-05")
    opened.ask("document.querySelector('.cases .question').click()")
    told = opened.ask("""Object.fromEntries([...document.querySelectorAll(".cases .detail dt")]
        .map((each) => [each.textContent, each.nextElementSibling.textContent]))""")
    assert told["Question"] == "질문 5번?"
    assert told["Expected"] == "doc-1"
    assert told["Answer"] == "It is 5. [1]"
    assert told["Judge, Faithfulness"] == "1.00: All claims hold."
    assert "1. 0.91 ✓doc-1 First" in told["Retrieved, with relevance 0 to 1 (✓ expected; the context takes the best 5)"]
    assert f"{ATTACK} context of 5" in told["Given to the generator (bold: cited)"]
    assert opened.ask("document.querySelector('.detail').lang") == "ko"
    opened.ask("document.querySelector('.cases .question').click()")
    assert opened.ask("document.querySelectorAll('.cases .detail').length") == 0


@pytest.mark.parametrize("name", ["q-05", "%3Cb%3E%20%2F&%EA%B0%80", "<b> /&가"])
def test_an_address_opens_a_case_whatever_is_filtered(browser: Browser, tmp_path: Path, name: str) -> None:
    report.write(write_run(tmp_path, rows=[*rows(), row("<b> /&가")]))
    page = (tmp_path / "report.html").as_uri()
    browser.open(f"{page}#case-{name}")
    shown = "document.querySelector('.cases .detail').previousElementSibling.querySelector('.id').textContent"
    assert browser.ask(shown) == unquote(name)
    assert browser.ask("document.querySelectorAll('.cases .detail').length") == 1
    top = "document.querySelector('.cases .detail').previousElementSibling.getBoundingClientRect().top"
    assert 0 <= browser.ask(top) < 900  # in sight
    choose(browser, "text", "q-07")
    browser.ask("document.querySelector('.cases .question').click()")
    assert browser.ask("location.hash") == "#case-q-07"
    browser.ask(f'new Promise((done) => {{ addEventListener("hashchange", done); location.hash = "case-{name}"; }})')
    assert browser.ask(shown) == unquote(name) and count(browser).endswith("of 61")
    browser.open(f"{page}#case-nowhere%")
    assert browser.ask("document.querySelectorAll('.cases .detail').length") == 0


def test_answers_of_a_sweep_stand_side_by_side(browser: Browser, tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path, (3, 5, 10))
    for number in range(3):
        changed = [row(f"q-{n}", labels={"lost_at": "wrong_answer" if n % 4 < number else "none"}) for n in range(40)]
        write_run(folder / str(number), {"k": (3, 5, 10)[number]}, rows=changed)
        report.write(folder / str(number))
    report.write_sweep(folder)
    browser.open((folder / "report.html").as_uri())
    assert count(browser) == "1–25 of 40"
    choose(browser, "outcome", option(browser, "outcome", "changed"))
    assert count(browser) == "1–20 of 20"
    cells = "[...document.querySelector('.cases .case').cells].map((each) => each.textContent)"
    assert browser.ask(cells)[1:] == ["changed", "✓ It is q-0. [1]", "✗ It is q-0. [1]", "✗ It is q-0. [1]"]
    choose(browser, "outcome", "failing")
    assert count(browser) == "1–20 of 20"
    browser.ask("document.querySelector('.cases .question').click()")
    links = browser.ask("[...document.querySelectorAll('.detail .runs a')].map((each) => each.getAttribute('href'))")
    assert links == [f"./{number}/report.html#case-q-0" for number in range(3)]
    for width in (390, 768, 1280, 1920):
        browser.resize(width, 900)
        assert browser.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), width
        assert browser.ask(CUT) == browser.ask(PARTLY) == [], width
    assert browser.complaints() == []


def test_the_keyboard_is_enough(opened: Browser) -> None:
    opened.ask("document.querySelector('.cases thead button').focus()")
    opened.press("Enter", 13)
    assert opened.ask("document.querySelector('.cases thead th').getAttribute('aria-sort')") == "ascending"
    opened.ask("document.querySelector('.cases .question').focus()")
    opened.press("Enter", 13)
    assert opened.ask("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert opened.ask("document.querySelectorAll('.cases .detail').length") == 1


def test_every_control_has_a_name(opened: Browser) -> None:
    tree = opened.command("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "link", "combobox", "searchbox", "columnheader", "table", "group")
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored")
        and node["role"]["value"] in ("button", "link", "combobox", "searchbox")
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []
    assert {node["role"]["value"] for node in tree} >= set(roles)


def test_without_scripts_everything_but_the_filters_is_there(browser: Browser, page: str) -> None:
    browser.open(page, scripts=False)
    document = browser.command("DOM.getDocument", depth=-1)["root"]["nodeId"]

    def found(selector: str) -> list[int]:
        nodes = browser.command("DOM.querySelectorAll", nodeId=document, selector=selector)["nodeIds"]
        return list(nodes)

    assert len(found(".cases .id")) == 10
    assert len(found(".cases .detail details dl")) == 10
    assert not found(".cases thead button")
    (filters,) = found(".filters")
    with pytest.raises(AssertionError, match="Could not compute box model"):
        browser.command("DOM.getBoxModel", nodeId=filters)


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1920])
def test_no_page_is_wider_than_its_window(browser: Browser, page: str, width: int) -> None:
    browser.open(page, width=width)
    assert browser.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert browser.ask(CUT) == []
    assert width == 320 or browser.ask(PARTLY) == []


def test_a_gated_run_shows_its_tables_in_full(browser: Browser, tmp_path: Path) -> None:
    """Rules with a sentence in a cell of numbers, tables of six and more numbers, and intervals in four columns."""
    folder, record = compared(tmp_path, margin=0.0, significant=True)
    dump(folder / "compare.json", record)
    report.write(folder)
    for width in (390, 768, 1280, 1920):
        browser.open((folder / "report.html").as_uri(), width=width)
        assert browser.ask(CUT) == browser.ask(PARTLY) == [], width
        assert browser.ask(BROKEN) == [], width


def test_light_and_dark(browser: Browser, page: str) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        browser.open(page, prefers_color_scheme=scheme)
        grounds.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(252, 252, 251)", "rgb(22, 24, 27)"]


def test_on_paper_what_is_folded_is_there_and_controls_are_not(opened: Browser) -> None:
    opened.ask("dispatchEvent(new Event('beforeprint'))")
    assert opened.ask("document.querySelectorAll('details[data-print]:not([open])').length") == 0
    opened.command("Emulation.setEmulatedMedia", media="print")
    hidden = "['nav', '.filters', '.pages'].map((each) => getComputedStyle(document.querySelector(each)).display)"
    assert opened.ask(hidden) == ["none"] * 3
    opened.command("Emulation.setEmulatedMedia", media="")
    assert opened.pdf().startswith(b"%PDF-")
