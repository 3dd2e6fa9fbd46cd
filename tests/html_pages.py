"""Reading HTML the way a strict reader does: every element is closed in its turn, and texts are what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"br", "col", "input", "meta"})


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        """This element and all below it, in the order of the page."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, name: str, **attributes: str) -> list[Element]:
        """Elements below of that name; `class_="a"` asks for one of the classes."""
        return [each for each in self if each.name == name and each.has(**attributes)]

    def one(self, name: str, **attributes: str) -> Element:
        (found,) = self.all(name, **attributes)
        return found

    def has(self, **attributes: str) -> bool:
        return all(
            value in (self.attributes.get("class") or "").split()
            if key == "class_"
            else self.attributes.get(key.replace("_", "-")) == value
            for key, value in attributes.items()
        )

    def rows(self) -> list[list[str]]:
        """Texts of the cells of a table."""
        cells = [[each for each in row.children if isinstance(each, Element)] for row in self.all("tr")]
        return [[" ".join(cell.text.split()) for cell in row] for row in cells]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> has an attribute twice: {attrs}"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def parse(text: str) -> Element:
    builder = _Builder()
    builder.feed(text)
    builder.close()
    assert builder.open == [builder.root], f"not closed: {[each.name for each in builder.open[1:]]}"
    return builder.root
