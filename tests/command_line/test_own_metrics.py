"""A metric that somebody wrote as one YAML: judged by a model, compared, gated, swept, tracked, calibrated."""

import contextlib
import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.tracking.entry import run_entry
from tests.services.models_replies import Reply, completion
from tests.services.models_server import ModelsServer
from tests.small_data import CORPUS, write_jsonl, write_texts

TONE = """\
# @package metric.tone
# Is the answer polite?
_target_: plugins.metric.rubric.Rubric
label: {en: Politeness, ko: 공손함}
meaning: {en: How polite it is., ko: 답변이 얼마나 공손한지}
criteria:
  en: The answer is polite.
  ko: 답변이 공손합니다.
fields: [question, answer]
scale: [1, 5]
"""
ANSWERS = [
    ("q1", "en", "How long does the Moon need?", "It needs 27 days, with pleasure.", "moon"),
    ("q2", "en", "Which planet is red?", "Mars, you fool.", "mars"),
    ("q3", "en", "How far is light from the Sun?", "Eight minutes, with pleasure.", "sun"),
    ("질4", "ko", "달은 며칠에 한 바퀴 도나요?", "27일입니다.", "달"),
    ("질5", "ko", "붉은 행성은 무엇인가요?", "화성이지 바보야.", "화성"),
    ("질6", "ko", "빛이 몇 분 걸리나요?", "8분입니다.", "해"),
]
WARM = TONE.replace("is polite.", "is polite and warm.")
RUDE = re.compile(r"fool|바보")
BY_CRITERIA = re.compile("in one respect|한 가지 측면")


def polite(body: dict[str, Any]) -> Reply | None:
    """5 points for the polite, 1 for the rude; whatever else is asked, 1.0."""
    system, user = (str(message["content"]) for message in body["messages"][:2])
    score = (1 if RUDE.search(user) else 5) if BY_CRITERIA.search(system) else 1.0
    return completion(body, json.dumps({"reasoning": "왜냐하면" if "당신은" in system else "Because.", "score": score}))


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's own folder of choices, which no test changes: what is composed of it is composed once."""
    return write_texts(tmp_path_factory.mktemp("shelf"), {"metric/tone.yaml": TONE})


def write_words(folder: Path, url: str, shelf: Path) -> list[str]:
    """A run whose answers are given, with the tone of somebody's own folder."""
    queries = [
        {"id": id, "query": text, "answerable": True, "expected_notes": [gold], "answer": answer, "language": language}
        for id, language, text, answer, gold in ANSWERS
    ]
    write_jsonl(folder / "corpus.jsonl", CORPUS)
    write_jsonl(folder / "queries.jsonl", queries)
    return [
        *("+experiment=full_rag", "--config-dir", str(shelf), "+metric=[tone]", "generator=given"),
        *("retriever=keyword", "dataset=jsonl", "dataset.corpus=corpus.jsonl", "dataset.queries=queries.jsonl"),
        *("judge=openai", "judge.model=local:small", f"provider.local.base_url={url}"),
        *("tracking=none", "judge.health=false"),
    ]


def with_own(text: str, words: list[str]) -> list[str]:
    """The same words, with another text of the tone in a folder of the test's own."""
    write_texts(Path("mine"), {"metric/tone.yaml": text})
    place = words.index("--config-dir") + 1
    return [*words[:place], "mine", *words[place + 1 :]]


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path, shelf: Path) -> list[str]:
    server.respond = polite
    return write_words(tmp_path, server.url, shelf)


@pytest.fixture(scope="module")
def judged_once(_models_server: ModelsServer, tmp_path_factory: pytest.TempPathFactory, shelf: Path) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    _models_server.renew()
    _models_server.respond = polite
    with contextlib.chdir(folder):
        assert main([*write_words(folder, _models_server.url, shelf), "out=a"]) == 0
    return folder


