from pathlib import Path
from typing import Any

import pytest
import yaml

from plugins.dataset.beir import BeirDataset
from plugins.dataset.csv import CsvDataset
from plugins.dataset.demo import DemoDataset
from plugins.dataset.faq_guide import STEPS, FaqGuideDataset
from plugins.dataset.hf import HfDataset
from plugins.dataset.jsonl import JsonlDataset
from plugins.dataset.links import LinksDataset
from plugins.dataset.squad import SquadDataset
from plugins.dataset.trec import TrecDataset
from plugins.dataset.vault import VaultDataset
from runner.text.chunking import AT_HEADINGS, PLAIN

CONF = Path(__file__).parents[3] / "conf" / "dataset"
CLASSES: list[Any] = [
    *(
        BeirDataset,
        CsvDataset,
        DemoDataset,
        FaqGuideDataset,
        HfDataset,
        JsonlDataset,
        LinksDataset,
        SquadDataset,
        TrecDataset,
        VaultDataset,
    )
]


@pytest.mark.parametrize("language", ["ko", "en"])
def test_one_language(language: Any) -> None:
    data = DemoDataset(language=language).load()
    assert len(data.corpus.documents) >= 60
    assert len(data.queries) >= 120
    assert {query.language for query in data.queries} == {language}
    assert {document.language for document in data.corpus.documents} == {language}
    assert {query.answerable for query in data.queries} == {True, False}
    assert data.problems == ()


def test_guides_are_cut_at_their_headings() -> None:
    corpus = DemoDataset(language="ko").load().corpus
    assert {chunk.id.partition("#")[2] for chunk in corpus.chunks_of("ko-faq-001")} == {"0"}
    assert [chunk.headings for chunk in corpus.chunks_of("ko-guide-001")][1] == ("구성원 초대하기",)


def test_both_languages_are_one_corpus() -> None:
    both, ko, en = (DemoDataset(language=language).load() for language in ("both", "ko", "en"))
    assert both.corpus.documents == [*ko.corpus.documents, *en.corpus.documents]
    assert both.queries == (*ko.queries, *en.queries)
    assert len({query.id for query in both.queries}) == len(both.queries)
    assert both.problems == ()


OF_QUESTIONS = sorted(path for path in CONF.glob("*.yaml") if path.stem not in ("traces", "none"))


@pytest.mark.parametrize("path", OF_QUESTIONS, ids=lambda path: path.stem)
def test_configuration_writes_out_every_setting_and_its_default(path: Path) -> None:
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    target = settings.pop("_target_").rpartition(".")[2]
    cls = next(each for each in CLASSES if each.__name__ == target)
    assert settings.keys() - {"defaults"} == cls.__init__.__kwdefaults__.keys() - {"chunker"} | _required(cls)
    of_the_run = [name for name, value in settings.items() if str(value).startswith("${")]
    assert "strict" in of_the_run and all(settings.pop(name) == f"${{{name}}}" for name in of_the_run)
    for name in _required(cls):
        assert settings.pop(name) == "???"
    (choice, _) = settings.pop("defaults")
    chunkers = {"sections": AT_HEADINGS, "plain": PLAIN, "steps": STEPS}
    assert cls.__init__.__kwdefaults__["chunker"] == chunkers[choice["chunker"]]
    language = settings.pop("language", None)
    assert language == {"demo": "both", "demo_ko": "ko", "demo_en": "en"}.get(path.stem)
    assert settings == {name: value for name, value in cls.__init__.__kwdefaults__.items() if name in settings}


def _required(cls: Any) -> set[str]:
    return set(cls.__init__.__annotations__) - set(cls.__init__.__kwdefaults__) - {"return"}
