"""The queries file and its provenance."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from runner.commands.generate.drafts import Draft, place_of
from runner.commands.generate.maker import CELL, Batch, QuestionMaker
from runner.commands.generate.orders import eligible
from runner.errors import InputError
from runner.llm.prompts import prompt
from runner.system.metadata import now, versions, without_credentials, write_json
from runner.system.writing import no_place_for_a_file, replacing

PROMPTS = ("testset_questions", "testset_check", "testset_compare")


def provenance_path(out: Path) -> Path:
    """The file beside the questions that says how they were made."""
    return out.with_name(f"{out.stem}.provenance.json")


def check_out(out: Path) -> None:
    """Raises InputError for files that exist or cannot be written, before anything is paid for."""
    if (problem := no_place_for_a_file(out)) is not None:
        raise InputError(f"out: {problem}")
    for path in (out, provenance_path(out)):
        if path.exists():
            raise InputError(f"out: {path} exists; name another file, or remove it")
    out.parent.mkdir(parents=True, exist_ok=True)


def write(batch: Batch, maker: QuestionMaker, out: Path) -> None:
    """Write the provenance, then the queries, so that no queries file is without provenance."""
    content = b"".join(orjson.dumps(row) + b"\n" for row in rows(batch.drafts))
    write_json(provenance_path(out), provenance(batch, maker, out, content))
    with replacing(out) as scratch:
        scratch.write_bytes(content)


def rows(drafts: Sequence[Draft]) -> list[dict[str, Any]]:
    """The lines of a queries file. Gold is the document, with the quoted passage where the document contains it, else
    with the chunk."""
    width = max(3, len(str(len(drafts))))
    return [{"id": f"gen-{n:0{width}d}", **_row(draft)} for n, draft in enumerate(drafts, 1)]


def _row(draft: Draft) -> dict[str, Any]:
    order, slot = draft.order, draft.slot
    labels = {"language": order.language, "difficulty": slot.difficulty, "tags": [slot.type]}
    if not slot.answerable:
        return {"query": draft.question, "answerable": False, "expected_notes": [], **labels}
    return {
        "query": draft.question,
        "answerable": True,
        "expected_notes": [order.chunk.document_id],
        **_passage(draft),
        "answers": [draft.answer],
        **labels,
    }


def _passage(draft: Draft) -> dict[str, Any]:
    chunk = draft.order.chunk
    place = place_of(draft.quote, chunk.text)
    if place is None:
        return {"expected_chunks": [chunk.id]}
    start, end = place
    span = {"note": chunk.document_id, "start": chunk.start + start, "end": chunk.start + end}
    return {"expected_spans": [{**span, "text": chunk.text[start:end]}]}


def provenance(batch: Batch, maker: QuestionMaker, out: Path, content: bytes) -> dict[str, Any]:
    """The provenance of a queries file as JSON values: model, prompts, settings, corpus and counts."""
    corpus = batch.corpus
    return {
        "made_at": now(),
        "queries": {"file": out.name, "sha256": hashlib.sha256(content).hexdigest()},
        "model": dict(maker.model.provenance),
        "prompts": {name: prompt(name).digest for name in PROMPTS},
        "settings": {**maker.settings, "chunker": asdict(batch.chunker)},
        "corpus": {
            "path": without_credentials(maker.corpus),
            "fingerprint": corpus.fingerprint,
            "n_documents": len(corpus.documents),
            "n_chunks": len(corpus.chunks),
            "n_eligible": len(eligible(corpus)),
            "n_asked_about": len(batch.orders),
        },
        "counts": counts(batch),
        **maker.models.usage(CELL),
        "versions": versions(),
    }


def counts(batch: Batch) -> Mapping[str, Any]:
    """The numbers of ordered, kept and dropped questions, and the kinds of the kept ones."""
    slots = [draft.slot for draft in batch.drafts]
    passages = [_passage(draft) for draft in batch.drafts if draft.slot.answerable]
    return {
        "ordered": batch.n_ordered,
        "kept": len(batch.drafts),
        "answerable": sum(slot.answerable for slot in slots),
        "with_span": sum("expected_spans" in passage for passage in passages),
        "question_type": dict(Counter(slot.type for slot in slots)),
        "difficulty": dict(Counter(slot.difficulty for slot in slots)),
        "language": dict(Counter(draft.order.language for draft in batch.drafts)),
        "dropped": dict(batch.dropped),
        "failures": dict(Counter(batch.failures)),
    }
