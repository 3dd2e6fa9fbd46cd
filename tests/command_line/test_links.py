"""Suggested links, from the command line."""

import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.links import FOLDER
from runner.cli import main
from runner.config.compose import compose_cells
from runner.run.planning import plan_cells
from tests.command_line.result_files import summary
from tests.services.models_server import ModelsServer

pytestmark = pytest.mark.usefixtures("stored")
RUN = ["+experiment=links", "tracking=none"]
FOAM = Path(__file__).resolve().parents[3] / "shared" / "data" / "foam_vault_en" / "vault.zip"


def value(out: str, metric: str) -> float:
    found: float = summary(out)["metrics"][metric]["value"]
    return found


def rows(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(out, "per_item.jsonl").read_text(encoding="utf-8").splitlines()]


def written(name: str, lines: Sequence[Any]) -> str:
    Path(name).write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return name


def test_all_suggesters_in_one_sweep_without_any_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "suggester=lexical,semantic,hybrid", "verbose=true", "out=s"]) == 0
    names = [set(summary(f"s/{number}")["metrics"]) for number in range(3)]
    legs = [{name.split("/")[0] for name in found if "/" in name} for found in names]
    assert legs == [set(), {"no_graph"}, {"lexical", "text", "no_graph"}]
    found = summary("s/2")
    assert found["k"] == 5 and {"recall_at_5", "precision_at_k", "mrr", "link_novelty", "link_reason"} <= names[2]
    assert set(found["slices"]["language"]) == {"en", "ko"}
    assert found["facts"]["vault"]["notes"] == len(list(FOLDER.rglob("*.md")))
    assert found["facts"]["judge_health"]["link_reason"]["failed_controls"] == []
    assert "Quality of reasons" in capsys.readouterr().out


def test_without_graph_there_is_no_graph_anywhere() -> None:
    assert main([*RUN, "format=json", "suggester.graph=true,false", "out=g"]) == 0
    with_graph, without = summary("g/0"), summary("g/1")
    assert "no_graph/recall_at_5" in with_graph["metrics"]
    assert not [name for name in without["metrics"] if name.startswith("no_graph")]
    assert without["metrics"]["recall_at_5"]["value"] != with_graph["metrics"]["recall_at_5"]["value"]
    assert not any("link to" in hit.get("reason", "") for row in rows("g/1") for hit in row["output"]["retrieved"])


def test_what_is_cut_off_at_another_topk_is_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "evaluation.topk=1,3", "evaluation.judge_reason=false", "verbose=true", "out=t"]) == 0
    told = capsys.readouterr().out
    assert "Not compared: Recall@k, nDCG@k, MRR, because k differs between the runs" in told
    assert "Compared with evaluation.topk=1" not in told
    snapshots = [json.loads(Path(f"t/{number}/snapshot.json").read_text("utf-8")) for number in range(2)]
    assert [snapshot["run"]["k"] for snapshot in snapshots] == [1, 3]


def test_a_run_tells_the_same_twice() -> None:
    for out in ("a", "b"):
        assert main([*RUN, "format=json", "deterministic=true", f"out={out}"]) == 0
    assert {**summary("a"), "timing": None} == {**summary("b"), "timing": None}


