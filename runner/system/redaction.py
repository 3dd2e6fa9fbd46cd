"""The secrets of this process, and the one function that keeps them out of what is written and printed.

A secret is

- the value of an environment variable that a configuration names (`api_key_env`, `password_env`, `${oc.env:NAME}`),
  or that is called as secrets are (OPENAI_API_KEY, MLFLOW_TRACKING_PASSWORD), but not a place (HOME, TMPDIR …,
  MLFLOW_TRACKING_URI);
- what a URL of the configuration, of the command line or of the environment holds as `user:password@`, `?password=`
  or the like, and a setting that is called `password`, `token` or the like,
- what a command of the configuration passes as a key: `--token X`, `--api-key=X`, `-k X`, `API_KEY=X`, or in a header
  such as `Authorization: Bearer X`.

It is known as it stands, percent-encoded, as JSON, HTML and Python write it, and in base64, alone and as
`user:password`. A value is a secret from 8 characters on, one of a single kind of character (`retrieval`,
`20261123`, words with dashes) from 16 on: shorter ones are words, numbers and choices, whose removal would destroy
every text. A shorter password is known where it stands in its URL.

Where a setting that comes from the environment counts for an identity, its `mark` counts: two bytes of a slow hash.
A change of the value goes unnoticed once in 65,536 times, and whoever has the file and guesses the value finds one
other guess in 65,536 that fits as well, so that no guess is ever confirmed.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TextIO, cast
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import orjson

HIDDEN = "***"
PIECE = 2**20  # bytes
SHORTEST, SHORTEST_WORD = 8, 16  # characters of a secret, and of one of a single kind of character
LONG = 10 ** (SHORTEST_WORD - 1)  # the least number of so many digits
WORD = re.compile(r"[a-z_.\- ]+|[A-Z_.\- ]+|[\d_.\- ]+")
PLACES = frozenset({"HOME", "PWD", "OLDPWD", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME", "HOSTNAME", "SHELL", "LANG"})
ADDRESSES = frozenset({"MLFLOW_TRACKING_URI"})  # whose user and password alone are secret
SECRET_VARIABLE = re.compile(
    r"(^|_)(PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_KEY|CREDENTIALS?)(_|$)", re.I
)
SECRET_SETTING = re.compile(
    r"(^|[_.-])(password|passwd|passphrase|pwd|secret|token|api_?key|access_?key|private_key|credentials?|"
    r"authorization)$",
    re.I,
)
# From the scheme to the last @: a password may hold / and @. A port and a path are no password.
USER = re.compile(r"""(?<=://)(?:(?![\w.-]+:\d+[/?#])[^\s/@:'"<>`]*:(?:(?!://)[^\s'"<>`])*@|[^\s/@'"<>`]+@)""")
# `?password=x`, `;PWD=x` and what comes of them when the whole is encoded once more.
PARAMETER = re.compile(
    r"""(?:[?&;]|%3B|%26|%3F)[\w.-]*?(?:password|passwd|passphrase|pwd|secret|token|api_?key|access_?key|signature|sig)"""
    r"""(?:=|%3D)(?P<value>(?:(?!%3B|%26)[^\s&;#'"<>`])+)""",
    re.I,
)
# A word of a command after which a key stands, and a header that is one.
KEY_OPTION = re.compile(
    r"--?(?:[\w.-]*[-_.])?(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"credentials?|authorization|auth|bearer)",
    re.I,
)
SHORT_KEY_OPTION = re.compile(r"-k|--?key", re.I)  # which may be another thing: `-k 5`
KEY_HEADER = re.compile(
    r"(?P<name>(?:[\w-]*-)?(?:authorization|api-?key|token|secret)):\s*(?:(?:bearer|basic|token|apikey)\s+)?(?P<value>\S+)",
    re.I,
)
NO_KEYS = frozenset({"", "none", "null", "true", "false", "no", "yes"})
VARIABLE = re.compile(r"\$\{oc\.env:\s*([^},\s]+)")


