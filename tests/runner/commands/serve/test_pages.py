"""The pages of `serve` in a real browser: a person starts a sweep, reads it, labels answers and calibrates the judge.
Axe looks at every page, and a site of files is opened from disk."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from runner.commands import export
from tests.runner.commands.serve.test_served import served, until
from tests.services.browser import MISSING, installed

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[browser]'")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install -e '.[browser]'")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(installed() is None, reason=MISSING)]

OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE_MS = 120_000
RATED = 10
WIDTHS = (390, 768, 1280, 2560)
# What reaches beyond the window, unless a box of its own scrolls to it.
CUT = """() => [...document.body.querySelectorAll("*")]
    .filter((each) => !each.closest(".scroll, pre, svg, .hidden, .skip"))
    .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map((each) => each.outerHTML)"""
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright.expect.set_options(timeout=PATIENCE_MS)
    with playwright.sync_playwright() as driver:
        program = driver.chromium.launch(executable_path=installed(), args=list(OPTIONS))
        yield program
        program.close()


@pytest.fixture
def opening(browser: Any) -> Iterator[Open]:
    """`opening(url, color_scheme="dark", …)`: a page of a reader of its own. None may complain or reach elsewhere."""
    contexts, complaints = [], []

    def said(message: Any) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "file:", "data:")):
            complaints.append(request.url)

    def opened(url: str, *, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", said)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", asked)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of the server, empty at first."""
    return tmp_path_factory.mktemp("pages") / "outputs"


@pytest.fixture(scope="module")
def address(outputs: Path) -> Iterator[str]:
    """Of a server."""
    with served(outputs.parent) as (api, _):
        yield api.removesuffix("/evaluation")


@pytest.fixture(scope="module")
def sweep(address: str) -> str:
    """The id of a finished sweep of two runs of twelve cases."""
    overrides = ["k=1,5", "sample=12", "retriever=keyword"]
    body = {"evaluation_type": "full_rag", "overrides": overrides}
    id = str(told(f"{address}/evaluation/datasets/demo_en/sweeps", body)["id"])
    with urlopen(f"{address}/evaluation/runs/{id}/events") as events:
        assert b"event: end" in events.read()
    assert told(f"{address}/evaluation/sweeps/{id}")["status"] == "completed"
    return id


def told(url: str, body: Any = None, method: str = "POST") -> Any:
    content = None if body is None else json.dumps(body).encode()
    request = Request(url, content, {"content-type": "application/json"}, method=method if content else "GET")
    with urlopen(request, timeout=PATIENCE_MS / 1000) as answer:
        return json.load(answer)


