"""What a run that asked models tells of them, written by hand."""

from __future__ import annotations

from typing import Any


def used(requests: int, input_tokens: int, output_tokens: int, usd: float | None, retries: int = 0) -> dict[str, Any]:
    """One direction of summary.timing.usage."""
    tokens = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cached_input_tokens": 0}
    return {"requests": requests, **tokens, "usd": usd, "retries": retries}


def cost(requests: int, input_tokens: int, output_tokens: int, usd: float | None) -> dict[str, Any]:
    """One role of summary.cost."""
    return {"requests": requests, "input_tokens": input_tokens, "output_tokens": output_tokens, "usd": usd}


def rate(k: int, n: int) -> dict[str, Any]:
    return {"n": n, "k": k, "rate": k / n}


MEMORY_HEALTH = {
    "memory": {
        "n": 40,
        "n_failed": 0,
        "false_accept": rate(9, 20),
        "false_reject": rate(0, 12),
        "injection": rate(6, 8),
        "examples": {"n": 12, "mean_absolute_error": 1.25},
        "failed_controls": ["ko-cost-hardly"],
    }
}
GENERATOR, JUDGE = "openai:gpt-4o", "openai:gpt-4o-mini"
MODELS_RUN: dict[str, Any] = {
    "choices": {"generator": "openai", "judge": "openai"},
    "models": {"judge": [JUDGE], "generator": [GENERATOR]},
    "identity": {"judge": "a" * 64, "generator": "b" * 64},
    "config": {
        "generator": {"_target_": "plugins.generator.openai.OpenaiGenerator"},
        "judge": {"_target_": "plugins.judge.openai.OpenaiJudge"},
        "cache": "use",
        "budget": {"usd": 1.0, "tokens": None},
        "provider": {
            "local": {"api_key_env": None, "prices": {"date": None}},
            "openai": {"api_key_env": "OPENAI_API_KEY", "prices": {"date": "2025-08-07"}},
        },
    },
}
MODELS_SUMMARY: dict[str, Any] = {
    "judging": {
        "faithfulness": {
            "n": 10, "votes": 3, "alpha": 0.7125, "alpha_low": 0.55, "alpha_high": 0.8312, "noise_sd": 0.05,
        },
        "answer_relevancy": {
            "n": 10, "votes": 3, "alpha": None, "alpha_low": None, "alpha_high": None, "noise_sd": 0.0,
        },
    },
    "facts": {
        "baselines": [],
        "judge_health": {
            "faithfulness": {
                "n": 23, "n_failed": 0, "false_accept": rate(6, 9), "false_reject": rate(0, 8),
                "injection": rate(5, 6), "failed_controls": ["ko-wrong-year", "en-vague", "ko-inject-context"],
            },
            "answer_relevancy": {
                "n": 12, "n_failed": 0, "false_accept": rate(0, 4), "false_reject": rate(0, 5),
                "injection": rate(0, 3), "failed_controls": [],
            },
        },
    },
    "counts": {"citations": {"valid": 7, "out_of_range": 1, "none": 2}},
    "cost": {
        "cases": 10, "roles": {"generator": cost(10, 500, 50, 0.005), "judge": cost(20, 400, 100, 0.015)},
    },
    "timing": {
        "usage": {
            "judge": {
                JUDGE: {"live": used(1104, 1_150_000, 50_000, 0.0121, 3), "cached": used(2000, 2**21, 9000, 0.041)},
            },
            "generator": {GENERATOR: {"live": used(20, 9000, 1000, 0.0011), "cached": used(0, 0, 0, 0.0)}},
        },
        "usage_total": {
            "live": used(1124, 1_159_000, 51_000, 0.0132, 3), "cached": used(2000, 2**21, 9000, 0.041),
        },
    },
}  # fmt: skip
