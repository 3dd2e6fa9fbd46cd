from runner.commands.generate.maker import Neighbours
from tests.corpora import corpus_of

CORPUS = corpus_of(
    {
        "a": ["Refunds take five days.", "Refunds need an invoice."],
        "b": "Plans can be changed at any time.",
        "c": "환불은 닷새가 걸립니다.",
        "d": "Refunds, refunds, refunds: the policy.",
    },
    titles={"b": "Billing"},
)


def found(question: str, beside: str, count: int = 3) -> list[str]:
    return [chunk.id for chunk in Neighbours(CORPUS).of(question, CORPUS.chunk_by_id[beside], count)]


def test_the_best_chunks_without_the_source_itself() -> None:
    assert found("Which refunds need an invoice?", "a#0")[0] == "a#1"
    assert found("Which refunds need an invoice?", "a#1") == ["d#0", "a#0"]
    assert found("Which refunds need an invoice?", "a#1", 1) == ["d#0"]
    assert found("환불 기간", "a#0") == ["c#0"]


def test_titles_count() -> None:
    assert found("billing", "a#0") == ["b#0"]


def test_nothing_in_common() -> None:
    assert found("quantum", "a#0") == []
    assert found("", "a#0") == []
