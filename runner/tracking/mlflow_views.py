"""What the MLflow UI opens at: the columns that are worth reading, as a view that an experiment keeps, and links to it.

MLflow keeps a view that somebody shares as a tag of the experiment: its name is the key in the address, its value the
state of the page as JSON. Without one, its table of runs has no column of a metric.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from runner.words.wording import Wording

WORKFLOW = "machine_learning"  # for the other one, MLflow opens at an empty page of traces
KEY = "main"
STATE_TAG = f"mlflow.sharedViewState.{KEY}"
NOTE_TAG = "mlflow.note.content"
TABLES_TAG = "mlflow.loggedArtifacts"
PACKED = "deflate;"
STATE_LIMIT = 5000  # characters of a tag of an experiment
PARAMS = 6  # columns of settings at most, the latest ones
AXES, PLOTS = 2, 3  # settings that metrics are plotted against, the latest ones; main metrics that are
NAME_COLUMN, NAME_WIDTH = "attributes.`Run Name`", 230
DATASET, SWEEP = "attributes.`Dataset`", "tags.`sweep_id`"
MODES = ("table", "chart", "artifact")  # of the page of runs: a table, a chart of each metric, tables of theirs
SECTION = {
    "uuid": "main", "name": "Model metrics", "display": True, "isReordered": False, "deleted": False,
    "isGenerated": True,
}  # fmt: skip
RUNS = "tags.evaluation != ''"  # and no summaries of sweeps


def link(experiment_id: str, mode: str = "table", sweep_id: str | None = None) -> str:
    """The part of the address behind the server: runs in the chosen columns, or those of one sweep."""
    query = {"workflowType": WORKFLOW}
    if mode != "table":
        query["compareRunsMode"] = mode.upper()
    if sweep_id is None:
        query["viewStateShareKey"] = KEY
    else:
        query["searchFilter"] = f"tags.sweep_id = '{_quote(sweep_id)}' AND {RUNS}"
    return f"#/experiments/{experiment_id}/runs?{urlencode(query)}"


def links(experiment_id: str, say: Wording, sweep_id: str | None = None) -> str:
    """Markdown: the table, the charts and the answers side by side; plain words first, for lists that show no more."""
    each = (f"[{say(f'tracking.{mode}')}]({link(experiment_id, mode, sweep_id)})" for mode in MODES)
    return f"{say('tracking.runs' if sweep_id is None else 'tracking.sweep')} {' · '.join(each)}"


def state(
    metrics: Iterable[str],
    params: Iterable[str],
    earlier: str | None,
    axes: Iterable[str] = (),
    groups: Iterable[str] = (),
) -> str | None:
    """The state of a page that shows these columns and a chart of each of these metrics, and folds the others.

    Args:
        metrics: the columns, and the charts at the top.
        params: settings as columns, before those of `earlier`.
        earlier: the state that is there.
        axes: settings against which metrics are plotted.
        groups: prefixes of the names of all other metrics (`cutoff` of cutoff/recall_at_10); their charts are folded.

    Returns:
        The packed state; None where it is too long.
    """
    before = _unpack(earlier)
    folded = sorted({*groups, *_folded(before)})
    names = list(dict.fromkeys([*params, *_params(before)]))[:PARAMS]
    plotted = list(dict.fromkeys([*axes, *_plotted(before)]))[:AXES]
    metrics = list(metrics)
    columns = [f"params.`{name}`" for name in names] + [f"metrics.`{name}`" for name in metrics] + [DATASET, SWEEP]
    page = {
        "selectedColumns": columns,
        "columnOrder": [NAME_COLUMN, *columns],
        "columnWidths": {NAME_COLUMN: NAME_WIDTH},
        "compareRunCharts": [
            *(_plot(axis, name) for axis in plotted for name in metrics[:PLOTS]),
            *(_chart(name) for name in metrics),
        ],
        "compareRunSections": [SECTION, *map(_folded_section, folded)],
        "isAccordionReordered": True,  # or MLflow sorts sections by name, ours last
        "searchFilter": RUNS,
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
    }
    packed = PACKED + base64.b64encode(zlib.compress(json.dumps(page, ensure_ascii=False).encode())).decode()
    return packed if len(packed) <= STATE_LIMIT else None


def _chart(metric: str) -> Mapping[str, object]:
    """A chart as MLflow makes it by default; it draws a line where a metric has steps."""
    return {
        "uuid": metric, "type": "BAR", "metricKey": metric, "displayName": metric, "runsCountToCompare": 10,
        "metricSectionId": SECTION["uuid"], "deleted": False, "isGenerated": True,
    }  # fmt: skip


def group_of(metric: str) -> str:
    """The section in which MLflow charts a metric: what stands before the last slash of its name; empty for ours."""
    return metric.rpartition("/")[0]


def _folded_section(name: str) -> Mapping[str, object]:
    return {"uuid": name, "name": name, "display": False, "isReordered": False, "deleted": False, "isGenerated": True}


def _plot(axis: str, metric: str) -> Mapping[str, object]:
    """A point a run: its metric against one of its settings."""
    return {
        "uuid": f"{axis} {metric}", "type": "SCATTER", "runsCountToCompare": 10, "metricSectionId": SECTION["uuid"],
        "deleted": False, "isGenerated": False, "xaxis": {"key": axis, "type": "PARAM"},
        "yaxis": {"key": metric, "type": "METRIC"},
    }  # fmt: skip


def tables_tag(names: Iterable[str]) -> Mapping[str, str]:
    """The tag by which MLflow finds its tables among the files of a run; the first one is shown first."""
    tables = [{"path": f"{name}.json", "type": "table"} for name in names]
    return {TABLES_TAG: json.dumps(tables)} if tables else {}


def _unpack(packed: str | None) -> Any:
    """The state of a page; None of what is none."""
    if packed is None or not packed.startswith(PACKED):
        return None
    try:
        return json.loads(zlib.decompress(base64.b64decode(packed.removeprefix(PACKED))))
    except (ValueError, zlib.error):
        return None


def _params(page: Any) -> list[str]:
    """The settings among the columns of a state; none of what is no state of ours."""
    try:
        return [name[8:-1] for name in page["selectedColumns"] if name.startswith("params.`")]
    except (TypeError, KeyError, AttributeError):
        return []


def _folded(page: Any) -> list[str]:
    """The folded sections of a state of ours."""
    try:
        return [section["name"] for section in page["compareRunSections"] if section["uuid"] != SECTION["uuid"]]
    except (TypeError, KeyError):
        return []


def _plotted(page: Any) -> list[str]:
    """The settings against which a state of ours shows metrics."""
    try:
        return [chart["xaxis"]["key"] for chart in page["compareRunCharts"] if chart["type"] == "SCATTER"]
    except (TypeError, KeyError):
        return []


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
