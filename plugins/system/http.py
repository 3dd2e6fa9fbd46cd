"""A service that runs, asked over HTTP as its users ask it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Unpack

from pydantic import Field

from runner.errors import Problem
from runner.llm.endpoint import (
    Endpoint,
    EndpointReply,
    Header,
    Request,
    expression_problem,
    fill_template,
    filled_path,
    placeholders,
)
from runner.llm.models import Models
from runner.llm.reply_body import DELTA
from runner.llm.service import INCIDENTAL, KNOWN, ReplyForm, SystemSettings, values_of
from runner.llm.settings import Address
from runner.llm.toll import Toll
from runner.records import Query, SystemReply
from runner.words.wording import wording

BODY: Mapping[str, Any] = {"question": "{question}", "history": "{history}"}
NO_BODY = ("GET", "DELETE")


class HttpSystem:
    """Each question is one request. `body`: a template of JSON, None for that of BODY; `fields`: further keys of it. A
    key whose placeholder has no value is left out, such as `history` without earlier turns. A reply is JSON, or
    server-sent events whose pieces `delta` (None: DELTA) finds. A repeated request carries the same Idempotency-Key."""

    incidental: ClassVar[tuple[str, ...]] = INCIDENTAL

    def __init__(
        self,
        *,
        models: Models,
        url: Address,
        k: int,
        method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST",
        path: str = "",
        body: dict[str, Any] | None = None,
        fields: dict[str, Any] | None = None,
        headers: list[Header] | None = None,
        delta: str | None = None,
        retries: Annotated[int, Field(ge=0, le=10)] = 3,
        **settings: Unpack[SystemSettings],
    ) -> None:
        language = settings.get("language", "en")
        self.repeats = settings.get("repeats", 1)
        self.method, self.path, self.k, self.delta = method, path, k, delta or DELTA
        self.body = None if method in NO_BODY and body is None else {**(BODY if body is None else body)}
        self.fields = dict(fields or {})
        self._say = wording(language, "service")
        self._form = ReplyForm(settings, self._say)
        self._service = models.service(url, is_shared=settings.get("cache", False), language=language)
        self.endpoint = Endpoint(
            "system",
            url,
            headers=headers or (),
            timeout_ms=settings.get("timeout_ms", 30_000),
            retries=retries,
            max_concurrency=settings.get("max_concurrency", 4),
            requests_per_minute=settings.get("requests_per_minute"),
            language=language,
            delta=self.delta,
        )

    def preflight(self) -> list[Problem]:
        """Problems of unknown placeholders, invalid expressions and missing headers."""
        return [
            *self.endpoint.problems(),
            *self._form.problems(),
            *self._service.problems(self._form),
            *self._problems(),
        ]

    def _problems(self) -> Iterator[Problem]:
        if self.path and self.path[0] not in "/?":
            yield Problem("system.path", self._say("setting.path", path=self.path))
        if self.method in NO_BODY and (self.body is not None or self.fields):
            key = "system.fields" if self.fields else "system.body"
            yield Problem(key, self._say("setting.body", method=self.method))
        templates = {"path": self.path, "body": self.body, "fields": self.fields}
        for key, template in templates.items():
            for name in dict.fromkeys(placeholders(template)):
                if name not in KNOWN:
                    message = self._say("setting.placeholder", name=name, known=", ".join(KNOWN))
                    yield Problem(f"system.{key}", message)
        if (problem := expression_problem(self.delta)) is not None:
            reason = problem.partition(": ")[2]
            yield Problem("system.delta", self._say("setting.expression", expression=self.delta, reason=reason))

    def open(self) -> AbstractAsyncContextManager[None]:
        return self.endpoint.open()

    async def ask(self, query: Query, repeat: int = 0) -> SystemReply:
        values = values_of(query, self.k)
        path = filled_path(self.path, values)
        body = None if self.body is None else fill_template({**self.body, **self.fields}, values)
        form = replace(self._form, question=query.text)

        async def send(toll: Toll, key: str) -> EndpointReply:
            request = Request("url", self.method, path, body, key)
            return await self.endpoint.exchange(request, toll, fault_in=form.fault_in)

        asked = {"method": self.method, "path": path, "body": body, "delta": self.delta}
        return await self._service.ask(asked, send, self._form, repeat, query.text)
