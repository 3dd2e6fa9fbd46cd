import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.compare.compare import Comparison, CorpusChange, compare, compare_all, corpus_change
from runner.compare.pairing import pair
from runner.compare.record import record_of
from runner.compare.regression import Regression
from runner.compare.sides import Finder, Side
from runner.errors import InputError
from runner.report.comparison_words import cluster_lines, headline
from runner.words.wording import LANGUAGES
from tests.comparison_runs import cases, graded, run_folder, side
from tests.run_folders import row

NO_RULES = Regression(rules=[], must_not_break=[])
IDS = [f"{number:02d}" for number in range(30)]


def found(one: list[float], other: list[float], **changes: Any) -> Comparison:
    names = ("recall_at_k", "mrr", "precision_at_3", "keyword/mrr")
    left = side(cases(IDS, dict.fromkeys(names, one)))
    right = side(cases(IDS, dict.fromkeys(names, other)), **changes)
    return compare(left, right, NO_RULES, seed=1)


def test_two_equal_runs_are_within_noise() -> None:
    comparison = found([0.0, 1.0] * 15, [0.0, 1.0] * 15)
    assert comparison.verdict == "within_noise" and comparison.family == 0
    assert {compared.verdict for compared in comparison.metrics} == {"within_noise"}
    assert comparison.exit_code(fail_on_regression=True) == 0
    assert comparison.config_difference == []


def test_better_and_worse() -> None:
    worse = found([1.0] * 30, [0.0] * 12 + [1.0] * 18)
    assert worse.verdict == "worse" and worse.family == 1
    assert {compared.difference.metric: compared.role for compared in worse.metrics} == {
        "recall_at_k": "main", "mrr": "main", "precision_at_3": "other", "keyword/mrr": "leg",
    }  # fmt: skip
    recall, mrr, other, _leg = worse.metrics
    assert worse.main == [recall, mrr]
    assert recall.adjusted.p == mrr.adjusted.p == pytest.approx(2 / 2**12)
    assert other.adjusted.p == mrr.adjusted.p  # the same test under another name
    assert found([0.0] * 12 + [1.0] * 18, [1.0] * 30).verdict == "better"
    assert found([0.0] * 2 + [1.0] * 28, [1.0] * 30).verdict == "inconclusive"


def test_what_is_not_comparable_is_left_out_and_ends_with_5() -> None:
    comparison = found([1.0] * 30, [0.0] * 30, identity={"metric_code.ranking": "other"})
    assert (comparison.verdict, comparison.metrics) == ("not_comparable", [])
    assert {entry.metric for entry in comparison.not_comparable} >= {"recall_at_k", "keyword/mrr"}
    assert comparison.exit_code(fail_on_regression=False) == 5


def test_to_look_anyway() -> None:
    left = side(cases(IDS, {"mrr": [1.0] * 30}))
    right = side(cases(IDS, {"mrr": [0.0] * 30}), identity={"documents": "other"})
    comparison = compare(left, right, NO_RULES, seed=1, allow_incomparable=True, strict=True)
    (mrr,) = comparison.metrics
    assert (mrr.verdict, [reason.names for reason in mrr.caveats]) == ("worse", [("documents",)])
    assert comparison.exit_code(fail_on_regression=True) == 0


def test_other_documents_are_a_note_unless_strict() -> None:
    values = {"mrr": [1.0] * 30, "unanswerable_f1": [1.0] * 30, "chunk/mrr": [1.0] * 30}
    other = {"documents": "other", "chunks": "other"}
    left, right = side(cases(IDS, values)), side(cases(IDS, values), identity=other)
    comparison = compare(left, right, NO_RULES, seed=1)
    kinds = {each.difference.metric: [reason.kind for reason in each.caveats] for each in comparison.metrics}
    assert kinds == {"mrr": ["corpus"], "unanswerable_f1": ["corpus"]}
    assert [(entry.metric, entry.reasons[0].kind) for entry in comparison.not_comparable] == [("chunk/mrr", "chunks")]
    assert comparison.corpus == CorpusChange() and comparison.exit_code(fail_on_regression=True) == 0
    strict = compare(left, right, NO_RULES, seed=1, strict=True)
    assert strict.metrics == [] and strict.exit_code(fail_on_regression=False) == 5
    judged = side(cases(IDS, values), identity={**other, "metric_code.ranking": "other"})
    assert compare(left, judged, NO_RULES, seed=1).exit_code(fail_on_regression=False) == 5


