"""Faithfulness, relevancy, correctness, memories and reasons by words, numbers, names, negation: a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from runner.domains.links.reasons import connection
from runner.domains.memory.recollection import Recollection, recollection
from runner.errors import EvaluationError, did_you_mean
from runner.llm import claims as verdicts
from runner.llm import graded
from runner.records import Context, Judgement
from runner.system.shared import are_several, digest_of, make_once
from runner.system.threads import compute
from runner.text.citations import without_citations
from runner.text.claims import claims
from runner.text.correctness import correctness
from runner.text.language import Language, detect_language
from runner.text.matching import mentions
from runner.text.refusals import is_refusal, says_unknown
from runner.text.relevancy import relevancy
from runner.text.support import Conflict, Sources, Statement, Support

UNKNOWN = 0.5  # "the sources do not tell" claims nothing that words could confirm or refute
KEPT = 20_000  # judgements, of some 1 KB, that the runs of a sweep share
USEFUL = 5  # relevance above which a memory is of use
_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "relevance": "{} of {} sentences have to do with the question",
        "completeness": "{} of {} facts show",
        "no_facts": "there are no facts to compare with",
        "errors": "contradicts the facts in {}",
        "number": "number",
        "time": "time",
        "target": "target",
        "state": "state",
        "no_errors": "nothing contradicts the facts",
        "noise": "{} of {} sentences have nothing to do with the question",
        "useful": "The memory holds something on the question.",
        "useless": "The memory holds little on the question.",
        "nothing": "Nothing is stated in the memory: it holds questions, refusals or courtesies alone.",
        "empty": "The answer is empty.",
        "no_claims": "The answer claims nothing.",
        "unknown": "The answer says that the sources do not tell.",
        "supported": "{} of {} claims supported.",
        "unsupported": "Unsupported: “{}” ({}).",
        "conflict.absent": "not in the sources: {}",
        "conflict.number": "another number in the sources: {}",
        "conflict.name": "another name in the sources: {}",
        "conflict.word": "another word in the sources: {}",
        "conflict.role": "changed places: {}",
        "conflict.denied": "denied on one side only",
        "refusal": "The answer is a refusal.",
        "covered": "The answer covers {:.0%} of the reference.",
        "lacks": "It lacks: {}.",
        "against.number": "It gives another number: {}.",
        "against.denied": "One of the two denies what the other affirms.",
        "topic": "{} of {} words of the question occur in the answer.",
        "enough": "Half of them count as all.",
        "phrase": "It is a short phrase, which cannot repeat the question.",
        "kind.quantity": "The question asks for a quantity; the answer gives none.",
        "kind.time": "The question asks for a time; the answer gives none.",
        "kind.reason": "The question asks for a reason; the answer gives none.",
        "adds_nothing": "It adds nothing.",
        "in_both": "In the text and in the note: {}.",
        "in_both_nothing": "In the text and in the note: nothing that it names.",
        "in_neither": "In neither: {}.",
    },
    "ko": {
        "relevance": "문장 {1}개 중 {0}개가 질문과 관련됨",
        "completeness": "사실 {1}개 중 {0}개가 들어 있음",
        "no_facts": "대조할 사실이 없음",
        "errors": "사실과 어긋남({})",
        "number": "수치 오류",
        "time": "시점 오류",
        "target": "대상 오류",
        "state": "상태 오류",
        "no_errors": "사실과 어긋나는 내용 없음",
        "noise": "문장 {1}개 중 {0}개가 질문과 무관함",
        "useful": "질문에 도움이 되는 내용이 메모리에 있습니다.",
        "useless": "질문에 도움이 되는 내용이 메모리에 거의 없습니다.",
        "nothing": "메모리에 사실을 말한 문장이 없습니다. 질문, 답변 거절, 인사말뿐입니다.",
        "empty": "답변이 비어 있습니다.",
        "no_claims": "답변이 아무것도 주장하지 않습니다.",
        "unknown": "자료에 답이 없다고 한 답변입니다.",
        "supported": "주장 {1}개 중 {0}개가 뒷받침됩니다.",
        "unsupported": "근거 없음: “{}”({}).",
        "conflict.absent": "자료에 없음: {}",
        "conflict.number": "자료의 수치와 다름: {}",
        "conflict.name": "자료의 이름과 다름: {}",
        "conflict.word": "자료의 낱말과 다름: {}",
        "conflict.role": "역할이 뒤바뀜: {}",
        "conflict.denied": "한쪽에서만 부정함",
        "refusal": "거절한 답변입니다.",
        "covered": "답변에 기준 답안의 {:.0%}가 들어 있습니다.",
        "lacks": "빠진 내용: {}.",
        "against.number": "수치가 다릅니다: {}.",
        "against.denied": "한쪽이 부정하는 것을 다른 쪽은 긍정합니다.",
        "topic": "질문의 낱말 {1}개 중 {0}개가 답변에 있습니다.",
        "enough": "절반이 있으면 모두 있는 것으로 봅니다.",
        "phrase": "질문을 되풀이할 수 없는 짧은 답변입니다.",
        "kind.quantity": "질문은 수량을 묻는데 답변에 없습니다.",
        "kind.time": "질문은 때를 묻는데 답변에 없습니다.",
        "kind.reason": "질문은 이유를 묻는데 답변에 없습니다.",
        "adds_nothing": "질문에 없던 내용이 없습니다.",
        "in_both": "글과 노트에 모두 있음: {}.",
        "in_both_nothing": "글과 노트에 모두 있는 말이 없습니다.",
        "in_neither": "어느 쪽에도 없음: {}.",
    },
}


@dataclass(frozen=True, slots=True)
class _Verdict:
    claim: Statement
    support: Support
    verdict: Literal["supported", "unsupported", "unknown"]


class LexicalJudge:
    """A baseline: it sees words, not meaning. Deterministic, a few milliseconds an answer. It reads English and Korean;
    of other languages it knows neither inflection nor negation. Its reasons are in the language of the case.

    faithfulness: mean support of the answer's claims, weighted by their numbers of words (see
    runner.text.support): of a short claim hardly a word may miss. A claim with a number, name, negation, opposite
    or role that the contexts contradict has none. A sentence that says that the sources do not tell counts 1/2; so
    a refusal scores 0.5. Questions back to the user and courtesies are no claims; an answer of nothing else scores
    0.5. An empty answer scores 0, and so does every claim made without a context.
    answer_relevancy: see runner.text.relevancy. An empty answer and a refusal score 0.
    answer_correctness: the cover of the closest reference (runner.text.correctness): 0 where a number differs or one
    side denies what the other affirms. An empty answer and a refusal score 0.
    context_precision: a chunk is useful where it holds a reference as it is written, or supports all of its claims
    by at least `supported`. context_recall: the mean support of a reference's claims; of several the best one's.
    memory: see runner.domains.memory.recollection.
    link_reason: see runner.domains.links.reasons. An empty reason scores 0.

    It does not judge task_completion: words do not tell what was done.
    """

    baseline: ClassVar[bool] = True
    data_files: ClassVar[tuple[str, ...]] = ("../../runner/text/refusals.en.yaml", "../../runner/text/refusals.ko.yaml")
    languages: ClassVar[tuple[str, ...]] = ("en", "ko")
    rubrics: ClassVar[tuple[str, ...]] = (
        "faithfulness",
        "answer_relevancy",
        "answer_correctness",
        "context_precision",
        "context_recall",
        "memory",
        "link_reason",
    )

    def __init__(
        self,
        *,
        on_failure: Literal["zero", "exclude"] = "zero",
        supported: Annotated[float, Field(ge=0, le=1)] = 0.5,
        health: bool = True,
    ) -> None:
        self.on_failure = on_failure
        self.health = health
        self.supported = supported

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        if rubric not in self.rubrics:
            raise EvaluationError(f"judge: lexical has no rubric '{rubric}'{did_you_mean(rubric, self.rubrics)}")
        if "answer" in fields and not str(fields["answer"] or "").strip():
            return Judgement(0.0, _words_of(fields)["empty"])
        ways = (
            self._faithfulness,
            self._answer_relevancy,
            _answer_correctness,
            self._context_precision,
            self._context_recall,
            _memory,
            _link_reason,
        )
        way = dict(zip(self.rubrics, ways, strict=True))[rubric]
        if not are_several() or (fields_digest := digest_of(fields)) is None:
            return await compute(way, fields)
        judgement_by_key: dict[tuple[str, float, bytes], Judgement] = make_once("judgements by words", "", dict)
        place = rubric, self.supported, fields_digest
        if place not in judgement_by_key:
            judgement = await compute(way, fields)
            if len(judgement_by_key) >= KEPT:
                return judgement
            judgement_by_key[place] = judgement
        return judgement_by_key[place]

    def _faithfulness(self, fields: Mapping[str, Any]) -> Judgement:
        contexts: Sequence[Context] = fields["contexts"]
        words = _words_of(fields)
        background = "\n".join([str(fields.get("question") or ""), *(context.title for context in contexts)])
        sources = Sources([context.text for context in contexts], background)
        stated = (Statement(claim) for claim in claims(str(fields["answer"])))
        verdicts = [self._verdict(claim, sources) for claim in stated if claim.size]
        if not verdicts:
            return Judgement(UNKNOWN, words["no_claims"], details={"claims": []})
        size = sum(verdict.claim.size for verdict in verdicts)
        score = sum(verdict.support.score * verdict.claim.size for verdict in verdicts) / size
        details = {"claims": [_detail(verdict, words) for verdict in verdicts]}
        return Judgement(score, _reasoning(verdicts, words), details=details)

    def _verdict(self, claim: Statement, sources: Sources) -> _Verdict:
        if says_unknown(claim.text):
            return _Verdict(claim, Support(UNKNOWN, UNKNOWN), "unknown")
        support = sources.support(claim)
        return _Verdict(claim, support, "supported" if support.score >= self.supported else "unsupported")

    def _answer_relevancy(self, fields: Mapping[str, Any]) -> Judgement:
        answer, words = str(fields["answer"]), _words_of(fields)
        if is_refusal(answer, str(fields["question"])):
            return Judgement(0.0, words["refusal"])
        result = relevancy(str(fields["question"]), without_citations(answer))
        reasons = [words["topic"].format(result.n_shared, result.question_words)]
        if result.is_phrase:
            reasons.append(words["phrase"])
        elif result.n_shared < result.question_words and result.score == 1:
            reasons.append(words["enough"])
        if not result.responds:
            reasons.append(words.get(f"kind.{result.kind}", words["adds_nothing"]))
        return Judgement(result.score, " ".join(reasons), details={"topic": result.topic, "kind": result.kind})

    def _context_precision(self, fields: Mapping[str, Any]) -> Judgement:
        question, references = str(fields.get("question") or ""), fields["references"]
        useful = [
            {"chunk": number, "useful": self._is_useful(context, references, question), "reason": None}
            for number, context in enumerate(fields["contexts"], start=1)
        ]
        return verdicts.context_precision(useful, _language_of(fields))

    def _is_useful(self, context: Context, references: Sequence[str], question: str) -> bool:
        if mentions(context.text, references):
            return True
        sources = Sources([context.text], f"{question}\n{context.title}")
        supports = (
            [sources.support(Statement(claim)).score for claim in each] for each in verdicts.claims_of(references)
        )
        return any(min(scores) >= self.supported for scores in supports)

    def _context_recall(self, fields: Mapping[str, Any]) -> Judgement:
        """The sources may hold a reference as it is written where it has no word that counts."""
        words, contexts = _words_of(fields), fields["contexts"]
        background = "\n".join([str(fields.get("question") or ""), *(context.title for context in contexts)])
        sources = Sources([context.text for context in contexts], background)
        text = "\n".join(context.text for context in contexts)
        verdicts_of_references = [
            [self._verdict_on(Statement(claim), sources, text) for claim in each]
            for each in verdicts.claims_of(fields["references"])
        ]
        best = max(verdicts_of_references, key=_mean_support)
        return Judgement(
            _mean_support(best), _reasoning(best, words), details={"claims": [_detail(v, words) for v in best]}
        )

    def _verdict_on(self, claim: Statement, sources: Sources, text: str) -> _Verdict:
        support = Support(1.0, 1.0) if mentions(text, [claim.text]) else sources.support(claim)
        return _Verdict(claim, support, "supported" if support.score >= self.supported else "unsupported")


def _mean_support(claim_verdicts: Sequence[_Verdict]) -> float:
    return sum(each.support.score for each in claim_verdicts) / len(claim_verdicts)


def _answer_correctness(fields: Mapping[str, Any]) -> Judgement:
    answer, question, words = str(fields["answer"]), str(fields.get("question") or ""), _words_of(fields)
    if is_refusal(answer, question):
        return Judgement(0.0, words["refusal"])
    match = correctness(question, fields["references"], answer)
    reasons = [words["covered"].format(match.score)]
    if match.conflict is not None:
        reasons.append(words[f"against.{match.conflict.kind}"].format(", ".join(match.conflict.words)))
    elif match.missing:
        reasons.append(words["lacks"].format(", ".join(match.missing)))
    return Judgement(match.score, " ".join(reasons), details={"missing": list(match.missing)})


def _language_of(fields: Mapping[str, Any]) -> Language:
    """The language of the case; where it has none, that of the question, or of the judged text."""
    language = fields.get("language")
    if language == "en" or language == "ko":
        return "en" if language == "en" else "ko"
    return detect_language(str(fields.get("question") or fields.get("reason") or ""))


def _words_of(fields: Mapping[str, Any]) -> Mapping[str, str]:
    return _WORDS[_language_of(fields)]


def _link_reason(fields: Mapping[str, Any]) -> Judgement:
    place = f"{fields.get('anchor') or ''}\n{fields['context']}"
    result = connection(str(fields["reason"]), place, str(fields["target"]))
    words, both = _words_of(fields), ", ".join(result.in_both)
    reasons = [words["in_both"].format(both) if both else words["in_both_nothing"]]
    if result.missing:
        reasons.append(words["in_neither"].format(", ".join(result.missing)))
    return Judgement(result.score, " ".join(reasons))


def _memory(fields: Mapping[str, Any]) -> Judgement:
    question, memory, entities = (str(fields.get(name) or "") for name in ("question", "memory", "entities"))
    language = _language_of(fields)
    if graded.is_empty(memory, entities):
        return graded.judge_empty(language, graded.weights_of(fields))
    reference, stale = fields.get("reference") or (), fields.get("stale") or ()
    recalled = recollection(question, memory, entities, reference, stale)
    words = _WORDS[language]
    reasons = _reasons(recalled, len(reference), words) if recalled.n_sentences else (words["nothing"],) * 4
    scores = {
        "relevance": {"score": recalled.relevance, "reason": reasons[0]},
        "completeness": {"score": recalled.completeness, "reason": reasons[1]},
        "accuracy": {"score": recalled.accuracy, "reason": reasons[2], "types": list(recalled.inaccuracies)},
        "noise": {"score": recalled.noise, "reason": reasons[3], "types": list(recalled.noises)},
    }
    summary = (
        words["useful" if recalled.relevance > USEFUL else "useless"] if recalled.n_sentences else words["nothing"]
    )
    return graded.make_judgement(
        scores,
        summary,
        language,
        helpful=recalled.helpful,
        missing_info=recalled.missing,
        weights=graded.weights_of(fields),
    )


def _reasons(recalled: Recollection, n_facts: int, words: Mapping[str, str]) -> tuple[str, str, str, str]:
    """The reasons of the four criteria, in order."""
    unrelated = recalled.n_sentences - recalled.n_related
    return (
        words["relevance"].format(recalled.n_related, recalled.n_sentences),
        words["completeness"].format(n_facts - len(recalled.missing), n_facts) if n_facts else words["no_facts"],
        words["errors"].format(", ".join(words[each] for each in recalled.inaccuracies))
        if recalled.inaccuracies
        else words["no_errors"],
        words["noise"].format(unrelated, recalled.n_sentences),
    )


def _reasoning(verdicts: Sequence[_Verdict], words: Mapping[str, str]) -> str:
    """A count, then each unsupported claim with the reason."""
    if all(verdict.verdict == "unknown" for verdict in verdicts):
        return words["unknown"]
    supported = sum(verdict.verdict == "supported" for verdict in verdicts)
    unsupported = [verdict for verdict in verdicts if verdict.verdict == "unsupported"]
    lines = [words["supported"].format(supported, len(verdicts))]
    lines += [
        words["unsupported"].format(verdict.claim.text, _reason(verdict.support, words)) for verdict in unsupported
    ]
    return " ".join(lines)


def _reason(support: Support, words: Mapping[str, str]) -> str:
    conflict = support.conflict or Conflict("absent", tuple(dict.fromkeys(support.missing)))
    return words[f"conflict.{conflict.kind}"].format(", ".join(conflict.words))


def _detail(verdict: _Verdict, words: Mapping[str, str]) -> dict[str, Any]:
    return {
        "claim": verdict.claim.text,
        "verdict": verdict.verdict,
        "score": verdict.support.score,
        "conflict": _reason(verdict.support, words) if verdict.support.conflict else None,
        "missing": list(verdict.support.missing),
        "context": verdict.support.evidence.source or None,
        "evidence": verdict.support.evidence.text or None,
    }
