"""From checked cells to finished folders: plan, engine, budget waves, outcome."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import runner


class _Callable(ModuleType):
    """`runner.run(…)` stays a function of runner.commands._api after this package of the same name is imported."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return runner.__getattr__("run")(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
