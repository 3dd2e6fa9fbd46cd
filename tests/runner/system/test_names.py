from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.system import names as names_file
from runner.system.names import Names, Places, write_names


def written(folder: Path, names: list[str]) -> Names:
    assert write_names(folder, names) == len(names)
    return Names(folder)


@given(st.lists(st.text(alphabet="ab가\ud800\0", max_size=4), unique=True, max_size=12))
def test_names_are_found_by_place_and_by_text(tmp_path_factory: pytest.TempPathFactory, given: list[str]) -> None:
    names = written(tmp_path_factory.mktemp("names"), given)
    assert list(names) == given
    assert [names.place(name) for name in given] == list(range(len(given)))
    assert names.place("none of them") is None


def test_two_names_with_one_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_file, "_hash", lambda encoded: bytes([encoded[0] % 2] * 8))
    names = written(tmp_path, ["a", "b", "c", "d", "e"])
    assert [names.place(name) for name in "abcdefg"] == [0, 1, 2, 3, 4, None, None]


def test_many_names_are_mapped_not_read(tmp_path: Path) -> None:
    given = [f"note/{number}" for number in range(5000)]
    names = written(tmp_path, given)
    assert names[-1] == given[-1] and list(names[4998:]) == given[4998:]
    assert names.place("note/4321") == 4321


def test_places_as_a_mapping(tmp_path: Path) -> None:
    names = written(tmp_path, ["b", "a"])
    places = Places(names, names.place)
    assert dict(places) == {"b": 0, "a": 1}
    assert "c" not in places
    with pytest.raises(KeyError, match="c"):
        places["c"]