def test_a_rule_goes_over_the_cases_that_did_not_change() -> None:
    gold = ["g"] * 30
    left = side(cases(IDS, {"mrr": [1.0] * 30}, gold=gold))
    right = side(cases(IDS, {"mrr": [0.0] + [1.0] * 29}, gold=["h", *gold[1:]]))
    rules = Regression(rules=[{"metric": "mrr", "margin": 0.01}], must_not_break=[])
    (rule,) = compare(left, right, rules, seed=1).gate.rules
    assert (rule.status, rule.n, [reason.kind for reason in rule.reasons]) == ("passed", 29, ["new_gold"])
    (rule,) = compare(left, right, rules, seed=1, strict=True).gate.rules
    assert rule.status == "not_comparable"


def test_documents_are_counted_by_their_digests() -> None:
    one, other = (side(cases(["a"], {"mrr": [1.0]}), identity={"documents": name}) for name in ("one", "other"))
    one = replace(one, snapshot=replace(one.snapshot, documents={"a": "1", "b": "2", "c": "3"}))
    other = replace(other, snapshot=replace(other.snapshot, documents={"a": "1", "b": "9", "d": "4", "e": "5"}))
    pairing = pair(one.snapshot.cases, other.snapshot.cases)
    assert corpus_change(one, other, pairing) == CorpusChange(2, 1, 1)
    assert corpus_change(one, one, pairing) is None


def test_changed_documents_are_named_of_cases_that_both_runs_have(tmp_path: Path) -> None:
    """b is called c in the candidate; d stands for another question there, and each run has a case of its own."""
    hit = {"expected": ["doc"], "retrieved": [{"id": "doc"}]}
    sides = []
    for name, content in (
        ("one", {"a": "1", "b": "2", "d": "3", "x": "4"}),
        ("other", {"a": "1", "c": "2", "d": "5", "y": "6"}),
    ):
        (tmp_path / name).mkdir()
        rows = [{"id": id, "output": hit if id != "a" else {**hit, "expected": ["else"]}} for id in content]
        (tmp_path / name / "per_item.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        made = side(
            cases(list(content), {"mrr": [1.0] * 4}, content=list(content.values())), identity={"documents": name}
        )
        sides.append(replace(made, folder=tmp_path / name, snapshot=replace(made.snapshot, documents={"doc": name})))
    one, other = sides
    change = corpus_change(one, other, pair(one.snapshot.cases, other.snapshot.cases))
    assert change == CorpusChange(0, 0, 1, gold=("c",), retrieved=("a", "c"))


def test_cases_whose_labels_changed_are_left_out_when_looked_at_anyway() -> None:
    ids = ["a", "b", "c"]
    left = side(cases(ids, {"mrr": [1.0, 1.0, 1.0]}, gold=["g", "g", "g"]))
    right = side(cases(ids, {"mrr": [1.0, 1.0, 0.0]}, gold=["g", "g", "h"]))
    refused = compare(left, right, NO_RULES, seed=1, strict=True)
    assert refused.metrics == [] and refused.exit_code(fail_on_regression=False) == 5
    (mrr,) = compare(left, right, NO_RULES, seed=1, allow_incomparable=True, strict=True).metrics
    assert (mrr.numbers.n, mrr.numbers.difference) == (2, 0.0)
    assert [(reason.kind, reason.cases) for reason in mrr.caveats] == [("gold", ("c",))]
    lenient = compare(left, right, NO_RULES, seed=1)
    assert [(each.numbers.n, each.caveats[0].kind) for each in lenient.metrics] == [(2, "new_gold")]
    assert lenient.exit_code(fail_on_regression=True) == 0