def test_a_sweep_is_started_watched_read_labelled_and_calibrated(opening: Open, address: str) -> None:
    page = opening(address)
    page.get_by_role("link", name="Start a run").first.click()
    started(page)
    assert page.locator(".status").first.inner_text() in ("pending", "running", "completed")
    playwright.expect(page.locator("#state .status")).to_have_text("completed")
    playwright.expect(page.locator("#runs tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Side by side").click()
    compared(page)
    page.goto(address)
    page.get_by_role("row").filter(has_text="k=5").get_by_role("link").first.click()
    page.get_by_role("link", name="Label answers").click()
    labelled(page)
    page.get_by_role("button", name="Compare the judge with these ratings").click()
    page.wait_for_url("**/calibrations/**")
    playwright.expect(page.locator(".written")).to_contain_text(str(RATED))


def started(page: Any) -> None:
    """By the form: two values of k are a sweep, whose cost is said before the button may be pressed."""
    page.get_by_label("Data set").select_option("demo_en")
    page.get_by_label("k", exact=True).fill("1, 5")
    page.get_by_label("sample", exact=True).fill("12")
    page.get_by_role("group", name="retriever").get_by_label("keyword", exact=True).check()
    go = page.get_by_role("button", name="Start", exact=True)
    playwright.expect(go).to_be_disabled()
    page.get_by_role("button", name="What will it cost?").click()
    playwright.expect(page.locator("#cost")).to_contain_text("2 × 12")
    go.click()
    page.wait_for_url("**/sweeps/**")


def compared(page: Any) -> None:
    """Side by side: filtered to what changed, by keyboard from case to case, and one case by its link."""
    everything = int(page.locator("output").inner_text().split()[0])
    page.get_by_role("radio", name="Changed").check()
    page.wait_for_url("**show=changed**")
    shown = int(page.locator("output").inner_text().split()[0])
    assert (everything, page.locator(".case").count()) == (12, shown)
    assert 0 < shown < everything
    assert page.locator(".case ins").count(), "words that differ are marked"
    page.locator("body").press("j")
    playwright.expect(page.locator(".case").first).to_be_focused()
    page.keyboard.press("o")
    playwright.expect(page.locator(".case").first.get_by_text("new", exact=True).first).to_be_visible()
    page.locator(".case th .id").first.click()
    playwright.expect(page.locator(".case")).to_have_count(1)


def labelled(page: Any) -> None:
    """Ten answers by keyboard; a key that is pressed twice, or held, skips nothing."""
    page.get_by_label("Your name").fill("김 Rater")
    page.get_by_label("How many").fill(str(RATED))
    page.get_by_role("button", name="Begin").click()
    playwright.expect(page.locator("#question")).to_be_focused()
    for number in range(RATED):
        playwright.expect(page.locator("#place")).to_contain_text(f"rated: {number}")
        if number == 3:
            page.keyboard.press("c")
            page.keyboard.type("half of it")
            page.keyboard.press("Enter")
            page.locator("#question").focus()
        page.keyboard.down(str(1 + number % 5))
        if number == 5:
            page.keyboard.down(str(1 + number % 5))  # held: the browser repeats it
            page.keyboard.press(str(1 + number % 5))
        page.keyboard.up(str(1 + number % 5))
    playwright.expect(page.locator("#place")).to_contain_text(f"rated: {RATED}")
    playwright.expect(page.locator("#told")).to_have_text("Saved. All answers are rated.")


def test_ratings_are_in_the_file_of_the_rater_at_once(opening: Open, address: str, outputs: Path, sweep: str) -> None:
    """As `labels` and `calibrate` have it, with a comment that is written just before a rating."""
    rater = "sure"
    page = opening(f"{address}/label/{sweep}~1")
    page.get_by_label("Your name").fill(rater)
    page.get_by_role("button", name="Begin").click()
    page.locator("#comment").fill("half, =1+1")
    page.get_by_role("button", name="3 in part").click()  # leaves the comment, which is saved by itself, too
    playwright.expect(page.locator("#place")).to_contain_text("rated: 1")
    path = next(outputs.glob(f".serve/labels/{sweep}~1/*.{rater}-*.csv"))
    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert [(row["rating"], row["comment"]) for row in rows if row["rating"]] == [("0.5", "half, =1+1")]


PAGES = (
    "/", "/?q=nothing-like-it", "/start", "/sweeps/{0}", "/runs/{0}~0", "/side?runs={0}", "/side?runs={0}&show=changed",
    "/label/{0}~1", "/evaluation/docs", "/calibrations/{1}", "/sign-in", "/runs/none",
)  # fmt: skip


@pytest.fixture(scope="module")
def pages(address: str, sweep: str) -> list[str]:
    """Addresses of every kind of page."""
    run = f"{address}/evaluation/runs/{sweep}~1"
    sheet = told(f"{run}/labels", {"rater": "one", "n": 12})
    for each in sheet["answers"]:
        about = {"rubric": sheet["rubric"], "rater": "one", "case_id": each["id"], "rating": 1.0}
        told(f"{run}/labels", about, "PUT")
    calibration = told(f"{run}/calibrations", {"rubric": sheet["rubric"]})["id"]
    until(lambda: told(f"{address}/evaluation/calibrations/{calibration}")["status"] == "completed")
    return [address + page.format(sweep, calibration) for page in PAGES]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, pages: list[str], language: str, scheme: str) -> None:
    locale = {"en": "en-US", "ko": "ko-KR"}[language]
    context = browser.new_context(color_scheme=scheme, locale=locale, viewport={"width": 1280, "height": 900})
    page, found = context.new_page(), []
    for url in pages:
        page.goto(url)
        assert page.locator("html").get_attribute("lang") == language
        shown_whole(page)
        found += [(url, *each) for each in serious(page)]
    context.close()
    assert found == []


def shown_whole(page: Any) -> None:
    """What is folded, too, and the sheet of a rater."""
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    if "/label/" in page.url:
        page.locator("[name=rater]").fill("two")
        page.locator("#rater button").click()
        page.locator("#sheet").wait_for(state="visible")


def serious(page: Any) -> list[tuple[str, list[str]]]:
    violations = axe.Axe().run(page).response["violations"]
    return [
        (each["id"], [node["html"] for node in each["nodes"]][:3])
        for each in violations
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_its_window(opening: Open, pages: list[str], width: int) -> None:
    page = opening("about:blank", width=width)
    for url in pages:
        if not url.endswith("/runs/none"):  # a browser complains of the status
            page.goto(url)
            shown_whole(page)
            assert page.evaluate(CUT) == [], url
            assert page.evaluate("document.documentElement.scrollWidth") <= width, url


def test_a_site_of_files_is_read_from_disk(
    browser: Any, opening: Open, outputs: Path, sweep: str, tmp_path: Path
) -> None:
    """From page to page by its links, none of which leads elsewhere or nowhere."""
    export.main([str(outputs), str(tmp_path / "site")])
    page = opening((tmp_path / "site" / "index.html").as_uri())
    assert page.locator("table.runs tbody tr").count() >= 2
    seen, waiting = set(), [page.url]
    while waiting:
        url = waiting.pop()
        seen.add(url)
        page.goto(url)
        assert url.startswith(tmp_path.as_uri()), url
        links = page.evaluate("[...document.querySelectorAll('a[href]')].map((each) => each.href.split('#')[0])")
        waiting += {each for each in links if each.startswith("file:")} - seen - set(waiting)
    assert len([url for url in seen if sweep in url]) >= 6, seen  # two runs, four filters
    reader = browser.new_page()
    for url in seen:
        reader.goto(url)
        assert serious(reader) == [], url
    reader.close()