class _Secrets:
    """Secrets of this process: text -> its replacement. Only grows."""

    def __init__(self) -> None:
        self.forms: dict[str, str] = {}
        self.secrets: dict[str, None] = {}
        self.texts: list[tuple[str, str]] = []
        self.encoded: list[tuple[bytes, bytes]] = []

    def add(self, secret: str, user: str | None = None) -> None:
        """`user`: with whom it is sent in base64."""
        if user is not None:
            self._hide(*_in_base64(f"{user}:{secret}"))
        if secret in self.secrets or not is_secret(secret):
            return
        self.secrets[secret] = None
        self._hide(*_spellings(secret), *_in_base64(secret))

    def replace(self, form: str, instead: str) -> None:
        self.forms.setdefault(form, instead)
        self._sort()

    def _hide(self, *forms: str) -> None:
        self.forms |= {form: HIDDEN for form in forms if len(form) >= SHORTEST}
        self._sort()

    def _sort(self) -> None:
        """Sort the secrets, the longest first: one may contain another."""
        self.texts = sorted(self.forms.items(), key=lambda pair: -len(pair[0]))
        self.encoded = [
            (form.encode("utf-8", "surrogatepass"), instead.encode("utf-8", "surrogatepass"))
            for form, instead in self.texts
        ]


_secrets = _Secrets()


def is_secret(value: str) -> bool:
    """Whether a value that came from where secrets come from is long enough to be one."""
    return len(value) >= (SHORTEST_WORD if WORD.fullmatch(value) else SHORTEST)


def _spellings(secret: str) -> Iterator[str]:
    lines = [line for line in secret.split("\n") if "\n" in secret and len(line) >= SHORTEST_WORD]
    folded = " ".join(secret.split())  # as in the one-line form of errors
    for plain in dict.fromkeys((secret, unquote(secret), unquote_plus(secret), secret.strip(), folded, *lines)):
        quoted = dict.fromkeys((quote(plain, safe=""), quote(plain), quote_plus(plain), quote(plain, safe="/:")))
        twice = [quote(text, safe="") for text in quoted]
        lower = [re.sub("%..", lambda match: match[0].lower(), text) for text in (*quoted, *twice)]
        yield from (plain, *quoted, *twice, *lower)
        yield from (json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1], repr(plain)[1:-1])
        yield from (html.escape(plain), html.escape(plain).replace("&#x27;", "&#39;"))


def _in_base64(text: str) -> Iterator[str]:
    raw = text.encode("utf-8", "surrogatepass")
    for encoded in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
        yield encoded.rstrip("=")


# --- what is learned --------------------------------------------------------------------------------


def learn(value: Any, key: str = "") -> None:
    """Learn the secrets in the plain values of a configuration with unresolved interpolations, in a command line, or in
    a text."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            learn(item, str(name))
    elif isinstance(value, list | tuple):
        if key.rpartition(".")[2] == "command":
            _learn_command([word for word in value if isinstance(word, str)])
        for item in value:
            learn(item, key)
    elif isinstance(value, str) and value:
        _learn_text(value, key)


def _learn_text(text: str, key: str) -> None:
    if key.endswith("_env"):
        learn_variable(text)
    elif key and SECRET_SETTING.search(key) and "${" not in text:
        _secrets.add(text)
    elif key.rpartition(".")[2] == "command":
        _learn_command(_words(text))
    for name in VARIABLE.findall(text):
        learn_variable(name)
    typed, equals, given = text.partition("=")
    if not key and equals and re.fullmatch(r"[+~]*[\w./@-]+", typed):  # an override
        _learn_text(given.strip("'\""), typed)
    if "://" in text:
        _learn_address(text)


def _learn_command(words: Sequence[str]) -> None:
    for _, value in command_secrets(words):
        if "${" not in value:
            _secrets.add(value)


def command_secrets(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The keys that a command passes, each with the option, variable or header that it stands behind; also those of a
    command within a word (`sh -c "…"`). A number is none, and `-k X` only where X is long enough to be a key."""
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        name, equals, value = word.partition("=")
        if header := KEY_HEADER.fullmatch(word):
            name, value = header["name"], header["value"]
        elif not (equals and (_is_key_option(name, value) or SECRET_VARIABLE.search(name))):
            name, value = word, following if _is_key_option(word, following) else ""
        if value.lower() not in NO_KEYS and not value.startswith("-") and not value.isdigit():
            yield name, value
        if any(map(str.isspace, word)) and (within := _words(word)) != [word]:
            yield from command_secrets(within)


