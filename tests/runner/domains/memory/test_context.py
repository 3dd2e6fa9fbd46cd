"""Tokens are words here where they are counted by hand: `Counted` counts what stands between white space."""

import pytest

from runner.domains.memory.context import NAMES
from runner.domains.memory.records import Entity, MemoryContent
from runner.records import Context
from tests.runner.domains.memory.counted import REMEMBERED, Counted, ids, turn

# --- what it is made of ---------------------------------------------------------------------------


def test_five_sections_in_their_order_with_their_budgets() -> None:
    built = Counted().build(REMEMBERED, "How much is left?")
    assert [(section.name, section.tokens, section.budget, section.cut) for section in built.sections] == [
        ("memory", 9, 500, ""),
        ("entities", 6, 200, ""),
        ("recent", 16, 1500, ""),  # User: What about January? + Assistant: It was $12,500. + 5 + 3
        ("retrieved", 11, 1500, ""),
        ("question", 4, 100, ""),
    ]
    assert built.tokens == 46
    assert sum(section.budget or 0 for section in built.sections) == 3800


def test_what_stands_later_is_newer() -> None:
    built = Counted().build(REMEMBERED, "How much is left?")
    assert built.contexts == (
        Context("turn-2", "User: We use Seoul."),
        Context("turn-4", "User: EC2 is 65 %.\nAssistant: Noted."),
        Context("memory", "The user analyses AWS costs. The budget is $10,000."),
        Context("entities", "- provider: aws\n- budget: $10,000"),
        Context("turn-8", "User: What about January?\nAssistant: It was $12,500."),
        Context("turn-9", "User: And the RI coverage?\nAssistant: 60 %."),
    )


def test_sections_show_recent_turns_oldest_first_and_retrieved_ones_best_first() -> None:
    built = Counted().build(REMEMBERED, "How much is left?")
    assert built.section("recent").text.startswith("User: What about January?")
    assert built.section("retrieved").text == "User: EC2 is 65 %.\nAssistant: Noted.\n\nUser: We use Seoul."


def test_judges_get_memory_and_turns_beside_entities() -> None:
    built = Counted().build(REMEMBERED, "How much is left?")
    assert built.entities_text == "- provider: aws\n- budget: $10,000"
    assert built.memory_text.startswith("User: We use Seoul.\n\nUser: EC2 is 65 %.\nAssistant: Noted.\n\nThe user")
    assert "provider" not in built.memory_text


def test_nothing_remembered_leaves_no_context() -> None:
    built = Counted().build(MemoryContent(), "예산은?")
    assert built.contexts == ()
    assert (built.tokens, built.memory_text, built.entities_text) == (1, "", "")
    assert {section.cut for section in built.sections} == {""}


# --- what is cut ----------------------------------------------------------------------------------


def test_a_summary_loses_its_last_sentences() -> None:
    remembered = MemoryContent(memory="One two three. Four five. Six seven eight.")
    for budget, kept, cut in [
        (8, "One two three. Four five. Six seven eight.", ""),
        (7, "One two three. Four five.", "1 sentence"),
        (5, "One two three. Four five.", "1 sentence"),
        (4, "One two three.", "2 sentences"),
        (0, "", "3 sentences"),
    ]:
        section = Counted(memory_tokens=budget).build(remembered, "?").section("memory")
        assert (section.text, section.cut) == (kept, cut)


def test_a_first_sentence_over_the_budget_is_cut_at_a_space_and_marked() -> None:
    remembered = MemoryContent(memory="One two three four five six. Seven.")
    section = Counted(memory_tokens=5).build(remembered, "?").section("memory")
    assert (section.text, section.tokens, section.cut) == (
        "One two three four […]",
        5,
        "the end of 1 sentence, 1 sentence",
    )


def test_the_oldest_entities_go_first() -> None:
    remembered = MemoryContent(entities=tuple(Entity(f"k{n}", f"v{n}", n) for n in range(1, 6)))  # three words each
    for budget, kept, cut in [(15, 5, ""), (14, 4, "1 entity"), (9, 3, "2 entities"), (1, 0, "5 entities")]:
        section = Counted(entities_tokens=budget).build(remembered, "?").section("entities")
        assert section.text.splitlines() == [f"- k{n}: v{n}" for n in range(6 - kept, 6)]
        assert section.cut == cut


def test_one_huge_entity_is_cut_short() -> None:
    remembered = MemoryContent(entities=(Entity("a", "b", 1), Entity("note", "word " * 100, 2)))
    section = Counted(entities_tokens=5).build(remembered, "?").section("entities")
    assert (section.text, section.tokens, section.cut) == (
        "- note: word word […]",
        5,
        "the end of 1 entity, 1 entity",
    )


def test_the_oldest_turns_go_first_and_whole() -> None:
    remembered = MemoryContent(recent=tuple(turn(n, "one two", "three four") for n in range(1, 5)))  # six words each
    for budget, kept, cut in [(24, [1, 2, 3, 4], ""), (23, [2, 3, 4], "1 turn"), (12, [3, 4], "2 turns")]:
        built = Counted(recent_tokens=budget).build(remembered, "?")
        assert ids(built) == [f"turn-{n}" for n in kept]
        assert built.section("recent").cut == cut
        assert built.section("recent").tokens == 6 * len(kept)


def test_an_older_turn_is_not_shown_where_a_newer_one_is_not() -> None:
    remembered = MemoryContent(recent=(turn(1, "a"), turn(2, "b " * 50), turn(3, "c")))
    built = Counted(recent_tokens=20).build(remembered, "?")
    assert ids(built) == ["turn-3"]
    assert built.section("recent").cut == "2 turns"


