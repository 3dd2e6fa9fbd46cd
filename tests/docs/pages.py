"""The pages that people read: both READMEs, and the documentation in docs/en and docs/ko."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READMES = {"en": ROOT / "README.md", "ko": ROOT / "README.ko.md"}
FOLDERS = {language: ROOT / "docs" / language for language in READMES}
LANGUAGES = list(READMES)
INCLUDED = re.compile(r'^--8<-- "(.+)"$', re.M)
FENCED = re.compile(r"^( *)(```+).*?^\1\2 *$", re.M | re.S)


def text_of(page: Path) -> str:
    """What a page says, with the files of the repository that it includes."""
    return INCLUDED.sub(lambda match: text_of(ROOT / match[1]), page.read_text(encoding="utf-8"))


def documentation(language: str) -> dict[str, str]:
    """The pages of docs/LANGUAGE by their place in it, in order."""
    folder = FOLDERS[language]
    return {path.relative_to(folder).as_posix(): text_of(path) for path in sorted(folder.glob("**/*.md"))}


def all_text(language: str) -> str:
    """The README and every page of the documentation, without the files that these include."""
    pages = (READMES[language], *sorted(FOLDERS[language].glob("**/*.md")))
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def headings(text: str) -> list[tuple[int, str]]:
    """(level, title) of every heading, without what stands in code."""
    return [(len(marks), title) for marks, title in re.findall(r"^(#+) (.+?)(?: \{.*\})?$", FENCED.sub("", text), re.M)]


def anchors(text: str) -> set[str]:
    """The targets of `#…`, as GitHub and the site make them of headings."""
    seen: dict[str, int] = {}
    found = set()
    for _, title in headings(text):
        bare = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w\- ]", "", bare.lower()).strip().replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return found


def links(text: str) -> list[str]:
    """The targets of all links and pictures."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", FENCED.sub("", text)))
