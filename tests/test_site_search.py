"""What readers type into the search of the documentation leads to the page that they want."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import LANGUAGES, ROOT, documentation, headings
from tests.services.browser import MISSING, installed

WANTED = {
    "en": {
        "chunking": "recipes/chunker",
        "metric": "concepts/metrics",
        "judge": "concepts/judging",
        "compare": "concepts/comparing",
        "memory": "concepts/memory",
        "cache": "concepts/cost-and-cache",
        "cost": "recipes/cost",
        "baseline": "concepts/comparing",
        "prompt": "recipes/chunker",
        "resume": "concepts/cost-and-cache",
        "embedding": "recipes/model-server",
        "retriever": "reference/groups",
        "interval": "concepts/metrics",
        "sample": "concepts/metrics",
        "profile": "concepts/traces",
        "significance": "concepts/comparing",
        "ollama": "recipes/model-server",
    },
    "ko": {
        "청킹": "recipes/chunker",
        "지표": "concepts/metrics",
        "판정": "concepts/judging",
        "비교": "concepts/comparing",
        "메모리": "concepts/memory",
        "캐시": "concepts/cost-and-cache",
        "비용": "recipes/cost",
        "기준선": "concepts/comparing",
        "프롬프트": "recipes/chunker",
        "재실행": "concepts/cost-and-cache",
        "임베딩": "recipes/model-server",
        "검색기": "reference/groups",
        "신뢰구간": "concepts/metrics",
        "표본": "concepts/metrics",
        "프로파일": "concepts/traces",
        "구간": "concepts/metrics",  # within a word
        "토크나이저": "recipes/korean",
    },
}
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")
SHOWN = 3  # results that a reader looks at
SEPARATOR = re.compile(
    re.search(r"separator: '(.+)'", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))[1].replace("''", "'")
)  # type: ignore[index]
ASKED: dict[str, dict[str, str]] = yaml.safe_load((ROOT / "docs" / "site" / "asked.yaml").read_text(encoding="utf-8"))


def parts(text: str) -> set[str]:
    """What the index of the site holds of a text: its words, and the rests of Korean words (docs/site/lunr.ko.js)."""
    words = {word.lower() for word in SEPARATOR.split(text) if word}
    return words | {
        word[start:] for word in words for start in range(1, len(word) - 1) if re.match("[가-힣]", word[start])
    }


def test_parts_of_a_korean_word() -> None:
    assert parts("문장청킹을 (BM25로)") == {"문장청킹을", "장청킹을", "청킹을", "킹을", "bm25로"}
    assert parts("`k=3,5`: hit_rate 0.5.") == {"k", "3", "5", "hit_rate", "0.5"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_that_are_asked_for_belong_to_a_page(language: str) -> None:
    assert set(ASKED[language]) <= set(documentation(language))
    assert set(ASKED["en"]) == set(ASKED["ko"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_wanted_page_names_the_word_where_it_counts(language: str) -> None:
    """In a heading, or in what the site is told that readers ask for; what stands in the text alone counts little."""
    pages = documentation(language)
    for word, page in WANTED[language].items():
        told = [title for _, title in headings(pages[f"{page}.md"])] + [ASKED[language].get(f"{page}.md", "")]
        assert any(each.startswith(word) for each in parts(" ".join(told))), (word, page)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[browser]'")
    if installed() is None:
        pytest.skip(MISSING)
    with playwright.sync_playwright() as driver:
        program = driver.chromium.launch(executable_path=installed(), args=list(OPTIONS))
        yield program
        program.close()


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_among_the_first_results_of_the_site(site: Path, browser: Any, language: str) -> None:
    """Opened from disk: without a server, and without a network."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    root = site if language == "en" else site / language
    page.goto((root / "index.html").as_uri())
    for word, wanted in WANTED[language].items():
        assert f"{(root / wanted).as_uri()}.html" in found(page, word), word
    page.close()


def found(page: Any, word: str) -> list[str]:
    """The addresses of the first results, once the list is that of the word."""
    box, meta = page.locator("input.md-search__input"), page.locator(".md-search-result__meta")
    page.keyboard.press("f")  # opens the search
    page.wait_for_function("document.activeElement.classList.contains('md-search__input')")
    box.fill("")
    box.press("Shift")
    page.wait_for_function("!document.querySelector('.md-search-result__item')")
    page.keyboard.insert_text(word)
    box.press("Shift")
    page.wait_for_function("document.querySelector('.md-search-result__item')")
    assert meta.inner_text()
    links = page.locator(".md-search-result__item > a:first-child").evaluate_all(
        "links => links.map(link => link.href)"
    )
    page.keyboard.press("Escape")
    return [link.partition("?")[0].partition("#")[0] for link in links[:SHOWN]]
