"""The words of what people read: one YAML file a room and language in runner/words, and those of other packages."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from runner.errors import DataError

if TYPE_CHECKING:
    from runner.metrics.metric import Catalogue

SUPPORTED = ("en", "ko")
ROOMS = ("report", "agent", "links", "memory", "models", "compare", "html", "progress", "sweep", "traces", "service")


@dataclass(frozen=True, slots=True)
class Wording:
    """`say("key", name=value)` is the sentence of that key, its placeholders filled. `declared`: what a run said of its
    metrics; `labels`: those of metrics that were asked for, by name and k."""

    language: str
    texts: Mapping[str, str]
    declared: Catalogue | None = None
    labels: dict[tuple[str, int | None], str] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def catalogue(self) -> Catalogue:
        """The metrics that are spoken of; those of the built-in evaluations where no run is."""
        from runner.metrics.catalogue import built_in_catalogue

        return built_in_catalogue() if self.declared is None else self.declared

    def about(self, declared: Catalogue) -> Wording:
        """The words for a run with these metrics."""
        return replace(self, declared=declared)

    def of(self, evaluation: str | None) -> Wording:
        """The words of one evaluation: the text of `lost.title.links` takes the place of that of `lost.title`."""
        end = f".{evaluation}"
        own = {key.removesuffix(end): text for key, text in self.texts.items() if key.endswith(end)}
        return replace(self, texts={**self.texts, **own}) if own else self

    def with_words(self, folder: Traversable) -> Wording:
        """These words and those of another package: `en.yaml` of this folder, and `ko.yaml` where it is there.

            say = LANGUAGES["ko"].with_words(files("their_package") / "words")

        A language that has no file is said in English. A key that is runner's own is refused; a sentence for one
        evaluation is `KEY.EVALUATION`. Raises DataError with all that is wrong in the files.
        """
        english = read(folder / "en.yaml")
        theirs = folder / f"{self.language}.yaml"
        own_texts = read(theirs) if theirs.is_file() else english
        problems = [
            *(f"{folder}: {problem}" for problem in differences(english, own_texts)),
            *(
                f"{folder}: {key}: is a key of runner; call it {key}.EVALUATION"
                for key in own_texts
                if key in self.texts
            ),
        ]
        if problems:
            raise DataError("\n".join(problems))
        return replace(self, texts={**self.texts, **own_texts})

    def __call__(self, key: str, /, **values: Any) -> str:
        return self.texts[key].format(**values) if values else self.texts[key]

    def count(self, thing: str, n: int) -> str:
        """`1 run`, `2 runs`."""
        return self(f"one.{thing}") if n == 1 else self(f"many.{thing}", n=f"{n:,}")

    def name(self, group: str, value: str) -> str:
        """The word for a category; the category itself where it has none."""
        return self.texts.get(f"{group}.{value}", value)


@cache
def wording(language: str, *rooms: str) -> Wording:
    """The sentences of these rooms, whose keys differ, in one language."""
    texts: dict[str, str] = {}
    for room in rooms:
        texts |= read(files("runner") / "words" / f"{room}.{language}.yaml")
    return Wording(language, texts)


class _Languages(Mapping[str, Wording]):
    """The words of every report; a language is read on first use."""

    def __getitem__(self, language: str) -> Wording:
        if language not in SUPPORTED:
            raise KeyError(language)
        return wording(language, *ROOMS)

    def __iter__(self) -> Iterator[str]:
        return iter(SUPPORTED)

    def __len__(self) -> int:
        return len(SUPPORTED)

    def __contains__(self, language: object) -> bool:
        return language in SUPPORTED


LANGUAGES: Mapping[str, Wording] = _Languages()
_SPOKEN: ContextVar[str] = ContextVar("spoken", default="en")


def speak(language: object) -> None:
    """Set the language of `current_wording`: that of the command line, or of a run that a worker process makes."""
    _SPOKEN.set(supported_language(language))


def current_wording() -> Wording:
    """The words for notes that belong to no run: a damaged cache, a server that cannot count."""
    return LANGUAGES[_SPOKEN.get()]


def supported_language(language: object) -> str:
    """English in place of a language that has no words."""
    return language if isinstance(language, str) and language in SUPPORTED else "en"


def wording_of(run: Mapping[str, Any]) -> Wording:
    """The language that a run was configured with (`report.language`), English where it does not say, in the words
    of its evaluation and about the metrics that this declared. Raises ValueError where those are damaged."""
    options = (run.get("config") or {}).get("report") or {}
    say = LANGUAGES[supported_language(options.get("language"))].of(run.get("evaluation_type"))
    from runner.metrics.catalogue import DECLARED, catalogue_in

    return say.about(catalogue_in(run)) if DECLARED in run else say


def read(path: Traversable) -> dict[str, str]:
    """The sentences of a file of words, by key. Raises DataError with file and line."""
    import yaml

    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), loader())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{path}: not a file of words: {error}") from error
    if not isinstance(node, yaml.MappingNode):
        raise DataError(f"{path}: holds no sentences; expected lines of the form key: sentence")
    texts: dict[str, str] = {}
    for key, value in node.value:
        place = f"{path}:{key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode):
            raise DataError(f"{place}: expected key: sentence, with no mapping or list in it")
        if key.value in texts:
            raise DataError(f"{place}: {key.value} stands twice")
        texts[key.value] = value.value
    return texts


@cache
def loader() -> Any:
    """Every value is text, `no` and `1` too, so that nothing has to be resolved."""
    import yaml

    return type(
        "Loader", (getattr(yaml, "CBaseLoader", yaml.BaseLoader),), {"resolve": lambda self, kind, value, implicit: ""}
    )


def differences(english: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Keys that one language lacks, and sentences in which other values are filled in."""
    missing = [f"{key}: only one language has it" for key in sorted(english.keys() ^ other.keys())]
    return missing + [
        f"{key}: fills in {names}, in English {expected}"
        for key, text in other.items()
        if key in english and (names := _placeholders(text)) != (expected := _placeholders(english[key]))
    ]


def _placeholders(text: str) -> str:
    """`{n} {total}`, in the order of the alphabet."""
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError as error:
        return f"what cannot be read ({error})"
    return " ".join(f"{{{name}}}" for name in sorted(names)) or "nothing"
