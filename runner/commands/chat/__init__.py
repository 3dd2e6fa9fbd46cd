"""Chat in a terminal with a generator that has a memory and perhaps documents; `/eval QUESTION` judges the memory."""

from __future__ import annotations

import contextlib
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands import Command
from runner.errors import ConfigError, EvaluationError, Problem, StopRunError, did_you_mean
from runner.system import terminal
from runner.words.bilingual import in_language
from runner.words.wording import LANGUAGES

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from runner.commands.chat.aside import Aside
    from runner.commands.chat.talk import Talk
    from runner.config.components import BuiltComponents
    from runner.llm.models import Models
    from runner.protocols import Workspace
    from runner.text.language import Language

CONFIG = "chat"
COMMAND = Command(CONFIG, words="SETTING=VALUE", settings=CONFIG)
QUESTIONS = "dataset.queries"  # settings of a data set's questions, which a chat does not use
SEARCHING = ("retriever", "agent", "reranker", "k", "min_score", "follow_ups", "fallback")
PROBLEMS = 3  # problems of document files that are shown
PATIENCE_S = 1.0  # seconds of waiting without a message
PROMPT = "> "
STEERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # directions of writing


def main(argv: Sequence[str]) -> int:
    """Raises ConfigError with all problems, and StopRunError for errors that end the chat."""
    words = COMMAND.read(argv).words
    from runner.config.components import build
    from runner.config.settings import settings_of
    from runner.llm.models import models_among
    from runner.run.preflight import announce
    from runner.system.store import Store

    cfg = settings_of(CONFIG, words, CONFIG, absent=(QUESTIONS,))
    if problem := _searches_nothing(words, cfg):
        raise ConfigError([problem])
    components = build(cfg.chat)
    models = models_among(components.parts.values())
    _check(components, models)
    announce(cfg, components, components.root.language)
    try:
        workspace = Store(Path(str(cfg.cache_dir)), components.identities)
        converse(components.root, models, workspace, interactive=sys.stdin.isatty() and sys.stdout.isatty())
    finally:
        _tell_of_use(models, components.root.language)
    return 0


def _searches_nothing(words: Sequence[str], cfg: DictConfig) -> Problem | None:
    """Problems of settings for a search where there are no documents."""
    keys = [word.lstrip("+").partition("=")[0] for word in words]
    searching_key = next((key for key in keys if key.partition(".")[0].partition("@")[0] in SEARCHING), None)
    if searching_key is None or not str(cfg.dataset.get("_target_")).endswith(".NoDataset"):
        return None
    own = "dataset=vault dataset.notes=FOLDER or dataset=jsonl dataset.corpus=FILE"
    return Problem(searching_key, f"there are no documents to search; choose {own} for your own, or dataset=faq_guide")


def _check(components: BuiltComponents, models: Models | None) -> None:
    from runner.protocols import Preflight

    problems = [
        problem for part in components.parts.values() if isinstance(part, Preflight) for problem in part.preflight()
    ]
    if models is not None and models.cache_mode != "replay":
        problems += models.keys_missing([model.name for model in models.used])
    if problems:
        raise ConfigError(problems)


def converse(talk: Talk, models: Models | None, workspace: Workspace | None = None, *, interactive: bool) -> None:
    """Chat until the end of the input or /quit."""
    from runner.commands.chat.aside import Aside
    from runner.commands.chat.words import say

    with Aside(lambda: talk.open(models, workspace)) as aside:
        chat = _Chat(talk, aside, interactive)
        _tell_of_documents(talk, interactive)
        if interactive:
            chat.show(say("begin", talk.language, tenant=talk.key.tenant, session=talk.key.session))
        for raw in lines(interactive):
            line = read(raw)
            if line is not None and not chat.handle(line):
                break
        chat.finish()


def _tell_of_documents(talk: Talk, interactive: bool) -> None:
    from runner.commands.chat.words import say

    for problem in talk.problems[:PROBLEMS]:
        severity = LANGUAGES[talk.language].name("severity", problem.severity)
        terminal.note(f"{severity}: {in_language(str(problem), talk.language)}")
    if len(talk.problems) > PROBLEMS:
        terminal.note(say("more_problems", talk.language, n=len(talk.problems) - PROBLEMS))
    if interactive and talk.has_documents:
        corpus = talk.retrieval.corpus
        told = say("documents", talk.language, documents=len(corpus.documents), chunks=len(corpus.chunks))
        terminal.note(told)


