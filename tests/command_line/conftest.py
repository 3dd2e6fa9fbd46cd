"""What holds for every command that a test types: it is typed in an empty folder. And what several modules type."""

import contextlib
import io
import sys
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.chatting import Chat
from tests.command_line.spent import TWO, begin, numbers, passes
from tests.shared_folders import shared
from tests.small_data import small_data


@pytest.fixture(autouse=True)
def empty_folder(empty_folder: Path) -> Path:
    return empty_folder


@pytest.fixture(scope="session")
def common_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes and rankings of the data of the program, which are made once for all tests that name this; for tests that
    ask no models, whose replies would be stored, too."""
    return shared(tmp_path_factory, "stored", lambda folder: None)


@pytest.fixture
def stored(empty_folder: Path, common_cache: Path) -> None:
    (empty_folder / ".runner_cache").symlink_to(common_cache)


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    """With summary.json alone: what is to be read in a report is told format=both."""
    return [*small_data(tmp_path / "자료 (1)"), "tracking=none", "retriever=keyword", "format=json"]


@pytest.fixture
def chat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Chat:
    """`piped` of chatting.py, in this process."""

    def chatted(text: str, *words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return main(["chat", *words]), *capsys.readouterr()

    return chatted


@pytest.fixture
def spending(empty_folder: Path) -> None:
    """The evaluation of spending.py can be chosen, and has spent nothing yet."""
    begin()


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The numbers of the runs a and b of the evaluation of spending.py when nothing stops them."""
    with contextlib.chdir(tmp_path_factory.mktemp("whole")):
        begin()
        assert main(TWO) == 0
        assert [len(cases) for _, cases in passes()] == [25, 25]
        return [numbers(f"x/{cell}/summary.json") for cell in "01"]