def test_another_k_is_no_reason_to_fail() -> None:
    values = {"mrr": [1.0] * 30, "recall_at_10": [1.0] * 30}
    left, right = side(cases(IDS, values)), side(cases(IDS, values), run={"k": 3})
    comparison = compare(left, right, NO_RULES, seed=1, allow_incomparable=True)
    assert [compared.difference.metric for compared in comparison.metrics] == ["recall_at_10"]
    assert [(entry.metric, entry.reasons[0].kind) for entry in comparison.not_comparable] == [("mrr", "k")]
    assert comparison.exit_code(fail_on_regression=True) == 0


def test_no_case_in_common() -> None:
    left = side(cases(["a"], {"mrr": [1.0]}))
    right = side(cases(["b"], {"mrr": [1.0]}))
    comparison = compare(left, right, NO_RULES, seed=1)
    assert (comparison.verdict, comparison.exit_code(fail_on_regression=False)) == ("not_comparable", 5)
    assert comparison.not_comparable[0].reasons[0].kind == "pairs"


def test_no_metric_in_common() -> None:
    """Nothing was compared, which is no pass, whatever was allowed."""
    left, right = side(cases(IDS, {"mrr": [1.0] * 30})), side(cases(IDS, {"accuracy": [1.0] * 30}))
    comparison = compare(left, right, NO_RULES, seed=1, allow_incomparable=True)
    assert (comparison.verdict, comparison.exit_code(fail_on_regression=False)) == ("not_comparable", 5)
    assert [entry.reasons[0].names for entry in comparison.not_comparable] == [("baseline",), ("candidate",)]


def test_metrics_that_stay_comparable_give_no_verdict_in_place_of_the_main_ones() -> None:
    values = {"mrr": [1.0] * 30, "unanswerable_precision": [0.0] * 30}
    left, right = side(cases(IDS, values)), side(cases(IDS, values), identity={"metric_code.ranking": "other"})
    comparison = compare(left, right, NO_RULES, seed=1)
    assert [(each.difference.metric, each.role) for each in comparison.metrics] == [("unanswerable_precision", "other")]
    assert comparison.verdict == "not_comparable"


def test_what_decides_is_never_better_where_more_breaks_than_is_mended() -> None:
    """48 answers break and 14 are mended, while retrieval finds more."""
    ids = [f"{number:03d}" for number in range(200)]
    right = [1.0] * 48 + [0.0] * 14 + [1.0] * 138
    other = [0.0] * 48 + [1.0] * 14 + [1.0] * 138
    recall = [0.0] * 60 + [1.0] * 140
    left = side(cases(ids, {"right": right, "recall_at_k": recall}))
    comparison = compare(left, side(cases(ids, {"right": other, "recall_at_k": [1.0] * 200})), NO_RULES, seed=1)
    verdicts = {each.difference.metric: each.verdict for each in comparison.main}
    assert verdicts == {"right": "worse", "recall_at_k": "better"}
    assert (comparison.verdict, comparison.flips.by) == ("worse", "right")
    assert (len(comparison.flips.lost), len(comparison.flips.won)) == (48, 14)


def test_more_retrieval_alone_is_not_better_where_answers_may_be_worse() -> None:
    """271 of 562 questions fail in place of 273: 40 were mended and 38 broken, which may as well be a loss."""
    ids = [f"{number:03d}" for number in range(562)]
    right = [1.0] * 289 + [0.0] * 273
    other = [0.0] * 38 + [1.0] * 251 + [1.0] * 40 + [0.0] * 233
    recall = [0.0] * 60 + [1.0] * 502
    left = side(cases(ids, {"right": right, "recall_at_k": recall}))
    comparison = compare(left, side(cases(ids, {"right": other, "recall_at_k": [1.0] * 562})), NO_RULES, seed=1)
    assert [each.verdict for each in comparison.main] == ["inconclusive", "better"]
    assert comparison.verdict == "inconclusive"


