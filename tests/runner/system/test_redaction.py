"""What is known for a secret, in which spellings, and what becomes of it."""

import base64
import html
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, quote_plus

import orjson
import pytest
from omegaconf import OmegaConf

from runner.config.arguments import check_overrides
from runner.config.compose import compose_cells
from runner.config.options import config_for_hash, plain_config, run_fingerprint
from runner.system.redaction import (
    HIDDEN,
    is_secret,
    learn,
    learn_environment,
    mark,
    mark_secrets,
    redact,
    redact_file,
    redacted_bytes,
)
from runner.system.writing import replacing, write_text


@pytest.mark.parametrize(
    "secret", ["hunter2/Hunter+3", "p@ss:w0rd%41&x=", "비밀번호 q1W2", "a'b\"c\\d<e>1", "sk-0123456789abcdefXYZ"]
)
def test_a_secret_is_known_in_every_spelling(secret: str) -> None:
    learn({"password": secret})
    spellings = [secret, quote(secret, safe=""), quote(secret), quote_plus(secret), html.escape(secret), repr(secret)]
    spellings += [json.dumps(secret), json.dumps(secret, ensure_ascii=False), quote(quote(secret, safe=""), safe="")]
    spellings += [base64.b64encode(secret.encode()).decode(), base64.urlsafe_b64encode(secret.encode()).decode()]
    for spelling in spellings:
        core = spelling.strip("'\"=")
        assert core not in redact(f"before {spelling} after"), spelling
        assert core.encode() not in redacted_bytes(f"before {spelling} after".encode())


@pytest.mark.parametrize(
    ("address", "left"),
    [
        ("http://me:hunter2-A@host:80/x", "http://host:80/x"),
        ("http://me:p@ss/w0rd@host/x", "http://host/x"),
        ("http://:kurz@host", "http://host"),
        ("http://ghp_0123456789abcdef@host/x", "http://host/x"),
        ("postgresql+psycopg://u:a%40b%2Fc@db/x?sslmode=on", "postgresql+psycopg://db/x?sslmode=on"),
        ("sqlite:///x.db?password=kurz&mode=rw", "sqlite:///x.db?password=***&mode=rw"),
        ("sqlite+pysqlcipher://:kurz@/x.db", "sqlite+pysqlcipher:///x.db"),
        (
            "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3Dkurz%3BUID%3Du",
            "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3D***%3BUID%3Du",
        ),
        ("redis://u:kurz@[::1]:6379/0", "redis://[::1]:6379/0"),
        ("http://host:8080/path@x", "http://host:8080/path@x"),
        ("https://medium.com/@someone/x", "https://medium.com/@someone/x"),
        ("http://a:kurz@h,http://b:kurz2@h", "http://h,http://h"),
        ("http://me:kurz@h/a@b", "http://b"),  # where a password ends that holds a slash cannot be told
        ("http://host/x?api_key=kurz#f", "http://host/x?api_key=***#f"),
    ],
)
def test_addresses_keep_no_password(address: str, left: str) -> None:
    for text in (address, f"see {address}", f"'{address}'", f"uri={address}"):
        assert redact(text) == text.replace(address, left)
    learn([f"tracking.uri={address}"])
    assert redact(address) == left
    for spelling in (address, quote(address, safe="")):
        assert b"kurz" not in redacted_bytes(spelling.encode())


def test_a_password_of_an_address_is_known_alone_and_in_base64() -> None:
    learn(["track", "run", "--uri", "http://me%40x:Sesame%2FOpen9@host/"])
    header = base64.b64encode(b"me@x:Sesame/Open9").decode()
    for text in ("Sesame/Open9", "Sesame%2FOpen9", "Sesame%2fOpen9", header):
        assert text.rstrip("=") not in redact(f"- {text} -")


@pytest.mark.parametrize("short", ["k", "1", "demo_ko", "0.25", "retrieval", "20261123", "full-rag", "GPT"])
def test_words_and_numbers_are_no_secrets(short: str) -> None:
    assert not is_secret(short)
    learn({"password": short})
    assert redact(f"all of {short} stays") == f"all of {short} stays"


def test_what_was_json_stays_json() -> None:
    digits = "9182736455463728"
    learn({"token": digits})
    for data in (b'{"a":%s,"b":"x %s"}\n', b'{"a":[%s,1]}\n{"b":"%s"}\n'):
        lines = redacted_bytes(data % (digits.encode(), digits.encode())).splitlines()
        assert digits not in str([orjson.loads(line) for line in lines])


