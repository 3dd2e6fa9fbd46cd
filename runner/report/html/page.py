"""The page around the sections: one file that asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from runner.report.html.markup import Html, joined, tag
from runner.system.writing import replacing
from runner.words.wording import Wording

# Whatever gets past the escaping finds scripts, styles, images and requests of every kind forbidden.
POLICY = "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'"
FILE = "report.html"
VIEWPORT = "width=device-width, initial-scale=1"
_IN_SCRIPT = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}  # each stands in strings only


@dataclass(frozen=True, slots=True)
class Section:
    """`anchor` is its id on the page, and `title` stands in the contents too."""

    anchor: str
    title: str
    body: Html


@dataclass(frozen=True, slots=True)
class Page:
    """`data` is what the script reads, in parts that are encoded one at a time."""

    say: Wording
    title: str
    head: Html
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Atomic: a reader sees the old file or the new one. The same page gives the same bytes."""
        with replacing(path) as scratch, scratch.open("wb") as file:
            for part in self._parts():
                file.write(part)

    def _parts(self) -> Iterable[bytes]:
        style, script = _asset("page.css"), _asset("page.js")
        policy = POLICY.format(style=_digest(style), script=_digest(script))
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content=VIEWPORT),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", self.title),
            tag("style", Html(style)),
        )
        yield f'<!doctype html>\n<html lang="{self.say.language}">\n{head}\n<body>\n{self._body()}\n'.encode()
        if self.data:
            yield b'<script type="application/json" id="data">'
            yield from _json(self.data)
            yield b"</script>\n"
        yield f"{tag('script', Html(script))}\n</body>\n</html>\n".encode()

    def _body(self) -> Html:
        links = joined(tag("li", tag("a", each.title, href=f"#{each.anchor}")) for each in self.sections)
        contents = tag("nav", tag("ul", links), aria_label=self.say("html.contents"))
        sections = joined(tag("section", tag("h2", each.title), each.body, id=each.anchor) for each in self.sections)
        main = tag("main", self.head, sections)
        return (
            tag("div", contents, main, class_="page")
            if len(self.sections) > 1
            else tag("div", main, class_="page alone")
        )


def _json(data: Mapping[str, Any]) -> Iterable[bytes]:
    """JSON that no text in it can end the script element of."""
    for place, (name, value) in enumerate(data.items()):
        yield (b"," if place else b"{") + orjson.dumps(name) + b":"
        encoded = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
        for character, escaped in _IN_SCRIPT.items():
            encoded = encoded.replace(character, escaped)
        yield encoded
    yield b"}"


def _asset(name: str) -> str:
    return files("runner.report.html").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
