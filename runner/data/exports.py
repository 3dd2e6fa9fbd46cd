"""Reads exports of other programs: promptfoo, ragas, MLflow, LangSmith and Langfuse.

Each form is recognised by the names of its fields; any other file is a table whose columns are given or guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import orjson

from runner.data.columns import NAMES, answer_in, contexts_of, guess, text_of, turns_of
from runner.data.tables import Row, Table
from runner.metrics.checks import KEYS, read_check

Cells = dict[str, Any]  # field of runner.data.columns -> value
Rows = Sequence[tuple[int | None, Row]]


@dataclass(frozen=True, slots=True)
class Export:
    """A recognised export. `rows`: (line, row, cells by field); `sources`: field -> its place in the form; `unused`:
    places that no field takes."""

    name: str
    rows: Sequence[tuple[int | None, Row, Cells]]
    sources: Mapping[str, str]
    unused: Sequence[str] = ()


def recognise(table: Table) -> Export | None:
    """The export in a table; None for an unknown form."""
    for matches, read in FORMS:
        if matches(table) and (export := read(table)).rows:
            return export
    return None


def value_of(value: Any) -> Any:
    """The value of a JSON text that is an object, a list or a text; other texts are unchanged."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _first_row(table: Table) -> Row:
    return table.rows[0][1] if table.rows else {}


def _has(*names: str) -> Callable[[Table], bool]:
    return lambda table: set(names) <= set(_first_row(table))


# --- promptfoo --------------------------------------------------------------------------------------

EXPECTED = "__expected"
SYSTEM = "system"  # key of a cell: (which of several systems answered, the id of the test)
LEFT = "left_checks"  # key of a cell: types of assertions without a check here
LISTS_OF_TEXTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")
PLAIN_VALUES = ("contains-json", "is-json")
WITH_THRESHOLD = (
    *("answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost"),
    *("latency", "levenshtein", "perplexity-score", "perplexity", "rouge-n", "similar", "starts-with"),
)
SHORTHAND = re.compile(
    r"(?P<type>(?:not-)?[a-z]+(?:-[a-z0-9]+)*)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>.*))?", re.S
)
TYPES = frozenset(
    {
        *LISTS_OF_TEXTS,
        *PLAIN_VALUES,
        *WITH_THRESHOLD,
        "bleu",
        "contains",
        "contains-html",
        "contains-sql",
        "contains-xml",
    }
    | {"equals", "factuality", "finish-reason", "g-eval", "gleu", "guardrails", "icontains", "is-html", "is-refusal"}
    | {"is-sql", "is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml"}
    | {"meteor", "moderation", "pi", "regex", "ruby", "trace-error-spans", "trace-span-count", "trace-span-duration"}
    | {"webhook", "word-count", "model-graded-closedqa", "model-graded-factuality", "search-rubric", "select-best"}
)
DEFAULT_THRESHOLD = 0.75
TEMPLATE = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")


def _promptfoo_results(table: Table) -> Rows:
    whole = table.document
    if isinstance(whole, dict):
        results = whole.get("results")
        results = results.get("results") if isinstance(results, dict) else results
        return [(None, row) for row in results or () if isinstance(row, dict)] if isinstance(results, list) else []
    return table.rows


def _is_promptfoo_results(table: Table) -> bool:
    rows = _promptfoo_results(table)
    return bool(rows) and "vars" in rows[0][1] and bool({"testCase", "gradingResult", "response"} & set(rows[0][1]))


def _read_promptfoo_results(table: Table) -> Export:
    rows = _promptfoo_results(table)
    systems = {(_provider(row), row.get("promptIdx")) for _, row in rows}
    results = []
    for line, row in rows:
        case = row["testCase"] if isinstance(row.get("testCase"), dict) else {}
        number = row.get("testIdx")
        cells = _of_vars(row["vars"], "" if number is None else f"test-{number + 1}")
        cells.setdefault("question", (row.get("prompt") or {}).get("raw"))
        response = row.get("response")
        cells["answer"] = response.get("output") if isinstance(response, dict) else response
        cells |= _checks(case.get("assert") or row.get("assert") or [], row["vars"])
        if len(systems) > 1:
            cells[SYSTEM] = f"{_provider(row)}/{row.get('promptIdx', 0)}", str(cells["id"])
            cells["id"] = f"{cells['id']}@{_provider(row)}/{row.get('promptIdx', 0)}"
            cells["tags"] = [f"provider:{_provider(row)}", f"prompt:{row.get('promptIdx', 0)}"]
        results.append((line, row, cells))
    sources = _sources(results, {"answer": "response.output", "checks": "testCase.assert"})
    return Export("promptfoo results", results, sources, list(_unused_results([row for _, row in rows])))


