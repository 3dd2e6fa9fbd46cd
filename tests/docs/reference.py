"""The generated parts of docs/LANGUAGE/reference: `python -m tests.docs.reference` writes them anew.

Each stands in its page between `<!-- NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.docs import of_code, of_conf
from tests.docs.pages import FOLDERS

PARTS: dict[str, Callable[[str], str]] = {
    "commands": of_code.commands,
    "options": of_conf.option_table,
    "groups": of_conf.group_tables,
    "settings": of_code.settings,
    "python": of_code.python,
    "exceptions": of_code.exceptions,
    "http": of_code.http,
}


def rewritten(text: str, language: str) -> str:
    """A page with its generated parts as conf and code have them."""
    for name in re.findall(r"^<!-- (\w+) -->$", text, re.M):
        if name == "end":
            continue
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if name not in PARTS or not end:
            raise ValueError(f"<!-- {name} --> has no <!-- end -->, or is none of {', '.join(PARTS)} ({language})")
        text = f"{before}{start}\n{PARTS[name](language)}\n\n{end}{after}"
    return text


def main() -> None:
    for language, folder in FOLDERS.items():
        for path in sorted((folder / "reference").glob("*.md")):
            path.write_text(rewritten(path.read_text(encoding="utf-8"), language), encoding="utf-8")


if __name__ == "__main__":
    main()
