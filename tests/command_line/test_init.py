"""A project that `init` makes: its README says commands, and each of them runs in the folder as it is."""

import contextlib
import csv
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib import invalidate_caches
from pathlib import Path

import pytest
import yaml

from runner.cli import main
from runner.commands.init import PROJECTS, RUN, next_commands, project_files
from tests.command_line.result_files import rows, summary
from tests.command_line.started import ended
from tests.services.ports import free_port
from tests.services.rag_service import serving_answers

LANGUAGES = ("en", "ko")
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^python -m runner (.*)$", re.M)
HANGUL = re.compile("[가-힣]")


@contextlib.contextmanager
def made(kind: str, language: str, folder: str = "made") -> Iterator[Path]:
    """Inside a project, as the module `service` of which is imported anew."""
    assert main(["init", folder, "--for", kind, "--language", language]) == 0
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path.cwd()))
        patch.delitem(sys.modules, "service", raising=False)
        invalidate_caches()
        yield Path.cwd()
    sys.modules.pop("service", None)


def without_tracking(line: str) -> list[str]:
    words = shlex.split(line)
    return [*words, "tracking=none"] if "+experiment=mine" in words else words


EACH = [
    pytest.param(kind, language, marks=[pytest.mark.slow] if (place + (language == "ko")) % 2 else [])
    for place, kind in enumerate(PROJECTS)
    for language in LANGUAGES
]


@pytest.mark.parametrize(("kind", "language"), EACH)
def test_the_commands_of_its_readme_run(kind: str, language: str, capsys: pytest.CaptureFixture[str]) -> None:
    with made(kind, language):
        said = capsys.readouterr().out
        text = Path("README.md").read_text("utf-8")
        commands = COMMAND.findall("".join(SHELL.findall(text)))
        assert [f"python -m runner {line}" for line in commands] == next_commands(kind)
        assert all(f"  python -m runner {line}\n" in said for line in commands)
        for line in commands:
            assert main(without_tracking(line)) == 0, line
        right = summary("outputs/first")["metrics"]["right"]
        decided = 8 if language == "ko" else 7  # undecided: both opening hours stand in one English sentence
        assert (right["value"], right["n_scored"]) == (
            (pytest.approx(6 / 7), 7) if kind == "logs" else (1.0, 3) if kind == "memory" else (1.0, decided)
        )
        report = Path("outputs/first/summary.md").read_text("utf-8")
        headings = [shown.partition("\n")[0] for shown in (report, text)]
        assert [bool(HANGUL.search(heading)) for heading in headings] == [language == "ko"] * 2


