"""Blocks as HTML: one page that needs no server and asks for nothing.

All that is known of a case is a list of (title, body) there, which a template and the script of the page show alike. A
body is a text or a list of (mark, lead, head, text or None), where a mark of 1 makes the head stand out and the lead (a
rank, a number) stands before it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from runner.report import drawings
from runner.report.blocks import Block, Cases, Cell, Fact, Item, Section, Size, Table, in_medium
from runner.system.terminal import visible
from runner.system.writing import replacing
from runner.words.wording import Wording

if TYPE_CHECKING:
    from jinja2 import Environment

FILE = "report.html"
# Text that gets past the escaping is not allowed scripts, styles, images or requests of any kind.
POLICY = "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'"
_IN_SCRIPT = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}  # each occurs in strings only
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*")
# Characters of a text of a case, of the name of a document, items of one list.
LIMITS: Mapping[Size, int] = {
    "question": 3000, "answer": 3000, "whole": 3000, "context": 1500, "reason": 1000, "detail": 1000, "call": 12_000,
}  # fmt: skip
NAME, ITEMS = 200, 30
TEMPLATES = ("blocks.html.j2", "page.html.j2")  # of every page


def write_page(path: Path, say: Wording, blocks: Iterable[Block]) -> None:
    """`blocks`: the head of the page, then its sections. Atomic: a reader sees the old file or the new one. The same
    blocks give the same bytes."""
    head, *sections = blocks
    assert isinstance(head, Section)  # noqa: S101  what it is called with
    head = replace(head, blocks=tuple(in_medium(head.blocks, "html")))
    with replacing(path) as scratch, scratch.open("wb") as file:
        for part in _parts(say, head, tuple(in_medium(sections, "html"))):
            file.write(part)


def html(blocks: Iterable[Block], level: int = 2) -> str:
    """The blocks that a page shows, with sections at heading `level` and below."""
    module: Any = environment().get_template("blocks.html.j2").module
    return str(module.shown(tuple(in_medium(blocks, "html")), level))


def _parts(say: Wording, head: Section, sections: Sequence[Block]) -> Iterator[bytes]:
    """The data of the script are encoded in parts."""
    style, script = _asset("page.css"), _asset("page.js")
    page = environment().get_template("page.html.j2")
    policy = POLICY.format(style=_digest(style), script=_digest(script))
    text = page.render(say=say, head=head, sections=sections, style=style, policy=policy)
    yield f"{text}\n".encode()
    for cases in (block for part in sections if isinstance(part, Section) for block in part.blocks):
        if not isinstance(cases, Cases):
            continue
        yield b'<script type="application/json" id="data">'
        yield from _json(cases.data)
        yield b"</script>\n"
    yield f"<script>{script}</script>\n</body>\n</html>\n".encode()


@cache
def environment() -> Environment:
    """Every text that is put into a template is made visible and escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    from runner.report.compiled import compiled_templates

    jinja = Environment(
        autoescape=True,
        loader=FunctionLoader(_asset),
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        bytecode_cache=compiled_templates(),
    )
    jinja.globals.update(
        kind_of=lambda block: type(block).__name__,
        as_cell=lambda cell: cell if isinstance(cell, Cell) else Cell(cell),
        grouped=_groups,
        details=details,
        quoted=partial(quote, safe="!'()*~"),  # as encodeURIComponent of the script
        wide=drawings.WIDE,
        narrow=drawings.NARROW,
        **{name: getattr(drawings, name) for name in ("span_of", "ends_of", "plot_of", "corners", "px")},
    )
    return jinja


def _clean(value: Any) -> Any:
    return value if not isinstance(value, str) or hasattr(value, "__html__") else clean(value)


def clean(text: str, limit: int | None = None) -> str:
    """At most `limit` characters, as a page can show them: control, surrogate and invisible direction characters become
    U+FFFD; line ends are line feeds."""
    if limit is not None and len(text) > limit:
        text = f"{text[: limit - 1].rstrip()}…"
    if text.isprintable() or text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(character if character in "\n\t" else visible(character) for character in lines)


def language_tag(language: str | None) -> str | None:
    """The language of a case, if it is valid for the attribute `lang`."""
    return language if language and _LANGUAGE.fullmatch(language) else None


# --- all that is known of a case ------------------------------------------------------------------


def details(facts: Iterable[Fact]) -> list[tuple[str, Any]]:
    """Texts stand before lists, which are long."""
    ordered = sorted((fact for fact in facts if "html" in fact.media), key=lambda fact: bool(fact.items))
    return [(fact.long_title or fact.title, _body(fact)) for fact in ordered]


def _body(fact: Fact) -> Any:
    if fact.items:
        return [_item(item, fact) for item in fact.items[:ITEMS]]
    return clean(": ".join(filter(None, [fact.lead, clean(fact.text, LIMITS[fact.size])])))


def _item(item: Item, fact: Fact) -> tuple[int, str, str, str | None]:
    relevance = "" if item.value is None else f" {item.value:.2f}"
    tick = " ✓" if item.mark == "expected" else ""
    named = fact.most or fact.size == "context"
    head = clean(f"{item.name} {item.title}".strip(), NAME if named else LIMITS[fact.size])
    text = clean(item.text, LIMITS[fact.size]) if item.text else None
    return int(bool(item.mark)), f"{item.lead}{relevance}{tick}", f"{head} {clean(item.note)}".strip(), text


# --- templates ------------------------------------------------------------------------------------


def _groups(table: Table) -> Iterator[tuple[str, Sequence[Sequence[str | Cell]]]]:
    """(title, rows) of each group; one without a title where there are none."""
    if not table.groups:
        yield "", table.rows
        return
    start = 0
    for title, count in table.groups:
        yield title, table.rows[start : start + count]
        start += count


def _json(data: Mapping[str, Any]) -> Iterator[bytes]:
    """JSON that no text in it can end the script element of."""
    for place, (name, value) in enumerate(data.items()):
        yield (b"," if place else b"{") + orjson.dumps(name) + b":"
        encoded = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
        for character, escaped in _IN_SCRIPT.items():
            encoded = encoded.replace(character, escaped)
        yield encoded
    yield b"}"


@cache
def _asset(name: str) -> str:
    return files("runner.report").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
