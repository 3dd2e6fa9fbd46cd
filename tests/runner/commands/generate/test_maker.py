"""The whole way from a corpus to kept questions, with a model that is a script behind real HTTP."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.commands.generate.maker import Batch, QuestionMaker
from runner.errors import ConfigError, CorpusError, StopRunError
from tests.runner.commands.generate.scripted import SETTINGS, Asked, Scripted
from tests.services.doors import models as models_at
from tests.services.models_replies import completion, error
from tests.services.models_server import ModelsServer
from tests.small_data import CORPUS, write_jsonl

Make = Callable[..., Batch]


@pytest.fixture
def maker(server: ModelsServer, tmp_path: Path) -> Callable[..., QuestionMaker]:
    write_jsonl(tmp_path / "corpus.jsonl", CORPUS)
    models = models_at(server.url, tmp_path / "cache")

    def made(**changes: Any) -> QuestionMaker:
        settings = {
            **SETTINGS,
            "models": models,
            "model": "test:small",
            "corpus": str(tmp_path / "corpus.jsonl"),
            "out": str(tmp_path / "q.jsonl"),
            "questions_per_chunk": 1,
            "max_chunks_sample": 50,
        }
        return QuestionMaker(**(settings | changes))

    return made


async def made_by(maker: QuestionMaker) -> Batch:
    return await maker.make(maker.plan_batch())


QUESTIONS = {
    "moon": "How many days does the Moon need to circle the Earth?",
    "mars": "Which planet is called the red planet?",
    "sun": "How long does light need from the Sun to the Earth?",
    "달": "달이 지구를 한 바퀴 도는 데 며칠이 걸리나요?",
    "화성": "위성이 두 개 있는 붉은 행성은 무엇인가요?",
    "해": "태양의 빛이 지구까지 오는 데 몇 분 걸리나요?",
}
ANSWERS = {"moon": "27 days", "mars": "Mars", "sun": "eight minutes", "달": "27일", "화성": "화성", "해": "8분"}
BY_TEXT = {document["text"]: document["id"] for document in CORPUS}


def document_of(asked: Asked) -> str:
    (found,) = (id for text, id in BY_TEXT.items() if text in asked.sources[0])
    return str(found)


def written(asked: Asked, **changes: Any) -> list[dict[str, Any]]:
    """The question of the document for each order, as it should be, but for the changes."""
    id = document_of(asked)
    good = {"question": QUESTIONS[id], "answer": ANSWERS[id], "quote": ANSWERS[id]}
    return [{"number": number, **good, **changes} for number, *_ in asked.orders]


def found(asked: Asked, **changes: Any) -> dict[str, Any]:
    return {"stands_alone": True, "answered": True, "answer": ANSWERS[document_of(asked)], **changes}


def only(id: str, instead: Callable[[Asked], Any], otherwise: Callable[[Asked], Any]) -> Callable[[Asked], Any]:
    return lambda asked: instead(asked) if document_of(asked) == id else otherwise(asked)


def texts(batch: Batch) -> list[str]:
    return [draft.question for draft in batch.drafts]


async def test_good_questions_are_kept_in_the_order_of_the_corpus(server: ModelsServer, maker: Any) -> None:
    script = Scripted(written, found)
    server.respond = script
    made = await made_by(maker())
    assert texts(made) == list(QUESTIONS.values())
    assert (made.n_ordered, made.dropped, made.failures) == (6, {}, [])
    assert sorted(script.steps()) == ["check"] * 6 + ["write"] * 6
    assert {asked.language for asked in script.log} == {"en", "ko"}
    body = server.requests[0]
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.0, 500, 1)


async def test_the_check_does_not_see_the_answer(server: ModelsServer, maker: Any) -> None:
    secret = "fiveandtwenty"
    script = Scripted(lambda asked: written(asked, answer=secret), found)
    server.respond = script
    await made_by(maker())
    checks = [body for body, asked in zip(server.requests, script.log, strict=True) if asked.step == "check"]
    assert checks and not any(secret in str(body) for body in checks)


@pytest.mark.parametrize(
    ("moon", "moon_checked", "same", "reason"),
    [
        ({"question": "How many days does it need?"}, {}, True, "not_self_contained"),
        ({"question": "달이 지구를 도는 데 며칠이 걸리나요?"}, {}, True, "other_language"),
        ({}, {"stands_alone": False}, True, "not_self_contained"),
        ({}, {"answered": False}, True, "not_answered"),
        ({}, {"answer": "28 days"}, False, "other_answer"),
        ({}, {"answer": "nearly four weeks"}, True, ""),
        ({}, {"answer": "It takes 27 days."}, False, ""),  # plainly the same, so nobody compares
    ],
)
async def test_why_a_question_is_dropped(
    server: ModelsServer, maker: Any, moon: dict[str, Any], moon_checked: dict[str, Any], same: bool, reason: str
) -> None:
    server.respond = Scripted(
        only("moon", lambda asked: written(asked, **moon), written),
        only("moon", lambda asked: found(asked, **moon_checked), found),
        lambda asked: same,
    )
    made = await made_by(maker())
    lost = ["moon"] if reason else []
    assert [BY_TEXT[draft.order.chunk.text] for draft in made.drafts] == [id for id in QUESTIONS if id not in lost]
    assert made.dropped == ({reason: 1} if reason else {})


async def test_what_is_dropped_by_its_words_is_not_checked(server: ModelsServer, maker: Any) -> None:
    script = Scripted(lambda asked: written(asked, question="How long does it take them?"), found)
    server.respond = script
    made = await made_by(maker(language="en"))
    assert (made.drafts, made.dropped) == ([], {"not_self_contained": 6})
    assert set(script.steps()) == {"write"}


async def test_the_second_of_two_equal_questions_goes(server: ModelsServer, maker: Any) -> None:
    server.respond = Scripted(only("mars", lambda asked: written(asked, question=QUESTIONS["moon"]), written), found)
    made = await made_by(maker())
    assert texts(made) == [question for id, question in QUESTIONS.items() if id != "mars"]
    assert made.dropped == {"duplicate": 1}


async def test_questions_that_were_not_written_are_counted(server: ModelsServer, maker: Any) -> None:
    server.respond = Scripted(lambda asked: written(asked)[:1], found)
    made = await made_by(maker(questions_per_chunk=3))
    assert (made.n_ordered, len(made.drafts), made.dropped) == (18, 6, {"not_written": 12})


async def test_a_chunk_whose_request_fails_does_not_stop_the_others(server: ModelsServer, maker: Any) -> None:
    refused = only("moon", lambda asked: completion({"model": "m", "messages": []}, None, refusal="No."), written)
    fails = only("mars", lambda asked: error(400, "too long", kind="invalid_request_error"), found)
    server.respond = Scripted(refused, fails)
    made = await made_by(maker())
    assert texts(made) == [question for id, question in QUESTIONS.items() if id not in ("moon", "mars")]
    assert made.dropped == {"failed": 2}
    assert len(made.failures) == 2
    assert "the model refused: No." in made.failures[0] and "too long" in made.failures[1]


# --- unanswerable questions ---------------------------------------------------------------------------


def elsewhere(asked: Asked) -> list[dict[str, Any]]:
    """A question that the corpus answers where a question about the Moon was to have no answer."""
    asks = {"en": "How many moons does Mars have?", "ko": "위성이 두 개 있는 행성의 이름은 무엇인가요?"}
    return written(asked, question=asks[asked.language], answer="", quote="")


async def test_unanswerable_questions_are_looked_for_in_other_chunks(server: ModelsServer, maker: Any) -> None:
    script = Scripted(
        only("moon", elsewhere, lambda asked: written(asked, answer="", quote="")),
        lambda asked: found(asked, answered=any("two moons" in source for source in asked.sources[1:])),
    )
    server.respond = script
    made = await made_by(maker(unanswerable_share=1.0))
    checks = [asked for asked in script.log if asked.step == "check"]
    assert not any(answerable for asked in script.log for *_, answerable in asked.orders)
    assert len(checks) == 6 and all(1 <= len(asked.sources) <= 5 for asked in checks)
    (moon,) = (asked for asked in checks if asked.fields["question"] == "How many moons does Mars have?")
    assert "27 days" in moon.sources[0] and "two moons" in moon.sources[1]
    assert made.dropped["answered"] >= 1
    assert "How many moons does Mars have?" not in texts(made)
    assert all(not draft.slot.answerable for draft in made.drafts)


async def test_answerable_questions_are_checked_against_their_own_chunk_alone(server: ModelsServer, maker: Any) -> None:
    script = Scripted(written, found)
    server.respond = script
    await made_by(maker())
    assert {len(asked.sources) for asked in script.log if asked.step == "check"} == {1}


# --- stopping and going on ----------------------------------------------------------------------------


async def test_what_is_wrong_for_all_requests_stops_and_nothing_is_asked_twice(
    server: ModelsServer, maker: Any
) -> None:
    good = Scripted(written, found)
    left = [7]

    def until_the_key_is_taken_away(body: dict[str, Any]) -> Any:
        left[0] -= 1
        return good(body) if left[0] >= 0 else error(401, "Incorrect API key", kind="invalid_request_error")

    server.respond = until_the_key_is_taken_away
    with pytest.raises(StopRunError, match="Incorrect API key"):
        await made_by(maker())
    answered = len(good.log)
    server.respond = good
    made = await made_by(maker())
    assert answered == 7
    assert texts(made) == list(QUESTIONS.values())
    assert len(good.log) == 12  # six questions and six checks, each answered once


# --- the corpus ---------------------------------------------------------------------------------------


async def test_a_folder_of_notes_is_cut_at_its_headings(server: ModelsServer, maker: Any, tmp_path: Path) -> None:
    notes = tmp_path / "노트"
    notes.mkdir()
    body = "# {0}\n\n{1}\n\n## More\n\n{1}\n"
    (notes / "moon.md").write_text("---\ntags: [x]\n---\n" + body.format("Moon", CORPUS[0]["text"]), encoding="utf-8")
    server.respond = Scripted(written, found)
    made = await made_by(maker(corpus=str(notes), chunker={"min_chars": 0}))
    assert [chunk.id for chunk in made.corpus.chunks] == ["moon.md#0", "moon.md#1"]
    assert [order.title for order in made.orders] == ["Moon", "Moon > More"]
    whole = await made_by(maker(corpus=str(notes), chunker={"min_chars": 0, "headings": False}))
    assert [chunk.id for chunk in whole.corpus.chunks] == ["moon.md#0"]


async def test_a_corpus_with_nothing_to_ask_about(server: ModelsServer, maker: Any, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "short.jsonl", [{"id": "a", "text": "Too short."}])
    with pytest.raises(CorpusError) as raised:
        await made_by(maker(corpus=str(tmp_path / "short.jsonl")))
    assert str(raised.value) == "corpus: no chunk has 5 words or more, so no question can be written"
    assert server.count == 0


async def test_settings_that_do_not_go_together(server: ModelsServer, maker: Any) -> None:
    with pytest.raises(ConfigError, match="chunker: overlap: expected 0 to half of max_chars"):
        await made_by(maker(chunker={"max_chars": 100, "overlap": 51}))
    with pytest.raises(ConfigError, match="model: no provider 'tset'; did you mean 'test'"):
        maker(model="tset:x")
