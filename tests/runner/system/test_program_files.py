from pathlib import Path

import pytest

from runner.system.program_files import program_files

SOURCES = {
    "app/main.py": "import helper\nfrom pkg import part\nimport os, json\n",
    "app/helper.py": "def f():\n    from pkg.deep.leaf import x\n",
    "app/pkg/__init__.py": "",
    "app/pkg/part.py": "from . import near\nfrom .deep import other\n",
    "app/pkg/near.py": "",
    "app/pkg/deep/__init__.py": "",
    "app/pkg/deep/leaf.py": "from ..above import y\n",
    "app/pkg/deep/other.py": "",
    "app/pkg/above.py": "",
    "app/unused.py": "",
    "app/os.txt": "no module",
    "conf.yaml": "a: 1",
    "broken.py": "def (",
}


@pytest.fixture(autouse=True)
def sources(empty_folder: Path) -> None:
    for name, text in SOURCES.items():
        path = empty_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


IMPORTED = {
    *("helper.py", "main.py", "pkg/__init__.py", "pkg/above.py", "pkg/deep/__init__.py"),
    *("pkg/deep/leaf.py", "pkg/deep/other.py", "pkg/near.py", "pkg/part.py"),
}


def test_words_that_are_files_and_the_modules_beside_them() -> None:
    named = program_files(["python", "app/main.py", "--conf=conf.yaml", "nothing.txt", "x" * 5000, "\0"])
    assert set(named) == {"app/main.py", "conf.yaml", *IMPORTED}


@pytest.mark.parametrize("words", [["python", "-m", "app.pkg.part"], ["python", "broken.py"]])
def test_a_module_by_its_name_and_a_file_that_is_no_python(words: list[str]) -> None:
    beside = {"app/pkg/__init__.py", "app/pkg/deep/__init__.py", "app/pkg/deep/other.py"}
    expected = {*beside, "app/pkg/near.py", "app/pkg/part.py"} if "-m" in words else {"broken.py"}
    assert set(program_files(words)) == expected


def test_an_edited_module_is_another_program() -> None:
    before = program_files(["python", "app/main.py"])
    Path("app/pkg/above.py").write_text("y = 2\n", encoding="utf-8")
    after = program_files(["python", "app/main.py"])
    assert {name for name in before if before[name] != after[name]} == {"pkg/above.py"}
