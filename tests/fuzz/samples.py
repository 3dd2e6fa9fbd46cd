"""A good one of every kind of file that somebody hands to the program."""

from __future__ import annotations

from typing import Any

# Words of a run that asks no model, on small data.
QUICK = ["retriever=keyword", "tokenizer=word", "judge.health=false", "tracking=none"]
DOCUMENTS = [
    {"id": "a", "title": "A", "text": "The Moon circles the Earth in 27 days.", "lang": "en"},
    {"id": "가", "title": "가", "text": "달은 지구를 27일에 한 바퀴 돈다.", "lang": "ko"},
]
QUERIES: list[dict[str, Any]] = [
    {
        "id": "q1", "query": "How long does the Moon need?", "answerable": True, "expected_notes": ["a"],
        "expected_chunks": ["a#0"],
        "expected_spans": [{"note": "a", "start": 4, "end": 20}, {"note": "a", "text": "27"}],
        "answers": ["27 days"], "language": "en", "difficulty": "easy", "tags": ["space"],
        "history": [{"role": "user", "text": "The Moon?"}, {"role": "assistant", "text": "Yes."}],
        "ranking": [{"id": "a", "score": 0.9}, {"id": "가", "score": 0.2}],
        "contexts": [{"id": "a", "text": "The Moon circles the Earth in 27 days.", "title": "A"}],
        "answer": "27 days [1].",
    },
    {
        "id": "q2", "query": "달은?", "answerable": True, "expected_notes": {"가": 2}, "ranking": ["가", "a"],
        "contexts": ["달은 27일에 돈다."], "answer": "27일",
    },
    {"id": "q3", "query": "Lunch?", "answerable": False, "ranking": [], "contexts": [], "answer": ""},
]  # fmt: skip
TOPICS = b"""<top>
<num> Number: 1
<title> moon days
<desc> Description: How long?
</top>
<topic number="2"><title>\xeb\x8b\xac</title></topic>
"""
QRELS = "1 0 a 1\n1 0 가 0\n2 0 가 2\n".encode()
RANKED = "1 Q0 a 1 2.5 x\n1 Q0 가 2 1.5 x\n2 Q0 가 1 0.5 x\n".encode()
SQUAD: dict[str, Any] = {
    "version": "2.0",
    "data": [
        {
            "title": "Moon",
            "paragraphs": [
                {
                    "context": "The Moon circles the Earth in 27 days.",
                    "qas": [
                        {"id": "1", "question": "How long?", "answers": [{"text": "27 days", "answer_start": 30}]},
                        {"id": "2", "question": "Why?", "is_impossible": True, "answers": []},
                    ],
                }
            ],
        }
    ],
}
NOTE = "---\ntitle: 달\naliases: [moon]\ntags: [space]\nlang: ko\n---\n# 달\n\n[[a]] 달은 27일에 돈다. #x\n".encode()
TRACE: dict[str, Any] = {
    "@type": "ReasoningTrace", "id": "t1", "task": {"objective": "Find it"},
    "metadata": {
        "task_domain": "code", "success": True, "created_at": "2026-01-02T03:04:05Z", "rating": 3, "language": "en",
    },
    "steps": [
        {"type": "thought", "content": "Look."}, {"type": "tool_call", "tool": {"name": "grep"}},
        {"type": "observation", "content": "Found."}, {"type": "error_recovery", "content": "Again."},
    ],
    "outcome": {"confidence": 0.9, "result_summary": "Done"},
}  # fmt: skip
CHAT: dict[str, Any] = {
    "id": "c1", "task_domain": "code", "success": True, "confidence": 0.5, "rating": 2,
    "messages": [
        {"role": "system", "content": "Help."}, {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "grep", "arguments": "{\"a\": 1}"}}]},
        {"role": "tool", "tool_call_id": "x", "content": "found"}, {"role": "assistant", "content": "Done."},
    ],
}  # fmt: skip
CONVERSATION: dict[str, Any] = {
    "id": "c", "language": "ko", "tenant": "acme", "tags": ["x"],
    "sessions": [
        {"date": "2025-11-03", "turns": [{"user": "예산은 1억이에요.", "assistant": "네."}]},
        {"turns": [{"speaker": "A", "text": "예산이 1.5억으로 늘었어요.", "id": "t2", "date": "2025-11-04T09:30"}]},
    ],
    "facts": [
        {"id": "old", "key": "예산", "value": "1억", "turn": 1},
        {"id": "new", "key": "예산", "value": "1.5억", "aliases": ["1억 5천만 원"], "turn": 2},
    ],
    "probes": [
        {
            "id": "p1", "question": "지금 예산이 얼마야?", "after_turn": 2, "expected": ["new"], "forbidden": ["old"],
            "answers": ["1.5억"], "evidence": ["t2"], "canaries": ["secret"], "category": "update",
        }
    ],
}  # fmt: skip
YAML = """version: 1
conversations:
  - id: c
    language: ko
    turns:
      - {user: 예산은 1억이에요., assistant: 네.}
      - {user: "예산이 1.5억으로 늘었어요.", assistant: 알겠습니다.}
    facts:
      - {id: new, key: 예산, value: 1.5억, turn: 2}
    probes:
      - {id: p1, question: 얼마야?, after_turn: 2, expected: [new], answers: [1.5억]}
""".encode()
RATED: dict[str, Any] = {
    "id": "1", "question": "How long?", "answer": "27 days.", "contexts": ["In 27 days."], "language": "en",
    "system": "s", "group": "g", "ratings": {"faithfulness": [1, 0.5], "answer_relevancy": 1},
}  # fmt: skip

