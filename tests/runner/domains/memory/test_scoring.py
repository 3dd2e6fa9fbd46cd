"""What code counts of a probe, in words that can be counted by hand."""

from dataclasses import replace

from runner.domains.memory.probing import ProbeCase, ProbedMemory
from runner.domains.memory.records import ChatTurn, Conversation, Entity, MemoryContent, Probe
from runner.domains.memory.replay import Moment, UpkeepPart
from runner.domains.memory.scoring import count_values, evidence_values, facts_lost_at, names
from runner.records import Answer, Timing
from tests.runner.domains.memory.counted import Counted, turn
from tests.runner.domains.memory.talks import budget_talk

REMEMBERED = MemoryContent(
    memory="The budget is $10,000. Lena likes tea.",  # 7 words in 2 sentences
    entities=(Entity("city", "Seoul", 1),),  # "- city: Seoul": 3 words
    recent=(turn(5, "I had soup for lunch."),),  # with "User:", 6 words
)


def values(answer: Answer, remembered: MemoryContent = REMEMBERED) -> dict[str, float | None]:
    conversation = budget_talk()
    case = ProbeCase(conversation, conversation.probes[0])  # what is the budget, after turn 3?
    context = Counted().build(remembered, "What is the budget?")
    moment = Moment(remembered, conversation.turns[:3], [0] * 4, 0, UpkeepPart(), Timing(1.0))
    return count_values(ProbedMemory.of(case, moment, context), moment, context, answer)


def test_sizes_by_hand() -> None:
    """The context is what is sent but the question: 7, 3 and 6 words."""
    found = values(Answer("$10,000"))
    assert (found["memory_sentences"], found["memory_tokens"], found["context_tokens"]) == (2.0, 7.0 + 3.0, 16.0)
    nothing = values(Answer("$10,000"), MemoryContent())
    assert (nothing["memory_sentences"], nothing["memory_tokens"], nothing["context_tokens"]) == (0.0, 0.0, 0.0)


def test_a_refusal_says_nothing_whatever_its_words() -> None:
    found = values(Answer("I do not know of $10,000.", refused=True))
    assert [found[name] for name in ("answer_facts", "exact_match", "contains_answer", "token_f1")] == [0.0] * 4
    assert values(Answer("$10,000"))["answer_facts"] == 1.0


def test_what_is_said_after_a_probe_is_no_evidence_of_it() -> None:
    """Of turns 1 and 5, turn 1 was said before, and turn 5 is not known yet."""
    conversation = budget_talk()
    probe = replace(conversation.probes[0], evidence=("t1", "t5"))
    contexts = {
        "neither": Counted().build(MemoryContent(), "?"),
        "first": Counted().build(MemoryContent(recent=(turn(1, "The budget is $10,000.", id="t1"),)), "?"),
    }
    found = {
        name: evidence_values(ProbeCase(conversation, probe), probe, context, Answer(""))
        for name, context in contexts.items()
    }
    assert {name: each["evidence_recall"] for name, each in found.items()} == {"neither": 0.0, "first": 1.0}


def test_what_applies_to_a_probe() -> None:
    early, late, never = budget_talk().probes
    sizes = ["memory_sentences", "memory_tokens", "context_tokens"]
    answered = ["exact_match", "contains_answer", "token_f1"]
    assert list(names(never)) == sizes
    assert list(names(early)) == [*sizes, "facts_present", "answer_facts", *answered]
    stale = ["stale_present", "answer_stale", "facts_current"]
    assert list(names(late)) == [*sizes, "facts_present", "answer_facts", *stale, *answered]


def test_half_of_what_was_expected_is_lost() -> None:
    probe = budget_talk().probes[1]
    held = {"facts_present": 1.0, "answer_facts": 1.0, "answer_stale": None}
    assert facts_lost_at(probe, held, refused=False, right=True) == "none"
    assert (
        facts_lost_at(probe, {**held, "facts_present": 0.5, "answer_facts": 0.5}, refused=False, right=False)
        == "forgotten"
    )
    assert facts_lost_at(probe, {**held, "answer_facts": 0.5}, refused=False, right=False) == "unused"
    assert facts_lost_at(probe, {**held, "answer_facts": 0.5}, refused=True, right=False) == "refused_known"
    assert (
        facts_lost_at(probe, {**held, "answer_facts": 0.5, "answer_stale": 1.0}, refused=False, right=False)
        == "stale_answer"
    )


