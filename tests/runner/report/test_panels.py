import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from runner.report.panels import panels
from runner.system.folder import RunFolder
from tests.model_runs import JUDGE, MODELS_RUN, MODELS_SUMMARY, used
from tests.run_folders import KOREAN, RUN, SUMMARY, estimate, merged
from tests.shown_panels import lines_of

WITH_MODELS = merged(RUN, MODELS_RUN), merged(SUMMARY, MODELS_SUMMARY)


HEAD = 2  # lines above the panels: what was evaluated, over how many cases


def shown(run: Mapping[str, Any], summary: Mapping[str, Any], width: int = 80) -> str:
    """What a terminal of that width without colour shows."""
    return "\n".join([*lines_of(panels(RunFolder(Path("nowhere"), run, summary)), width), ""])


def lines(text: str) -> list[str]:
    """The lines without frame and repeated blanks."""
    return [" ".join(line.strip("│ ").split()) for line in text.splitlines()]


def test_results_and_generation_panels() -> None:
    text = lines(shown(RUN, SUMMARY))
    assert text[0].endswith("evaluation (k=5)") and text[1].startswith("Dataset: ")
    assert "Evaluation Results (k=5)" in text[HEAD]
    assert text[HEAD + 1 : HEAD + 7] == [
        "Precision@5: 0.2400 [0.1900, 0.2900] 8/8",
        "Recall@5: 0.8500 [0.8000, 0.9000] 8/8",
        "Hit Rate@5: 0.8500 [0.8000, 0.9000] 8/8",
        "MRR: 0.7200 [0.6700, 0.7700] 8/8",
        "nDCG@5: 0.7800 [0.7300, 0.8300] 8/8",
        "MAP@5: 0.7100 [0.6600, 0.7600] 8/8",
    ]
    assert "keyword Recall@5: 0.7500 [0.7000, 0.8000] 8/8" in text
    assert any("Run: run-1" in line for line in text)
    start = next(number for number, line in enumerate(text) if "Generation Metrics" in line)
    assert text[start + 1 : start + 3] == [
        "Faithfulness: 0.8250 [0.7750, 0.8750] 9/10",
        "Answer Relevancy: 0.5800 [0.5300, 0.6300] 10/10",
    ]


def test_details() -> None:
    text = lines(shown(RUN, SUMMARY))
    for line in (
        "Status: completed",
        "Cases: 10 (ok 9, failed 0, timeout 1)",
        "Data problems: errors: 1, warnings: 2 (errors.jsonl)",
        "Latency, retrieval: p50 3.1 ms p95 9.9 ms n=4",
        "Latency, generation: no live call to measure",
        "Unanswerable F1: 0.8000 [0.7500, 0.8500] 10/10",
        "question is predicted unanswerable answered",
        "unanswerable 2 0",
        "answerable 1 7",
        "Where questions fail:",
        "4 of 10 questions fail.",
        "refused though answerable 1",
    ):
        assert line in text
    assert not any("answered though unanswerable" in line for line in text)  # nothing was lost there


def test_models_and_cost() -> None:
    text = lines(shown(*WITH_MODELS))
    start = text.index("Models: generator openai:gpt-4o; judge openai:gpt-4o-mini")
    assert text[start - 1 : start + 3] == [
        "Cases: 10 (ok 9, failed 0, timeout 1)",
        "Models: generator openai:gpt-4o; judge openai:gpt-4o-mini",
        "Cost: $0.0132 (1,124 requests, 1.21 M tokens)",
        "Saved by cache: $0.0410 (2,000 requests, 2.11 M tokens)",
    ]


def test_judges_of_a_panel_share_their_role() -> None:
    run = merged(RUN, {"models": {"judge": ["openai:a", "local:b"], "embedder": ["local:c"]}})
    assert "Models: judge openai:a, local:b; embedder local:c" in lines(shown(run, SUMMARY))