@pytest.fixture
def judged(judged_once: Path, server: ModelsServer, tmp_path: Path, shelf: Path) -> list[str]:
    """The words of the run `a`, which has been made, with what its judge was asked in the cache."""
    server.respond = polite
    shutil.copytree(judged_once, tmp_path, dirs_exist_ok=True)
    return write_words(tmp_path, server.url, shelf)


def read(path: str) -> Any:
    return json.loads(Path(path).read_text("utf-8"))


def tones(server: ModelsServer) -> list[dict[str, Any]]:
    return [body for body in server.requests if BY_CRITERIA.search(body["messages"][0]["content"])]


def test_a_run_shows_it_in_both_languages_everywhere(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "out=en"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"Politeness:\s+0\.6667 .*6/6", shown)
    assert re.search(r"\| Politeness \| \*\*0\.6667\*\* \| .* \| 6/6 \| good \| How polite it is\. \|", text("en"))
    assert "Politeness" in Path("en/report.html").read_text("utf-8")
    assert read("en/summary.json")["metrics"]["tone"]["value"] == pytest.approx(4 / 6)
    slices = read("en/summary.json")["slices"]["language"]
    assert [slices[language]["tone"]["n"] for language in ("en", "ko")] == [3, 3]
    prompts = [body["messages"][0]["content"] for body in tones(server)]
    assert sum("답변이 공손합니다." in prompt for prompt in prompts) == 3 == len(prompts) - 3
    assert run_entry(Path("en"), slices=[]).metrics["tone"] == pytest.approx(2 / 3)

    assert main([*words, "out=ko", "report.language=ko"]) == 0
    assert "공손함:" in capsys.readouterr().out and "| 공손함 | **0.6667** |" in text("ko")
    assert len(tones(server)) == 6  # nothing is paid twice


def text(folder: str) -> str:
    return Path(folder, "summary.md").read_text("utf-8")


