"""Notes and facts of the head of a page."""

from __future__ import annotations

from collections.abc import Iterable

from runner.report.html.markup import Html, found_in_data, tag


def told(found: Iterable[tuple[str, bool]]) -> Html:
    """(text, whether it is grave)"""
    lines = [tag("p", text, class_="grave" if grave else None) for text, grave in found]
    return tag("div", *lines, class_="notes") if lines else Html("")


def pairs(found: Iterable[tuple[str, str]], class_: str) -> Html:
    return tag("dl", *(tag("div", tag("dt", name), found_in_data(value, "dd")) for name, value in found), class_=class_)
