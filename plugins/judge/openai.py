"""A language model as judge: faithfulness, answer relevancy, correctness and any other rubric."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Unpack

from pydantic import Field

from runner.errors import EvaluationError, did_you_mean
from runner.llm import claims as verdicts
from runner.llm import graded
from runner.llm.criteria import Criteria
from runner.llm.loose_json import score_in
from runner.llm.messages import ChatRequest
from runner.llm.models import Models
from runner.llm.rubrics import Rubric, rubrics
from runner.llm.sampling import Sampling, SamplingSettings
from runner.llm.votes import combine_judgements, gather_judgements, kept_votes
from runner.records import CLAMPED, Judgement
from runner.system.shared import are_several, digest_of
from runner.text.claims import claims
from runner.text.language import Language
from runner.text.refusals import says_unknown

Clamped = dict[str, float]  # scores outside of their range, by their place in the reply
Read = Callable[[Mapping[str, Any], Clamped | None], Judgement]  # None: a score outside raises

NO_CLAIM = 0.5  # what claims nothing can be neither confirmed nor refuted
VERDICTS_A_REPLY = 8  # for which max_tokens is meant

_EMPTY: Mapping[Language, str] = {"en": "The answer is empty.", "ko": "답변이 비어 있습니다."}
_CLAIMLESS: Mapping[Language, str] = {"en": "The answer claims nothing.", "ko": "답변이 아무것도 주장하지 않습니다."}
_NO_CHUNK: Mapping[Language, str] = {"en": "Nothing was retrieved.", "ko": "검색된 청크가 없습니다."}


class OpenaiJudge:
    """`mode: score` asks for a score 0..1 with its reason. One that is out of range is asked for once more, and then
    clamped and counted, or a failure with `out_of_range: fail`; what is no finite number is asked for again, and then a
    failure.

    `mode: claims` has a verdict on each claim, and code counts them:

    faithfulness        supported / claims of the answer. Sentences that say that the sources do not tell are no
                        claims; an answer without claims gets 0.5.
    answer_correctness  F1 of precision (claims of the answer that the references support) and recall (claims of the
                        reference that the answer supports), as the factual correctness of RAGAS. Of several
                        references any one may support a claim, and the one counts of which the answer says most. An
                        answer without claims gets 0.

    Other rubrics are asked in one way only: context_precision with a verdict on each chunk, context_recall on each
    claim of the references (either is 0 without a chunk), a memory is graded (runner.llm.graded; an empty one by
    code). An empty answer gets 0. None of these asks the model where there is nothing to ask.

    `repeats` asks that many times (with seed, seed + 1, …): the score is the mean of those that succeeded; those that
    failed can be asked for again alone. `temperature: null` leaves it to the server. `max_tokens` is for one reply;
    one with verdicts gets it for every eight of them. `rubrics` maps names of rubrics to files that take their place,
    and names of your own to files of further rubrics (runner/llm/rubrics). What was chosen by `metric=` it learns.
    """

    def __init__(
        self,
        *,
        models: Models,
        model: str = "openai:gpt-4o-mini",
        mode: Literal["score", "claims"] = "score",
        repeats: Annotated[int, Field(ge=1, le=20)] = 1,
        on_failure: Literal["zero", "exclude"] = "zero",
        out_of_range: Literal["clamp", "fail"] = "clamp",
        health: bool = True,
        rubrics: dict[str, str | None] | None = None,
        **sampling: Unpack[SamplingSettings],
    ) -> None:
        self._model = models.model(model, "judge")
        self.mode, self.repeats = mode, repeats
        self.sampling = Sampling(**sampling)
        self.on_failure, self.out_of_range, self.health = on_failure, out_of_range, health
        self._learned: Mapping[str, Criteria] = {}
        self._replaced = {name: path for name, path in (rubrics or {}).items() if path is not None}

    @cached_property
    def _rubrics(self) -> Mapping[str, Rubric]:
        return rubrics(self._replaced, self.mode)

    @property
    def rubrics(self) -> Mapping[str, Rubric | Criteria]:
        return {**self._rubrics, **self._learned}

    def learn(self, rubrics: Mapping[str, Criteria]) -> None:
        self._learned = {**self._learned, **rubrics}

    @property
    def provenance(self) -> Mapping[str, Any]:
        digests = {name: rubric.digest for name, rubric in self.rubrics.items()}
        return {**self._model.provenance, "mode": self.mode, "rubrics": digests}

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        return await self._judge(rubric, fields, {})

    async def complete(self, rubric: str, fields: Mapping[str, Any], earlier: Judgement) -> Judgement:
        return await self._judge(rubric, fields, kept_votes(earlier))

    async def _judge(self, rubric: str, fields: Mapping[str, Any], earlier: Mapping[str, Judgement]) -> Judgement:
        if earlier or not are_several() or (seen := digest_of(fields)) is None:
            return await self._ask_rubric(rubric, fields, earlier)
        what = self._identity, rubric, seen
        return await self._model.make_or_reuse(
            what, lambda: self._ask_rubric(rubric, fields, {}), lambda judgement: judgement.is_whole
        )

    @cached_property
    def _identity(self) -> str:
        """All that a judgement depends on, but for the model, its server and what it is shown."""
        digests = [(name, rubric.digest) for name, rubric in self.rubrics.items()]
        return repr((self.mode, self.repeats, self.sampling, self.out_of_range, digests))

    async def _ask_rubric(self, rubric: str, fields: Mapping[str, Any], earlier: Mapping[str, Judgement]) -> Judgement:
        if rubric in self._learned:
            return await self._by_criteria(self._learned[rubric], fields, earlier)
        own_rubric = self._rubrics.get(rubric)
        if own_rubric is None:
            raise EvaluationError(f"judge: there is no rubric '{rubric}'{did_you_mean(rubric, self.rubrics)}")
        mode = own_rubric.mode_for(self.mode)
        language = own_rubric.language(mode, fields)
        if mode == "graded":
            return await self._judge_memory(own_rubric, fields, language, earlier)
        if "answer" in fields and not str(fields["answer"] or "").strip():
            return Judgement(0.0, _EMPTY[language])
        by_mode = {
            "claims": self._correctness if rubric == "answer_correctness" else self._faithfulness,
            "chunks": self._context_precision,
            "reference": self._context_recall,
        }
        if mode in by_mode:
            return await by_mode[mode](own_rubric, fields, language, earlier)
        return await self._ask(own_rubric, mode, fields, _read_score, earlier)

    async def _by_criteria(
        self, criteria: Criteria, fields: Mapping[str, Any], earlier: Mapping[str, Judgement]
    ) -> Judgement:
        parts = criteria.parts(fields) if criteria.mode == "claims" else [""]
        if not parts:
            return criteria.missing_judgement(fields)
        request = self.sampling.request(criteria.messages(fields), criteria.reply_schema)

        def read(reply: Mapping[str, Any], clamped: Clamped | None) -> Judgement:
            return criteria.read(reply, fields, clamped)

        return await self._vote(request, read, fields, earlier, len(parts))

    async def _judge_memory(
        self, rubric: Rubric, fields: Mapping[str, Any], language: Language, earlier: Mapping[str, Judgement]
    ) -> Judgement:
        if graded.is_empty(str(fields.get("memory") or ""), str(fields.get("entities") or "")):
            return graded.judge_empty(language, graded.weights_of(fields))
        weights = graded.weights_of(fields)

        def read(reply: Mapping[str, Any], clamped: Clamped | None) -> Judgement:
            return graded.read(reply, language, weights, clamped)

        return await self._ask(rubric, "graded", fields, read, earlier)

    async def _faithfulness(
        self, rubric: Rubric, fields: Mapping[str, Any], language: Language, earlier: Mapping[str, Judgement]
    ) -> Judgement:
        answer_claims = _claims_of(fields)
        if not answer_claims:
            return Judgement(NO_CLAIM, _CLAIMLESS[language], details={"claims": []})
        n_chunks = len(fields["contexts"])
        if not n_chunks:
            return verdicts.faithfulness(verdicts.not_found(answer_claims), language)

        def read(reply: Mapping[str, Any], _clamped: Clamped | None) -> Judgement:
            return verdicts.faithfulness(verdicts.on_claims(reply.get("verdicts"), answer_claims, n_chunks), language)

        return await self._ask(rubric, "claims", {**fields, "claims": answer_claims}, read, earlier, len(answer_claims))

    async def _correctness(
        self, rubric: Rubric, fields: Mapping[str, Any], language: Language, earlier: Mapping[str, Judgement]
    ) -> Judgement:
        answer_claims, reference_claims = _claims_of(fields), verdicts.claims_of(fields["references"])
        if not answer_claims:
            return Judgement(0.0, _CLAIMLESS[language], details={"claims": []})
        of_references = [claim for reference in reference_claims for claim in reference]

        def read(reply: Mapping[str, Any], _clamped: Clamped | None) -> Judgement:
            place = "reference_verdicts"
            ours = verdicts.on_claims(reply.get("verdicts"), answer_claims, None)
            theirs = verdicts.on_claims(reply.get(place), of_references, None, place)
            return verdicts.correctness(ours, theirs, [len(reference) for reference in reference_claims], language)

        all_fields = {**fields, "claims": answer_claims, "reference_claims": of_references}
        return await self._ask(rubric, "claims", all_fields, read, earlier, len(answer_claims) + len(of_references))

    async def _context_precision(
        self, rubric: Rubric, fields: Mapping[str, Any], language: Language, earlier: Mapping[str, Judgement]
    ) -> Judgement:
        n_chunks = len(fields["contexts"])
        if not n_chunks:
            return Judgement(0.0, _NO_CHUNK[language], details={"chunks": []})

        def read(reply: Mapping[str, Any], _clamped: Clamped | None) -> Judgement:
            return verdicts.context_precision(verdicts.on_chunks(reply.get("verdicts"), n_chunks), language)

        return await self._ask(rubric, "chunks", fields, read, earlier, n_chunks)

    async def _context_recall(
        self, rubric: Rubric, fields: Mapping[str, Any], language: Language, earlier: Mapping[str, Judgement]
    ) -> Judgement:
        claims_of_references = verdicts.claims_of(fields["references"])
        reference_claims, sizes = (
            [claim for reference in claims_of_references for claim in reference],
            [len(reference) for reference in claims_of_references],
        )
        n_chunks = len(fields["contexts"])
        if not n_chunks:
            return verdicts.context_recall(verdicts.not_found(reference_claims), sizes, language)

        def read(reply: Mapping[str, Any], _clamped: Clamped | None) -> Judgement:
            return verdicts.context_recall(
                verdicts.on_claims(reply.get("verdicts"), reference_claims, n_chunks), sizes, language
            )

        return await self._ask(
            rubric, "reference", {**fields, "claims": reference_claims}, read, earlier, len(reference_claims)
        )

    async def _ask(
        self,
        rubric: Rubric,
        mode: str,
        fields: Mapping[str, Any],
        read: Read,
        earlier: Mapping[str, Judgement],
        n_verdicts: int = 1,
    ) -> Judgement:
        asked = self.sampling.request(rubric.messages(mode, fields), rubric.modes[mode].reply_schema)
        return await self._vote(asked, read, fields, earlier, n_verdicts)

    async def _vote(
        self,
        request: ChatRequest,
        read: Read,
        fields: Mapping[str, Any],
        earlier: Mapping[str, Judgement],
        n_verdicts: int,
    ) -> Judgement:
        n_replies = math.ceil(n_verdicts / VERDICTS_A_REPLY)
        first = request if n_replies == 1 else replace(request, max_tokens=request.max_tokens * n_replies)
        requests = {str(repeat + 1): self._repeat_request(first, repeat) for repeat in range(self.repeats)}
        missing = {label: own_request for label, own_request in requests.items() if label not in earlier}
        clamping = None if self.out_of_range == "fail" else partial(_clamp, read)
        came = await gather_judgements(
            {
                label: self._model.ask_for_json(own_request, lambda reply: read(reply, None), clamping)
                for label, own_request in missing.items()
            }
        )
        votes = {label: came[label] if label in came else earlier[label] for label in requests}
        if self.repeats == 1:
            return votes["1"]
        details = next((vote.details for vote in votes.values() if vote.score is not None), {})
        return combine_judgements(
            votes, statistics.fmean, graded.merge_details(votes.values(), graded.weights_of(fields)) or details
        )

    def _repeat_request(self, request: ChatRequest, repeat: int) -> ChatRequest:
        if repeat == 0:
            return request
        return replace(request, seed=None if request.seed is None else request.seed + repeat, repeat=repeat)


def _claims_of(fields: Mapping[str, Any]) -> list[str]:
    """The claims of an answer."""
    return [claim for claim in claims(str(fields["answer"])) if not says_unknown(claim)]


# --- reading replies; a ValueError says why a reply cannot be used ------------------------------------


def _clamp(read: Read, reply: Mapping[str, Any]) -> Judgement:
    """The judgement with what is outside of its range set to the nearest end, and named in its details."""
    clamped: Clamped = {}
    judgement = read(reply, clamped)
    return replace(judgement, details={**judgement.details, CLAMPED: clamped})


def _read_score(reply: Mapping[str, Any], clamped: Clamped | None) -> Judgement:
    return Judgement(score_in(0.0, 1.0, reply.get("score"), "score", clamped), str(reply.get("reasoning") or ""))