def test_a_newest_turn_over_the_budget_is_cut_at_a_sentence() -> None:
    long = turn(2, "One two three four. Five six seven eight nine ten. " + "More words here. " * 20, "Noted.")
    built = Counted(recent_tokens=13).build(MemoryContent(recent=(turn(1, "a"), long)), "?")
    assert built.contexts == (Context("turn-2", "User: One two three four. Five six seven eight nine ten. […]"),)
    assert built.section("recent").cut == "the end of 1 turn, 1 turn"


def test_the_worst_retrieved_turns_go_first() -> None:
    remembered = MemoryContent(retrieved=tuple(turn(n, "one two") for n in (7, 3, 9)))
    built = Counted(retrieved_tokens=6).build(remembered, "?")
    assert ids(built) == ["turn-3", "turn-7"]
    assert built.section("retrieved").cut == "1 turn"


def test_no_section_gets_what_another_leaves() -> None:
    remembered = MemoryContent(recent=(turn(1, "one two"), turn(2, "one two")))
    built = Counted(memory_tokens=500, recent_tokens=3).build(remembered, "?")
    assert ids(built) == ["turn-2"]


def test_a_question_is_never_cut_and_said_to_be_over() -> None:
    built = Counted(question_tokens=1).build(MemoryContent(), "How much is left?")
    assert built.section("question").text == "How much is left?"
    assert built.over == {"question": 3}
    assert Counted().build(REMEMBERED, "How much?").over == {}


def test_the_prompt_of_a_model_is_a_section_and_the_total_is_what_is_sent() -> None:
    builder = Counted(system_tokens=2)
    built = builder.build(REMEMBERED, "How much?")
    assert builder.add_prompt(built, ()) is built and built.sent_tokens is None
    sent = builder.add_prompt(built, (("system", "Answer in short."), ("user", "one two three")))
    system = sent.section("system")
    assert (system.text, system.tokens, system.budget) == ("Answer in short.", 3, 2)
    assert (sent.tokens, sent.sent_tokens, sent.over) == (6, 6, {"system": 1})
    assert sent.remembered_tokens == built.remembered_tokens == built.tokens - 2


def test_without_a_budget_nothing_is_cut() -> None:
    big = MemoryContent(
        memory="A sentence. " * 400,
        entities=tuple(Entity(f"k{n}", "v " * 50, n) for n in range(30)),
        recent=tuple(turn(n, "word " * 300) for n in range(1, 20)),
        is_budgeted=False,
    )
    built = Counted().build(big, "word " * 200)
    assert {(section.budget, section.cut) for section in built.sections} == {(None, "")}
    assert (len(built.contexts), built.over) == (21, {})


def test_a_budget_of_nothing_shows_nothing() -> None:
    none = Counted(memory_tokens=0, entities_tokens=0, recent_tokens=0, retrieved_tokens=0, question_tokens=0)
    built = none.build(REMEMBERED, "How much?")
    assert built.contexts == ()
    assert [section.cut for section in built.sections] == ["2 sentences", "2 entities", "2 turns", "2 turns", ""]
    assert built.section("question").text == "How much?"


# --- documents beside the memory ------------------------------------------------------------------


CHUNKS = [
    Context("ri#0", "Buy what runs all year.", "Reserved instances"),
    Context("tag#2", "Tag every thing.", "Tags"),
]


def test_documents_are_a_section_of_their_own_before_the_question() -> None:
    built = Counted().build(REMEMBERED, "How much is left?", documents=CHUNKS)
    assert [section.name for section in built.sections] == list(NAMES)
    found = built.section("documents")
    assert (found.tokens, found.budget, found.cut) == (11, 1500, "")  # 2 + 5 and 1 + 3
    assert found.text == "# Reserved instances\nBuy what runs all year.\n\n# Tags\nTag every thing."
    assert list(built.documents) == CHUNKS
    assert ids(built) == ids(Counted().build(REMEMBERED, "How much is left?"))  # documents are no memory


def test_the_last_chunks_go_first_and_the_best_one_is_cut_short() -> None:
    built = Counted(documents_tokens=10).build(REMEMBERED, "?", documents=CHUNKS)
    assert ([context.id for context in built.documents], built.section("documents").cut) == (["ri#0"], "1 chunk")
    built = Counted(documents_tokens=6).build(REMEMBERED, "?", documents=CHUNKS)
    assert [context.text for context in built.documents] == ["Buy what runs […]"]
    assert built.section("documents").cut == "the end of 1 chunk, 1 chunk"
    assert Counted(documents_tokens=0).build(REMEMBERED, "?", documents=CHUNKS).documents == ()


def test_documents_keep_to_their_budget_beside_a_memory_that_has_none() -> None:
    whole = MemoryContent(recent=REMEMBERED.recent, is_budgeted=False)
    built = Counted(recent_tokens=1, documents_tokens=7).build(whole, "?", documents=CHUNKS)
    assert (built.section("recent").budget, built.section("recent").tokens) == (None, 16)
    assert (built.section("documents").budget, built.section("documents").tokens) == (7, 7)


def test_nothing_found_is_an_empty_section_and_nothing_looked_for_is_none() -> None:
    built = Counted().build(REMEMBERED, "?", documents=[])
    assert (built.section("documents").text, built.section("documents").tokens) == ("", 0)
    with pytest.raises(KeyError):
        Counted().build(REMEMBERED, "?").section("documents")
