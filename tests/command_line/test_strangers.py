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
from runner.config.frozen import CONF, FrozenConfig
from runner.config.schema import load
from runner.config.vetting import Vetting
from runner.errors import InputError
from tests.record_folders import change, copy_of, read

RECORD = Path("experiments/한")
SECRET = "marked-secret-of-the-user"
HEAD = (
    "error: experiments/한/frozen.yaml names things that neither this program nor your own configuration names; "
    "nothing was run:\n"
)
TAIL = "\n--trust runs a record of someone you trust as it is; options that you type yourself need no --trust\n"


@pytest.fixture(autouse=True)
def here(small_records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules of the folder can be imported, as by `python -m runner`."""
    copy_of(small_records, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in ("mine", "evil", "theirs"):
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


def write(record: Path, frozen: FrozenConfig) -> None:
    (record / "frozen.yaml").write_text(frozen.yaml(), encoding="utf-8")


def made(changed: Callable[[dict[str, Any]], object], record: Path = RECORD, **parts: Any) -> None:
    """The record as a stranger makes it: its digest is right."""
    frozen = FrozenConfig.read(record / "frozen.yaml")
    values = json.loads(json.dumps(dict(frozen.values)))
    changed(values)
    write(record, replace(frozen, values=values, **parts))


def unchanged(values: Mapping[str, Any]) -> None: ...


def in_english(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Without the Korean lines that stand below an error where the record is in Korean."""
    english, mark, _ = done.stderr.partition("\n오류: ")
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout, english + "\n" * bool(mark))