def _unused_results(rows: Sequence[Row]) -> Iterator[str]:
    """The variables that no field takes, and the scores of promptfoo: scores are computed again from the checks."""
    for name in dict.fromkeys(name for row in rows for name in row["vars"]):
        if any(name in row["vars"] and name not in _vars_by_field(row["vars"]).values() for row in rows):
            yield f"vars.{name}"
    yield from (name for name in ("score", "success") if any(row.get(name) is not None for row in rows))
    for name in dict.fromkeys(name for row in rows for name in row.get("namedScores") or ()):
        yield f"namedScores.{name}"


def _provider(row: Row) -> str:
    provider = row.get("provider")
    return str(provider.get("label") or provider.get("id")) if isinstance(provider, dict) else str(provider)


def _is_promptfoo_tests(table: Table) -> bool:
    if isinstance(table.document, dict):
        return isinstance(table.document.get("tests"), list) and bool({"prompts", "providers"} & set(table.document))
    return "vars" in _first_row(table) or ("assert" in _first_row(table) and table.kind in ("yaml", "json"))


def _read_promptfoo_tests(table: Table) -> Export:
    whole = table.document if isinstance(table.document, dict) else {}
    default = whole.get("defaultTest") if isinstance(whole.get("defaultTest"), dict) else {}
    tests = [(None, test) for test in whole["tests"] if isinstance(test, dict)] if whole else table.rows
    rows_read = []
    for number, (line, test) in enumerate(tests, 1):
        values = {**((default or {}).get("vars") or {}), **(test.get("vars") or {})}
        checks = [*((default or {}).get("assert") or []), *(test.get("assert") or [])]
        for variables in _combinations(values):
            cells = _of_vars(variables, f"test-{number}")
            rows_read.append((line, test, {**cells, **_checks(checks, variables)}))
    return Export("promptfoo tests", rows_read, _sources(rows_read, {"checks": "assert"}))


