"""Sections of the page of a run about a comparison with a baseline. `record` is compare.json."""

from __future__ import annotations

from runner.report.comparison import of_run
from runner.report.comparison_words import Record
from runner.report.html.markup import Html
from runner.report.html.page import Section
from runner.report.page import html
from runner.words.wording import Wording


def sections(record: Record, say: Wording) -> list[Section]:
    return [Section(each.id, each.title, Html(html(each.blocks, level=3))) for each in of_run(record, say)]
