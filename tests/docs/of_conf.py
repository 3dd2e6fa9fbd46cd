"""The tables of options and groups in docs/LANGUAGE/reference, made from conf.

English words come from the comments of
the YAML files: the first sentence at the top of a choice, what stands behind an option. Korean ones come from
korean.yaml beside this file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from runner.config.help import _without_defaults
from tests.docs.pages import ROOT

CONF = ROOT / "conf"
KOREAN = Path(__file__).with_name("korean.yaml")
FIRST = (
    "experiment",
    "evaluation",
    "dataset",
    "dataset/chunker",
    "retriever",
    "agent",
    "reranker",
    "tokenizer",
    "embedder",
    "generator",
    "judge",
    "metric",
    "scenario",
    "memory",
    "memory/store",
    "memory/summariser",
    "suggester",
    "novelty",
    "profile",
    "provider",
    "regression",
    "tracking",
)
MAIN = ("config.yaml", "evaluation/full_rag.yaml")  # where the default of a group stands that several have
TEXTS = ("label", "meaning", "criteria", "names", "measure")  # of a metric: what it is, not how it is set
SHARED = 5  # a setting with the same default in that many choices stands below the table, once
WORDS = {
    "en": {
        "default": "default",
        "loaded": "loaded",
        "default_of": "default of {}",
        "chosen_by": "{} chooses it",
        "required": "required",
        "choice": "choice",
        "settings": "settings: {}",
        "shared": "{}: {}.",
        "options": "| option | default | meaning |",
    },
    "ko": {
        "default": "기본값",
        "loaded": "늘 읽음",
        "default_of": "{}의 기본값",
        "chosen_by": "{}이 고름",
        "required": "필수",
        "choice": "선택지",
        "settings": "설정: {}",
        "shared": "{}: {}.",
        "options": "| 옵션 | 기본값 | 뜻 |",
    },
}


@dataclass(frozen=True, slots=True)
class Choice:
    group: str
    name: str
    path: Path

    @property
    def text(self) -> str:
        """The first sentence of the comment at the top."""
        lines = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# @package"):
                continue
            if not line.startswith("# ") or line.startswith("#  "):
                break
            lines.append(line.removeprefix("# "))
        match = re.match(r"(.+?)(?:\.(?=\s|$)|(?<=\?)(?=\s|$)|$)", " ".join(lines))
        return match[1] if match else ""

    @property
    def yaml(self) -> str:
        """What can be set, with its comments, as it stands in the file; empty where that is nothing."""
        lines = [
            line for line in self.path.read_text(encoding="utf-8").splitlines() if not line.startswith("# @package")
        ]
        text = "\n".join(line for line in _without_defaults(lines) if not line.startswith("_target_:")).strip()
        return "" if all(line.startswith("#") for line in text.splitlines()) else text

    @property
    def linked(self) -> str:
        """Its name, with a link to its settings."""
        anchor = re.sub(r"[^\w-]", "", f"{self.group}{self.name}")
        return f"[`{self.name}`](settings.md#{anchor})" if self.yaml else f"`{self.name}`"

    def settings(self) -> dict[str, str]:
        """What can be set, by its dotted name, as it is typed; without what comes from elsewhere in the run."""
        body = yaml.safe_load(self.path.read_text(encoding="utf-8")) or {}
        found = dict(_settings(body, "")) if "_target_" in body or self.group == "provider" else {}
        return {name: value for name, value in found.items() if (name, value) != ("name", self.name)}

    def rules(self) -> list[str]:
        """Of a regression: what each rule looks at, and what it lets go."""
        body = yaml.safe_load(self.path.read_text(encoding="utf-8")) or {}
        return [
            f"`{rule['metric']}` {rule['margin']}"
            + "".join(f" ({name} {value})" for name, value in rule.get("slice", {}).items())
            for rule in body.get("rules", ())
        ]


def _settings(body: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in body.items():
        if name in ("_target_", "defaults", "rules", *TEXTS) or not re.fullmatch(r"\w+", str(name)):
            continue
        if isinstance(value, dict) and value:
            if prefix.count(".") < 1:
                yield from _settings(value, f"{prefix}{name}.")
        elif (
            value != {}
            and "${" not in str(value)
            and not (isinstance(value, list) and any(isinstance(one, dict) for one in value))
        ):
            yield f"{prefix}{name}", _typed(value)


def _typed(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(_typed, value))}]"
    return '""' if value == "" else str(value)


def groups() -> dict[str, list[Choice]]:
    found: dict[str, list[Choice]] = defaultdict(list)
    for path in sorted(CONF.glob("*/**/*.yaml")):
        group = path.parent.relative_to(CONF).as_posix()
        found[group].append(Choice(group, path.stem, path))
    order = [group for group in FIRST if group in found]
    return {group: found[group] for group in [*order, *sorted(set(found) - set(order))]}


def defaults() -> dict[tuple[str, str], list[str]]:
    """(group, choice) -> the files that choose it, conf/config.yaml first and full_rag before other evaluations."""
    chosen = defaultdict(list)
    files = sorted(
        (path for path in CONF.glob("**/*.yaml") if path.parent != CONF or path.stem == "config"),
        key=lambda path: (path.parent != CONF, path.stem != "full_rag", path.as_posix()),
    )
    for path in files:
        body = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        for entry in body.get("defaults", ()):
            for key, value in entry.items() if isinstance(entry, dict) else ():
                group, _, where = key.removeprefix("override ").removeprefix("/").partition("@")
                if key.startswith("override ") or path.stem == "config":
                    own = group
                elif where:
                    own = group if where == f"_global_.{group}" else ""
                else:
                    own = f"{path.parent.relative_to(CONF).as_posix()}/{group}"
                for choice in value if isinstance(value, list) else [value]:
                    if path.relative_to(CONF).as_posix() not in chosen[own, choice]:
                        chosen[own, choice].append(path.relative_to(CONF).as_posix())
    return chosen


def _marks(choice: Choice, chosen: Mapping[tuple[str, str], list[str]], words: Mapping[str, str]) -> str:
    """` (default)` behind what every run or full_rag has, ` (default of `links`)` behind what others have."""
    files = chosen.get((choice.group, choice.name), [])
    rivals = {name for group, name in chosen if group == choice.group}
    if choice.group == "provider" and files:
        return f" ({words['loaded']})"
    if any(file in MAIN for file in files) or (files and len(rivals) == 1):
        return f" ({words['default']})"
    kinds = (("evaluation/", "default_of", "`{}`"), ("experiment/", "chosen_by", "`+experiment={}`"))
    for folder, word, form in kinds if choice.group != "evaluation" else ():
        names = [form.format(Path(file).stem) for file in files if file.startswith(folder)]
        if names:
            return f" ({words[word].format(', '.join(names))})"
    return ""


@cache
def korean() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(KOREAN.read_text(encoding="utf-8"))
    return found


def without_korean() -> list[str]:
    """Choices and options that have no Korean words yet."""
    found = korean()
    wanted = [f"choices.{group}.{choice.name}" for group, choices in groups().items() for choice in choices]
    wanted += [f"options.{name}" for name, _, _ in options()]
    known = {f"choices.{group}.{name}" for group, names in found["choices"].items() for name in names}
    known |= {f"options.{name}" for name in found["options"]}
    return [name for name in wanted if name not in known]


def group_tables(language: str) -> str:
    words, chosen = WORDS[language], defaults()
    return "\n\n".join(_table(group, choices, chosen, language, words) for group, choices in groups().items())


def _table(
    group: str,
    choices: list[Choice],
    chosen: Mapping[tuple[str, str], list[str]],
    language: str,
    words: Mapping[str, str],
) -> str:
    settings = {choice.name: choice.settings() for choice in choices}
    shared = _shared(settings)
    column = any(settings.values())
    form = f"`{group.replace('/', '.')}.{'CHOICE.' if group == 'provider' else ''}NAME=VALUE`"
    rows = [
        f"## {group}\n",
        f"| {words['choice']} | |{' ' + words['settings'].format(form) + ' |' if column else ''}",
        "|---|---|" + "---|" * column,
    ]
    first = sorted(choices, key=lambda choice: "(" + words["default"] + ")" not in _marks(choice, chosen, words))
    for choice in first:
        text = choice.text if language == "en" else korean()["choices"][group][choice.name]
        own = ", ".join(
            f"`{name}` ({words['required']})" if value == "???" else f"`{name}={value}`"
            for name, value in settings[choice.name].items()
            if (name, value) not in shared
        )
        own = "; ".join(filter(None, [", ".join(choice.rules()), own]))
        cells = [choice.linked, _escaped(text) + _marks(choice, chosen, words), *([own] if column else [])]
        rows.append("| " + " | ".join(cells) + " |")
    by_owners: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (name, value), owners in shared.items():
        by_owners[tuple(owners)].append(f"`{name}={value}`")
    lines = [
        words["shared"].format(", ".join(f"`{owner}`" for owner in owners), ", ".join(names))
        for owners, names in by_owners.items()
    ]
    return "\n".join(rows) + "".join(f"\n\n{line}" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _shared(settings: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], list[str]]:
    owners: dict[tuple[str, str], list[str]] = defaultdict(list)
    for choice, own in settings.items():
        for pair in own.items():
            owners[pair].append(choice)
    return {pair: names for pair, names in owners.items() if len(names) >= SHARED and pair[1] != "???"}


def options() -> Iterator[tuple[str, str, str]]:
    """Every option of a run: its name, its default as it is typed, what stands behind it."""
    outer = ""
    for line in (CONF / "config.yaml").read_text(encoding="utf-8").partition("\n\n")[2].splitlines():
        match = re.match(r"(\s*)(\w+):\s*([^#]*?)\s*(?:#\s*(.*))?$", line)
        if match is None:
            continue
        indent, name, value, meaning = match.groups()
        if name == "models" and not indent:
            return
        if not value:
            outer = name
            continue
        outer = outer if indent else ""
        yield f"{outer}.{name}" if outer else name, _typed(yaml.safe_load(value)), meaning or ""


def option_table(language: str) -> str:
    rows = [WORDS[language]["options"], "|---|---|---|"]
    for name, default, meaning in options():
        text = meaning if language == "en" else korean()["options"][name]
        rows.append(f"| `{name}` | {default} | {_escaped(text)} |")
    return "\n".join(rows)
