"""Rubrics that a user writes as criteria in YAML: the prompt of the judge, and how its reply is read.

There are three modes: `score` (a number on a scale), `choices` (one of several names, each worth a score) and `claims`
(a verdict on each part of the answer; the score is the share of parts that meet the criteria). The score of a judgement
is always 0..1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from runner.llm.claims import because, reconcile
from runner.llm.fencing import Item, fence_fields
from runner.llm.loose_json import score_in
from runner.llm.messages import Message
from runner.llm.prompts import prompt
from runner.metrics.metric import Words, word
from runner.records import Judgement
from runner.system.store import fingerprint
from runner.text.citations import citations
from runner.text.claims import claims
from runner.text.language import Language, detect_language
from runner.text.refusals import says_unknown
from runner.text.sentences import split_sentences

Mode = Literal["score", "choices", "claims"]
Unit = Literal["claims", "sentences", "citations"]
Field = Literal["question", "answer", "contexts", "references", "history", "memory", "entities", "trace"]
FIELDS: tuple[Field, ...] = get_args(Field)
LISTS = frozenset({"contexts", "references", "history", "trace"})
MAY_BE_MISSING = frozenset({"history"})  # a case without it is judged nevertheless
VERDICTS = ("met", "unmet")

_FIELD_WORDS: Mapping[Language, Mapping[Field, str]] = {
    "en": {
        "question": "the question (question)",
        "answer": "the answer (answer)",
        "contexts": "the numbered texts that the answer was made from (contexts)",
        "references": "answers that are known to be right (references)",
        "history": "the earlier turns of the conversation, where there are any (history)",
        "memory": "what is remembered of the conversation (memory)",
        "entities": "the persons and things that are remembered (entities)",
        "trace": "the numbered steps that led to the answer (trace)",
    },
    "ko": {
        "question": "질문(question)",
        "answer": "답변(answer)",
        "contexts": "답변의 바탕이 된 번호 붙은 자료(contexts)",
        "references": "맞다고 알려진 기준 답안(references)",
        "history": "앞선 대화가 있으면 그 내용(history)",
        "memory": "대화에서 기억한 내용(memory)",
        "entities": "기억한 인물과 사물(entities)",
        "trace": "답변에 이른 과정의 번호 붙은 단계(trace)",
    },
}
_TEXTS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "examples": "Examples:",
        "met": "{} of {} parts meet the criteria.",
        "unmet": "Not met",
        "no_context": "it cites [{}], which does not exist",
        "nothing": "The answer has no part to judge.",
    },
    "ko": {
        "examples": "예:",
        "met": "{1}개 부분 중 {0}개가 기준을 충족합니다.",
        "unmet": "미충족",
        "no_context": "[{}]번 자료는 없음",
        "nothing": "답변에 판정할 부분이 없습니다.",
    },
}


@dataclass(frozen=True, slots=True)
class Example:
    """`fields` as texts, and the right judgement: a number on the scale, a choice or a verdict. `language` None: shown
    in both languages."""

    fields: Mapping[str, str]
    said: str
    reason: str = ""
    language: Language | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """`texts`: the criteria by language, at least one. `choices`: name -> score on the scale. `unit`: the parts of an
    answer that get verdicts: its claims, its sentences, or its sentences that cite."""

    name: str
    label: Words
    texts: Words
    fields: tuple[Field, ...]
    mode: Mode = "score"
    low: float = 0.0
    high: float = 1.0
    choices: Mapping[str, float] = field(default_factory=dict)
    unit: Unit = "claims"
    examples: tuple[Example, ...] = ()

    @property
    def digest(self) -> str:
        """The identity of scores by these criteria."""
        return fingerprint([asdict(self), prompt(f"criteria_{self.mode}").digest])

    def pick_fields(self, available: Mapping[str, Any]) -> dict[str, Any] | None:
        """The fields that it reads, out of those `available`; None where one that it needs is missing, or where there
        is nothing to judge."""
        fields: dict[str, Any] = {name: available[name] for name in self.fields if name in available}
        if any(name not in fields for name in self.fields if name not in MAY_BE_MISSING):
            return None
        if self.mode == "claims" and not self.parts(fields):
            return None
        return {**fields, "language": available.get("language")}

    def parts(self, fields: Mapping[str, Any]) -> list[str]:
        """The parts of the answer that get verdicts."""
        answer = str(fields.get("answer") or "")
        if self.unit == "claims":
            return [claim for claim in claims(answer) if not says_unknown(claim)]
        sentences = [sentence.strip() for sentence in split_sentences(answer)]
        return [each for each in sentences if each and (self.unit == "sentences" or citations(each))]

    def missing_judgement(self, fields: Mapping[str, Any]) -> Judgement:
        """The judgement of an answer without such a part."""
        return Judgement(None, error=_TEXTS[self.language(fields)]["nothing"])

    def language(self, fields: Mapping[str, Any]) -> Language:
        given = fields.get("language")
        if given == "ko" or given == "en":
            return "ko" if given == "ko" else "en"
        texts = (fields.get(name) for name in self.fields if name not in LISTS)
        return detect_language(str(next(texts, None) or ""))

    def messages(self, fields: Mapping[str, Any]) -> tuple[Message, ...]:
        language = self.language(fields)
        blocks: dict[str, str | Sequence[Item]] = {
            name: _value(name, fields[name]) for name in self.fields if fields.get(name) or name not in MAY_BE_MISSING
        }
        if self.mode == "claims":
            blocks["claims"] = self.parts(fields)
        system = prompt(f"criteria_{self.mode}").system(
            language,
            label=word(self.label, language),
            fields=_field_names(self.fields, language),
            criteria=word(self.texts, language).strip(),
            low=f"{self.low:g}",
            high=f"{self.high:g}",
            choices=", ".join(f'"{name}"' for name in self.choices),
            examples=self._examples(language),
        )
        return Message("system", system), Message("user", fence_fields(blocks, language))

    def _examples(self, language: Language) -> str:
        """The examples in the language, after an empty line; empty where there are none."""
        shown = [each for each in self.examples if each.language in (None, language)]
        lines = []
        for number, each in enumerate(shown, start=1):
            stated = " / ".join(f"{name}: {' '.join(text.split())}" for name, text in each.fields.items())
            lines.append(f"{number}. {stated} → {each.said}{f' ({each.reason})' if each.reason else ''}")
        return "\n\n" + "\n".join([_TEXTS[language]["examples"], *lines]) if lines else ""

    @property
    def reply_schema(self) -> dict[str, Any]:
        """The JSON schema of a reply in this mode."""
        if self.mode == "claims":
            verdict = _object(
                claim={"type": "integer"}, reason={"type": "string"}, verdict={"type": "string", "enum": [*VERDICTS]}
            )
            return _object(verdicts={"type": "array", "items": verdict})
        if self.mode == "choices":
            return _object(reasoning={"type": "string"}, choice={"type": "string", "enum": [*self.choices]})
        return _object(reasoning={"type": "string"}, score={"type": "number"})

    def read(
        self, reply: Mapping[str, Any], fields: Mapping[str, Any], clamped: dict[str, float] | None = None
    ) -> Judgement:
        """The judgement in a reply; `clamped` takes a score outside of its range. Raises ValueError for a reply that is
        no judgement by these criteria."""
        if self.mode == "claims":
            return self._count(reply.get("verdicts"), fields)
        reasoning = str(reply.get("reasoning") or "")
        if self.mode == "score":
            score = score_in(self.low, self.high, reply.get("score"), "score", clamped)
            return Judgement(self.share(score), reasoning)
        known = {name.casefold(): name for name in self.choices}
        choice = known.get(str(reply.get("choice") or "").strip().casefold())
        if choice is None:
            raise ValueError(f"choice: expected {', '.join(self.choices)}, got {reply.get('choice')!r}")
        return Judgement(self.share(self.choices[choice]), reasoning, details={"choice": choice})

    def share(self, score: float) -> float:
        """A score of the scale as 0..1."""
        return (score - self.low) / (self.high - self.low)

    def _count(self, verdicts: Any, fields: Mapping[str, Any]) -> Judgement:
        """The share of the parts that meet the criteria. A part that cites a context that does not exist does not meet
        them."""
        parts, language = self.parts(fields), self.language(fields)
        words = _TEXTS[language]

        def read(entry: Mapping[str, Any], number: int, place: str) -> dict[str, Any]:
            part, verdict = parts[number - 1], entry.get("verdict")
            reason = str(entry.get("reason") or "") or None
            if verdict not in VERDICTS:
                raise ValueError(f"{place}.verdict: expected {' or '.join(VERDICTS)}, got {verdict!r}")
            if beyond := self._unknown_citation(part, fields):
                verdict, reason = "unmet", words["no_context"].format(beyond)
            return {"claim": part, "verdict": verdict, "reason": reason}

        claims = reconcile(verdicts, "claim", len(parts), "verdicts", read)
        met = sum(each["verdict"] == "met" for each in claims)
        wrong = [
            f"{words['unmet']}: “{each['claim']}”{because(each['reason'])}."
            for each in claims
            if each["verdict"] == "unmet"
        ]
        text = " ".join([words["met"].format(met, len(claims)), *wrong])
        return Judgement(met / len(claims), text, details={"claims": claims})

    def _unknown_citation(self, part: str, fields: Mapping[str, Any]) -> int | None:
        """The first number that a part cites although no context has it."""
        if self.unit != "citations" or "contexts" not in self.fields:
            return None
        return next((number for number in citations(part) if number > len(fields["contexts"])), None)


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _value(name: str, value: Any) -> str | Sequence[Item]:
    if name in LISTS:
        return list(value or ())
    return str(value or "")


def _field_names(fields: Sequence[Field], language: Language) -> str:
    """`the question (question) and the answer (answer)`"""
    names = [_FIELD_WORDS[language][name] for name in fields]
    if language == "ko":
        return ", ".join(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
