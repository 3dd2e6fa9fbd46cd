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
from runner.words.wording import Wording

DETAIL_BYTES = 2_000_000  # for everything that is known of cases, as JSON
DETAILED = 5_000  # cases at most
SHOWN = 10  # rows for readers without scripts
RIGHT = frozenset({"none", "ok", "trace.success.True"})
WORDS = ("range", "nothing", "no_details", "previous", "next")


def cases_section(document: Document, cases: Cases) -> tuple[Section, Mapping[str, Any]]:
    """The section, and what the script reads."""
    say = document.say
    if not cases.n:
        return Section("cases", say("html.cases"), paragraph(say("metrics.none"))), {}
    store = _store(document, cases)
    blocks = [
        paragraph(say("trace.cases_explain" if document.summary.get("trace") else "html.cases.explain")),
        *(paragraph(text, "left-out") for text in _left_out(cases, store, say)),
        _filters(cases, say),
        scrolled(_table(document, cases), say("html.cases")),
        tag("p", hidden=True, class_="pages", data_pages=True),
    ]
    return Section("cases", say("html.cases"), joined(blocks)), _data(document, cases, store)


def _store(document: Document, cases: Cases) -> Store:
    """Cases that changed, then the worst, as long as there is room."""
    store = Store(DETAIL_BYTES)
    changed = [number for number in range(len(cases)) if cases.choices["change"][number]]
    wanted = list(dict.fromkeys([*changed, *range(len(cases))]))[:DETAILED]
    for number, row in cases.rows(wanted):
        if not store.add(number, details_of(row, document.k, document.say)):
            break
    return store


def _left_out(cases: Cases, store: Store, say: Wording) -> Iterable[str]:
    if len(cases) < cases.n:
        yield say("html.cases.listed", listed=f"{len(cases):,}", n=f"{cases.n:,}")
    if len(store.documents) < len(cases):
        yield say("html.cases.detailed", detailed=f"{len(store.documents):,}")


# --- columns and filters --------------------------------------------------------------------------


def _told(kind: str, name: str, say: Wording) -> str:
    """An outcome, a language or a change in words."""
    if kind == "change":
        return say(f"compare.flips.{name}") if name else ""
    if kind == "language":
        return name
    if name.startswith("trace."):
        return say(name)
    if name in RIGHT:
        return say("html.right")
    return say.texts.get(f"lost_at.{name}") or say.name("status", name)


def _kinds(cases: Cases) -> list[str]:
    """Choices by which cases differ; the outcome always."""
    return [kind for kind, choice in cases.choices.items() if kind == "outcome" or len(choice.names) > 1]


def _headers(document: Document, cases: Cases) -> list[tuple[str, str]]:
    """(kind of column, title)"""
    say = document.say
    choices = [(kind, say(f"html.cases.{kind}")) for kind in _kinds(cases)]
    values = [("value", metric.label(name, document.k, say)) for name in cases.values]
    return [("case", say("html.case")), *choices, *values]


def _filters(cases: Cases, say: Wording) -> Html:
    """Hidden until a script is there to obey them."""
    text = tag("input", type="search", data_filter="text", autocomplete="off")
    fields = [_field(say("html.cases.text"), text)]
    for kind in _kinds(cases):
        options = joined(_options(cases, kind, say))
        fields.append(_field(say(f"html.cases.{kind}"), tag("select", options, data_filter=kind)))
    count = tag("output", aria_live="polite", data_count=True)
    return tag("div", *fields, count, class_="filters", hidden=True, role="search")


def _options(cases: Cases, kind: str, say: Wording) -> Iterable[Html]:
    choice = cases.choices[kind]
    counts = Counter(choice.numbers)
    yield _option("", say("html.cases.all"), len(cases))
    failing = [number for number, name in enumerate(choice.names) if name not in RIGHT]
    if kind == "outcome" and len(failing) != 1:  # one way to fail is a choice by itself
        yield _option("failing", say("html.cases.failing"), sum(counts[number] for number in failing))
    for number, name in enumerate(choice.names):
        yield _option(number, _told(kind, name, say) or say("none"), counts[number])


def _option(value: str | int, text: str, count: int) -> Html:
    return tag("option", f"{text} ({count:,})", value=value)


def _field(name: str, control: Html) -> Html:
    return tag("label", tag("span", name), control)


# --- rows -----------------------------------------------------------------------------------------


def _table(document: Document, cases: Cases) -> Html:
    headers = _headers(document, cases)
    head = joined(
        tag("th", title, scope="col", class_="number" if kind == "value" else None) for kind, title in headers
    )
    worst = cases.rows(range(min(SHOWN, len(cases))))
    body = joined(_rows(number, row, len(headers), document, cases) for number, row in worst)
    return tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="cases", data_cases=True)


def _rows(number: int, row: Mapping[str, Any], width: int, document: Document, cases: Cases) -> Html:
    """One case as the script shows it, but for its details, which open by themselves."""
    say, language = document.say, language_tag(cases.choices["language"][number])
    question = found_in_data(cases.questions[number], class_="question") if cases.questions[number] else Html("")
    cells = [tag("th", found_in_data(cases.ids[number], class_="id"), question, scope="row", lang=language)]
    for kind in _kinds(cases):
        name = cases.choices[kind][number]
        cells.append(tag("td", _told(kind, name, say), class_="failing" if _is_bad(kind, name) else None))
    cells += [tag("td", _value(column[number]), class_="number") for column in cases.values.values()]
    more = tag("details", tag("summary", say("html.cases.more")), shown(details_of(row, document.k, say)))
    detail = tag("tr", tag("td", more, colspan=width), class_="detail", lang=language)
    return joined([tag("tr", *cells), detail])


def _is_bad(kind: str, name: str) -> bool:
    return name == "lost" if kind == "change" else kind == "outcome" and name not in RIGHT


def _value(value: float) -> str:
    return "" if value != value else f"{value:.2f}"


def _data(document: Document, cases: Cases, store: Store) -> dict[str, Any]:
    say = document.say
    return {
        "words": {name: say(f"html.cases.{name}") for name in WORDS},
        "language": say.language,
        "columns": _headers(document, cases),
        "choices": {kind: _choice(kind, cases, say) for kind in cases.choices},
        "language_tags": [language_tag(name) for name in cases.choices["language"].names],
        "ids": cases.ids,
        "questions": cases.questions,
        "values": list(cases.values.values()),
        "texts": store.texts,
        "details": store.documents,
    }


def _choice(kind: str, cases: Cases, say: Wording) -> Mapping[str, Sequence[Any]]:
    choice = cases.choices[kind]
    return {
        "names": [_told(kind, name, say) for name in choice.names],
        "bad": [_is_bad(kind, name) for name in choice.names],
        "numbers": choice.numbers,
    }
