"""From a record to a run of today, and to what is not the same."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest

from runner.cli import main
from runner.commands import reproduce
from runner.errors import ConfigError, DataError, InputError
from tests.record_folders import change, copy_of, read


@pytest.fixture(autouse=True)
def here(small_records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a colleague has: records and data, no runs and no cache."""
    copy_of(small_records / "experiments", tmp_path / "experiments")
    copy_of(small_records / "자료 (1)", tmp_path / "자료 (1)")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outputs() -> Path:
    """The newest folder of runs."""
    return max(Path("outputs").glob("2*"))


def test_a_record_is_identical_and_takes_no_stored_rankings_unless_it_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words, reused in ((["cold_start=false"], False), (["cold_start=false"], True), ([], False)):
        capsys.readouterr()
        assert main(["reproduce", "experiments/한", *words]) == 0
        assert read(outputs() / "summary.json")["timing"]["rankings_reused"] is reused
    shown = capsys.readouterr().out
    assert "experiments/한 다시 실행: 동일\n" in shown
    assert "기록의 모든 수치가 똑같이 재현되었습니다.\n" in shown
    found = read(outputs() / "reproduction.json")
    report, results = outputs() / "reproduction.md", f"python -m runner results {outputs()}"
    assert str(report) in shown and results in shown and shown.count("\n") < 20  # no screen of the run itself
    assert (found["kind"], found["record"], found["outcome"]) == ("runner.reproduction", "experiments/한", "identical")
    assert (found["runs"][0]["cases"], found["runs"][0]["metrics"]) == ([], [])
    assert read(outputs() / "compare.json")["verdict"] in ("within_noise", "inconclusive", "too_few")
    assert (outputs() / "compare.md").read_text(encoding="utf-8").startswith("# ")
    assert "**동일**: 기록의 모든 수치가" in (outputs() / "reproduction.md").read_text(encoding="utf-8")


def test_one_run_of_a_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "experiments/s", "retriever=hybrid"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"retriever=hybrid +identical", out)
    assert read(outputs() / "run.json")["choices"]["retriever"] == "hybrid"


def scored(folder: str, faithfulness: Sequence[float]) -> None:
    """A record in which the first answers were as faithful as that."""
    snapshot = read(f"{folder}/snapshot.json")
    values = snapshot["cases"]["values"]["mean_faithfulness"]
    values[: len(faithfulness)] = faithfulness
    snapshot["metrics"]["mean_faithfulness"]["value"] = fmean(value for value in values if value is not None)
    change(f"{folder}/snapshot.json", **snapshot)


def test_one_other_score_is_within_noise_and_another_environment_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    scored("experiments/한", [0.25])
    recorded = read("experiments/한/environment.json")["distributions"]
    change("experiments/한/environment.json", distributions={**recorded, "numpy": "2.0.1"})
    assert main(["reproduce", "experiments/한"]) == 0
    shown = capsys.readouterr().out
    assert "experiments/한 다시 실행: 잡음 범위\n" in shown
    assert "  메트릭: 충실도 (Faithfulness) 0." in shown
    first = read("experiments/한/snapshot.json")["cases"]["ids"][0]
    assert f"  사례(8개 중 1개): {first}\n" in shown
    assert read(outputs() / "reproduction.json")["runs"][0]["cases"] == [first]
    assert f"환경: 기록과 다른 점: numpy 2.0.1 → {recorded['numpy']}\n" in shown


def test_a_sweep_is_run_as_one_and_eight_other_scores_are_different(capsys: pytest.CaptureFixture[str]) -> None:
    """All eight in one direction: p = 2 / 2^8."""
    scored("experiments/s/0", [0.0] * 8)
    assert main(["reproduce", "experiments/s"]) == 4
    shown = capsys.readouterr().out
    assert "experiments/s, run again: different\n" in shown
    assert "A main metric differs by more than chance.\n" in shown
    assert re.search(r"retriever=keyword +different +1/\d+ +8/8", shown)
    assert re.search(r"retriever=hybrid +identical +0/\d+ +0/8", shown)
    found = read(outputs() / "reproduction.json")
    assert (found["outcome"], found["exit_code"]) == ("different", 4)
    assert [run["outcome"] for run in found["runs"]] == ["different", "identical"]
    assert {"compare.md", "compare.json"} <= set(os.listdir(outputs() / "1"))
    assert not read(outputs() / "0" / "summary.json")["timing"]["rankings_reused"]


@pytest.mark.slow
def test_a_whole_sweep_is_identical(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "experiments/s"]) == 0
    shown = capsys.readouterr().out
    assert "experiments/s, run again: identical\n" in shown
    assert len(re.findall(r"retriever=\w+ +identical +0/\d+ +0/8", shown)) == 2
    found = read(outputs() / "reproduction.json")
    assert (found["outcome"], [run["outcome"] for run in found["runs"]]) == ("identical", ["identical"] * 2)


def test_a_change_on_top_is_compared_with_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "experiments/한", "generator.max_sentences=1", "report.language=en"]) == 0
    assert "Made or measured differently: generator\n" in capsys.readouterr().out


