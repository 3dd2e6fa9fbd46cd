"""A model judge on a server of loopback."""

from collections.abc import Callable
from pathlib import Path

import pytest

from plugins.judge.openai import OpenaiJudge
from runner.llm.models import Models
from tests.services.doors import models as models_at
from tests.services.models_server import ModelsServer


@pytest.fixture
def models(server: ModelsServer, tmp_path: Path) -> Models:
    return models_at(server.url, tmp_path)


@pytest.fixture
def judge(models: Models) -> Callable[..., OpenaiJudge]:
    return lambda **settings: OpenaiJudge(models=models, **{"model": "test:grader", **settings})