def test_several_candidates_are_adjusted_together() -> None:
    """Twelve of 30 lost: p = 2/2**12 by recall, eleven by MRR: 2/2**11; three tests of each, apart from each other."""
    baseline = side(cases(IDS, {"recall_at_k": [1.0] * 30, "mrr": [1.0] * 30}))
    values = [0.0] * 12 + [1.0] * 18
    candidates = [side(cases(IDS, {"recall_at_k": values, "mrr": [1.0, *values[1:]]})) for _ in range(3)]
    same = side(cases(IDS, {"recall_at_k": [1.0] * 30, "mrr": [1.0] * 30}))
    comparisons = compare_all(baseline, [*candidates, same], NO_RULES, seed=1, allow_incomparable=False)
    assert [comparison.family for comparison in comparisons] == [3] * 4
    assert [compared.adjusted.p for compared in comparisons[0].main] == pytest.approx([3 * 2 / 2**12, 3 * 2 / 2**11])
    assert [comparison.verdict for comparison in comparisons] == ["worse"] * 3 + ["within_noise"]


def test_the_gate_ends_with_4_where_it_is_told_to() -> None:
    left, right = side(cases(IDS, {"mrr": [1.0] * 30})), side(cases(IDS, {"mrr": [0.5] * 30}))
    rules = Regression(rules=[{"metric": "mrr", "margin": 0.1}], must_not_break=[])
    comparison = compare(left, right, rules, seed=1)
    assert comparison.gate.fired
    assert [comparison.exit_code(fail_on_regression=fails) for fails in (False, True)] == [0, 4]
    misspelt = r"^regression\.rules\.0: the candidate has no metric 'mrrr'; did you mean 'mrr'\?$"
    with pytest.raises(InputError, match=misspelt):
        compare(left, right, Regression(rules=[{"metric": "mrrr", "margin": 0}], must_not_break=[]), seed=1)


def test_slices_are_adjusted_together_and_share_no_cases_with_others() -> None:
    languages = ["ko", "en"] * 15
    left = side(cases(IDS, {"mrr": [1.0] * 30}, language=languages))
    values = [0.0 if language == "ko" else 1.0 for language in languages]
    right = side(cases(IDS, {"mrr": values}, language=languages))
    english, korean = compare(left, right, NO_RULES, seed=1).slices
    assert (english.value, english.compared.verdict, english.compared.numbers.n) == ("en", "within_noise", 15)
    assert (korean.value, korean.compared.verdict) == ("ko", "worse")


def test_slices_count_as_tests_of_one_family() -> None:
    """8 of 15 lost in each language: 2/2**8 twice, doubled. Nothing of French has a score."""
    languages = ["ko", "en"] * 15 + ["fr"] * 3
    lost = [0.0] * 16 + [1.0] * 14
    ids = [*IDS, "x", "y", "z"]
    left = side(cases(ids, {"mrr": [*[1.0] * 30, *[None] * 3]}, language=languages))
    right = side(cases(ids, {"mrr": [*lost, *[None] * 3]}, language=languages))
    slices = compare(left, right, NO_RULES, seed=1).slices
    assert [(each.dimension, each.value, each.compared.adjusted.p) for each in slices] == [
        ("language", "en", 2 * 2 / 2**8),
        ("language", "ko", 2 * 2 / 2**8),
    ]


# --- laws -----------------------------------------------------------------------------------------

SCORES = st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 2), min_size=1, max_size=25)


@given(SCORES)
@settings(max_examples=30, deadline=None)
def test_exchanging_the_runs_exchanges_the_verdict(scores: list[tuple[float, float]]) -> None:
    ids = [f"{number:02d}" for number in range(len(scores))]
    one, other = (side(cases(ids, {"mrr": [pair[place] for pair in scores]})) for place in (0, 1))
    forth, back = compare(one, other, NO_RULES, seed=1), compare(other, one, NO_RULES, seed=1)
    turned = {"better": "worse", "worse": "better"}
    assert back.verdict == turned.get(forth.verdict, forth.verdict)
    assert back.metrics[0].numbers.difference == pytest.approx(-forth.metrics[0].numbers.difference)
    assert back.metrics[0].adjusted.p == forth.metrics[0].adjusted.p