def typed(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a command ends with and says, with the user's key in its environment."""
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
FEW = ["sample=1", "format=json"]


# --- what it would run ----------------------------------------------------------------------------


def test_a_function_of_the_system_is_shown_and_not_run() -> None:
    made(lambda values: values.update(tracking=SYSTEM))
    line = "  tracking: os.system(command='touch marker'): of no package that is installed as part of runner"
    done = typed(*WAYS[0])
    assert (done.returncode, done.stderr) == (1, HEAD + line + TAIL)
    assert not Path("marker").exists() and not Path("outputs").exists() and not Path("x").exists()


ELSEWHERE = [
    "os.system", "subprocess.Popen", "builtins.exec", "posix.system", "evil.Component", "runner.__main__.main",
    "..os.system", "tests.command_line.spending.Spending", "conf.x.Y", "runnerx.A", "os", "${tracking.command}",
]  # fmt: skip
BY_WAY_OF_THE_PROGRAM = [
    "plugins.evil.Component", "runner.cli.os.system", "plugins.retriever.keyword.os.system", "runner.cli.io.StringIO",
    "runner.commands.ui.subprocess.Popen", "runner.config.components.Path", "runner.cli.Path", "runner", "",
]  # fmt: skip


def test_targets_from_elsewhere() -> None:
    """Wherever they stand; and what only looks like a part of the program is loaded by nothing."""
    Path("evil.py").write_text("open('marker', 'w')\nclass Component: pass\n", encoding="utf-8")
    places = {f"place{number:02}": {**SYSTEM, "_target_": target} for number, target in enumerate(ELSEWHERE)}
    made(lambda values: values.update(tracking={**SYSTEM, **places}))
    done = typed(*WAYS[0])
    assert done.returncode == 1 and "Traceback" not in done.stderr
    for number, target in enumerate(ELSEWHERE):
        target = SYSTEM["command"] if target.startswith("$") else target
        assert f"\n  tracking.place{number:02}: {target}(command='touch marker'): of no package" in done.stderr
    for target in BY_WAY_OF_THE_PROGRAM:
        with pytest.raises((ImportError, TypeError, ValueError)):
            load(target)
    first = BY_WAY_OF_THE_PROGRAM[0]
    made(lambda values: values.update(tracking={**SYSTEM, "_target_": first}))
    done = typed(*WAYS[0])
    assert done.returncode == 1 and f"tracking._target_: cannot load '{first}'" in done.stderr
    assert not Path("marker").exists()


@pytest.mark.parametrize("groups", [["evaluation"], ["retriever", "generator", "judge", "regression", "dataset"]])
def test_classes_of_the_program_that_are_no_such_component(groups: list[str]) -> None:
    target = "plugins.tokenizer.auto.AutoTokenizer"
    frozen = FrozenConfig.read(RECORD / "frozen.yaml")
    choices = {name: choice for name, choice in frozen.choices.items() if name.partition("/")[0] not in groups}
    choices |= {name: choice for name, choice in frozen.choices.items() if name in groups}
    made(lambda values: values.update({group: {"_target_": target} for group in groups}), choices=choices)
    done = typed(*WAYS[0])
    assert done.returncode == 1
    for group in groups:
        (line,) = [line for line in done.stderr.splitlines() if line.startswith(f"  {group}._target_: expected ")]
        assert f"; {target} " in line


def test_a_component_where_none_belongs() -> None:
    made(lambda values: values["provider"]["local"].update(add={"*": {"x": SYSTEM}}))
    assert "provider.local.add.*.x: os.system(command='touch marker')" in typed(*WAYS[0]).stderr
    made(lambda values: values["provider"]["local"].update(add={"*": {"x": {"_target_": "runner.llm.door.Door"}}}))
    assert "no component belongs here" in typed(*WAYS[0]).stderr
    assert not Path("marker").exists()


def test_trust_shows_what_it_runs_and_runs_it() -> None:
    Path("trusted.py").write_text(
        "from plugins.tracking.none import NoTracking\nclass Mine(NoTracking):\n"
        "    def __init__(self, *, mark: str) -> None:\n        open(mark, 'w').close()\n",
        encoding="utf-8",
    )
    made(lambda values: values.update(tracking={"_target_": "trusted.Mine", "mark": "marker"}))
    refused = typed(*WAYS[0])
    assert refused.returncode == 1 and not Path("marker").exists()
    done = typed(*WAYS[0], "--trust")
    assert done.returncode == 0, done.stderr
    assert Path("marker").exists()
    assert "  tracking: trusted.Mine(mark='marker')" in done.stderr
    assert "experiments/한/frozen.yaml" in done.stderr


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


def refused_by_vetting() -> str:
    """What is said of the record before Hydra composes anything of it."""
    with pytest.raises(InputError) as refused:
        Vetting(FrozenConfig.read(RECORD / "frozen.yaml"), (), (), is_trusted=False).before_composing()
    return str(refused.value)


def test_settings_of_hydra() -> None:
    for values in HYDRA:
        made(lambda known, values=values: known.update(values))
        assert "\n  hydra: " in (said := refused_by_vetting()) and "settings of Hydra" in said
    both = {"hydra": {name: value for values in HYDRA for name, value in values["hydra"].items()}}
    made(lambda known: known.update(both))
    done = typed(*WAYS[1])
    assert (done.returncode, done.stderr.count("\n")) == (1, 3)
    assert "  hydra: " in done.stderr and "settings of Hydra" in done.stderr
    assert typed(*WAYS[1], "--cfg", "job").returncode == 1
    assert not Path("marker").exists() and not Path("x").exists()


COMPUTING = [
    "${oc.env:OPENAI_API_KEY}", "${oc.decode:'1'}", "${now:%Y}", "a${oc.env:HOME}b", "${hydra.runtime.cwd}",
    "${..hydra.runtime.cwd}",
    "${${x}:y}", "${oc.create:{a:1}}", "\\\\${oc.env:HOME}", "${oc.select:x,${oc.env:HOME}}", "${ oc.env:HOME}",
]  # fmt: skip


def test_interpolations_that_compute() -> None:
    """Each of them, in a component and at the top."""
    for text in COMPUTING:
        made(lambda values, text=text: values.update(cache_dir=text))
        assert f"\n  cache_dir: {text!r}: asks Hydra for more than another setting" in refused_by_vetting()
    inner = {f"x{number}": text for number, text in enumerate(COMPUTING)}
    made(lambda values: (values.update(cache_dir=COMPUTING[0]), values["embedder"].update(inner)))
    done = typed(*WAYS[1])
    assert done.returncode == 1
    for key, text in {"cache_dir": COMPUTING[0], **{f"embedder.{name}": text for name, text in inner.items()}}.items():
        assert f"\n  {key}: {text!r}: asks Hydra for more than another setting" in done.stderr
    assert SECRET not in done.stderr + done.stdout
    shown = typed(*WAYS[1], "--cfg", "job", "--resolve")
    assert shown.returncode == 1 and SECRET not in shown.stdout + shown.stderr


def test_what_this_program_looks_up_itself() -> None:
    """The store of a run that was tracked as runs are is that of whoever runs the record, under that key alone."""
    own = yaml.safe_load((CONF / "tracking" / "mlflow.yaml").read_text(encoding="utf-8"))
    assert own["uri"].startswith("${oc.env:MLFLOW_TRACKING_URI,")
    made(lambda values: values.update(tracking=own))
    assert typed(*WAYS[1], *FEW, "dry_run=true").returncode == 0
    for key, text in {"uri": f"{own['uri']}x", "timeout_s": own["uri"], "experiment": "${oc.env:HOME}"}.items():
        made(lambda values, wrong={key: text}: values.update(tracking={**own, **wrong}))
        assert f"\n  tracking.{key}: " in refused_by_vetting()


def test_defaults_of_its_own() -> None:
    made(lambda values: values["retriever"].update(defaults=["/hydra/launcher@hydra.launcher: joblib"]))
    assert "retriever.defaults" in typed(*WAYS[1]).stderr


BY_HYDRA = {
    "hydra/launcher": "joblib", "hydra.sweep.dir": "/tmp/x", "+hydra.callbacks.x._target_": "os.system",
    "tracking._target_": "os.system,os.popen", "+tracking": "{_target_: os.system}", "k": "${oc.env:HOME}",
}  # fmt: skip
BY_THE_RUN = {"junit": "/tmp/x", "cache_dir": "/tmp/a,/tmp/b", "+provider.x.base_url": "http://127.0.0.1:1/v1"}


def test_what_it_sweeps_over() -> None:
    made(unchanged, sweep=BY_HYDRA)
    done = typed(*WAYS[1])
    assert done.returncode == 1 and "Traceback" not in done.stderr
    for key in BY_HYDRA:
        assert f"\n  frozen.sweep.{key}: " in done.stderr
    made(unchanged, sweep=BY_THE_RUN)
    done = typed(*WAYS[1])
    assert done.returncode == 1 and "Traceback" not in done.stderr
    for key in ("junit: '/tmp/x'", "cache_dir: '/tmp/a,/tmp/b'", "provider.x.base_url: 'http://127.0.0.1:1/v1'"):
        assert f"\n  {key}: " in done.stderr
    assert not Path("marker").exists()


PATHS: list[dict[str, Any]] = [
    {"others": {"../../../../{here}/evil": {"a": 1}}}, {"others": {"{here}/evil": {"a": 1}}},
    {"choices": {"evaluation": "full_rag", "experiment": "{here}/evil"}},
    {"choices": {"evaluation": "full_rag", "experiment": "../../{here}/evil"}},
]  # fmt: skip


def test_names_that_are_paths() -> None:
    frozen = FrozenConfig.read(RECORD / "frozen.yaml")
    for parts in PATHS:
        write(RECORD, replace(frozen, **json.loads(json.dumps(parts).replace("{here}", str(Path.cwd())))))
        with pytest.raises(InputError, match="is no name of a group, a choice or a provider"):
            FrozenConfig.read(RECORD / "frozen.yaml")
    assert_refused(*WAYS[1], "--trust")


@pytest.mark.parametrize("choices", [{"evaluation": "full_rag", "dataset": "gone"}, {"evaluation": "gone/x"}], ids=str)
def test_names_of_choices_that_are_not_there(choices: dict[str, str]) -> None:
    made(unchanged, choices=choices)
    for words in ([*WAYS[1]], [*WAYS[1], "--trust"]):
        assert_refused(*words)


def assert_refused(*words: str) -> None:
    done = typed(*words)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert not Path("evil.yaml").exists()


def test_names_of_providers_that_are_paths() -> None:
    made(lambda values: values["provider"].update({f"{Path.cwd()}/evil": {"base_url": None}}))
    done = typed(*WAYS[1], "--trust")
    assert done.returncode == 1 and not Path("evil.yaml").exists()


def test_runs_of_a_sweep_lie_in_the_record() -> None:
    cells = read("experiments/s/sweep.json")["cells"]
    change("experiments/s/sweep.json", cells=[{**cells[0], "folder": "../한"}, cells[1]])
    done = typed("reproduce", "experiments/s", "--trust")
    assert (done.returncode, done.stderr) == (
        1,
        "error: experiments/s/sweep.json: '../한' is no folder in the record\n",
    )


# --- files and addresses --------------------------------------------------------------------------


def test_files_elsewhere() -> None:
    files = {
        "dataset.corpus": ["/etc/passwd", "../../secret.jsonl"],
        "dataset.queries": ["~/.netrc", "자료 (1)/../../x", "file:///etc/passwd"],
        "cache_dir": "elsewhere", "out": "elsewhere", "junit": "x.py", "save_snapshot": "x.json",
        "compare": "/etc/passwd",
    }  # fmt: skip

    def changed(values: dict[str, Any]) -> None:
        values["dataset"] |= {key.partition(".")[2]: value for key, value in files.items() if "." in key}
        values |= {key: value for key, value in files.items() if "." not in key}

    made(changed)
    done = typed("-cd", str(RECORD), "-cn", "frozen", "retriever=keyword")
    assert done.returncode == 1
    for key, value in files.items():
        listed = [(f"{key}.{n}", each) for n, each in enumerate(value)] if isinstance(value, list) else [(key, value)]
        for place, text in listed:
            assert f"\n  {place}: '{text}': " in done.stderr
    assert not Path("outputs").exists() and not Path("elsewhere").exists()


def test_links_to_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A record may come with links, as archives do."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.jsonl").write_text("{}", encoding="utf-8")
    Path("link").symlink_to(elsewhere)
    Path("deep").mkdir()
    Path("deep/file.jsonl").symlink_to(elsewhere / "secret.jsonl")
    links = ["link", "link/secret.jsonl", "자료/../link/secret.jsonl", "deep/file.jsonl"]
    made(lambda values: values["dataset"].update(corpus=links))
    done = typed("-cd", str(RECORD), "-cn", "frozen", "retriever=keyword")
    assert done.returncode == 1
    for number, link in enumerate(links):
        assert f"\n  dataset.corpus.{number}: '{link}': a file or folder that is not below" in done.stderr
    assert not Path("outputs").exists()


