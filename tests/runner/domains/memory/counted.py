"""Tokens that can be counted by hand, and a memory to make a context of."""

from runner.domains.memory.context import BuiltContext, ContextBuilder
from runner.domains.memory.records import ChatTurn, Entity, MemoryContent
from runner.llm.tokens import Counter


def words(text: str) -> int:
    return len(text.split())


class Counted(ContextBuilder):
    """A context builder that counts words."""

    @property
    def count(self) -> Counter:  # type: ignore[override]
        return words


def turn(number: int, user: str, assistant: str = "", **more: str) -> ChatTurn:
    return ChatTurn(user, assistant, number=number, **more)


def texts(built: BuiltContext) -> list[str]:
    return [context.text for context in built.contexts]


def ids(built: BuiltContext) -> list[str]:
    return [context.id for context in built.contexts]


REMEMBERED = MemoryContent(
    memory="The user analyses AWS costs. The budget is $10,000.",
    entities=(Entity("provider", "aws", 3), Entity("budget", "$10,000", 5)),
    recent=(turn(8, "What about January?", "It was $12,500."), turn(9, "And the RI coverage?", "60 %.")),
    retrieved=(turn(4, "EC2 is 65 %.", "Noted."), turn(2, "We use Seoul.")),
)
