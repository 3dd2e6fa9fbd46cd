"""A service that is asked over a real connection, and what is said where it does not answer as it should."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from plugins.system.http import HttpSystem
from runner.errors import EvaluationError, InputError, ReplyError, StopRunError
from runner.records import NamedContext, SystemReply
from runner.system.stopwatch import stopwatch
from tests.plugins.system.asking import ASKED_BEFORE, QUERY, door, opened, settings
from tests.services.memory_server import serving_memories
from tests.services.ports import free_port
from tests.services.rag_service import RagService, serving_answers

MOON = "The Moon circles the Earth in 27 days."
SECRET = "k3y-0f-th3-t3sts-4712"


@pytest.fixture(scope="module")
def started() -> Iterator[RagService]:
    with serving_answers() as service:
        yield service


@pytest.fixture
def service(started: RagService) -> RagService:
    started.reset()
    return started


def system(folder: Path, service: RagService | str, at: str = "/ask", **changed: Any) -> tuple[HttpSystem, Any]:
    url = service if isinstance(service, str) else service.url
    models = door(folder)
    return HttpSystem(models=models, **settings("http", **{"url": url + at, "retries": 0, **changed})), models


async def reply_of(folder: Path, service: RagService | str, at: str = "/ask", **changed: Any) -> SystemReply:
    asked, models = system(folder, service, at, **changed)
    async with opened(asked, models):
        return await asked.ask(QUERY)


async def error_of(
    folder: Path, service: RagService | str, at: str = "/ask", **changed: Any
) -> EvaluationError | InputError:
    with pytest.raises((EvaluationError, InputError)) as error:
        await reply_of(folder, service, at, **changed)
    return error.value


# --- what is sent, and what is read ---------------------------------------------------------------


async def test_a_question_is_posted_with_the_turns_before_it(service: RagService, tmp_path: Path) -> None:
    asked, models = system(tmp_path, service)
    async with opened(asked, models):
        found = await asked.ask(QUERY)
        await asked.ask(replace(QUERY, history=ASKED_BEFORE))
    assert found == SystemReply(MOON, (NamedContext("moon", MOON, 1.0),), ("answer", "contexts", "usage"))
    history = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
    assert [each.get("history") for each in service.asked] == [None, history]


async def test_a_template_and_fields_of_ones_own(service: RagService, tmp_path: Path) -> None:
    body = {"question": "{question}", "top_k": "{k}"}
    found = await reply_of(tmp_path, service, body=body, fields={"shift": 1}, k=2)
    assert service.asked == [{"question": QUERY.text, "top_k": 2, "shift": 1}]
    assert [each.id for each in found.contexts or ()] == ["mars", "sun"]


async def test_what_has_nothing_to_stand_for_is_no_text(service: RagService, tmp_path: Path) -> None:
    """Left out where it stands alone, and nothing within a text."""
    body = {"question": "{question}", "history": [{"role": "user", "content": "[{language}] {history}"}]}
    await reply_of(tmp_path, service, body=body)
    assert service.asked[0]["history"] == [{"role": "user", "content": "[] "}]


async def test_a_question_in_the_address(service: RagService, tmp_path: Path) -> None:
    found = await reply_of(tmp_path, service, "/search", method="GET", path="?q={question}")
    assert found.answer == MOON


async def test_server_sent_events(service: RagService, tmp_path: Path) -> None:
    found = await reply_of(tmp_path, service, "/stream")
    assert (found.answer, found.contexts) == (MOON, (NamedContext("moon", MOON, 1.0),))


async def test_other_places_in_a_reply(service: RagService, tmp_path: Path) -> None:
    service.reply = lambda reply: {
        "result": {"text": reply["answer"], "docs": [{"meta": {"source": 7}, "body": "one"}, {"body": "two"}]}
    }
    expressions = {"answer": "result.text", "contexts": "result.docs[].body", "ids": "result.docs[*].meta.source"}
    found = await reply_of(tmp_path, service, scores=None, **expressions)
    assert found.contexts == (NamedContext("7", "one"), NamedContext(None, "two"))


@pytest.mark.parametrize(
    ("contexts", "found"),
    [
        ([], ()),
        (["one", "two"], (NamedContext(text="one"), NamedContext(text="two"))),
        ([{"id": "moon"}], (NamedContext("moon"),)),
        (None, None),
    ],
)
async def test_contexts_in_other_forms(service: RagService, tmp_path: Path, contexts: Any, found: Any) -> None:
    service.reply = lambda reply: {"answer": "So.", **({} if contexts is None else {"contexts": contexts})}
    assert (await reply_of(tmp_path, service)).contexts == found


async def test_what_is_not_told_is_said_once(
    service: RagService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.reply = lambda reply: {"answer": "So.", "docs": []}
    asked, models = system(tmp_path, service)
    async with opened(asked, models):
        await asked.ask(QUERY)
        await asked.ask(QUERY, 1)
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("does not return its contexts (system.contexts=contexts[].text finds nothing; the reply") == 1
    assert "has the keys answer, docs); retrieval and faithfulness are not judged" in said


# --- what can go wrong ----------------------------------------------------------------------------


async def test_nobody_listens(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    error = await error_of(tmp_path, url)
    assert isinstance(error, StopRunError)
    assert str(error) == (
        f"system.url: POST {url}/ask: no connection (connection refused); is it up, and system.url right? "
        "Run the same command again to resume"
    )
    korean = await error_of(tmp_path, url, language="ko")
    assert str(korean) == (
        f"system.url: POST {url}/ask: 연결할 수 없습니다(연결 거부). 서비스가 떠 있는지, system.url 값이 맞는지 "
        "확인하세요. 같은 명령을 다시 실행하면 이어서 합니다"
    )


async def test_a_key_that_is_refused_is_not_shown(
    service: RagService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = [{"name": "Authorization", "value_env": "RAG_KEY_OF_TESTS", "prefix": "Bearer "}]
    asked, _ = system(tmp_path, service, headers=headers)
    monkeypatch.delenv("RAG_KEY_OF_TESTS", raising=False)
    assert [problem.key for problem in asked.preflight()] == ["system.headers[0].value_env"]
    monkeypatch.setenv("RAG_KEY_OF_TESTS", SECRET)
    service.token = f"Bearer {SECRET}"
    assert (await reply_of(tmp_path, service, headers=headers)).answer == MOON
    service.token = "Bearer another"
    error = await error_of(tmp_path / "other", service, headers=headers)
    assert isinstance(error, StopRunError) and SECRET not in str(error)
    assert "the service answers 401: " in str(error)
    assert str(error).endswith("its headers come from RAG_KEY_OF_TESTS")
    assert str(await error_of(tmp_path / "other", service)).endswith("system.headers sets none")
    korean = await error_of(tmp_path / "other", service, language="ko")
    assert str(korean).endswith("system.headers에 보낼 헤더가 없습니다")


async def test_a_service_that_fails(service: RagService, tmp_path: Path) -> None:
    service.faults.extend([(500, {}), (500, {})])
    error = await error_of(tmp_path, service, retries=1)
    assert not isinstance(error, StopRunError)
    assert str(error).endswith('/ask: the service answers 500: {"detail":"not now"} (asked 2 times)')


async def test_an_address_without_a_service(service: RagService, tmp_path: Path) -> None:
    error = await error_of(tmp_path, service, "/nowhere")
    assert isinstance(error, StopRunError)
    assert str(error).endswith('the service answers 404: {"detail":"Not Found"}; is system.url right?')


async def test_eight_in_a_row_end_the_run(service: RagService, tmp_path: Path) -> None:
    service.faults.extend([(500, {})] * 8)
    asked, models = system(tmp_path, service)
    async with opened(asked, models):
        for repeat in range(7):
            with pytest.raises(EvaluationError, match="the service answers 500"):
                await asked.ask(QUERY, repeat)
        with pytest.raises(
            StopRunError, match=r"8 questions in a row ended like this\. Run the same command again to resume"
        ):
            await asked.ask(QUERY, 7)


@pytest.mark.parametrize(
    ("body", "english", "korean"),
    [
        (b"<html>Welcome</html>", "expected JSON, got <html>Welcome</html>", "JSON이 와야 하는데 다음이 왔습니다: "),
        (
            b'{"reply": "So.", "docs": []}',
            "system.answer: answer finds nothing: the reply has the keys reply, docs; expected the text of the answer, "
            "such as system.answer=answer",
            "system.answer: answer에 해당하는 값이 없습니다. 응답의 키: reply, docs. 답변 텍스트의 위치를 적으세요",
        ),
        (b'{"answer": {"text": "So."}}', "system.answer: answer finds an object, expected the text", "값은 객체입니다"),
        (b"[1]", "answer finds nothing: the reply is a list", "응답의 형식: 목록"),
        (b"", "the reply is empty", "응답이 비어 있습니다"),
        (
            b'{"answer": "So.", "contexts": [{"text": 7}]}',
            "system.contexts: contexts[].text finds a number at 1, expected texts: the reply has the keys",
            "1번째 값은 숫자입니다",
        ),
        (
            b'{"answer": "So.", "contexts": [{"text": "x", "score": "high"}]}',
            "system.scores: contexts[].score finds a text at 1, expected numbers",
            "숫자여야 합니다",
        ),
    ],
)
async def test_a_reply_that_cannot_be_used(
    service: RagService, tmp_path: Path, body: bytes, english: str, korean: str
) -> None:
    service.faults.extend([body] * 2)
    assert english in str(await error_of(tmp_path, service))
    assert korean in str(await error_of(tmp_path / "ko", service, language="ko"))


async def test_columns_of_another_length(service: RagService, tmp_path: Path) -> None:
    service.faults.append(orjson.dumps({"answer": "So.", "texts": ["a", "b"], "ids": ["x"]}))
    error = await error_of(tmp_path, service, contexts="texts", ids="ids", scores=None)
    assert isinstance(error, ReplyError)
    assert "system.ids: ids finds 1 values for 2 contexts, expected one for each" in str(error)


async def test_a_reply_that_could_not_be_used_is_asked_for_anew_by_the_next_command(
    service: RagService, tmp_path: Path
) -> None:
    service.faults.append(b"{}")
    asked, models = system(tmp_path, service, cache=True)
    async with opened(asked, models):
        for _ in range(2):  # the same command asks once
            with pytest.raises(ReplyError):
                await asked.ask(QUERY)
    assert len(service.asked) == 1
    assert (await reply_of(tmp_path, service, cache=True)).answer == MOON
    assert (await reply_of(tmp_path, service, cache=True)).answer == MOON
    assert len(service.asked) == 2


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"answer": "a["}, "system.answer: expected a JMESPath expression such as contexts[].text, found 'a['"),
        ({"delta": "}"}, "system.delta: expected a JMESPath expression"),
        ({"path": "ask"}, "system.path: expected a path such as /ask or ?q={question}, found 'ask'"),
        (
            {"body": {"q": "{query}"}},
            "system.body: unknown placeholder {query}; known here: question, history, language, id, k",
        ),
        ({"method": "GET", "fields": {"a": 1}}, "system.fields: a GET request has no body; put the question into"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    (found,) = system(tmp_path, "http://127.0.0.1:1", **changed)[0].preflight()
    assert str(found).startswith(problem)


async def test_a_deep_reply_or_long_keys_are_cut_in_messages(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    with serving_memories() as server:
        asked, models = system(tmp_path, server.url, "/search", body={"query": "{question}"})
        async with opened(asked, models):
            server.reply = {"answer": "14", "deep": deep}
            with pytest.raises(ReplyError, match="more than 254 levels"):
                await asked.ask(QUERY)
            server.reply = {"k" * 1_000_000: 1}
            with pytest.raises(ReplyError) as error:
                await asked.ask(QUERY)
    assert len(str(error.value)) < 300


async def test_a_budget_in_usd_needs_the_price_of_a_question(tmp_path: Path, service: RagService) -> None:
    unpriced = HttpSystem(models=door(tmp_path, budget={"usd": 1.0}), **settings("http", url=service.url + "/ask"))
    (problem,) = unpriced.preflight()
    assert str(problem).startswith("system.price_usd: budget.usd cannot be kept without the price of a question")
    models = door(tmp_path, budget={"usd": 1.0})
    asked = HttpSystem(models=models, **settings("http", url=service.url + "/ask", price_usd=0.4))
    assert asked.preflight() == []
    async with opened(asked, models):
        assert [(await asked.ask(QUERY, repeat)).answer for repeat in (0, 1)] == [MOON] * 2
        with pytest.raises(
            StopRunError, match=r"budget\.usd=1 is spent \(0\.8000 used, one more request may take 0\.4"
        ):
            await asked.ask(QUERY, 2)
        assert models.usage(".")["usage_total"]["live"]["usd"] == pytest.approx(0.8)


async def test_the_latency_of_a_repeated_request_is_that_of_the_exchange_with_all_attempts_beside_it(
    service: RagService, tmp_path: Path
) -> None:
    service.faults.append((503, {"Retry-After": "0"}))
    asked, models = system(tmp_path, service, retries=1)
    async with opened(asked, models):
        with stopwatch() as watch:
            await asked.ask(QUERY)
        timing = watch.timing
    assert timing.ms is not None and timing.repeated_ms is not None
    assert timing.live is False and timing.repeated_ms > timing.ms
    assert len(service.asked) == 2
