"""The README of a record."""

from runner.cli import main
from runner.commands import freeze
from tests.record_folders import change, read
from tests.runner.commands.freeze.record_files import files


def test_the_readme_in_korean() -> None:
    text = files("experiments/한")["README.md"]
    assert text.startswith("# 한\n\n## 무엇을 물었나\n\n두 개면 충분한가? &lt;b&gt;\\|\n")
    assert "python -m runner +experiment=full_rag k=2 dataset=jsonl 'dataset.corpus=자료 (1)/corpus.jsonl' " in text
    assert "tracking=none retriever=keyword report.language=ko\n" in text
    value = read("run/summary.json")["metrics"]["recall_at_k"]
    shown = f"{value['value']:.3f} [{value['ci_low']:.3f}, {value['ci_high']:.3f}] ({value['n']})"
    assert f"| Recall@2 | {shown} |" in text
    assert "python -m runner reproduce experiments/한\n" in text
    assert "python -m runner -cd experiments/한 -cn frozen k=7 retriever=hybrid\n" in text


def test_the_readme_of_a_sweep_in_english() -> None:
    text = files("experiments/s")["README.md"]
    assert "\n\nHow good are the answers, and is it retrieval or generation that limits them?\n\n" in text
    assert "python -m runner +experiment=full_rag k=2 dataset=jsonl " in text
    assert " tracking=none retriever=keyword,hybrid\n" in text
    assert "| metric | retriever=keyword | retriever=hybrid |\n" in text
    assert "[retriever=hybrid](1/summary.md)." in text
    assert "python -m runner compare experiments/s/0 RUN\n" in text


def test_a_run_of_a_record_names_the_record() -> None:
    assert main(["-cd", "experiments/한", "-cn", "frozen", "k=1", "out=again"]) == 0
    assert freeze.main(["again", "experiments/k1"]) == 0
    command = "python -m runner -cd experiments/한 -cn frozen k=1\n"
    assert command in files("experiments/k1")["README.md"]
    assert command in files("again")["summary.md"]


def test_models_and_their_variables_are_named() -> None:
    change("run/run.json", models={"judge": ["openai:gpt-4o-mini"]})
    freeze.main(["run", "x"])
    assert read("x/environment.json")["variables"] == ["OPENAI_API_KEY"]
    assert "호출하는 모델: openai:gpt-4o-mini." in files("x")["README.md"]
    assert "필요한 환경 변수: OPENAI_API_KEY." in files("x")["README.md"]