def test_without_control_items_the_report_says_so_and_with_them_it_rates_the_judge(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    checked = [word for word in words if word != "judge.health=false"]
    assert main([*checked, "out=a"]) == 0
    assert "Politeness: no control items, so it is unknown how far the judge can be trusted with it." in text("a")
    controls = "controls: [{expected: pass, question: q, answer: a}, {expected: fail, question: q, answer: fool}]\n"
    assert main([*with_own(TONE + controls, checked), "out=b"]) == 0
    health = read("b/summary.json")["facts"]["judge_health"]["tone"]
    assert (health["n"], health["false_accept"]["k"], health["false_reject"]["k"]) == (2, 0, 0)
    assert "without control items" not in text("b")


def test_other_criteria_are_asked_anew_and_cannot_be_compared(
    judged: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is it a run to resume."""
    judged = with_own(WARM, judged)
    assert main([*judged, "out=a"]) == 1
    assert "out: a holds another run or sweep; choose another folder or remove it" in capsys.readouterr().err
    assert main([*judged, "out=b", "compare=a", "format=json"]) == 5
    assert len(tones(server)) == 3  # those in English; the Korean criteria are what they were
    record = read("b/compare.json")
    assert "tone" not in [each["name"] for each in record["metrics"]]
    (refused,) = [each for each in record["not_comparable"] if each["metric"] == "tone"]
    assert [(reason["kind"], reason["names"]) for reason in refused["reasons"]] == [("identity", ["judge_prompt.tone"])]
    assert {"right", "mean_faithfulness"} <= {each["name"] for each in record["metrics"]}


def test_a_rule_of_the_gate_and_a_threshold_know_it(judged: list[str]) -> None:
    words = [*judged, "format=json"]
    assert main([*words, "out=a", "threshold.tone=0.6"]) == 0
    assert main([*words, "out=a", "threshold.tone=0.9"]) == 4
    queries = Path("queries.jsonl")
    queries.write_text(queries.read_text("utf-8").replace("with pleasure", "you fool"), "utf-8")
    rule = "regression.rules=[{metric:tone,margin:0.1}]"
    assert main([*words, "out=c", "compare=a", rule, "fail_on_regression=true"]) == 4


def test_a_sweep_has_a_column_for_it(words: list[str]) -> None:
    assert main([*words, "k=1,2", "sample=3", "out=s"]) == 0
    header = next(line for line in text("s").splitlines() if line.startswith("| Run | k |"))
    assert "| Politeness |" in header
    assert "tone" in Path("s/cells.csv").read_text("utf-8").splitlines()[0]


def test_it_is_calibrated_against_people(
    words: list[str], shelf: Path, server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    ratings = [5, 1, 4, 5, 2, 5]
    labels = [
        {"id": id, "question": text, "answer": answer, "language": language, "ratings": {"tone": rating}}
        for (id, language, text, answer, _), rating in zip(ANSWERS, ratings, strict=True)
    ]
    write_jsonl(Path("labels.jsonl"), labels)
    judge = [word for word in words if word.startswith(("judge", "provider", "--config-dir", str(shelf), "+metric"))]
    assert main(["calibrate", "labels.jsonl", "scale=1,5", "ratings=tone", *judge, "out=c"]) == 0
    found = read("c/calibration.json")["rubrics"]["tone"]
    assert (found["n_judged"], found["mean_judge"]) == (6, pytest.approx(4 / 6))
    assert found["pearson"]["value"] > 0.95 and found["kappa"] == 1.0
    assert "Judge against people: openai – Politeness" in capsys.readouterr().out
    asked = len(tones(server))
    judge = with_own(WARM, judge)
    assert main(["calibrate", "labels.jsonl", "scale=1,5", "ratings=tone", *judge, "out=d"]) == 0
    assert len(tones(server)) == asked + 3


def test_it_is_calibrated_against_labels_that_were_made_of_a_run(judged: list[str], shelf: Path) -> None:
    """`labels` writes the sheet, a person fills it, `calibrate` reads it back."""
    assert main(["labels", "a", "out=sheet.csv", "n=6", "rubric=tone"]) == 0
    with Path("sheet.csv").open(encoding="utf-8-sig", newline="") as sheet:
        rows = list(csv.DictReader(sheet))
    for row in rows:
        row["rating"] = "1" if RUDE.search(row["answer"]) else "5"
    with Path("sheet.csv").open("w", encoding="utf-8-sig", newline="") as sheet:
        written = csv.DictWriter(sheet, rows[0])
        written.writeheader()
        written.writerows(rows)
    judge = [word for word in judged if word.startswith(("judge", "provider", "tracking"))]
    own = ["--config-dir", str(shelf), "+metric=[tone]", "ratings=tone", "scale=1,5"]
    assert main(["calibrate", "sheet.csv", "run=a", *own, *judge, "out=c"]) == 0
    found = read("c/calibration.json")["rubrics"]["tone"]
    assert (found["n_judged"], found["kappa"]) == (6, 1.0)


# --- bad input ----------------------------------------------------------------------------------------


WRONG = [
    ("fields: [question, answer]", "fields: [questions]", "got 'questions'; did you mean 'question'?"),
    ("scale: [1, 5]", "scales: [1, 5]", "metric.tone1.scales: unknown setting; did you mean 'scale'?"),
    ("{en: Politeness, ko: 공손함}", "{en: Politeness, fr: Politesse}", "metric.tone2.label.fr"),
]


def test_wrong_files_are_told_before_anything_runs(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (right, wrong, _) in enumerate(WRONG):
        assert right in TONE
        changed = TONE.replace(right, wrong).replace("metric.tone", f"metric.tone{number}")
        write_texts(Path("mine"), {f"metric/tone{number}.yaml": changed})
    chosen = f"+metric=[{','.join(f'tone{number}' for number in range(len(WRONG)))}]"
    words = with_own(TONE, words)
    assert main([chosen if word.startswith("+metric") else word for word in [*words, "out=a"]]) == 1
    said = capsys.readouterr().err
    assert [message for *_, message in WRONG if message not in said] == []
    for right, wrong, message in (
        ("[question, answer]", "[question, trace]", "the evaluation shows no 'trace' to a judge"),
        ("# @package metric.tone\n", "", "/mine/metric/tone.yaml: its first line has to be `# @package metric.tone`"),
    ):
        write_texts(Path("mine"), {"metric/tone.yaml": TONE.replace(right, wrong)})
        assert main([*words, "out=a"]) == 1
        assert message in capsys.readouterr().err
    assert server.count == 0 and not Path("a/per_item.jsonl").exists()


def test_a_judge_of_rules_takes_no_criteria(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    lexical = [word for word in words if not word.startswith("judge")]
    assert main([*lexical, "judge=lexical"]) == 1
    assert capsys.readouterr().err == (
        "error: 1 problem in the configuration:\n"
        "  metric.tone: LexicalJudge judges by rules of its own and takes no criteria; expected judge=openai or "
        "judge=panel\n"
    )


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["metric=[tonne]"], "metric: no choice 'tonne'; did you mean 'tone'?"),
        (
            ["+experiment=links", "metric=[tone]"],
            "metric: links takes no further metrics",
        ),
        (["+experiment=retrieval_only", "+metric=[tone]"], "metric.tone: the evaluation has no judge to ask; "),
        (["metric=[recall,right]"], "metric.right: the evaluation measures no 'right'; known: hit_rate, map"),
    ],
)  # fmt: skip
def test_a_wrong_choice_is_told(typed: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*typed, "tracking=none"]) == 1
    assert message in capsys.readouterr().err


# --- checks -------------------------------------------------------------------------------------------


def checked_queries(folder: Path, checks: dict[str, list[Any]]) -> list[str]:
    queries = [
        {
            "id": id,
            "query": text,
            "answerable": True,
            "expected_notes": [gold],
            "answer": answer,
            "language": language,
            "checks": checks.get(id, []),
        }
        for id, language, text, answer, gold in ANSWERS
    ]
    corpus = write_jsonl(folder / "corpus.jsonl", CORPUS)
    return [
        *("+experiment=full_rag", "generator=given", "retriever=keyword", "dataset=jsonl", f"dataset.corpus={corpus}"),
        *(f"dataset.queries={write_jsonl(folder / 'queries.jsonl', queries)}", "tracking=none", "judge.health=false"),
        "format=json",
    ]


def test_checks_of_cases_are_a_metric_with_a_reason_for_each_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = checked_queries(
        tmp_path,
        {
            "q1": [{"contains": "27 days"}, {"type": "not-regex", "value": "fool"}],
            "q2": [{"contains": "Mars"}, {"not_contains": "fool"}, {"max-words": 2}, {"contains": "planet"}],
        },
    )
    assert main([*words, "format=both", "out=a"]) == 0
    assert re.search(r"Checks Passed:\s+0\.6250 .* 2/2", capsys.readouterr().out)
    rows = {row["id"]: row for row in map(json.loads, Path("a/per_item.jsonl").read_text("utf-8").splitlines())}
    assert (rows["q1"]["metrics"]["checks"], rows["q2"]["metrics"]["checks"]) == (1.0, 0.25)
    assert "checks" not in rows["q3"]["metrics"]
    reason = (
        "1/4; not-contains: fool: expected not: “fool” in the answer; max-words: 2: expected at most 2 words, found 3"
    )
    assert rows["q2"]["judgements"]["checks"]["reasoning"].startswith(reason)
    for name in ("summary.md", "report.html"):
        assert "expected at most 2 words, found 3" in Path("a", name).read_text("utf-8")
    assert main([*words, "out=b", "format=both", "report.language=ko"]) == 0
    assert "검사 통과율" in text("b")


def test_checks_of_the_whole_set_are_yaml_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = """\
        # @package metric.policy
        _target_: plugins.metric.checks.Checks
        label: {en: Policy, ko: 정책}
        checks:
          - {not_icontains: FOOL}
          - {max_words: 5, weight: 3}
    """
    write_texts(tmp_path, {"mine/metric/policy.yaml": re.sub("(?m)^        ", "", policy)})
    words = [*checked_queries(tmp_path, {}), "--config-dir", "mine", "metric=[right,policy]"]
    assert main([*words, "out=a"]) == 0
    assert read("a/summary.json")["metrics"]["policy"]["value"] == pytest.approx((5 + 0.75 + 0.0) / 6, abs=0.2)
    assert re.search(r"Policy:\s+0\.", capsys.readouterr().out)
    changed = Path("mine/metric/policy.yaml")
    changed.write_text(changed.read_text("utf-8").replace("max_words: 5", "max_words: 4"), "utf-8")
    assert main([*words, "out=b", "compare=a"]) == 5
    changed.write_text(changed.read_text("utf-8").replace("max_words: 4", "max_word: 4"), "utf-8")
    capsys.readouterr()
    assert main([*words, "out=c"]) == 1
    assert "metric.policy.checks.1.type: no check 'max_word'; did you mean 'max-words'?" in capsys.readouterr().err


def test_a_wrong_check_of_a_case_is_told_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = checked_queries(tmp_path, {"q2": [{"contains": "Mars"}, {"regex": "("}]})
    assert main([*words, "strict=true", "out=a"]) == 1
    assert "queries.jsonl:2: checks[1]: value: '(' is no pattern: missing )" in capsys.readouterr().err
    assert not Path("a/per_item.jsonl").exists()


# --- ranking measures ---------------------------------------------------------------------------------


def test_ranking_measures_are_chosen_by_name(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    chosen = "metric=[ndcg,rbp,err,r_precision,bpref,judged,success]"
    assert main(["+experiment=retrieval_only", *data, chosen, "k=2", "metric.rbp.p=0.5", "format=both", "out=a"]) == 0
    metrics = read("a/summary.json")["metrics"]
    assert {"rbp", "err_at_k", "err_at_3", "r_precision", "bpref", "judged_at_k", "success_at_1", "ndcg_at_k"} <= {
        *metrics
    }
    assert "recall_at_k" not in metrics and metrics["rbp"]["n"] == 6
    shown = capsys.readouterr().out
    assert re.search(r"RBP:\s+0\.", shown) and re.search(r"ERR@2:\s+", shown)
    assert "| bpref | " in text("a") and "nDCG@2" in text("a")


# --- other evaluations, other judges, classes ---------------------------------------------------------


def test_a_memory_is_judged_by_criteria_of_ones_own(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: polite(body) if BY_CRITERIA.search(body["messages"][0]["content"]) else None
    tone = TONE.replace("[question, answer]", "[question, memory]")
    write_texts(tmp_path, {"mine/metric/tone.yaml": tone})
    judge = ["judge=openai", "judge.model=local:small", f"provider.local.base_url={server.url}", "judge.health=false"]
    words = ["+experiment=memory", "--config-dir", "mine", "+metric=[tone]", *judge, "tracking=none", "sample=4"]
    assert main([*words, "format=json", "out=a"]) == 0
    found = read("a/summary.json")["metrics"]
    assert found["tone"]["n_scored"] == 4 and "memory_overall" in found
    assert all('name="memory"' in body["messages"][1]["content"] for body in tones(server))


def test_a_copilot_takes_one_too(server: ModelsServer) -> None:
    judge = ["judge=openai", "judge.model=local:small", f"provider.local.base_url={server.url}", "judge.health=false"]
    words = [
        "+experiment=copilot",
        "+metric=[conciseness]",
        *judge,
        "tracking=none",
        "sample=3",
        "format=json",
        "out=a",
    ]
    assert main(words) == 0
    assert read("a/summary.json")["metrics"]["conciseness"]["n_scored"] == 3


def test_a_trace_is_judged_by_its_steps(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: polite(body) if BY_CRITERIA.search(body["messages"][0]["content"]) else None
    write_texts(tmp_path, {"mine/metric/tone.yaml": TONE.replace("[question, answer]", "[question, trace]")})
    judge = ["judge=openai", "judge.model=local:small", f"provider.local.base_url={server.url}", "judge.health=false"]
    own = ["+experiment=trace_quality", "--config-dir", "mine", "+metric=[tone]", "tracking=none", "sample=3"]
    assert main([*own, *judge, "evaluation.judge_completion=false", "format=json", "out=a"]) == 0
    found = read("a/summary.json")["metrics"]
    assert found["tone"]["n_scored"] == 3 and "score" in found and "task_completion" not in found
    assert len(tones(server)) == server.count == 3
    assert all('name="trace"' in body["messages"][1]["content"] for body in tones(server))


def test_the_members_of_a_panel_that_can_judge_by_criteria(
    words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    models = [f"judge.judges.{name}.model=local:{name}" for name in ("first", "second", "third")]
    panel = [word for word in words if not word.startswith("judge.model")]
    panel = ["judge=panel" if word == "judge=openai" else word for word in panel]
    assert (
        main(
            [
                *panel,
                *models,
                "judge.judges.first.repeats=2",
                "+judge@judge.judges.words=lexical",
                "format=json",
                "out=a",
            ]
        )
        == 0
    )
    summary = read("a/summary.json")
    assert summary["metrics"]["tone"]["value"] == pytest.approx(4 / 6)
    assert summary["judging"]["tone"]["votes"] == 4
    capsys.readouterr()
    deaf = ["+judge@judge.judges.words=lexical", *(f"~judge.judges.{name}" for name in ("first", "second", "third"))]
    assert main([*panel, *deaf, "out=b"]) == 1
    assert "judge.judges: no member takes criteria, as those of tone; expected one like openai" in (
        capsys.readouterr().err
    )


def test_a_metric_is_a_class_with_a_score(
    data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = """\
        from runner.metrics.metric import Metric
        from runner.records import Scores


        class Brevity:
            metrics = (Metric(name="words", better="lower", label={"en": "Words", "ko": "단어 수"}, range=(0, 1000)),)

            def __init__(self, *, most: int = 100) -> None:
                self.most = most

            def score(self, case, output, judgements):
                return Scores({"words": min(self.most, len(output.answer.text.split()))})
    """
    yaml = "# @package metric.words\n_target_: brevity_of_mine.Brevity\nmost: 5\n"
    plain = re.sub("(?m)^        ", "", code)
    write_texts(tmp_path, {"brevity_of_mine.py": plain, "mine/metric/words.yaml": yaml})
    monkeypatch.syspath_prepend(str(tmp_path))
    words = [
        "+experiment=full_rag",
        *data,
        "--config-dir",
        "mine",
        "+metric=[words]",
        "judge.health=false",
        "format=json",
    ]
    assert main([*words, "out=a"]) == 0
    assert 0 < read("a/summary.json")["metrics"]["words"]["value"] <= 5
    assert re.search(r"Words:\s+\d", capsys.readouterr().out)
    assert main([*words, "metric.words.most=many"]) == 1
    assert "metric.words.most: expected a whole number, got 'many'" in capsys.readouterr().err


def test_a_record_keeps_what_was_chosen(judged: list[str], server: ModelsServer) -> None:
    assert main([*with_own(TONE, judged), "format=json", "out=own"]) == 0
    assert main(["freeze", "own", "kept"]) == 0
    with_own(WARM, judged)
    again = [word for word in judged if word.startswith(("judge.model", "provider"))]
    assert main(["reproduce", "kept", *again, "tracking=none", "out=b", "--trust"]) == 0
    assert len(tones(server)) == 0
    assert read("b/summary.json")["metrics"]["tone"] == read("a/summary.json")["metrics"]["tone"]
