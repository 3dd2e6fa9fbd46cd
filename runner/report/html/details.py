"""Everything that is known of one case, as a small document that Python and the script of the page show alike.

A document is a list of [title, body]; a body is a text or a list of [mark, lead, head, text or null], where a mark of 1
makes the head stand out and the lead (a rank, a number) stands before it. All texts are stored as their places in one
list, so that a chunk that many cases were given is stored once.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import orjson

from runner.report import case, metric
from runner.report.agent_section import way
from runner.report.html.markup import Html, clean, found_in_data, joined, tag
from runner.report.links_section import is_of_a_link, place
from runner.report.metric import label
from runner.report.trace_section import result
from runner.report.worst import lost_at, scores
from runner.report.worst_section import asked, expected, outdated
from runner.words.wording import Wording

TEXT, CONTEXT, REASON = 3000, 1500, 1000  # characters shown of a question or answer, of a chunk, of what a judge says
ITEMS = 30  # of one list

Item = tuple[int, str, str, str | None]
Body = str | list[Item]
Stored = list[list[Any]]


def details_of(row: Mapping[str, Any], k: int | None, say: Wording) -> list[tuple[str, Body]]:
    """(title, body) from the question to the judges."""
    output = row.get("output")
    kept = output if isinstance(output, Mapping) else {}
    found = [*_asked(row, kept, say), *_answered(kept, say), *_outcome(row, k, say), *_found(kept, k, say)]
    return [*found, *_judged(row, say)]


def _asked(row: Mapping[str, Any], output: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, Body]]:
    for title, text in case.history(row, say):
        yield title, cut(text, TEXT)
    if output.get("query"):
        yield asked(output, say), cut(str(output["query"]), TEXT)
        for title, text in (*place(output, say), *expected(output, say), *outdated(output, say)):
            yield title, cut(text, TEXT)
    if output.get("answers"):
        yield say("worst.known"), cut(" / ".join(map(str, output["answers"])), TEXT)
    yield from result(row, output, say)


def _answered(output: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, Body]]:
    if output.get("answer") is not None:
        refused = f"{say('worst.refused')} " if output.get("refused") else ""
        yield say("worst.answer"), refused + cut(str(output["answer"]), TEXT)
    wrong = output.get("citations_out_of_range") or ()
    if wrong:
        yield say("case.citations"), "; ".join(say("case.cites_nothing_there", number=number) for number in wrong)


def _outcome(row: Mapping[str, Any], k: int | None, say: Wording) -> Iterator[tuple[str, Body]]:
    place = lost_at(row)
    if place:
        yield say("worst.why"), say.name("lost_at", place)
    if row.get("error"):
        yield say("worst.error"), cut(str(row["error"]), REASON)
    found = {
        label(name, k, say): say("worst.not_scored") if value is None else f"{value:.2f}"
        for name, value in scores(row, say.catalogue).items()
    }
    if found:
        yield say("worst.scores"), ", ".join(f"{name} {value}" for name, value in found.items())


def _found(output: Mapping[str, Any], k: int | None, say: Wording) -> Iterator[tuple[str, Body]]:
    """The best documents, and the contexts that the generator was given."""
    gold, cited = set(output.get("expected") or ()), set(output.get("citations") or ())
    if "retrieved" in output:
        hits = [_hit(rank, hit, gold, say) for rank, hit in enumerate(output["retrieved"][:ITEMS], start=1)]
        title = say("links.suggested") if is_of_a_link(output) else say("html.retrieved", k=k)
        yield title, hits or say("worst.retrieved_nothing")
    if went := way(output, say):
        yield say("agent.trajectory"), [_step(number, *step) for number, step in enumerate(went, start=1)]
    contexts: list[Item] = [
        (int(number in cited), f"[{number}]", _named(each), cut(str(each.get("text", "")), CONTEXT))
        for number, each in enumerate((output.get("contexts") or ())[:ITEMS], start=1)
    ]
    if contexts:
        yield say("html.contexts"), contexts


def _step(number: int, call: str, outcome: str) -> Item:
    return (0, f"{number}.", call, cut(outcome, REASON)) if call else (0, "–", outcome, None)


def _hit(rank: int, hit: Mapping[str, Any], gold: set[Any], say: Wording) -> Item:
    is_gold = hit.get("id") in gold
    relevance = "" if hit.get("relevance") is None else f" {hit['relevance']:.2f}"
    linked = f" ({say('links.linked')})" if hit.get("linked") else ""
    reason = cut(str(hit["reason"]), REASON) if hit.get("reason") else None
    return int(is_gold), f"{rank}.{relevance}{' ✓' if is_gold else ''}", f"{_named(hit)}{linked}", reason


def _named(hit: Mapping[str, Any]) -> str:
    return cut(f"{hit.get('id')} {hit.get('title') or ''}".strip(), 200)


def _judged(row: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, Body]]:
    for rubric, judgement in (row.get("judgements") or {}).items():
        score = "" if judgement.get("score") is None else f"{judgement['score']:.2f}"
        reason = cut(str(judgement.get("error") or judgement.get("reasoning") or ""), REASON)
        yield say("worst.judge", rubric=metric.rubric(rubric, say)), ": ".join(filter(None, [score, reason]))
    for title, group in groupby(case.judgements(row, say), key=itemgetter(0)):
        texts = [cut(text, REASON) for _, text in group]
        yield title, texts[0] if len(texts) == 1 else [(0, "–", text, None) for text in texts[:ITEMS]]


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, as a page can show them."""
    return clean(text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…")


# --- storing and showing --------------------------------------------------------------------------


class Store:
    """Documents of cases by their places, as long as `limit` bytes of JSON are enough for them."""

    def __init__(self, limit: int) -> None:
        self.texts: list[str] = []
        self.documents: dict[str, Stored] = {}
        self._left = limit
        self._numbers: dict[str, int] = {}

    def add(self, place: int, document: Sequence[tuple[str, Body]]) -> bool:
        """False where there is no room for it."""
        new = [text for text in dict.fromkeys(_texts(document)) if text not in self._numbers]
        numbers = {text: number for number, text in enumerate(new, start=len(self.texts))}
        known = ChainMap(numbers, self._numbers)
        stored = [[known[title], _stored(body, known)] for title, body in document]
        size = len(orjson.dumps(new)) + len(orjson.dumps(stored)) + len(str(place)) + 4
        if size > self._left:
            return False
        self._left -= size
        self.texts += new
        self._numbers |= numbers
        self.documents[str(place)] = stored
        return True


def _texts(document: Sequence[tuple[str, Body]]) -> Iterator[str]:
    for title, body in document:
        yield title
        for part in [body] if isinstance(body, str) else [text for _, *texts in body for text in texts]:
            if part is not None:
                yield part


def _stored(body: Body, numbers: Mapping[str, int]) -> Any:
    if isinstance(body, str):
        return numbers[body]
    return [[mark, *(None if text is None else numbers[text] for text in texts)] for mark, *texts in body]


def shown(document: Iterable[tuple[str, Body]]) -> Html:
    """What the script of the page makes of a stored document too."""
    return tag("dl", joined(part for title, body in document for part in (tag("dt", title), tag("dd", _body(body)))))


def _body(body: Body) -> Html:
    if isinstance(body, str):
        return found_in_data(body, "p")
    return tag("ul", joined(_item(*item) for item in body))


def _item(mark: int, lead: str, head: str, text: str | None) -> Html:
    named = found_in_data(head) if text is None else _folded(head, text)
    return tag("li", tag("span", lead, class_="lead"), named, class_="marked" if mark else None)


def _folded(head: str, text: str) -> Html:
    return tag("details", found_in_data(head, "summary"), found_in_data(text, "p"))
