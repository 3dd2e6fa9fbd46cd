import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from runner.data.problems import ProblemLog
from runner.domains.memory.records import ChatTurn, Conversation, Fact, Probe
from runner.domains.memory.scenario_files import read_scenarios
from runner.errors import DataError

KEY = "scenario.path"


def conversation(**changes: Any) -> dict[str, Any]:
    """Two turns, of which the second replaces a fact of the first, and a question."""
    turns = [
        {"user": "예산은 1억이에요.", "assistant": "네."},
        {"user": "예산이 1.5억으로 늘었어요.", "assistant": "네."},
    ]
    facts = [
        {"id": "old", "key": "예산", "value": "1억", "turn": 1},
        {"id": "new", "key": "예산", "value": "1.5억", "turn": 2},
    ]
    return {"id": "c", "turns": turns, "facts": facts, "probes": [probe()]} | changes


def probe(**changes: Any) -> dict[str, Any]:
    return {"id": "p", "question": "예산은?", "expected": ["new"], "forbidden": ["old"]} | changes


def read(folder: Path, *lines: Any, strict: bool = False) -> tuple[list[Conversation], list[str]]:
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    log = ProblemLog(strict=strict)
    found = read_scenarios([str(path)], KEY, log)
    return found, [str(problem).replace(f"{folder}/", "") for problem in log.problems]


def test_a_conversation_of_turns(tmp_path: Path) -> None:
    (found,), problems = read(tmp_path, conversation(language="ko", tenant="a:b", tags=["x"]))
    assert found == Conversation(
        id="c",
        turns=(ChatTurn("예산은 1억이에요.", "네.", number=1), ChatTurn("예산이 1.5억으로 늘었어요.", "네.", number=2)),
        probes=(Probe("p", "예산은?", 2, expected=("new",), forbidden=("old",)),),
        facts={"old": Fact("old", "1억", 1, "예산"), "new": Fact("new", "1.5억", 2, "예산")},
        language="ko",
        tenant="a:b",
        tags=("x",),
    )
    assert problems == []


def test_sessions_are_one_row_of_turns_with_their_dates(tmp_path: Path) -> None:
    sessions = [
        {"date": "2026-11-03", "turns": [{"user": "a", "id": "D1:1"}, {"text": "b", "speaker": "Ann"}]},
        {"turns": [{"user": "c", "date": "2026-11-04T09:30"}, {"user": "d"}]},
    ]
    asked = {"id": "p", "question": "?", "after_turn": 3, "evidence": ["D1:1", "turn-2"]}
    (found,), problems = read(tmp_path, {"id": "c", "sessions": sessions, "probes": [asked]})
    assert found.turns == (
        ChatTurn("a", said_at="2026-11-03", id="D1:1", number=1),
        ChatTurn("b", speaker="Ann", said_at="2026-11-03", number=2),
        ChatTurn("c", said_at="2026-11-04T09:30", number=3),
        ChatTurn("d", number=4),
    )
    assert found.probes == (Probe("p", "?", 3, evidence=("D1:1", "turn-2")),)
    assert (found.tenant, found.language, problems) == ("default", None, [])


def test_everything_about_a_probe(tmp_path: Path) -> None:
    asked = probe(
        after_turn=2, answers=["1.5억"], evidence=["turn-2"], canaries=["ZX-1"], category="update", answerable=True
    )
    without = {"id": "q", "question": "?", "answerable": False, "forbidden": ["old"]}
    (found,), problems = read(tmp_path, conversation(probes=[without, asked]))
    assert found.probes == (
        Probe("q", "?", 2, answerable=False, forbidden=("old",)),
        Probe("p", "예산은?", 2, True, ("new",), ("old",), ("1.5억",), ("turn-2",), ("ZX-1",), "update"),
    )
    assert problems == []


def test_probes_come_in_the_order_in_which_they_are_asked(tmp_path: Path) -> None:
    early = {"id": "early", "question": "?", "after_turn": 1, "expected": ["old"]}
    (found,), _ = read(tmp_path, conversation(probes=[probe(), probe(id="same"), early]))
    assert [each.id for each in found.probes] == ["early", "p", "same"]


def test_texts_and_ids_are_composed(tmp_path: Path) -> None:
    apart = unicodedata.normalize("NFD", "가")
    facts = [{"id": apart, "value": apart, "turn": 1}]
    asked = probe(id=apart, expected=["가"], forbidden=[])
    (found,), problems = read(tmp_path, {"id": apart, "turns": [{"user": "가"}], "facts": facts, "probes": [asked]})
    assert (found.id, found.probes[0].id, found.facts["가"].value) == ("가", "가", "가")
    assert problems == []


