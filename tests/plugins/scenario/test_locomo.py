import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from plugins.scenario.locomo import LocomoScenarios
from runner.domains.memory.records import ChatTurn, Conversation, Probe
from runner.errors import DataError

SHARED = Path(__file__).parents[3].parent / "shared" / "data" / "locomo_noncommercial" / "locomo_a.json"
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="LoCoMo is not there: its licence forbids to ship it")


def utterance(dia_id: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"dia_id": dia_id, "speaker": speaker, "text": text} | more


def question(category: Any, *evidence: str, **more: Any) -> dict[str, Any]:
    return {"question": "When?", "answer": "in May", "evidence": list(evidence), "category": category} | more


def sample(*questions: Any, **changes: Any) -> dict[str, Any]:
    talk = {
        "speaker_a": "Ann",
        "session_2_date_time": "12:48 am on 1 February, 2023",
        "session_2": [utterance("D2:1", "Bob", "Hi.")],
        "session_1": [
            utterance("D1:1", "Ann", "Look!", blip_caption="a photo of a dog", img_url=["x"]),
            utterance("D1:2", "Bob", "Nice."),
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2022",
        "session_10": [utterance("D10:1", "Ann", "Bye.")],
        "session_10_date_time": "5:00 pm on 3 March, 2023",
        "session_11_date_time": "5:00 pm on 4 March, 2023",
    }
    return {"sample_id": "conv-1", "conversation": talk, "qa": list(questions)} | changes


def load(folder: Path, *samples: Any, errors: Any = (), **settings: Any) -> tuple[list[Conversation], list[str]]:
    (folder / "l.json").write_text(json.dumps(samples), encoding="utf-8")
    (folder / "label_errors.json").write_text(json.dumps(errors), encoding="utf-8")
    conversations, problems = LocomoScenarios(path=str(folder / "l.json"), **settings).load()
    return list(conversations), [str(each).replace(f"{folder}/", "") for each in problems]


def test_utterances_are_turns_in_the_order_of_sessions(tmp_path: Path) -> None:
    (found,), problems = load(tmp_path, sample(question(2, "D1:2")))
    assert found.turns == (
        ChatTurn("Look!", speaker="Ann", said_at="2022-05-08", id="D1:1", number=1),
        ChatTurn("Nice.", speaker="Bob", said_at="2022-05-08", id="D1:2", number=2),
        ChatTurn("Hi.", speaker="Bob", said_at="2023-02-01", id="D2:1", number=3),
        ChatTurn("Bye.", speaker="Ann", said_at="2023-03-03", id="D10:1", number=4),
    )
    assert (found.id, found.language, found.tags, problems) == ("conv-1", "en", ("locomo",), [])
    assert found.probes == (Probe("qa0", "When?", 4, answers=("in May",), evidence=("D1:2",), category="temporal"),)


def test_captions_are_shown_when_asked_for(tmp_path: Path) -> None:
    (found,), _ = load(tmp_path, sample(question(1)), captions=True)
    assert [turn.user for turn in found.turns][:2] == ["Look! [shares a photo of a dog]", "Nice."]


def test_categories_have_names_and_adversarial_questions_no_answer(tmp_path: Path) -> None:
    trap = {"question": "?", "adversarial_answer": "a dog", "evidence": ["D1:1"], "category": 5}
    (found,), problems = load(tmp_path, sample(*(question(n) for n in range(1, 5)), trap, trap | {"answer": "no"}))
    assert [(probe.id, probe.category, probe.answerable) for probe in found.probes] == [
        ("qa0", "multi_hop", True),
        ("qa1", "temporal", True),
        ("qa2", "open_domain", True),
        ("qa3", "single_hop", True),
        ("qa4", "adversarial", False),
        ("qa5", "adversarial", False),
    ]
    assert [probe.answers for probe in found.probes[3:]] == [("in May",), (), ()]
    assert found.probes[4].evidence == ("D1:1",)
    assert problems == []


def test_only_some_categories(tmp_path: Path) -> None:
    (found,), _ = load(tmp_path, sample(*(question(n) for n in range(1, 5))), categories=["temporal", "single_hop"])
    assert [probe.id for probe in found.probes] == ["qa1", "qa3"]
    problems = LocomoScenarios(path=str(tmp_path / "l.json"), categories=["temporal", "singel_hop"]).preflight()
    assert [str(each) for each in problems] == [
        "scenario.categories: unknown category 'singel_hop'; did you mean 'single_hop'?"
    ]


def test_quirks_of_the_data_are_survived(tmp_path: Path) -> None:
    odd = question(4, "D1:1; D2:1", "D", "D:10:1", "D1:02", "D1:1", "D7:3", answer=2022)
    (found,), problems = load(tmp_path, sample(odd))
    assert found.probes[0].answers == ("2022",)
    assert found.probes[0].evidence == ("D1:1", "D2:1", "D10:1", "D1:2")
    assert problems == [
        "l.json: [0].qa[0].evidence: no turn has the id 'D'; left out",
        "l.json: [0].qa[0].evidence: no turn has the id 'D7:3'; left out",
    ]


def test_numbers_of_sessions_that_are_none(tmp_path: Path) -> None:
    digits = "9" * 5000  # more than Python makes a number of
    odd = sample(question(4, f"D{digits}:1", f"D1:{digits}", "D1:1", answer="x"))
    odd["conversation"][f"session_{digits}"] = [utterance("D9:1", "Ann", "Never said.")]
    (found,), problems = load(tmp_path, odd)
    assert len(found.turns) == 4
    assert found.probes[0].evidence == ("D1:1",)
    assert problems == [
        f"l.json: [0].qa[0].evidence: no turn has the id 'D{digits}:1'; left out",
        f"l.json: [0].qa[0].evidence: no turn has the id 'D1:{digits}'; left out",
    ]


def test_a_question_with_an_error_is_left_out(tmp_path: Path) -> None:
    wrong = [question(6), question("4"), question(True), question(4, answer=None), {"category": 5, "question": "?"}, 3]
    (found,), problems = load(tmp_path, sample(*wrong, question(4)))
    assert [probe.id for probe in found.probes] == ["qa6"]
    names = "1 (multi_hop), 2 (temporal), 3 (open_domain), 4 (single_hop), 5 (adversarial)"
    assert problems == [
        f"l.json: [0].qa[0].category: expected one of {names}, found number 6",
        f'l.json: [0].qa[1].category: expected one of {names}, found text "4"',
        f"l.json: [0].qa[2].category: expected one of {names}, found true",
        "l.json: [0].qa[3].answer: expected text, found null",
        "l.json: [0].qa[4].adversarial_answer: expected text, found nothing",
        "l.json: [0].qa[5].question: expected text, found nothing",
        f"l.json: [0].qa[5].category: expected one of {names}, found nothing",
    ]


def test_a_conversation_with_an_error_is_left_out(tmp_path: Path) -> None:
    untimed = sample(question(1), sample_id="odd")
    untimed["conversation"]["session_1_date_time"] = "yesterday"
    silent = sample(sample_id="silent", conversation={"session_1": [utterance("D1:1", "Ann", "")]})
    samples = [sample(sample_id=None), sample(conversation=3), sample(conversation={}), silent, 7, untimed, untimed]
    found, problems = load(tmp_path, *samples)
    assert [each.id for each in found] == ["odd"]
    assert found[0].turns[0].said_at == ""
    time = "expected a time such as '1:56 pm on 8 May, 2023', found"
    assert problems == [
        "l.json: [0].sample_id: expected text, found null",
        "l.json: [1].conversation: expected an object, found number 3",
        "l.json: [2].conversation: expected at least one session with turns, found none",
        f"l.json: [3].conversation.session_1_date_time: {time} ''; left out",
        'l.json: [3].conversation.session_1[0].text: expected text that is not blank, found text ""',
        "l.json: [4]: expected an object, found number 7",
        f"l.json: [5].conversation.session_1_date_time: {time} 'yesterday'; left out",
        f"l.json: [6].conversation.session_1_date_time: {time} 'yesterday'; left out",
        "l.json: [6].id: 'odd' is already the id at l.json, [5]; the first one counts",
    ]


# --- corrected labels -------------------------------------------------------------------------------

CORRECTED = {
    "question_id": "locomo_7_qa1",
    "question": "When?",
    "correct_answer": "in June (D2:1 says so)",
    "correct_evidence": ["D2:1", "D9:9"],
}
ELSEWHERE = CORRECTED | {"question_id": "locomo_8_qa1", "question": "Why?", "correct_answer": "because"}


def test_original_labels_need_no_corrections(tmp_path: Path) -> None:
    (found,), problems = load(tmp_path, sample(question(1), question(1, "D1:1")), errors=[CORRECTED])
    assert [(probe.answers, probe.patched) for probe in found.probes] == [(("in May",), None)] * 2
    assert problems == []


def test_corrected_labels(tmp_path: Path) -> None:
    two = sample(question(1), question(1, "D1:1"))
    (found,), problems = load(tmp_path, two, errors=[CORRECTED, ELSEWHERE], labels="patched")
    assert [(probe.answers, probe.evidence, probe.patched) for probe in found.probes] == [
        (("in May",), (), None),
        (("in June", "in June (D2:1 says so)"), ("D2:1",), None),
    ]
    assert problems == ["label_errors.json: [0].correct_evidence: no turn has the id 'D9:9'; left out"]


def test_both_labels_of_the_same_probe(tmp_path: Path) -> None:
    (found,), _ = load(tmp_path, sample(question(1), question(1, "D1:1")), errors=[CORRECTED], labels="both")
    same, changed = found.probes
    assert same.patched == Probe("qa0", "When?", 4, answers=("in May",), category="multi_hop")
    assert (changed.answers, changed.evidence) == (("in May",), ("D1:1",))
    assert changed.patched is not None
    assert (changed.patched.id, changed.patched.evidence) == ("qa1", ("D2:1",))
    assert changed.patched.answers == ("in June", "in June (D2:1 says so)")
    assert changed.patched.patched is None


def test_corrections_may_stand_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "l.json").write_text("[]", encoding="utf-8")
    (tmp_path / "c.json").write_text("{}", encoding="utf-8")
    scenarios = LocomoScenarios(path=str(tmp_path / "l.json"), label_errors=str(tmp_path / "c.json"), labels="both")
    assert scenarios.preflight() == []
    with pytest.raises(DataError) as caught:
        scenarios.load()
    assert str(caught.value) == f"scenario.label_errors: {tmp_path}/c.json: expected a list of corrections"
    missing = LocomoScenarios(path=str(tmp_path / "no.json"), labels="both").preflight()
    assert [str(each) for each in missing] == [
        f"scenario.path: file not found: {tmp_path}/no.json",
        f"scenario.label_errors: file not found: {tmp_path}/label_errors.json",
    ]
    assert LocomoScenarios(path=str(tmp_path / "l.json")).preflight() == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", ": not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("{}", " is not LoCoMo data: expected a list of conversations"),
    ],
)
def test_files_that_are_no_locomo_data(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "l.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        LocomoScenarios(path=str(path)).load()
    assert str(caught.value).startswith(f"scenario.path: {path}{message}")


def test_nothing_usable(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, 7)
    path = tmp_path / "l.json"
    assert str(caught.value) == (
        f"scenario.path: no conversations in {path}; its lines have errors:\n"
        f"  {path}: [0]: expected an object, found number 7"
    )
    with pytest.raises(DataError, match="strict=true"):
        load(tmp_path, 7, sample(question(1)), strict=True)


# --- the data itself --------------------------------------------------------------------------------


@needs_data
def test_the_whole_file_loads() -> None:
    conversations, problems = LocomoScenarios(path=str(SHARED), labels="both").load()
    assert [(each.id, len(each.turns), len(each.probes)) for each in conversations] == [
        ("conv-26", 419, 199),
        ("conv-30", 369, 105),
        ("conv-41", 663, 193),
        ("conv-42", 629, 260),
        ("conv-43", 680, 242),
    ]
    probes = [probe for each in conversations for probe in each.probes]
    assert Counter(probe.category for probe in probes) == {
        "single_hop": 418,
        "adversarial": 237,
        "temporal": 156,
        "multi_hop": 142,
        "open_domain": 46,
    }
    assert [str(each).removeprefix(f"{SHARED}: ") for each in problems] == [
        "[3].qa[58].evidence: no turn has the id 'D10:19'; left out",
        "[3].qa[88].evidence: no turn has the id 'D'; left out",
    ]
    assert sum(len(probe.evidence) for probe in probes) == 1349
    assert all(turn.said_at for each in conversations for turn in each.turns)


@needs_data
def test_every_correction_of_these_conversations_is_taken() -> None:
    corrections = json.loads(SHARED.with_name("label_errors.json").read_text(encoding="utf-8"))
    here = [each for each in corrections if int(each["question_id"].split("_")[1]) < 5]  # of ten conversations
    conversations, _ = LocomoScenarios(path=str(SHARED), labels="both").load()
    probes = {f"locomo_{n}_{probe.id}": probe for n, each in enumerate(conversations) for probe in each.probes}
    assert len(here) == 85
    for correction in here:
        patched = probes[correction["question_id"]].patched
        assert patched is not None
        assert patched.question == correction["question"]
        assert correction["correct_answer"] in patched.answers
        assert set(patched.evidence) == set(correction["correct_evidence"])
