"""Reads verdicts on claims and chunks from a model's reply, and computes scores from them.

A Judgement's details are

    {"claims": [{"claim", "verdict", "context", "reason"}]}     faithfulness: of the answer; context_recall: of the
                                                                reference that the chunks hold most of
    {"claims": [...], "reference_claims": [...],                answer_correctness: of the answer, and of the reference
     "precision": 0..1, "recall": 0..1}                         that it says most of; without `context`
    {"chunks": [{"chunk", "useful", "reason"}]}                 context_precision, best rank first

A ValueError says why a reply cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runner.llm.loose_json import whole_number
from runner.metrics.judged import f1, rank_weighted_precision
from runner.records import Judgement
from runner.text.claims import claims
from runner.text.language import Language

VERDICTS = ("supported", "contradicted", "not_found")
Detail = dict[str, Any]

_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "supported": "{} of {} claims supported.",
        "right": "{} of {} claims of the answer are in the reference.",
        "said": "The answer says {} of {} claims of the reference.",
        "held": "The chunks hold {} of {} claims of the reference.",
        "useful": "{} of {} chunks are useful: {}.",
        "useless": "None of {} chunks is useful.",
        "contradicted": "Contradicted",
        "not_found": "Not found",
        "missing": "Missing",
    },
    "ko": {
        "supported": "주장 {1}개 중 {0}개가 뒷받침됩니다.",
        "right": "답변의 주장 {1}개 중 {0}개가 기준 답안에 있습니다.",
        "said": "기준 답안의 주장 {1}개 중 {0}개를 답변이 말합니다.",
        "held": "기준 답안의 주장 {1}개 중 {0}개가 청크에 있습니다.",
        "useful": "청크 {1}개 중 {0}개가 쓸모 있습니다: {2}.",
        "useless": "청크 {}개 중 쓸모 있는 것이 없습니다.",
        "contradicted": "모순",
        "not_found": "근거 없음",
        "missing": "빠짐",
    },
}


def claims_of(references: Sequence[str]) -> list[list[str]]:
    """The claims of each reference, at least one: a reference without a statement is one claim as a whole."""
    return [claims(reference) or [reference] for reference in references]


# --- reading ------------------------------------------------------------------------------------------


def on_claims(verdicts: Any, claim_texts: Sequence[str], n_chunks: int | None, place: str = "verdicts") -> list[Detail]:
    """One verdict for each claim, in the order of the claims. `n_chunks` None: no verdict names a chunk."""

    def read(entry: Mapping[str, Any], number: int, at: str) -> Detail:
        return _on_claim(entry, claim_texts[number - 1], n_chunks, at)

    return reconcile(verdicts, "claim", len(claim_texts), place, read)


def on_chunks(verdicts: Any, n_chunks: int) -> list[Detail]:
    """One verdict for each chunk, best rank first."""

    def read(entry: Mapping[str, Any], number: int, at: str) -> Detail:
        if not isinstance(entry.get("useful"), bool):
            raise ValueError(f"{at}.useful: expected true or false, got {entry.get('useful')!r}")
        return {"chunk": number, "useful": entry["useful"], "reason": str(entry.get("reason") or "") or None}

    return reconcile(verdicts, "chunk", n_chunks, "verdicts", read)


def reconcile(
    verdicts: Any, of: str, n: int, place: str, read: Callable[[Mapping[str, Any], int, str], Detail]
) -> list[Detail]:
    """One entry for each number from 1 to n (under the key `of`), in this order, each read by `read`."""
    if not isinstance(verdicts, list):
        raise ValueError(f"{place}: expected a list, got {verdicts!r}")
    by_number: dict[int, Detail] = {}
    for at, entry in enumerate(verdicts):
        if not isinstance(entry, Mapping):
            raise ValueError(f"{place}.{at}: expected an object, got {entry!r}")
        number = whole_number(entry.get(of), n, f"{place}.{at}.{of}")
        if number in by_number:
            raise ValueError(f"{place}.{at}.{of}: a second verdict for {of} {number}")
        by_number[number] = read(entry, number, f"{place}.{at}")
    missing = [str(number) for number in range(1, n + 1) if number not in by_number]
    if missing:
        raise ValueError(f"{place}: no verdict for {of} {', '.join(missing)}")
    return [by_number[number] for number in sorted(by_number)]


def _on_claim(entry: Mapping[str, Any], claim: str, n_chunks: int | None, place: str) -> Detail:
    verdict, reason = entry.get("verdict"), str(entry.get("reason") or "") or None
    if verdict not in VERDICTS:
        raise ValueError(f"{place}.verdict: expected {', '.join(VERDICTS)}, got {verdict!r}")
    if n_chunks is None:
        return {"claim": claim, "verdict": verdict, "reason": reason}
    chunk = None if verdict == "not_found" else whole_number(entry.get("chunk"), n_chunks, f"{place}.chunk")
    return {"claim": claim, "verdict": verdict, "context": chunk, "reason": reason}


def not_found(stated: Sequence[str]) -> list[Detail]:
    """The verdicts on claims where no chunk was retrieved."""
    return [{"claim": claim, "verdict": "not_found", "context": None, "reason": None} for claim in stated]


# --- counting -----------------------------------------------------------------------------------------


def faithfulness(verdicts: Sequence[Detail], language: Language) -> Judgement:
    """The share of the answer's claims that is supported."""
    return Judgement(
        _share(verdicts),
        " ".join([_count("supported", verdicts, language), *_wrong(verdicts, "not_found", language)]),
        details={"claims": list(verdicts)},
    )