def _is_key_option(word: str, value: str) -> bool:
    return bool(KEY_OPTION.fullmatch(word) or (SHORT_KEY_OPTION.fullmatch(word) and is_secret(value)))


def _words(text: str) -> list[str]:
    """The words of a command as a shell splits it, or of a list as an override has it."""
    listed = text.strip().removeprefix("[").removesuffix("]").replace(",", " ") if text.strip()[:1] == "[" else text
    try:
        return shlex.split(listed)
    except ValueError:
        return listed.split()


def _learn_address(text: str) -> None:
    for match in USER.finditer(text):
        user, colon, password = match[0][:-1].partition(":")
        for secret in dict.fromkeys((password, unquote(password)) if colon and password else (user, unquote(user))):
            _secrets.add(secret, unquote(user) if colon else None)
        host = re.match(r"[^\s/?#'\"<>`]*", text[match.end() :])
        for userinfo in dict.fromkeys((match[0], unquote(match[0]))):
            rest = host[0] if host else ""
            _secrets.replace(f"{userinfo}{rest}", rest)
            _secrets.replace(quote(f"{userinfo}{rest}", safe=""), quote(rest, safe=""))
    for match in PARAMETER.finditer(text):
        value = match["value"]
        for secret in dict.fromkeys((value, unquote(value), unquote_plus(value))):
            _secrets.add(secret)
        left = match[0].removesuffix(value)
        _secrets.replace(match[0], left + HIDDEN)
        _secrets.replace(quote(match[0], safe=""), quote(left, safe="") + HIDDEN)


def learn_variable(name: str) -> None:
    """Treat the value of an environment variable as a secret, where it is set."""
    value = os.environ.get(name, "")
    if value and name not in PLACES and name not in ADDRESSES:
        _secrets.add(value)
        _secrets.add(value.strip())
    if "://" in value:
        _learn_address(value)


def learn_environment() -> None:
    """Variables that are called as secrets are, and addresses with a password, such as that of a proxy."""
    for name, value in os.environ.items():
        if SECRET_VARIABLE.search(name):
            learn_variable(name)
        elif "://" in value:
            _learn_address(value)


# --- what is written --------------------------------------------------------------------------------


def redact(text: str) -> str:
    """A text without the known secrets, and without user and password of any URL."""
    for form, instead in _secrets.texts:
        if form in text:
            text = text.replace(form, instead)
    return by_form(text) if "://" in text or "=" in text else text


def by_form(text: str) -> str:
    """A text without the user part of URLs, and without the values of parameters such as ?password=."""
    text = USER.sub("", text) if "://" in text else text
    return PARAMETER.sub(lambda match: match[0].removesuffix(match["value"]) + HIDDEN, text)


def redacted_value(value: Any) -> Any:
    """A JSON value, each of its texts through `redact`, and each number that is a secret."""
    return _map(value, cache(redact))  # the names of metrics are there many times


def redacted_bytes(data: bytes) -> bytes:
    """The content of a file of texts without the known secrets. JSON stays JSON."""
    redacted = data
    for form, instead in _secrets.encoded:
        if form in redacted:
            redacted = redacted.replace(form, instead)
    if redacted is data or data[:1] not in (b"{", b"["):
        return redacted
    return b"".join(_still_json(*lines) for lines in _pairs(data, redacted))


