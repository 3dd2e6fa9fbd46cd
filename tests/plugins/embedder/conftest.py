"""The key that the server of these tests is asked with is in the environment."""

import pytest

from tests.plugins.embedder.embedding_server import KEY
from tests.services.models_server import ModelsServer


@pytest.fixture
def server(server: ModelsServer, monkeypatch: pytest.MonkeyPatch) -> ModelsServer:
    monkeypatch.setenv("TEST_KEY", KEY)
    return server
