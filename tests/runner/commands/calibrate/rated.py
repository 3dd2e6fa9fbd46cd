"""Rated answers, made by hand."""

from __future__ import annotations

from typing import Any

from runner.data.ratings import RatedAnswer


def rated(id: str, *faithfulness: float, **changes: Any) -> RatedAnswer:
    """An answer with what people said of its faithfulness (0..1), alone in its group."""
    given = {
        "question": f"question {id}",
        "answer": f"answer {id}",
        "contexts": (),
        "ratings": {"faithfulness": faithfulness},
        "group": id,
    }
    return RatedAnswer(id=id, **{**given, **changes})
