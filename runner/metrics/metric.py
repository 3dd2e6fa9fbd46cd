"""What a metric is: one record beside the code that computes it. Whatever treats metrics alike reads the record.

A name in a file is a metric or a variant of one: `recall_at_5` and `recall_at_k` (at a cutoff, that of the run),
`chunk/recall_at_k` and `keyword/recall_at_5` (of a part: chunks, a leg of a fusion), `exact_match_patched` (by
corrected labels). A metric that its evaluation did not declare has no record: it is shown as it is, and nothing says
whether more of it is better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Direction = Literal["higher", "lower"]
Better = Literal["higher", "lower", "neither"]
Group = Literal["right", "retrieval", "memory", "traces", "agent", "links", "own", "answers", "unanswerable", "repeats"]
View = Literal["run", "sweeps", "slices", "cases", "worst"]
Grade = Literal["excellent", "good", "fair", "needs_work"]
Words = Mapping[str, str]  # language (en, ko) -> text

K = "k"  # in `depends`: cut off at k, the run's own or a fixed one
PATCHED = "_patched"
LAST_QUALITY = 9
MIN_DECIDED = 0.5  # share of the cases below which a metric that leaves some undecided decides no verdict and no gate
GROUPS: tuple[Group, ...] = get_args(Group)  # in the order in which a report shows them
BY_DEFAULT: frozenset[View] = frozenset({"sweeps", "cases"})

_NAME = re.compile(r"[^\s/]+")
_AT = re.compile(r"(?P<base>.+)_at_(?P<cutoff>k|\d+)")


@dataclass(frozen=True, slots=True)
class Grades:
    """Excellent above 0.8, good from 0.6, fair from 0.4, needs work below. `readings`: what a grade of the metric
    means, where that can be said."""

    readings: Mapping[Grade, Words] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The properties of a metric, the same wherever it is shown. The value of a run is the mean over its cases,
    weighted where these carry weights (`Scores.weights`).

    name         in the rows of cases; without spaces and `/`
    better       `neither`: it is shown and compared, and nobody calls a change better or worse
    label        what reports call it
    meaning      what it counts, in one sentence
    range        lowest and highest value of one case; inf where it has no end. A difference below the margin of a
                 comparison, which is a share of the range, does not matter; without an end every one does
    grades       None: it has none. Only for shares of the best that can be reached: better higher, from 0 to 1
    no_grade     why it has none, where a reader expects one
    main         decides the verdict on two runs. Where an evaluation has no main metric, all do
    main_beside  a main metric, and shown in the tables of a run, only where this one has values as well
    depends      names of the identity that must be equal for two values to be comparable, `k` for a metric that is
                 cut off at k; None: all but what an experiment varies
    group        the table that it stands in
    headline     its place among the few metrics that stand for a run where there is no room for all, from 0
    shown        where else it is shown: at the end of a run; columns of sweeps, of slices and of the cases of a page;
                 `worst`: it decides which cases went worst
    quality      the main metrics with the lowest one are the quality that a sweep weighs against cost, of those that
                 do not say it the first; None: never
    tells_right  a case with 1 is right, one with less is wrong
    decided_by   the label of a case that names the rule by which its value was decided; a case with that label and
                 without a value is undecided: it counts as the middle of the range in comparisons
    rules        rule -> its kind; pairs that were decided by rules of different kinds are not compared. The kind ""
                 goes with any; a rule that is not listed is a kind of its own
    short        its label where a column is narrow; may have line breaks
    summary      its name in summaries, where the mean has one of its own
    """

    name: str
    better: Better
    label: Words
    meaning: Words = field(default_factory=dict)
    range: tuple[float, float] = (0.0, 1.0)
    grades: Grades | None = None
    no_grade: Words = field(default_factory=dict)
    main: bool = False
    main_beside: str = ""
    depends: tuple[str, ...] | None = None
    group: Group = "own"
    headline: int | None = None
    shown: frozenset[View] = BY_DEFAULT
    quality: int | None = LAST_QUALITY
    tells_right: bool = False
    decided_by: str = ""
    rules: Words = field(default_factory=dict)
    short: Words = field(default_factory=dict)
    summary: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError for an invalid field."""
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name) or self.name.endswith(PATCHED):
            needs = f"expected a name without spaces, without '/' and without '{PATCHED}' at its end"
            raise ValueError(f"metric {self.name!r}: name: {needs}")
        if self.better not in get_args(Better):
            self._refuse("better", f"expected one of {', '.join(get_args(Better))}, found {self.better!r}")
        if not self.label:
            self._refuse("label", 'expected texts by language, as {"en": …, "ko": …}')
        low, high = self.range
        if not low < high:
            self._refuse("range", f"expected the lowest and then the highest value, found {low} and {high}")
        if self.grades is not None and (self.better != "higher" or (low, high) != (0.0, 1.0)):
            self._refuse("grades", "only a metric that is better when higher and goes from 0 to 1 has grades")

    def _refuse(self, name: str, problem: str) -> None:
        raise ValueError(f"metric '{self.name}': {name}: {problem}")

    @property
    def in_summaries(self) -> str:
        """The name of its aggregate in summary.json."""
        return self.summary or self.name

    @property
    def has_cutoffs(self) -> bool:
        """Whether it is computed at k."""
        return K in (self.depends or ())

    def record(self) -> dict[str, Any]:
        """JSON values, without what is as it is by default."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if not _is_default(each, self)}
        if "range" in values:
            values["range"] = [end if math.isfinite(end) else None for end in self.range]
        if self.grades is not None:
            values["grades"] = {"readings": {grade: dict(words) for grade, words in self.grades.readings.items()}}
        if "shown" in values:
            values["shown"] = sorted(self.shown)
        return values

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Metric:
        """A metric from its `record`; unknown keys of newer versions are ignored. Raises ValueError for a damaged
        record."""
        values = {each.name: record[each.name] for each in fields(cls) if each.name in record}
        if isinstance(ends := values.get("range"), list) and len(ends) == 2:
            values["range"] = [
                limit if end is None else end for end, limit in zip(ends, (-math.inf, math.inf), strict=True)
            ]
        if values.get("group") not in GROUPS:
            values.pop("group", None)
        return _validate(values)


