"""A hook of mkdocs: each language is searched by itself. Without it the pages of both share one index, of which the
plugin `offline` keeps the part of the last language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import CombinedEvent, event_priority
from mkdocs.structure.pages import Page

DEFAULT = "en"
BASE = re.compile(r'(<script id="__config"[^>]*>.*?"base": ")([./]+)"', re.S)

indexes: dict[str, dict[str, Any]] = {}


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
    indexes[place] = {**index, "config": {**index["config"], "lang": [language]}, "docs": docs}


@event_priority(-200)
def write(config: MkDocsConfig) -> None:
    """After the plugins have written theirs."""
    for place, index in indexes.items():
        folder = Path(config.site_dir) / place / "search"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(index, ensure_ascii=False)
        (folder / "search_index.json").write_text(text, encoding="utf-8")
        (folder / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")


on_post_build = CombinedEvent(collect, write)
