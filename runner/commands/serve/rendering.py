"""Templates, and the words in them: what the page of a server and a site of files have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from runner.commands.labels import PICKS
from runner.commands.serve.sides import FILTERS
from runner.words.wording import Wording, wording

if TYPE_CHECKING:
    from jinja2 import Environment

METRICS = 4  # in the list of runs
STATUSES = ("pending", "running", "completed", "partial", "failed", "cancelled")
RATES = ((0, 1, "none"), (0.25, 2, "hardly"), (0.5, 3, "part"), (0.75, 4, "mostly"), (1, 5, "fully"))  # value, key
FIRST = ("right", "recall_at_k", "ndcg_at_k", "mrr", "mean_faithfulness", "mean_answer_relevancy", "overall")


@cache
def asset(folder: str, name: str) -> str:
    """The text of a file of this package."""
    return files("runner.commands.serve").joinpath(folder, name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Every text that is put into a template is made visible and escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    from runner.report.page import clean

    def cleaned(value: Any) -> Any:
        return value if not isinstance(value, str) or hasattr(value, "__html__") else clean(value)

    return Environment(
        autoescape=True,
        loader=FunctionLoader(lambda name: asset("templates", name)),
        undefined=StrictUndefined,
        finalize=cleaned,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def named(say: Wording) -> dict[str, Any]:
    """Names of what there are several of, for templates."""
    return {
        "status_names": {each: say(f"status.{each}") for each in STATUSES},
        "filter_names": {each: say(f"side.{each}") for each in FILTERS},
        "pick_names": {each: say(f"label.pick.{each}") for each in PICKS},
        "rates": [(value, key, say(f"label.{name}")) for value, key, name in RATES],
        "metric_name": lambda name: say.name("metric", name),
    }


def metric_names(runs: Sequence[Mapping[str, float | None]]) -> list[str]:
    """The first that answer whether runs are good, of those that one has."""
    has = {name for metrics in runs for name in metrics}
    return [name for name in FIRST if name in has][:METRICS]


def stages(language: str) -> Mapping[str, str]:
    """Words for the stage at which a question was lost."""
    texts = wording(language, "report").texts
    return {key.removeprefix("lost_at."): text for key, text in texts.items() if key.startswith("lost_at.")}
