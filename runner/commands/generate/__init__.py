"""Make a test set from a corpus: a model writes questions and checks them."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.commands import Command
from runner.config.language import language_of
from runner.data.files import expanded
from runner.data.problems import skipped
from runner.errors import EvaluationError, InputError
from runner.system import terminal
from runner.words.wording import Wording, wording

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
    say = wording(language_of(argv), "outcomes")
    out = expanded(cfg.out)
    spent = out.with_name(f".{out.stem}.ledger")
    cfg.models.out = str(spent)
    built = build(cfg.testset)
    maker: QuestionMaker = built.root
    from runner.commands.generate.files import check_out, write
    from runner.llm import ledger

    check_out(out)
    announce(cfg, built, say.language)
    ledger.begin_again(spent, cfg.budget)
    made = maker.ordered()
    for line in skipped(made.problems, say):
        terminal.note(line)
    asyncio.run(_ask(maker, made, cfg.budget.confirm_over, say))
    if not made.kept:
        reasons = _dropped(made, wording("en", "outcomes"))
        raise EvaluationError(f"no question is left of {made.n_ordered} ordered, so nothing is written: {reasons}")
    write(made, maker, out)
    terminal.lines(*_summary(made, maker, out, say))
    shutil.rmtree(spent, ignore_errors=True)
    return 0


async def _ask(maker: QuestionMaker, made: Made, confirm_over: float | None, say: Wording) -> None:
    """Raises InputError when the person at the terminal does not want to spend that much."""
    from runner.commands.generate.maker import expected

    found = await expected(maker, made)
    usd = None if found.nano_usd is None else found.nano_usd / 1e9
    cost = say("unknown_cost") if usd is None else f"${usd:.4f}"
    tokens = f"{found.input_tokens + found.output_tokens:,}"
    terminal.note(
        say("generate.expected", model=maker.model.name, requests=f"{found.live:,}", tokens=tokens, cost=cost)
    )
    is_much = usd is not None and confirm_over is not None and usd > confirm_over
    if is_much and sys.stdin.isatty() and sys.stderr.isatty():
        terminal.ask(wording(say.language, "plan")("question"))
        if sys.stdin.readline().strip().casefold() not in ("y", "yes", "예", "네"):
            raise InputError("not started; budget.confirm_over=null starts without asking")
    await maker.make(made, say.language)


def settings(words: Sequence[str]) -> DictConfig:
    """conf/generate.yaml with these overrides. Raises ConfigError with all problems."""
    from runner.config.settings import settings_of

    return settings_of(CONFIG, [_as_list(word) for word in words], "testset")


def _as_list(word: str) -> str:
    """`difficulty=easy,mid` as `difficulty=[easy,mid]`."""
    key, equals, value = word.partition("=")
    return f"{key}=[{value}]" if equals and key in LISTS and not value.startswith("[") else word


# --- words --------------------------------------------------------------------------------------------


def _summary(made: Made, maker: QuestionMaker, out: Path, say: Wording) -> list[str]:
    from runner.commands.generate.files import provenance_path

    n, n_dropped = len(made.kept), made.n_ordered - len(made.kept)
    answerable = sum(draft.slot.answerable for draft in made.kept)
    counts = {"n": n, "answerable": answerable, "unanswerable": n - answerable}
    chunks = {"asked": len(made.orders), "total": len(made.corpus.chunks)}
    dropped = say("generate.dropped", n=n_dropped, total=made.n_ordered, reasons=_dropped(made, say))
    return [
        say("generate.written", out=out, **counts, **chunks),
        dropped if n_dropped else say("generate.dropped_none", total=made.n_ordered),
        _used(maker, say),
        say("generate.provenance", path=provenance_path(out)),
    ]


def _dropped(made: Made, say: Wording) -> str:
    from runner.commands.generate.maker import REASONS

    parts = [say(f"dropped.{reason}", n=made.dropped[reason]) for reason in REASONS if made.dropped[reason]]
    reasons = "; ".join(parts)
    return say("generate.first", reasons=reasons, failure=made.failures[0]) if made.failures else reasons


def _used(maker: QuestionMaker, say: Wording) -> str:
    from runner.commands.generate.maker import CELL

    totals: dict[str, dict[str, Any]] = dict(maker.models.usage(CELL))["usage_total"]
    live, stored = totals["live"], totals["cached"]
    return say(
        "generate.used",
        model=maker.model.name,
        requests=say.count("request", live["requests"]),
        tokens=f"{live['input_tokens'] + live['output_tokens']:,}",
        cost=say("unknown_cost") if live["usd"] is None else f"${live['usd']:.4f}",
        stored=stored["requests"],
    )
