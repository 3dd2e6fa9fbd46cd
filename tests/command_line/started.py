"""A command in a process of its own, perhaps with a generator of the test's own."""

import sys
from pathlib import Path

import yaml

EXTRACTIVE = Path(__file__).resolve().parents[2] / "conf/generator/extractive.yaml"


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "runner", *words]


def generated_by(name: str, lines: str) -> list[str]:
    """Words that let ./NAME.py answer: what `generate(self, query, contexts)` does, with Answer imported."""
    body = "".join(f"        {line}\n" for line in lines.splitlines())
    Path(f"{name}.py").write_text(
        "from runner.records import Answer\nclass Generator:\n"
        "    def __init__(self, *, refuse_below: float | None = None):\n        self.refuse_below = refuse_below\n"
        f"    async def generate(self, query, contexts):\n{body}",
        encoding="utf-8",
    )
    written = yaml.safe_load(EXTRACTIVE.read_text("utf-8"))
    settings = [key for key, value in written.items() if key != "_target_" and value is not None]  # Hydra keeps null
    return [f"generator._target_={name}.Generator", *(f"~generator.{key}" for key in settings)]