def test_an_unknown_price_is_never_zero() -> None:
    usage = {"judge": {"local:x": {"live": used(5, 100, 20, None), "cached": used(0, 0, 0, 0.0)}}}
    summary = {**SUMMARY, "timing": {"usage": usage}}
    text = lines(shown(merged(RUN, {"models": {"judge": ["local:x"]}}), summary))
    assert "Cost: unknown price (5 requests, 120 tokens)" in text
    assert not any("Saved by cache" in line for line in text)
    assert "비용: 가격 미상 (요청 5건, 120 토큰)" in lines(shown(merged(RUN, KOREAN), summary))


def test_attempts_without_an_answer_are_shown_where_they_may_be_billed() -> None:
    assert not any("No answer" in line for line in lines(shown(*WITH_MODELS)))
    run, summary = WITH_MODELS
    lost = {"timing": {"usage": {"judge": {JUDGE: {"unanswered": used(3, 4000, 600, 0.0021)}}}}}
    text = lines(shown(run, merged(summary, lost)))
    start = text.index("Cost: $0.0132 (1,127 requests, 1.21 M tokens)")  # all that were sent, and what the others cost
    assert " ".join(text[start + 2 : start + 4]) == (
        "No answer: may be billed: up to $0.0021 (3 attempts, up to 4,600 tokens)"
    )
    korean = " ".join(lines(shown(merged(run, KOREAN), merged(summary, lost))))
    assert "응답 없음: 청구될 수 있음: 최대 $0.0021 (시도 3건, 최대 4,600 토큰)" in korean


def test_attempts_that_cost_nothing_are_counted_and_have_no_line_of_their_own() -> None:
    run, summary = WITH_MODELS
    refused = {"timing": {"usage": {"judge": {JUDGE: {"unanswered": used(6, 0, 0, 0.0)}}}}}
    assert shown(run, merged(summary, refused)) == shown(run, summary).replace("(1,124 requests", "(1,130 requests")


def test_the_judge_on_controls_and_its_votes() -> None:
    text = lines(shown(*WITH_MODELS))
    start = text.index("Judge on controls false accepts false rejects injections not judged")
    assert text[start + 1 : start + 7] == [
        "Faithfulness 6/9 0/8 5/6 0/23",
        "Answer Relevancy 0/4 0/5 0/3 0/12",
        "Agreement of votes:",
        "Votes of the judge votes Noise (SD) alpha",
        "Faithfulness 3 0.0500 0.7125 [0.55, 0.83]",
        "Answer Relevancy 3 0.0000 –",
    ]


def test_what_the_judge_got_wrong_stands_out() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    for panel in panels(RunFolder(Path("nowhere"), *WITH_MODELS)):
        console.print(panel, markup=False, highlight=False)
    assert isinstance(console.file, io.StringIO)
    found = {rate: style for style, rate in re.findall(r"\x1b\[([\d;]+)m *(\d+/\d+)\x1b", console.file.getvalue())}
    assert (found["6/9"], found["5/6"], found["0/23"]) == ("1;31", "1;31", "2")


def test_warnings_stand_below_the_scores() -> None:
    text = lines(shown(*WITH_MODELS))
    warning = text.index("Warning: instructions hidden in texts changed the judgement of control")
    assert text.index("Token F1: 0.6100 [0.5600, 0.6600] 8/8") < warning < text.index("Status: completed")


def test_without_models_nothing_is_said_of_them() -> None:
    text = shown(RUN, SUMMARY)
    assert not any(word in text for word in ("Models", "Cost", "Saved", "controls", "Votes", "Warning", "Resume"))


