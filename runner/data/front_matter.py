"""The YAML block that a Markdown note may begin with."""

from __future__ import annotations

import re
from typing import Any

import yaml

from runner.data.files import GrowthError, check_growth

_BLOCK = re.compile(r"---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def split_front_matter(text: str) -> tuple[dict[str, Any], str, str]:
    """(values, the text behind the block, what is wrong with the block or "").

    Values are texts as they are written (`yes` and `2024-01-02` stay so) and lists of texts; anything
    deeper is left out.
    """
    block = _BLOCK.match(text)
    if block is None:
        return {}, text, ""
    body = text[block.end() :]
    try:
        check_growth(block[1] or "")
        values = yaml.load(block[1] or "", Loader=yaml.BaseLoader)  # noqa: S506 - makes nothing but texts
    except GrowthError as problem:
        return {}, body, f"front matter: {problem}; ignored"
    except RecursionError:
        return {}, body, "front matter is nested too deeply; ignored"
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark is not None else ""
        return {}, body, f"front matter is not YAML{where}: {getattr(problem, 'problem', problem)}; ignored"
    if not values:
        return {}, body, ""
    if not isinstance(values, dict):
        return {}, body, "front matter is not a mapping; ignored"
    return {str(name): value for name, value in values.items() if _is_flat(value)}, body, ""


def _is_flat(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))
