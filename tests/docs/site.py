"""The built site: `python -m tests.docs.site` follows every link in site/, and says what is loaded from elsewhere."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.docs.pages import ROOT

SITE = ROOT / "site"
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
NOT_LOADED = {"canonical", "alternate", "next", "prev"}  # of <link>: where things are


class Page(HTMLParser):
    """What a page links to, what it loads, and where its headings are."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        target = values.get(LOADED.get(tag, ""), "")
        if target and values.get("rel") not in NOT_LOADED:
            self.loaded.append(target)


def problems(site: Path = SITE) -> list[str]:
    """`page: target` of links that lead nowhere, and of what is not in the site but loaded by it."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    found = [f"{site} has no pages"] if not pages else []
    for path, page in pages.items():
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                found += [f"{path}: loads {target}"] if target in page.loaded and parts.scheme != "data" else []
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            anchor = unquote(parts.fragment)
            if not file.is_file() or (anchor and file in pages and anchor not in pages[file].ids):
                found.append(f"{path}: {target}")
    return found


def main() -> int:
    found = problems()
    sys.stderr.write("".join(f"{line}\n" for line in found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