def test_a_run_that_stopped_early_says_how_to_go_on() -> None:
    run = merged(RUN, {"status": "partial", "error_message": "budget.usd=1 is spent (0.9980 used)"})
    summary = merged(SUMMARY, {"cases": {"total": 12, "pending": 2}})
    text = lines(shown(run, summary))
    start = text.index("Status: partial")
    assert text[start : start + 4] == [
        "Status: partial",
        "Error: budget.usd=1 is spent (0.9980 used)",
        "Cases: 12 (ok 9, failed 0, timeout 1, not run 2)",
        "Resume: with a higher budget, the same command resumes with",
    ]
    text = lines(shown(merged(run, {"error_message": "interrupted after 10 of 12 cases"}), summary))
    assert "Resume: the same command resumes with the remaining cases" in text
    refused = "local:m at http://x/v1: the server answers 404: no model"
    text = lines(shown(merged(run, {"error_message": refused}), summary))
    assert "Resume: fix what the error names, then run it again" in text
    text = lines(shown(merged(merged(run, KOREAN), {"error_message": "서비스 응답 404: 없음"}), summary))
    assert "이어서 실행: 오류에 나온 설정을 고친 뒤 명령을 다시 실행" in text


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("run", [RUN, merged(RUN, KOREAN)], ids=["en", "ko"])
def test_every_line_is_as_wide_as_its_panel(run: Mapping[str, Any], width: int) -> None:
    for changes in ({}, MODELS_SUMMARY):
        text = shown(merged(run, MODELS_RUN) if changes else run, merged(SUMMARY, changes), width)
        assert {cell_len(line) for line in text.splitlines()[HEAD:]} == {min(width, 78)}


def test_korean_panels() -> None:
    text = lines(shown(merged(RUN, KOREAN), SUMMARY))
    assert "평가 결과 (k=5)" in text[HEAD]
    assert "충실도 (Faithfulness): 0.8250 [0.7750, 0.8750] 9/10" in text
    assert "답변 불가 2 0" in text
    assert "질문 10개 중 4개 실패" in " ".join(text)


def test_baselines_are_named_with_or_without_generation() -> None:
    note = "Baselines without a language model: generator=extractive, judge=lexical."
    assert note in lines(shown(RUN, SUMMARY))
    without = {**SUMMARY, "metrics": {"mrr": estimate(0.5, 3)}}
    assert note in lines(shown(RUN, without))
    assert "Baselines" not in shown(RUN, merged(SUMMARY, {"facts": {"baselines": []}}))


def test_retrieval_only_has_no_generation_panel() -> None:
    nothing = estimate(None, 0)
    changes = {"mean_faithfulness": nothing, "mean_answer_relevancy": nothing}
    metrics = {name: value for name, value in SUMMARY["metrics"].items() if name not in ("exact_match", "token_f1")}
    assert "Generation" not in shown(RUN, {**SUMMARY, "metrics": {**metrics, **changes}})


def test_a_failed_run_says_why_and_has_no_numbers() -> None:
    run = merged(RUN, {"status": "failed", "error_message": "10 of 10 cases failed"})
    metrics = {"mrr": estimate(None, 8, 0), "mean_faithfulness": estimate(None, 10, 0)}
    text = lines(shown(run, {**SUMMARY, "metrics": metrics, "counts": {}}))
    assert "MRR: – 0/8" in text
    assert "Faithfulness: – 0/10" in text
    assert "Status: failed" in text
    assert not any(line.startswith("Resume:") for line in text)
    assert "Error: 10 of 10 cases failed" in text


def test_a_run_of_which_almost_nothing_is_known() -> None:
    text = lines(shown({}, {}))
    assert "Evaluation Results" in text[0]
    assert "No case was scored, so there are no metrics." in text


def test_nothing_is_read_as_markup() -> None:
    run = merged(RUN, {"id": "[red]x[/red]", "error_message": "[bold]y"})
    text = shown(run, merged(SUMMARY, {"facts": {"baselines": ["judge=[i]z"]}}))
    assert all(part in text for part in ("[red]x[/red]", "[bold]y", "[i]z"))


def test_the_latency_of_whole_cases_comes_last() -> None:
    entry = {"p50_ms": 1.0, "p95_ms": 2.0, "n": 3}
    summary = {**SUMMARY, "timing": {"latency": {"case": entry, "retrieval": entry}}}
    stages = [line.split(":")[0] for line in lines(shown(RUN, summary)) if line.startswith("Latency")]
    assert stages == ["Latency, retrieval", "Latency, whole case"]


def test_no_failing_question() -> None:
    text = lines(shown(RUN, {**SUMMARY, "counts": {"lost_at": {"none": 10}}}))
    assert "No question failed." in text
