from typing import Any

import pytest

from runner.report.document import k_of


@pytest.mark.parametrize(
    ("summary", "run", "expected"),
    [
        ({"k": 5, "metrics": {"recall_at_k": {}}}, {}, 5),
        ({"metrics": {"recall_at_k": {}}}, {"k": 3}, 3),
        ({"k": 5, "metrics": {"facts_present": {}}}, {"k": 5}, None),  # k has no part in it
        ({}, {"k": 5}, 5),  # nothing was scored
        ({}, {}, None),
    ],
)
def test_k_is_told_where_a_metric_hangs_on_it(
    summary: dict[str, Any], run: dict[str, Any], expected: int | None
) -> None:
    assert k_of(summary, run) == expected
