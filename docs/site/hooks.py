"""Hooks of mkdocs.

Each language is searched by itself: without that the pages of both share one index, of which the plugin `offline`
keeps the part of the last language. A page is also found by what readers call its subject (asked.yaml), and a Korean
word by any part of it (lunr.ko.js). And a `|` in code in a table, which GitHub wants escaped, is shown without the
backslash.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import CombinedEvent, event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

DEFAULT = "en"
HERE = Path(__file__).parent
ASKED = "asked"  # a field of the index, which no result shows
BOOST = 1e4  # of a word in it; one in a title has 1e3, one in the text 1
KOREAN = Path("assets", "javascripts", "lunr", "min", "lunr.ko.min.js")  # of the theme
BASE = re.compile(r'(<script id="__config"[^>]*>.*?"base": ")([./]+)"', re.S)

indexes: dict[str, dict[str, Any]] = {}


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Code as it is typed: GitHub, which reads these pages, too, wants a `|` in the code of a table escaped."""
    return re.sub(r"<code>[^<]*</code>", lambda match: match[0].replace("\\|", "|"), html)


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """The folder that a page searches is that of its language."""
    language = page.file.src_uri.partition("/")[0]
    if language == DEFAULT:
        return output
    return BASE.sub(lambda match: f'{match[1]}{match[2].removesuffix("..").rstrip("/") or "."}"', output, count=1)


@event_priority(-50)
def collect(config: MkDocsConfig) -> None:
    """Called once a language, before the plugin of languages merges their indexes."""
    index = json.loads((Path(config.site_dir) / "search" / "search_index.json").read_text(encoding="utf-8"))
    folder = index["docs"][0]["location"].partition("/")[0]
    language = folder if (Path(config.docs_dir) / folder).is_dir() else DEFAULT
    place = "" if language == DEFAULT else f"{language}/"
    docs = [{**each, "location": each["location"].removeprefix(place)} for each in index["docs"]]
    settings = {**index["config"], "lang": [language]}
    settings["fields"] = {**settings["fields"], ASKED: {"boost": BOOST}}
    indexes[place] = {**index, "config": settings, "docs": _with_words(docs, language)}


def _with_words(docs: list[dict[str, Any]], language: str) -> list[dict[str, Any]]:
    asked = yaml.safe_load((HERE / "asked.yaml").read_text(encoding="utf-8"))[language]
    words = {page.removesuffix(".md") + ".html": text for page, text in asked.items()}
    return [{**each, ASKED: words[each["location"]]} if each["location"] in words else each for each in docs]


@event_priority(-200)
def write(config: MkDocsConfig) -> None:
    """After the plugins have written theirs."""
    for place, index in indexes.items():
        folder = Path(config.site_dir) / place / "search"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(index, ensure_ascii=False)
        (folder / "search_index.json").write_text(text, encoding="utf-8")
        (folder / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")
    shutil.copyfile(HERE / "lunr.ko.js", Path(config.site_dir) / KOREAN)


on_post_build = CombinedEvent(collect, write)
