"""python -m runner: a command, or a Hydra override line."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from runner import DISTRIBUTION, __version__
from runner.config.completion import ASKS, answer
from runner.errors import ComponentError, InputError, RunnerError, describe_unexpected, did_you_mean
from runner.system import redaction, terminal
from runner.system.collector import collect_seldom, end_quickly, put_off

if TYPE_CHECKING:
    from runner.config.arguments import Line

ROOT = Path(__file__).resolve().parent
VERSION = ("--version", "-V")
COMMANDS = tuple(sorted(path.stem for path in (ROOT / "commands").iterdir() if path.stem[0] != "_"))


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0 success, 1 input invalid, 2 corpus or index unusable, 3 evaluation failed,
    4 regression, 5 not comparable, 130 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        end_quickly()
    end_as_by_ctrl_c()
    _ready_streams()
    redaction.learn_environment()
    redaction.learn(words)
    with collect_seldom(freezes=False), redaction.guarded_streams():
        return _exit_code(words)


def _exit_code(words: Sequence[str]) -> int:
    try:
        return dispatch(words)
    except ComponentError as error:
        _fail_with_log(str(error), error, words)
        return error.exit_code
    except RunnerError as error:
        _fail(str(error), error.exit_code, words)
        return error.exit_code
    except KeyboardInterrupt:
        from runner.words.wording import current_wording

        terminal.note(current_wording()("progress.ended"))
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        from runner.system.writing import os_error_text

        _fail(os_error_text(error, "a file"), 3, words)
        return 3
    except MemoryError:
        _fail("the memory that this process may use is full", 3, words)
        return 3
    except Exception as error:
        _fail_with_log(f"unexpected {describe_unexpected(error)}", error, words)
        return 3


def _fail(message: str, exit_code: int, words: Sequence[str]) -> None:
    """Print an error, also in the language of the command line."""
    from runner.config.language import language_of
    from runner.words.bilingual import add_translation

    terminal.fail(add_translation(message, language_of(words), exit_code))


def _fail_with_log(message: str, error: BaseException, words: Sequence[str]) -> None:
    """Print a bug in one line, with the place of its traceback. No run has a folder for it yet."""
    from runner.system.writing import write_text

    log = Path(tempfile.mkdtemp(prefix="runner-")) / "error.log"
    write_text(log, "".join(traceback.format_exception(error)))
    _fail(f"{message}; {log} has the details", getattr(error, "exit_code", 3), words)


def dispatch(words: Sequence[str]) -> int:
    """Run a command, or what an override line asks for. Returns the exit code."""
    if tuple(words[:2]) == ASKS:
        return answer(words[words.index("--") + 1 :] if "--" in words else [], terminal.write)
    if words and words[0] in VERSION:
        terminal.lines(f"{DISTRIBUTION} {__version__}")
        return 0
    if {"-h", "--help"} & set(words) and not _is_command(words[0]):
        return _help([word for word in words if word not in ("-h", "--help")])
    if not (is_command := bool(words) and _is_command(words[0])):
        put_off()
    _refuse_shadows()
    _speak(words)
    if is_command:
        name = words[0].replace("-", "_")
        if name not in COMMANDS:
            raise InputError(f"no command '{words[0]}'{_suggestion(words[0])}")
        command = importlib.import_module(f"runner.commands.{name}")
        if {"-h", "--help"} & set(words):
            terminal.write(command.COMMAND.help(words[1:]))
            return 0
        return int(command.main(words[1:]))
    return run(words)


def _speak(words: Sequence[str]) -> None:
    from runner.config.language import language_of
    from runner.words.wording import speak

    speak(language_of(words))


def _suggestion(word: str) -> str:
    """What would have worked instead of an unknown command."""
    from runner.config.help import as_run, groups
    from runner.config.options import RunOptions

    if (meant := as_run(word)) is not None:
        return f"; an experiment is run with python -m runner {meant}"
    if word in groups() or word in RunOptions.model_fields:
        return f"; expected {word}=VALUE, without spaces"
    return did_you_mean(word, [command.replace("_", "-") for command in COMMANDS])


def run(words: Sequence[str]) -> int:
    """Run the cells of an override line, or rehearse them (`dry_run=true`). Returns the exit code."""
    from runner.config import arguments
    from runner.config.compose import plan_of, unused_settings
    from runner.run.sweep import launch
    from runner.words.wording import LANGUAGES

    line = arguments.read(words)
    if line.asks_hydra:
        return _ask_hydra(line, words)
    plan = plan_of(line)
    for name in unused_settings(plan.cells):
        terminal.note(LANGUAGES[plan.cells[0].cfg.report.language]("progress.unused", name=name))
    if plan.cells[0].cfg.dry_run:
        from runner.run.dry_run import dry_run

        return dry_run(plan)
    return launch(plan)


def _help(words: Sequence[str]) -> int:
    """Print help on everything, or on each GROUP=CHOICE."""
    from runner.config import arguments
    from runner.config.help import choice_manual, manual

    folders, choices = arguments.split_flags(words, arguments.CONFIG_FOLDER)
    arguments.check_folders(folders)
    choices = [word for word in choices if not word.startswith("-")]
    terminal.write("\n".join(choice_manual(word, folders) for word in choices) if choices else manual(folders))
    return 0


def _ask_hydra(line: Line, words: Sequence[str]) -> int:
    from runner.config import arguments
    from runner.config.compose import frozen_of
    from runner.config.folders import with_search_path
    from runner.config.frozen import unfolded_folder

    frozen, folders = frozen_of(line)
    with unfolded_folder(frozen) as folder:
        if folder is not None:
            words = [*with_search_path([], folders, frozen), *line.words]
        return _hydra_main([arguments.quote_argument(word) for word in words], folder)


def _hydra_main(arguments: Sequence[str], folder: Path | None) -> int:
    """Run Hydra on the configuration of the program or of a folder. Its exit code for wrong usage is 1, as
    everywhere here."""
    import hydra
    from hydra.errors import HydraException

    from runner.run.passes import task

    before = sys.argv
    sys.argv = ["runner", *arguments]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # raise what went wrong instead of printing it with a traceback
    try:
        path = "pkg://conf" if folder is None else str(folder.resolve())
        hydra.main(version_base="1.3", config_path=path, config_name="config")(task)()
    except SystemExit as ended:
        return 1 if ended.code else 0
    except (HydraException, ValueError) as error:
        raise InputError(" ".join(str(error).split())) from None
    finally:
        sys.argv = before
    return 0


def _ready_streams() -> None:
    """Python has None for a stream that was closed before it started (`<&-`); and what a terminal has no character
    for (−, ▲ and the bytes of a path, depending on its encoding) is shown by its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if name == "stdout" and isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  for as long as it runs


def _is_command(word: str) -> bool:
    return "=" not in word and word[:1] not in ("", "+", "~", "-")


def _refuse_shadows() -> None:
    """Under `python -m`, the working directory comes first: a foreign package there hides one of ours."""
    for name in ("plugins", "conf"):
        spec = find_spec(name)
        found = Path(spec.origin).resolve().parent.parent if spec and spec.origin else None
        if found != ROOT.parent:
            where = f"{found / name} hides" if found else "nothing provides"
            raise InputError(
                f"{where} the package '{name}' of runner; start from another folder, or use the command `runner`"
            )


def end_as_by_ctrl_c() -> None:
    """Treat SIGTERM as Ctrl-C. A scheduler or container that ends a job wants the effect of Ctrl-C, also where no
    terminal can send it: a shell starts background jobs with SIGINT ignored. Such a job still ignores SIGINT (the
    signal is blocked rather than ignored), but it has the handler by which asyncio cancels the main task and lets it
    clean up; a KeyboardInterrupt in another task would destroy the loop."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _as_ctrl_c)


def _as_ctrl_c(_: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)
