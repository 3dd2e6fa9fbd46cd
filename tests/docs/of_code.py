"""The parts of docs/LANGUAGE/reference that are made of code: commands with their arguments, `import runner`,
exceptions, and the settings of every choice as its YAML has them with comments."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from runner import errors
from runner.cli import COMMANDS
from runner.commands import REQUIRED, Command, Option, Place, _api, _value_text
from runner.config.settings import list_settings
from runner.words.wording import Wording, wording
from tests.docs.of_conf import Choice, groups, korean

COLUMNS = {"en": ("command", "argument", "what it does", "meaning"), "ko": ("명령", "인자", "하는 일", "뜻")}
ALIGNED = re.compile(r"^ {2}|\S {3,}\S", re.M)  # lines whose spaces matter: commands, columns


# --- commands ---------------------------------------------------------------------------------------


def commands(language: str) -> str:
    """A table of all commands, and a section for each: usage, what its help says, its arguments."""
    say = wording(language, "commands")
    known = [importlib.import_module(f"runner.commands.{name}").COMMAND for name in COMMANDS]
    head = COLUMNS[language]
    table = [f"| {head[0]} | {head[2]} |", "|---|---|"]
    table += [f"| [`{each.name}`](#{each.name}) | {_sentence(say(each.name, name=each.name))} |" for each in known]
    return "\n\n".join(["\n".join(table), *(section for each in known for section in _command(each, say, head))])


def _command(command: Command, say: Wording, head: tuple[str, ...]) -> Iterator[str]:
    yield f"## {command.name}"
    yield _sentence(say(command.name, name=command.name))
    yield f"```text\n{_wrapped(command.usage.removeprefix('usage: '))}\n```"
    if (more := f"{command.name}.more") in say.texts:
        yield from _paragraphs(say(more, name=command.name))
    arguments: list[Place | Option] = [*command.places, *command.options]
    if arguments:
        rows = [f"| {head[1]} | {head[3]} |", "|---|---|"]
        yield "\n".join([*rows, *(_row(each, say(f"{command.name}.{each.name}"), say) for each in arguments)])
    if command.settings:
        yield f"{say('settings')}:"
        yield f"```yaml\n{list_settings(command.settings).strip()}\n```"
    for part in command.parts.values():
        yield from (f"#{text}" if text.startswith("## ") else text for text in _command(part, say, head))


def _wrapped(usage: str) -> str:
    """A line of at most 80 characters for as many arguments as fit, those below it further in."""
    lines = [""]
    for part in re.findall(r"\[[^\]]*(?:\[[^\]]*\])?[^\]]*\]|\S+", usage):
        if len(lines[-1]) + len(part) > 80:
            lines.append("   ")
        lines[-1] += f" {part}" if lines[-1] else part
    return "\n".join(lines)


def _row(argument: Place | Option, meaning: str, say: Wording) -> str:
    shown = (argument.name.upper() if isinstance(argument, Place) else argument.shown).replace("|", "\\|")
    default = argument.default
    if default not in (None, REQUIRED, ()) and default != []:
        meaning += f" ({say('default', value=f'`{_value_text(default)}`')})"
    return f"| `{shown}` | {_sentence(meaning)} |"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.rstrip()
        if ALIGNED.search(lines):
            yield f"```text\n{textwrap.dedent(lines)}\n```"
        else:
            yield _sentence(" ".join(lines.split()))


def _sentence(text: str) -> str:
    """Markdown in which nothing is markup but what stands in backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part[:1] == "`" else re.sub(r"([<*|\[])", r"\\\1", part) for part in parts)


# --- Python -----------------------------------------------------------------------------------------


def python(_: str) -> str:
    """What `import runner` offers, by the docstrings; English in every language."""
    things = [(name, getattr(_api, name)) for name in _api.__all__]
    functions = [(name, thing) for name, thing in things if inspect.isfunction(thing)]
    parts = [part for name, function in functions for part in _function(f"runner.{name}", function, "##")]
    for name, kind in things:
        if inspect.isclass(kind):
            parts += [f"## runner.{name}", *_docstring(kind)]
            parts += [part for own, value in vars(kind).items() if own[0] != "_" for part in _member(own, value)]
    return "\n\n".join(parts)


def _member(name: str, value: Any) -> Iterator[str]:
    function = getattr(value, "fget", None) or getattr(value, "func", None)  # of a property, of a cached one
    if isinstance(value, FunctionType):
        yield from _function(name, value, "###")
    elif function is not None:
        yield f"### {name}"
        returned = inspect.signature(function).return_annotation
        yield "\n\n".join([f"`{returned}`", *_docstring(function)])


