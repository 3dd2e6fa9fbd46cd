"""Everything that is known of one case, and the cases of a run that went worst."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from runner.metrics.right import LABEL as RIGHT_BY
from runner.records import KEPT_VOTES
from runner.report import metric
from runner.report.blocks import (
    FILES,
    MARKDOWN,
    PAGE,
    TERMINAL,
    CaseFacts,
    Fact,
    Item,
    Media,
    Note,
    Section,
)
from runner.report.document import Document
from runner.report.markdown import shorten
from runner.report.metric import label
from runner.report.terminal import renderables
from runner.report.worst import lost_at, scores, worst_cases, worst_of
from runner.system.folder import open_run
from runner.words.wording import Wording

COUNT = 10  # worst cases
RANKS = 10  # documents in one line
WIDTH = 100  # of the view of one case
BRIEF = 300  # characters of a text in the brief view
LINES: Media = MARKDOWN | TERMINAL

Row = Mapping[str, Any]  # of per_item.jsonl


def worst(document: Document, ordered: Iterable[Row] | None = None) -> Section | None:
    """The section of the worst cases with their facts; None for a run without any row. `ordered`: all rows, the worst
    first, where somebody has ordered them."""
    say, catalogue = document.say, document.say.catalogue
    if ordered is None:
        rows = worst_cases(document.folder.rows(), COUNT, catalogue)
    else:
        rows = worst_of(ordered, COUNT, catalogue)
    if not rows:
        done = any(True for _ in document.folder.rows())
        return Section("", say("head.worst", count=COUNT), [Note(say("worst.none"))], MARKDOWN) if done else None
    cases = [
        Section("", f"{number}. {shorten(_title(row, say), 200)}", [CaseFacts(facts_in(document, row))])
        for number, row in enumerate(rows, start=1)
    ]
    has_relevance = any(hit.get("relevance") is not None for row in rows for hit in _output(row).get("retrieved") or ())
    order = " ".join([say("worst.order"), *[say("worst.relevance")] * has_relevance])
    return Section("", say("head.worst", count=len(rows)), [Note(order), *cases], MARKDOWN)


def case_view(folder: Path) -> RenderableType:
    """The case that a run folder holds, or the first of several, for the terminal."""
    document = Document.of(open_run(folder))
    row = next(document.folder.rows(), None)
    if row is None:
        return Text(document.say("metrics.none"))
    blocks = renderables([CaseFacts(facts_in(document, row))])
    return Panel(Group(*blocks), title=Text(_name(row, document.say)), width=WIDTH)


def case_brief(folder: Path) -> list[RenderableType]:
    """The same case on one screen: without the texts that were retrieved, what judges left behind, and the end of what
    is long."""
    document = Document.of(open_run(folder))
    row = next(document.folder.rows(), None)
    if row is None:
        return [Text(document.say("metrics.none"))]
    title = Text(_name(row, document.say), style="bold")
    facts = [_shorten(fact) for fact in facts_in(document, row) if fact.size not in ("context", "detail", "call")]
    return [title, *renderables([CaseFacts(facts)])]


def _shorten(fact: Fact) -> Fact:
    items = [item._replace(text=shorten(item.text, BRIEF)) for item in fact.items[: fact.most or RANKS]]
    return fact._replace(text=shorten(fact.text, BRIEF), items=items)


def _title(row: Row, say: Wording) -> str:
    if not lost_at(row) and row.get("status") == "ok":
        return str(row.get("id"))
    return f"{row.get('id')}: {_state(row, say)}"


def _name(row: Row, say: Wording) -> str:
    """`q17 (not retrieved)`: a case that ran well and whose answer fails is not called ok."""
    return f"{row.get('id')} ({_state(row, say)})"


def _state(row: Row, say: Wording) -> str:
    stage = lost_at(row)
    return say.name("lost_at", stage) if stage else say.name("status", str(row.get("status")))


def _output(row: Row) -> Mapping[str, Any]:
    output = row.get("output")
    return output if isinstance(output, Mapping) else {}


# --- facts ----------------------------------------------------------------------------------------


def facts_in(document: Document, row: Row) -> list[Fact]:
    """The facts of a case: those of every run, and those of its evaluation."""
    return facts_of(row, document.k, document.say, document.offer.case_facts)


def facts_of(
    row: Row, k: int | None, say: Wording, own: Callable[[Row, Wording], Iterable[Fact]] | None = None
) -> list[Fact]:
    """The facts of a case from question to judgements. `own`: facts of the evaluation."""
    theirs = list(own(row, say)) if own is not None else []
    instead = {fact.key: fact for fact in theirs if fact.key}
    facts: list[Fact] = []
    for key, tell in TELLING.items():
        facts += [instead.pop(key)] if key in instead else tell(row, k, say)
        facts += [fact for fact in theirs if not fact.key and fact.after == key]
    facts += [*instead.values(), *(fact for fact in theirs if not fact.key and fact.after not in TELLING)]
    return [fact for fact in facts if fact.text or fact.items or fact.lead]


def _history(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    """The turns before the question, oldest first."""
    turns = _output(row).get("history") or ()
    pairs = [(turn["role"], turn["text"]) if isinstance(turn, Mapping) else tuple(turn) for turn in turns]
    text = "\n".join(f"{say.name('turn', str(role))}: {text}" for role, text in pairs)
    yield Fact(say("case.history"), text, media=PAGE | TERMINAL)


def _question(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    yield Fact(say("worst.question"), str(_output(row).get("query") or ""), size="question")


def _expected_facts(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    output = _output(row)
    if output.get("query"):
        ids = ", ".join(_with_rank(output, str(id), k, say) for id in output.get("expected") or ()) or say("none")
        text = ids if output.get("answerable", True) else say("worst.expected_nothing")
        yield Fact(say("worst.expected"), text)


def _with_rank(output: Mapping[str, Any], id: str, k: int | None, say: Wording) -> str:
    """An expected document, with its rank where the row has ranks."""
    ranks = output.get("gold_ranks") or {}
    if id not in ranks:
        return id
    rank = ranks[id]
    if rank is None:
        return say("worst.unranked", id=id, n=output.get("ranked", 0))
    return say("worst.rank" if k is None or rank <= k else "worst.rank_below", id=id, rank=rank, k=k)


def _references(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    yield Fact(say("worst.known"), " / ".join(map(str, _output(row).get("answers") or ())), size="answer")


def _retrieved_facts(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    """The best documents, the expected ones marked."""
    output = _output(row)
    if "retrieved" not in output:
        return
    gold, linked = set(output.get("expected") or ()), f"({say('worst.linked')})"
    items = [
        Item(
            str(id := hit.get("id")),
            f"{rank}.",
            str(hit.get("title") or ""),
            hit.get("relevance"),
            "expected" if id in gold else "",
            linked if hit.get("linked") else "",
            str(hit.get("reason") or ""),
        )
        for rank, hit in enumerate(output["retrieved"] or (), start=1)
    ]
    text = "" if items else say("worst.retrieved_nothing")
    most = min(k or RANKS, RANKS)
    yield Fact(say("worst.retrieved"), text, items, size="reason", most=most, long_title=say("html.retrieved", k=k))


def _answer(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    output = _output(row)
    if output.get("answer") is not None:
        declined = f"{say('worst.declined')} " if output.get("declined") else ""
        text = f"{declined}{output['answer']}" or " "  # an empty answer is one too
        yield Fact(say("worst.answer"), text, size="answer")


def _thought(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    """What the model thought, folded: nobody judges it."""
    if thought := str(_output(row).get("thought") or ""):
        item = Item(say("case.thought", n=f"{len(thought):,}"), text=thought)
        yield Fact(say("case.not_judged"), items=[item], size="context", media=PAGE | TERMINAL)


def _citations(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    wrong = _output(row).get("citations_out_of_range") or ()
    text = "; ".join(say("case.cites_nothing_there", number=number) for number in wrong)
    yield Fact(say("case.citations"), text, media=PAGE | TERMINAL)


def _reason(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    stage, by = lost_at(row), (row.get("labels") or {}).get(RIGHT_BY)
    yield Fact(say("worst.why"), say.name("lost_at", stage) if stage else "")
    yield Fact(say("right.by"), say.name("right_by", str(by)) if by else "")


def _scores(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    words = (
        f"{label(name, k, say)} {say('worst.not_scored') if value is None else f'{value:.2f}'}"
        for name, value in scores(row, say.catalogue).items()
    )
    yield Fact(say("worst.scores"), ", ".join(words))


def _judges(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    for rubric, judgement in (row.get("judgements") or {}).items():
        title = say("worst.judge", rubric=metric.rubric(rubric, say))
        score = "" if judgement.get("score") is None else f"{judgement['score']:.2f}"
        text = str(judgement.get("error") or judgement.get("reasoning") or "")
        media = FILES | TERMINAL if text else PAGE
        yield Fact(title, text, size="reason", lead=score, media=media)


def _error(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    yield Fact(say("worst.error"), str(row.get("error") or ""), size="reason")


def _contexts(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    """The remembered contexts beside the documents; only documents have numbers that an answer may cite."""
    output = _output(row)
    cited = set(output.get("citations") or ())
    remembered = [
        Item(str(context.get("id")), text=str(context.get("text", ""))) for context in output.get("remembered") or ()
    ]
    numbered = [
        Item(
            str(context.get("id")),
            lead=f"[{number}]",
            title=str(context.get("title") or ""),
            mark="cited" if number in cited else "",
            text=str(context.get("text", "")),
        )
        for number, context in enumerate(output.get("contexts") or (), start=1)
    ]
    yield Fact("", "", remembered, size="context", media=TERMINAL)
    yield Fact(say("html.contexts"), "", numbered, size="context", media=PAGE | TERMINAL)


# --- what judges left behind ----------------------------------------------------------------------


def _judgements(row: Row, k: int | None, say: Wording) -> Iterator[Fact]:
    """Each vote, each claim with its verdict, and any further details of a judge."""
    for rubric, judgement in (row.get("judgements") or {}).items():
        details = {name: value for name, value in (judgement.get("details") or {}).items() if name != KEPT_VOTES}
        for name, value in details.items():
            title = f"{metric.rubric(rubric, say)}, {_detail_title(name, say)}"
            if name == "scores":
                for criterion, entry in value.items():
                    yield _detail(f"{title}, {say.name('criterion', criterion)}", [_grade(entry, say)])
            else:
                yield _detail(title, _detail_texts(name, value, say))


def _detail(title: str, texts: Sequence[str]) -> Fact:
    """Several stand in a list."""
    media = PAGE | TERMINAL
    if len(texts) == 1:
        return Fact(title, texts[0], size="detail", media=media)
    return Fact(title, items=[Item(text, lead="–") for text in texts], size="detail", media=media)


def _detail_texts(name: str, value: Any, say: Wording) -> list[str]:
    if name == "votes":
        return [", ".join(f"{judge}: {_vote(score, say)}" for judge, score in value.items())]
    if name == "failures":
        return ["\n".join(f"{judge}: {error}" for judge, error in value.items())]
    values = value if isinstance(value, list) else [] if value is None or value is False else [value]
    return [say.name("asked", str(item)) if name == "kind" else _item_text(item, say) for item in values]


def _detail_title(name: str, say: Wording) -> str:
    """`first/claims` are the claims as the judge `first` of a panel took them."""
    judge, _, kind = name.rpartition("/")
    return f"{say.name('detail', kind)} ({judge})" if judge else say.name("detail", kind)


def _vote(score: float | None, say: Wording) -> str:
    return say("case.failed_vote") if score is None else f"{score:.2f}"


def _grade(entry: Mapping[str, Any], say: Wording) -> str:
    """`7.5/10 (number): the reason`"""
    types = ", ".join(say.name("fault", type) for type in entry.get("types") or ())
    return f"{entry['score']:.4g}/10{f' ({types})' if types else ''}: {entry.get('reason') or '–'}"


def _item_text(item: Any, say: Wording) -> str:
    if isinstance(item, bool):
        return say("yes" if item else "no")
    if isinstance(item, float):
        return f"{item:.4g}"
    if not isinstance(item, Mapping):
        return str(item)
    if "claim" not in item or "verdict" not in item:
        return _pairs_text(item, say)
    further = {name: value for name, value in item.items() if name not in ("claim", "verdict", "context", "chunk")}
    chunk = item.get("context") or item.get("chunk")
    place, more = f" [{chunk}]" if chunk else "", _pairs_text(further, say)
    return f"{say.name('verdict', str(item['verdict']))}{place}: {item['claim']}" + (f" ({more})" if more else "")


def _pairs_text(item: Mapping[str, Any], say: Wording) -> str:
    """`score: 0.5, missing: refund, parcel`"""
    known = {name: value for name, value in item.items() if value not in (None, [], "")}
    return ", ".join(f"{say.name('detail', name)}: {_plain_text(value, say)}" for name, value in known.items())


def _plain_text(value: Any, say: Wording) -> str:
    if isinstance(value, bool):
        return say("yes" if value else "no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


TELLING: Mapping[str, Callable[[Row, int | None, Wording], Iterable[Fact]]] = {
    "history": _history,
    "question": _question,
    "expected": _expected_facts,
    "known": _references,
    "retrieved": _retrieved_facts,
    "answer": _answer,
    "thought": _thought,
    "citations": _citations,
    "why": _reason,
    "scores": _scores,
    "judges": _judges,
    "error": _error,
    "contexts": _contexts,
    "judgements": _judgements,
}  # by the keys that facts of an evaluation may have, in the order in which they stand
