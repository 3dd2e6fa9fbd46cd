"""Declarative experiments for retrieval-augmented generation and conversational memory.

From Python: `runner.run`, `compare`, `score` and `evaluate`, which are read when they are first used
(runner/commands/_api.py).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.commands._api import Cases, Comparison, Report, Run, Sweep, compare, evaluate, run, score

DISTRIBUTION = "runner-rag-experiments"  # what is installed; `runner` on the public index is another one
__version__ = "0.2.0"
__all__ = ["Cases", "Comparison", "Report", "Run", "Sweep", "__version__", "compare", "evaluate", "run", "score"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'runner' has no attribute '{name}'")
    from runner.commands import _api as api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