def test_other_documents_are_not_comparable(capsys: pytest.CaptureFixture[str]) -> None:
    corpus = Path("자료 (1)/corpus.jsonl")
    corpus.write_text(corpus.read_text(encoding="utf-8").replace("27 days", "30 nights"), encoding="utf-8")
    assert main(["reproduce", "experiments/s", "retriever=keyword"]) == 5
    shown = capsys.readouterr().out
    assert "experiments/s, run again: not comparable\n" in shown
    assert re.search(r"Made or measured differently: .*documents", shown)


def test_a_dry_run_only_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "experiments/s", "dry_run=true"]) == 0
    assert "full_rag: 8 of 8 cases would run" in capsys.readouterr().out
    assert not Path("outputs").exists()


def test_a_run_that_fails_is_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    Path("자료 (1)/corpus.jsonl").write_text("", encoding="utf-8")
    assert main(["reproduce", "experiments/한"]) == 2
    assert "실행이 끝나지 않아 기록과 비교하지 않았습니다: experiments/한\n" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--help"]) == 0
    assert "cache=refresh requests all of them again" in capsys.readouterr().out


# --- bad input: nothing is run --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["experiments/한글"], "experiments/한글: no such record; did you mean 'experiments/한'?"),
        (["자료 (1)"], "자료 (1): no record: no frozen.yaml in it (python -m runner freeze RUN ./NAME)"),
        (
            ["experiments/s", "retriever=semantic"],
            "experiments/s has no run to compare with retriever=semantic; it has ",
        ),
        (
            ["experiments/한", "--cfg", "job"],
            "reproduce runs a record; to print it: python -m runner -cd experiments/한",
        ),
        (["experiments/한", "--frozn"], "unknown option --frozn"),
    ],
)
def test_wrong_arguments(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        reproduce.main(words)
    assert not Path("outputs").exists()


def test_wrong_overrides_all_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        reproduce.main(["experiments/한", "kk=3", "judge=lexicl"])
    assert [problem.key for problem in caught.value.problems] == ["judge", "kk"]


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("frozen.yaml", InputError, "experiments/한/frozen.yaml: not as it was frozen: damaged, cut off or edited"),
        ("snapshot.json", DataError, "experiments/한/snapshot.json: damaged or cut off"),
        ("environment.json", InputError, "experiments/한/environment.json: damaged or cut off"),
    ],
)
def test_files_that_are_cut_off(name: str, kind: type[Exception], message: str) -> None:
    path = Path("experiments/한") / name
    content = path.read_bytes()
    path.write_bytes(
        content[: content.rindex(b"\n", 0, len(content) - 40) + 1] if name != "snapshot.json" else content[:900]
    )
    with pytest.raises(kind, match=f"^{re.escape(message)}"):
        reproduce.main(["experiments/한"])
    assert not Path("outputs").exists()


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("snapshot.json", InputError, "experiments/한/snapshot.json: no such file; freeze the run again"),
        ("environment.json", InputError, "experiments/한/environment.json: no such file; freeze the run again"),
    ],
)
def test_files_that_are_gone(name: str, kind: type[Exception], message: str) -> None:
    (Path("experiments/한") / name).unlink()
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        reproduce.main(["experiments/한"])


def test_an_older_snapshot() -> None:
    change("experiments/s/1/snapshot.json", schema=0)
    with pytest.raises(DataError, match=r"^experiments/s/1/snapshot\.json: schema 0 is of an older runner"):
        reproduce.main(["experiments/s"])


def test_a_sweep_without_runs() -> None:
    change("experiments/s/sweep.json", cells=[])
    with pytest.raises(
        InputError, match=r"^experiments/s/sweep\.json: damaged: no runs in it; freeze the sweep again$"
    ):
        reproduce.main(["experiments/s"])


def test_a_sweep_of_runs_that_have_no_folder() -> None:
    change("experiments/s/sweep.json", cells=[{"overrides": ["k=1"]}])
    with pytest.raises(
        InputError, match=r"^experiments/s/sweep\.json: damaged: cells\.0\.folder: expected a text, found None"
    ):
        reproduce.main(["experiments/s"])


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([{"folder": "0", "overrides": [3]}], "cells.0.overrides: expected texts, found 3"),
        ([{"folder": "0", "overrides": "k=3"}], "cells.0.overrides: expected a list, found str"),
        ([{"folder": "0"}, {"folder": 10**30}], "cells.1.folder: expected a text, found 1" + "0" * 30),
        (["0"], "cells.0.expected an object, found str"),
        ({"0": {}}, "cells.expected a list, found dict"),
    ],
)
def test_a_sweep_whose_runs_are_not_told_as_they_are_written(
    cells: object, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(Path("experiments/s/sweep.json"), cells=cells)
    for command in (["reproduce"], ["results"], ["compare", "experiments/s/1"]):
        assert main([*command, "experiments/s"]) == 1
        assert f"experiments/s/sweep.json: damaged: {problem.replace('.expected', ': expected')}; the command" in (
            capsys.readouterr().err
        )


def test_numbers_at_another_k_stand_under_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    main(["reproduce", "experiments/s", "retriever=hybrid", "k=7"])
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Precision@\d 0\.\d{4} → Precision@7 0\.\d{4}", out)
    assert not re.search(r"Precision@7 0\.\d{4} → 0", out)