def _combinations(variables: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The combinations of variables: a variable with a list makes one test per value, except for contexts."""
    contexts = guess("contexts", list(variables))
    choices = [value if isinstance(value, list) and name != contexts else [value] for name, value in variables.items()]
    return (dict(zip(variables, values, strict=True)) for values in product(*choices))


def _is_promptfoo_csv(table: Table) -> bool:
    return table.kind in ("csv", "tsv", "xlsx") and any(name.startswith(EXPECTED) for name in table.columns)


def _read_promptfoo_csv(table: Table) -> Export:
    rows_read = []
    for number, (line, row) in enumerate(table.rows, 1):
        cells = _of_vars({name: value for name, value in row.items() if not name.startswith("__")}, f"test-{number}")
        shorthands = [str(value).strip() for name, value in row.items() if name.startswith(EXPECTED) and value]
        checks = [assertion_of(text) for text in shorthands if text]
        if row.get("__providerOutput"):
            cells["answer"] = row["__providerOutput"]
        rows_read.append((line, row, {**cells, **_checks(checks, row)}))
    return Export("promptfoo tests", rows_read, _sources(rows_read, {"checks": EXPECTED}))


def assertion_of(text: str) -> dict[str, Any]:
    """The assertion of a cell `__expected`: `contains:x`, `not-icontains:x`, `similar(0.8):x`; other texts must be
    equal to the answer."""
    for prefix, name in (("javascript:", "javascript"), ("fn:", "javascript"), ("eval:", "javascript")):
        if text.startswith(prefix):
            return {"type": name, "value": text.removeprefix(prefix).strip()}
    for prefix, name in (("grade:", "llm-rubric"), ("llm-rubric:", "llm-rubric"), ("python:", "python")):
        if text.startswith(prefix):
            return {"type": name, "value": text.removeprefix(prefix)}
    match = SHORTHAND.fullmatch(text)
    if match is None or match["type"].removeprefix("not-") not in TYPES:
        return {"type": "equals", "value": text}
    full, bare, value = match["type"], match["type"].removeprefix("not-"), match["value"]
    if bare in LISTS_OF_TEXTS:
        return {"type": full, "value": _quoted_parts(value or "")}
    if bare in WITH_THRESHOLD:
        threshold = float(match["threshold"]) if match["threshold"] else DEFAULT_THRESHOLD
        return {"type": full, **_strip(value), "threshold": threshold}
    return {"type": full, **({"value": value} if bare in PLAIN_VALUES and value else _strip(value))}


def _strip(value: str | None) -> dict[str, str]:
    return {} if value is None else {"value": value.strip()}


def _quoted_parts(text: str) -> list[str]:
    """Parts between commas; a part in double quotes may contain commas and doubled quotes."""
    parts = re.findall(r'\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)', text)
    return [part for part in ((quoted.replace('""', '"') or plain.strip()) for quoted, plain in parts) if part]


def _of_vars(variables: Mapping[str, Any], id: str) -> Cells:
    return {"id": id, **{field: variables[name] for field, name in _vars_by_field(variables).items()}}


def _vars_by_field(variables: Mapping[str, Any]) -> dict[str, str]:
    """Field -> the variable that it is taken from."""
    names = [str(name) for name in variables]
    cells: dict[str, str] = {}
    for field in ("id", "question", "contexts", "reference", "history", "language", "tags"):
        name = guess(field, [name for name in names if name not in cells.values()])
        if name is not None:
            cells[field] = name
    if "question" not in cells and len(names) == 1:
        cells["question"] = names[0]
    return cells


def _checks(assertions: Sequence[Any], variables: Mapping[str, Any]) -> Cells:
    """The checks of assertions, and the types of assertions without a check here."""
    checks, left_out = [], []
    for assertion in _with_variables(assertions, variables):
        check = _check(assertion)
        try:
            read_check(check)
            checks.append(check)
        except ValueError:
            left_out.append(str(assertion.get("type")))
    return {"checks": checks, LEFT: left_out}


def _check(assertion: Mapping[str, Any]) -> dict[str, Any]:
    """An assertion in the form of runner.metrics.checks. Transformations of the answer are not supported."""
    check = {name: assertion[name] for name in (*KEYS, "transform") if assertion.get(name) is not None}
    name, value = str(check.get("type")), check.get("value")
    if name == "word-count" and isinstance(value, dict) and set(value) == {"max"}:
        return {**check, "type": "max-words", "value": value["max"]}
    if name.removeprefix("not-") == "is-json" and isinstance(value, str):
        return {**check, "value": value_of(value.strip())}
    if name.removeprefix("not-") in LISTS_OF_TEXTS and isinstance(value, str):
        return {**check, "value": _quoted_parts(value)}
    return check


def _with_variables(checks: Sequence[Any], variables: Mapping[str, Any]) -> list[Any]:
    """Checks with the values of `{{variables}}`; expressions are left as they are."""

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: fill(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [fill(inner) for inner in value]
        if not isinstance(value, str):
            return value
        return TEMPLATE.sub(lambda match: text_of(variables[match[1]]) if match[1] in variables else match[0], value)

    return [fill(check) for check in checks if isinstance(check, dict)]


# --- ragas ------------------------------------------------------------------------------------------


def _read_ragas(table: Table) -> Export:
    """`user_input` is a question, or a conversation whose last answer is judged. Ids in parallel lists belong to the
    contexts."""
    rows_read = []
    for line, row in table.rows:
        names = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts"}
        names |= {
            "reference": "reference",
            "expected_notes": "reference_context_ids",
            "ranking": "retrieved_context_ids",
        }
        cells: Cells = {field: row[name] for field, name in names.items() if row.get(name) not in (None, "")}
        turns = turns_of(cells.get("question"))
        if turns and turns[-1]["role"] == "assistant":
            cells.setdefault("answer", turns[-1]["text"])
        contexts, ids = contexts_of(cells.get("contexts")), contexts_of(cells.get("ranking"))
        if contexts and len(contexts) == len(ids):
            pairs = zip(contexts, ids, strict=True)
            cells["contexts"] = [{"id": str(id), "text": text} for text, id in pairs]
            del cells["ranking"]
        rows_read.append((line, row, cells))
    shown = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts", "reference": "reference"}
    return Export("ragas", rows_read, _sources(rows_read, shown))


# --- MLflow -----------------------------------------------------------------------------------------


def _is_mlflow(table: Table) -> bool:
    first = _first_row(table)
    return {"info", "data"} <= set(first) or {"trace_id", "trace"} <= set(first) or {"request", "spans"} <= set(first)


def _read_mlflow(table: Table) -> Export:
    rows_read = []
    for line, row in table.rows:
        trace = _mapping(value_of(row["trace"]) if row.get("trace") else row)
        info, data = _mapping(trace.get("info")), _mapping(trace.get("data"))
        spans = [span for span in value_of(data.get("spans") or row.get("spans")) or () if isinstance(span, dict)]
        root = next((span for span in spans if not (span.get("parent_span_id") or span.get("parent_id"))), {})
        cells: Cells = {
            "id": info.get("trace_id") or info.get("request_id") or row.get("trace_id"),
            "question": _attribute(root, "spanInputs") or value_of(data.get("request") or row.get("request")),
            "answer": _attribute(root, "spanOutputs") or value_of(data.get("response") or row.get("response")),
            "created_at": info.get("request_time") or row.get("request_time"),
            "reference": _expectation(info, row),
        }
        retrieved = [_attribute(span, "spanOutputs") for span in spans if _attribute(span, "spanType") == "RETRIEVER"]
        if retrieved:
            cells["contexts"] = _once(retrieved)
        rows_read.append((line, row, {name: value for name, value in cells.items() if value is not None}))
    shown = {"question": "inputs of the root span", "answer": "outputs of the root span"}
    more = {"contexts": "outputs of RETRIEVER spans", "reference": "expectation expected_response"}
    return Export("MLflow traces", rows_read, _sources(rows_read, shown | more))


def _mapping(value: Any) -> Row:
    return value if isinstance(value, Mapping) else {}


def _attribute(span: Row, name: str) -> Any:
    attributes = span.get("attributes")
    return value_of(attributes.get(f"mlflow.{name}")) if isinstance(attributes, dict) else None


def _expectation(info: Row, row: Row) -> Any:
    for assessment in info.get("assessments") or ():
        names = NAMES["reference"]
        if isinstance(assessment, dict) and assessment.get("assessment_name") in names:
            expectation = assessment.get("expectation")
            if isinstance(expectation, dict):
                serialized = expectation.get("serialized_value")
                return expectation.get("value") or value_of((serialized or {}).get("value"))
    return row.get("expected_response/value") or row.get("expectations")


def _once(outputs: Sequence[Any]) -> list[Any]:
    """The contexts that retrievers returned, in order, each once."""
    contexts = [context for output in outputs for context in contexts_of(output)]
    return [context for place, context in enumerate(contexts) if context not in contexts[:place]]


# --- LangSmith --------------------------------------------------------------------------------------


def _read_runs(table: Table) -> Export:
    """One case for each root run; its contexts are those that its retrievers returned."""
    rows = [(line, row) for line, row in table.rows]
    roots = [(line, row) for line, row in rows if not row.get("parent_run_id")] or rows
    retrieved: dict[Any, list[Any]] = {}
    for _, row in rows:
        if row.get("run_type") == "retriever":
            retrieved.setdefault(row.get("trace_id"), []).append(value_of(row.get("outputs")))
    rows_read = []
    for line, row in roots:
        outputs = value_of(row.get("outputs"))
        cells: Cells = {
            "id": row.get("id") or row.get("run_id"),
            "question": value_of(row.get("inputs")),
            "answer": outputs,
        }
        cells |= {"reference": _answer_of(row.get("reference_outputs")), "created_at": row.get("start_time")}
        contexts = retrieved.get(row.get("trace_id") or row.get("id")) or _inner(outputs, "contexts")
        cells |= {"tags": row.get("tags"), **({"contexts": _once(contexts)} if contexts else {})}
        rows_read.append((line, row, {name: value for name, value in cells.items() if value is not None}))
    fields = {
        "question": "inputs of root runs",
        "answer": "outputs of root runs",
        "contexts": "outputs of retriever runs",
    }
    return Export("LangSmith runs", rows_read, _sources(rows_read, fields))


def _inner(outputs: Any, field: str) -> list[Any]:
    name = guess(field, list(outputs)) if isinstance(outputs, dict) else None
    return [outputs[name]] if name is not None else []


def _answer_of(value: Any) -> str | None:
    return None if value in (None, "", {}) else answer_in(value_of(value))


def _read_examples(table: Table) -> Export:
    """The outputs of an example are the expected ones."""
    rows_read = []
    for line, row in table.rows:
        inputs = value_of(row.get("inputs"))
        cells: Cells = {"id": row.get("id"), "question": inputs, "reference": _answer_of(row.get("outputs"))}
        contexts = _inner(inputs, "contexts")
        cells |= {"contexts": _once(contexts)} if contexts else {}
        rows_read.append((line, row, {name: value for name, value in cells.items() if value is not None}))
    return Export("LangSmith examples", rows_read, _sources(rows_read, {"question": "inputs", "reference": "outputs"}))


# --- Langfuse ---------------------------------------------------------------------------------------

LANGFUSE = frozenset(
    {"sessionId", "session_id", "userId", "user_id", "htmlPath", "observations", "traceId", "trace_id", "release"}
    | {"projectId", "project_id", "bookmarked", "parentObservationId", "parent_observation_id"}
)


def _langfuse_rows(table: Table) -> Rows:
    """The rows of a single downloaded trace: the trace and its observations."""
    whole = table.document
    if isinstance(whole, dict) and isinstance(whole.get("trace"), dict):
        return [(None, {**whole["trace"], "observations": whole.get("observations") or []})]
    return table.rows


def _is_langfuse(table: Table) -> bool:
    rows = _langfuse_rows(table)
    first = set(rows[0][1]) if rows else set()
    return "input" in first and (("output" in first and bool(LANGFUSE & first)) or "expectedOutput" in first)


def _read_langfuse(table: Table) -> Export:
    """Traces, observations (those without a parent are the cases), or items of a data set."""
    rows = _langfuse_rows(table)
    if "expectedOutput" in rows[0][1]:
        items = [(line, row, _item(row)) for line, row in rows]
        return Export("Langfuse data set", items, _sources(items, {"question": "input", "reference": "expectedOutput"}))
    of_observations = any(_either(row, "traceId", "trace_id") for _, row in rows)
    inner = [row for _, row in rows] if of_observations else [each for _, row in rows for each in _observations(row)]
    retrieved: dict[Any, list[Any]] = {}
    for observation in inner:
        if str(observation.get("type")).upper() == "RETRIEVER":
            trace = _either(observation, "traceId", "trace_id")
            retrieved.setdefault(trace, []).append(value_of(observation.get("output")))
    is_root = [not _either(row, "parentObservationId", "parent_observation_id") for _, row in rows]
    rows_read = []
    for (line, row), root in zip(rows, is_root, strict=True):
        if of_observations and not root:
            continue
        id = _either(row, "traceId", "trace_id") or row.get("id")
        output = value_of(row.get("output"))
        contexts = retrieved.get(id) or _inner(output, "contexts")
        cells: Cells = {
            "id": id,
            "question": value_of(row.get("input")),
            "answer": output,
            "tags": value_of(row.get("tags")),
        }
        cells |= {"created_at": _either(row, "timestamp", "startTime", "start_time")}
        cells |= {"contexts": _once(contexts)} if contexts else {}
        rows_read.append((line, row, {name: value for name, value in cells.items() if value is not None}))
    shown = {"question": "input", "answer": "output", "contexts": "outputs of RETRIEVER observations"}
    return Export("Langfuse traces", rows_read, _sources(rows_read, shown))


def _item(row: Row) -> Cells:
    cells = {
        "id": row.get("id"),
        "question": value_of(row.get("input")),
        "reference": _answer_of(row.get("expectedOutput")),
    }
    return {name: value for name, value in cells.items() if value is not None}


def _observations(row: Row) -> list[Row]:
    observations = value_of(row.get("observations"))
    kept = [each for each in observations if isinstance(each, dict)] if isinstance(observations, list) else []
    return [{"traceId": row.get("id"), **each} for each in kept]


def _either(row: Row, *names: str) -> Any:
    return next((row[name] for name in names if row.get(name)), None)


# --- which form ------------------------------------------------------------------------------------


def _sources(read: Sequence[tuple[int | None, Row, Cells]], names: Mapping[str, str]) -> dict[str, str]:
    """The place of each field that any row has."""
    fields = dict.fromkeys(
        field for _, _, cells in read for field, value in cells.items() if value not in (None, [], "")
    )
    return {field: names.get(field, field) for field in NAMES if field in fields}


FORMS: Sequence[tuple[Callable[[Table], bool], Callable[[Table], Export]]] = (
    (_is_promptfoo_results, _read_promptfoo_results),
    (_is_promptfoo_tests, _read_promptfoo_tests),
    (_is_promptfoo_csv, _read_promptfoo_csv),
    (_has("user_input"), _read_ragas),
    (_is_mlflow, _read_mlflow),
    (_has("run_type", "inputs"), _read_runs),
    (_has("inputs", "outputs", "dataset_id"), _read_examples),
    (_is_langfuse, _read_langfuse),
)
