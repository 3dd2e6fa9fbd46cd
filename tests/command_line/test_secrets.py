"""Secrets in every place of every experiment are in nothing that is written or printed."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import zstandard

from runner.cli import main
from tests.command_line.test_every_experiment import TABLE, fewest, folder  # noqa: F401
from tests.services.models_server import ModelsServer
from tests.small_data import small_data

KEY = "sk-marked/Key+7f3aQ9=="
PASSWORD = "Marked:pa%ss/w0rd@1"
QUERY = "Marked&query=2 é"
TAG = "marked-Tag/3"
SHORT = "Zq7!"
STRANGE = "Marked Strange 'quoted\"\\ 4"
TEAM = "Marked<Team>5"
MODEL = "marked-Model-6"
SECRETS = (KEY, PASSWORD, QUERY, TAG, STRANGE, TEAM, MODEL)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, server: ModelsServer) -> None:
    values = {
        "MY_KEY": KEY,
        "MY_TAG": TAG,
        "MY_STRANGE": STRANGE,
        "MY_TEAM": TEAM,
        "MY_MODEL": MODEL,
        "MY_SERVER": server.url,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HTTPS_PROXY_OF_MINE", f"http://me:{quote(PASSWORD, safe='')}@proxy:1")
    server.api_key = KEY


def forms(secret: str) -> Iterator[str]:
    yield from (secret, quote(secret, safe=""), quote(secret), quote_plus(secret), html.escape(secret))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1])
    yield quote(quote(secret, safe=""), safe="")
    yield re.sub("%..", lambda match: match[0].lower(), quote(secret, safe=""))
    for text in (secret, f"me:{secret}", f":{secret}"):
        yield base64.b64encode(text.encode()).decode().rstrip("=")


def texts(*folders: Path) -> Iterator[tuple[Path, bytes]]:
    for root in folders:
        for path in sorted(root.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix != ".png":
                data = path.read_bytes()
                yield path, data
                if data[:2] == b"\x1f\x8b":
                    yield path, gzip.decompress(data)
                if path.suffix == ".zst":
                    yield path, zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
                elif data[:4] == b"\x28\xb5\x2f\xfd":
                    pytest.fail(f"{path} is compressed as this test cannot read")


def leaks(printed: str, *folders: Path, more: Mapping[str, str] | None = None) -> list[str]:
    looked_for = {form.encode(): secret for secret in SECRETS for form in forms(secret)}
    looked_for |= {text.encode(): name for name, text in (more or {}).items()}
    places = [(Path("the terminal"), printed.encode()), *texts(*folders)]
    return [f"{path}: {name}" for path, data in places for form, name in looked_for.items() if form in data]


def settings(server: ModelsServer) -> list[str]:
    return [
        "provider.local.base_url=${oc.env:MY_SERVER}",
        "provider.local.api_key_env=MY_KEY",
        "provider.local.add={m:{user:'${oc.env:MY_STRANGE}'}}",
    ]


@pytest.mark.parametrize("name", fewest("full_rag"))
def test_a_run_keeps_them(
    name: str, server: ModelsServer, own_mlflow_store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    usual, asking = TABLE[name].usual, TABLE[name].asking
    small = small_data(tmp_path / "data") if name == "full_rag" else []
    words = [f"+experiment={name}", *usual, *small, *asking, *settings(server), "sample=2"]
    if name in ("full_rag", "trace_quality"):  # of `m`, the others' model, requests hold what provider.local.add says
        words = [word.replace("local:m", "'local:${oc.env:MY_MODEL}'") for word in words]
    tracked = [
        f"tracking.uri={own_mlflow_store}",
        "tracking.figures=false",
        "tracking.experiment='every ${oc.env:MY_TEAM}'",
    ]
    assert main([*words, *tracked, "out=a"]) == 0
    assert server.count  # which a wrong key would not let through
    closed = f"http://me:{quote(PASSWORD, safe='')}@127.0.0.1:9/?password={quote(QUERY, safe='')}&pwd={quote(SHORT)}"
    assert main([*words, f"tracking.uri={closed}", "out=b", "compare=a"]) == 0
    assert main([*words, "tracking.uri='http://me:${oc.env:MY_TAG}@127.0.0.1:9'", "out=c", "seed=1,2"]) == 0
    assert main(["plan", *words]) == 0
    assert main([*words, "dry_run=true"]) == 0
    assert main(["track", "b", "--uri", closed]) == 3
    assert main(["freeze", "a", "record"]) == 0
    assert main(["results", "a"]) == 0
    printed = "".join(capfd.readouterr())
    store = Path(own_mlflow_store.removeprefix("sqlite:///")).parent
    short = {"a short password": f"pwd={quote(SHORT)}", "the server": server.url}
    assert leaks(printed, tmp_path, store, more=short) == []
    config = json.loads(Path("a/run.json").read_text("utf-8"))["config"]
    assert config["provider"]["local"]["base_url"] == "${oc.env:MY_SERVER}"
    assert config["tracking"]["experiment"] == "every ${oc.env:MY_TEAM}"
    assert json.loads(Path("b/run.json").read_text("utf-8"))["config"]["tracking"]["uri"].startswith(
        "http://127.0.0.1:9/"
    )
    assert "${oc.env:MY_SERVER}" in Path("record/frozen.yaml").read_text("utf-8")


LEAKING = """
import logging, os, sys, warnings

