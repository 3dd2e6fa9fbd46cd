"""What holds for a context of any memory and any budget."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.domains.memory.context import NAMES, ContextBuilder
from runner.domains.memory.records import Entity, MemoryContent
from runner.records import Context
from tests.runner.domains.memory.counted import Counted, ids, turn

alphabet = st.characters(codec=None) | st.sampled_from(list(" .\n가나다12ab:"))
some_text = st.text(alphabet, max_size=120)
some_turns = st.lists(st.tuples(some_text, some_text), max_size=6)
budgets = st.integers(min_value=0, max_value=60)


def remembering(memory: str, said: Sequence[tuple[str, str]], found: Sequence[tuple[str, str]]) -> MemoryContent:
    earlier = tuple(turn(n, *texts) for n, texts in enumerate(found, 1))
    recent = tuple(turn(n, *texts) for n, texts in enumerate(said, 1 + len(found)))
    return MemoryContent(memory, tuple(Entity(user, answer, 1) for user, answer in found), recent, earlier[::-1])


@settings(max_examples=150, deadline=None)
@given(some_text, some_turns, some_turns, some_text, budgets, st.sampled_from(["o200k_base", "estimate"]))
def test_no_section_is_over_its_budget_and_the_question_is_whole(
    memory: str,
    said: list[tuple[str, str]],
    found: list[tuple[str, str]],
    question: str,
    budget: int,
    encoding: str,
) -> None:
    cut = ("memory_tokens", "entities_tokens", "recent_tokens", "retrieved_tokens", "documents_tokens")
    builder = ContextBuilder(**dict.fromkeys(cut, budget), encoding=encoding)  # type: ignore[arg-type]
    chunks = [Context(f"c{n}", text, title) for n, (title, text) in enumerate(found)]
    built = builder.build(remembering(memory, said, found), question, documents=chunks)
    assert [section.name for section in built.sections] == list(NAMES)
    for section in built.sections[:5]:
        assert section.tokens <= budget
    assert built.section("question").text == question.encode("utf-8", "replace").decode("utf-8")
    assert built.tokens == sum(section.tokens for section in built.sections)
    numbers = [int(id.removeprefix("turn-")) for id in ids(built) if id.startswith("turn-")]
    assert numbers == sorted(numbers)
    recent = [number for number in numbers if number > len(found)]
    assert recent == list(range(1 + len(found) + len(said) - len(recent), 1 + len(found) + len(said)))


@settings(max_examples=100, deadline=None)
@given(some_text, some_turns, budgets, budgets)
def test_a_larger_budget_shows_no_fewer_turns(memory: str, said: list[tuple[str, str]], one: int, other: int) -> None:
    shown = [
        len(Counted(recent_tokens=budget).build(remembering(memory, said, []), "?").contexts)
        for budget in sorted((one, other))
    ]
    assert shown[0] <= shown[1]


@settings(max_examples=100, deadline=None)
@given(some_text, some_turns, some_turns)
def test_what_fits_is_shown_whole(memory: str, said: list[tuple[str, str]], found: list[tuple[str, str]]) -> None:
    remembered = remembering(memory, said, found)
    wide = Counted(memory_tokens=10**6, entities_tokens=10**6, recent_tokens=10**6, retrieved_tokens=10**6)
    built = wide.build(remembered, "?")
    assert {section.cut for section in built.sections} == {""}
    assert len([id for id in ids(built) if id.startswith("turn-")]) == len(said) + len(found)