def test_what_the_command_writes_is_what_the_experiment_hides_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["links-dataset", str(FOLDER), "made.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("made.jsonl: 12 places in 8 of 24 notes, 13 links")
    assert main([*RUN, "format=json", "out=own"]) == 0
    assert main([*RUN, "format=json", "dataset.links=made.jsonl", "out=made"]) == 0
    assert summary("own")["metrics"] == summary("made")["metrics"]
    assert [row["output"] for row in rows("own")] == [row["output"] for row in rows("made")]


def test_k_is_the_number_of_suggestions_and_confidence_a_threshold() -> None:
    assert main([*RUN, "format=json", "k=2", "evaluation.context_chars=80", "out=two"]) == 0
    assert summary("two")["k"] == 2
    found = [[hit["id"] in row["output"]["expected"] for hit in row["output"]["retrieved"][:2]] for row in rows("two")]
    assert value("two", "precision_at_k") == pytest.approx(sum(map(sum, found)) / 2 / len(found))
    assert all(len(row["output"]["context"]) <= max(80, len(row["output"]["query"]) + 40) for row in rows("two"))
    assert main([*RUN, "format=json", "evaluation.min_confidence=1.0", "out=none"]) == 0
    assert value("none", "recall_at_5") == 0 and summary("none")["metrics"]["link_reason"]["n"] == 0


def test_decisions_of_people_are_told_over_time_and_by_team(capsys: pytest.CaptureFixture[str]) -> None:
    event = {"source_note": "ko/검색", "target": "임베딩", "language": "ko", "team": "문서", "tags": ["검색"]}
    events = [
        {**event, "time": f"2026-03-0{day}T10:00:00Z", "action": action}
        for day, action in ((1, "accept"), (1, "reject"), (2, "accept"), (3, "accept"))
    ]
    words = [f"dataset.events={written('events.jsonl', events)}", "report.language=ko", "out=e"]
    assert main([*RUN, *words]) == 0
    found = summary("e")["links"]["acceptance"]
    assert {day: rate["rate"] for day, rate in found["time"].items()} == {
        "2026-03-01": 0.5,
        "2026-03-02": 1.0,
        "2026-03-03": 1.0,
    }
    assert found["team"]["문서"]["accepted"] == 3
    line = "제안 4건 가운데 3건이 수락되었습니다(75.0%, 95 % 구간 30.1%~95.4%)."
    assert "제안 4건 가운데 3건" in capsys.readouterr().out
    for name in ("summary.md", "report.html"):
        text = Path("e", name).read_text(encoding="utf-8")
        assert "링크 제안" in text and line.replace("~", "\\~" if name == "summary.md" else "~")[:30] in text


def test_a_broken_file_is_told_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    good = {"id": "l1", "source_note": "en/search", "anchor": "Search", "expected_links": ["embeddings"]}
    path = written("links.jsonl", [good, {**good, "id": "l2", "source_note": "nowhere"}])
    assert main([*RUN, f"dataset.links={path}", "strict=true", "out=x"]) == 1
    assert "links.jsonl:2: source_note: no note 'nowhere'" in capsys.readouterr().err
    assert main([*RUN, "format=json", f"dataset.links={path}", "out=y"]) == 0
    assert summary("y")["cases"]["total"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dataset.notes=nowhere"], "dataset.notes: folder not found: nowhere"),
        (["dataset.remove_ratio=0"], "dataset.remove_ratio"),
        (["suggester=lexcal"], "did you mean 'lexical'"),
        (
            ["dataset=demo"],
            "expected LinkPlaces, with the methods read; plugins.dataset.demo.DemoDataset has no read; expected "
            "dataset=links\n",
        ),
    ],
)
def test_wrong_words_are_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, *words, "out=x"]) == 1 or "folder" in message
    assert message in capsys.readouterr().err


def test_models_are_planned_and_asked_as_planned(server: ModelsServer) -> None:
    model = ["embedder=openai", "embedder.model=local:small", "judge=openai", "judge.model=local:judge"]
    words = [*RUN, *model, f"provider.local.base_url={server.url}", "judge.health=false", "format=json", "out=m"]
    _, cells = compose_cells(words)
    found = plan_cells(cells)
    assert server.count == 0
    assert main(words) == 0
    assert found.total.live == server.count
    assert summary("m")["metrics"]["link_reason"]["n"] == summary("m")["cases"]["ok"]
    prompts = [request["messages"][0]["content"] for request in server.requests if "messages" in request]
    assert any("제안 이유" in prompt for prompt in prompts) and any("suggested link" in prompt for prompt in prompts)


@pytest.mark.skipif(not FOAM.exists(), reason="needs the vault")
def test_on_a_real_vault_hybrid_is_clearly_above_names_alone_and_links_help(tmp_path: Path) -> None:
    zipfile.ZipFile(FOAM).extractall(tmp_path / "vault")
    assert main([*RUN, f"dataset.notes={tmp_path / 'vault'}", "evaluation.judge_reason=false", "out=f"]) == 0
    assert value("f", "recall_at_5") > value("f", "lexical/recall_at_5") + 0.2
    assert value("f", "mrr") > value("f", "lexical/mrr") + 0.15
    assert value("f", "recall_at_5") > value("f", "no_graph/recall_at_5")


@pytest.mark.parametrize(("language", "foreign"), [("en", ("question", "answer")), ("ko", ("질문", "답변", "정답"))])
def test_reports_speak_of_places_and_reasons(
    language: str, foreign: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = [*RUN, f"report.language={language}"]
    assert main([*said, "out=a"]) == 0
    assert main([*said, "suggester=lexical", "compare=a", "out=b"]) == 0
    assert main(["compare", "a", "b", "--out=c"]) == 0
    files = [Path(name).read_text("utf-8") for name in ("b/summary.md", "b/compare.md", "c/compare.md")]
    lines = [line for text in [*files, capsys.readouterr().out] for line in text.splitlines()]
    told = [
        re.sub(r"\S+\.md", "", line.lower()) for line in lines if not line.startswith(("- **", "###"))
    ]  # the notes'
    assert [line for line in told if any(word in line for word in foreign)] == []
    changed = {"en": "Places whose outcome changed", "ko": "결과가 뒤집힌 자리"}[language]
    assert changed in files[1] and changed in files[2] and changed in Path("c/report.html").read_text("utf-8")
    page = Path("b/report.html").read_text("utf-8")
    assert {"en": "Where places fail", "ko": "자리가 실패한 단계"}[language] in page
    assert "failing questions" not in page.lower() and "실패한 질문" not in page
