"""Make a test set from a corpus: a model writes questions and checks them."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.commands import Command
from runner.data.files import expanded
from runner.errors import EvaluationError, InputError
from runner.records import DataProblem
from runner.system import terminal
from runner.words.wording import wording

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from runner.commands.generate.maker import Made, QuestionMaker

CONFIG = "generate"
COMMAND = Command(CONFIG, words="SETTING=VALUE", settings=CONFIG)
LISTS = ("question_type", "difficulty")


def main(argv: Sequence[str]) -> int:
    """Raises ConfigError with everything that is wrong, CorpusError, and EvaluationError when no question is left."""
    from runner.config.components import build
    from runner.run.preflight import announce

    cfg = settings(COMMAND.read(argv).words)
    out = expanded(cfg.out)
    spent = out.with_name(f".{out.stem}.ledger")
    cfg.models.out = str(spent)
    built = build(cfg.testset)
    maker: QuestionMaker = built.root
    from runner.commands.generate.files import check_out, write
    from runner.llm import ledger

    check_out(out)
    announce(cfg, built, "en")
    ledger.begin_again(spent, cfg.budget)
    made = maker.ordered()
    _tell_of_data(made.problems)
    asyncio.run(_ask(maker, made, cfg.budget.confirm_over))
    if not made.kept:
        raise EvaluationError(
            f"no question is left of {made.n_ordered} ordered, so nothing is written: {_dropped(made)}"
        )
    write(made, maker, out)
    terminal.write(_summary(made, maker, out))
    shutil.rmtree(spent, ignore_errors=True)
    return 0


async def _ask(maker: QuestionMaker, made: Made, confirm_over: float | None) -> None:
    """Raises InputError when the person at the terminal does not want to spend that much."""
    from runner.commands.generate.maker import expected

    found = await expected(maker, made)
    usd = None if found.nano_usd is None else found.nano_usd / 1e9
    cost = "cost unknown" if usd is None else f"${usd:.4f}"
    tokens = found.input_tokens + found.output_tokens
    terminal.note(f"{maker.model.name}: about {found.live:,} requests, {tokens:,} tokens, {cost}")
    is_much = usd is not None and confirm_over is not None and usd > confirm_over
    if is_much and sys.stdin.isatty() and sys.stderr.isatty():
        terminal.ask(wording("en", "plan")("question"))
        if sys.stdin.readline().strip().casefold() not in ("y", "yes", "예", "네"):
            raise InputError("not started; budget.confirm_over=null starts without asking")
    await maker.make(made)


def settings(words: Sequence[str]) -> DictConfig:
    """conf/generate.yaml with these overrides. Raises ConfigError with all problems."""
    from runner.config.settings import settings_of

    return settings_of(CONFIG, [_as_list(word) for word in words], "testset")


def _as_list(word: str) -> str:
    """`difficulty=easy,mid` as `difficulty=[easy,mid]`."""
    key, equals, value = word.partition("=")
    return f"{key}=[{value}]" if equals and key in LISTS and not value.startswith("[") else word


# --- words --------------------------------------------------------------------------------------------


def _tell_of_data(problems: Sequence[DataProblem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    for problem in errors[:5]:
        terminal.note(f"skipped {problem}")
    if len(errors) > 5:
        terminal.note(f"skipped {len(errors) - 5} more")


def _summary(made: Made, maker: QuestionMaker, out: Path) -> str:
    from runner.commands.generate.files import provenance_path

    answerable = sum(draft.slot.answerable for draft in made.kept)
    lines = [
        f"{out}: {len(made.kept)} questions, {answerable} answerable and {len(made.kept) - answerable} not, "
        f"about {len(made.orders)} of {len(made.corpus.chunks)} chunks",
        f"dropped {made.n_ordered - len(made.kept)} of {made.n_ordered}{': ' if made.dropped else ''}{_dropped(made)}",
        f"{maker.model.name}: {_used(maker)}",
        f"how it was made: {provenance_path(out)}",
    ]
    return "\n".join(lines) + "\n"


def _dropped(made: Made) -> str:
    from runner.commands.generate.maker import REASONS

    parts = [f"{made.dropped[reason]} because {words}" for reason, words in REASONS.items() if made.dropped[reason]]
    first = f" (the first: {made.failures[0]})" if made.failures else ""
    return "; ".join(parts) + first


def _used(maker: QuestionMaker) -> str:
    from runner.commands.generate.maker import CELL

    totals: dict[str, dict[str, Any]] = dict(maker.models.usage(CELL))["usage_total"]
    live, stored = totals["live"], totals["cached"]
    usd = "cost unknown" if live["usd"] is None else f"${live['usd']:.4f}"
    tokens = live["input_tokens"] + live["output_tokens"]
    return f"{live['requests']} requests, {tokens:,} tokens, {usd}; {stored['requests']} answered from the cache"
