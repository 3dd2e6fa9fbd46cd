"""What every evaluation that retrieves is made with, here at two documents a question."""

from collections.abc import Sequence
from typing import Any

from runner.retrieval.stage import Retrieval


def retrieval(
    dataset: Any,
    retriever: Any,
    *,
    k: int = 2,
    cutoffs: Sequence[int] = (1,),
    min_score: float = 0.3,
    timeout_ms: int = 5000,
) -> Retrieval:
    return Retrieval(
        dataset=dataset,
        retriever=retriever,
        k=k,
        cutoffs=list(cutoffs),
        min_score=min_score,
        timeout_ms=timeout_ms,
        warmup=0,
        seed=1,
    )