# --- what is wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": None}, "id: expected text, found null"),
        ({"turns": []}, "turns: expected at least one turn, found none"),
        ({"turns": None}, "turns: expected at least one turn, found none"),
        ({"sessions": [{"turns": [{"user": "a"}]}]}, "turns: expected either turns or sessions, found both"),
        ({"turns": [{"user": " "}]}, 'turns[0].user: expected text that is not blank, found text " "'),
        ({"turns": [{"assistant": "a"}]}, "turns[0].user: expected text, found nothing"),
        ({"turns": [{"user": "a", "assistant": 1}]}, "turns[0].assistant: expected text, found number 1"),
        ({"turns": ["a"]}, 'turns[0]: expected an object, found text "a"'),
        (
            {"turns": [{"user": "a", "date": "3 Nov"}]},
            'turns[0].date: expected a date or time in ISO 8601 (2026-11-03, 2026-11-03T09:30), found text "3 Nov"',
        ),
        ({"turns": None, "sessions": [{"turns": [7]}]}, "sessions[0].turns[0]: expected an object, found number 7"),
        (
            {"facts": [{"id": "f", "value": "1억"}]},
            "facts[0].turn: expected the number of the turn that says it, found nothing",
        ),
        (
            {"facts": [{"id": "f", "value": "1억", "turn": 0}]},
            "facts[0].turn: expected a whole number from 1, found number 0",
        ),
        ({"facts": [{"id": "f", "value": "1억", "turn": 3}]}, "facts[0].turn: expected a turn from 1 to 2, found 3"),
        (
            {"facts": [{"id": "f", "value": "1억", "turn": 1, "aliases": [1]}]},
            "facts[0].aliases[0]: expected text, found number 1",
        ),
        (
            {"facts": [{"id": "f", "value": "1억", "turn": 1}] * 2},
            "facts: the id 'f' is there 2 times; expected each once",
        ),
        ({"probes": [probe(), probe()]}, "probes: the id 'p' is there 2 times; expected each once"),
        (
            {"turns": [{"user": "a", "id": "t"}, {"user": "b", "id": "t"}], "facts": [], "probes": []},
            "turns: the id 't' is there 2 times; expected each once",
        ),
        ({"probes": [probe(after_turn=3)]}, "probes[0].after_turn: expected at most the number of turns (2), found 3"),
        ({"probes": [probe(after_turn=True)]}, "probes[0].after_turn: expected a whole number from 1, found true"),
        ({"probes": [probe(answerable="no")]}, 'probes[0].answerable: expected true or false, found text "no"'),
        (
            {"probes": [probe(answerable=False)]},
            "probes[0].expected: a probe with answerable=false expects no facts, found some",
        ),
        (
            {"probes": [probe(answerable=False, expected=[], answers=["1"])]},
            "probes[0].answers: a probe with answerable=false has no answers, found some",
        ),
        ({"probes": [probe(expected=["neu"])]}, "probes[0].expected[0]: no fact has the id 'neu'; did you mean 'new'?"),
        ({"probes": [probe(forbidden=["x"])]}, "probes[0].forbidden[0]: no fact has the id 'x'; known: new, old"),
        ({"probes": [probe(forbidden=["old", "new"])]}, "probes[0].forbidden[1]: 'new' is expected and forbidden"),
        (
            {"probes": [probe(expected=["old"], forbidden=[])]},
            "probes[0].expected[0]: 'old' was replaced by 'new' in turn 2, before the probe",
        ),
        (
            {"probes": [probe(after_turn=1, forbidden=[])]},
            "probes[0].expected[0]: 'new' is said in turn 2, but the probe comes after turn 1",
        ),
        (
            {"probes": [probe(after_turn=1, expected=[])]},
            "probes[0].forbidden[0]: 'old' is still true after turn 1",
        ),
        (
            {"probes": [probe(evidence=["turn-9"])]},
            "probes[0].evidence[0]: no turn has the id 'turn-9'; did you mean 'turn-2'?",
        ),
        (
            {"probes": [probe(after_turn=1, expected=[], forbidden=[], evidence=["turn-2"])]},
            "probes[0].evidence[0]: 'turn-2' is turn 2, but the probe comes after turn 1",
        ),
        (
            {"probes": [probe(canaries=["ZX-1", "늘었어요"])]},
            "probes[0].canaries[1]: '늘었어요' is said in turn 2 of this very conversation",
        ),
        ({"tags": "x"}, 'tags: expected a list of texts, found text "x"'),
        ({"tenant": 1}, "tenant: expected text, found number 1"),
    ],
)
def test_an_error_leaves_out_its_conversation(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    found, problems = read(tmp_path, conversation(**changes), conversation(id="right"))
    assert problems == [f"s.jsonl:1: {problem}"]
    assert [each.id for each in found] == ["right"]


def test_a_fact_may_be_forbidden_that_never_was_one_of_a_key(tmp_path: Path) -> None:
    turns = [{"user": "예산은 1억이에요."}, {"user": '"예산은 0원"이라는 메일이 왔어요.'}]
    facts = [{"id": "real", "key": "예산", "value": "1억", "turn": 1}, {"id": "forged", "value": "0원", "turn": 2}]
    asked = probe(expected=["real"], forbidden=["forged"])
    (found,), problems = read(tmp_path, conversation(turns=turns, facts=facts, probes=[asked]))
    assert (found.probes[0].forbidden, problems) == (("forged",), [])


def test_a_forbidden_fact_may_be_one_that_is_said_later(tmp_path: Path) -> None:
    asked = probe(after_turn=1, expected=["old"], forbidden=["new"])
    (found,), problems = read(tmp_path, conversation(probes=[asked]))
    assert (found.probes[0].forbidden, problems) == (("new",), [])


def test_warnings_leave_the_conversation_in(tmp_path: Path) -> None:
    facts = [*conversation()["facts"], {"id": "x", "value": "2억", "aliases": ["이억"], "turn": 1}]
    lines = [conversation(facts=facts, tenat="a"), conversation(id="d", probes=[])]
    found, problems = read(tmp_path, *lines)
    assert [each.id for each in found] == ["c", "d"]
    assert problems == [
        "s.jsonl:1: tenat: unknown, ignored; did you mean 'tenant'?",
        "s.jsonl:1: facts[2].value: turn 1 does not say '2억' or '이억'",
        "s.jsonl:2: probes: the conversation has none, so it has no cases",
    ]


def test_a_fact_is_said_digit_for_digit(tmp_path: Path) -> None:
    facts = [{"id": "f", "value": "1억", "turn": 2}]
    _, problems = read(tmp_path, conversation(facts=facts, probes=[]))
    assert problems[0] == "s.jsonl:1: facts[0].value: turn 2 does not say '1억'"  # 1.5억 is another amount


def test_what_the_assistant_says_is_said_too(tmp_path: Path) -> None:
    turns = [{"user": "11월은?", "assistant": "11월 비용은 $12,500입니다."}]
    facts = [{"id": "f", "value": "$12,500", "turn": 1}]
    _, problems = read(tmp_path, conversation(turns=turns, facts=facts, probes=[probe(expected=["f"], forbidden=[])]))
    assert problems == []


def test_an_id_counts_once_in_all_files(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        lines = [conversation(), conversation(id=name)]
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    log = ProblemLog()
    found = read_scenarios([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], KEY, log)
    assert [each.id for each in found] == ["c", "a.jsonl", "b.jsonl"]
    assert [str(each) for each in log.problems] == [
        f"{tmp_path}/b.jsonl:1: id: 'c' is already the id at {tmp_path}/a.jsonl:1; the first one counts"
    ]


def test_strict_stops_at_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, conversation(), conversation(id=None), strict=True)
    assert str(caught.value) == (
        f"1 error in the data files (strict=true stops at them):\n  {tmp_path}/s.jsonl:2: id: expected text, found null"
    )


def test_nothing_usable(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, conversation(id=5))
    assert str(caught.value) == (
        f"scenario.path: no conversations in {tmp_path}/s.jsonl; its lines have errors:\n"
        f"  {tmp_path}/s.jsonl:1: id: expected text that is not blank, found number 5"
    )
    with pytest.raises(DataError) as caught:
        read_scenarios([], KEY, ProblemLog())
    assert str(caught.value) == "scenario.path: expected at least one file, found an empty list"
    with pytest.raises(DataError, match=r"^scenario\.path: file not found: nowhere\.yaml"):
        read_scenarios(["nowhere.yaml"], KEY, ProblemLog())


# --- questions that are turns -------------------------------------------------------------------------


def test_a_probe_may_ask_what_a_turn_asks(tmp_path: Path) -> None:
    asked = [{"id": "second", "turn": 2, "expected": ["old"], "notes": ["guide/budget"]}, {"id": "first", "turn": 1}]
    (found,), problems = read(tmp_path, conversation(probes=asked))
    assert found.probes == (
        Probe("first", "예산은 1억이에요.", 0),
        Probe("second", "예산이 1.5억으로 늘었어요.", 1, expected=("old",), notes=("guide/budget",)),
    )
    assert problems == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"turn": 3}, "probes[0].turn: expected a turn from 1 to 2, found 3"),
        ({"turn": 0}, "probes[0].turn: expected a whole number from 1, found number 0"),
        ({"turn": 2, "question": "?"}, "probes[0].question: expected either turn or question, found both"),
        ({"turn": 2, "after_turn": 1}, "probes[0].after_turn: expected either turn or after_turn, found both"),
        ({"turn": 2, "expected": ["new"]}, "probes[0].expected[0]: 'new' is said in turn 2, but the probe comes after"),
        ({"turn": 2, "notes": "budget"}, 'probes[0].notes: expected a list of texts, found text "budget"'),
    ],
)
def test_what_is_wrong_with_the_question_of_a_turn(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    bad = conversation(id="bad", probes=[{"id": "p"} | changes])
    _, problems = read(tmp_path, bad, conversation())
    assert problems[0].startswith(f"s.jsonl:1: {problem}")
