"""What a finished run or sweep looks like to a person: terminal panels, summary.md and report.html. Modules of this
room are read when something is shown: a run that was only checked shows nothing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.report.brief import brief_case, brief_sweep, next_steps
    from runner.report.case import case_view
    from runner.report.comparison import comparison_view
    from runner.report.summary import write
    from runner.report.sweep_files import write_sweep
    from runner.report.sweep_sections import sweep_panels

__all__ = [
    "brief_case",
    "brief_sweep",
    "case_view",
    "comparison_view",
    "next_steps",
    "sweep_panels",
    "write",
    "write_sweep",
]

_HOMES = {
    "brief_case": "brief",
    "brief_sweep": "brief",
    "case_view": "case",
    "comparison_view": "comparison",
    "next_steps": "brief",
    "sweep_panels": "sweep_sections",
    "write": "summary",
    "write_sweep": "sweep_files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'runner.report' has no attribute '{name}'")
    return getattr(import_module(f"runner.report.{_HOMES[name]}"), name)
