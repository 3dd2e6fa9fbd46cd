import json
import shlex
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from runner import DISTRIBUTION
from runner.errors import describe_unexpected, did_you_mean, install_command, similar


def raised(call: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:
        call()
    error = caught.value
    error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None  # without this file
    return error


def test_an_error_of_a_component_from_elsewhere_tells_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "strange_part.py").write_text(
        "import json\n\n\ndef outer():\n    return inner()\n\n\ndef inner():\n    return json.loads('{')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from strange_part import outer  # type: ignore[import-not-found]

    assert describe_unexpected(raised(outer)).endswith(": line 1 column 2 (char 1) (strange_part, line 9)")
    del sys.modules["strange_part"]


def test_an_error_of_the_library_tells_none() -> None:
    assert describe_unexpected(raised(lambda: json.loads("{"))).startswith("JSONDecodeError: ")
    assert describe_unexpected(ValueError("a\n b")) == "ValueError: a b"


def test_an_extra_of_a_clone_is_installed_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).resolve().parents[2]
    monkeypatch.chdir(root)
    assert install_command("kiwi") == "pip install -e '.[kiwi]'"
    monkeypatch.chdir(tmp_path)
    assert shlex.split(install_command("kiwi")) == ["pip", "install", "-e", f"{root}[kiwi]"]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("modle", ["mode", "model", "modes"], "model"),  # two letters swapped, before one dropped
        ("modl", ["mode", "model"], "model"),
        ("cahce", ["cache", "case"], "cache"),
        ("retriver", ["receiver", "retriever", "reranker"], "retriever"),
        ("judge", ["judges", "jugde"], "jugde"),
        ("기준산", ["기준", "기준선", "기준일"], "기준"),
        ("x", ["mode", "model"], None),
    ],
)
def test_the_name_that_was_most_likely_meant(name: str, known: list[str], meant: str | None) -> None:
    assert similar(name, known) == similar(name, known[::-1]) == meant


def test_how_near_a_name_must_be() -> None:
    assert similar("provenence", ["provenance"], cutoff=0.85) == "provenance"
    assert similar("cached", ["caches"], cutoff=0.85) is None
    assert did_you_mean("MODLE", ["Mode", "Model"]) == "; did you mean 'Model'?"


def test_the_distribution_is_named_once() -> None:
    told = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert told["project"]["name"] == DISTRIBUTION != "runner"
    version(DISTRIBUTION)  # as it is installed here
