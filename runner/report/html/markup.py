"""HTML out of text that nobody has vetted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from runner.system.terminal import visible

VOID = frozenset({"br", "col", "input", "meta"})
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*")

Attribute = str | int | float | bool | None


class Html(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


def clean(text: str) -> str:
    """Control, surrogate and invisible direction characters become U+FFFD; line ends are line feeds."""
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(character if character in "\n\t" else visible(character) for character in lines)


def escape(text: str) -> Html:
    """HTML that shows `text`, between tags and between the quotes of an attribute."""
    return text if isinstance(text, Html) else Html(clean(text).translate(_ENTITIES))


def tag(name: str, /, *children: str, **attributes: Attribute) -> Html:
    """`tag("td", "a < b", class_="number")`. Children are escaped; attributes that are None or False are left out,
    and `data_x` is written `data-x`."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{''.join(map(escape, children))}</{name}>")


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(_text(value))}"'


def _text(value: str | int | float) -> str:
    """Coordinates to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def joined(parts: Iterable[str]) -> Html:
    return Html("".join(map(escape, parts)))


def paragraph(text: str, class_: str | None = None) -> Html:
    """Nothing where there is no text."""
    return tag("p", text, class_=class_) if text else Html("")


def found_in_data(text: str, name: str = "span", class_: str | None = None) -> Html:
    """Text of the data, in its own direction."""
    return tag(name, text, class_=class_, dir="auto")


def language_tag(language: str | None) -> str | None:
    """What a case calls its language, where that is fit for the attribute `lang`."""
    return language if language and _LANGUAGE.fullmatch(language) else None


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, label: str, right: Sequence[int] = (), class_: str = ""
) -> Html:
    """Columns numbered in `right` hold numbers. The first cell of a row is its header. A table that is too wide
    scrolls alone."""
    columns = frozenset(right)
    head = joined(
        tag("th", text, scope="col", class_="number" if place in columns else None)
        for place, text in enumerate(headers)
    )
    body = joined(tag("tr", *(_cell(place, text, columns) for place, text in enumerate(row))) for row in rows)
    return scrolled(tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_=class_ or None), label)


def _cell(place: int, text: str, right: frozenset[int]) -> Html:
    if place == 0:
        return tag("th", text, scope="row")
    return tag("td", text, class_="number" if place in right else None)


def scrolled(content: Html, label: str) -> Html:
    """What is wider than the page can be moved with the keyboard too."""
    return tag("div", content, class_="scroll", tabindex="0", role="group", aria_label=label)
