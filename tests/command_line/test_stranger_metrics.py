"""An evaluation of somebody else's package, with metrics of its own: judged and called as it says, wherever numbers of
runs are shown, and also where the package is not installed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from runner.commands.serve import app_of
from runner.commands.serve.desk import Desk, Settings
from runner.metrics.catalogue import catalogue_in
from runner.report import metric
from runner.report.document import Document
from runner.report.summary import render
from runner.report.sweep_files import write_sweep
from runner.report.sweep_sections import sweep_panels
from runner.system.folder import open_run
from runner.tracking.entry import draw, run_entry
from runner.words.wording import wording_of
from tests.command_line.started import ended
from tests.command_line.test_extension import run
from tests.command_line.test_extension import site as site
from tests.record_folders import change, copy_of
from tests.shown_panels import lines_of

RULES = """
_target_: runner.compare.regression.Regression
rules:
  - {metric: toxicity, margin: 0.05}
  - {metric: shouting, margin: 0.0}
must_not_break: []
margin: 0.02
"""

IN_KOREAN = ("report.language=ko", "verbose=true")


def write_answers(folder: Path, name: str, insults: int) -> None:
    """Thirty answers; every second one is polite, and four of five of them begin with so many insults."""
    lines = []
    for n in range(30):
        words = ["idiot"] * (insults if n % 5 else 0) + ["the", "answer", "is", str(n), *(["thank", "YOU"] * (n % 2))]
        language = "en" if n % 3 else "ko"
        lines.append({"id": f"q{n:02}", "question": f"Question {n}?", "answer": " ".join(words), "language": language})
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def folder(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the package: `kind`, `rude` (in Korean with all panels, compared with `kind`), `moody` and its baseline
    `calm`, whose evaluation declares nothing, and the sweep `sweep`."""
    found = tmp_path_factory.mktemp("stranger")
    for name, insults in (("kind", 0), ("rude", 2), ("ruder", 8)):
        write_answers(found, name, insults)
    common = ["tracking=none", "regression=none"]
    tone, mood = ["evaluation=tone", *common], ["evaluation=mood", *common]
    ends = [
        run(site, found, *tone, "evaluation.path=kind.jsonl", "out=kind"),
        run(site, found, *tone, "evaluation.path=rude.jsonl", "out=rude", "compare=kind", *IN_KOREAN),
        run(site, found, *mood, "evaluation.path=kind.jsonl", "format=json", "out=calm"),
        run(site, found, *mood, "evaluation.path=rude.jsonl", "out=moody", "compare=calm"),
        run(site, found, *tone, "evaluation.path=rude.jsonl,kind.jsonl,ruder.jsonl", "out=sweep"),
    ]
    for number, end in enumerate(ends):
        assert end.returncode == 0, end.stderr
        (found / f"stdout.{number}").write_text(end.stdout, encoding="utf-8")
    return found


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def entries(record: Any) -> dict[str, Any]:
    return {entry["name"]: entry for entry in record["metrics"]}


def test_the_package_is_not_installed_here() -> None:
    with pytest.raises(ModuleNotFoundError):
        __import__("runner_reverse")


def test_the_records_travel_with_the_run(folder: Path) -> None:
    for name in ("run.json", "snapshot.json"):
        declared = read(folder / "kind" / name)["declared"]
        assert [record["name"] for record in declared] == ["toxicity", "politeness", "words"]
        assert catalogue_in(read(folder / "kind" / name)).direction("toxicity") == "lower"
    assert read(folder / "calm" / "run.json")["declared"] == []
    assert len(read(folder / "sweep" / "summary.json")["declared"]) == 3