def _validate(fields_: Mapping[str, Any]) -> Metric:
    """Raises ValueError with the first fault."""
    from pydantic import ValidationError

    try:
        return _adapter().validate_python(fields_)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))) from None


@cache
def _adapter() -> TypeAdapter[Metric]:
    from pydantic import TypeAdapter

    return TypeAdapter(Metric)


def _is_default(each: Any, metric: Metric) -> bool:
    default = each.default if each.default_factory is MISSING else each.default_factory()
    return bool(getattr(metric, each.name) == default)


def word(words: Words, language: str) -> str:
    """The word in a language; in English or any other where that is missing. Empty without words."""
    return words.get(language) or words.get("en") or next(iter(words.values()), "")


@dataclass(frozen=True, slots=True)
class Variant:
    """A name of a file taken apart. `metric` is None for an undeclared one; `place` is its place in the catalogue."""

    name: str
    metric: Metric | None
    part: str
    base: str
    cutoff: str  # k, a number, or empty
    patched: bool
    place: int

    @property
    def is_whole(self) -> bool:
        """Whether it is the metric itself, not a part of it, nor one with filled gaps."""
        return not self.part and not self.patched

    @property
    def is_own_k(self) -> bool:
        """Whether it is cut off at the run's own k."""
        return self.cutoff == K or (not self.cutoff and self.metric is not None and self.metric.has_cutoffs)

    @property
    def fixed(self) -> int | None:
        """5 of recall_at_5; None of recall_at_k and of mrr."""
        return int(self.cutoff) if self.cutoff.isdecimal() else None

    @property
    def direction(self) -> Direction | None:
        """The direction in which the metric is better; None where it has none."""
        better = None if self.metric is None else self.metric.better
        return None if better == "neither" else better

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest value of one case; infinite where there is no limit, or where it is unknown."""
        return (-math.inf, math.inf) if self.metric is None else self.metric.range

    @property
    def span(self) -> float:
        """From the lowest value to the highest; 0 where there is no limit, or where it is unknown."""
        low, high = self.range
        return high - low if math.isfinite(high - low) else 0.0

    @property
    def is_share(self) -> bool:
        """Whether it goes from 0 to 1."""
        return self.metric is not None and self.metric.range == (0.0, 1.0)

    @property
    def is_graded(self) -> bool:
        """Whether its values have grades (excellent, good, fair, needs work)."""
        return self.metric is not None and self.metric.grades is not None

    @property
    def is_main(self) -> bool:
        """Whether it decides verdicts."""
        return self.is_whole and self.metric is not None and self.metric.main and self.direction is not None

    @property
    def is_added_main(self) -> bool:
        """Whether it decides verdicts beside the metrics of an evaluation: somebody asked for it by name."""
        return self.is_main and self.fixed is None and self.metric is not None and self.metric.group == "own"

    @property
    def is_headline(self) -> bool:
        """Whether it may be the headline of a report."""
        is_one = self.metric is not None and self.metric.headline is not None
        return is_one and self.is_whole and self.fixed is None

    def is_shown(self, view: View) -> bool:
        """Whether it is shown there, beside the headlines."""
        is_one = self.metric is not None and view in self.metric.shown
        return is_one and self.is_whole and self.fixed is None

    @property
    def priority(self) -> tuple[float, int, float]:
        """The order of metrics where there is not room for all."""
        headline = None if self.metric is None else self.metric.headline
        return (math.inf if headline is None else headline, self.place, self.fixed or 0)

    @property
    def depends(self) -> tuple[str, ...] | None:
        """The names of the identity that make two values incomparable; None where they are not declared."""
        found = None if self.metric is None else self.metric.depends
        return (*found, "chunks") if found is not None and self.part == "chunk" else found

    def goodness(self, value: float) -> float | None:
        """0 for its worst possible value, 1 for the best; None where these are unknown."""
        if self.direction is None or self.metric is None or not self.span:
            return None
        share = (value - self.metric.range[0]) / self.span
        return share if self.direction == "higher" else 1.0 - share


class Catalogue:
    """Metrics by their names, in the order in which they were declared. Of two with one name the first counts."""

    def __init__(self, metrics: Iterable[Metric] = ()) -> None:
        self._metrics: dict[str, Metric] = {}
        for metric in metrics:
            self._metrics.setdefault(metric.name, metric)
        self._by_summary = {metric.in_summaries: metric for metric in self._metrics.values()} | self._metrics
        self._places = {name: place for place, name in enumerate(self._metrics)}
        self._variants: dict[str, Variant] = {}

    @property
    def metrics(self) -> Sequence[Metric]:
        return tuple(self._metrics.values())

    def variant(self, name: str) -> Variant:
        """The variant of any name, declared or not."""
        if name not in self._variants:
            self._variants[name] = self._variant(name)
        return self._variants[name]

    def _variant(self, name: str) -> Variant:
        part, _, suffix = name.rpartition("/")
        measure = suffix.removesuffix(PATCHED)
        metric, base, cutoff = self._by_summary.get(measure), measure, ""
        if metric is None and (match := _AT.fullmatch(measure)):
            base, cutoff = match["base"], match["cutoff"]
            family = self._by_summary.get(base)
            metric = family if family is not None and family.has_cutoffs else None
        place = len(self._places) if metric is None else self._places[metric.name]
        return Variant(name, metric, part, base, cutoff, measure != suffix, place)

    def normal_name(self, name: str) -> str:
        """One form of all names that people write for a metric.

        Args:
            name: a name in summaries or in rows (`mean_faithfulness`, `faithfulness`), a cutoff as in papers or in
                files (`nDCG@5`, `ndcg_at_5`), or none, which is the run's own k (`recall`, `recall@k`).

        Returns:
            The name in summaries, with its cutoff (`mean_faithfulness`, `ndcg_at_5`, `recall_at_k`); `name` where no
            such metric is declared.
        """
        plain = name.replace("@", "_at_")
        for form in (name, plain, plain.casefold()):
            variant = self.variant(form)
            if variant.metric is not None:
                part = f"{variant.part}/" if variant.part else ""
                cutoff = f"_at_{variant.cutoff or K}" if variant.metric.has_cutoffs else ""
                return f"{part}{variant.metric.in_summaries}{cutoff}{PATCHED if variant.patched else ''}"
        return name

    def name_among(self, name: str, names: Iterable[str]) -> str | None:
        """The one of some names that a person means; None where none of them is meant.

        Args:
            name: what a person wrote, as for `normal_name`.
            names: those of a summary, or of rows.
        """
        known = list(names)
        if name in known:
            return name
        wanted = self.normal_name(name)
        return next((each for each in known if self.normal_name(each) == wanted), None)

    @property
    def spellings(self) -> Sequence[str]:
        """The names of the metrics in rows and in summaries, without cutoffs."""
        return tuple(dict.fromkeys(name for metric in self.metrics for name in (metric.in_summaries, metric.name)))

    def direction(self, name: str) -> Direction | None:
        """`higher` or `lower` is better; None for neither, and for a metric that was not declared."""
        return self.variant(name).direction

    def span(self, name: str) -> float:
        """The width of the range of its values; 0 where that has no end."""
        return self.variant(name).span

    def in_order(self, names: Iterable[str]) -> list[str]:
        """The most important first; undeclared ones last, in the order given."""
        return sorted(names, key=lambda name: self.variant(name).priority)

    def headlines(self, names: Collection[str]) -> list[str]:
        """The few headline metrics of a run among these, in order, with the main metrics that somebody added to an
        evaluation (group `own`); all main metrics where none is declared a headline."""
        found = [name for name in names if self.variant(name).is_headline or self.variant(name).is_added_main]
        main = (name for name in names if self.variant(name).is_main and self.variant(name).fixed is None)
        return self.in_order(found or main)

    def names_for(self, names: Collection[str], view: View) -> list[str]:
        """The metrics of a view, in order: the headlines and those declared to be shown there."""
        headlines = self.headlines(names)
        return self.in_order({*headlines, *(name for name in names if self.variant(name).is_shown(view))})

    @cached_property
    def summary_names(self) -> Mapping[str, str]:
        """How summaries call metrics of rows, where they call them otherwise."""
        return {metric.name: metric.summary for metric in self.metrics if metric.summary}

    @cached_property
    def deciding(self) -> Sequence[tuple[str, float, float]]:
        """The metrics that decide which cases are the worst, most important first: (name in rows, a, b), where a + b *
        value is the goodness of a value."""
        names = [
            name
            for metric in self.metrics
            if "worst" in metric.shown
            for name in ([f"{metric.name}_at_{K}", metric.name] if metric.has_cutoffs else [metric.name])
        ]
        ends = [(name, self.variant(name).goodness(0.0), self.variant(name).goodness(1.0)) for name in names]
        lines = {name: (zero, one - zero) for name, zero, one in ends if zero is not None and one is not None}
        return [(name, *lines[name]) for name in self.in_order(lines)]

    @cached_property
    def telling_right(self) -> Sequence[str]:
        """Names in rows of what says of a case whether it is right, at the run's own k; what decides the verdict comes
        first, then what matters most."""
        names = [f"{each.name}_at_{K}" if each.has_cutoffs else each.name for each in self.metrics if each.tells_right]
        return sorted(names, key=lambda name: (not self.variant(name).is_main, self.variant(name).priority))

    def row_name(self, name: str) -> str:
        """How rows call a metric of a summary."""
        metric = self._by_summary.get(name)
        return name if metric is None else metric.name

    def record(self, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """JSON values; only of the metrics behind some names."""
        wanted = None if names is None else {variant.base for variant in map(self.variant, names)}
        chosen = (m for m in self.metrics if wanted is None or not wanted.isdisjoint((m.name, m.in_summaries)))
        return [metric.record() for metric in chosen]

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]]) -> Catalogue:
        """A catalogue from its `record`. Raises ValueError for a damaged one."""
        metrics = []
        for place, record in enumerate(records):
            try:
                metrics.append(Metric.of(record))
            except (TypeError, ValueError) as error:
                raise ValueError(f"declared.{place}: no record of a metric: {error}") from None
        return cls(metrics)
