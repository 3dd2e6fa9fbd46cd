import re
from typing import Any

import pytest

from runner.llm.examples import FORMATS, example_of

NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
    "required": ["name", "next"],
}


def test_what_is_made_up_has_the_form_of_its_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "level": {"type": "integer", "minimum": 1},
            "found": {"type": "array", "items": {"type": "string"}},
            "sure": {"type": "boolean"},
            "text": {"type": ["string", "null"]},
            "none": {"type": "null"},
        },
    }
    expected = {"kind": "a", "level": 1, "found": [], "sure": False, "text": "word", "none": None}
    assert example_of(schema, "word") == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": {"a": 1}}, {"a": 1}),
        ({}, "word"),
        ({"properties": {"a": True}, "required": ["b"]}, {"a": "word", "b": "word"}),
        ({"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 3}}, [3, 4]),
        ({"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": ["x", "y"]}}, ["x", "y"]),
        ({"type": "array", "minItems": 2, "items": {"type": "string"}}, ["word", "1 word"]),
        ({"minItems": 3, "prefixItems": [{"const": 1}, {"type": "null"}], "items": {"const": 2}}, [1, None, 2]),
        ({"contains": {"const": 5}}, [5]),
        ({"anyOf": [{"type": "integer", "minimum": 2}, {"type": "null"}]}, 2),
        ({"oneOf": [False, {"type": "boolean"}]}, False),
        ({"type": "object", "properties": {"a": {"const": 1}}, "anyOf": [{"required": ["b"]}]}, {"a": 1, "b": "word"}),
        ({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 5}]}, 5),
        ({"$ref": "#/$defs/grade", "$defs": {"grade": {"enum": ["good", "bad"]}}}, "good"),
        ({"$ref": "#/definitions/a~1b", "definitions": {"a/b": {"const": 7}}}, 7),
        ({"type": "integer", "minimum": 1, "maximum": 5}, 1),
        ({"type": "integer", "exclusiveMinimum": 1}, 2),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 2),
        ({"type": "integer", "minimum": 1.2, "multipleOf": 5}, 5),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "exclusiveMinimum": 0}, 1),
        ({"type": "number", "minimum": 0, "maximum": 1}, 0),
        ({"type": "number", "multipleOf": 0.5, "exclusiveMinimum": 1}, 1.5),
        ({"type": "string", "minLength": 6}, "wordxx"),
        ({"type": "string", "maxLength": 2}, "wo"),
        ({"type": "object", "minProperties": 2}, {"word0": "word", "word1": "word"}),
    ],
)  # fmt: skip
def test_it_obeys(schema: dict[str, Any], expected: Any) -> None:
    assert example_of(schema, "word") == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "^[A-Z]{3}-[0-9]{4}$", "^(yes|no)$", r"^\d+(\.\d+)?%$", r"^(a|b)\1c*$", "[^a-z]", "^.{5}$", "x", "^[가-힣]+$",
        "^(?:[01]\\d|2[0-3]):[0-5]\\d$", "^$",
    ],
)  # fmt: skip
def test_it_matches_a_pattern(pattern: str) -> None:
    assert re.search(pattern, example_of({"type": "string", "pattern": pattern}, "word") if pattern != "^$" else "")


def test_a_pattern_may_ask_for_a_length() -> None:
    assert len(example_of({"type": "string", "pattern": "^[a-z]+$", "minLength": 9}, "word")) >= 9


@pytest.mark.parametrize("name", FORMATS)
def test_it_has_a_format(name: str) -> None:
    assert example_of({"type": "string", "format": name}, "word") == FORMATS[name]


def test_a_schema_that_refers_to_itself_ends() -> None:
    found = example_of({"$ref": "#/$defs/node", "$defs": {"node": NODE}}, "word")
    depth = 0
    while found is not None:
        assert found["name"] == "word"
        found, depth = found["next"], depth + 1
    assert depth < 20


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"type": "string", "pattern": "("}, {"allOf": [{"$ref": "#"}]}])
def test_of_what_cannot_be_made_there_is_a_text(schema: dict[str, Any]) -> None:
    assert example_of(schema, "word") == "word"