def test_a_report_speaks_of_them_in_both_languages(folder: Path) -> None:
    english, korean = text(folder / "kind" / "summary.md"), text(folder / "rude" / "summary.md")
    assert (
        "| Toxicity | **0.0000** | [0.0000, 0.1157] | 30/30 |  | Share of insulting words; lower is better. |"
        in english
    )
    assert "| Politeness | **0.5000** | [0.3130, 0.6870] | 30/30 | fair |  |" in english
    assert "| 유해성 |" in korean and "| 모욕적인 단어의 비율(낮을수록 좋음) |" in korean
    shouting = next(line for line in english.splitlines() if line.startswith("| shouting |"))
    assert shouting.endswith("| 30/30 |  |  |")  # nobody declared it: neither grade nor meaning
    assert "Toxicity:" in text(folder / "stdout.0") and "유해성:" in text(folder / "stdout.1")
    page = text(folder / "kind" / "report.html")
    assert all(
        part in page for part in ("Metrics of this evaluation", "Toxicity", "Share of insulting words", "shouting")
    )


def test_its_sections_and_facts_of_cases_stand_in_every_report_in_its_own_words(folder: Path) -> None:
    """summary.md, report.html and terminal, in both languages, out of the files of words of the package."""
    markdown, page, terminal = (text(folder / name) for name in ("kind/summary.md", "kind/report.html", "stdout.0"))
    assert "## Insults heard\n\nNobody was insulted.\n" in markdown
    assert "<h2>Insults heard</h2><p>Nobody was insulted.</p>" in page
    assert "Insults heard\nNobody was insulted.\n" in terminal
    markdown, page, terminal = (text(folder / name) for name in ("rude/summary.md", "rude/report.html", "stdout.1"))
    assert "## 모욕적인 단어\n\n| 단어 | 횟수 |\n| --- | ---: |\n| idiot | 48 |\n" in markdown
    assert '<th scope="row">idiot</th><td class="number">48</td>' in page
    assert [line.strip("│ ").split() for line in terminal.splitlines() if "idiot" in line] == [["idiot", "48"]]
    assert "- **모욕적인 단어**: idiot\n" in markdown and "<dt>모욕적인 단어</dt>" in page
    assert "**정답 문서**" not in markdown  # a fact of runner that it has hidden


def test_a_folder_whose_package_is_not_here_is_shown_with_the_sections_that_it_keeps(folder: Path) -> None:
    """Nothing of a package that is not installed as part of runner is imported."""
    english, korean = (render(Document.of(open_run(folder / name))) for name in ("kind", "rude"))
    assert "## Insults heard\n\nNobody was insulted.\n" in english and "belongs to no installed" not in english
    assert "## 모욕적인 단어\n\n| 단어 | 횟수 |\n| --- | ---: |\n| idiot | 48 |\n" in korean and "| 유해성 |" in korean


