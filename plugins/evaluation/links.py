"""Suggests links for places in notes and compares them with the links that are expected there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from runner.data.identity import document_digests, documents_fingerprint
from runner.domains.links import report
from runner.domains.links.events import acceptance_of
from runner.domains.links.link_cases import LinkCase, LinkData, LinkPlaces
from runner.domains.links.link_texts import sentence_around
from runner.domains.links.making import window
from runner.domains.links.reasons import RUBRIC, link_controls
from runner.domains.links.suggesting import Place, Suggester, Suggestion, Suggestions
from runner.errors import ConfigError, Problem
from runner.llm.health import check_health
from runner.llm.metering import by_role, call_with_meter, charge
from runner.metrics import links, ranking
from runner.metrics.links import acceptance, first_rank, link_metrics, novelty
from runner.protocols import Judge, Workspace, attribute_of
from runner.records import CaseSet, Judgement, Judgements, Preparation, RoleCost, Scores, Timing
from runner.system.stopwatch import stopwatch
from runner.system.store import fingerprint
from runner.system.threads import compute, in_thread
from runner.text.language import detect_language

NO_GRADE = {
    "en": "Precision@k has no grade: a place with fewer expected links than k cannot reach 1.",
    "ko": "Precision@k에는 등급이 없습니다. 기대 링크가 k개보다 적은 자리는 1에 이를 수 없기 때문입니다.",
}
EXCERPT, SAYING = 3000, 10  # characters of a suggested note, and sentences that link to it, which a judge sees
AHEAD = 64  # places per call of a suggester that calls a model


@dataclass(frozen=True, slots=True)
class LinkOutput:
    """`best` and `legs`: what is confident enough, to the deepest cutoff; `reasons` of the first `topk` of `best`."""

    place: Place
    best: tuple[Suggestion, ...]
    legs: Mapping[str, tuple[Suggestion, ...]]
    reasons: tuple[str, ...]
    timing: Timing
    recorded: Mapping[str, Any]

    @property
    def timings(self) -> Mapping[str, Timing]:
        return {"suggestion": self.timing}

    def record(self) -> Mapping[str, Any]:
        return self.recorded


class LinkEvaluation:
    """One case is one place. `topk` suggestions are shown; those below `min_confidence` are left out, in a leg
    either. What is linked in the note already is not suggested again, unless `skip_linked` is false. The reason of the
    first suggestion is judged where `judge_reason` says so."""

    metrics = (
        *(replace(metric, no_grade=NO_GRADE) if metric.no_grade else metric for metric in ranking.METRICS),
        *links.METRICS,
    )

    sections = staticmethod(report.sections)
    case_facts = staticmethod(report.case_facts)

    def __init__(
        self,
        *,
        dataset: LinkPlaces,
        suggester: Suggester,
        judge: Judge,
        topk: Annotated[int, Field(ge=1, le=50)],
        cutoffs: list[int],
        min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.0,
        context_chars: Annotated[int, Field(ge=0)] = 400,
        skip_linked: bool = True,
        judge_reason: bool = True,
    ) -> None:
        if not isinstance(dataset, LinkPlaces):
            raise ConfigError([Problem("dataset", "holds no places for links; dataset=links does")])
        self.dataset, self.suggester, self.judge_ = dataset, suggester, judge
        self.topk, self.cutoffs, self.fixed = topk, sorted({topk, *cutoffs}), frozenset(cutoffs)
        self.min_confidence, self.context_chars = min_confidence, context_chars
        self.skip_linked, self.judge_reason = skip_linked, judge_reason
        self._data: LinkData | None = None
        self._ahead: dict[str, Suggestions] = {}
        self._costs_ahead: dict[str, Mapping[str, RoleCost]] = {}  # of models, for what is in _ahead
        self._legs: tuple[str, ...] = ()

    # --- the run ------------------------------------------------------------------------------------

    def load(self) -> CaseSet[LinkCase]:
        self._data = data = self.dataset.read()
        parts = {"judge": self.judge_, "models": self.suggester}
        identity = {
            "documents": documents_fingerprint(data.vault.corpus.documents),
            "corpus": data.vault.corpus.fingerprint,
            "queries": fingerprint([[case.id, case.note, case.anchor, case.start, case.end] for case in data.cases]),
            "gold": fingerprint(sorted([case.id, case.gold] for case in data.cases)),
            "slices": fingerprint([[case.language, *case.tags] for case in data.cases]),
            **{name: fingerprint(attribute_of(part, "provenance")) for name, part in parts.items()},
        }
        return CaseSet(data.cases, data.problems, identity, document_digests(data.vault.corpus.documents))

    async def prepare(self, cases: Sequence[LinkCase], workspace: Workspace) -> Preparation:
        """Where suggestions cost requests, all are requested here, many at a time."""
        with stopwatch() as watch:
            index = await in_thread(self.suggester.index, self.data.vault, workspace)
        if attribute_of(self.suggester, "caches"):
            for start in range(0, len(cases), AHEAD):
                batch = cases[start : start + AHEAD]
                places, ids = [self.place(case) for case in batch], [case.id for case in batch]
                found, meter = await in_thread(call_with_meter, self.suggester.suggest, places, self._depth)
                self._ahead |= dict(zip(ids, found, strict=True))
                self._costs_ahead |= dict(zip(ids, map(by_role, meter.of_each(ids)), strict=True))
        graph = self.data.vault.graph
        notes = {"notes": len(graph.notes), "links": graph.n_links, "broken": len(graph.broken)}
        counted = {**notes, "ambiguous": len(graph.ambiguous), "expected": sum(len(case.expected) for case in cases)}
        return Preparation({"vault": counted, "suggester": dict(index)}, {"index_s": round(watch.ms / 1000, 3)})

    async def check_judge(self) -> Mapping[str, Any]:
        if not (self.judge_reason and attribute_of(self.judge_, "health")):
            return {}
        return {"judge_health": await check_health(self.judge_, [link_controls()])}

    async def run(self, case: LinkCase) -> LinkOutput:
        place = self.place(case)
        ahead = self._ahead.get(case.id)
        charge(self._costs_ahead.get(case.id, {}))
        if ahead is None:
            with stopwatch() as watch:
                suggested = (await compute(self.suggester.suggest, [place], self._depth))[0]
            timing = watch.timing
        else:
            suggested, timing = ahead, Timing(None, live=False)
        self._legs = tuple(f"{name}/" for name in suggested.legs)
        best, legs = (
            self._confident(suggested.best),
            {name: self._confident(leg) for name, leg in suggested.legs.items()},
        )
        reasons = tuple([await compute(self.suggester.reason, place, each.note) for each in best[: self.topk]])
        return LinkOutput(place, best, legs, reasons, timing, self._record(case, place, best, reasons))

    async def judge(self, case: LinkCase, output: LinkOutput) -> Judgements:
        if not (self.judge_reason and output.reasons):
            return {}
        note, corpus = output.best[0].note, self.data.vault.corpus
        linking = [
            f"{corpus.title_of(edge.source)}: {sentence_around(corpus.document_by_id[edge.source].text, edge.link)}"
            for edge in self.data.vault.graph.back_links(note)[:SAYING]
        ]
        fields = {
            "anchor": output.place.anchor,
            "context": output.place.context,
            "target": "\n\n".join([corpus.title_of(note), corpus.document_by_id[note].text[:EXCERPT], *linking]),
            "reason": output.reasons[0],
            "language": output.place.language,
        }
        return {RUBRIC: await self.judge_.judge(RUBRIC, fields)}

    def score(self, case: LinkCase, output: LinkOutput | None, judgements: Judgements) -> Scores:
        if output is None:
            ranked = (name for prefix in ("", *self._legs) for name in self._ranking_scores(prefix, (), case))
            return Scores({}, unscored=(*ranked, "link_novelty", *([RUBRIC] if self.judge_reason else [])))
        notes = [each.note for each in output.best]
        values = self._ranking_scores("", notes, case)
        for leg, found in output.legs.items():
            values |= self._ranking_scores(f"{leg}/", [each.note for each in found], case)
        shown = notes[: self.topk]
        values["link_novelty"] = novelty(shown, self._linked_notes(case.note))
        values["link_acceptance"] = acceptance(shown, case.accepted, case.rejected)
        judged, failed = self._reason_scores(judgements)
        return Scores({**values, **judged}, unscored=failed, labels={"lost_at": self._lost_at(case, notes)})

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        found = acceptance_of(self.data.events)
        return {"k": self.topk, **({"links": {"acceptance": found}} if found else {})}

    # --- places and what is kept of them ------------------------------------------------------------

    @property
    def data(self) -> LinkData:
        """The data that `load` read. Raises RuntimeError before it."""
        if self._data is None:
            raise RuntimeError("load() comes first")
        return self._data

    @property
    def _depth(self) -> int:
        return self.cutoffs[-1]

    def place(self, case: LinkCase) -> Place:
        """The place that a suggester gets: without the links that are expected there."""
        text = self.data.vault.corpus.document_by_id[case.note].text
        context = case.context[: self.context_chars]
        if case.start is not None and case.end is not None:
            context = window(text, case.start, case.end, self.context_chars)
        language = case.language if case.language in ("ko", "en") else detect_language(f"{case.anchor}\n{context}")
        skip = self._linked_notes(case.note) if self.skip_linked else frozenset()
        return Place(case.note, case.anchor, context, "ko" if language == "ko" else "en", skip)

    def _linked_notes(self, note: str) -> frozenset[str]:
        return self.data.vault.graph.links_from(note)

    def _confident(self, found: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
        return tuple([each for each in found if each.confidence >= self.min_confidence])

    def _record(
        self, case: LinkCase, place: Place, best: Sequence[Suggestion], reasons: Sequence[str]
    ) -> dict[str, Any]:
        linked, corpus = self._linked_notes(case.note), self.data.vault.corpus
        hits = [
            {
                "id": suggestion.note,
                "title": corpus.title_of(suggestion.note),
                "relevance": suggestion.confidence,
                "linked": suggestion.note in linked,
                **({"parts": dict(suggestion.parts)} if suggestion.parts else {}),
                **({"reason": reasons[rank]} if rank < len(reasons) else {}),
            }
            for rank, suggestion in enumerate(best[: max(self.topk, 10)])
        ]
        labels = {"accepted": sorted(case.accepted), "rejected": sorted(case.rejected)}
        return {
            "query": case.anchor,
            "source_note": case.note,
            "context": place.context,
            "expected": sorted(note for notes in case.expected for note in notes),
            "gold": case.gold,
            "retrieved": hits,
            **{name: notes for name, notes in labels.items() if notes},
        }

    # --- scores -------------------------------------------------------------------------------------

    def _ranking_scores(self, prefix: str, notes: Sequence[str], case: LinkCase) -> dict[str, float | None]:
        values = {}
        for name, value in link_metrics(notes, case.expected, self.cutoffs).items():
            measure, _, cutoff = name.partition("@")
            if int(cutoff) == self.topk:
                values[f"{prefix}mrr" if measure == "mrr" else f"{prefix}{measure}_at_k"] = value
            if int(cutoff) in self.fixed:
                values[f"{prefix}{measure}_at_{cutoff}"] = value
        return values

    def _lost_at(self, case: LinkCase, notes: Sequence[str]) -> str:
        if not any(case.expected):
            return "not_a_note"
        rank = first_rank(notes, case.expected)
        if rank is None:
            return "not_suggested"
        return "none" if rank <= self.topk else "suggested_below_k"

    def _reason_scores(self, judgements: Judgements) -> tuple[dict[str, float | None], tuple[str, ...]]:
        """A failed judgement counts as 0 or not at all; where nothing was suggested there is no reason to judge."""
        judgement: Judgement | None = judgements.get(RUBRIC)
        if judgement is None:
            return {RUBRIC: None}, ()
        if judgement.error is None and judgement.score is not None:
            return {RUBRIC: judgement.score}, ()
        return {RUBRIC: 0.0 if self.judge_.on_failure == "zero" else None}, (RUBRIC,)
