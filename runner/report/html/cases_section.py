"""The table of cases: data for the script of the page, and the first rows for readers without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runner.report import metric
from runner.report.document import Document
from runner.report.html.cases import Cases
from runner.report.html.details import Store, details_of, shown
from runner.report.html.markup import Html, found_in_data, joined, language_tag, paragraph, scrolled, tag
from runner.report.html.page import Section
from runner.report.wording import Wording

DETAIL_BYTES = 2_000_000  # for everything that is known of cases, as JSON
DETAILED = 5_000  # cases at most
SHOWN = 10  # rows for readers without scripts
RIGHT = frozenset({"none", "ok"})
WORDS = ("range", "nothing", "no_details", "previous", "next")


def cases_section(document: Document, cases: Cases, first: Sequence[int] = ()) -> tuple[Section, Mapping[str, Any]]:
    """The section, and what the script reads. The cases numbered in `first` are the first to be told in detail."""
    say = document.say
    if not cases.n:
        return Section("cases", say("html.cases"), paragraph(say("metrics.none"))), {}
    store = _store(document, cases, first)
    blocks = [
        paragraph(say("html.cases.explain")),
        *(paragraph(text, "left-out") for text in _left_out(cases, store, say)),
        _filters(cases, say),
        scrolled(_table(document, cases), say("html.cases")),
        tag("p", hidden=True, class_="pages", data_pages=True),
    ]
    return Section("cases", say("html.cases"), joined(blocks)), _data(document, cases, store)


def _store(document: Document, cases: Cases, first: Sequence[int]) -> Store:
    """The cases that come first, then the worst, as long as there is room."""
    store = Store(DETAIL_BYTES)
    wanted = list(dict.fromkeys([*first, *range(len(cases))]))[:DETAILED]
    for number, row in cases.rows(wanted):
        if not store.add(number, details_of(row, document.k, document.say)):
            break
    return store


def _left_out(cases: Cases, store: Store, say: Wording) -> Iterable[str]:
    if len(cases) < cases.n:
        yield say("html.cases.listed", listed=f"{len(cases):,}", n=f"{cases.n:,}")
    if len(store.documents) < len(cases):
        yield say("html.cases.detailed", detailed=f"{len(store.documents):,}")


def _filters(cases: Cases, say: Wording) -> Html:
    """Hidden until a script is there to obey them."""
    outcomes, languages = Counter(cases.outcomes), Counter(cases.languages)
    everything = _option("", say("html.cases.all"), len(cases))
    failing = sum(outcomes[number] for number, name in enumerate(cases.outcome_names) if name not in RIGHT)
    by_outcome = [
        everything,
        _option("failing", say("html.cases.failing"), failing),
        *(_option(n, _outcome(name, say), outcomes[n]) for n, name in enumerate(cases.outcome_names)),
    ]
    by_language = (_option(n, name or say("none"), languages[n]) for n, name in enumerate(cases.language_names))
    fields = [
        _field(say("html.cases.text"), tag("input", type="search", data_filter="text", autocomplete="off")),
        _field(say("html.cases.outcome"), tag("select", *by_outcome, data_filter="outcome")),
    ]
    if len(cases.language_names) > 1:
        fields.append(_field(say("slice.language"), tag("select", everything, *by_language, data_filter="language")))
    count = tag("output", aria_live="polite", data_count=True)
    return tag("div", *fields, count, class_="filters", hidden=True, role="search")


def _option(value: str | int, text: str, count: int) -> Html:
    return tag("option", f"{text} ({count:,})", value=value)


def _field(name: str, control: Html) -> Html:
    return tag("label", tag("span", name), control)


def _outcome(name: str, say: Wording) -> str:
    """`right` for a question that was lost nowhere."""
    if name in RIGHT:
        return say("html.right")
    return say.texts.get(f"lost_at.{name}") or say.name("status", name)


def _headers(document: Document, cases: Cases) -> list[tuple[str, str]]:
    """(kind of column, title)"""
    say = document.say
    language = [("language", say("slice.language"))] if len(cases.language_names) > 1 else []
    values = [("value", metric.label(name, document.k, say)) for name in cases.values]
    return [("case", say("html.case")), ("outcome", say("html.cases.outcome")), *language, *values]


def _table(document: Document, cases: Cases) -> Html:
    headers = _headers(document, cases)
    head = joined(
        tag("th", title, scope="col", class_="number" if kind == "value" else None) for kind, title in headers
    )
    worst = cases.rows(range(min(SHOWN, len(cases))))
    body = joined(_rows(number, row, headers, document, cases) for number, row in worst)
    return tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="cases", data_cases=True)


def _rows(
    number: int, row: Mapping[str, Any], headers: Sequence[tuple[str, str]], document: Document, cases: Cases
) -> Html:
    """One case as the script shows it, but for its details, which open by themselves."""
    say = document.say
    name, language = cases.outcome_names[cases.outcomes[number]], cases.language_names[cases.languages[number]]
    question = found_in_data(cases.questions[number], class_="question") if cases.questions[number] else Html("")
    cells = [
        tag("th", found_in_data(cases.ids[number], class_="id"), question, scope="row", lang=language_tag(language)),
        tag("td", _outcome(name, say), class_=None if name in RIGHT else "failing"),
    ]
    if len(cases.language_names) > 1:
        cells.append(tag("td", language))
    cells += [tag("td", _value(column[number]), class_="number") for column in cases.values.values()]
    details = shown(details_of(row, document.k, say))
    more = tag("details", tag("summary", say("html.cases.more")), details)
    detail = tag("tr", tag("td", more, colspan=len(headers)), class_="detail", lang=language_tag(language))
    return joined([tag("tr", *cells), detail])


def _value(value: float) -> str:
    return "" if value != value else f"{value:.2f}"


def _data(document: Document, cases: Cases, store: Store) -> dict[str, Any]:
    say = document.say
    return {
        "words": {name: say(f"html.cases.{name}") for name in WORDS},
        "language": say.language,
        "columns": _headers(document, cases),
        "outcome_names": [[_outcome(name, say), name not in RIGHT] for name in cases.outcome_names],
        "language_names": [[name, language_tag(name)] for name in cases.language_names],
        "ids": cases.ids,
        "questions": cases.questions,
        "outcomes": cases.outcomes,
        "languages": cases.languages,
        "values": list(cases.values.values()),
        "texts": store.texts,
        "details": store.documents,
    }
