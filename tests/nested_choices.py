"""Components of an evaluation whose notebook takes a shelf: a group of configuration within another one."""

from __future__ import annotations

from typing import Any, Protocol


class Shelf(Protocol):
    def put(self, text: str) -> None: ...


class Notebook(Protocol):
    def write(self, text: str) -> None: ...


class Wooden:
    def __init__(self, *, boards: int) -> None:
        self.boards = boards

    def put(self, text: str) -> None: ...


class Lined:
    def __init__(self, *, shelf: Shelf, pages: int = 10) -> None:
        self.shelf = shelf
        self.pages = pages

    def write(self, text: str) -> None: ...


class Reading:
    """An evaluation by its methods; no test runs it."""

    def __init__(self, *, notebook: Notebook) -> None:
        self.notebook = notebook

    def load(self) -> Any: ...

    async def prepare(self, cases: Any, workspace: Any) -> Any: ...

    async def run(self, case: Any) -> Any: ...

    async def judge(self, case: Any, output: Any) -> Any: ...

    def score(self, case: Any, output: Any, judgements: Any) -> Any: ...