def _function(name: str, function: FunctionType, level: str) -> Iterator[str]:
    signature = inspect.signature(function)
    shown = [str(each).replace("'", "") for each in signature.parameters.values() if each.name != "self"]
    starred = next((n for n, each in enumerate(signature.parameters.values()) if each.kind is each.KEYWORD_ONLY), None)
    if starred is not None:
        shown.insert(starred, "*")
    line = f"{name}({', '.join(shown)}) -> {signature.return_annotation}"
    if len(line) > 80:
        line = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + f") -> {signature.return_annotation}"
    yield f"{level} {name}"
    yield f"```python\n{line}\n```"
    yield from _docstring(function)


def _docstring(thing: Any) -> Iterator[str]:
    """Its paragraphs; arguments and exceptions as lists, examples as code."""
    for paragraph in re.split(r"\n\s*\n", inspect.getdoc(thing) or ""):
        if paragraph.startswith(("Args:", "Raises:")):
            title, _, body = paragraph.partition("\n")
            lines = [
                f"- `{name}`: {_sentence(' '.join(meaning.split()))}"
                for name, meaning in re.findall(r"^(\w+): (.+(?:\n .+)*)", inspect.cleandoc(body), re.M)
            ]
            yield "\n".join(["Raises:", "", *lines] if title == "Raises:" else lines)
        elif paragraph.startswith(" "):
            yield f"```python\n{textwrap.dedent(paragraph)}\n```"
        elif paragraph.strip():
            yield _sentence(" ".join(paragraph.split()))


def exceptions(_: str) -> str:
    """The tree of runner.errors."""
    tree = (errors.__doc__ or "").partition("\n\n")[2].strip()
    return f"```text\n{tree}\n```"


# --- settings ---------------------------------------------------------------------------------------


def settings(language: str) -> str:
    """Every choice that can be set: what it is, and its YAML."""
    parts = []
    for group, choices in groups().items():
        sections = [text for choice in choices if (text := _settings(group, choice, language))]
        parts += [f"## {group}", *sections] if sections else []
    return "\n\n".join(parts)


def _settings(group: str, choice: Choice, language: str) -> str:
    if not choice.yaml:
        return ""
    meaning = choice.text if language == "en" else korean()["choices"][group][choice.name]
    return f"### {group}={choice.name}\n\n{_sentence(meaning)}\n\n```yaml\n{choice.yaml}\n```"


# --- HTTP -------------------------------------------------------------------------------------------


def http(language: str) -> str:
    """The requests of `serve`, by their tags; names and descriptions are those of its OpenAPI document."""
    from fastapi import FastAPI

    from runner.commands.serve.api import router

    app = FastAPI()
    app.include_router(router)
    document = app.openapi()
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["other"])[0]
            by_tag.setdefault(tag, []).extend(
                _request(f"{method.upper()} {path}", operation, document, COLUMNS[language])
            )
    return "\n\n".join(part for tag, parts in by_tag.items() for part in (f"## {tag}", *parts))


def _request(
    title: str, operation: Mapping[str, Any], document: Mapping[str, Any], head: tuple[str, ...]
) -> Iterator[str]:
    yield f"### `{title}`"
    yield from _paragraphs(operation.get("description") or operation["summary"])
    beside = [each for each in operation.get("parameters", ()) if each["in"] != "path"]
    rows = [(each["name"], each["schema"], each.get("description", "")) for each in beside]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = _resolved(content["schema"], document)
        rows += [(name, each, each.get("description", "")) for name, each in schema.get("properties", {}).items()]
    if rows:
        lines = [f"| {head[1]} | |", "|---|---|"]
        yield "\n".join([*lines, *(f"| `{name}` | {_field(schema, text)} |" for name, schema, text in rows)])
    codes = [code for code in operation["responses"] if code.startswith("2")]
    yield ", ".join(f"`{code}`" for code in codes)


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    resolved: Mapping[str, Any] = document["components"]["schemas"][name] if name else schema
    return resolved


def _field(schema: Mapping[str, Any], text: str) -> str:
    """What it means, and its default."""
    default = schema.get("default")
    shown = "" if default in (None, [], {}) else f" (`{json.dumps(default, ensure_ascii=False)}`)"
    return f"{_sentence(text)}{shown}".strip()
