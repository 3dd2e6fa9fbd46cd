"""Make the folder of a project: a configuration, questions, files for CI, and a README with the next commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from runner import DISTRIBUTION
from runner.commands import LANGUAGE, Command, Option, Place, one_of
from runner.config.arguments import shell
from runner.errors import InputError
from runner.system import terminal
from runner.system.writing import no_place_for_a_file, write_text
from runner.words.wording import Wording, wording

TEMPLATE = files("runner.commands.init") / "template"
RUN = "python -m runner --config-dir conf +experiment=mine"
FOR_ALL = {".gitignore": "gitignore", ".gitlab-ci.yml": "gitlab.yml", ".github/workflows/evaluate.yml": "github.yml"}
TAKEN = 2  # exit code where a file exists


@dataclass(frozen=True, slots=True)
class Project:
    """A kind of project. `data`: files and folders of the template in each language; `code`: files without a language,
    by path; `second`: the command after the first run."""

    data: tuple[str, ...]
    second: str
    code: Mapping[str, str]


SERVICE = {"service.py": "service.py", "conf/system/mine.yaml": "system.yaml"}
PROJECTS = {
    "notes": Project(("notes", "questions.jsonl"), f"{RUN} retriever=keyword,hybrid", {}),
    "corpus": Project(("corpus.jsonl", "questions.jsonl"), f"{RUN} k=1,3,5", {}),
    "endpoint": Project(("corpus.jsonl", "questions.jsonl"), f"{RUN} system.repeats=3", SERVICE),
    "logs": Project(("logs.csv",), "python -m runner labels outputs/first out=labels.csv n=5", {}),
    "memory": Project(("conversations.yaml",), f"{RUN} memory=none,window,recursive_summary", {}),
}
COMMAND = Command(
    "init",
    (Place("folder", Path, default=Path()),),
    (Option("for", "|".join(PROJECTS), one_of(*PROJECTS)), LANGUAGE),
)


def main(argv: Sequence[str]) -> int:
    """Returns 2 where files of the project exist; nothing is written then. Raises InputError for a folder that cannot
    be made."""
    options = COMMAND.read(argv)
    folder: Path = options.folder
    language = options.language or "en"
    say = wording(language, "init")
    kind = vars(options)["for"] or "notes"
    texts = {folder / place: text for place, text in project_files(kind, language).items()}
    if taken := sorted(str(path) for path in {step for path in texts for step in _blocking_paths(path, folder)}):
        terminal.fail(say("taken", folder=folder, files=", ".join(taken)))
        return TAKEN
    if problem := no_place_for_a_file(folder / "README.md"):
        raise InputError(f"FOLDER: {problem}")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    terminal.lines(*_overview(folder, kind, len(texts), others=vars(options)["for"] is None, say=say))
    return 0


def _blocking_paths(path: Path, folder: Path) -> Iterator[Path]:
    """The existing paths in the way of a file: the file itself, or a file in place of one of its folders."""
    if path.exists() or path.is_symlink():
        yield path
    for parent in path.parents:
        if parent == folder:
            return
        if not parent.is_dir() and (parent.exists() or parent.is_symlink()):
            yield parent


def _overview(folder: Path, kind: str, n: int, *, others: bool, say: Wording) -> list[str]:
    """The lines that list the new files, the next commands and, where no kind was given, the other kinds."""
    enter = [] if folder == Path() else [f"cd {shell(str(folder))}"]
    more = [f"  --for {name:<10} {say(f'for.{name}')}" for name in PROJECTS if name != kind]
    return [
        say("made", folder=folder, n=n, what=say(f"for.{kind}")),
        "",
        say("next"),
        *(f"  {command}" for command in [*enter, *next_commands(kind)]),
        *(["", say("others"), *more] if others else []),
    ]


def next_commands(kind: str) -> list[str]:
    """The three commands to try first in a new project, in order."""
    return [f"{RUN} out=outputs/first", PROJECTS[kind].second, "python -m runner results outputs/first"]


def project_files(kind: str, language: str) -> dict[str, str]:
    """Path in the project folder -> text."""
    project = PROJECTS[kind]
    first, *_ = next_commands(kind)
    names = {
        "COMMAND": first,
        "CHECK": f"{RUN} tracking=none out=outputs/ci junit=outputs/ci/junit.xml threshold.right=0.5",
        "DISTRIBUTION": DISTRIBUTION,
        "LANGUAGE": language,
    }
    kind_files = {"conf/experiment/mine.yaml": f"{kind}.yaml"}
    common_files = {**FOR_ALL, **project.code}
    return {
        "README.md": _readme(kind, wording(language, "init")),
        **{place: _fill(TEMPLATE / name, names) for place, name in kind_files.items()},
        **{place: _fill(TEMPLATE / "any" / name, names) for place, name in common_files.items()},
        **dict(_data(TEMPLATE / language, project.data)),
    }


def _fill(file: Traversable, names: Mapping[str, str]) -> str:
    text = file.read_text(encoding="utf-8")
    for name, value in names.items():
        text = text.replace(f"<{name}>", value)
    return text


def _data(folder: Traversable, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        if (folder / name).is_dir():
            notes = (file.name for file in (folder / name).iterdir())
            yield from (
                (f"{name}/{note}", (folder / name / note).read_text(encoding="utf-8")) for note in sorted(notes)
            )
        else:
            yield name, (folder / name).read_text(encoding="utf-8")


def _readme(kind: str, say: Wording) -> str:
    first, second, third = next_commands(kind)
    return say(
        "readme",
        what=say(f"for.{kind}"),
        first=first,
        second=second,
        third=third,
        learn=say(f"second.{kind}"),
        yours="\n".join(f"- {line}" for line in say(f"yours.{kind}").splitlines()),
    )