def correctness(
    verdicts: Sequence[Detail], of_references: Sequence[Detail], sizes: Sequence[int], language: Language
) -> Judgement:
    """F1 of precision (the share of the answer's claims that the references support) and recall (the share of a
    reference's claims that the answer supports; of several references the best one's). `sizes`: how many claims each
    reference has."""
    reference_claims = _best(of_references, sizes)
    precision, recall = _share(verdicts), _share(reference_claims)
    reasons = [
        _count("said", reference_claims, language),
        *_wrong(reference_claims, "missing", language),
        _count("right", verdicts, language),
        *_wrong(verdicts, "not_found", language),
    ]
    details = {"claims": list(verdicts), "reference_claims": reference_claims, "precision": precision, "recall": recall}
    return Judgement(f1(precision, recall), " ".join(reasons), details=details)


def context_recall(verdicts: Sequence[Detail], sizes: Sequence[int], language: Language) -> Judgement:
    """The share of a reference's claims that the chunks support; of several references the best one's."""
    held = _best(verdicts, sizes)
    reasons = [_count("held", held, language), *_wrong(held, "missing", language)]
    return Judgement(_share(held), " ".join(reasons), details={"claims": held})


def context_precision(verdicts: Sequence[Detail], language: Language) -> Judgement:
    """The mean of the precision at the ranks of the useful chunks."""
    useful = [str(each["chunk"]) for each in verdicts if each["useful"]]
    words = _WORDS[language]["useful" if useful else "useless"]
    text = words.format(*([len(useful)] if useful else []), len(verdicts), ", ".join(useful))
    score = rank_weighted_precision([bool(each["useful"]) for each in verdicts])
    return Judgement(score, text, details={"chunks": list(verdicts)})


def _best(verdicts: Sequence[Detail], sizes: Sequence[int]) -> list[Detail]:
    """The verdicts on the claims of the reference with the highest share; the first one of equals."""
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return max((list(verdicts[end - size : end]) for end, size in zip(ends, sizes, strict=True)), key=_share)


def _share(verdicts: Sequence[Detail]) -> float:
    return _count_supported(verdicts) / len(verdicts)


def _count_supported(verdicts: Sequence[Detail]) -> int:
    return sum(1 for each in verdicts if each["verdict"] == "supported")


def _count(name: str, verdicts: Sequence[Detail], language: Language) -> str:
    return _WORDS[language][name].format(_count_supported(verdicts), len(verdicts))


def _wrong(verdicts: Sequence[Detail], not_found: str, language: Language) -> list[str]:
    """A sentence on each claim that is not supported. `not_found`: the key of the sentence for a claim that the other
    side lacks."""
    names = {"contradicted": "contradicted", "not_found": not_found}
    return [
        f"{_WORDS[language][names[each['verdict']]]}: “{each['claim']}”{because(each['reason'])}."
        for each in verdicts
        if each["verdict"] != "supported"
    ]


def because(reason: str | None) -> str:
    """A reason in brackets, with a blank before it; empty for none."""
    return f" ({reason})" if reason else ""
