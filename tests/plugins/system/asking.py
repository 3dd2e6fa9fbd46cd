"""Systems as a run has them: behind a door of their own, with the settings of conf/system."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from runner.llm.models import Models
from runner.records import Query, Turn

QUERY = Query("q1", "How long does the Moon need to circle the Earth?", True, {"moon": 1})
ASKED_BEFORE = (Turn("user", "Hello."), Turn("assistant", "Hello!"))


def settings(name: str, **changed: Any) -> dict[str, Any]:
    """Of a choice of conf/system, without those of the run."""
    given = yaml.safe_load(Path(f"conf/system/{name}.yaml").read_text("utf-8"))
    kept = {key: value for key, value in given.items() if key != "_target_" and "${" not in str(value)}
    return {**kept, "k": 5, "language": "en", "max_concurrency": 4, **changed}


def door(folder: Path, **changed: Any) -> Models:
    given = {"cache": "use", "budget": {}, "cache_dir": str(folder), "out": None, "timeout_ms": 5000}
    return Models(**{"providers": {}, "max_concurrency": 4, **given, **changed})


@asynccontextmanager
async def opened(system: Any, models: Models) -> AsyncIterator[None]:
    async with models.open(), system.open():
        yield