def test_a_link_below_the_working_directory() -> None:
    Path("same").symlink_to(".")
    corpus = FrozenConfig.read(RECORD / "frozen.yaml").values["dataset"]["corpus"]
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
        trusted = typed(*WAYS[1], "--trust", *FEW)
        assert server.received and all(key == f"Bearer {SECRET}" for _, key, _ in server.received)
        assert f"{server.url}/v1" in trusted.stderr


@pytest.mark.parametrize(
    "providers",
    [
        {
            "local": ("{server}/v1", None),
            "openai": ("{server}/v1", "OPENAI_API_KEY"),
            "mine": ("{server}/v1", None),
            "mine2": (None, "OTHER_SECRET"),
            "mine3": ("HTTP://EXAMPLE.COM", None),
            "mine4": ("http://${report.language}.evil.example/v1", None),
        },
        {
            "local": ("http://127.0.0.1:8080/v1", "OPENAI_API_KEY"),
            "openai": ("https://api.openai.com.evil.example/v1", "OPENAI_API_KEY"),
        },
        {"local": ("http://127.0.0.1:8080@evil.example/v1", None)},
        {"mine": ("${cache_dir}", None)},
    ],
    ids=["servers", "keys", "names", "no address"],
)
def test_providers_that_are_not_the_users(providers: dict[str, tuple[str | None, str | None]]) -> None:
    with listening() as server:

        def changed(values: dict[str, Any]) -> None:
            for name, (url, variable) in providers.items():
                asking(values, None if url is None else url.replace("{server}", server.url), variable, name)

        made(changed)
        done = typed(*WAYS[1], OTHER_SECRET="other-secret")
        assert done.returncode == 1
        for name in providers:
            assert f"\n  provider.{name}.base_url: " in done.stderr
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
        typed(*WAYS[1], *FEW, f"provider.mine.base_url={server.url}/v1", "provider.mine.api_key_env=null")
        assert len(server.received) > 0
        server.received.clear()
        typed(*WAYS[1], *FEW, "-cd", "own", "out=y")
        assert len(server.received) > 0
        server.received.clear()
        made(lambda values: asking(values, None))
        typed(*WAYS[1], *FEW, "out=z", OPENAI_BASE_URL=f"{server.url}/v1")
        assert len(server.received) > 0


