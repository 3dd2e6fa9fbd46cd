"""A program that asks a server many questions through the door, to be killed or limited by a test.

    python -m tests.runner.llm.asking URL FOLDER FIRST LAST SETTINGS

Prints the scores as JSON, or `stopped: ` and why.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from runner.errors import RunnerError
from tests.services.doors import models, question, score

TEXT = "천문대는 1907년에 세워졌고 1964년에 바닷가로 옮겨졌다. It was moved to the coast together with its archive. "


async def ask(url: str, folder: Path, numbers: range, settings: dict[str, Any]) -> dict[str, float]:
    door = models(url, folder, **settings)
    model = door.model("test:m", "judge")
    scores: dict[str, float] = {}
    waiting = iter(numbers)

    async def work() -> None:
        for number in waiting:
            scores[str(number)] = await model.ask_for_json(question(f"{number}. {TEXT}"), score)

    async with door.open():
        await asyncio.gather(*(work() for _ in range(door.max_concurrency)))
    return {number: scores[number] for number in sorted(scores, key=int)}


def main(url: str, folder: str, first: str, last: str, settings: str) -> None:
    try:
        print(json.dumps(asyncio.run(ask(url, Path(folder), range(int(first), int(last)), json.loads(settings)))))  # noqa: T201
    except RunnerError as error:
        print(f"stopped: {error}")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
