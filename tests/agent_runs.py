"""What the files of a run say of agents that look for answers, with numbers that were written by hand."""

from typing import Any

AGENT: dict[str, Any] = {
    "n": 10,
    "calls": {"1": 6, "3": 4},
    "tools": {"get_section": 3, "search_all": 15},
    "fallbacks": {
        "none": {"n": 6, "answerable": 6, "unanswerable": 0},
        "not_found": {"n": 4, "answerable": 1, "unanswerable": 3},
    },
    "stopped": {"calls_spent": 4, "sufficient": 6},
    "steps": [
        {
            "n": 10,
            "n_gold": 8,
            "recall": 0.5,
            "gain": 0.5,
            "input_tokens": 1234.5,
            "output_tokens": 20.0,
            "usd": 0.0015,
            "errors": 0,
        },
        {
            "n": 4,
            "n_gold": 3,
            "recall": 0.75,
            "gain": 0.25,
            "input_tokens": 0.0,
            "output_tokens": 0.0,
            "usd": None,
            "errors": 2,
        },
        {
            "n": 1,
            "n_gold": 0,
            "recall": None,
            "gain": None,
            "input_tokens": 0.0,
            "output_tokens": 0.0,
            "usd": 0.0,
            "errors": 0,
        },
    ],
}

TRAJECTORY: dict[str, Any] = {
    "calls": [
        {
            "tool": "search_all",
            "arguments": {"query": "EC2 비용"},
            "found": ["faq#0", "guide#1"],
            "ranked": ["guide#1", "faq#0"],
            "sufficient": False,
            "confidence": 0.4,
            "missing": ["절차", "조건"],
            "next_action": "search_again",
            "refined_query": "예약 인스턴스",
            "input_tokens": 1000,
            "output_tokens": 34,
            "cost_usd": 0.0012,
        },
        {
            "tool": "search_by_metadata",
            "arguments": {"query": "예약 인스턴스", "has_steps": True},
            "found": [],
            "ranked": ["guide#1", "faq#0"],
            "error": "no chunk has a tag 'has_steps'",
        },
    ],
    "stopped": "nothing_new",
    "fallback": "not_found",
    "message": "관련 문서를 찾지 못했습니다.",
    "confidence": 0.4,
    "facts": {"requests": 3, "error": "request limit"},
}
OUTPUT: dict[str, Any] = {
    "query": "EC2 비용은?",
    "answerable": True,
    "expected": ["guide"],
    "retrieved": [{"id": "guide", "chunk": "guide#1", "title": "", "score": 1.0, "relevance": 0.5}],
    "trajectory": TRAJECTORY,
}
