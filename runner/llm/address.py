"""Checks the address of a server, and the name of the variable with its key. Messages never repeat the value itself: it
may be a secret, pasted by mistake."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

NOT_SHOWN = "not_shown"  # the kind of a validation error that does not repeat its input
EXAMPLE = "http://127.0.0.1:8080/v1"
ADDRESS_KEY = re.compile(r"(.*_)?(ur[il]s?|address(es)?|host(name)?s?|server|endpoint)")  # of a setting
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGEST_NAME = 64
# API keys that look like names: by their prefix, or long and made of small letters and digits.
KEY = re.compile(r"(sk|gsk|hf|r8)_\w{16,}|(?=.*[a-z])(?=.*\d)\w{20,}")

MISSING = "none is given"
UNSEEN = "this one holds a space or a character that cannot be seen"
PRIVATE = (
    "this one holds user:password@, ? or #, and it is kept with the results: put the key into an environment "
    "variable, and its NAME into api_key_env"
)
SCHEME = "this one does not start with http:// or https://"
HOST = "the host of this one is missing or cannot be read"
PORT = "the port of this one is not a number from 1 to 65535"


def address_problem(address: str) -> str | None:
    """The fault of the address of a server; None for one that can be connected to and holds no secret."""
    fault = _fault(address)
    return expected_form(fault) if fault else None


def expected_form(fault: str) -> str:
    """The end of a message about an address: an example of a right one, and the fault."""
    return f"expected an address such as {EXAMPLE}; {fault}"


def server_of(address: str) -> str:
    """`https://host:port`, without user, password and path; an address without these parts is returned as it is."""
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{re.split('[/?#]', rest.rpartition('@')[2])[0]}"


def variable_problem(name: str) -> str | None:
    """The fault of the name of an environment variable; None for a right one."""
    if NAME.fullmatch(name) and len(name) <= LONGEST_NAME and not KEY.fullmatch(name):
        return None
    return (
        "expected the NAME of the environment variable that holds the key, such as OPENAI_API_KEY, or null; what is "
        "given is no such name (and not shown here, as it may be the key)"
    )


def _fault(address: str) -> str | None:
    if address == "???":
        return MISSING
    if not address.isprintable() or " " in address:
        return UNSEEN
    if re.search(r"[@?#]", address):  # a password may hold a slash
        return PRIVATE
    if not re.match(r"https?://", address, re.I):
        return SCHEME
    try:
        parts = urlsplit(address)
    except ValueError:  # unbalanced brackets
        return HOST
    try:
        if parts.port == 0:
            return PORT
    except ValueError:
        return PORT
    return None if _is_host(parts.hostname or "", parts.netloc) else HOST


def _is_host(host: str, netloc: str) -> bool:
    try:
        if "[" in netloc:
            return re.match(rf"\[{re.escape(host)}\](:|$)", netloc, re.I) is not None and bool(IPv6Address(host))
        if re.fullmatch(r"[\d.]+", host):
            return bool(IPv4Address(host))
        return re.fullmatch(r"[\w.-]+", host.encode("idna").decode()) is not None
    except ValueError:
        return False
