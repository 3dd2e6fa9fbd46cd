"""A corpus of six documents and eight questions, small enough to know every number by heart."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CORPUS = [
    {"id": "moon", "title": "Moon", "text": "The Moon circles the Earth in 27 days."},
    {"id": "mars", "title": "Mars", "text": "Mars is called the red planet. It has two moons."},
    {"id": "sun", "title": "Sun", "text": "The Sun is a star. Light needs eight minutes to the Earth."},
    {"id": "달", "title": "달", "text": "달은 지구를 27일에 한 바퀴 돈다."},
    {"id": "화성", "title": "화성", "text": "화성은 붉은 행성이라 불린다. 위성이 두 개 있다."},
    {"id": "해", "title": "태양", "text": "태양은 별이다. 빛이 지구까지 8분 걸린다."},
]
QUERIES: list[dict[str, Any]] = [
    {
        "id": "q1",
        "query": "How long does the Moon need to circle the Earth?",
        "expected_notes": ["moon"],
        "answers": ["27 days"],
    },
    {"id": "q2", "query": "Which planet is called the red planet?", "expected_notes": ["mars"], "answers": ["Mars"]},
    {
        "id": "q3",
        "query": "How many minutes does light need from the Sun?",
        "expected_notes": ["sun"],
        "answers": ["eight minutes"],
    },
    {"id": "q4", "query": "Who won the cooking contest?", "answerable": False, "expected_notes": []},
    {"id": "질5", "query": "달은 지구를 며칠에 한 바퀴 도나요?", "expected_notes": ["달"], "answers": ["27일"]},
    {"id": "질6", "query": "붉은 행성이라 불리는 행성은?", "expected_notes": ["화성"], "answers": ["화성"]},
    {"id": "질7", "query": "태양의 빛이 지구까지 몇 분 걸리나요?", "expected_notes": ["해"], "answers": ["8분"]},
    {"id": "질8", "query": "점심 메뉴가 뭐였지?", "answerable": False, "expected_notes": []},
]


def write_texts(folder: Path, texts: Mapping[str, str]) -> Path:
    """Files by their paths in `folder`."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def small_data(folder: Path) -> list[str]:
    """Writes the two files; returns the overrides that choose them."""
    corpus = write_jsonl(folder / "corpus.jsonl", CORPUS)
    labels = {"difficulty": "easy", "tags": ["space"]}
    queries = [
        {"answerable": True, **labels, "language": "ko" if "질" in query["id"] else "en", **query} for query in QUERIES
    ]
    return [
        "dataset=jsonl",
        f"dataset.corpus={corpus}",
        f"dataset.queries={write_jsonl(folder / 'queries.jsonl', queries)}",
    ]
