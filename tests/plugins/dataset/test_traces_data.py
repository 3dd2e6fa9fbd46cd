"""The traces that come with the program: over five domains, in two languages, and worth what they were meant to be."""

import itertools
import re
import statistics
from collections import Counter

import pytest

from plugins.dataset.traces import TracesDataset
from runner.domains.traces import score_trace
from runner.domains.traces.records import Trace

DOMAINS = ("default", "finance", "code", "medical", "customer_service")
QUALITIES = ("good", "mediocre", "bad")


@pytest.fixture(scope="module")
def traces() -> tuple[Trace, ...]:
    found, problems = TracesDataset().read()
    assert not problems
    return found


def mean_scores(traces: tuple[Trace, ...], domain: str | None = None) -> list[float]:
    """Of good, mediocre and bad ones, each under the profile of its domain."""
    return [
        statistics.mean(
            score_trace(trace).score for trace in traces if trace.quality == quality and domain in (None, trace.domain)
        )
        for quality in QUALITIES
    ]


def test_every_domain_language_and_quality_is_there(traces: tuple[Trace, ...]) -> None:
    assert len(traces) >= 60
    counts = Counter((trace.domain, trace.language, trace.quality) for trace in traces)
    assert set(counts) == set(itertools.product(DOMAINS, ("ko", "en"), QUALITIES))
    assert min(counts.values()) >= 2


def test_good_ones_score_above_mediocre_ones_and_these_above_bad_ones(traces: tuple[Trace, ...]) -> None:
    good, mediocre, bad = mean_scores(traces)
    assert good > mediocre + 0.1 > bad + 0.2


@pytest.mark.parametrize("domain", DOMAINS)
def test_they_do_in_every_domain(traces: tuple[Trace, ...], domain: str) -> None:
    good, mediocre, bad = mean_scores(traces, domain)
    assert good > mediocre > bad


def test_hard_ones_show_what_the_score_cannot_see(traces: tuple[Trace, ...]) -> None:
    """It counts steps and tools and believes what an agent says of itself."""
    scores = dict(zip(QUALITIES, mean_scores(traces), strict=True))
    hard = [trace for trace in traces if trace.metadata.get("hard")]
    assert Counter(trace.quality for trace in hard) == {"bad": 2, "good": 2, "mediocre": 1}
    for trace in hard:
        if trace.quality == "bad":
            assert score_trace(trace).score > scores["mediocre"]
        if trace.quality == "good":
            assert score_trace(trace).score < scores["good"]


def test_they_are_no_ratings_of_people(traces: tuple[Trace, ...]) -> None:
    assert all(trace.rating is None for trace in traces)


def test_nothing_is_told_twice(traces: tuple[Trace, ...]) -> None:
    for texts in (
        [trace.objective for trace in traces],
        [trace.summary for trace in traces if trace.quality == "good"],
    ):
        assert len(set(texts)) == len(texts)


def test_the_language_is_the_one_it_is_written_in(traces: tuple[Trace, ...]) -> None:
    for trace in traces:
        said = " ".join([trace.objective, *(step.content for step in trace.steps if step.type == "thought")])
        assert bool(re.search("[가-힣]", said)) is (trace.language == "ko"), trace.id


def test_the_order_of_time_is_not_that_of_the_files(traces: tuple[Trace, ...]) -> None:
    times = [trace.created_at for trace in traces if trace.created_at]
    assert len(times) == len(traces) and times != sorted(times)
