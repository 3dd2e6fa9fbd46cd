"""The chunker of the program, its settings checked with the configuration, and one of somebody else in its place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from plugins.dataset.chunker.sections import SectionsChunker
from plugins.dataset.faq_guide import STEPS
from plugins.dataset.vault import VaultDataset
from runner.config.components import build, check
from runner.errors import ConfigError
from runner.text.chunking import AT_HEADINGS, PLAIN, Passage

CONF = Path(__file__).parents[4] / "conf/dataset/chunker"
TEXT = "# 하나\n\n첫 문단입니다.\n\n둘째 문단입니다.\n\n# 둘\n\n짧다.\n"


def of_conf(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CONF / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def problems(**chunker: Any) -> list[str]:
    target = "plugins.dataset.demo.DemoDataset"
    node = OmegaConf.create({"dataset": {"_target_": target, "chunker": {**of_conf("sections"), **chunker}}})
    return [str(problem) for problem in check(node.dataset)]


@pytest.mark.parametrize(
    ("chunker", "problem"),
    [
        ({"max_char": 500}, "max_char: unknown setting; did you mean 'max_chars'?"),
        ({"max_chars": 19}, "max_chars: expected 20 or more, got 19"),
        ({"max_chars": True}, "max_chars: expected a whole number, got True"),
        ({"overlap": -1}, "overlap: expected 0 or more, got -1"),
        ({"headings": "yes"}, "headings: expected true or false, got 'yes'"),
    ],
)
def test_settings_that_cannot_be(chunker: dict[str, Any], problem: str) -> None:
    assert problems(**chunker) == [f"dataset.chunker.{problem}"]


def test_settings_that_can_be() -> None:
    assert problems(max_chars=500, min_chars=0, overlap=50, headings=False) == []


def test_settings_that_do_not_go_together() -> None:
    with pytest.raises(ConfigError) as raised:
        SectionsChunker(max_chars=100, overlap=60)
    assert [str(problem) for problem in raised.value.problems] == [
        "dataset.chunker: overlap: expected 0 to half of max_chars (50), found 60"
    ]


def test_every_setting_reaches_the_cutter() -> None:
    cutter = SectionsChunker(max_chars=30, min_chars=5, overlap=7, headings=False).cutter
    assert (cutter.max_chars, cutter.min_chars, cutter.overlap, cutter.headings) == (30, 5, 7, False)


@pytest.mark.parametrize(("name", "cutter"), [("sections", AT_HEADINGS), ("plain", PLAIN), ("steps", STEPS)])
def test_choices_cut_as_data_sets_do_without_one(name: str, cutter: Any) -> None:
    assert build(OmegaConf.create(of_conf(name))).root.cutter == cutter


def test_by_hand() -> None:
    found = SectionsChunker(max_chars=20, min_chars=0).passages(TEXT)
    assert [(TEXT[each.start : each.end], each.headings) for each in found] == [
        ("# 하나\n\n첫 문단입니다.", ("하나",)),
        ("둘째 문단입니다.", ("하나",)),
        ("# 둘\n\n짧다.", ("둘",)),
    ]


class HalvesChunker:
    """Knows nothing of the program."""

    def __init__(self, *, parts: int = 2) -> None:
        self.parts = parts

    def passages(self, text: str) -> Sequence[Passage]:
        size = -(-len(text) // self.parts)
        return [Passage(start, min(start + size, len(text))) for start in range(0, len(text), size)]


def test_another_chunker_cuts_notes_anew_each_time(tmp_path: Path) -> None:
    """Its code may have changed meanwhile, which nobody here can know."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("여덟 글자 노트", encoding="utf-8")
    (tmp_path / "q.jsonl").write_text(
        '{"id": "1", "query": "?", "answerable": true, "expected_notes": ["a"]}', encoding="utf-8"
    )
    cut = []
    for parts in (2, 4):
        chunker = HalvesChunker(parts=parts)
        files = {"notes": str(tmp_path / "notes"), "queries": str(tmp_path / "q.jsonl")}
        data = VaultDataset(**files, chunker=chunker, cache_dir=str(tmp_path / "cache")).load()
        cut.append([chunk.text for chunk in data.corpus.chunks])
    assert cut == [["여덟 글", "자 노트"], ["여덟", " 글", "자 ", "노트"]]
