"""The files of a record."""

from pathlib import Path

FILES = {"frozen.yaml", "snapshot.json", "summary.md", "environment.json", "README.md"}


def files(folder: Path | str) -> dict[str, str]:
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}