def test_runs_are_uploaded_nowhere() -> None:
    with listening() as server:
        uris = [
            "http://127.0.0.1:{port}", "databricks", "databricks://profile", "sqlite:////tmp/x.db", "sqlite:///../x.db",
            "sqlite:///x.db?mode=memory", "postgresql://127.0.0.1:{port}/x", "mysql+pymysql://evil.example/x", "uc:x",
        ]  # fmt: skip
        first, *others = [uri.replace("{port}", str(server.server_address[1])) for uri in uris]
        tracking = {"_target_": "plugins.tracking.mlflow.MlflowTracking", "uri": first}
        made(lambda values: values.update(tracking={**tracking, "others": [{"uri": uri} for uri in others]}))
        done = typed(*WAYS[1])
        assert done.returncode == 1
        keys = ["tracking.uri", *(f"tracking.others.{number}.uri" for number in range(len(others)))]
        for key, uri in zip(keys, [first, *others], strict=True):
            assert f"\n  {key}: {uri!r}: your configuration does not name this address" in done.stderr
        assert server.received == []


def test_a_store_elsewhere_gets_no_password() -> None:
    store = {"_target_": "plugins.memory.store.redis.RedisStore", "url": "redis://127.0.0.1:1/0"}
    made(lambda values: values.update(tracking={**store, "password_env": "OPENAI_API_KEY"}))
    said = typed(*WAYS[1]).stderr
    assert "  tracking.password_env: 'OPENAI_API_KEY': " in said and "  tracking.url: 'redis://127.0.0.1:1/0': " in said


