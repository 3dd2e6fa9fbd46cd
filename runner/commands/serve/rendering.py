"""Templates, and the words in them: what the page of a server and a site of files have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from runner.commands.labels import PICKS
from runner.commands.serve.sides import FILTERS
from runner.metrics.metric import Catalogue
from runner.report import metric
from runner.words.wording import LANGUAGES, Wording, wording

if TYPE_CHECKING:
    from jinja2 import Environment

METRICS = 4  # columns in the list of runs
STATUSES = ("pending", "running", "completed", "partial", "failed", "cancelled")
RATES = ((0, 1, "none"), (0.25, 2, "hardly"), (0.5, 3, "part"), (0.75, 4, "mostly"), (1, 5, "fully"))  # value, key


@cache
def asset(folder: str, name: str) -> str:
    """The text of a file of this package."""
    return files("runner.commands.serve").joinpath(folder, name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Every text that is put into a template is made visible and escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    from runner.report.compiled import compiled_templates
    from runner.report.page import clean

    def clean_value(value: Any) -> Any:
        return value if not isinstance(value, str) or hasattr(value, "__html__") else clean(value)

    return Environment(
        autoescape=True,
        loader=FunctionLoader(lambda name: asset("templates", name)),
        undefined=StrictUndefined,
        finalize=clean_value,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=compiled_templates(),
    )


def display_names(say: Wording) -> dict[str, Any]:
    """The names of things of which there are several, for templates."""
    return {
        "status_names": {each: say(f"status.{each}") for each in STATUSES},
        "filter_names": {each: say(f"side.{each}") for each in FILTERS},
        "pick_names": {each: say(f"label.pick.{each}") for each in PICKS},
        "rates": [(value, key, say(f"label.{name}")) for value, key, name in RATES],
    }


def metric_columns(
    runs: Iterable[tuple[Mapping[str, float | None], Catalogue]], language: str
) -> list[tuple[str, str]]:
    """(name, label) of what says whether runs are good, of runs with their metrics and what they declared: the first
    headline of every evaluation, then their second ones, and so on."""
    places: dict[str, tuple[int, str]] = {}
    for metrics, catalogue in runs:
        for place, name in enumerate(catalogue.headlines(metrics)):
            if name not in places or place < places[name][0]:
                places[name] = (place, metric.label(name, None, LANGUAGES[language].about(catalogue)))
    first = sorted(places.items(), key=lambda item: item[1][0])[:METRICS]
    return [(name, label) for name, (_, label) in first]


def rubric_names(declared: Catalogue, language: str) -> Callable[[str], str]:
    """The display names of rubrics in runs that declared these metrics."""
    say = LANGUAGES[language].about(declared)
    return lambda rubric: metric.rubric(rubric, say)


def stages(language: str) -> Mapping[str, str]:
    """Words for the stage at which a question was lost."""
    texts = wording(language, "report").texts
    return {key.removeprefix("lost_at."): text for key, text in texts.items() if key.startswith("lost_at.")}
