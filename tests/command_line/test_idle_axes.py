"""A sweep over what its evaluation does not use is refused before anything runs."""

from pathlib import Path

import pytest

from runner.cli import main


@pytest.mark.parametrize("axis", ["profile=finance,code", "tracking=none,mlflow", "regression=default,strict"])
def test_an_axis_that_changes_nothing_is_refused(
    axis: str, data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    key = axis.partition("=")[0]
    words = [word for word in data if not word.startswith(f"{key}=")]
    assert main(["+experiment=full_rag", *words, axis, "out=o"]) == 1
    assert capsys.readouterr().err == (
        "error: 1 problem in the configuration:\n"
        f"  {key}: full_rag does not use it, so its values change nothing; sweep one of "
        "dataset, generator, judge, metric, retriever, system, tokenizer, or an option\n"
    )
    assert not Path("o").exists()


def test_what_the_evaluation_uses_or_one_value_is_no_such_axis(data: list[str]) -> None:
    assert main(["+experiment=full_rag", *data, "profile=finance", "k=1,2", "dry_run=true"]) == 0
    assert main(["+experiment=trace_quality", "profile=finance,code", "tracking=none", "dry_run=true"]) == 0
    assert main(["+experiment=memory", "profile=finance,code", "tracking=none", "dry_run=true"]) == 0
