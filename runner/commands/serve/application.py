"""The application: API and page over one desk, and what is said when something goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from runner import __version__
from runner.commands.serve import api, errors, site
from runner.commands.serve.desk import Desk
from runner.errors import RunnerError, rephrase
from runner.words.bilingual import in_language


def application(desk: Desk) -> FastAPI:
    """API and page over a desk, without their guard."""
    app = FastAPI(
        title="runner",
        version=__version__,
        description="Evaluations of retrieval-augmented generation and conversational memory.",
        openapi_url=None,  # which writes it for every request
        docs_url=None,  # these pages fetch their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,  # what clients call their functions
    )
    app.state.desk = desk
    app.include_router(api.router)
    app.include_router(site.router)
    app.add_exception_handler(RunnerError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(OSError, _on_os_error)
    return app


def _answer(
    request: Request, status: int, content: dict[str, object], headers: dict[str, str] | None = None
) -> Response:
    """A page for who reads pages, else JSON. A browser in another language gets the message in that, too."""
    if isinstance(error := content["error"], dict):
        error["message"] = _add_translation(str(error["message"]), site.language_of(request))
    wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(api.router.prefix)
    if wants_page and isinstance(error, dict):
        return site.error_page(request, status, str(error["message"]))
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    # a request may hold halves of characters
    return Response(text.encode("utf-8", "replace"), status, headers, "application/json")


def _add_translation(message: str, language: str) -> str:
    """The message, and below it what has words in the language."""
    translated = "\n".join(in_language(line, language) for line in message.splitlines())
    return message if translated == message else f"{message}\n{translated}"


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RunnerError)  # noqa: S101
    status, content = errors.of_error(error)
    return _answer(request, status, content)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    problems = [
        {"key": ".".join(map(str, each["loc"][1:])) or str(each["loc"][0]), "message": rephrase(str(each["msg"]))}
        for each in error.errors()
    ]
    message = "; ".join(f"{each['key']}: {each['message']}" for each in problems)
    return _answer(request, 422, errors.body("validation", message, problems))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    code = "not_found" if error.status_code == 404 else "http"
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == 405:  # by the first route of the path alone
        routes = [route for route in (*api.router.routes, *site.router.routes) if isinstance(route, Route)]
        fitting = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
        headers["allow"] = ", ".join(sorted({method for route in fitting for method in route.methods or ()}))
    return _answer(request, error.status_code, errors.body(code, str(error.detail)), headers)


async def _on_os_error(request: Request, error: Exception) -> Response:
    """A disk that is full, a folder that was removed meanwhile."""
    assert isinstance(error, OSError)  # noqa: S101
    name = Path(str(error.filename)).name if error.filename else "a file"
    status = 404 if isinstance(error, FileNotFoundError) else 507
    return _answer(request, status, errors.body("files", f"{name}: {error.strerror}"))
