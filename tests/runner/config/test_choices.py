"""Groups within groups are chosen like any other, and settings are told from choices."""

from pathlib import Path

import pytest

from runner.config import arguments
from runner.config.choices import of_all_jobs
from runner.config.compose import Plan, plan_of, unused_settings
from runner.config.options import plain_value
from runner.errors import ConfigError, Problem

FILES = {
    "evaluation/reading": "defaults: [{/notebook@_global_.notebook: lined}, _self_]\n"
    "_target_: tests.nested_choices.Reading\nnotebook: ${notebook}",
    "notebook/lined": "defaults: [{shelf: oak}, _self_]\n_target_: tests.nested_choices.Lined",
    "notebook/blank": "defaults: [{shelf: oak}, _self_]\n_target_: tests.nested_choices.Lined\npages: 99",
    "notebook/shelf/oak": "_target_: tests.nested_choices.Wooden\nboards: 5",
    "notebook/shelf/pine": "_target_: tests.nested_choices.Wooden\nboards: 3",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return tmp_path


def plan(folder: Path, *words: str) -> Plan:
    return plan_of(arguments.read(["--config-dir", str(folder), *words]))


def boards(plan: Plan) -> list[int]:
    return [plain_value(cell.cfg, "notebook")["shelf"]["boards"] for cell in plan.cells]


def problems(folder: Path, *words: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        plan(folder, *words)
    return list(map(str, caught.value.problems))


def test_the_default_of_the_outer_choice_holds(folder: Path) -> None:
    assert boards(plan(folder, "evaluation=reading")) == [5]


def test_it_is_chosen_and_set_whatever_the_outer_choice(folder: Path) -> None:
    sweep = plan(folder, "evaluation=reading", "notebook=lined,blank", "notebook/shelf=pine")
    assert boards(sweep) == [3, 3]
    assert [plain_value(cell.cfg, "notebook").get("pages") for cell in sweep.cells] == [None, 99]
    assert unused_settings(sweep.cells) == []
    assert boards(plan(folder, "evaluation=reading", "notebook/shelf=pine", "notebook.shelf.boards=7")) == [7]


def test_it_is_swept(folder: Path) -> None:
    sweep = plan(folder, "evaluation=reading", "notebook/shelf=oak,pine", "notebook=lined,blank")
    assert boards(sweep) == [5, 5, 3, 3]
    assert len({cell.fingerprint for cell in sweep.cells}) == 4
    assert [cell.swept for cell in sweep.cells][1] == ["notebook/shelf=oak", "notebook=blank"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("notebook/shelf=pien", "notebook/shelf: no choice 'pien'; did you mean 'pine'?"),
        ("notebook/shelf=steel,glass", "notebook/shelf: no choice 'steel'; known: oak, pine"),
        ("notebook.shelf=pine", "notebook.shelf: a setting of this name is no choice; notebook/shelf=pine chooses it"),
        ("notebook.shelf=pien", "notebook.shelf: no choice 'pien'; did you mean 'pine'?"),
        ("notebook.shelf=3", "notebook.shelf: expected a component; notebook/shelf=NAME chooses one; known: oak, pine"),
        ("notebook/shelf.boards=7", "notebook/shelf.boards: a setting goes by dots: notebook.shelf.boards=VALUE"),
        ("notebook/pages=7", "notebook/pages: a setting goes by dots: notebook.pages=VALUE"),
        ("notebook.shelf.board=7", "notebook.shelf.board: unknown setting; did you mean 'boards'?"),
    ],
)
def test_a_problem(folder: Path, word: str, message: str) -> None:
    assert message in problems(folder, "evaluation=reading", word)


def test_an_evaluation_without_the_outer_group(folder: Path) -> None:
    assert problems(folder, "notebook/shelf=pine") == [
        "notebook/shelf: retrieval_only has no notebook/shelf; it uses dataset, tokenizer, embedder, store, retriever"
    ]


def test_a_setting_that_only_some_of_the_swept_choices_have_is_told_with_their_names() -> None:
    unknown = Problem("memory.n", "unknown setting; known: window")
    jobs = [
        (["memory=window", "memory.n=0", "k=3"], [unknown]),
        (["memory=retrieved_turns", "memory.n=0", "k=3"], [Problem("memory.n", "expected 1 or more, got 0")]),
        (["memory=none", "memory.n=0", "k=3"], [Problem("memory.n", "unknown setting; known: store")]),
    ]
    assert [str(problem) for problem in of_all_jobs(jobs)] == [
        "memory.n: expected 1 or more, got 0",
        "memory.n: a setting of memory=retrieved_turns, not of memory=none, memory=window; sweep those apart, or write "
        "'defaults: [retrieved_turns]' and 'n: VALUE' into FOLDER/memory/NAME.yaml and sweep --config-dir=FOLDER "
        "memory=none,window,NAME",
    ]
    assert of_all_jobs([jobs[0], (["memory=window", "memory.n=0", "k=5"], [unknown])]) == [unknown]


def test_a_sweep_of_choices_that_do_not_all_have_a_setting() -> None:
    with pytest.raises(ConfigError) as raised:
        plan_of(arguments.read(["+experiment=memory", "memory=window,retrieved_turns", "memory.tokens=word"]))
    assert [str(problem) for problem in raised.value.problems] == [
        "memory.tokens: a setting of memory=retrieved_turns, not of memory=window; sweep those apart, or write "
        "'defaults: [retrieved_turns]' and 'tokens: VALUE' into FOLDER/memory/NAME.yaml and sweep --config-dir=FOLDER "
        "memory=window,NAME"
    ]


def test_an_entry_point_may_name_the_package_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.config.choices import _conf_package

    monkeypatch.syspath_prepend(str(tmp_path))
    for name, place in (("kind_words", "conf/metric/kind.yaml"), ("idle_words", "notes.txt")):
        path = tmp_path / name / place
        path.parent.mkdir(parents=True)
        path.write_text("# Nothing.\n", "utf-8")
        for folder in (path.parent, *path.parent.parents):
            if folder.is_relative_to(tmp_path / name):
                (folder / "__init__.py").write_text("", "utf-8")
    found = [_conf_package(name) for name in ("kind_words.conf", "kind_words", "idle_words", "not_there")]
    assert found == ["kind_words.conf", "kind_words.conf", None, None]


def test_a_metric_is_chosen_by_any_of_its_names() -> None:
    from runner.config.compose import _metric_choices

    choices = ["faithfulness", "recall", "tone"]
    assert _metric_choices("metric=[recall@5,mean_faithfulness,tone]", choices) == "metric=[recall,faithfulness,tone]"
    assert _metric_choices("+metric=recall@10", choices) == "+metric=[recall]"
    assert _metric_choices("metric=[recal]", choices) == "metric=[recal]"  # which its group refuses
