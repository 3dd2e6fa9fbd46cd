"""What counts as the source of a thing, and hashes that change with what it does and with nothing else."""

import ast
import sys
from pathlib import Path

import pytest

from runner.config.schema import load
from runner.system import sources
from runner.system.sources import _closure, _shape, builds, code_digest, data_digest, data_files, scores, syntax_digest
from tests.small_data import write_texts

ROOT = Path(__file__).resolve().parents[3]
SOURCE = '''
"""A module."""
from runner.metrics.measure import Measure

NAMES = (
    "one",
    "two",
)


def double(x: int) -> int:
    """Twice."""
    return x * 2  # not three times
'''


def forget() -> None:
    """A process looks at a module once; these tests change theirs."""
    for remembered in vars(sources).values():
        if hasattr(remembered, "cache_clear"):
            remembered.cache_clear()
    sys.path_importer_cache.clear()


@pytest.fixture(autouse=True)
def forgetful() -> None:
    forget()


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


# --- the closure ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "import pack.a.b",
        "import json, pack.a.b as c",
        "from pack.a import b",
        "from pack.a.b import thing",
        "from pack.a import (\n    nothing,  # (or less)\n    b as c,\n)",
        "from pack.a import nothing, \\\n    b",
        "from .a import b",
        "from .a.b import (thing)",
        "from . import a; from .a import b",
        "from pack.a import *",
        "def compile_late():\n    import pack.a.b",
        "class A:\n    def compile_late(self):\n        from .a import b",
        "try: import pack.a.b\nexcept ImportError: pass",
        "import importlib\nx = importlib.import_module('pack.a.b')",
        "import importlib\nx = importlib.import_module('.a.b', __package__)",
        'x = __import__("pack.a.b")',
        "import pack.a.b\r\n",
    ],
)
def test_every_way_to_import_a_module_counts(path: Path, line: str) -> None:
    write_texts(
        path, {"pack/__init__.py": "", "pack/main.py": line, "pack/a/__init__.py": "", "pack/a/b.py": "thing = 1"}
    )
    assert _closure(["pack.main"], builds) == {"pack", "pack.main", "pack.a", "pack.a.b"}
    assert not [name for name in sys.modules if name.split(".")[0] == "pack"]


def test_names_relative_to_packages(path: Path) -> None:
    write_texts(
        path,
        {
            "deep/__init__.py": "from .one import x",
            "deep/one.py": "x = 1",
            "deep/two/__init__.py": "from . import here\nfrom ..three import z",
            "deep/two/here.py": "from ...deep import four",
            "deep/three.py": "z = 1",
            "deep/four.py": "",
            "deep/unused.py": "",
        },
    )
    names = {"deep", "deep.one", "deep.two", "deep.two.here", "deep.three", "deep.four"}
    assert _closure(["deep.two.here"], builds) == names


