"""A language model as judge: faithfulness, answer relevancy and whatever else has a rubric."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal, Unpack

from pydantic import Field

from runner.errors import EvaluationError, did_you_mean
from runner.llm import graded
from runner.llm.messages import ChatRequest
from runner.llm.models import Models
from runner.llm.rubrics import Rubric, rubrics
from runner.llm.sampling import Sampling, SamplingSettings
from runner.llm.votes import combined, gathered, kept_votes
from runner.records import Judgement
from runner.text.claims import claims
from runner.text.language import Language
from runner.text.refusals import says_unknown

VERDICTS = ("supported", "contradicted", "not_found")
NO_CLAIM = 0.5  # what claims nothing can be neither confirmed nor refuted
VERDICTS_A_REPLY = 8  # for which max_tokens is meant

_EMPTY: Mapping[Language, str] = {"en": "The answer is empty.", "ko": "답변이 비어 있습니다."}
_CLAIMLESS: Mapping[Language, str] = {"en": "The answer claims nothing.", "ko": "답변이 아무것도 주장하지 않습니다."}
_COUNT: Mapping[Language, str] = {"en": "{} of {} claims supported.", "ko": "주장 {1}개 중 {0}개가 뒷받침됩니다."}
_VERDICT: Mapping[Language, Mapping[str, str]] = {
    "en": {"contradicted": "Contradicted", "not_found": "Not found"},
    "ko": {"contradicted": "모순", "not_found": "근거 없음"},
}


class OpenaiJudge:
    """`mode: score` asks for a score 0..1 with its reason; other finite numbers are clamped, anything else is a
    failure. `mode: claims` (faithfulness; other rubrics have scores only) takes the answer apart into claims and
    asks for a verdict on each: the score is supported / claims. Sentences that say that the sources do not tell
    are no claims; an answer without claims gets 0.5. An empty answer gets 0. Neither asks the model.
    A memory is graded (runner.llm.graded) in either mode; an empty one without asking.

    `repeats` asks that many times (with seed, seed + 1, …): the score is the mean of those that succeeded; those that
    failed can be asked for again alone. `temperature: null` leaves it to the server. `max_tokens` is for one reply;
    one with verdicts gets it for every eight of them. `rubrics` maps names of rubrics to files that take their place
    (runner/llm/rubrics).
    """

    def __init__(
        self,
        *,
        models: Models,
        model: str = "openai:gpt-4o-mini",
        mode: Literal["score", "claims"] = "score",
        repeats: Annotated[int, Field(ge=1, le=20)] = 1,
        on_failure: Literal["zero", "exclude"] = "zero",
        health: bool = True,
        rubrics: dict[str, str | None] | None = None,
        **sampling: Unpack[SamplingSettings],
    ) -> None:
        self._model = models.model(model, "judge")
        self.mode, self.repeats = mode, repeats
        self.sampling = Sampling(**sampling)
        self.on_failure, self.health = on_failure, health
        self._replaced = {name: path for name, path in (rubrics or {}).items() if path is not None}

    @cached_property
    def rubrics(self) -> Mapping[str, Rubric]:
        return rubrics(self._replaced, self.mode)

    @property
    def provenance(self) -> Mapping[str, Any]:
        digests = {name: rubric.digest for name, rubric in self.rubrics.items()}
        return {**self._model.provenance, "mode": self.mode, "rubrics": digests}

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        return await self._judged(rubric, fields, {})

    async def complete(self, rubric: str, fields: Mapping[str, Any], earlier: Judgement) -> Judgement:
        return await self._judged(rubric, fields, kept_votes(earlier))

    async def _judged(self, rubric: str, fields: Mapping[str, Any], kept: Mapping[str, Judgement]) -> Judgement:
        chosen = self.rubrics.get(rubric)
        if chosen is None:
            raise EvaluationError(f"judge: there is no rubric '{rubric}'{did_you_mean(rubric, self.rubrics)}")
        mode = chosen.asked_in(self.mode)
        language = chosen.language(mode, fields)
        if mode == "graded":
            return await self._graded(chosen, fields, language, kept)
        if "answer" in fields and not str(fields["answer"] or "").strip():
            return Judgement(0.0, _EMPTY[language])
        if mode == "claims":
            return await self._by_claims(chosen, fields, language, kept)
        return await self._ask(chosen, mode, fields, _scored, kept)

    async def _graded(
        self, rubric: Rubric, fields: Mapping[str, Any], language: Language, kept: Mapping[str, Judgement]
    ) -> Judgement:
        if graded.is_empty(str(fields.get("memory") or ""), str(fields.get("entities") or "")):
            return graded.empty(language, graded.weights_of(fields))
        weights = graded.weights_of(fields)
        return await self._ask(rubric, "graded", fields, lambda reply: graded.read(reply, language, weights), kept)

    async def _by_claims(
        self, rubric: Rubric, fields: Mapping[str, Any], language: Language, kept: Mapping[str, Judgement]
    ) -> Judgement:
        stated = [claim for claim in claims(str(fields["answer"])) if not says_unknown(claim)]
        if not stated:
            return Judgement(NO_CLAIM, _CLAIMLESS[language], details={"claims": []})
        n_chunks = len(fields["contexts"])
        if not n_chunks:
            return _counted([_detail(claim, "not_found") for claim in stated], language)

        def read(reply: Mapping[str, Any]) -> Judgement:
            return _counted(_reconciled(reply, stated, n_chunks), language)

        return await self._ask(rubric, "claims", {**fields, "claims": stated}, read, kept)

    async def _ask(
        self,
        rubric: Rubric,
        mode: str,
        fields: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], Judgement],
        kept: Mapping[str, Judgement],
    ) -> Judgement:
        replies = math.ceil(len(fields["claims"]) / VERDICTS_A_REPLY) if mode == "claims" else 1
        asked = self.sampling.request(rubric.messages(mode, fields), rubric.modes[mode].reply_schema)
        first = replace(asked, max_tokens=asked.max_tokens * replies)
        requests = {str(repeat + 1): self._repeated(first, repeat) for repeat in range(self.repeats)}
        missing = {label: each for label, each in requests.items() if label not in kept}
        came = await gathered({label: self._model.structured(each, read) for label, each in missing.items()})
        votes = {label: came[label] if label in came else kept[label] for label in requests}
        if self.repeats == 1:
            return votes["1"]
        details = next((vote.details for vote in votes.values() if vote.score is not None), {})
        return combined(votes, statistics.fmean, graded.merged(votes.values(), graded.weights_of(fields)) or details)

    def _repeated(self, request: ChatRequest, repeat: int) -> ChatRequest:
        return replace(request, seed=None if request.seed is None else request.seed + repeat, repeat=repeat)


# --- reading replies; a ValueError says why a reply cannot be used ------------------------------------


def _scored(reply: Mapping[str, Any]) -> Judgement:
    score = reply.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ValueError(f"score: expected a number, got {score!r}")
    if isinstance(score, float) and not math.isfinite(score):
        raise ValueError(f"score: expected a finite number, got {score}")
    return Judgement(float(min(1, max(0, score))), str(reply.get("reasoning") or ""))


def _reconciled(reply: Mapping[str, Any], stated: Sequence[str], n_chunks: int) -> list[dict[str, Any]]:
    """One verdict for each claim, in the order of the claims."""
    verdicts = reply.get("verdicts")
    if not isinstance(verdicts, list):
        raise ValueError(f"verdicts: expected a list, got {verdicts!r}")
    found: dict[int, dict[str, Any]] = {}
    for at, entry in enumerate(verdicts):
        if not isinstance(entry, Mapping):
            raise ValueError(f"verdicts.{at}: expected an object, got {entry!r}")
        number = _number(entry.get("claim"), len(stated), f"verdicts.{at}.claim")
        if number in found:
            raise ValueError(f"verdicts.{at}.claim: a second verdict for claim {number}")
        found[number] = _verdict(entry, stated[number - 1], n_chunks, f"verdicts.{at}")
    missing = [str(number) for number in range(1, len(stated) + 1) if number not in found]
    if missing:
        raise ValueError(f"verdicts: no verdict for claim {', '.join(missing)}")
    return [found[number] for number in sorted(found)]


def _verdict(entry: Mapping[str, Any], claim: str, n_chunks: int, place: str) -> dict[str, Any]:
    verdict = entry.get("verdict")
    if verdict not in VERDICTS:
        raise ValueError(f"{place}.verdict: expected {', '.join(VERDICTS)}, got {verdict!r}")
    chunk = None if verdict == "not_found" else _number(entry.get("chunk"), n_chunks, f"{place}.chunk")
    return _detail(claim, verdict, chunk, str(entry.get("reason") or "") or None)


def _detail(claim: str, verdict: str, context: int | None = None, reason: str | None = None) -> dict[str, Any]:
    return {"claim": claim, "verdict": verdict, "context": context, "reason": reason}


def _number(value: object, last: int, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= last:
        raise ValueError(f"{place}: expected a number from 1 to {last}, got {value!r}")
    return value


def _counted(verdicts: Sequence[Mapping[str, Any]], language: Language) -> Judgement:
    supported = sum(each["verdict"] == "supported" for each in verdicts)
    lines = [_COUNT[language].format(supported, len(verdicts))]
    for each in verdicts:
        if each["verdict"] != "supported":
            reason = f" ({each['reason']})" if each["reason"] else ""
            lines.append(f"{_VERDICT[language][each['verdict']]}: “{each['claim']}”{reason}.")
    return Judgement(supported / len(verdicts), " ".join(lines), details={"claims": list(verdicts)})