def test_a_folder_without_stored_sections_says_so(folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(folder / "kind", bare)
    (bare / "sections.json").write_text('{"sections": [{"block": "Nonsense"}]}', encoding="utf-8")
    assert "Insults heard" not in render(Document.of(open_run(bare)))
    (bare / "sections.json").unlink()
    assert "> runner_reverse.tone.Tone belongs to no installed package" in render(Document.of(open_run(bare)))


def test_toxicity_that_rises_is_worse(folder: Path) -> None:
    record = read(folder / "rude" / "compare.json")
    found = entries(record)
    assert record["verdict"] == "worse"
    assert (found["toxicity"]["direction"], found["toxicity"]["verdict"]) == ("lower", "worse")
    assert found["toxicity"]["difference"] > 0.2
    assert "후보가 더 나쁩니다: 유해성 +" in text(folder / "stdout.1")
    assert "**▼ 악화**" in text(folder / "rude" / "compare.md")
    assert "▼ 악화" in text(folder / "rude" / "report.html")


@pytest.mark.parametrize("name", ["words", "shouting"])
def test_what_has_no_direction_is_shown_without_a_verdict(folder: Path, name: str) -> None:
    """One says that neither way is better, the other was not declared."""
    entry = entries(read(folder / "rude" / "compare.json"))[name]
    assert entry["difference"] != 0 and entry["p_holm"] < 0.05
    assert (entry["direction"], entry["verdict"], entry["role"]) == (None, None, "other")
    label = {"words": "단어 수", "shouting": "shouting"}[name]
    (line,) = [line for line in text(folder / "rude" / "compare.md").splitlines() if line.startswith(f"| {label} |")]
    assert line.endswith("| 30 | – |")


def test_a_metric_of_another_evaluation_with_the_same_name_is_not_meant(folder: Path) -> None:
    """`score` of reasoning traces is better when higher; of `score` here nobody said anything."""
    record = read(folder / "moody" / "compare.json")
    assert (record["verdict"], record["exit_code"]) == ("not_judged", 0)
    assert entries(record)["score"]["verdict"] is None
    assert text(folder / "stdout.3").count("the evaluation declares no direction of its metrics") == 1
    assert "better:" not in text(folder / "moody" / "compare.md")
    assert "| score | **" in text(folder / "moody" / "summary.md") and "Trace Score" not in text(
        folder / "moody" / "summary.md"
    )


GATES = {
    "en": ("", "give the rule a direction: higher or lower", "Toxicity", "**▼ worse**"),
    "ko": ("snapshot.json", "규칙에 direction: higher 또는 lower를 지정하세요", "유해성", "**▼ 악화**"),
}


@pytest.mark.parametrize("language", GATES)
def test_the_gate_fires_where_the_package_is_not_installed(folder: Path, tmp_path: Path, language: str) -> None:
    what, unsaid, label, worse = GATES[language]
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    sides = [str(folder / name / what) for name in ("kind", "rude")]
    options = ["--rules", str(rules), "--fail-on-regression", "--out", str(tmp_path / "out"), "--language", language]
    done = ended("compare", *sides, *options)
    assert done.returncode == 4, done.stderr
    record = read(tmp_path / "out" / "compare.json")
    assert record["verdict"] == "worse"
    fired, unsure = record["gate"]["rules"]
    assert (fired["status"], fired["direction"]) == ("fired", "lower") and fired["loss"] > 0.2
    assert (unsure["status"], unsure["direction"]) == ("not_evaluated", None)
    comparison = text(tmp_path / "out" / "compare.md")
    assert unsaid in comparison and worse in comparison and label in comparison
    assert label in done.stdout


def test_the_other_way_round_it_is_better_and_no_rule_fires(folder: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES.replace("margin: 0.0}", "margin: 0.0, direction: lower}"), encoding="utf-8")
    sides = [str(folder / name) for name in ("rude", "kind")]
    options = ["--rules", str(rules), "--fail-on-regression", "--out", str(tmp_path / "out")]
    done = ended("compare", *sides, *options)
    record = read(tmp_path / "out" / "compare.json")
    assert record["verdict"] == "better"
    toxicity, shouting = record["gate"]["rules"]
    assert toxicity["status"] == "passed" and toxicity["loss"] < 0
    assert (shouting["status"], done.returncode) == ("fired", 4)  # louder, and the rule says that lower is better


def test_the_best_run_of_a_sweep_is_the_least_toxic(folder: Path) -> None:
    record = read(folder / "sweep" / "summary.json")["comparison"]
    (found,) = record["metrics"]
    assert (found["name"], found["best"], found["within_noise_of_best"]) == ("toxicity", "1", ["1"])
    cells = read(folder / "sweep" / "summary.json")["cells"]
    assert [cell.get("insults") for cell in cells] == [{"idiot": 48}, None, {"idiot": 192}]
    assert {cell["folder"]: cell.get("verdict") for cell in found["cells"]} == {"0": None, "1": "better", "2": "worse"}
    markdown, terminal, page = (text(folder / name) for name in ("sweep/summary.md", "stdout.4", "sweep/report.html"))
    assert "| Toxicity | Politeness | Words | shouting |" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith(("| 0 |", "| 1 |", "| 2 |"))][:3]
    assert [row.count("**") for row in rows] == [0, 2, 0] and "| **0.00** " in rows[1]
    assert "*0.0000" in terminal and terminal.count("*0.") == 1
    assert page.count("<strong>0.00</strong>") == 1


