"""links.jsonl: what may stand there, and what is said where something is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.data.problems import ProblemLog
from runner.domains.links.link_files import WrittenCase, read_links, write_links, written_case
from runner.errors import DataError

GOOD: dict[str, Any] = {"id": "l-1", "source_note": "a.md", "anchor": "여기", "expected_links": ["b"]}


def read(tmp_path: Path, *rows: Any) -> tuple[dict[int, WrittenCase], list[str]]:
    path, log = tmp_path / "links.jsonl", ProblemLog()
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return read_links(str(path), "dataset.links", log), [str(each).replace(str(path), "FILE") for each in log.problems]


def problems(tmp_path: Path, **changes: Any) -> list[str]:
    row = {name: value for name, value in {**GOOD, "id": "l-2", **changes}.items() if value != "left out"}
    return read(tmp_path, GOOD, row)[1]


def test_everything_that_may_stand_there(tmp_path: Path) -> None:
    row = {
        **GOOD,
        "expected_links": ["b", ["위키링크", "wikilink"]],
        "anchor_range": {"start": 3, "end": 7},
        "context": "주변",
        "accepted": ["b"],
        "rejected": ["c"],
        "lang": "ko",
        "tags": ["t"],
        "team": "platform",
        "created_at": "2026-01-01",
    }
    found, wrong = read(tmp_path, row)
    assert not wrong
    assert found[1] == WrittenCase(
        "l-1",
        "a.md",
        "여기",
        (("b",), ("위키링크", "wikilink")),
        (3, 7),
        "주변",
        ("b",),
        ("c",),
        "ko",
        ("t", "team:platform"),
    )
    assert written_case(row) == found[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"anchor": " "}, 'FILE:2: anchor: expected text that is not blank, found text " "'),
        ({"source_note": "left out"}, "FILE:2: source_note: expected text, found nothing"),
        ({"expected_links": "b"}, 'FILE:2: expected_links: expected a list, found text "b"'),
        ({"expected_links": []}, "FILE:2: expected_links: expected a list of at least one note, found an empty list"),
        (
            {"expected_links": ["b", []]},
            "FILE:2: expected_links[1]: expected the name of a note, or a list of names for one concept, "
            "found an empty list",
        ),
        (
            {"expected_links": [7]},
            "FILE:2: expected_links[0]: expected the name of a note, or a list of names for one concept, "
            "found number 7",
        ),
        ({"anchor_range": [1, 2]}, "FILE:2: anchor_range: expected an object, found a list of 2"),
        (
            {"anchor_range": {"start": 5, "end": 5}},
            "FILE:2: anchor_range.end: expected start and end, and more than start, found 5 and 5",
        ),
        ({"id": "l-1"}, "FILE:2: id: 'l-1' is already the id at FILE:1; the first one counts"),
        ({"expected_link": ["b"], "expected_links": "left out"},
         "FILE:2: expected_link: unknown, ignored; did you mean 'expected_links'?"),
        ({"comment": "mine"}, "FILE:2: comment: unknown, ignored"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_line_and_field(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    assert problems(tmp_path, **changes)[0] == message


def test_a_file_without_a_usable_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"dataset\.links: no links in .*; its lines have errors:\n .*:1: id: expected"):
        read(tmp_path, {"anchor": "x"})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_links([GOOD, {**GOOD, "id": "l-2"}], tmp_path / "out.jsonl")
    assert read_links(str(tmp_path / "out.jsonl"), "x", ProblemLog())[1] == written_case(GOOD)
