from pathlib import Path

import pytest

from runner.cli import COMMANDS, main
from runner.config.help import CONF, choice_manual, manual
from runner.errors import InputError
from runner.words.wording import wording


def test_a_choice_tells_what_it_is_its_settings_and_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help", "retriever=hybrid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "retriever=hybrid"
    assert lines[1].startswith("  A keyword and a semantic ranking, fused")
    start = lines.index("Settings, with their defaults (retriever.NAME=VALUE)")
    assert lines[start + 1] == "  fusion: convex          # convex | rrf"
    assert lines[-2:] == [
        "  retriever.keyword: python -m runner --help retriever=keyword",
        "  retriever.semantic: python -m runner --help retriever=semantic",
    ]
    assert not any("_target_" in line or "_self_" in line for line in lines)


def test_settings_of_a_provider_stand_under_its_name() -> None:
    assert "Settings, with their defaults (provider.local.NAME=VALUE)" in choice_manual("provider=local").splitlines()


def test_help_may_stand_anywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retriever=keyword", "--help"]) == 0
    told = capsys.readouterr().out
    assert main(["-h", "retriever=keyword"]) == 0
    assert capsys.readouterr().out == told
    assert told == choice_manual("retriever=keyword")


def test_a_group_tells_its_choices() -> None:
    lines = choice_manual("memory/store").splitlines()
    assert lines[0] == "Choices of memory/store"
    assert [line.split()[0] for line in lines[1:]] == sorted(path.stem for path in CONF.glob("memory/store/*.yaml"))


def test_settings_of_an_experiment_are_those_of_the_run() -> None:
    lines = choice_manual("+experiment=full_rag").splitlines()
    assert lines[0] == "+experiment=full_rag"
    assert "  evaluation: python -m runner --help evaluation=full_rag" in lines


def test_parts_from_other_groups_are_named() -> None:
    lines = choice_manual("memory=recursive_summary").splitlines()
    assert "  memory.store: python -m runner --help memory/store=embedded" in lines


def test_choices_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "judge").mkdir()
    (tmp_path / "judge" / "mine.yaml").write_text("# Mine.\n_target_: a.B\nwords: 3  # at most\n", encoding="utf-8")
    assert main(["--config-dir", str(tmp_path), "--help", "judge=mine"]) == 0
    assert capsys.readouterr().out == (
        "judge=mine\n  Mine.\n\nSettings, with their defaults (judge.NAME=VALUE)\n  words: 3  # at most\n"
    )


def test_a_folder_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config-dir", "nowhere", "--help", "judge"]) == 1
    assert capsys.readouterr().err == "error: --config-dir: expected a folder, got 'nowhere'\n"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("retriver=hybrid", "--help: no group 'retriver'; did you mean 'retriever'?"),
        ("retriever=hybird", "--help: retriever has no choice 'hybird'; did you mean 'hybrid'?"),
        ("k=5", "--help: k is an option, not a group; --help alone lists all options"),
        ("kk", "--help: no group 'kk'; known: "),
    ],
)
def test_what_is_no_choice(word: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        choice_manual(word)
    assert str(caught.value).startswith(message)


def test_every_choice_can_be_told() -> None:
    paths = sorted(CONF.glob("*/**/*.yaml"))
    assert len(paths) > 100
    wrong = {}
    for path in paths:
        choice = f"{path.parent.relative_to(CONF).as_posix()}={path.stem}"
        try:
            lines = choice_manual(choice).splitlines()
            named = [line.rpartition(" ")[2] for line in lines if "runner --help " in line]
            assert all(map(choice_manual, named)), named
        except Exception as error:
            wrong[choice] = repr(error)
    assert wrong == {}


def test_a_command_has_its_sentence() -> None:
    say, lines = wording("en", "commands"), manual().splitlines()
    names = [name.replace("_", "-") for name in COMMANDS]
    assert names and all(f"  {name:<14} {say(name)}" in lines for name in names)
