from pathlib import Path
from typing import Any

import pytest

from runner import report
from tests.run_folders import RUN, row, write_run
from tests.shown_panels import lines_of


def shown(folder: Path) -> str:
    return words_of(folder, 80)


def words_of(folder: Path, width: int) -> str:
    lines = lines_of([report.case_view(folder)], width)
    return " ".join(" ".join(line.strip("│ ").split()) for line in lines)


def test_everything_about_one_case(tmp_path: Path) -> None:
    details = {"claims": [{"text": "It is q.", "supported": True}]}
    judgement = {"score": 1.0, "reasoning": "All claims hold.", "error": None, "details": details}
    text = shown(
        write_run(tmp_path, rows=[row("q", judgements={"faithfulness": judgement}, output={"query": "[red]?"})])
    )
    for part in (
        "q (ok)",
        "Question [red]?",
        "1. doc-1 ✓ First (0.91); 2. doc-2 (0.40)",
        "[1] doc-1#0 The first text.",
        "Judge, Faithfulness All claims hold.",
        "Faithfulness, claims text: It is q., supported: yes",
    ):
        assert part in text


def test_a_case_that_ran_and_fails_is_named_by_its_stage(tmp_path: Path) -> None:
    folder = write_run(tmp_path, rows=[row("q", labels={"lost_at": "refused_answerable"})])
    assert "q (refused though answerable)" in shown(folder)
    assert str(report.brief_case(folder)[0]) == "q (refused though answerable)"


def test_claims_with_their_verdicts_and_chunks(tmp_path: Path) -> None:
    claims = [
        {"claim": "It is q.", "verdict": "supported", "context": 1, "reason": None},
        {"claim": "It is p.", "verdict": "contradicted", "chunk": 2, "reason": "it is q"},
        {"claim": "It is r.", "verdict": "not_found", "context": None, "reason": None},
    ]
    judgement = {"score": 1 / 3, "reasoning": "1 of 3.", "error": None, "details": {"claims": claims}}
    text = shown(write_run(tmp_path, rows=[row("q", judgements={"faithfulness": judgement})]))
    for part in (
        "Faithfulness, claims supported [1]: It is q.",
        "contradicted [2]: It is p. (reason: it is q)",
        "not found: It is r.",
    ):
        assert part in text


def test_votes_of_a_panel_and_what_failed(tmp_path: Path) -> None:
    details = {
        "first/claims": [{"claim": "It is q.", "verdict": "supported", "context": 1}],
        "votes": {"first/1": 1.0, "first/2": 0.25, "second": None},
        "failures": {"second": "no JSON in the reply"},
    }
    judgement = {"score": 0.625, "reasoning": "", "error": None, "details": details}
    rows = [row("q", judgements={"faithfulness": judgement})]
    text = shown(write_run(tmp_path / "en", rows=rows))
    for part in (
        "Faithfulness, claims (first) supported [1]: It is q.",
        "Faithfulness, votes first/1: 1.00, first/2: 0.25, second: failed",
        "Faithfulness, failed votes second: no JSON in the reply",
    ):
        assert part in text
    korean = shown(write_run(tmp_path / "ko", {"config": {"report": {"language": "ko"}}}, rows=rows))
    assert "충실도, 반복 판정 first/1: 1.00, first/2: 0.25, second: 실패" in korean
    assert "충실도, 주장 (first) 근거 있음 [1]: It is q." in korean


@pytest.mark.parametrize("kind", [list, dict])
def test_what_was_said_before_the_question(tmp_path: Path, kind: type) -> None:
    turns: list[Any] = [["user", "What is [b]q[/b]?"], ["assistant", "A letter."]]
    if kind is dict:
        turns = [{"role": role, "text": text} for role, text in turns]
    text = shown(write_run(tmp_path, rows=[row("q", output={"history": turns})]))
    before = text.index("Before the question user: What is [b]q[/b]? assistant: A letter.")
    assert before < text.index("Question What is q?")


def test_a_citation_of_nothing(tmp_path: Path) -> None:
    rows = [row("q", output={"citations": [1, 7], "citations_out_of_range": [7]})]
    text = shown(write_run(tmp_path, rows=rows))
    assert "Citations [7] is cited, but there is no such source" in text
    assert "[1] doc-1#0 The first text." in text
    plain = shown(write_run(tmp_path, rows=[row("q")]))
    assert "Citations" not in plain
    assert "Before the question" not in plain


def test_a_case_that_failed_has_no_output(tmp_path: Path) -> None:
    rows = [{**row("q", status="failed", error="boom"), "output": None, "judgements": {}}]
    assert "Error boom" in shown(write_run(tmp_path, rows=rows))


def test_a_folder_without_a_case(tmp_path: Path) -> None:
    assert shown(write_run(tmp_path, rows=[])) == "No case was scored, so there are no metrics."


