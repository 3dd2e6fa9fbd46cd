"""The parts of figures: panels, lines with intervals, fonts that have Hangul where one is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.report.metric import Value
from runner.words.wording import LANGUAGES, Wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[[], "Figure | None"]

COLUMNS = 3
HANGUL = "가"


def figure_of(panels: int, height: float = 3.6, **options: Any) -> tuple[Figure, Sequence[Axes]]:
    """Panels side by side, three in a row; `height` of a row in inches."""
    from matplotlib.figure import Figure

    rows, columns = -(-panels // COLUMNS), min(panels, COLUMNS)
    size = (max(6.4, 3.4 * columns), height * rows)
    figure = Figure(figsize=size, dpi=110, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, axes[:panels]


def line(axes: Axes, x: Sequence[Any], values: Sequence[Value], label: str, style: str = "-") -> None:
    """A line with error bars through the points that have a value; nothing where none has."""
    points = [(place, value) for place, value in zip(x, values, strict=True) if value.value is not None]
    if points:
        low, high = distances([value for _, value in points])
        places, heights = [place for place, _ in points], [value.value or 0.0 for _, value in points]
        axes.errorbar(places, heights, yerr=[low, high], fmt=f"o{style}", markersize=4, capsize=3, label=label)


def distances(values: Iterable[Value]) -> tuple[list[float], list[float]]:
    """From each value down and up to the ends of its interval; 0 where it has none."""
    low, high = [], []
    for value in values:
        center = value.value or 0.0
        low.append(max(0.0, center - (center if value.low is None else value.low)))
        high.append(max(0.0, (center if value.high is None else value.high) - center))
    return low, high


def finish(axes: Axes) -> None:
    """Axis 0 to 1.02, grid and legend."""
    axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


def save(figures: Mapping[str, Draw], target: Path) -> list[Path]:
    """Write each figure that there is to NAME.png, and return the paths."""
    from matplotlib import rc_context

    target.mkdir(parents=True, exist_ok=True)
    paths = []
    with rc_context({"font.family": _families()}):  # a text takes its font when it is made
        for name, draw in figures.items():
            figure = draw()
            if figure is not None:
                paths.append(target / f"{name}.png")
                figure.savefig(paths[-1], metadata={"Software": None})
    return paths


# --- fonts ----------------------------------------------------------------------------------------


@cache
def _families() -> list[str]:
    """The default font, then an installed one that has Hangul, if any."""
    return ["DejaVu Sans", *([name] if (name := _hangul_font()) else [])]


@cache
def _hangul_font() -> str | None:
    from matplotlib.font_manager import fontManager, get_font

    usual = ("CJK", "Nanum", "Malgun", "Gothic", "Batang", "Gulim", "Dotum", "Han Sans", "Pretendard")
    fonts = [font for font in fontManager.ttflist if any(part in font.name for part in usual)]
    for font in sorted(
        fonts, key=lambda font: ("Mono" in font.name, "Sans" not in font.name, "KR" not in font.name, font.name)
    ):
        if get_font(font.fname).get_char_index(ord(HANGUL)):
            return font.name
    return None


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = [get_font(findfont(FontProperties(family=name))) for name in _families()]
    return frozenset(code for font in fonts for code in font.get_charmap())


def drawable(text: str) -> str:
    """The text as it can be drawn: escapes where no installed font has its characters; no formulas."""
    if any(ord(character) not in _glyphs() for character in text):
        text = text.encode("ascii", "backslashreplace").decode("ascii")
        text = "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)
    return text.replace("$", r"\$")


def drawable_wording(say: Wording) -> Wording:
    """The wording of the report, in English where Hangul cannot be drawn."""
    if say.language != "ko" or _hangul_font() is not None:
        return say
    return LANGUAGES["en"].about(say.catalogue)
