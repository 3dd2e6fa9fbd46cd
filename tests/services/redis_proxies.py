"""What may stand between a client and a Redis: TLS, and a network that loses answers."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any


@asynccontextmanager
async def losing_answers(port: int, command: bytes, times: int) -> AsyncIterator[int]:
    """The port of a proxy: the first so often that `command` is answered, it cuts the line instead of passing on the
    answer."""
    left = times

    async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        nonlocal left
        server, ask = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionError):
            while request := await client.read(1 << 20):
                ask.write(request)
                reply = await server.read(1 << 20)
                if command in request and left:
                    left -= 1
                    break
                answer.write(reply)
        await _closed(ask, answer)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as proxy:
        yield int(proxy.sockets[0].getsockname()[1])


@asynccontextmanager
async def serving_tls(port: int, certificate: Path, key: Path, clients: Path | None = None) -> AsyncIterator[int]:
    """The port at which TLS is spoken with what listens at `port`. `clients`: who signs the certificates that clients
    must have."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)

    async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(1 << 16):
                sink.write(data)
        await _closed(sink)

    async def serve(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, ask = await asyncio.open_connection("127.0.0.1", port)
        with suppress(OSError):
            await asyncio.gather(pass_on(client, ask), pass_on(server, answer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as proxy:
        yield int(proxy.sockets[0].getsockname()[1])


async def _closed(*writers: asyncio.StreamWriter) -> None:
    for writer in writers:
        with suppress(OSError):
            writer.close()
            await writer.wait_closed()


def _signing_usage() -> Any:
    """Of a certificate that signs others and serves, too."""
    from cryptography import x509

    names = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign")
    unused = dict.fromkeys((*names, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=True, key_cert_sign=True, **unused)


def write_certificate(
    folder: Path, file: str = "certificate", issuer: tuple[Path, Path] | None = None
) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key, in files. `issuer`: the two of who signs it, else itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = signer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    signing: Any = key
    if issuer is not None:
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, file)])
        signing = serialization.load_pem_private_key(issuer[1].read_bytes(), None)
    addresses = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    until = now + datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(signer, name, key.public_key(), x509.random_serial_number(), now, until)
    builder = builder.add_extension(addresses, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key())  # Python 3.13 asks for it
    builder = builder.add_extension(own, critical=False).add_extension(signed_by, critical=False)
    if issuer is None:
        builder = builder.add_extension(_signing_usage(), critical=True)
    certificate = builder.sign(signing, hashes.SHA256())
    files = folder / f"{file}.pem", folder / f"{file}-key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files
