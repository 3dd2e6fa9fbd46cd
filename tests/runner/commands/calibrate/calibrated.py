"""Ratings of people, the command, and what it has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runner.cli import main

MOON = {"id": "moon", "title": "Moon", "text": "The Moon circles the Earth in 27 days."}
LABELS: list[dict[str, Any]] = [
    {
        "id": "en-right",
        "question": "How long does the Moon need?",
        "answer": "The Moon circles the Earth in 27 days.",
        "contexts": [MOON],
        "ratings": {"faithfulness": [4, 4], "answer_relevancy": 4},
        "language": "en",
        "system": "s1",
        "history": [{"role": "user", "text": "Tell me of planets."}, {"role": "assistant", "text": "Gladly."}],
    },
    {
        "id": "en-wrong",
        "question": "How long does the Moon need?",
        "answer": "The Moon circles the Earth in 99 days.",
        "contexts": [MOON],
        "ratings": {"faithfulness": [1, 2]},
        "language": "en",
        "system": "s2",
    },
    {
        "id": "ko-right",
        "question": "달은 지구를 며칠에 한 바퀴 도나요?",
        "answer": "달은 지구를 27일에 한 바퀴 돕니다.",
        "contexts": ["달은 지구를 27일에 한 바퀴 돈다."],
        "ratings": {"faithfulness": [4, 3], "answer_relevancy": 4},
        "language": "ko",
        "system": "s1",
    },
    {
        "id": "ko-wrong",
        "question": "태양의 빛이 지구까지 몇 분 걸리나요?",
        "answer": "50분 걸립니다.",
        "contexts": ["태양은 별이다. 빛이 지구까지 8분 걸린다."],
        "ratings": {"faithfulness": 1},
        "language": "ko",
        "system": "s2",
    },
]


def calibrate(*words: str) -> int:
    return main(["calibrate", "라벨.jsonl", "scale=1,4", *words])


def result(folder: str = "out") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "calibration.json").read_text(encoding="utf-8"))
    return found


def items(folder: str = "out") -> dict[str, Any]:
    lines = Path(folder, "items.jsonl").read_text(encoding="utf-8").splitlines()
    return {item["id"]: item for item in map(json.loads, lines)}
