"""READMEs and documentation keep their word: every command runs and shows what they show, every option, choice and
command is named, every link leads somewhere, and both languages have the same pages.

A unit is a block of commands, run line by line in one folder, or a command in a table. What stands in both languages,
or in a longer block elsewhere, runs once.
"""

import importlib
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from plugins.dataset import demo
from runner import errors
from runner.cli import COMMANDS, main
from runner.config.help import manual
from runner.data.stored import LARGE_BYTES, CorpusStore
from runner.domains.traces import score_trace
from runner.domains.traces.reading import trace_of
from tests.docs import of_conf, reference
from tests.docs.pages import (
    FENCED,
    FOLDERS,
    LANGUAGES,
    READMES,
    ROOT,
    all_text,
    anchors,
    documentation,
    headings,
    links,
    text_of,
)
from tests.docs.site import problems
from tests.services.models_server import ModelsServer
from tests.services.rag_service import RagService, serving_answers
from tests.small_data import write_texts

TEXTS = {language: all_text(language) for language in LANGUAGES}
PAGES = {language: documentation(language) for language in LANGUAGES}
LONGEST_README = 150
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
INLINE = re.compile(r"`python -m runner ([^`\n]+)`")
FILE = re.compile(r"^cat > (\S+) <<'END'\n(.*?)^END$", re.M | re.S)
PRINTED = re.compile(r"^printf '(.*)' (?:> (\S+)|\| python -m runner (.+))$")
SCRIPT = re.compile(r"^python (\S+\.py)$")
RUN = re.compile(r"^python -m runner (.+?)(?:\s+# exit code (\d)|\s+#.*)?$")
# What needs packages that are not among those of the tests.
MORE_PACKAGES = re.compile(r".*memory=mem0,|.*store=lancedb$")
# What needs a server, a terminal or a folder that a reader has, and is run by tests of its own.
ELSEWHERE = re.compile(r"ui$|serve$|generate |clean |watch |completion |results outputs/FOLDER|compare BASELINE|--help")
WORD = re.compile(r"[^\W\d_]{2,}")
SENTENCE = re.compile(r"'[^'=\n]* [^'=\n]*'")
VERDICT = re.compile(r"^Worse than .*?\.$|^기준\([^\n]*$", re.M | re.S)  # which all cases show, and few do not
OWN_DATA = re.compile(r"\bcase=|\bdry_run=|\bdataset=(jsonl|vault)|\bdataset\.traces=")  # small as it is
OWN_CODE = re.compile(r"my_conf|system=python")
IN_KOREAN = ("report.language=ko", "scenario.language=ko")
COMMAND_NAMES = {name.replace("_", "-") for name in COMMANDS} | {"--version"}
PROTOCOLS = {
    "data set": "runner.protocols.Dataset",
    "chunker of a data set": "runner.protocols.Chunker",
    "retriever": "runner.protocols.Retriever",
    "tokenizer": "runner.protocols.Tokenizer",
    "embedder": "runner.protocols.Embedder",
    "store of vectors": "runner.retrieval.stores.Store",
    "agent": "runner.domains.agent.protocols.Agent",
    "reranker": "runner.domains.agent.protocols.Reranker",
    "generator": "runner.protocols.Generator",
    "running system": "runner.protocols.System",
    "judge": "runner.protocols.Judge",
    "scenario": "runner.domains.memory.protocols.Scenarios",
    "memory": "runner.domains.memory.protocols.Memory",
    "store of a memory": "runner.domains.memory.protocols.MemoryStore",
    "summariser of a memory": "runner.domains.memory.protocols.Summariser",
    "suggester of links": "runner.domains.links.suggesting.Suggester",
    "data set of links": "runner.domains.links.link_cases.LinkPlaces",
    "data set of traces": "runner.domains.traces.protocols.Traces",
    "novelty of traces": "runner.domains.traces.protocols.Novelty",
    "evaluation": "runner.protocols.Evaluation",
    "tracking": "runner.protocols.Tracking",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """Commands of a page, and the lines of output that it shows of them."""

    text: str
    shown: str = ""

    @property
    def first(self) -> str:
        lines = [line for line in FILE.sub("", self.text).splitlines() if "runner" in line]
        return (RUN.match(lines[0]) or [lines[0]] * 2)[1] if lines else self.text


def units() -> Iterator[Unit]:
    seen: dict[str, Unit] = {}
    for text in TEXTS.values():
        for script, shown in BLOCK.findall(text):
            if "python -m runner " in script and ".venv/" not in script:
                bare = re.sub(r"(?<=\S)[ \t]+#(?! exit code).*$", "", script, flags=re.M)
                before = seen.get(bare, Unit(bare))
                seen[bare] = Unit(bare, f"{before.shown}\n{shown}")
        for command in INLINE.findall(FENCED.sub("", text)):
            seen.setdefault(f"python -m runner {command}", Unit(f"python -m runner {command}"))
    return (unit for unit in seen.values() if unit.shown.strip() or not _is_part_of_another(unit.text, seen))


def _is_part_of_another(text: str, others: Iterable[str]) -> bool:
    lines = text if text.endswith("\n") else f"{text}\n"
    return any(text != other and f"\n{lines}" in f"\n{other}" for other in others if "\n" in other)


def settings_of(unit: Unit) -> tuple[tuple[str, ...], ...]:
    """What each command chooses, and the names of its settings below a choice: the same in both languages, whatever
    sentence stands in quotes."""
    text = SENTENCE.sub("'…'", FILE.sub("", unit.text).replace("demo_ko", "demo_en"))
    lines = [line.split() for line in text.splitlines() if "python -m runner" in line]
    return tuple(
        tuple(word.partition("=")[0] if "." in word.partition("=")[0] else word for word in line)
        for line in ([word for word in line if word not in IN_KOREAN] for line in lines)
    )


def is_plain_run(unit: Unit) -> bool:
    """Whether every line is a run, and none reads code or choices that the page gives."""
    commands = [RUN.match(line) for line in FILE.sub("", unit.text).splitlines() if line]
    return not OWN_CODE.search(unit.text) and all(
        command and shlex.split(command[1])[0] not in COMMAND_NAMES for command in commands
    )


LEFT_OUT = (ELSEWHERE, MORE_PACKAGES)
UNITS = [unit for unit in units() if not any(p.match(unit.first) for p in LEFT_OUT) and "…" not in unit.text]
# Of commands that a page shows no output of: those that another unit gives with other files or words, and runs without
# code of the page. Their settings are composed and their data is read.
CHECKED = [
    unit
    for number, unit in enumerate(UNITS)
    if not unit.shown.strip() and (settings_of(unit) in map(settings_of, UNITS[:number]) or is_plain_run(unit))
]
# What a page shows in Korean of commands that another unit gives in English: `make slow` runs it. Here its words are
# those that the program has.
RETOLD = [
    unit
    for number, unit in enumerate(UNITS)
    if unit.shown.strip()
    and "report.language=ko" in unit.text
    and settings_of(unit) in map(settings_of, UNITS[:number])
]


def test_what_is_not_run_here_is_known() -> None:
    left = {unit.first for unit in units()} - {unit.first for unit in UNITS}
    assert left == {
        "+experiment=EXPERIMENT OVERRIDE …",
        "+experiment=retrieval_only retriever=semantic store=lancedb",
        "--config-dir my_conf +experiment=memory memory=mem0,recursive_summary",
        "--help",
        "--help retriever=hybrid",
        "clean memory/store=redis memory.store.url=…",
        "clean cache --at-most 500",
        "clean outputs --older-than 30",
        "clean stores store=lancedb --older-than 30",
        "compare BASELINE CANDIDATE",
        "generate corpus=notes out=made.jsonl",
        "generate corpus=노트 out=made.jsonl",
        "results outputs/FOLDER",
        "serve",
        "watch +experiment=full_rag …",
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty but for the files that the pages make, for commands in tables and text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("runner.llm.tokens._encoding", lambda name="": None)  # the pages show a plain installation
    monkeypatch.syspath_prepend(str(tmp_path))
    for text in TEXTS.values():
        _write_files(text)
    return tmp_path


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo data with every fourth question, the documents that answer them and some that answer none."""
    folder = tmp_path_factory.mktemp("demo_data")
    for language in LANGUAGES:
        files = {name: demo.FOLDER / language / f"{name}.jsonl" for name in ("queries", "corpus")}
        lines = {name: path.read_text(encoding="utf-8").splitlines() for name, path in files.items()}
        queries = lines["queries"][::4]
        wanted = {note for query in map(json.loads, queries) for note in query["expected_notes"]}
        corpus = [line for n, line in enumerate(lines["corpus"]) if n % 4 == 0 or json.loads(line)["id"] in wanted]
        write_texts(folder / language, {"queries.jsonl": "\n".join(queries), "corpus.jsonl": "\n".join(corpus)})
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes of the demo data are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def service() -> Iterator[RagService]:
    """A service that says the same to every question."""
    with serving_answers() as serving:
        serving.respond = lambda question: {"answer": f"{question} 14 days.", "contexts": [{"id": "refunds"}]}
        yield serving


def at(unit: Unit, service: RagService) -> Unit:
    """The running service that a page asks is the one of the tests."""
    return replace(unit, text=re.sub(r"http://127\.0\.0\.1:900\d", service.url, unit.text))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("unit", UNITS, ids=[unit.first for unit in UNITS])
def test_every_command_runs(
    unit: Unit,
    cache: Path,
    small_demo: Path,
    server: ModelsServer,
    service: RagService,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if unit in RETOLD:
        _assert_written(unit)
        return
    if "# exit code" not in unit.text:
        monkeypatch.setattr(demo, "FOLDER", small_demo)
    _make_fewer_documents(monkeypatch)
    checked = ["dry_run=true"] if unit in CHECKED else []
    _run(at(unit, service), ["sample=10", f"cache_dir={cache}", *checked], server.url, monkeypatch)
    _assert_shown(VERDICT.sub("", unit.shown), capsys)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("unit", UNITS, ids=[unit.first for unit in UNITS])
def test_every_command_runs_over_all_cases(
    unit: Unit,
    server: ModelsServer,
    service: RagService,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _run(at(unit, service), [], server.url, monkeypatch)
    _assert_shown(unit.shown, capsys)


def _make_fewer_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of those that long.py makes, which are stored as what is ten times as large."""
    script = Path("long.py")
    text = script.read_text(encoding="utf-8")
    assert text.count("40_000") == 2
    script.write_text(text.replace("40_000, 4000", "4_000, 400").replace("40_000", "4_000"), encoding="utf-8")
    monkeypatch.setitem(CorpusStore.__init__.__kwdefaults__, "large_bytes", LARGE_BYTES // 10)


def _run(unit: Unit, quick: list[str], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in FILE.sub("", unit.text).splitlines():
        if printed := PRINTED.match(line):
            text, path, command = printed.groups()
            text = text.replace("\\n", "\n")
            if path:
                Path(path).write_text(text, encoding="utf-8")
                continue
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            line = f"python -m runner {command}"
        if script := SCRIPT.match(line):
            runpy.run_path(script[1])
        elif line and not line.startswith("mkdir -p "):
            run = RUN.match(line)
            assert run, line
            more = [
                "sample=60" if word.startswith("sample=") else word for word in quick
            ]  # an exit code hangs on cases
            few = more if "# exit code" in unit.text else quick
            assert main(words(run[1], few, url)) == int(run[2] or 0), line


def _write_files(text: str) -> None:
    for name, content in FILE.findall(text):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")


def words(line: str, quick: list[str], url: str) -> list[str]:
    """The words of a command; of a run, with fewer cases and without MLflow, and its models at the test server."""
    found = shlex.split(line.replace("http://127.0.0.1:8080/v1", url))
    if re.search(r"=openai\b", line) and "provider.local" not in line:
        where = {"base_url": url, "api_key_env": "null", "prices.base_url": "null"}
        found += [f"provider.openai.{name}={value}" for name, value in where.items()]
    if found[0] in COMMAND_NAMES:
        cached = [word for word in quick if word.startswith("cache_dir=") and found[0] == "reproduce"]
        return [*found, *quick] if found[0] == "plan" else [*found, *cached]
    if OWN_DATA.search(line):
        quick = [word for word in quick if word.startswith("dry_run=") and word not in found]
    is_sampled = any(word.startswith("sample=") for word in quick)
    return [*(word for word in found if not (is_sampled and word.startswith("sample="))), *quick, "tracking=none"]


def _assert_shown(shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The words before the first number of each line that a page shows are words that the program says. With fewer
    cases its numbers are others, and tables have other columns."""
    told = set(WORD.findall("".join(capsys.readouterr())))
    for line in shown.splitlines():
        missing = _words(line) - told
        assert not missing, f"a page shows {line!r}; the program does not say {', '.join(missing)}"


def _assert_written(unit: Unit) -> None:
    files = [*(ROOT / "runner" / "words").glob("*.ko.yaml"), *(ROOT / "runner").rglob("*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in files) + unit.text
    missing = {word for line in unit.shown.splitlines() for word in _words(line) if word not in texts}
    assert not missing, f"a page shows {', '.join(missing)}; no text of the program has that"


def _words(line: str) -> set[str]:
    return set(WORD.findall(re.split(r"[\d▲▼…]", line, maxsplit=1)[0]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_readme_is_short_and_holds_the_two_commands(language: str) -> None:
    setup = "python3 -m venv .venv && .venv/bin/pip install -e"
    for text in (text_of(READMES[language]), PAGES[language]["index.md"]):
        assert f"{setup} . && .venv/bin/python -m runner +experiment=full_rag k=3,5,10\n" in text
        assert f"{setup} '.[test]' && .venv/bin/python -m pytest -n logical --dist loadfile\n" in text
    assert len(text_of(READMES[language]).splitlines()) <= LONGEST_README


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_reference_is_that_of_the_code(language: str) -> None:
    missing = of_conf.without_korean() if language == "ko" else []
    assert not missing, f"tests/docs/korean.yaml says nothing of: {', '.join(missing)}"
    for path in sorted((FOLDERS[language] / "reference").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert text == reference.rewritten(text, language), f"{path} is not what the code has: make reference"


def test_every_choice_and_option_of_conf_has_words() -> None:
    assert [choice.path for choices in of_conf.groups().values() for choice in choices if not choice.text] == []
    assert [name for name, _, meaning in of_conf.options() if not meaning] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_scenario_of_the_documentation_can_be_run(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```yaml\n(version: 1\nconversations:.*?)```", TEXTS[language], re.S)
    Path("talks.yaml").write_text(example, encoding="utf-8")
    line = ["+experiment=memory", "scenario=file", "scenario.path=talks.yaml", "strict=true", "tracking=none", "out=o"]
    assert main(line) == 0
    found = json.loads(Path("o/summary.json").read_text(encoding="utf-8"))
    assert found["metrics"]["facts_present"]["value"] == found["metrics"]["stale_present"]["value"] == 1.0


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_trace_of_the_documentation_can_be_scored(language: str) -> None:
    (example,) = re.findall(r"```json\n(.*\"steps\".*)\n```", TEXTS[language])
    trace = trace_of(json.loads(example))
    # .405 x .2 + .5 x .25 + 1 x .1 + .92 x .45, less .1 for one tool only
    assert score_trace(trace).score == pytest.approx(0.62)
    assert (trace.rating, trace.created_at is None, trace.language) == (4.0, False, None)


@pytest.mark.parametrize("language", LANGUAGES)
def test_files_and_exit_codes_that_there_are_stand_in_the_reference(language: str, small_runs: Path) -> None:
    files = PAGES[language]["reference/files.md"]
    made = {
        path.name
        for folder in ("sweep", "sweep/0", "run")
        for path in (small_runs / folder).iterdir()
        if path.is_file()
    }
    assert {name for name in made if f"`{name}`" not in files} == set()
    listed = re.findall(r"^\| (\d+) \|", PAGES[language]["reference/exit-codes.md"], re.M)
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.RunnerError)]
    assert listed == ["0", "1", "2", "3", "4", "5", "130"]
    assert {str(kind.exit_code) for kind in kinds} <= set(listed)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_guide_names_the_methods_of_every_kind(language: str) -> None:
    rows = re.findall(r"^\| ([^|`]+) \| ((?:`\w+\(.*?\)`(?:, )?)+) \| `", PAGES[language]["project/extending.md"], re.M)
    named = [set(re.findall(r"`(\w+)\(", methods)) for _, methods in rows]
    assert named == [_methods(protocol) for protocol in PROTOCOLS.values()]
    if language == "en":
        assert [kind for kind, _ in rows] == list(PROTOCOLS)


def _methods(protocol: str) -> set[str]:
    module, _, name = protocol.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    names = getattr(kind, "__protocol_attrs__", None) or typing._get_protocol_attrs(kind)  # type: ignore[attr-defined]
    return {name for name in names if callable(getattr(kind, name, None))}


@pytest.mark.parametrize("language", LANGUAGES)
def test_links_lead_to_files_and_headings(language: str) -> None:
    folder = FOLDERS[language]
    of_pages = {folder / name: text for name, text in PAGES[language].items()}
    for page, text in ({READMES[language]: text_of(READMES[language])} | of_pages).items():
        for target in links(text):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            assert file.is_file(), f"{page}: {target}"
            assert not anchor or anchor in anchors(of_pages.get(file) or text_of(file)), f"{page}: {target}"


def test_both_languages_have_the_same_pages_and_headings() -> None:
    assert list(PAGES["en"]) == list(PAGES["ko"])
    for name, text in PAGES["en"].items():
        levels = [[level for level, _ in headings(page)] for page in (text, PAGES["ko"][name])]
        assert levels[0] == levels[1], name
        assert levels[0][0] == 1, name
    places = [
        set(re.findall(r"`?([\w/]+\.(?:py|json|jsonl|sqlite))\b", PAGES[language]["project/architecture.md"]))
        for language in LANGUAGES
    ]
    assert places[0] == places[1]


def test_every_page_stands_in_the_navigation() -> None:
    listed = re.findall(r"^ +- (?:\w+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == list(PAGES["en"])


@pytest.mark.slow
def test_the_site_is_built_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="pip install -e '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False)
    assert (done.returncode, problems(tmp_path)) == (0, [])
    for folder, inside in (("", "cache"), ("ko/", "캐시")):  # each language is searched by itself
        index = (tmp_path / folder / "search" / "search_index.js").read_text(encoding="utf-8")
        assert inside in index and '"location": "ko/' not in index


def test_help_names_every_command_group_and_option() -> None:
    text = manual()
    for name in (*(name.replace("_", "-") for name in COMMANDS), "retriever", "hybrid", "full_rag", "max_concurrency"):
        assert re.search(rf"\b{name}\b", text), name
    assert "_target_" not in text


def test_the_changelog_is_not_empty() -> None:
    assert re.search(r"^- \S", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