def test_a_namespace_package_in_two_folders(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_texts(path, {"one/space/main.py": "from space import helper", "two/space/helper.py": ""})
    for name in ("one", "two"):
        monkeypatch.syspath_prepend(path / name)
    assert _closure(["space.main"], builds) == {"space", "space.main", "space.helper"}


def test_a_module_that_lies_beside_counts_and_what_is_installed_does_not(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = path / "lib" / "site-packages"
    write_texts(path, {"mine.py": "import helper, numpy, json, theirs, flat", "helper.py": ""})
    write_texts(installed, {"theirs/__init__.py": "from theirs import inner", "theirs/inner.py": "import company"})
    write_texts(installed, {"company.py": ""})
    write_texts(path / "elsewhere", {"flat.py": "", "flat-1.dist-info/METADATA": ""})
    for folder in (installed, path / "elsewhere"):
        monkeypatch.syspath_prepend(folder)
    assert _closure(["mine"], builds) == {"mine", "helper"}
    assert _closure(["theirs.inner"], builds) == {"theirs", "theirs.inner"}  # of an installed one: its own package


def test_what_is_imported_for_types_only_does_not_count(path: Path) -> None:
    text = "if TYPE_CHECKING:\n    import aside\n\n    from aside import x\nimport beside\n"
    write_texts(path, {"typed.py": f"from typing import TYPE_CHECKING\n{text}", "aside.py": "", "beside.py": ""})
    assert _closure(["typed"], builds) == {"typed", "beside"}


def test_modules_that_are_gone_broken_or_import_each_other(path: Path) -> None:
    write_texts(
        path, {"round.py": "import square, no_such_module, no.such\nfrom .. import x", "square.py": "import round\n("}
    )
    assert _closure(["round"], builds) == {"round", "square"}
    assert syntax_digest(["round"]) != code_digest("round")
    assert code_digest("no_such_module") == code_digest()


def test_a_changed_helper_changes_the_digests(path: Path) -> None:
    found = []
    for number in (1, 1, 2):
        forget()
        write_texts(path, {"user.py": "import help_one", "help_one.py": f"N = {number}"})
        found.append((code_digest("user"), syntax_digest(["user"])))
    assert found[0] == found[1]
    assert found[0][0] != found[2][0] and found[0][1] != found[2][1]


# --- this program -----------------------------------------------------------------------------------

PLUGINS = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in (ROOT / "plugins").glob("*/*.py")
    if file.stem != "__init__" and file.parent.name != "tracking"
)


def test_no_report_builds_anything() -> None:
    modules = [*PLUGINS, "runner.retrieval.rankings", "runner.run.engine", "runner.domains.links.store"]
    closures = {module: _closure([module], builds) for module in modules}
    reports = {
        module: [name for name in closure if name.startswith(sources.NOT_BUILDING)]
        for module, closure in closures.items()
    }
    assert len(PLUGINS) > 50 and {module: names for module, names in reports.items() if names} == {}
    assert [module for module, closure in closures.items() if module not in closure] == []


def test_what_does_not_build_is_there() -> None:
    for name in (*sources.NOT_BUILDING, *sources.SCORING):
        assert sources._file(name) is not None, name


def test_what_a_retriever_of_this_program_is_made_of() -> None:
    closure = _closure(["plugins.retriever.keyword"], builds)
    assert {
        "plugins.retriever.keyword",
        "runner.text.ordering",
        "runner.domains.links.graph_rerank",
        "runner.system.store",
    } <= closure
    assert not {"plugins.retriever.semantic", "runner.metrics.ranking", "runner.llm.model"} & closure


def test_a_judge_from_elsewhere_is_its_own_code_and_what_scores(path: Path) -> None:
    for name, line in (("judge_one", "from runner.text.claims import claims"), ("judge_two", "claims = list")):
        write_texts(path, {f"{name}.py": f"from runner.llm.votes import x\nimport judge_aid\n{line}\n"})
    write_texts(path, {"judge_aid.py": "X = 1\n"})
    assert syntax_digest(["judge_one"]) != syntax_digest(["judge_two"])
    closure = _closure(["judge_one"], scores)
    assert {"judge_one", "judge_aid", "runner.text.claims", "runner.text.sentences"} <= closure
    assert not {"runner.text.claims.claims", "runner.llm.votes"} & closure
    assert "judge_one" not in sys.modules


# --- files of data ----------------------------------------------------------------------------------


def test_files_of_data(path: Path) -> None:
    write_texts(
        path,
        {
            "dated/__init__.py": "",
            "dated/base.py": "class Base:\n    data_files = 'one.txt'\n",
            "dated/child.py": "from dated.base import Base\n"
            "class Child(Base):\n    data_files = ['../two', 'three.csv']\n",
            "dated/one.txt": "1",
            "two/b/c.txt": "2",
            "two/a.txt": "3",
            "dated/three.csv": "4",
        },
    )
    child = load("dated.child.Child")
    found = [file.resolve().relative_to(path.resolve()).as_posix() for file in data_files(child)]
    assert found == ["two/a.txt", "two/b/c.txt", "dated/three.csv", "dated/one.txt"]
    before = data_digest(child)
    sources._file_digest.cache_clear()
    write_texts(path, {"dated/one.txt": "5"})
    after = data_digest(child)
    assert before[:3] == after[:3] and before[3] != after[3]
    (path / "dated" / "three.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"data_files of Child: no 'three\.csv' in"):
        data_files(child)


def test_most_things_have_none() -> None:
    assert data_files(load("plugins.retriever.keyword.KeywordRetriever")) == []
    assert data_files(len) == data_files(_shape) == []


# --- syntax -----------------------------------------------------------------------------------------


def shape(source: str) -> str:
    return _shape(ast.parse(source))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A module.", "Another docstring."),
        ('    """Twice."""\n', ""),
        ("  # not three times", ""),
        ('(\n    "one",\n    "two",\n)', '("one", "two")'),
        ("\n\n\ndef", "\n\ndef"),
    ],
)
def test_layout_comments_and_docstrings_do_not_count(old: str, new: str) -> None:
    assert old in SOURCE and shape(SOURCE.replace(old, new)) == shape(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"), [("x * 2", "x * 3"), ('"two"', '"three"'), ("x: int", "y: int"), ("-> int", "")]
)
def test_code_counts(old: str, new: str) -> None:
    assert old in SOURCE and shape(SOURCE.replace(old, new)) != shape(SOURCE)


def test_every_version_of_python_sees_the_same() -> None:
    """Fields that are empty are left out: newer versions know `type_params` and the like."""
    assert "type_params" not in shape(SOURCE)
    assert shape("f(1)") == (
        "['Module', ('body', [['Expr', ('value', ['Call', ('func', ['Name', ('id', 'f'), ('ctx', ['Load'])]), "
        "('args', [['Constant', ('value', 1)]])])]])]"
    )


def test_import_statements_are_found_as_by_their_pattern_alone() -> None:
    odd = [
        "from a import b; import c;import d",
        "x: import a\nfrom b import (c, # import d\n  d)  ; from e import f",
        "from a import;import b\nfrom a import\nimport",
        "import a as b, import_c\n# import d\n'from e import f'\nlambda: import_(g)\n\tfrom . import h",
        "from .. import a\nfrom .b import *\nimportant = 1\nreimport x",
    ]
    packages = [Path(sources.__file__).parents[1], Path(ast.__file__).parent / "asyncio"]
    texts = [path.read_text(encoding="utf-8") for package in packages for path in package.rglob("*.py")]
    for text in [*odd, *texts]:
        found = [(match.span(), match.groups()) for match in sources._import_statements(text)]
        assert found == [(match.span(), match.groups()) for match in sources.IMPORT.finditer(text)]


def reference_shape(node: object) -> object:
    """As it is said: what was hashed before must be hashed alike."""
    if isinstance(node, list):
        kept = [item for item in node if not sources._is_docstring(item) and not sources._is_record(item)]
        return [reference_shape(item) for item in kept]
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, value) for name, value in ast.iter_fields(node) if value is not None and value != []]
    return [type(node).__name__, *((name, reference_shape(value)) for name, value in fields)]


@pytest.mark.parametrize("folder", ["metrics", "text", "domains/memory", "system"])
def test_the_shape_of_a_module_is_what_was_hashed_before(folder: str) -> None:
    for path in (Path(sources.__file__).parents[1] / folder).glob("*.py"):
        tree = ast.parse(path.read_bytes())
        assert _shape(tree) == repr(reference_shape(tree)), path
