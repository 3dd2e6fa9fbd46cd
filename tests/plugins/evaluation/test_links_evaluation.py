"""One place: what the suggester is told, what is kept, and how it is scored."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.links import LinksDataset
from plugins.dataset.vault import VaultDataset
from plugins.evaluation.links import LinkEvaluation
from plugins.judge.lexical import LexicalJudge
from plugins.suggester.lexical import LexicalSuggester
from runner.domains.links.suggesting import Place, Suggester, Suggestion, Suggestions, Vault
from runner.errors import ConfigError
from runner.protocols import Judge, Workspace
from runner.records import Judgement, Scores
from tests.plugins.suggester.vaults import Folders
from tests.small_data import write_texts

NOTES = {
    "tea.md": "# Tea\n\nFor a [[kettle]] see [[shop]]. We boil [[water|it]] in the morning, then we drink.\n",
    "kettle.md": "# Kettle\n\nIt heats [[water]].\n",
    "water.md": "# Water\n\nFrom the tap.\n",
    "shop.md": "# Shop\n\nSells a [[kettle]].\n",
}
ROW = (
    '{"id": "l1", "source_note": "tea", "anchor": "We boil [[water|it]] in the morning, then we drink.", '
    '"expected_links": ["water", ["nothing", "gone"]], "language": "en", "tags": ["t"], '
    '"accepted": ["water"], "rejected": ["kettle"]}'
)


class Fixed:
    """Always the same suggestions, of those that may be made; remembers what it was told."""

    def __init__(self, best: Mapping[str, float], *, caches: bool = False) -> None:
        self.best, self.caches = best, caches
        self.told: list[Place] = []
        self.batches: list[int] = []

    def index(self, vault: Vault, workspace: Workspace) -> Mapping[str, Any]:
        self.vault = vault
        return {"kind": "fixed"}

    def suggest(self, places: Sequence[Place], depth: int) -> list[Suggestions]:
        self.told += places
        self.batches.append(len(places))
        found = [
            tuple(Suggestion(note, value) for note, value in self.best.items() if note not in place.skip)
            for place in places
        ]
        return [Suggestions(best[:depth], {"leg": best[:1]}) for best in found]

    def reason(self, place: Place, note: str) -> str:
        return f"“{note}”"


class Failing:
    def __init__(self, on_failure: Any) -> None:
        self.on_failure = on_failure

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        self.asked = (rubric, fields)
        return Judgement(None, error="no reply")


def evaluation(tmp_path: Path, suggester: Suggester, judge: Judge | None = None, **settings: Any) -> LinkEvaluation:
    write_texts(tmp_path / "notes", NOTES)
    (tmp_path / "links.jsonl").write_text(ROW, encoding="utf-8")
    dataset = LinksDataset(notes=str(tmp_path / "notes"), links=str(tmp_path / "links.jsonl"))
    chosen = {"topk": 2, "cutoffs": [1, 3], **settings}
    return LinkEvaluation(dataset=dataset, suggester=suggester, judge=judge or LexicalJudge(), **chosen)


def outcome(subject: LinkEvaluation, tmp_path: Path) -> tuple[Scores, Mapping[str, Any]]:
    async def one() -> tuple[Scores, Mapping[str, Any]]:
        (case,) = subject.load().cases
        (tmp_path / "index").mkdir(exist_ok=True)
        await subject.prepare([case], Folders(tmp_path / "index"))
        output = await subject.run(case)
        return subject.score(case, output, await subject.judge(case, output)), output.record()

    return asyncio.run(one())


BEST = {"kettle.md": 0.9, "shop.md": 0.5, "water.md": 0.4}


def test_by_hand(tmp_path: Path) -> None:
    scores, record = outcome(evaluation(tmp_path, Fixed(BEST), skip_linked=False), tmp_path)
    values = scores.values
    assert (values["precision_at_k"], values["recall_at_k"], values["mrr"]) == (0, 0, 0)
    assert (values["precision_at_3"], values["recall_at_3"]) == (1 / 3, 1 / 2)  # one of the two is no note
    assert values["leg/recall_at_1"] == 0
    assert values["link_novelty"] == 0.0  # both are linked already
    assert values["link_acceptance"] == 0.0  # kettle was rejected
    assert scores.labels == {"lost_at": "suggested_below_k"}
    assert [(hit["id"], hit["relevance"], hit["linked"], hit.get("reason")) for hit in record["retrieved"]] == [
        ("kettle.md", 0.9, True, "“kettle.md”"),
        ("shop.md", 0.5, True, "“shop.md”"),
        ("water.md", 0.4, False, None),
    ]
    assert record["query"] == "We boil it in the morning, then we drink."
    assert (record["source_note"], record["expected"]) == ("tea.md", ["water.md"])
    assert (record["accepted"], record["rejected"]) == (["water.md"], ["kettle.md"])


@pytest.mark.parametrize(("least", "recall"), [(0.4, 1 / 2), (0.5, 0)])
def test_what_is_not_confident_enough_is_none_in_a_leg_either(tmp_path: Path, least: float, recall: float) -> None:
    values = outcome(evaluation(tmp_path, Fixed({"water.md": 0.4}), min_confidence=least), tmp_path)[0].values
    assert (values["recall_at_1"], values["leg/recall_at_1"]) == (recall, recall)


def test_what_is_linked_already_is_not_suggested_again(tmp_path: Path) -> None:
    scores, _ = outcome(evaluation(tmp_path, Fixed(BEST)), tmp_path)
    assert (scores.values["precision_at_k"], scores.values["recall_at_k"], scores.values["mrr"]) == (0.5, 0.5, 1)
    assert (scores.values["link_novelty"], scores.values["link_acceptance"]) == (1, 1)
    assert scores.labels == {"lost_at": "none"}


def test_suggestions_that_are_not_confident_enough_are_none(tmp_path: Path) -> None:
    subject = evaluation(tmp_path, Fixed(BEST), skip_linked=False, min_confidence=0.5)
    scores, record = outcome(subject, tmp_path)
    assert [hit["id"] for hit in record["retrieved"]] == ["kettle.md", "shop.md"]
    assert scores.labels == {"lost_at": "not_suggested"}
    scores, _ = outcome(evaluation(tmp_path, Fixed(BEST), min_confidence=1), tmp_path)
    assert (scores.values["link_novelty"], scores.values["link_reason"], scores.unscored) == (None, None, ())
    assert scores.values["precision_at_k"] == 0


def test_the_suggester_never_sees_the_link_that_is_expected(tmp_path: Path) -> None:
    fixed = Fixed(BEST)
    outcome(evaluation(tmp_path, fixed, context_chars=60), tmp_path)
    (told,) = fixed.told
    assert told.anchor == "We boil it in the morning, then we drink."
    assert told.context == "[shop]]. We boil it in the morning, then we drink."
    assert told.skip == {"kettle.md", "shop.md"}
    text = fixed.vault.corpus.document_by_id["tea.md"].text
    assert "water" not in text and "water" not in told.context + told.anchor
    assert {edge.target for edge in fixed.vault.graph.out_links("tea.md")} == {"kettle.md", "shop.md"}
    assert {edge.source for edge in fixed.vault.graph.back_links("water.md")} == {"kettle.md"}


def test_whoever_asks_a_model_is_asked_for_all_places_first(tmp_path: Path) -> None:
    fixed = Fixed(BEST, caches=True)
    subject = evaluation(tmp_path, fixed)
    outcome(subject, tmp_path)
    assert fixed.batches == [1]
    assert asyncio.run(subject.run(subject.data.cases[0])).timing.ms is None


def test_a_reason_is_judged_with_both_texts_and_what_others_say(tmp_path: Path) -> None:
    judge = Failing("zero")
    scores, _ = outcome(evaluation(tmp_path, Fixed({"water.md": 1.0}), judge), tmp_path)
    rubric, fields = judge.asked
    assert rubric == "link_reason"
    assert fields == {
        "anchor": "We boil it in the morning, then we drink.",
        "context": "# Tea\n\nFor a [[kettle]] see [[shop]]. We boil it in the morning, then we drink.",
        "target": "Water\n\n# Water\n\nFrom the tap.\n\n\nKettle: It heats .",
        "reason": "“water.md”",
        "language": "en",
    }
    assert (scores.values["link_reason"], scores.unscored) == (0.0, ("link_reason",))
    scores, _ = outcome(evaluation(tmp_path, Fixed({"water.md": 1.0}), Failing("exclude")), tmp_path)
    assert (scores.values["link_reason"], scores.unscored) == (None, ("link_reason",))
    silent = Failing("zero")
    scores, _ = outcome(evaluation(tmp_path, Fixed(BEST), silent, judge_reason=False), tmp_path)
    assert not hasattr(silent, "asked") and scores.values["link_reason"] is None


def test_the_names_of_a_failed_case_are_those_of_a_good_one(tmp_path: Path) -> None:
    subject = evaluation(tmp_path, Fixed(BEST))
    scores, _ = outcome(subject, tmp_path)
    failed = subject.score(subject.data.cases[0], None, {})
    assert set(failed.unscored) == set(scores.values) - {"link_acceptance"}


def test_sums_tell_the_k_of_the_run(tmp_path: Path) -> None:
    subject = evaluation(tmp_path, Fixed(BEST))
    subject.load()
    assert subject.sums([]) == {"k": 2}


def test_another_data_set_has_no_places() -> None:
    with pytest.raises(ConfigError, match="dataset: holds no places for links; dataset=links does"):
        LinkEvaluation(
            dataset=VaultDataset(notes="n", queries="q"),  # type: ignore[arg-type]
            suggester=LexicalSuggester(),
            judge=LexicalJudge(),
            topk=5,
            cutoffs=[1],
        )