# --- redirects ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status", [302, 307, *(pytest.param(status, marks=pytest.mark.slow) for status in (301, 303, 308))]
)
def test_redirects_are_not_followed(status: int) -> None:
    """In a record; what is typed goes by the same way."""
    record = WAYS[1] if status == 307 else ["out=x", "+experiment=full_rag", "retriever=keyword", "tracking=none"]
    data = ["dataset=jsonl", *(f"dataset.{name}='자료 (1)/{name}.jsonl'" for name in ("corpus", "queries"))]
    with listening() as other, listening(other.url, status) as server:
        words = ["judge=openai", "judge.model=mine:x", f"+provider.mine.base_url={server.url}/v1"]
        words += ["+provider.mine.api_key_env=OPENAI_API_KEY", "generator=openai", "generator.model=mine:x"]
        done = typed(*record, *([] if status == 307 else data), *FEW, *words)
        assert done.returncode == 3, done.stderr
        assert len(server.received) >= 1
        assert other.received == []
        assert f"redirects to {other.url}/v1/chat/completions, which is not followed" in done.stderr


# --- who gets data --------------------------------------------------------------------------------


def test_hosts_are_named_before_the_first_request() -> None:
    with listening() as server:
        words = ["judge=openai", "judge.model=mine:x", f"provider.mine.base_url={server.url}/v1"]
        own = [*words, *FEW, "provider.mine.api_key_env=null", "report.language=en"]
        line = f"data goes to {server.url} (mine)"
        planned = typed(*WAYS[2], *own)
        assert line in planned.stdout and server.received == []
        assert line in typed(*WAYS[1], *own).stderr
        assert "goes to" not in typed(*WAYS[1], *FEW, "out=y", "report.language=en").stderr


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
        done = typed(*words)
        assert (done.returncode, Path("marker").exists()) == (int(words[0] == "freeze"), False), done.stderr
    assert done.stderr == (
        "error: run names things that neither this program nor your own configuration names; nothing was run:\n"
        "  retriever: theirs.Retriever(): of no package that is installed as part of runner\n"
        "--trust runs a record of someone you trust as it is; options that you type yourself need no --trust\n"
    )
    assert not Path("new").exists()
    assert typed("freeze", "run", "new", "--trust").returncode == 0
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