RULES = b"rules:\n  - {metric: recall_at_k, margin: 0.05, relative: false}\nmargin: 0.02\nmust_not_break: [q1]\n"
LINKS: list[dict[str, Any]] = [
    {
        "id": "l1", "source_note": "a.md", "anchor": "The Moon, see", "expected_links": [["달.md", "moon"]],
        "anchor_range": {"start": 5, "end": 18}, "context": "The Moon, see", "accepted": ["moon"], "rejected": ["b"],
        "language": "en", "tags": ["x"], "team": "t",
    },
    {"id": "l2", "source_note": "달", "anchor": "27일", "expected_links": ["a"]},
]  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"action": "accept", "source_note": "a", "target": "달", "time": "2026-03-01T09:00:00Z", "anchor": "The Moon"},
    {"action": "reject", "source_note": "달", "target": "a", "time": "2026-03-01", "language": "ko", "tags": ["y"]},
]
LETTA: dict[str, Any] = {
    "input": "What does Bob have?", "ground_truth": "a cat",
    "agent_args": {"extra": {
        "facts": ["Ann is a cook.", "Bob has a dog."], "contradicting_fact": "Bob has a cat.",
        "supporting_fact_indices": [1],
    }},
}  # fmt: skip
LOCOMO: list[Any] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "session_1_date_time": "1:56 pm on 8 May, 2022",
            "session_1": [
                {"dia_id": "D1:1", "speaker": "Ann", "text": "Look!", "blip_caption": "a dog"},
                {"dia_id": "D1:2", "speaker": "Bob", "text": "It was in May."},
            ],
            "session_10": [{"dia_id": "D10:1", "speaker": "Ann", "text": "Bye."}],
        },
        "qa": [
            {"question": "When?", "answer": "May", "evidence": ["D1:2; D1:1"], "category": 2},
            {"question": "Who?", "adversarial_answer": "a dog", "evidence": [], "category": 5},
            {"question": "Year?", "answer": 2022, "category": 4},
        ],
    }
]
CORRECTIONS: list[Any] = [
    {
        "question_id": "locomo_0_qa0", "question": "When?", "correct_answer": "8 May (said)",
        "correct_evidence": ["D1:2"],
    },
]  # fmt: skip
MEMORYBANK: tuple[dict[str, Any], list[Any]] = (
    {
        "Emily": {"history": {"2023-04-28": [{"query": "I saw a fox.", "response": "Nice."}]}},
        "민수": {"history": {"2023-05-01": [{"query": "안녕하세요.", "response": None}]}},
    },
    [
        {"Emily": ["What did I see?", {"question": "Where?", "answers": ["a fox"], "answerable": False}]},
        {"민수": []},
    ],
)
ANSWERED: list[dict[str, Any]] = [
    {
        "id": "1", "task_id": "t", "model": "m", "context_ids": ["a", "가"], "response": "27 days.",
        "conversation": [{"role": "user", "content": "How long?"}],
        "annotations": {
            "faithfulness": {"p1": {"value": "4", "timestamp": 1.0}, "p2": {"value": 1}},
            "answer_relevancy": {"p1": {"value": "3"}},
        },
    },
]  # fmt: skip
ROW: dict[str, Any] = {
    "id": "q", "language": "ko", "labels": {"lost_at": "none"},
    "output": {"query": "환불 기한은?", "answer": "7일", "trajectory": {
        "calls": [
            {
                "tool": "search_all", "arguments": {"query": "환불"}, "found": ["a#0"], "ranked": ["a#0"],
                "sufficient": False, "missing": ["기한"],
            },
            {"tool": "get_section", "arguments": {"id": "a#0"}, "found": [], "ranked": [], "error": "busy"},
        ],
        "stopped": "sufficient", "confidence": 0.5,
    }},
}  # fmt: skip
