import pytest

from runner.data.notes import split_front_matter


@pytest.mark.parametrize(
    ("text", "values", "body"),
    [
        ("---\ntitle: 승인\n---\n# A\n", {"title": "승인"}, "# A\n"),
        ("---\ntags: [a, b]\naliases:\n  - x\n---\n", {"tags": ["a", "b"], "aliases": ["x"]}, ""),
        (
            "---\ntitle: yes\nyear: 2024\ndate: 2024-01-02\n...\nbody",
            {"title": "yes", "year": "2024", "date": "2024-01-02"},
            "body",
        ),
        ("---\n---\nbody", {}, "body"),
        ("---\n# only a comment\n---\nbody", {}, "body"),
        ("---\ntitle: x\ndeep: {a: b}\nlists: [[a]]\n---\nbody", {"title": "x"}, "body"),
        ("---\ntitle: ends with the file\n---", {"title": "ends with the file"}, ""),
        ("---\nno end\n", {}, "---\nno end\n"),
        ("text\n---\ntitle: x\n---\n", {}, "text\n---\ntitle: x\n---\n"),
        ("----\ntitle: x\n----\n", {}, "----\ntitle: x\n----\n"),
        ("---\ntitle: a --- b\n---\n---\n", {"title": "a --- b"}, "---\n"),
        ("", {}, ""),
    ],
)
def test_front_matter(text: str, values: dict[str, object], body: str) -> None:
    assert split_front_matter(text) == (values, body, "")


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("title: a: b", "front matter is not YAML (line 2): mapping values are not allowed here; ignored"),
        ("ok: x\ntags: [a", "front matter is not YAML (line 4): expected ',' or ']', but got '<stream end>'; ignored"),
        ("just text", "front matter is not a mapping; ignored"),
        ("[" * 5000, "front matter is nested too deeply; ignored"),
        ("? [a, b]\n: c", "front matter is not YAML (line 2): found unhashable key; ignored"),
    ],
)
def test_front_matter_that_cannot_be_used(block: str, problem: str) -> None:
    assert split_front_matter(f"---\n{block}\n---\nbody") == ({}, "body", problem)


def test_yaml_that_names_python_objects_is_text() -> None:
    values, _, problem = split_front_matter("---\ntitle: !!python/name:os.system\n---\n")
    assert (values, problem) == ({"title": ""}, "")
