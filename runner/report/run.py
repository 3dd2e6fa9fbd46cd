"""Sections of a report on the run itself: its settings, failure stages, speed and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from runner.config.arguments import command_of
from runner.errors import REFUSED
from runner.report import metric, usage
from runner.report.blocks import (
    EVERYWHERE,
    MARKDOWN,
    PAGE,
    TERMINAL,
    Cell,
    Code,
    Facts,
    Histogram,
    Note,
    Section,
    Stretch,
    Table,
    Warnings,
    section,
)
from runner.report.document import Document
from runner.report.metrics import rows_of
from runner.report.right import first_line
from runner.report.stored_sections import has_sections
from runner.report.trust import warnings
from runner.system.folder import case_counts, identities
from runner.words.bilingual import in_language
from runner.words.wording import Wording

UNFINISHED = ("partial", "failed", "running")
MAIN_CHOICES = ("dataset", "retriever", "tokenizer", "embedder", "generator", "system", "judge")
STAGES = (
    "not_in_corpus", "not_retrieved", "below_k", "cut_off", "no_answer", "wrong_answer", "answered_unanswerable",
    "refused_answerable", "wrong_unexplained", "refused_unexplained",
)  # fmt: skip


CUT_OFF = "cut_off"
NOTABLE_LAG = 0.1  # of p50

# --- what ran -------------------------------------------------------------------------------------


def head(document: Document) -> Section:
    """The title of a run, its warnings and main facts; settings and command folded."""
    say, run = document.say, document.run
    headers = (say("head.property"), say("head.value"))
    ran = section(
        "",
        say("head.ran"),
        Facts(facts(document), headers),
        Note(say("ran.command")),
        Code(command(document), "sh"),
        folded=True,
    )
    blocks = (Warnings(tuple(notes(document))), Facts(_main_facts(document), headers, PAGE, is_key=True))
    top = section("", say("title", experiment=run.get("experiment", "")), *blocks, ran)
    assert top is not None  # noqa: S101  a run has a command
    return top


def command(document: Document) -> str:
    """The command that makes the run again."""
    run = document.run
    return command_of(list(map(str, run.get("overrides") or ())), run.get("frozen"), run.get("config_folders") or ())


def notes(document: Document) -> Iterator[Note]:
    """The notes that a reader needs before the numbers."""
    say, status, cases = document.say, document.run.get("status"), document.cases
    if line := first_line(document.summary, say):
        yield Note(line, "alarm")
    is_measured = document.summary.get("measured")
    if document.run.get("reference"):
        yield Note(say(f"reference.{document.run['reference']}"), "alarm")
    if is_measured:
        yield Note(say("note.measured", total=cases["total"]), "alarm")
    elif status in UNFINISHED:
        yield Note(say(f"note.{status}", done=cases["done"], total=cases["total"]), "alarm")
    if document.run.get("error_message"):
        yield Note(say("note.message", message=in_language(document.run["error_message"], say.language)))
    if status in UNFINISHED and cases["pending"] and not is_measured:
        is_refused = REFUSED.search(str(document.run.get("error_message")))
        yield Note(say("note.goes_on_corrected" if is_refused else "note.goes_on"))
    for warning in warnings(document.summary, say):
        yield Note(warning, "alarm")
    if document.offer.missing and not has_sections(document.folder.path):
        yield Note(say("note.no_sections", name=document.offer.missing))
    baselines = (document.summary.get("facts") or {}).get("baselines")
    if baselines:
        yield Note(say("baselines", names=", ".join(baselines)))


def facts(document: Document) -> list[tuple[str, str]]:
    """Label and value of what the run was: ids, choices, models, counts, commit."""
    say, run, choices = document.say, document.run, document.run.get("choices") or {}
    k, (data, parts) = document.k, identities(run)
    values = {
        "run": run.get("id"),
        "sweep": run.get("sweep_id"),
        "status": say.name("status", str(run.get("status"))),
        "evaluation": run.get("evaluation_type"),
        **_choose(choices, document.offer.pipeline.choices, document.offer.pipeline.replaced),
        **dict(document.offer.run_facts(run)),
        "models": models_line(run, say),
        "k": None if k is None else str(k),
        "cases": cases_line(document.summary, say) if document.summary else None,
        "git": _git(document),
        "fingerprint": run.get("fingerprint"),
        "identity": _digests(data),
        "prompts": _digests(parts),
        "versions": ", ".join(f"{name} {version}" for name, version in (run.get("versions") or {}).items()),
        "created": run.get("created_at"),
        "updated": run.get("updated_at"),
    }
    return [(say(f"ran.{name}"), str(value)) for name, value in values.items() if value]


def _main_facts(document: Document) -> list[tuple[str, str]]:
    say, run, choices = document.say, document.run, document.run.get("choices") or {}
    values = {
        "status": say.name("status", str(run.get("status"))),
        "cases": cases_line(document.summary, say) if document.summary else None,
        "k": None if document.k is None else str(document.k),
        **_choose(choices, MAIN_CHOICES, document.offer.pipeline.replaced),
        "models": models_line(run, say),
        "created": _minute(run.get("created_at")),
    }
    return [(say(f"ran.{name}"), str(value)) for name, value in values.items() if value]


def _choose(choices: Mapping[str, Any], names: Iterable[str], replaced: Collection[str]) -> dict[str, Any]:
    """The choices of a run, without those that a running system has replaced, and without the system where there is
    none."""
    idle = ("system",) if choices.get("system", "none") == "none" else replaced
    return {name: choices.get(name) for name in names if name not in idle}


def cases_line(summary: Mapping[str, Any], say: Wording) -> str:
    """The numbers of cases by outcome, as a sentence."""
    counts = case_counts(summary)
    line = say("cases.line_pending" if counts["pending"] else "cases.line", **counts)
    return say("cases.line_unscored", line=line, unscored=counts["unscored"]) if counts.get("unscored") else line


def models_line(run: Mapping[str, Any], say: Wording) -> str:
    """`generator openai:a; judge openai:b, openai:c`"""
    return "; ".join(f"{say.name('role', role)} {', '.join(names)}" for role, names in usage.models(run).items())


def _minute(written: str | None) -> str | None:
    """`2026-01-02T03:04:05Z` to the minute."""
    return written and str(written)[:16].replace("T", " ") + (" UTC" if str(written).endswith("Z") else "")


def _digests(identity: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {digest[:12]}" for name, digest in identity.items())


def _git(document: Document) -> str | None:
    git = document.run.get("git")
    if not git:
        return None
    commit = str(git.get("commit"))[:12]
    return document.say("ran.git_dirty", commit=commit) if git.get("dirty") else commit


# --- where questions fail -------------------------------------------------------------------------


def failures_by_stage(document: Document) -> Section | None:
    """A waterfall on a page: from all questions over those that fail at each stage to those that are right."""
    say, counts = document.say, document.counts.get("lost_at")
    if not counts:
        return None
    stages, total = stages_of(document), sum(counts.values())
    cut_off = Note(_cut_off_note(document), media=EVERYWHERE)
    if not stages:
        declined = _declined_note(document)
        return section("lost", say("lost.title"), Note(declined or say("lost.nothing"), media=EVERYWHERE), cut_off)
    line = say("lost.total", failing=sum(count for _, count in stages), total=total)
    headers = [say("lost.place"), say("diagnosis.count"), say("diagnosis.share"), say("lost.meaning")]
    rows = [
        [stage_name(stage, document), str(count), f"{count / total:.1%}", say.texts.get(f"lost_meaning.{stage}", "")]
        for stage, count in stages
    ]
    return section(
        "lost",
        say("lost.title"),
        Note(f"{line}.", media=EVERYWHERE),
        Note(_declined_note(document), media=EVERYWHERE),
        cut_off,
        Table(headers, rows, right=(1, 2), media=MARKDOWN),
        Table(["", ""], [row[:2] for row in rows], media=TERMINAL),
        Table([headers[0], "", *headers[1:3]], list(_waterfall(rows, stages, total, say)), right=(2, 3), media=PAGE),
    )


def stage_name(stage: str, document: Document) -> str:
    """The name of a failure stage; that of replies which were cut off names the setting that limits them."""
    limit = _limit(document) if stage == CUT_OFF else ""
    return document.say("lost.cut_off", limit=limit) if limit else document.say.name("lost_at", stage)


def _limit(document: Document) -> str:
    """`generator.max_tokens=1024`; empty where the limit is that of somebody else."""
    run = document.run
    config, has_system = run.get("config") or {}, (run.get("choices") or {}).get("system") not in (None, "none")
    limit = None if has_system else (config.get("generator") or {}).get("max_tokens")
    return "" if limit is None else f"generator.max_tokens={limit}"


def _cut_off_note(document: Document) -> str:
    """A note where some of the replies that were cut off are right."""
    cut_off = (document.counts.get("reply") or {}).get(CUT_OFF, 0)
    right = cut_off - (document.counts.get("lost_at") or {}).get(CUT_OFF, 0)
    if right <= 0:
        return ""
    total, limit = sum((document.counts.get("lost_at") or {}).values()), _limit(document)
    return document.say(
        "lost.also_cut_off", n=cut_off, total=total, right=right, limit=limit or document.say("lost.own_limit")
    )


def _declined_note(document: Document) -> str:
    """A note where no answer is delivered: `min_score` may call answerable questions unanswerable, whatever was
    found."""
    say, table = document.say, document.counts.get("answerability") or {}
    declined = table.get("false_positive", 0)
    if not declined or document.min_score is None or document.counts.get("retrieval_gate"):
        return ""
    total = declined + table.get("true_negative", 0)
    key = "lost.declined" if stages_of(document) else "lost.nothing_ranked"
    return say(key, min_score=document.min_score, declined=declined, total=total)


def stages_of(document: Document) -> list[tuple[str, int]]:
    """(stage, failing questions), along the pipeline."""
    counts = document.counts.get("lost_at") or {}
    known = (*STAGES, *document.offer.pipeline.failures)
    stages = [*known, *sorted(set(counts) - {*known, "none"})]
    return [(stage, counts[stage]) for stage in stages if counts.get(stage)]


def _waterfall(
    rows: list[list[str]], stages: list[tuple[str, int]], total: int, say: Wording
) -> Iterator[list[str | Cell]]:
    yield [say("html.questions"), Cell("", drawing=Stretch(0, 1, "whole")), f"{total:,}", "100.0%"]
    remaining = total
    for (name, _, share, meaning), (_, count) in zip(rows, stages, strict=True):
        remaining -= count
        stretch = Stretch(remaining / total, count / total, "loss")
        yield [Cell(name, detail=meaning), Cell("", drawing=stretch), f"−{count:,}", share]
    right = Cell("", drawing=Stretch(0, remaining / total, "rest"))
    yield [Cell(say("html.right"), "strong"), right, f"{remaining:,}", f"{remaining / total:.1%}"]


def unanswerable(document: Document) -> Section | None:
    """Rows: what the question is. Columns: what the system called it; unanswerable is the positive class. Where an
    answer decides, what `min_score` would have said has rows of its own. None where every question has an answer."""
    say, counts = document.say, document.counts.get("answerability")
    if not counts or not metric.applies(document.metrics.get("unanswerable_recall")):
        return None
    gate, min_score = document.counts.get("retrieval_gate"), document.min_score
    by_retrieval = min_score is not None and not gate
    headers = [say(f"answerability.{name}") for name in ("corner", "low" if by_retrieval else "declined", "answered")]
    rows = _answerability_rows(counts, say)
    rows += [[say("answerability.gate", name=name), *cells] for name, *cells in _answerability_rows(gate or {}, say)]
    explained = "answerability.by_retrieval" if by_retrieval else "answerability.by_answer"
    note = "" if min_score is None else say(explained, min_score=min_score)
    title, table = say("answerability.title"), Table(headers, rows, media=EVERYWHERE, narrow=True)
    measured = rows_of(document, metric.of_groups(document.metrics, say, "unanswerable"))
    return section("unanswerable", title, measured, table, Note(note, "quiet"))


def _answerability_rows(counts: Mapping[str, int], say: Wording) -> list[list[str]]:
    cells = {"is_yes": ("true_positive", "false_negative"), "is_no": ("false_positive", "true_negative")}
    named = {say(f"answerability.{name}"): row for name, row in cells.items()} if counts else {}
    return [[name, *(f"{counts.get(cell, 0):,}" for cell in row)] for name, row in named.items()]


# --- how fast it was ------------------------------------------------------------------------------


def latency(document: Document) -> Section | None:
    """p50 and p95 of each stage in milliseconds."""
    say = document.say
    in_flight = str((document.run.get("config") or {}).get("max_concurrency") or "–")
    rows = [
        [
            say.name("stage", stage),
            *_percentiles(entry),
            str(entry.get("n") or 0),
            in_flight,
            _latency_note(document, stage, entry),
        ]
        for stage, entry in latency_stages(document.summary)
    ]
    headers = [say("latency.stage"), "p50 (ms)", "p95 (ms)", "n", say("latency.in_flight"), say("latency.note")]
    table = Table(headers, rows, right=(1, 2, 3, 4))
    return section("latency", say("head.latency"), table, Note(lag_note(document), "quiet"))


def latencies(document: Document) -> Histogram | None:
    """A figure of the latencies of live retrievals; without any, of whole cases as in
    runner.metrics.aggregate.latency."""
    import numpy as np

    stages: dict[str, list[float]] = {"retrieval": [], "case": []}
    for row in document.folder.rows():
        timings = row.get("timings") or {}
        timing = timings.get("retrieval") or {}
        if timing.get("live") and timing.get("ms") is not None:
            stages["retrieval"].append(timing["ms"])
        is_live = row.get("status") == "ok" and all(each.get("live", True) for each in timings.values())
        if is_live and row.get("latency_ms") is not None:
            stages["case"].append(row["latency_ms"])
    stage = "retrieval" if stages["retrieval"] else "case"
    values = stages[stage]
    if not values:
        return None
    x = f"{document.say('head.latency')}, {document.say.name('stage', stage)} (ms), n={len(values)}"
    marks = {f"p{share}": float(np.percentile(values, share)) for share in (50, 95)}
    return Histogram("latency", x, values, marks)


def latency_stages(summary: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """(stage, latency); the whole case comes last."""
    stages = (summary.get("timing") or {}).get("latency") or {}
    return sorted(stages.items(), key=lambda item: item[0] == "case")


def _percentiles(entry: Mapping[str, Any]) -> tuple[str, str]:
    if not entry.get("n"):
        return "–", "–"
    return f"{entry['p50_ms']:.1f}", f"{entry['p95_ms']:.1f}"


def _latency_note(document: Document, stage: str, entry: Mapping[str, Any]) -> str:
    say, n, total = document.say, entry.get("n") or 0, document.cases["ok"]
    n_repeated = entry.get("n_repeated") or 0
    if n + n_repeated == 0:
        return say("latency.shared" if total else "panel.latency_none")
    if stage in document.offer.pipeline.between:
        return ""
    some = [say("latency.repeated", n=n_repeated, p95=f"{entry['p95_repeated_ms']:,.1f}")] if n_repeated else []
    some += [say("latency.some", n=n + n_repeated, total=total)] if n + n_repeated < total else []
    if stage == "retrieval" and (document.summary.get("timing") or {}).get("rankings_reused"):
        some.append(say("latency.earlier"))
    return "; ".join(some)


def lag_note(document: Document) -> str:
    """A note where this process was too busy to notice replies at once; empty where that is little."""
    timing = document.summary.get("timing") or {}
    lag_ms = timing.get("loop_lag_ms") or 0.0
    p50_ms = ((timing.get("latency") or {}).get("case") or {}).get("p50_ms")
    if p50_ms is None or lag_ms <= NOTABLE_LAG * p50_ms or not usage.uses(document.summary):
        return ""
    return document.say("latency.lag", lag=f"{lag_ms:,.0f}", p50=f"{p50_ms:,.0f}")


def index(document: Document) -> Section | None:
    """The facts of the index."""
    say = document.say
    pairs = Facts(index_facts(document), (say("head.property"), say("head.value")))
    return section("index", say("head.index"), pairs)


def index_facts(document: Document) -> list[tuple[str, str]]:
    """The content and cost of the index: facts of the retriever, times of this run."""
    say, timing = document.say, document.summary.get("timing") or {}
    rows = list(_flatten_facts((document.summary.get("facts") or {}).get("index") or {}, say))
    rows += [(say(f"index.{name}"), f"{timing[name]:.2f}") for name in ("index_s", "ranking_s") if name in timing]
    if "rankings_reused" in timing:
        rows.append((say("index.rankings_reused"), say("yes" if timing["rankings_reused"] else "no")))
    return rows


def _flatten_facts(facts: Mapping[str, Any], say: Wording, parts: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """`chunks (keyword)`; facts that the program has no word for keep their names, `keyword.n_stems`."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flatten_facts(value, say, (*parts, name))
            continue
        word, part = say.texts.get(f"fact.{name}"), ", ".join(say.name("fact", each) for each in parts)
        label = ".".join((*parts, name)) if word is None else f"{word} ({part})" if part else word
        if name == "size_bytes" and value is not None:
            yield label, f"{value / 2**20:.1f} MiB"
        else:
            yield label, f"{value:.4f}" if isinstance(value, float) else str(value)


# --- what went wrong ------------------------------------------------------------------------------


def problems(document: Document) -> Section | None:
    """On a page nothing where nothing went wrong."""
    say, counts = document.say, document.summary.get("data_problems") or {}
    stages = Counter(_stage(entry) for entry in document.folder.errors())
    rows = [[say.name("stage", stage), str(count)] for stage, count in sorted(stages.items())]
    data = say("problems.data", **counts) if any(counts.values()) else ""
    return section(
        "problems",
        say("head.problems"),
        Note(data),
        Table([say("problems.stage"), say("problems.count")], rows, narrow=True),
        Note(say("problems.pointer") if rows else "", "quiet"),
        Note("" if data or rows else say("problems.none"), media=MARKDOWN),
    )


def _stage(entry: Mapping[str, Any]) -> str:
    """The stage at which a case failed; `judge` for one that ended and was not judged."""
    return "timeout" if entry.get("status") == "timeout" else str(entry.get("stage") or "judge")