def test_variables_are_known_by_who_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAMED_A", "NAMED_B", "MY_SERVICE_TOKEN", "NOT_NAMED"):
        monkeypatch.setenv(name, f"value-of-{name}-1")
    monkeypatch.setenv("SOME_PROXY", "http://u:Proxy-Pass-1@p:3128")
    learn({"provider": {"x": {"api_key_env": "NAMED_A"}}, "y": ["a ${oc.env:NAMED_B,none} b"]})
    learn_environment()
    text = "value-of-NAMED_A-1 value-of-NAMED_B-1 value-of-MY_SERVICE_TOKEN-1 Proxy-Pass-1 value-of-NOT_NAMED-1"
    assert redact(text) == "*** *** *** *** value-of-NOT_NAMED-1"


def test_files_shed_what_is_learned(tmp_path: Path) -> None:
    learn({"secret": "File-Secret-77"})
    with replacing(tmp_path / "a.json") as scratch:
        scratch.write_text('{"x": "File-Secret-77"}', encoding="utf-8")
    write_text(tmp_path / "b.log", "Traceback: File-Secret-77")
    assert [path.read_text("utf-8") for path in sorted(tmp_path.iterdir())] == ['{"x": "***"}', "Traceback: ***"]


# --- configurations ---------------------------------------------------------------------------------

RUN = ["+experiment=retrieval_only", "retriever=keyword"]


def test_a_setting_from_the_environment_is_shown_by_its_name_and_counts_by_its_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [*RUN, "retriever.k1=${oc.decode:${oc.env:MY_K1}}", "tracking.uri='http://${oc.env:MY_HOST,nowhere}/x'"]
    prints = []
    for k1, host in (("1.25", "Host-One-1"), ("1.5", "Host-One-1"), ("1.25", "Host-Two-2")):
        monkeypatch.setenv("MY_K1", k1)
        monkeypatch.setenv("MY_HOST", host)
        (cell,) = compose_cells(check_overrides(words))[1]
        assert cell.cfg.retriever.k1 == float(k1) and cell.cfg.tracking.uri == f"http://{host}/x"
        shown = plain_config(cell.cfg)
        assert shown["retriever"]["k1"] == "${oc.env:MY_K1}" and str(shown["evaluation"]).count("${oc.env:MY_K1}") == 1
        assert shown["tracking"]["uri"] == "http://${oc.env:MY_HOST,nowhere}/x"
        assert f"#{mark(k1)}" in config_for_hash(cell.cfg)["retriever"]["k1"]
        assert run_fingerprint(cell.cfg) == cell.fingerprint
        prints.append(cell.fingerprint)
    assert prints[0] != prints[1] and prints[0] == prints[2]  # where it is tracked changes no number
    assert OmegaConf.create(shown).tracking.uri == "http://Host-Two-2/x"  # as `track` reads it


def test_an_identity_tells_two_bytes_of_a_secret() -> None:
    learn({"token": "Identity-Token-1"})
    assert mark_secrets({"a": ["x Identity-Token-1"]}) == {"a": [f"x {HIDDEN}{mark('Identity-Token-1')}"]}
    assert len(mark("Identity-Token-1")) == 4 and mark("Identity-Token-1") != mark("Identity-Token-2")


def test_configurations_without_secrets_have_the_identity_of_their_values() -> None:
    (cell,) = compose_cells(RUN)[1]
    assert config_for_hash(cell.cfg) == plain_config(cell.cfg) == OmegaConf.to_container(cell.cfg, resolve=True)


PRINTS = """
import sys, logging, warnings
from runner.system import redaction
redaction.learn({"password": "Stream-Secret-5"})
with redaction.guarded_streams():
    print("Stream-Secret-5"); logging.warning("Stream-Secret-5"); warnings.warn("Stream-Secret-5")
    raise SyntaxError("Stream-Secret-5")
"""


def test_prints_logs_warnings_and_tracebacks_shed_it() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTS], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and (done.stdout + done.stderr).count("***") >= 4, done.stderr  # 3.13 shows lines
    told = (done.stdout + done.stderr).replace('redaction.learn({"password": "Stream-Secret-5"})', "")
    assert "Stream-Secret-5" not in told


def test_keys_of_several_lines_are_known_folded_and_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nMIIEabcdef0123456789\nQUJDabcdef9876543210\n-----END KEY-----\n"
    learn({"private_key": key})
    assert "MIIE" not in redact(" ".join(key.split())) and "QUJD" not in redact("bad line QUJDabcdef9876543210")


def test_long_texts_are_read_in_one_pass(tmp_path: Path) -> None:
    """A pattern that goes back at each letter does not come to an end here."""
    learn({"password": "Long-Text-Secret-1"})
    for unit in ("://a:", "://:@", "?password=", "?a" * 3, "://" + "a" * 50, ";pwd=%3", "x=", "a:b@c/"):
        redact(unit * (1_000_000 // len(unit)))
    path = tmp_path / "long"
    path.write_bytes(b"x" * (2**20 - 9) + b"Long-Text-Secret-1" + b"x" * 2**20)
    redact_file(path)
    assert b"Secret" not in path.read_bytes()