def test_what_the_judge_by_words_has_left_is_in_the_language_of_the_report(tmp_path: Path) -> None:
    claim = {
        "claim": "환불은 7일.",
        "verdict": "unsupported",
        "score": 0.0,
        "conflict": "자료에 없음: 7일",
        "context": 2,
    }
    claims = {"claims": [{**claim, "missing": ["7일"], "evidence": None}]}
    judgements = {
        "faithfulness": {"score": 0.0, "reasoning": "없음", "error": None, "details": claims},
        "answer_relevancy": {
            "score": 0.0,
            "reasoning": "없음",
            "error": None,
            "details": {"topic": 0.0, "kind": "quantity"},
        },
    }
    rows = [row("q", judgements=judgements)]
    text = shown(write_run(tmp_path, {"config": {"report": {"language": "ko"}}}, rows=rows))
    assert "근거 없음 [2]: 환불은 7일. (점수: 0, 어긋남: 자료에 없음: 7일, 빠진 말: 7일)" in text
    assert "답변 관련성, 주제를 다룬 비율 0" in text
    assert "답변 관련성, 묻는 것 수량" in text
    judgements["answer_relevancy"]["details"] = {"topic": 0.5, "kind": None}
    assert "asked for" not in shown(write_run(tmp_path / "en", rows=[row("q", judgements=judgements)]))


MEMORY = {"evaluation": {"_target_": "plugins.evaluation.memory.MemoryEvaluation"}}
MEMORY_ROW: dict[str, Any] = {
    "output": {
        "query": "예산이 얼마죠?",
        "answerable": True,
        "after_turn": 7,
        "expected": ["1.5억", "5월"],
        "facts": [{"value": "1.5억", "shown": True}, {"value": "5월", "shown": False}],
        "stale": [{"value": "1억", "shown": True}],
        "contexts": [{"id": "memory", "text": "예산은 1.5억."}],
    },
    "judgements": {
        "memory": {
            "score": 0.5,
            "reasoning": "괜찮음",
            "error": None,
            "details": {
                "scores": {
                    "accuracy": {"score": 20 / 3, "reason": "틀림", "types": ["time", "number"]},
                    "noise": {"score": 0.0, "reason": "", "types": []},
                },
                "overall": 200 / 3,
                "helpful_info": ["예산은 1.5억."],
                "missing_info": [],
                "summary": "괜찮음",
                "empty": False,
            },
        }
    },
}


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (
            "en",
            (
                "Facts (✓ in the context) 1.5억 ✓, 5월 Outdated facts (✓ in the context) 1억 ✓",
                "scores, accuracy 6.667/10 (past taken for present, wrong number): 틀림",
                "scores, noise 0/10: –",
                "overall (0-100) 66.67",
                "helpful 예산은 1.5억.",
            ),
        ),
        (
            "ko",
            (
                "필요한 사실 (✓ 컨텍스트에 있음) 1.5억 ✓, 5월",
                "바뀌기 전의 사실 (✓ 컨텍스트에 있음) 1억 ✓",
                "점수, 정확성 6.667/10 (시점 오류, 수치 오류): 틀림",
                "전체 점수 (0-100) 66.67",
                "한 줄 평가 괜찮음",
            ),
        ),
    ],
)
def test_a_probe_of_a_memory(tmp_path: Path, language: str, expected: tuple[str, ...]) -> None:
    run = {"config": {"report": {"language": language}, **MEMORY}}
    folder = write_run(tmp_path, run, rows=[{**row("q"), **MEMORY_ROW}])
    text = words_of(folder, 200)
    for part in expected:
        assert part in text
    assert "False" not in text and "Retrieved" not in text and "검색 결과" not in text


def test_a_probe_of_what_was_never_said(tmp_path: Path) -> None:
    output = {"query": "얼마죠?", "answerable": False, "after_turn": 7, "expected": [], "facts": [], "stale": []}
    text = shown(write_run(tmp_path, {"config": MEMORY}, rows=[{**row("q"), "output": output}]))
    assert "Facts (✓ in the context) no answer: the conversation does not say it" in text


def test_what_was_remembered_stands_before_the_documents_without_a_number(tmp_path: Path) -> None:
    remembered = [{"id": "memory", "text": "The budget is $900."}, {"id": "turn-7", "text": "User: And January?"}]
    text = shown(write_run(tmp_path, rows=[row("q", output={"remembered": remembered})]))
    before = text.index("memory The budget is $900. turn-7 User: And January?")
    assert before < text.index("[1] doc-1#0 The first text.")


def test_the_brief_view_has_ranks_of_gold_and_no_texts_of_chunks(tmp_path: Path) -> None:
    output = {
        "query": "q?", "answerable": True, "expected": ["doc-2", "doc-9", "doc-7"], "ranked": 100,
        "gold_ranks": {"doc-2": 2, "doc-9": 17, "doc-7": None}, "answer": "word " * 200,
    }  # fmt: skip
    judgement = {"score": 1.0, "reasoning": "All hold.", "error": None, "details": {"claims": ["a"]}}
    rows = [row("q", judgements={"faithfulness": judgement}, output=output)]
    run = {**RUN, "config": {**RUN.get("config", {}), "case": "q"}, "overrides": ["+experiment=full_rag", "case=q"]}
    folder = write_run(tmp_path, run=run, rows=rows)
    text = " ".join(" ".join(lines_of(report.brief_case(folder), 80)).split())
    ranks = "doc-2 (rank 2), doc-9 (rank 17, below k=5), doc-7 (not among the 100 documents of the ranking)"
    assert ranks in text
    assert "Judge, Faithfulness All hold." in text and "word word…" in text
    assert "The first text." not in text and "Faithfulness, claims" not in text
    assert "the whole case python -m runner +experiment=full_rag case=q verbose=true" in text
    assert ranks in shown(folder) and "Faithfulness, claims" in shown(folder)