def _pairs(data: bytes, redacted: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Line by line where each line is a document, else as a whole."""
    old, new = data.splitlines(keepends=True), redacted.splitlines(keepends=True)
    is_each_one = len(old) > 1 and all(re.fullmatch(rb"[{\[].*[}\]]\s*", line) for line in old)
    yield from zip(old, new, strict=True) if is_each_one else [(data, redacted)]


def _still_json(data: bytes, redacted: bytes) -> bytes:
    """A secret of digits may be the value of a number."""
    try:
        orjson.loads(redacted)
    except ValueError:
        try:
            document = orjson.dumps(redacted_value(orjson.loads(data)))
        except ValueError:  # nor was it before
            return redacted
        return document + data[len(data.rstrip()) :]
    return redacted


def redact_file(path: Path) -> None:
    """Redact a file in place, if it holds a secret. A file without secrets is read block by block."""
    if path.is_file() and _holds_a_secret(path):
        path.write_bytes(redacted_bytes(path.read_bytes()))


def _holds_a_secret(path: Path) -> bool:
    forms = [form for form, _ in _secrets.encoded]
    if not forms:
        return False
    overlap = b""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            piece = overlap + piece
            if any(form in piece for form in forms):
                return True
            overlap = piece[-max(map(len, forms)) :]
    return False


def _map(value: Any, change: Callable[[str], str]) -> Any:
    if value is None or isinstance(value, float):  # which are most
        return value
    if isinstance(value, str):
        return change(value)
    if isinstance(value, int):
        is_long = not -LONG < value < LONG
        return change(str(value)) if is_long and change(str(value)) != str(value) else value
    if isinstance(value, Mapping):
        return {_map(name, change): _map(item, change) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map(item, change) for item in value]
    return value


class _RedactedStream:
    """A stream of text that lets no secret through, whichever code writes to it: a component, a warning, a
    traceback."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(redact(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def guarded_streams() -> Iterator[None]:
    """stdout and stderr of this process. They stay so where an exception ends it, which Python prints."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        cast("TextIO", stream if isinstance(stream, _RedactedStream) else _RedactedStream(stream)) for stream in before
    )
    try:
        yield
    except SystemExit:
        sys.stdout, sys.stderr = before
        raise
    sys.stdout, sys.stderr = before


# --- what comes from the environment ----------------------------------------------------------------

_mode: ContextVar[str] = ContextVar("shown", default="")
TOKEN = re.compile(r"__env_([0-9a-f]+)_env__")


def watch() -> None:
    """From now on, treat each value that `${oc.env:NAME}` takes from the environment as a secret."""
    from omegaconf import OmegaConf

    OmegaConf.register_new_resolver("oc.env", _variable, replace=True)


def _variable(name: str, *default: str | None) -> Any:
    """A function of the module, since a launcher sends it to the processes of its workers by name."""
    from omegaconf.resolvers import oc

    if name in ADDRESSES:  # shown as it is, without user and password; an empty one counts as unset, as for MLflow
        return oc.env(name, *default) if os.environ.get(name) or not default else default[0]
    mode = _mode.get()
    if mode:
        expression = ",".join([name, *("null" if value is None else str(value) for value in default)])
        expression = f"${{oc.env:{expression}}}" + (f"#{mark(os.environ.get(name))}" if mode == "marked" else "")
        return f"__env_{expression.encode().hex()}_env__"
    learn_variable(name)
    return oc.env(name, *default)


@contextmanager
def _set_mode(mode: str) -> Iterator[None]:
    before = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(before)


def resolve_for_files(resolve: Callable[[], Any]) -> Any:
    """The result of `resolve`, which reads a configuration, with `${oc.env:NAME}` in place of values from the
    environment, and without passwords."""
    with _set_mode("shown"):
        found = resolve()
    return redacted_value(_map(found, _decode))


def marking() -> AbstractContextManager[None]:
    """While this lasts, values of a configuration from the environment are marks that `mark_secrets` reads."""
    return _set_mode("marked")


def without_marks() -> AbstractContextManager[None]:
    """Within `marking`: values of the environment are not replaced by marks."""
    return _set_mode("")


def mark_secrets(value: Any) -> Any:
    """A JSON value for a hash: with the mark of each secret, and of each value from the environment, in its place. So
    another value is another identity."""
    return _map(value, _marked_text)


def marked_bytes(data: bytes) -> bytes:
    """The same for what is JSON already."""
    if not any(form in data for form, _ in _secrets.encoded):
        return data
    return orjson.dumps(mark_secrets(orjson.loads(data)), option=orjson.OPT_SORT_KEYS)


def _decode(text: str) -> str:
    return TOKEN.sub(lambda match: bytes.fromhex(match[1]).decode(), text) if "__env_" in text else text


def _marked_text(text: str) -> str:
    text = _decode(text)
    for secret in sorted(_secrets.secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, f"{HIDDEN}{mark(secret)}")
    return redact(text)


@cache
def mark(value: str | None) -> str:
    """Four hexadecimal digits."""
    if value is None:
        return "none"
    raw = value.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(raw, salt=b"runner.system.redaction", n=2**14, r=8, p=1, dklen=2).hex()