class Leaking:
    def __init__(self, *, tag: str, strange: str = "") -> None:
        self.tag = tag

    def search(self, *arguments, **named):
        raise RuntimeError(f"no luck with {self.tag}")

    def index(self, *arguments, **named):
        print(self.tag, os.environ["MY_STRANGE"])
        logging.getLogger("leaking").error(self.tag)
        print("!", self.tag, file=sys.stderr)
        raise ZeroDivisionError(f"{self.tag} and me:{self.tag}@host")
"""


def test_what_a_component_of_somebody_prints_and_raises_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    Path("leaking_part.py").write_text(LEAKING, encoding="utf-8")
    choice = Path("mine/retriever/leaking.yaml")
    choice.parent.mkdir(parents=True)
    choice.write_text("_target_: leaking_part.Leaking\ntag: x\nstrange: ${oc.env:MY_STRANGE}\n", encoding="utf-8")
    words = ["+experiment=retrieval_only", "dataset=demo_ko", "--config-dir", "mine", "retriever=leaking"]
    words += ["tracking=none", "retriever.tag=${oc.env:MY_TAG}"]
    assert main([*words, "out=x"]) != 0
    printed = "".join(capfd.readouterr())
    assert "ZeroDivisionError: *** and me:***@host" in printed and "! ***" in printed
    assert "ZeroDivisionError: *** and me:***@host" in Path("x/error.log").read_text("utf-8")
    assert leaks(printed, tmp_path) == []


def test_typed_passwords_are_in_no_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    address = f"http://me:{quote(PASSWORD, safe='')}@127.0.0.1:9"
    run = ["+experiment=retrieval_only", *small_data(tmp_path / "data"), "retriever=keyword"]
    for words in (
        [*run, f"provider.local.base_url={address}"],
        [*run, f"tracking.urii={address}"],
        [*run, f"tracking.uri=[{address}]"],
        [*run, f"k={address}"],
        [*run, f"tracking.uri={address}", "--cfg", "job"],
        [*run, f"{address}"],
        ["+experiment=memory", "memory/store=redis", f"memory.store.url=redis://:{quote(PASSWORD, safe='')}@h"],
        ["results", "0" * 32, "--uri", address],
        ["track", address],
        ["compare", address, address],
        ["ui", "--uri", f"postgresql://me:{quote(PASSWORD, safe='')}@127.0.0.1:9/x"],
        [address],
    ):
        main(words)
        assert leaks("".join(capfd.readouterr()), tmp_path) == [], words