@pytest.mark.parametrize("language", [pytest.param("en", marks=pytest.mark.slow), "ko"])
def test_the_commands_that_its_readme_mentions_run(language: str) -> None:
    with made("notes", language, "notes"):
        _run_mentioned("validate notes questions.jsonl")
    with made("logs", language, "logs"):
        _run_mentioned("import logs.csv out=questions.jsonl")
        for line in next_commands("logs")[:2]:
            assert main(without_tracking(line.removeprefix("python -m runner "))) == 0
        sheet = list(csv.DictReader(Path("labels.csv").read_text("utf-8-sig").splitlines()))
        with Path("labels.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(sheet[0]))
            writer.writeheader()
            writer.writerows({**line, "rating": number % 2} for number, line in enumerate(sheet))
        _run_mentioned("calibrate labels.csv run=outputs/first")


def _run_mentioned(line: str) -> None:
    assert f"`python -m runner {line}`" in Path("README.md").read_text("utf-8")
    assert main(shlex.split(line)) == 0


def test_what_a_run_of_it_says_to_type_next_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    with made("logs", "en"):
        assert main([*shlex.split(RUN)[3:], "tracking=none", "out=o"]) == 0
        line = re.findall(r"python -m runner (.*compare=o)$", capsys.readouterr().out, re.M)
        assert len(line) == 1 and main(shlex.split(line[0])) == 0


@pytest.mark.parametrize("kind", ["notes", pytest.param("memory", marks=pytest.mark.slow)])
def test_its_files_for_ci_run_a_command_that_fails_below_the_threshold(kind: str) -> None:
    with made(kind, "en"):
        gitlab = yaml.safe_load(Path(".gitlab-ci.yml").read_text("utf-8"))["evaluate"]
        github = yaml.safe_load(Path(".github/workflows/evaluate.yml").read_text("utf-8"))["jobs"]["evaluate"]
        install, check = gitlab["script"]
        assert [step["run"] for step in github["steps"] if "run" in step] == [install, check]
        assert install == "pip install runner-rag-experiments"
        (words,) = COMMAND.findall(check)
        assert main(shlex.split(words)) == 0
        assert Path(gitlab["artifacts"]["reports"]["junit"]).is_file()
        assert main([*shlex.split(words), "threshold.token_f1=0.999"]) == 4


def test_every_file_is_one_of_the_template_with_nothing_left_to_fill_in() -> None:
    for kind in PROJECTS:
        english, korean = (project_files(kind, language) for language in LANGUAGES)
        assert len(english) == len(korean)
        for place, text in {**english, **korean}.items():
            assert not re.search("<[A-Z]+>", text), place
            assert text.endswith("\n"), place


@pytest.mark.slow
def test_notes_in_a_process_of_their_own_with_mlflow() -> None:
    assert ended("init", "mine").returncode == 0
    with contextlib.chdir("mine"):
        first, *_ = next_commands("notes")
        done = ended(*shlex.split(first)[3:])
        assert done.returncode == 0, done.stderr
        ignored = Path(".gitignore").read_text("utf-8").splitlines()
        left = {path.name for path in Path.cwd().iterdir()} - {
            Path(path).parts[0] for path in project_files("notes", "en")
        }
        kept = {name for name in left if not any(fnmatch(name, line.rstrip("/")) for line in ignored)}
        assert not kept and {"outputs", "mlflow.db"} <= left


def test_the_service_is_asked_over_http() -> None:
    port = free_port()
    with made("endpoint", "ko"):
        program = Path("service.py").read_text("utf-8").replace("9000", str(port))
        Path("service.py").write_text(program, encoding="utf-8")
        process = subprocess.Popen([sys.executable, "service.py"], stderr=subprocess.DEVNULL, env=os.environ)
        try:
            _wait_for(f"http://127.0.0.1:{port}")
            words = shlex.split(f"{RUN} out=o tracking=none system=http system.url=http://127.0.0.1:{port}/ask")[3:]
            assert main(words) == 0
        finally:
            process.kill()
            process.wait()
        assert summary("o")["metrics"]["right"]["value"] == 1.0
        assert rows("o")["q1"]["output"]["contexts"][0]["id"] == "요금"


def _wait_for(url: str) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with contextlib.suppress(urllib.error.URLError):
            try:
                urllib.request.urlopen(url)
            except urllib.error.HTTPError:
                return
        time.sleep(0.05)


def test_another_service_takes_its_place() -> None:
    with made("endpoint", "en"), serving_answers() as service:
        service.respond = lambda question: {"answer": "29 euros", "contexts": [{"id": "prices", "text": "29 euros"}]}
        text = Path("conf/system/mine.yaml").read_text("utf-8")
        text = text.replace("- python", "- http").replace("target: service:answer\n", "")
        text = text.replace("# url: http://127.0.0.1:9000/ask", f"url: {service.url}/ask")
        Path("conf/system/mine.yaml").write_text(text, encoding="utf-8")
        assert main([*shlex.split(RUN)[3:], "tracking=none", "out=o"]) == 0
        assert len(service.asked) == 8


# --- what is there stays ---------------------------------------------------------------------------


def test_a_file_that_is_there_is_named_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("made/notes").mkdir(parents=True)
    Path("made/README.md").write_text("mine", encoding="utf-8")
    Path("made/questions.jsonl").symlink_to("nowhere")
    Path("made/conf").write_text("", encoding="utf-8")
    assert main(["init", "made", "for=notes"]) == 2
    assert capsys.readouterr().err == (
        "error: FOLDER: made has files that init would write, and nothing was written: made/README.md, made/conf, "
        "made/questions.jsonl; choose another folder or remove them\n"
    )
    assert sorted(path.name for path in Path("made").rglob("*")) == ["README.md", "conf", "notes", "questions.jsonl"]
    assert Path("made/README.md").read_text("utf-8") == "mine"
    assert main(["init", "made", "--language", "ko"]) == 2
    assert "이미 있어 아무것도 쓰지 않았습니다: made/README.md, made/conf" in capsys.readouterr().err


def test_the_same_command_again_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.txt").write_text("", encoding="utf-8")  # others of a folder are no hindrance
    assert main(["init", "--for", "logs"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        ".: 6 files written, a project to evaluate a table of questions and the answers that a system gave\n"
    )
    assert "cd " not in said and "--for" not in said
    assert main(["init", "--for", "logs"]) == 2
    assert ": .gitignore, .gitlab-ci.yml, README.md, conf/experiment/mine.yaml" in capsys.readouterr().err.replace(
        ".github/workflows/evaluate.yml, ", ""
    )


def test_without_for_it_says_what_else_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "my project"]) == 0
    said = capsys.readouterr().out
    assert "  cd 'my project'\n" in said
    assert re.findall(r"^  --for (\w+) +\S", said, re.M) == ["corpus", "endpoint", "logs", "memory"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["made", "--for", "note"], "--for: expected notes, corpus, endpoint, logs or memory, found 'note'\nusage: "),
        (["made", "--for"], "--for: expected a value\nusage: "),
        (["made", "--language", "fr"], "--language: expected en or ko, found 'fr'\nusage: "),
        (["made", "notes"], "one argument too many: 'notes'\nusage: "),
        (["file/made"], "FOLDER: cannot write file/made/README.md: HERE/file is not a folder that can be written to\n"),
        (["file"], "FOLDER: cannot write file/README.md: HERE/file is not a folder that can be written to\n"),
    ],
)
def test_wrong_words(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("", encoding="utf-8")
    assert main(["init", *words]) == 1
    assert capsys.readouterr().err.replace(str(Path.cwd()), "HERE").startswith(f"error: {message}")
    assert [path.name for path in Path().iterdir()] == ["file"]
