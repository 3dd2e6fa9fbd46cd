"""What summary.md says of models: who judged, how well, and what it cost."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from runner import report
from tests.model_runs import JUDGE, MEMORY_HEALTH, MODELS_RUN, MODELS_SUMMARY, used
from tests.run_folders import KOREAN, SUMMARY, dump, merged, write_run
from tests.runner.report.summaries import written


def test_a_judge_of_memories(tmp_path: Path) -> None:
    facts, of_memory = {"facts": {"judge_health": MEMORY_HEALTH}}, {"evaluation_type": "memory"}
    text = written(write_run(tmp_path / "en", of_memory, facts))
    assert (
        "| Rubric | Bad memories accepted | Good memories rejected | Grades changed by prompt injection | Not graded |"
        in text
    )
    assert "Memory Quality: on 12 examples with known scores the judge is off by 1.25 of 10 points on average." in text
    korean = written(write_run(tmp_path / "ko", merged(KOREAN, of_memory), facts))
    assert (
        "| 루브릭 | 나쁜 메모리를 좋게 채점 | 좋은 메모리를 나쁘게 채점 | 숨은 지시로 바뀐 채점 | 채점 실패 |" in korean
    )
    assert "메모리 품질: 점수를 아는 예시 12개에서 판정기의 점수는 평균 1.25점(10점 만점) 차이가 납니다." in korean


def test_english_report_of_models(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    golden("report/models.en.md", about_models(write_run(tmp_path, MODELS_RUN, MODELS_SUMMARY)))


def test_korean_report_of_models(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    golden("report/models.ko.md", about_models(write_run(tmp_path, merged(MODELS_RUN, KOREAN), MODELS_SUMMARY)))


def about_models(folder: Path) -> str:
    """What only the report of a run with models has."""
    plain = written(write_run(folder / "plain", json.loads((folder / "run.json").read_text(encoding="utf-8"))))
    without = re.split(r"\n\n(?=#)", plain)
    blocks = re.split(r"\n\n(?=#)", written(folder))
    return "\n\n".join(block.strip() for block in blocks if block not in without) + "\n"


def test_an_unknown_price_is_never_zero(tmp_path: Path) -> None:
    usage = {"judge": {"openai:x": {"live": used(5, 100, 20, None), "cached": used(0, 0, 0, 0.0)}}}
    text = written(write_run(tmp_path, MODELS_RUN, {"timing": {"usage": usage}}))
    assert "| judge | openai:x | 5 | 0 | 100 | 20 | unknown price | 0 | $0 |".replace("$", "\\$") in text
    assert "No price is known for openai:x; set one in provider.NAME.prices.usd_per_million." in text
    assert "Prices of" not in text
    assert "Total" not in text  # one row is its own total


def test_attempts_without_an_answer_that_may_be_billed(tmp_path: Path) -> None:
    lost = {"judge": {JUDGE: {"unanswered": used(3, 4000, 600, None)}}}
    changed = merged(MODELS_SUMMARY, {"timing": {"usage": lost}})
    sentence = (
        "Attempts without an answer (timeouts, lost connections, interruptions): 3. They may still be billed "
        "(unknown price for up to 4,600 tokens), and a budget counts them as spent."
    )
    text = written(write_run(tmp_path, MODELS_RUN, changed)).replace("\\", "")
    assert sentence in text and "| **Total** |  | **1,127** |" in text
    report.write(tmp_path)
    assert sentence in (tmp_path / "report.html").read_text(encoding="utf-8")
    korean = written(write_run(tmp_path, merged(MODELS_RUN, KOREAN), changed)).replace("\\", "")
    assert (
        "응답을 받지 못한 시도(시간 초과, 연결 끊김, 중단)는 3건입니다. 응답이 없어도 청구될 수 있으며"
        "(가격 미상, 최대 4,600 토큰), 예산에서는 쓴 것으로 계산합니다."
    ) in korean
    assert "Attempts without" not in written(write_run(tmp_path, MODELS_RUN, MODELS_SUMMARY))


def test_an_unknown_price_beside_a_known_one(tmp_path: Path) -> None:
    usage = {"embedder": {"local:x": {"live": used(5, 100, 0, None), "cached": used(0, 0, 0, 0.0)}}}
    text = written(write_run(tmp_path, MODELS_RUN, merged(MODELS_SUMMARY, {"timing": {"usage": usage}})))
    assert "| **Total** |  | **1,129** | **3** | **1,159,100** | **51,000** | **at least \\$0.0132** |" in text


def test_a_judge_that_is_right_on_all_control_items(tmp_path: Path) -> None:
    faithfulness = {name: {"n": 5, "k": 0, "rate": 0.0} for name in ("false_accept", "false_reject", "injection")}
    healthy = {"faithfulness": {**faithfulness, "n": 15, "n_failed": 0, "failed_controls": []}}
    folder = write_run(tmp_path, MODELS_RUN)
    dump(folder / "summary.json", merged(SUMMARY, {"facts": {"judge_health": healthy}}))
    text = written(folder)
    assert "| Faithfulness | 0/5 (0.0%) | 0/5 (0.0%) | 0/5 (0.0%) | 0/15 (0.0%) |" in text
    assert "The judge got all control items right." in text
    assert "Warning" not in text
    assert "Agreement of votes" not in text


def test_judges_of_a_panel_have_their_own_noise_but_agree_together(tmp_path: Path) -> None:
    inner = {"n": 10, "votes": 2, "failed": 1, "alpha": 0.9, "alpha_low": 0.8, "alpha_high": 0.95, "noise_sd": 0.1}
    panel = {"judging": {"faithfulness": {"judges": {"first": inner}}}}
    text = written(write_run(tmp_path, MODELS_RUN, merged(MODELS_SUMMARY, panel)))
    assert "| Faithfulness, judge first | 10 | 2 | 1 | 0.9000 | [0.8000, 0.9500] | 0.1000 |" in text
    assert "Faithfulness: votes agree only in part" in text
    assert "Faithfulness, judge first: if votes differ by chance" in text
    assert "Faithfulness, judge first: votes" not in text
    assert "Faithfulness: if votes" not in text


def test_many_wrong_control_items_are_counted(tmp_path: Path) -> None:
    items = [f"c{number}" for number in range(23)]
    health = {"facts": {"judge_health": {"faithfulness": {"failed_controls": items}}}}
    text = written(write_run(tmp_path, MODELS_RUN, merged(MODELS_SUMMARY, health)))
    assert "c18, c19 and 3 more (summary.json)." in text
    assert "c20" not in text


def test_what_a_score_was_made_of_beside_the_data(tmp_path: Path) -> None:
    text = written(write_run(tmp_path, MODELS_RUN))
    assert "| Models | generator openai:gpt-4o; judge openai:gpt-4o-mini |" in text
    assert "| Data | corpus cccccccccccc, queries dddddddddddd |" in text
    assert "| Models and prompts | judge aaaaaaaaaaaa, generator bbbbbbbbbbbb |" in text


def test_a_hostile_name_of_a_model_breaks_no_table(tmp_path: Path) -> None:
    run = {"models": {"judge": ["x:a|b*c"]}}
    usage = {"judge": {"x:a|b*c": {"live": used(5, 100, 20, 0.1), "cached": used(0, 0, 0, 0.0)}}}
    text = written(write_run(tmp_path, run, {"timing": {"usage": usage}}))
    assert "| Models | judge x:a\\|b\\*c |" in text
    assert "| judge | x:a\\|b\\*c | 5 |" in text
