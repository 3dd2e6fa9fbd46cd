"""The page of a run, written and read back."""

import json
from pathlib import Path
from typing import Any

from runner import report
from tests.html_pages import Element, parse


def written(folder: Path) -> str:
    report.write(folder)
    return (folder / "report.html").read_text(encoding="utf-8")


def page(folder: Path) -> Element:
    return parse(written(folder).removeprefix("<!doctype html>"))


def data_of(root: Element) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(root.one("script", id="data").text)
    return found


def section(root: Element, anchor: str) -> Element:
    return root.one("section", id=anchor)
