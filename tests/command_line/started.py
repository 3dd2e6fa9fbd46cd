"""A command in a process of its own, and what a generator of a test's own has to leave out of conf."""

import sys
from pathlib import Path


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "runner", *words]


def generator_settings() -> list[str]:
    import yaml

    conf = yaml.safe_load((Path(__file__).resolve().parents[2] / "conf/generator/extractive.yaml").read_text("utf-8"))
    return [name for name in conf if name != "_target_"]
