from pathlib import Path
from typing import Any

from runner.report.sweep import read_sweep
from runner.report.sweep_files import write_sweep
from runner.report.sweep_sections import of_evaluations
from tests.run_folders import write_sweep_folder
from tests.trace_runs import TRACE, swept

ORDERS = (
    "## Effect of the weights\n\n"
    "| Profile | default | code | medical |\n"
    "| --- | ---: | ---: | ---: |\n"
    "| default | 1.000 | 0.750 | 0.500 |\n"
    "| code | 0.750 | 1.000 | 0.250 |\n"
    "| medical | 0.500 | 0.250 | 1.000 |\n\n"
)


def test_domains_of_all_runs_and_what_the_weights_change(tmp_path: Path) -> None:
    less = {**TRACE, "domains": {"code": TRACE["domains"]["code"]}}
    folder = swept(tmp_path / "s", ("code", "medical"), TRACE, less)
    write_sweep(folder)
    text = (folder / "summary.md").read_text(encoding="utf-8")
    assert (
        "## Scores by domain and run\n\n"
        "| Run | code | 의료 |\n"
        "| --- | ---: | ---: |\n"
        "| profile=code | 0.5000 [0.2000, 0.9000] | 0.6250 [0.1000, 0.7500] |\n"
        "| profile=medical | 0.5000 [0.2000, 0.9000] | – |\n\n"
        "Scores by domain (mean, 10th to 90th percentile).\n\n" + ORDERS
    ) in text
    assert text.count("The orders of code and medical agree least (tau 0.250).") == 1


def test_runs_over_other_traces_have_orders_of_their_own(tmp_path: Path) -> None:
    other: dict[str, Any] = {**TRACE, "sensitivity": {"profiles": ["default", "code"], "tau": [[1.0, 0.5], [0.5, 1.0]]}}
    sweep = read_sweep(swept(tmp_path / "s", ("code", "medical"), TRACE, other))
    (section,) = of_evaluations(sweep)
    assert section.title == "Scores by domain and run"


def test_a_sweep_of_something_else(tmp_path: Path) -> None:
    assert not list(of_evaluations(read_sweep(write_sweep_folder(tmp_path / "s"))))