class _Chat:
    def __init__(self, talk: Talk, aside: Aside, interactive: bool) -> None:
        self.talk, self.aside, self.interactive = talk, aside, interactive
        self.language = talk.language

    def handle(self, line: Line) -> bool:
        """Handle a line; false after /quit. An error is printed in one line, and the chat continues."""
        try:
            if line.command is None:
                self._say(line.text)
            elif line.command == "quit":
                return False
            else:
                self._command(line.command, line.text)
            if self.talk.new_failures():
                terminal.note(self._words("failed"))
        except StopRunError:
            raise
        except (EvaluationError, TimeoutError) as error:
            self._fail(str(error) or self._words("too_late"))
        return True

    def finish(self) -> None:
        """Wait until the memory is up to date, with a message where that takes long."""
        finishing = self.aside.start(self.talk.finish())
        try:
            finishing.result(PATIENCE_S)
        except TimeoutError:
            if not finishing.done():
                terminal.note(self._words("wait"))
            finishing.result()

    def show(self, text: str) -> None:

        terminal.write(f"{sanitise(text)}\n")
        sys.stdout.flush()

    def _say(self, text: str) -> None:
        from runner.commands.chat.words import sources

        try:
            turn = self.aside(self.talk.answer(text))
        except StopRunError:
            raise
        except (EvaluationError, TimeoutError) as error:
            self._fail(self._words("not_kept", error=str(error) or self._words("too_late")))
            return
        if self.interactive:
            self.show("\n".join([turn.answer.text, *sources(turn)]))
        else:
            self.show(" ".join(turn.answer.text.split()))
        if turn.answer.is_silent and not turn.answer.cut_off:
            terminal.note(self._words("no_answer"))
        if turn.answer.cut_off:
            terminal.note(self._words("cut_off"))
        self.aside(self.talk.remember(text, turn.answer))

    def _command(self, name: str, text: str) -> None:
        from runner.commands.chat.words import COMMANDS, help_text

        commands: Mapping[str, Callable[[str], str]] = {
            "eval": self._eval,
            "memory": self._memory,
            "entities": self._entities,
            "context": self._context,
            "forget": self._forget,
            "help": lambda _: help_text(self.language),
        }
        if name in commands:
            self.show(commands[name](text))
        else:
            near = did_you_mean(f"/{name}", [f"/{known}" for known in COMMANDS])
            self._fail(self._words("unknown", name=name) + (near if "did you mean" in near else ""))
            terminal.note(help_text(self.language))

    def _eval(self, question: str) -> str:
        from runner.commands.chat.words import judgement_text

        if not question:
            raise EvaluationError(self._words("usage_eval"))
        judgement = self.aside(self.talk.judgement(question))
        if judgement.error is not None:
            raise EvaluationError(judgement.error)
        return judgement_text(judgement, self.language)

    def _memory(self, _: str) -> str:
        from runner.commands.chat.words import memory_text

        return memory_text(self.aside(self.talk.state()), self.language)

    def _entities(self, _: str) -> str:
        from runner.commands.chat.words import entities_text

        return entities_text(self.aside(self.talk.state()), self.language)

    def _context(self, question: str) -> str:
        from runner.commands.chat.words import context_text

        shown = self.aside(self.talk.prepare_message(question)) if question else self.talk.last
        return context_text(shown, self.language)

    def _forget(self, _: str) -> str:
        self.aside(self.talk.forget())
        return self._words("forgotten")

    def _fail(self, message: str) -> None:
        """Print an error in one line, also the message of a server."""

        terminal.fail(" ".join(sanitise(message).split()))

    def _words(self, phrase: str, **values: object) -> str:
        from runner.commands.chat.words import say

        return say(phrase, self.language, **values)


def _tell_of_use(models: Models | None, language: Language) -> None:
    from runner.commands.chat.talk import CELL
    from runner.commands.chat.words import usage_lines

    for line in () if models is None else usage_lines(models.usage(CELL), language):
        terminal.note(line)


@dataclass(frozen=True, slots=True)
class Line:
    """A message, or `/command text`. `command` is in lower case, and None for a message."""

    text: str
    command: str | None = None


def read(line: str) -> Line | None:
    """Parse a line; None for a blank one. The text is NFC, without control characters; `//x` is the message `/x`."""
    text = sanitise(unicodedata.normalize("NFC", line)).strip().lstrip("\ufeff")
    if not text or all(unicodedata.category(character) in ("Cf", "Zs") for character in text):
        return None
    if not text.startswith("/"):
        return Line(text)
    if text.startswith("//"):
        return Line(text[1:])
    command, _, rest = " ".join(text[1:].split()).partition(" ")
    return Line(rest, command.casefold())


def lines(interactive: bool) -> Iterator[str]:
    """The lines until the end of the input (Ctrl-D), with a prompt in a terminal. Invalid bytes are replaced."""
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    if not interactive:
        yield from sys.stdin
        return
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - editing and history of lines
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            sys.stdout.write("\n")
            return


def sanitise(text: str) -> str:
    """The text without control and direction characters; line breaks and tabs stay, lone surrogates become question
    marks."""
    kept = (c for c in text if c in "\n\t" or not (unicodedata.category(c) == "Cc" or c in STEERING))
    return "".join(kept).encode("utf-8", "replace").decode("utf-8")
