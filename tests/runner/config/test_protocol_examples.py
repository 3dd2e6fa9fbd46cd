"""Every protocol shows an example: a class with all of its members, whose code runs."""

import ast
import asyncio
import importlib
import inspect
import json
import re
import textwrap
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from typing_extensions import get_protocol_members

from runner.data.corpus import build_corpus
from runner.records import Context, Document, Query

MODULES = (
    "runner.protocols",
    "runner.domains.agent.protocols",
    "runner.domains.memory.protocols",
    "runner.domains.traces.protocols",
    "runner.domains.links.suggesting",
    "runner.domains.links.link_cases",
    "runner.retrieval.stores",
)
PROTOCOLS = [
    value
    for name in MODULES
    for value in vars(importlib.import_module(name)).values()
    if inspect.isclass(value) and value.__module__ == name and Protocol in value.__mro__
]


def example_of(protocol: type) -> ast.ClassDef:
    """The class in the docstring, up to the first line that is indented less."""
    text = inspect.cleandoc(protocol.__doc__ or "")
    begin = re.search(r"^( *)(?:@dataclass.*\n *)?class \w+.*:\n", text, re.MULTILINE)
    assert begin, f"{protocol.__name__}: its docstring has no example"
    indented = takewhile(lambda line: not line or line.startswith(f"{begin[1]} "), text[begin.end() :].split("\n"))
    (found,) = ast.parse(textwrap.dedent("\n".join([begin[0].rstrip(), *indented]))).body
    assert isinstance(found, ast.ClassDef)
    return found


def members_of(example: ast.ClassDef) -> set[str]:
    """Methods, attributes of the class, and attributes that its methods set."""
    functions = (node.name for node in example.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    names = (node for node in ast.walk(example) if isinstance(node, ast.Name | ast.Attribute))
    stored = (node for node in names if isinstance(node.ctx, ast.Store))
    return {*functions, *(node.id if isinstance(node, ast.Name) else node.attr for node in stored)}


def made(protocol: type, **names: Any) -> type:
    """The class of the example, with the names of the protocol's module and some more."""
    scope: dict[str, Any] = {**vars(importlib.import_module(protocol.__module__)), **names}
    module = ast.Module([example_of(protocol)], type_ignores=[])
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    module.body.insert(0, future)
    exec(compile(ast.fix_missing_locations(module), "<example>", "exec"), scope)
    return scope[example_of(protocol).name]  # type: ignore[no-any-return]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_a_protocol_has_an_example_with_its_own_members(protocol: type) -> None:
    example = example_of(protocol)
    own = get_protocol_members(protocol) & {*vars(protocol), *protocol.__annotations__}
    assert own <= members_of(example), own - members_of(example)
    for node in example.body:
        name = getattr(node, "name", "")
        if name in own and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and callable(vars(protocol)[name]):
            wanted = list(inspect.signature(vars(protocol)[name]).parameters)
            names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
            assert names == wanted or node.args.kwarg is not None, name


def named(name: str) -> type:
    return next(protocol for protocol in PROTOCOLS if protocol.__name__ == name)


def test_the_examples_of_a_pipeline_run_together(tmp_path: Path) -> None:
    path = tmp_path / "faq.json"
    entries = [{"id": "a", "answer": "Refunds take five days.", "question": "How long do refunds take?"}]
    path.write_text(json.dumps(entries), encoding="utf-8")
    chunker = made(named("Chunker"), re=re)()
    reading = {"json": json, "Document": Document, "build_corpus": build_corpus}
    data = made(named("Dataset"), **reading)(path=str(path), chunker=chunker).load()
    assert [query.relevance for query in data.queries] == [{"a": 1}]
    retriever = made(named("Retriever"))()
    retriever.index(data.corpus, None)
    (ranking,) = retriever.search([Query("1", "five days", True, {})], 5)
    assert (len(ranking.ids), ranking.scores) == (1, (0.5,))  # "days." is another word
    answer = asyncio.run(made(named("Generator"))().generate(data.queries[0], [Context("a", "Five days. No more.")]))
    assert (answer.text, answer.citations) == ("Five days [1]", (1,))
    judgement = asyncio.run(made(named("Judge"))().judge("brief", {"answer": answer.text}))
    assert (judgement.score, judgement.reasoning) == (1.0, "The answer has 3 words.")
    passages = chunker.passages("One\n\n  Two\n")
    assert [(passage.start, passage.end) for passage in passages] == [(0, 3), (7, 10)]
    embedder = made(named("Embedder"), np=np)()
    embedder.prepare(["ab", "b"], None)
    assert embedder.embed(["ab", "b", "-"], "query") == pytest.approx(np.array([[0.5**0.5] * 2, [0, 1], [0, 0]]))
    assert made(named("Tokenizer"))().tokenize(["Five Days"]) == [["five", "days"]]
