"""Records of somebody else: what they name is shown, and run only with --trust."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from runner.config.frozen import Frozen
from tests.command_line.started import ended
from tests.record_folders import change, copy_of, read, small_records

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path("experiments/하나")
SECRET = "marked-secret-of-the-user"
HEAD = (
    "error: experiments/하나/frozen.yaml names what is neither of this program nor in your own configuration; "
    "nothing was run:\n"
)
TAIL = "\n--trust runs the record of somebody that you trust with all of it; what you type yourself needs none\n"


@pytest.fixture(scope="module")
def records(small_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_records(small_runs, tmp_path_factory.mktemp("records"), str(RECORD), "experiments/둘")


@pytest.fixture(autouse=True)
def here(records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules of the folder can be imported, as by `python -m runner`."""
    copy_of(records, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in ("mine", "evil"):
        sys.modules.pop(name, None)


class Received(ThreadingHTTPServer):
    """Notes every request with its key and body; sends it on to `elsewhere` where there is one."""

    def __init__(self, elsewhere: str | None = None, status: int = 307) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.elsewhere, self.status = elsewhere, status
        self.received: list[tuple[str, str, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Received

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.received.append((self.path, str(self.headers.get("Authorization")), body))
        self.send_response(400 if self.server.elsewhere is None else self.server.status)
        if self.server.elsewhere is not None:
            self.send_header("Location", self.server.elsewhere + self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST  # noqa: N815 - the name that http.server calls

    def log_message(self, *arguments: Any) -> None: ...


@contextmanager
def listening(elsewhere: str | None = None, status: int = 307) -> Iterator[Received]:
    server = Received(elsewhere, status)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def write(record: Path, frozen: Frozen) -> None:
    (record / "frozen.yaml").write_text(frozen.yaml(), encoding="utf-8")


def made(changed: Callable[[dict[str, Any]], object], record: Path = RECORD, **parts: Any) -> None:
    """The record as a stranger makes it: its digest is right."""
    frozen = Frozen.read(record / "frozen.yaml")
    values = json.loads(json.dumps(dict(frozen.values)))
    changed(values)
    write(record, replace(frozen, values=values, **parts))


def unchanged(values: Mapping[str, Any]) -> None: ...


def ran(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    told = {"PYTHONPATH": os.pathsep.join([".", str(ROOT)]), "OPENAI_API_KEY": SECRET, **environment}
    return in_english(ended(*words, **told))


def in_english(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Without the Korean lines that stand below an error where the record is in Korean."""
    english, mark, _ = done.stderr.partition("\n오류: ")
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout, english + "\n" * bool(mark))


def typed(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which starts faster."""
    out, err = io.StringIO(), io.StringIO()
    before = dict(os.environ)
    os.environ.update({"OPENAI_API_KEY": SECRET, **environment})
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words)
    finally:
        os.environ.clear()
        os.environ.update(before)
    return in_english(subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue()))


WAYS = [
    ["reproduce", str(RECORD)],
    ["-cd", str(RECORD), "-cn", "frozen", "out=x"],
    ["plan", "-cd", str(RECORD), "-cn", "frozen"],
]
SYSTEM = {"_target_": "os.system", "command": "touch marker"}


# --- what it would run ----------------------------------------------------------------------------


@pytest.mark.parametrize("words", WAYS, ids=lambda words: words[0])
def test_a_function_of_the_system_is_shown_and_not_run(words: list[str]) -> None:
    made(lambda values: values.update(tracking=SYSTEM))
    done = ran(*words)
    line = "  tracking: os.system(command='touch marker'): of no package that is installed as part of runner"
    assert (done.returncode, done.stderr) == (1, HEAD + line + TAIL)
    assert not Path("marker").exists() and not Path("outputs").exists() and not Path("x").exists()


@pytest.mark.parametrize(
    "target",
    [
        "os.system", "subprocess.Popen", "builtins.exec", "posix.system", "evil.Component", "runner.cli.os.system",
        "plugins.retriever.keyword.os.system", "runner.commands.ui.subprocess.Popen", "runner.cli.io.StringIO",
        "runner.__main__.main", "runner.config.components.Path", "runner.cli.Path", "plugins.evil.Component",
        "..os.system", "tests.command_line.spending.Spending", "conf.x.Y", "runnerx.A", "runner", "os", "",
        "${tracking.command}",
    ],
)  # fmt: skip
def test_targets_from_elsewhere(target: str) -> None:
    Path("evil.py").write_text("open('marker', 'w')\nclass Component: pass\n", encoding="utf-8")
    made(lambda values: values.update(tracking={**SYSTEM, "_target_": target}))
    done = typed(*WAYS[0])
    assert done.returncode == 1
    assert "tracking" in done.stderr and "Traceback" not in done.stderr
    assert not Path("marker").exists()


@pytest.mark.parametrize("group", ["retriever", "generator", "judge", "evaluation", "regression", "profile", "dataset"])
def test_classes_of_the_program_that_are_no_such_component(group: str) -> None:
    target = "plugins.tokenizer.auto.AutoTokenizer"
    frozen = Frozen.read(RECORD / "frozen.yaml")
    choices = {name: choice for name, choice in frozen.choices.items() if not name.startswith(f"{group}/")}
    made(lambda values: values.update({group: {"_target_": target}}), choices=choices)
    done = typed(*WAYS[0])
    assert done.returncode == 1
    assert f"  {group}._target_: expected " in done.stderr
    assert f"; {target} " in done.stderr


def test_a_component_where_none_belongs() -> None:
    made(lambda values: values["provider"]["local"].update(add={"*": {"x": SYSTEM}}))
    assert "provider.local.add.*.x: os.system(command='touch marker')" in typed(*WAYS[0]).stderr
    made(lambda values: values["provider"]["local"].update(add={"*": {"x": {"_target_": "runner.llm.door.Door"}}}))
    assert "no component belongs here" in typed(*WAYS[0]).stderr
    assert not Path("marker").exists()


def test_trust_shows_what_it_runs_and_runs_it() -> None:
    Path("mine.py").write_text(
        "from plugins.tracking.none import NoTracking\nclass Mine(NoTracking):\n"
        "    def __init__(self, *, mark: str) -> None:\n        open(mark, 'w').close()\n",
        encoding="utf-8",
    )
    made(lambda values: values.update(tracking={"_target_": "mine.Mine", "mark": "marker"}))
    refused = ran(*WAYS[0])
    assert refused.returncode == 1 and not Path("marker").exists()
    done = ran(*WAYS[0], "--trust")
    assert done.returncode == 0, done.stderr
    assert Path("marker").exists()
    assert "  tracking: mine.Mine(mark='marker')" in done.stderr
    assert "하나" in done.stderr


def test_trust_makes_no_component_of_a_function() -> None:
    made(lambda values: values.update(tracking=SYSTEM))
    done = typed(*WAYS[0], "--trust")
    assert done.returncode == 1
    assert "tracking._target_: cannot load 'os.system': it is no class" in done.stderr
    assert not Path("marker").exists()


def test_what_is_typed_is_the_users_own() -> None:
    Path("mine.py").write_text("from plugins.tracking.none import NoTracking as Mine\n", encoding="utf-8")
    done = typed(*WAYS[0], "tracking._target_=mine.Mine")
    assert done.returncode == 0, done.stderr


# --- what Hydra acts on ---------------------------------------------------------------------------


HYDRA = [
    {"hydra": {"callbacks": {"x": SYSTEM}}},
    {"hydra": {"launcher": SYSTEM}},
    {"hydra": {"sweeper": SYSTEM}},
    {"hydra": {"searchpath": ["file:///tmp"]}},
    {"hydra": {"run": {"dir": "/tmp/elsewhere"}}},
    {"hydra": {"job_logging": {"handlers": {"x": {"class": "os.system"}}}}},
    {"hydra": {"job": {"env_set": {"OPENAI_BASE_URL": "http://127.0.0.1:1"}}}},
]


@pytest.mark.parametrize("values", HYDRA, ids=lambda values: next(iter(values["hydra"])))
def test_settings_of_hydra(values: dict[str, Any]) -> None:
    made(lambda known: known.update(values))
    done = typed(*WAYS[1])
    assert (done.returncode, done.stderr.count("\n")) == (1, 3)
    assert "  hydra: " in done.stderr and "settings of Hydra" in done.stderr
    assert typed(*WAYS[1], "--cfg", "job").returncode == 1
    assert not Path("marker").exists() and not Path("x").exists()


@pytest.mark.parametrize(
    "text",
    [
        "${oc.env:OPENAI_API_KEY}", "${oc.decode:'1'}", "${now:%Y}", "a${oc.env:HOME}b", "${hydra.runtime.cwd}",
        "${${x}:y}", "${oc.create:{a:1}}", "\\\\${oc.env:HOME}", "${oc.select:x,${oc.env:HOME}}", "${ oc.env:HOME}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["embedder.x", "cache_dir"])
def test_interpolations_that_compute(text: str, key: str) -> None:
    def changed(values: dict[str, Any]) -> None:
        group, _, name = key.partition(".")
        if name:
            values[group][name] = text
        else:
            values[group] = text

    made(changed)
    done = typed(*WAYS[1])
    assert done.returncode == 1
    assert f"  {key}: {text!r}: asks Hydra for more than another setting" in done.stderr
    assert SECRET not in done.stderr + done.stdout
    shown = typed(*WAYS[1], "--cfg", "job", "--resolve")
    assert shown.returncode == 1 and SECRET not in shown.stdout + shown.stderr


def test_defaults_of_its_own() -> None:
    made(lambda values: values["retriever"].update(defaults=["/hydra/launcher@hydra.launcher: joblib"]))
    assert "retriever.defaults" in typed(*WAYS[1]).stderr


@pytest.mark.parametrize(
    "sweep",
    [
        {"hydra/launcher": "joblib"}, {"hydra.sweep.dir": "/tmp/x"}, {"+hydra.callbacks.x._target_": "os.system"},
        {"tracking._target_": "os.system,os.popen"}, {"+tracking": "{_target_: os.system}"}, {"k": "${oc.env:HOME}"},
        {"junit": "/tmp/x"}, {"cache_dir": "/tmp/a,/tmp/b"}, {"+provider.x.base_url": "http://127.0.0.1:1/v1"},
    ],
    ids=str,
)  # fmt: skip
def test_what_it_sweeps_over(sweep: dict[str, str]) -> None:
    made(unchanged, sweep=sweep)
    done = typed(*WAYS[1])
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert not Path("marker").exists()


@pytest.mark.parametrize(
    "parts",
    [
        {"others": {"../../../../{here}/evil": {"a": 1}}}, {"others": {"{here}/evil": {"a": 1}}},
        {"choices": {"evaluation": "full_rag", "experiment": "{here}/evil"}},
        {"choices": {"evaluation": "full_rag", "experiment": "../../{here}/evil"}},
        {"choices": {"evaluation": "full_rag", "dataset": "gone"}}, {"choices": {"evaluation": "gone/x"}},
    ],
    ids=str,
)  # fmt: skip
def test_names_that_are_paths(parts: dict[str, Any]) -> None:
    here = json.loads(json.dumps(parts).replace("{here}", str(Path.cwd())))
    made(unchanged, **here)
    for words in ([*WAYS[1]], [*WAYS[1], "--trust"]):
        done = typed(*words)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert not Path("evil.yaml").exists()


def test_names_of_providers_that_are_paths() -> None:
    made(lambda values: values["provider"].update({f"{Path.cwd()}/evil": {"base_url": None}}))
    done = typed(*WAYS[1], "--trust")
    assert done.returncode == 1 and not Path("evil.yaml").exists()


def test_runs_of_a_sweep_lie_in_the_record() -> None:
    cells = read("experiments/둘/sweep.json")["cells"]
    change("experiments/둘/sweep.json", cells=[{**cells[0], "folder": "../하나"}, cells[1]])
    done = typed("reproduce", "experiments/둘", "--trust")
    assert (done.returncode, done.stderr) == (
        1,
        "error: experiments/둘/sweep.json: '../하나' is no folder in the record\n",
    )


# --- files and addresses --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dataset.corpus", "/etc/passwd"), ("dataset.corpus", ["../../secret.jsonl"]), ("dataset.queries", "~/.netrc"),
        ("dataset.queries", "자료 (1)/../../x"), ("cache_dir", "elsewhere"), ("out", "elsewhere"), ("junit", "x.py"),
        ("save_snapshot", "x.json"), ("dataset.queries", "file:///etc/passwd"), ("compare", "/etc/passwd"),
    ],
)  # fmt: skip
def test_files_elsewhere(key: str, value: Any) -> None:
    def changed(values: dict[str, Any]) -> None:
        *path, name = key.split(".")
        for part in path:
            values = values[part]
        values[name] = value

    made(changed)
    done = typed("-cd", str(RECORD), "-cn", "frozen", "retriever=keyword")
    assert done.returncode == 1
    assert f"  {key}" in done.stderr and "file" in done.stderr.partition(HEAD)[2], done.stderr
    assert not Path("outputs").exists() and not Path("elsewhere").exists()


@pytest.mark.parametrize("value", ["link", "link/secret.jsonl", "자료/../link/secret.jsonl", "deep/file.jsonl"])
def test_links_to_elsewhere(value: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A record may come with links, as archives do."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.jsonl").write_text("{}", encoding="utf-8")
    Path("link").symlink_to(elsewhere)
    Path("deep").mkdir()
    Path("deep/file.jsonl").symlink_to(elsewhere / "secret.jsonl")
    made(lambda values: values["dataset"].update(corpus=value))
    done = typed("-cd", str(RECORD), "-cn", "frozen", "retriever=keyword")
    assert done.returncode == 1
    assert f"  dataset.corpus: '{value}': a file or folder that is not below" in done.stderr
    assert not Path("outputs").exists()


def test_a_link_below_the_working_directory() -> None:
    Path("same").symlink_to(".")
    corpus = Frozen.read(RECORD / "frozen.yaml").values["dataset"]["corpus"]
    made(lambda values: values["dataset"].update(corpus=f"same/{corpus}"))
    assert typed("plan", "-cd", str(RECORD), "-cn", "frozen").returncode == 0


def asking(
    values: dict[str, Any], url: str | None, variable: str | None = "OPENAI_API_KEY", name: str = "mine"
) -> None:
    values["provider"][name] = {"base_url": url, "api_key_env": variable}
    values["judge"] = {"_target_": "plugins.judge.openai.OpenaiJudge", "models": "${models}", "model": f"{name}:x"}


def test_an_address_that_the_user_does_not_know_gets_no_prompt() -> None:
    with listening() as server:
        made(lambda values: asking(values, f"{server.url}/v1"))
        for words in WAYS:
            done = typed(*words)
            line = (
                f"  provider.mine.base_url: '{server.url}/v1' with the key in 'OPENAI_API_KEY': "
                "your configuration names no provider like this"
            )
            assert (done.returncode, done.stderr) == (1, HEAD + line + TAIL)
        assert server.received == []
        trusted = typed(*WAYS[1], "--trust")
        assert server.received and all(key == f"Bearer {SECRET}" for _, key, _ in server.received)
        assert f"{server.url}/v1" in trusted.stderr


@pytest.mark.parametrize(
    ("url", "variable", "name"),
    [
        ("{server}/v1", None, "mine"), ("{server}/v1", None, "local"), ("{server}/v1", "OPENAI_API_KEY", "openai"),
        (None, "OTHER_SECRET", "mine"), ("http://127.0.0.1:8080/v1", "OPENAI_API_KEY", "local"),
        ("https://api.openai.com.evil.example/v1", "OPENAI_API_KEY", "openai"), ("HTTP://EXAMPLE.COM", None, "mine"),
        ("http://127.0.0.1:8080@evil.example/v1", None, "local"), ("${cache_dir}", None, "mine"),
        ("http://${report.language}.evil.example/v1", None, "mine"),
    ],
)  # fmt: skip
def test_providers_that_are_not_the_users(url: str | None, variable: str | None, name: str) -> None:
    with listening() as server:
        place = None if url is None else url.replace("{server}", server.url)
        made(lambda values: asking(values, place, variable, name))
        done = typed(*WAYS[1], OTHER_SECRET="other-secret")
        assert done.returncode == 1
        assert f"  provider.{name}.base_url: " in done.stderr
        assert server.received == []


def test_providers_that_a_record_writes_elsewhere() -> None:
    with listening() as server:

        def changed(values: dict[str, Any]) -> None:
            asking(values, f"{server.url}/v1")
            values["models"]["providers"] = values["provider"]
            values["provider"] = {}

        made(changed)
        done = typed(*WAYS[1])
        assert "  models.providers.mine.base_url: " in done.stderr
        assert server.received == []


def test_a_provider_of_ones_own_is_asked() -> None:
    """Typed, in a folder of one's own, or named by OPENAI_BASE_URL."""
    with listening() as server:
        made(lambda values: asking(values, f"{server.url}/v1", None))
        Path("own/provider").mkdir(parents=True)
        text = f"# @package provider.lab\nbase_url: {server.url}/v1\napi_key_env: null\n"
        Path("own/provider/lab.yaml").write_text(text, encoding="utf-8")
        typed(*WAYS[1], f"provider.mine.base_url={server.url}/v1", "provider.mine.api_key_env=null")
        assert len(server.received) > 0
        server.received.clear()
        typed(*WAYS[1], "-cd", "own", "out=y")
        assert len(server.received) > 0
        server.received.clear()
        made(lambda values: asking(values, None))
        typed(*WAYS[1], "out=z", OPENAI_BASE_URL=f"{server.url}/v1")
        assert len(server.received) > 0


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:{port}", "databricks", "databricks://profile", "sqlite:////tmp/x.db", "sqlite:///../x.db",
        "sqlite:///x.db?mode=memory", "postgresql://127.0.0.1:{port}/x", "mysql+pymysql://evil.example/x", "uc:x",
    ],
)  # fmt: skip
def test_runs_are_uploaded_nowhere(uri: str) -> None:
    with listening() as server:
        place = uri.replace("{port}", str(server.server_address[1]))
        made(
            lambda values: values.update(tracking={"_target_": "plugins.tracking.mlflow.MlflowTracking", "uri": place})
        )
        done = typed(*WAYS[1])
        assert done.returncode == 1
        assert f"  tracking.uri: {place!r}: your configuration does not name this address" in done.stderr
        assert server.received == []


def test_a_store_elsewhere_gets_no_password() -> None:
    store = {"_target_": "plugins.memory.store.redis.RedisStore", "url": "redis://127.0.0.1:6379/0"}
    made(lambda values: values.update(tracking={**store, "password_env": "OPENAI_API_KEY"}))
    assert "  tracking.password_env: 'OPENAI_API_KEY': " in typed(*WAYS[1]).stderr
    made(lambda values: values.update(tracking={**store, "url": "redis://127.0.0.1:1/0"}))
    assert "  tracking.url: 'redis://127.0.0.1:1/0': " in typed(*WAYS[1]).stderr


# --- redirects ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    with listening() as other, listening(other.url, status) as server:
        made(unchanged)
        words = ["judge=openai", "judge.model=mine:x", f"provider.mine.base_url={server.url}/v1"]
        done = typed(
            *WAYS[1], *words, "provider.mine.api_key_env=OPENAI_API_KEY", "generator=openai", "generator.model=mine:x"
        )
        assert done.returncode == 3
        assert len(server.received) >= 1
        assert other.received == []
        assert f"redirects to {other.url}/v1/chat/completions, which is not followed" in done.stderr


# --- who gets data --------------------------------------------------------------------------------


def test_hosts_are_named_before_the_first_request() -> None:
    with listening() as server:
        words = ["judge=openai", "judge.model=mine:x", f"provider.mine.base_url={server.url}/v1"]
        own = [*words, "provider.mine.api_key_env=null", "report.language=en"]
        line = f"data goes to {server.url} (mine)"
        planned = typed(*WAYS[2], *own)
        assert line in planned.stdout and server.received == []
        assert line in typed(*WAYS[1], *own).stderr
        assert "goes to" not in typed(*WAYS[1], "out=y", "report.language=en").stderr


# --- the folder of a run --------------------------------------------------------------------------


def test_a_run_folder_of_a_stranger_is_uploaded_only_by_what_is_installed() -> None:
    run = read("run/run.json")
    change("run/run.json", config={**run["config"], "tracking": {**SYSTEM, "uri": "x"}})
    done = typed("track", "run")
    assert (done.returncode, Path("marker").exists()) == (1, False)
    assert "os.system(command='touch marker', uri='x')" in done.stderr
    with listening() as server:
        tracking = {"_target_": "plugins.tracking.mlflow.MlflowTracking", "uri": server.url}
        change("run/run.json", config={**run["config"], "tracking": tracking})
        done = typed("track", "run")
        assert done.returncode == 1 and server.received == []
        assert "--trust" in done.stderr


def test_freezing_the_run_of_a_stranger_imports_nothing_of_theirs() -> None:
    """Nor do the other commands that read its folder."""
    Path("theirs.py").write_text(
        "from pathlib import Path\nPath('marker').touch()\nclass Retriever:\n"
        "    def index(self, corpus, workspace): ...\n    def search(self, queries, k): ...\n",
        encoding="utf-8",
    )
    composed = Path("run/.hydra/config.yaml")
    values = yaml.safe_load(composed.read_text(encoding="utf-8"))
    values["retriever"] = {"_target_": "theirs.Retriever"}
    composed.write_text(yaml.safe_dump(values), encoding="utf-8")
    change("run/run.json", config={**read("run/run.json")["config"], "retriever": {"_target_": "theirs.Retriever"}})
    commands = (["snapshot", "run", "s.json"], ["results", "run"], ["freeze", "run", "new"])
    for words in commands:
        done = ran(*words)
        assert (done.returncode, Path("marker").exists()) == (int(words[0] == "freeze"), False), done.stderr
    assert done.stderr == (
        "error: run names what is neither of this program nor in your own configuration; nothing was run:\n"
        "  retriever: theirs.Retriever(): of no package that is installed as part of runner\n"
        "--trust runs the record of somebody that you trust with all of it; what you type yourself needs none\n"
    )
    assert not Path("new").exists()
    assert ran("freeze", "run", "new", "--trust").returncode == 0
    assert Path("new/frozen.yaml").is_file()


# --- the flag -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trust", "+experiment=full_rag"], "error: --trust: expected a record (-cd FOLDER -cn frozen)\n"),
        (
            [*WAYS[0], "--trust=no"],
            "error: --trust takes no value\nusage: python -m runner reproduce [--trust] RECORD [OPTION=VALUE …]\n",
        ),
        (["generate", "corpus=x", "out=y", "--trust"], "error: --trust: expected a record (-cd FOLDER -cn frozen)\n"),
    ],
)  # fmt: skip
def test_trust_is_a_word_for_records(words: list[str], message: str) -> None:
    done = typed(*words)
    assert (done.returncode, done.stderr) == (1, message)


def test_records_of_the_repository_need_no_trust() -> None:
    for name in ("full_rag_k_en", "full_rag_k_ko"):
        done = typed("reproduce", str(ROOT / "experiments" / name), "k=3", "dry_run=true")
        assert done.returncode == 0, done.stderr