@given(SCORES, st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_names_of_cases_do_not_matter(scores: list[tuple[float, float]], random: Any) -> None:
    """Other ids put the cases in another order; questions tell which is which."""
    ids = [f"{number:02d}" for number in range(len(scores))]
    texts = [f"question {id}" for id in ids]
    one = side(cases(ids, {"mrr": [first for first, _ in scores]}, content=texts))
    mixed = random.sample(range(len(scores)), len(scores))
    values = [scores[place][1] for place in mixed]
    same = side(cases(ids, {"mrr": [second for _, second in scores]}, content=texts))
    renamed = side(cases([f"x{id}" for id in ids], {"mrr": values}, content=[texts[place] for place in mixed]))
    straight, crossed = (compare(one, other, NO_RULES, seed=1).metrics[0].numbers for other in (same, renamed))
    assert crossed.n == straight.n and crossed.difference == pytest.approx(straight.difference)
    assert crossed.p == pytest.approx(straight.p, abs=0.03)


# --- as JSON --------------------------------------------------------------------------------------


@pytest.fixture
def record(tmp_path: Path) -> dict[str, Any]:
    """Four questions: one lost with its document, one won, one whose judge failed."""
    went = {"retrieved": [{"id": "doc-1", "chunk": "doc-1#0", "title": "First", "score": 1.0, "relevance": 0.9}]}
    before = [
        graded("a", 1.0, output={**went, "answer": "yes"}),
        graded("b", 0.0),
        graded("c", 1.0),
        row("d", metrics={"mrr": None}, unscored=["faithfulness"]),
    ]
    judged = {"faithfulness": {"score": 0.0, "reasoning": "Made up.", "error": None, "details": {}}}
    came = {"contexts": [{"id": "doc-9#0", "title": "Ninth", "text": "x"}], "answer": "no"}
    after = [graded("a", 0.0, output=came, judgements=judged), graded("b", 1.0), graded("c", 1.0), row("d")]
    one, other = run_folder(tmp_path / "one", before), run_folder(tmp_path / "other", after, {"k": 5})
    finder = Finder(tmp_path)
    comparison = compare(finder.open(str(one)), finder.open(str(other)), NO_RULES, seed=1)
    record = record_of(comparison, fail_on_regression=False)
    return json.loads(orjson.dumps(record))


def test_the_record(record: dict[str, Any]) -> None:
    assert (record["kind"], record["schema"], record["exit_code"]) == ("runner.comparison", 1, 0)
    assert (record["baseline"]["id"], record["candidate"]["n_cases"]) == ("one", 4)
    assert record["pairing"]["n_paired"] == 4 and record["pairing"]["anchored"] is None
    mrr = next(entry for entry in record["metrics"] if entry["name"] == "mrr")
    assert (mrr["role"], mrr["direction"], mrr["n_paired"], mrr["verdict"]) == ("main", "higher", 3, "too_few")
    assert mrr["mcnemar"] == {"b": 1, "c": 1, "p": 1.0}
    judged = next(entry for entry in record["metrics"] if entry["name"] == "mean_faithfulness")
    assert judged["failed"] == {"baseline": 1, "candidate": 0}
    assert {"ci_low", "ci_high", "p", "p_holm", "effect_size", "mde"} <= mrr.keys()


def test_flips_tell_what_stands_behind_them(record: dict[str, Any]) -> None:
    (lost,), (won,) = record["flips"]["lost"], record["flips"]["won"]
    assert (lost["id"], won["id"], record["flips"]["by"]) == ("a", "b", "lost_at")
    texts = lost["texts"]
    assert (texts["question"], texts["expected"], texts["ranks"]) == ("What is a?", ["doc-1"], [1, None])
    assert (texts["baseline"]["answer"], texts["candidate"]["answer"]) == ("yes", "no")
    assert texts["went"] == [{"id": "doc-1#0", "title": "First", "rank": 1, "expected": True}]
    assert texts["came"] == [{"id": "doc-9#0", "title": "Ninth", "rank": 1, "expected": False}]
    assert texts["judges"]["faithfulness"]["candidate"] == {"score": 0.0, "reason": "Made up."}


def test_snapshots_alone_tell_ids_only(tmp_path: Path, record: dict[str, Any]) -> None:
    finder = Finder(tmp_path)
    one, other = (finder.open(str(tmp_path / name / "snapshot.json")) for name in ("one", "other"))
    flips = record_of(compare(one, other, NO_RULES, seed=1), fail_on_regression=True)["flips"]
    assert [(flip["id"], flip["texts"]) for flip in flips["lost"]] == [("a", {})]


def test_beside_a_snapshot_the_own_run_tells_the_question(tmp_path: Path, record: dict[str, Any]) -> None:
    finder = Finder(tmp_path)
    snapshot, folder = finder.open(str(tmp_path / "one" / "snapshot.json")), finder.open(str(tmp_path / "other"))
    for sides, known, unknown in (
        ((snapshot, folder), "candidate", "baseline"),
        ((folder, snapshot), "baseline", "candidate"),
    ):
        flips = record_of(compare(*sides, NO_RULES, seed=1), fail_on_regression=True)["flips"]
        texts = next(flip for flip in (*flips["lost"], *flips["won"]) if flip["id"] == "a")["texts"]
        assert (texts["question"], texts["expected"]) == ("What is a?", ["doc-1"])
        assert (texts[known]["answer"], texts[unknown]) == ("no", None)
        assert (texts["ranks"], texts["came"], texts["went"], texts["judges"]) == ([], [], [], {})


def test_an_endless_loss_is_null() -> None:
    left, right = side(cases(IDS, {"mrr": [0.0] * 30})), side(cases(IDS, {"mrr": [0.5] * 30}))
    rules = Regression(
        rules=[{"metric": "mrr", "margin": 0.1, "relative": True, "direction": "lower"}], must_not_break=[]
    )
    (rule,) = record_of(compare(left, right, rules, seed=1), fail_on_regression=True)["gate"]["rules"]
    assert (rule["status"], rule["loss"], rule["metric"], rule["relative"]) == ("fired", None, "mrr", True)


def of_documents(values: list[float], n_documents: int, **changes: Any) -> Side:
    ids = [f"{n:02d}" for n in range(len(values))]
    cluster = [f"document:d{n * n_documents // len(values)}" for n in range(len(values))]
    return side(cases(ids, {"recall_at_k": values}, cluster=cluster), **changes)


def test_documents_are_compared_whole() -> None:
    """Six of eight documents lost all five of their questions, two won theirs: p = 2 (1 + 8 + 28) / 2^8, not 10^-3."""
    before, after = [1.0] * 30 + [0.0] * 10, [0.0] * 30 + [1.0] * 10
    found = compare(of_documents(before, 8), of_documents(after, 8), NO_RULES, seed=1)
    (recall,) = found.main
    assert (recall.numbers.p, recall.numbers.n_clusters, recall.verdict) == (74 / 256, 8, "inconclusive")
    assert (found.clusters.field, found.clusters.n, found.clusters.n_alone) == ("document", 8, 0)
    apart = (side(cases([f"{n:02d}" for n in range(40)], {"recall_at_k": values})) for values in (before, after))
    assert compare(*apart, NO_RULES, seed=1).verdict == "worse"


def test_five_documents_are_too_few_to_tell() -> None:
    sides = of_documents([1.0] * 40, 5), of_documents([0.0] * 40, 5, config={"cluster": "group"})
    found = compare(*sides, NO_RULES, seed=1)
    assert found.verdict == "too_few"
    record = record_of(found, fail_on_regression=False)
    assert (record["clusters"]["baseline"], record["clusters"]["candidate"]) == ("auto", "group")
    told = headline(record, LANGUAGES["en"])
    assert told.startswith("The 40 pairs are of 5 documents only") and "at least 6" in told
    assert cluster_lines(record, LANGUAGES["en"])[0] == (
        "The runs were set to other clusters (cluster=auto, group); those of the candidate count."
    )
