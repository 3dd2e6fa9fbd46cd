"""Make a test set from a corpus: a model writes questions and checks them."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.commands import SPOKEN, Command
from runner.config.language import language_of
from runner.data.files import expand
from runner.data.problems import skipped_lines
from runner.errors import EvaluationError, InputError
from runner.system import terminal
from runner.words.wording import Wording, wording

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from runner.commands.generate.maker import Batch, QuestionMaker

CONFIG = "generate"
COMMAND = Command(CONFIG, words="SETTING=VALUE", settings=CONFIG)
LISTS = ("question_type", "difficulty")


def main(argv: Sequence[str]) -> int:
    """Raises ConfigError with all problems, CorpusError, and EvaluationError when no question is left."""
    from runner.config.components import build
    from runner.run.preflight import announce

    cfg = settings([word for word in COMMAND.read(argv).words if not word.startswith(f"{SPOKEN}=")])
    say = wording(language_of(argv), "outcomes")
    out = expand(cfg.out)
    ledger_path = out.with_name(f".{out.stem}.ledger")
    cfg.models.out = str(ledger_path)
    components = build(cfg.testset)
    maker: QuestionMaker = components.root
    from runner.commands.generate.files import check_out, write
    from runner.llm import ledger

    check_out(out)
    announce(cfg, components, say.language)
    ledger.begin_again(ledger_path, cfg.budget)
    batch = maker.plan_batch()
    for line in skipped_lines(batch.problems, say):
        terminal.note(line)
    asyncio.run(_ask(maker, batch, cfg.budget.confirm_over, say))
    if not batch.drafts:
        reasons = _drop_counts(batch, wording("en", "outcomes"))
        raise EvaluationError(f"no question is left of {batch.n_ordered} ordered, so nothing is written: {reasons}")
    write(batch, maker, out)
    terminal.lines(*_summary(batch, maker, out, say))
    shutil.rmtree(ledger_path, ignore_errors=True)
    return 0


async def _ask(maker: QuestionMaker, batch: Batch, confirm_over: float | None, say: Wording) -> None:
    """Show the expected cost and make the questions. Raises InputError where the person at the terminal refuses."""
    from runner.commands.generate.maker import expected_requests

    estimate = await expected_requests(maker, batch)
    usd = None if estimate.nano_usd is None else estimate.nano_usd / 1e9
    cost = say("unknown_cost") if usd is None else f"${usd:.4f}"
    tokens = f"{estimate.input_tokens + estimate.output_tokens:,}"
    terminal.note(
        say("generate.expected", model=maker.model.name, requests=f"{estimate.live:,}", tokens=tokens, cost=cost)
    )
    is_much = usd is not None and confirm_over is not None and usd > confirm_over
    if is_much and sys.stdin.isatty() and sys.stderr.isatty():
        terminal.ask(wording(say.language, "plan")("question"))
        if sys.stdin.readline().strip().casefold() not in ("y", "yes", "예", "네"):
            raise InputError("not started; budget.confirm_over=null starts without asking")
    await maker.make(batch, say.language)


def settings(words: Sequence[str]) -> DictConfig:
    """conf/generate.yaml with these overrides. Raises ConfigError with all problems."""
    from runner.config.settings import settings_of

    return settings_of(CONFIG, [_as_list(word) for word in words], "testset")


def _as_list(word: str) -> str:
    """`difficulty=easy,mid` as `difficulty=[easy,mid]`."""
    key, equals, value = word.partition("=")
    return f"{key}=[{value}]" if equals and key in LISTS and not value.startswith("[") else word


# --- words --------------------------------------------------------------------------------------------


def _summary(batch: Batch, maker: QuestionMaker, out: Path, say: Wording) -> list[str]:
    from runner.commands.generate.files import provenance_path

    n, n_dropped = len(batch.drafts), batch.n_ordered - len(batch.drafts)
    answerable = sum(draft.slot.answerable for draft in batch.drafts)
    counts = {"n": n, "answerable": answerable, "unanswerable": n - answerable}
    chunks = {"asked": len(batch.orders), "total": len(batch.corpus.chunks)}
    dropped = say("generate.dropped", n=n_dropped, total=batch.n_ordered, reasons=_drop_counts(batch, say))
    return [
        say("generate.written", out=out, **counts, **chunks),
        dropped if n_dropped else say("generate.dropped_none", total=batch.n_ordered),
        _usage(maker, say),
        say("generate.provenance", path=provenance_path(out)),
    ]


def _drop_counts(batch: Batch, say: Wording) -> str:
    from runner.commands.generate.maker import REASONS

    parts = [say(f"dropped.{reason}", n=batch.dropped[reason]) for reason in REASONS if batch.dropped[reason]]
    reasons = "; ".join(parts)
    return say("generate.first", reasons=reasons, failure=batch.failures[0]) if batch.failures else reasons


def _usage(maker: QuestionMaker, say: Wording) -> str:
    from runner.commands.generate.maker import CELL

    totals: dict[str, dict[str, Any]] = dict(maker.models.usage(CELL))["usage_total"]
    live, cached = totals["live"], totals["cached"]
    return say(
        "generate.used",
        model=maker.model.name,
        requests=say.count("request", live["requests"]),
        tokens=f"{live['input_tokens'] + live['output_tokens']:,}",
        cost=say("unknown_cost") if live["usd"] is None else f"${live['usd']:.4f}",
        stored=cached["requests"],
    )
