"""Charts of a finished run or sweep, as PNG files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.report import metric
from runner.report.folder import RunFolder, open_run, read_json
from runner.report.metric import Value
from runner.report.wording import LANGUAGES, Wording, wording_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[[], "Figure | None"]

CURVES = ("recall", "ndcg", "mrr")
BARS = ("recall_at_k", "ndcg_at_k", "mean_faithfulness")
MAX_BARS = 30
COLUMNS = 3
HANGUL = "가"


def draw_run(folder: Path, target: Path) -> list[Path]:
    """Metrics at the fixed cutoffs, bars by tag, histogram of live latencies: those for which there are numbers."""
    run = open_run(folder)
    say = _wording(wording_of(run.run))
    tags = (run.summary.get("slices") or {}).get("tag") or {}
    figures: dict[str, Draw] = {
        "metrics_at_cutoffs": lambda: _curves(run.summary.get("metrics") or {}, say),
        "metrics_by_tag": lambda: _bars(tags, run.summary.get("k"), say),
        "latency": lambda: _histogram(run, say),
    }
    return _save(figures, target)


def draw_sweep(folder: Path, target: Path) -> list[Path]:
    """The main metrics against what was swept, with their intervals."""
    sweep = read_json(folder / "summary.json", "sweep")
    cells = [cell for cell in sweep.get("cells") or () if cell.get("status") == "completed"]
    x = x_axis(sweep.get("params") or [], cells)
    if x is None:
        return []
    language = LANGUAGES.get(str(sweep.get("language")), LANGUAGES["en"])
    name = "".join(character if character.isalnum() else "_" for character in x)
    return _save({f"metrics_against_{name}": lambda: _against(x, cells, _wording(language))}, target)


# --- one figure each ------------------------------------------------------------------------------


def _curves(metrics: Mapping[str, Any], say: Wording) -> Figure | None:
    cutoffs = metric.cutoffs(metrics)
    names = [name for name in CURVES if metric.scored(metrics, [f"{name}_at_{cutoff}" for cutoff in cutoffs])]
    if not names:
        return None
    figure, (axes,) = _figure(1)
    for name in names:
        _line(
            axes,
            cutoffs,
            [metric.value_of(metrics, f"{name}_at_{cutoff}") for cutoff in cutoffs],
            say(f"metric.{name}"),
        )
    axes.set_xscale("log")
    axes.set_xticks(cutoffs, labels=[str(cutoff) for cutoff in cutoffs])
    axes.minorticks_off()
    axes.set_xlabel(say("cutoffs.cutoff"))
    _finish(axes)
    return figure


def _bars(tags: Mapping[str, Any], k: int | None, say: Wording) -> Figure | None:
    names = [name for name in BARS if any(metric.value_of(group, name).value is not None for group in tags.values())]
    if not names:
        return None
    largest = sorted(tags, key=lambda tag: (-metric.value_of(tags[tag], names[0]).n, tag))[:MAX_BARS][::-1]
    figure, panels = _figure(len(names), height=1.2 + 0.3 * len(largest), sharey=True)
    for axes, name in zip(panels, names, strict=True):
        values = [metric.value_of(tags[tag], name) for tag in largest]
        axes.barh(range(len(largest)), [value.value or 0.0 for value in values], color="#9ecae1")
        scored = [(y, value) for y, value in enumerate(values) if value.value is not None]
        low, high = _distances([value for _, value in scored])
        x, y = [value.value or 0.0 for _, value in scored], [y for y, _ in scored]
        axes.errorbar(x, y, xerr=[low, high], fmt="none", ecolor="#333333", capsize=2)
        axes.set_title(metric.label(name, k, say), fontsize=10)
        axes.set_xlim(0, 1)
    counts = [metric.value_of(tags[tag], names[0]).n for tag in largest]
    labels = [f"{_drawable(tag)} (n={n})" for tag, n in zip(largest, counts, strict=True)]
    panels[0].set_yticks(range(len(largest)), labels=labels)
    return figure


def _histogram(run: RunFolder, say: Wording) -> Figure | None:
    """Live retrievals; whole cases where there is none."""
    import numpy as np

    stages: dict[str, list[float]] = {"retrieval": [], "case": []}
    for row in run.rows():
        timing = (row.get("timings") or {}).get("retrieval") or {}
        if timing.get("live") and timing.get("ms") is not None:
            stages["retrieval"].append(timing["ms"])
        if row.get("latency_ms") is not None:
            stages["case"].append(row["latency_ms"])
    stage = "retrieval" if stages["retrieval"] else "case"
    if not stages[stage]:
        return None
    figure, (axes,) = _figure(1)
    axes.hist(stages[stage], bins=min(50, max(5, len(stages[stage]) // 5)), color="#9ecae1")
    for share, style in ((50, "-"), (95, "--")):
        value = float(np.percentile(stages[stage], share))
        axes.axvline(value, color="#333333", linestyle=style, label=f"p{share} {value:.1f} ms")
    axes.set_xlabel(f"{say('head.latency')}, {say.name('stage', stage)} (ms), n={len(stages[stage])}")
    axes.legend(frameon=False)
    return figure


def _against(x: str, cells: Sequence[Mapping[str, Any]], say: Wording) -> Figure | None:
    names = [name for name in metric.MAIN if any(metric.scored(cell.get("metrics") or {}, [name]) for cell in cells)]
    if not names:
        return None
    figure, panels = _figure(len(names), height=2.9)
    positions = list(dict.fromkeys(cell["params"].get(x) for cell in cells))
    numeric = all(isinstance(position, int | float) for position in positions)
    for axes, name in zip(panels, names, strict=True):
        for series, members in series_along(x, cells).items():
            values = [metric.value_of(cell.get("metrics") or {}, name) for cell in members]
            places = [cell["params"].get(x) for cell in members]
            spots = places if numeric else [positions.index(place) for place in places]
            _line(axes, spots, values, _drawable(series), style="-" if numeric else "")
        labels = [_drawable(str(position)) for position in positions]
        axes.set_xticks(positions if numeric else range(len(positions)), labels=labels)
        axes.set_xlabel(_drawable(x))
        axes.set_title(metric.label(name, None, say), fontsize=10)
        axes.set_ylim(-0.02, 1.02)
        axes.grid(alpha=0.3)
    if len(series_along(x, cells)) > 1:
        panels[-1].legend(frameon=False, fontsize=8)
    return figure


def x_axis(params: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> str | None:
    """k where it was swept, else the first swept number, else the first swept name."""

    def numeric(name: str) -> bool:
        return all(isinstance(cell["params"].get(name), int | float) for cell in cells)

    ordered = sorted(params, key=lambda name: (name != "k", not numeric(name)))
    return ordered[0] if ordered and cells else None


def series_along(x: str, cells: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Cells that differ in `x` only, by the rest of their params, along x."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        rest = ", ".join(f"{name}={value}" for name, value in cell["params"].items() if name != x)
        found.setdefault(rest, []).append(cell)
    return {rest: sorted(members, key=lambda cell: _place(cell["params"].get(x))) for rest, members in found.items()}


def _place(value: Any) -> tuple[bool, float, str]:
    return (False, float(value), "") if isinstance(value, int | float) else (True, 0.0, str(value))


# --- drawing --------------------------------------------------------------------------------------


def _figure(panels: int, height: float = 3.6, **options: Any) -> tuple[Figure, Sequence[Axes]]:
    """Panels side by side, three in a row; `height` of a row in inches."""
    from matplotlib.figure import Figure

    rows, columns = -(-panels // COLUMNS), min(panels, COLUMNS)
    size = (max(6.4, 3.4 * columns), height * rows)
    figure = Figure(figsize=size, dpi=110, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, axes[:panels]


def _line(axes: Axes, x: Sequence[Any], values: Sequence[Value], label: str, style: str = "-") -> None:
    known = [(place, value) for place, value in zip(x, values, strict=True) if value.value is not None]
    if known:
        low, high = _distances([value for _, value in known])
        places, heights = [place for place, _ in known], [value.value or 0.0 for _, value in known]
        axes.errorbar(places, heights, yerr=[low, high], fmt=f"o{style}", markersize=4, capsize=3, label=label)


def _distances(values: Iterable[Value]) -> tuple[list[float], list[float]]:
    """From each value down and up to the ends of its interval; 0 where it has none."""
    low, high = [], []
    for value in values:
        center = value.value or 0.0
        low.append(max(0.0, center - (center if value.low is None else value.low)))
        high.append(max(0.0, (center if value.high is None else value.high) - center))
    return low, high


def _finish(axes: Axes) -> None:
    axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


def _save(figures: Mapping[str, Draw], target: Path) -> list[Path]:
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
    """The default font, and behind it one that has Hangul, where one is installed."""
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


def _drawable(text: str) -> str:
    """The text as it can be drawn: escapes where no installed font has its characters; no formulas."""
    if any(ord(character) not in _glyphs() for character in text):
        text = text.encode("ascii", "backslashreplace").decode("ascii")
    return text.replace("$", r"\$")


def _wording(say: Wording) -> Wording:
    """The wording of the report, in English where Hangul cannot be drawn."""
    return LANGUAGES["en"] if say.language == "ko" and _hangul_font() is None else say
