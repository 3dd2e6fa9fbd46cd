"""What report.html says beyond summary.md, in English, one sentence a line."""
# ruff: noqa: E501

ENGLISH_HTML: dict[str, str] = {
    "html.contents": "Contents",
    "html.more": "Settings, versions and the command",
    "html.retrieval": "Retrieval",
    "html.own": "Metrics of this evaluation",
    "html.depth": "By depth and leg",
    "html.questions": "all questions",
    "html.right": "right",
    "html.case": "Case",
    "html.retrieved": "Retrieved, with relevance 0 to 1 (✓ expected; the context takes the best {k})",
    "html.contexts": "Given to the generator (bold: cited)",
    "html.runs": "Runs",
    "html.against": "Metrics against {x}",
    # the table of cases
    "html.cases": "Cases",
    "html.cases.explain": "The worst come first: failing questions, then by the mean of their scores. A row opens to all that is known of the case.",
    "html.cases.listed": "Listed are the {listed} worst of {n} cases; all of them are in per_item.jsonl.",
    "html.cases.detailed": "Answers, contexts and judgements are kept here for {detailed} cases, the worst first; for all others they are in per_item.jsonl.",
    "html.cases.text": "Words in id or question",
    "html.cases.outcome": "Result",
    "html.cases.language": "Language",
    "html.cases.change": "Against the baseline",
    "html.cases.all": "all",
    "html.cases.failing": "failing",
    "html.cases.more": "Details",
    "html.cases.range": "{from}–{to} of {n}",
    "html.cases.nothing": "No case matches.",
    "html.cases.no_details": "What else is known of this case is in per_item.jsonl.",
    "html.cases.previous": "Previous",
    "html.cases.next": "Next",
}
