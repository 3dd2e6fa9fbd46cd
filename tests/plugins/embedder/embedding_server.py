"""An embedder behind a door to a server on loopback, and what that server was asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from plugins.embedder.openai import OpenaiEmbedder
from runner.llm.models import Models
from runner.system.threads import in_thread
from tests.corpora import corpus_of, question, workspace
from tests.services.models_server import ModelsServer

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-very-secret"


def models(url: str, root: Path, **options: Any) -> Models:
    settings = {
        "providers": {"test": {"base_url": url, "api_key_env": "TEST_KEY"}},
        "cache": "use",
        "budget": {},
        "cache_dir": str(root),
        "out": None,
        "timeout_ms": 5000,
        "max_concurrency": 4,
    }
    return Models(**settings | options)


def embedder(door: Models, root: Path, **options: Any) -> OpenaiEmbedder:
    component = OpenaiEmbedder(models=door, **{"model": "test:tiny", **options})
    component.prepare([], workspace(root, component))
    return component


def embed(server: ModelsServer, root: Path, texts: list[str], kind: Any = "query", **options: Any) -> NDArray[Any]:
    return embedder(models(server.url, root), root, **options).embed(texts, kind)


def texts_of(server: ModelsServer) -> list[str]:
    return [text for request in server.requests for text in request["input"]]


async def beside(door: Models, function: Callable[[], Any]) -> Any:
    async with door.open():
        return await in_thread(function)


CORPUS = corpus_of({f"d{n}": f"{'환불' * n} 규정 {n}" for n in range(9)})
QUESTIONS = [question(f"question {n} about 환불 {n % 4}", id=f"q{n}") for n in range(80)]