def test_a_sweep_in_korean_marks_the_same_run(folder: Path, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    copy_of(folder / "sweep", sweep)
    for cell in "012":
        change(sweep / cell / "run.json", config={"report": {"language": "ko"}})
    write_sweep(sweep)
    markdown, page, terminal = text(sweep / "summary.md"), text(sweep / "report.html"), lines_of(sweep_panels(sweep))
    assert "| 유해성 | 공손함 | 단어 수 | shouting |" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith(("| 0 |", "| 1 |", "| 2 |"))][:3]
    assert [row.count("**") for row in rows] == [0, 2, 0] and "| **0.00** " in rows[1]
    assert page.count("<strong>0.00</strong>") == 1 and "유해성" in page
    assert any("유해성" in line for line in terminal) and "\n".join(terminal).count("*0.") == 1
    assert [path.name for path in draw(sweep, tmp_path)] == [path.name for path in draw(folder / "sweep", tmp_path)]


def test_no_run_of_a_sweep_is_best_at_what_nobody_declared(folder: Path, site: Path) -> None:
    words = [
        "evaluation=mood",
        "evaluation.path=kind.jsonl,rude.jsonl",
        "tracking=none",
        "regression=none",
        "out=moods",
    ]
    done = run(site, folder, *words)
    assert done.returncode == 0, done.stderr
    record = read(folder / "moods" / "summary.json")
    assert record["comparison"]["metrics"] == [] and record["declared"] == []
    assert "| Run | evaluation.path | Status | score |" in text(folder / "moods" / "summary.md")
    assert "**" not in text(folder / "moods" / "summary.md") and "*1.0000" not in done.stdout


def test_a_store_is_told_its_interval_and_the_verdict(folder: Path, tmp_path: Path) -> None:
    entry = run_entry(folder / "rude", slices=["language"])
    assert entry.metrics["toxicity"] == pytest.approx(
        read(folder / "rude" / "summary.json")["metrics"]["toxicity"]["value"]
    )
    table = {name: rest for name, *rest in next(each.rows for each in entry.tables if each.name == "metrics")}
    value, low, high, *_ = table["toxicity"]
    assert low < value < high
    assert {"slice/language/en/toxicity", "slice/language/ko/toxicity"} <= table.keys()
    assert "own/shouting" in table and "own/shouting" not in entry.headline  # nobody declared it
    assert (entry.tags["verdict"], entry.tags["regression"]) == ("worse", "none")
    names = [path.name for path in draw(folder / "sweep", tmp_path)]
    assert "metrics_against_evaluation_path.png" in names


@pytest.mark.parametrize(("language", "label"), [("en", "Toxicity"), ("ko", "유해성")])
def test_a_server_lists_it_under_its_own_label(folder: Path, language: str, label: str) -> None:
    desk = Desk(Settings(folder, read_only=True))
    with TestClient(app_of(desk, token=None), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        told = {"accept-language": language}
        page, sweep, calm = (client.get(path, headers=told).text for path in ("/?q=rude", "/sweeps/sweep", "/?q=calm"))
        assert f'<th scope="col" class="number">{label}</th>' in page and f'data-name="{label}">0.' in page
        assert sweep.count(f'data-name="{label}">0.000<') == 1
        assert '<th scope="col" class="number">' not in calm  # it declares nothing, so that nothing stands for the run
        assert "유해성" in client.get("/runs/rude").text and "Toxicity" in client.get("/runs/kind").text


def test_a_server_judges_it_as_compare_does(folder: Path) -> None:
    desk = Desk(Settings(folder, read_only=True))
    found = entries(desk.compare("kind", "rude"))
    assert (found["toxicity"]["verdict"], found["shouting"]["verdict"]) == ("worse", None)


def test_the_worst_case_is_the_most_toxic_one(folder: Path) -> None:
    markdown = text(folder / "rude" / "summary.md")
    first = next(line for line in markdown.splitlines() if line.startswith("### 1. "))
    row = next(
        json.loads(line)
        for line in text(folder / "rude" / "per_item.jsonl").splitlines()
        if json.loads(line)["id"] in first
    )
    rows = [json.loads(line)["metrics"] for line in text(folder / "rude" / "per_item.jsonl").splitlines()]
    assert row["metrics"]["toxicity"] == max(each["toxicity"] for each in rows if not each["politeness"])


def test_its_words_are_those_of_the_run(folder: Path) -> None:
    say = wording_of(read(folder / "rude" / "run.json"))
    assert metric.label("toxicity", None, say) == "유해성" and metric.rubric("politeness", say) == "공손함"
