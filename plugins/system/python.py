"""A function of one's own, called as its users call it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, ClassVar, Unpack

import orjson

from runner.errors import EvaluationError, InputError, Problem, describe_unexpected, did_you_mean
from runner.llm.endpoint import EndpointReply
from runner.llm.models import Models
from runner.llm.service import INCIDENTAL, KNOWN, Calls, ReplyForm, SystemSettings, kind_of, values_of
from runner.llm.toll import Toll
from runner.records import Query, SystemReply
from runner.system.redaction import redact
from runner.system.sources import code_digest
from runner.system.threads import in_thread
from runner.words.wording import wording


class PythonSystem:
    """`target`: package.module:function. It gets the question first, and by name what it takes of KNOWN; a function
    that is not async is called in a thread. It returns the text of the answer, or a mapping that is read like the reply
    of a service."""

    incidental: ClassVar[tuple[str, ...]] = INCIDENTAL

    def __init__(self, *, models: Models, target: str, k: int, **settings: Unpack[SystemSettings]) -> None:
        language = settings.get("language", "en")
        self.repeats = settings.get("repeats", 1)
        self.target, self.k = target, k
        self._say = wording(language, "service")
        self._form = ReplyForm(settings, self._say)
        self._service = models.service(target, is_shared=settings.get("cache", False), language=language)
        self._calls = Calls(target, settings)
        self._function: Callable[..., Any] | None = None

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The code of its module and of what that imports from the same package."""
        return {"target": self.target, "code": code_digest(self.target.partition(":")[0])}

    def preflight(self) -> list[Problem]:
        problem = self._load()
        return [
            *([problem] if isinstance(problem, Problem) else []),
            *self._form.problems(),
            *self._service.problems(self._form),
        ]

    def open(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def ask(self, query: Query, repeat: int = 0) -> SystemReply:
        values = values_of(query, self.k)
        function = self._load()
        if isinstance(function, Problem):
            raise InputError(str(function))
        further = {name: values[name] for name in KNOWN[1:] if name in _parameters(function)}
        arguments = {"question": values["question"], **further}
        request = {"target": self.target, "values": arguments, "code": self.provenance["code"]}

        async def send(toll: Toll, key: str) -> EndpointReply:
            try:
                return await self._calls.make(lambda: self._call(function, query.text, further), toll)
            except TimeoutError:
                limit = f"{self._calls.timeout_s * 1000:,.0f} ms"
                raise self._wrong("function.late", setting="system.timeout_ms", limit=limit) from None

        return await self._service.ask(request, send, self._form, repeat, query.text)

    async def _call(self, function: Callable[..., Any], question: str, further: Mapping[str, Any]) -> Any:
        try:
            if inspect.iscoroutinefunction(function):
                returned = await function(question, **further)
            else:
                returned = await in_thread(lambda: function(question, **further))
        except Exception as error:
            raise self._wrong("function.raised", error=describe_unexpected(error)) from error
        if isinstance(returned, str):
            return {"answer": returned}
        if not isinstance(returned, Mapping):
            raise self._wrong("function.returned", kind=kind_of(returned, self._say))
        try:
            return orjson.loads(orjson.dumps(dict(returned)))
        except TypeError as error:
            raise self._wrong("function.not_json", error=error) from None

    def _wrong(self, key: str, **values: Any) -> EvaluationError:
        return EvaluationError(redact(f"system.target: {self._say(key, target=self.target, **values)}"))

    def _load(self) -> Callable[..., Any] | Problem:
        """The function, or what is wrong with its name."""
        if self._function is None:
            function = self._resolve()
            if isinstance(function, Problem):
                return function
            self._function = function
        return self._function

    def _resolve(self) -> Callable[..., Any] | Problem:
        say, key = self._say, "system.target"
        module_name, colon, name = self.target.partition(":")
        if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module_name.split(".")):
            return Problem(key, say("setting.target", target=self.target))
        try:
            module = importlib.import_module(module_name)
        except (Exception, SystemExit) as error:
            return Problem(key, say("setting.no_module", module=module_name, reason=describe_unexpected(error)))
        function = getattr(module, name, None)
        if function is None:
            functions = [each for each, value in vars(module).items() if inspect.isfunction(value)]
            return Problem(
                key, say("setting.no_function", module=module_name, name=name, near=did_you_mean(name, functions))
            )
        if not callable(function):
            return Problem(key, say("setting.not_callable", target=self.target, kind=kind_of(function, say)))
        if missing := _missing_parameters(function):
            names = ", ".join(KNOWN[1:])
            return Problem(
                key, say("setting.parameters", target=self.target, parameters=", ".join(missing), known=names)
            )
        return function  # type: ignore[no-any-return]


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # of code in another language
        return {}


def _missing_parameters(function: Callable[..., Any]) -> list[str]:
    """Required parameters without a value; the first one is the question, whatever its name."""
    parameters = list(_parameters(function).values())[1:]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        each.name
        for each in parameters
        if each.default is inspect.Parameter.empty and each.kind not in kinds and each.name not in KNOWN[1:]
    ]
