from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from plugins.suggester.hybrid import HybridSuggester
from runner.domains.links.suggesting import Place, Suggestion, Suggestions, Vault
from runner.protocols import Workspace
from tests.plugins.suggester.vaults import BREWING, Folders, notes_of, place, vault


class Fixed:
    """Always the same suggestions."""

    def __init__(self, name: str, best: Mapping[str, float], no_graph: Mapping[str, float] | None = None) -> None:
        self.name = name
        self.best = tuple(Suggestion(note, value) for note, value in best.items())
        self.legs = {} if no_graph is None else {"no_graph": tuple(Suggestion(*each) for each in no_graph.items())}
        self.caches = no_graph is not None

    def index(self, vault: Vault, workspace: Workspace) -> Mapping[str, Any]:
        return {"kind": self.name}

    def suggest(self, places: Sequence[Place], depth: int) -> list[Suggestions]:
        return [Suggestions(self.best, self.legs)] * len(places)

    def reason(self, place: Place, note: str) -> str:
        return f"{self.name} {note}." if note in {each.note for each in self.best} else ""


NAMES, TEXT, ALONE = {"tea.md": 1.0}, {"kettle.md": 0.5, "tea.md": 0.2}, {"tea.md": 0.4, "bread.md": 0.3}


def suggester(tmp_path: Path, notes: Mapping[str, str] = BREWING, **settings: Any) -> HybridSuggester:
    subject = HybridSuggester(lexical=Fixed("names", NAMES), text=Fixed("text", TEXT, ALONE), weight=0.25, **settings)
    facts = subject.index(vault(notes), Folders(tmp_path))
    assert facts == {"kind": "hybrid", "lexical": {"kind": "names"}, "text": {"kind": "text"}}
    return subject


def test_by_hand_without_graph(tmp_path: Path) -> None:
    (found,) = suggester(tmp_path, graph=False).suggest([place("home.md", "x")], 5)
    assert [(each.note, each.confidence) for each in found.best] == [
        ("tea.md", pytest.approx(0.25 * 1 + 0.75 * 0.2)),
        ("kettle.md", pytest.approx(0.75 * 0.5)),
    ]
    assert found.best[0].parts == {"lexical": 1.0, "text": 0.2}
    assert set(found.legs) == {"lexical", "text"}


def test_by_hand_with_graph(tmp_path: Path) -> None:
    """Every note that is linked to has one link: all are as central. coffee.md and tea.md are linked together."""
    notes = {**BREWING, "coffee.md": "Coffee\n\nWith [[tea]].", "bar.md": "Bar\n\n[[tea]], [[kettle]]"}
    (found,) = suggester(tmp_path, notes, structure_weight=0.1).suggest([place("coffee.md", "x")], 5)
    # tea has 3 links, kettle 2: log(1 + n) / log(4). Those that link to tea as coffee does: home (tea, coffee: 1/2)
    # and bar (tea, kettle: 1/2); of what they link to, tea has 1/2 + 1/2, kettle 1/2, brought to a highest of 1.
    tea = (0.25 + 0.75 * 0.2 + 0.1 * (1 + 1)) / 1.2
    kettle = (0.75 * 0.5 + 0.1 * (0.7925 + 0.5)) / 1.2
    assert {each.note: each.confidence for each in found.best} == pytest.approx(
        {"tea.md": tea, "kettle.md": kettle}, abs=1e-4
    )
    assert [(each.note, each.confidence) for each in found.legs["no_graph"]] == [
        ("tea.md", pytest.approx(0.25 + 0.75 * 0.4)),
        ("bread.md", pytest.approx(0.75 * 0.3)),
    ]


def test_without_any_link_there_is_no_graph_to_speak_of(tmp_path: Path) -> None:
    notes = {"home.md": "Home", "tea.md": "Tea", "kettle.md": "Kettle"}
    (found,) = suggester(tmp_path, notes).suggest([place("home.md", "x")], 5)
    assert notes_of(found.best) == ["tea.md", "kettle.md"] and "no_graph" not in found.legs


def test_what_is_skipped_is_in_no_leg(tmp_path: Path) -> None:
    subject = suggester(tmp_path)
    (found,) = subject.suggest([place("home.md", "x", skip={"tea.md"})], 5)
    assert notes_of(found.best) == ["kettle.md"] and notes_of(found.legs["no_graph"]) == ["bread.md"]
    assert len(subject.suggest([place("home.md", "x")], 1)[0].best) == 1
    assert subject.caches


def test_the_reasons_of_the_legs_and_the_links(tmp_path: Path) -> None:
    subject = suggester(tmp_path)
    assert subject.reason(place("home.md", "x"), "tea.md") == "names tea.md. text tea.md. 1 other note links to it."
    assert subject.reason(place("home.md", "x", language="ko"), "kettle.md") == (
        "text kettle.md. 다른 노트 1개가 이 노트로 링크합니다."
    )
    assert suggester(tmp_path, graph=False).reason(place("home.md", "x"), "tea.md") == "names tea.md. text tea.md."
