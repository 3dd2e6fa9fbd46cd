from runner.llm.messages import ChatRequest, Function, Message
from runner.llm.sampling import Sampling

ASKED = (Message("user", "왜?"),)


def test_a_request_is_sampled_as_it_is_set() -> None:
    assert Sampling(temperature=None, max_tokens=7, seed=3).request(ASKED, {"type": "object"}) == ChatRequest(
        ASKED, max_tokens=7, temperature=None, seed=3, schema={"type": "object"}
    )


def test_what_is_not_set_is_deterministic_and_short() -> None:
    look = Function("look", "", {})
    assert Sampling().request(ASKED, functions=(look,)) == ChatRequest(
        ASKED, max_tokens=1024, temperature=0.0, seed=None, functions=(look,)
    )