# --- what a data set names as evidence -----------------------------------------------------------------

SAID = (
    turn(1, "I adopted a parrot from the shelter in May.", id="D1:1"),
    turn(2, "Nice!", id="D1:2"),
    turn(3, "The parrot learned three songs.", id="D2:1"),
    turn(4, "I sold my car.", id="D3:1"),
)


def about_the_parrot(
    remembered: MemoryContent, said: tuple[ChatTurn, ...] = SAID, **changes: object
) -> dict[str, float | None]:
    probe = Probe(
        "q", "What did Ann adopt?", len(said), answers=("a parrot",), evidence=("D1:1", "D2:1"), category="multi_hop"
    )
    asked = replace(probe, **changes)  # type: ignore[arg-type]
    case = ProbeCase(Conversation("c", said, (asked,), tags=("locomo",)), asked)
    context = Counted().build(remembered, asked.question, "en")
    moment = Moment(remembered, said, [0] * 5, 0, UpkeepPart(), Timing(1.0))
    return count_values(ProbedMemory.of(case, moment, context), moment, context, Answer("She adopted a parrot."))


def test_a_summary_is_credited_with_what_it_holds_of_the_evidence() -> None:
    """In other words, but not with what it does not say, and not with the other turn on the parrot."""
    for memory, held in (
        ("The user adopted a parrot from a shelter.", 0.5),
        ("The user adopted a parrot from a shelter in May. The parrot has learned three songs.", 1.0),
        ("The user sold a car. The weather was nice.", 0.0),
        ("", 0.0),
    ):
        found = about_the_parrot(MemoryContent(memory=memory))
        assert (found["evidence_recall"], found["evidence_held"]) == (0.0, held), memory
    both = about_the_parrot(MemoryContent(memory="The parrot learned three songs.", recent=SAID[:1]))
    assert (both["evidence_recall"], both["evidence_held"]) == (0.5, 1.0)


def test_recall_of_turns_and_sessions_at_cutoffs() -> None:
    """Retrieved first, then the newest: 4 1 | 3 2. Evidence: turns 1 and 3, of sessions D1 and D2."""
    given = MemoryContent(retrieved=(SAID[3], SAID[0]), recent=(SAID[1], SAID[2]))
    found = about_the_parrot(given)
    assert [found[f"turn_recall_at_{k}"] for k in (1, 5, 10)] == [0.0, 1.0, 1.0]
    assert [found[f"session_recall_at_{k}"] for k in (1, 5)] == [0.0, 1.0]
    told = about_the_parrot(given, sessions=("D3",))  # where a data set names the sessions itself
    assert told["session_recall_at_1"] == 1.0
    nothing = about_the_parrot(given, evidence=())
    assert not [name for name in nothing if "_recall_at_" in name]


def test_turns_without_ids_are_evidence_by_their_numbers() -> None:
    said = tuple(replace(each, id="") for each in SAID)
    found = about_the_parrot(MemoryContent(retrieved=said[:1]), said, evidence=("turn-1", "turn-3"))
    assert (found["evidence_recall"], found["turn_recall_at_1"]) == (0.5, 0.5)


def test_one_session_is_nothing_to_recall() -> None:
    found = about_the_parrot(MemoryContent(retrieved=SAID[:1]), SAID[:2], evidence=("D1:1",))
    assert found["turn_recall_at_1"] == 1.0
    assert not [name for name in found if name.startswith("session_recall")]


def test_the_published_f1_stands_beside_ours_for_locomo_alone() -> None:
    """`adopt` and `parrot` of three and one word that count: 2 * 1 / (3 + 1)."""
    assert about_the_parrot(MemoryContent())["locomo_f1"] == 0.5
    assert "locomo_f1" not in values(Answer("$10,000"))
