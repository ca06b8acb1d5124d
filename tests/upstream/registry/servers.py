"""Servers on the loopback: certificates, a real registry, a token endpoint, and stand-ins for what no real one does."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import queue
import select
import shutil
import socket
import ssl
import subprocess
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.upstream.registry.content import Blob, Image

USER, PASSWORD = "reader", "canary-of-basic"
HTPASSWD = f"{USER}:$2b$04$abcdefghijklmnopqrstuuSHU9dShyz2SrucogpEtoHnd3Kt/DTL6\n"
"""bcrypt of the password at its lowest cost."""
SERVICE, ISSUER = "loopback-registry", "loopback-issuer"
IDENTITY_TOKEN = "canary-of-identity"  # noqa: S105  of these tests alone
ELSEWHERE = "registry.test"
"""A name that is not this machine's; only the proxy knows where it is."""
_START_SECONDS = 300


_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
    key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
)  # fmt: skip
"""Without it, Python 3.13 does not trust an authority."""


class Authority(NamedTuple):
    """A certificate authority of this test, and a certificate of it for all servers here."""

    key: rsa.RSAPrivateKey
    bundle: Path
    """The authority's own certificate, which clients are to trust."""
    certificate: Path
    private: Path


def authority(folder: Path, address: str = "127.0.0.1") -> Authority:
    """Make an authority and a server's certificate."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    server = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests of sparkiac")])
    own = _certificate(name, name, key, key)
    own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    own = own.add_extension(_SIGNS_CERTIFICATES, critical=True)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.DNSName(ELSEWHERE), x509.IPAddress(IPv4Address(address))]
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    theirs = _certificate(subject, name, server, key).add_extension(names, critical=False)
    made = Authority(key, folder / "authority.pem", folder / "server.pem", folder / "server.key")
    made.bundle.write_bytes(own.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(theirs.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    made.private.write_bytes(_pem(server))
    return made


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey,
    signer: rsa.RSAPrivateKey,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


class Registry(NamedTuple):
    """A running docker-registry."""

    host: str
    base: str
    headers: Mapping[str, str]
    """What a push needs."""
    data: Path
    """Where it keeps its files."""

    def push(self, repository: str, tag: str, *content: Image | Blob) -> None:
        """Push images and indexes; the last one gets the tag."""
        verify = _trusting(self.data.parent / "authority.pem")
        with httpx2.Client(headers=dict(self.headers), verify=verify, trust_env=False) as http:
            for number, each in enumerate(content, 1):
                for blob in parts(each):
                    self._blob(http, repository, blob)
                manifest = getattr(each, "manifest", each)
                self._manifest(http, repository, manifest, tag if number == len(content) else manifest.digest)

    def _blob(self, http: httpx2.Client, repository: str, blob: Blob) -> None:
        place = http.post(f"{self.base}/v2/{repository}/blobs/uploads/").raise_for_status().headers["location"]
        url = httpx2.URL(self.base).join(place).copy_merge_params({"digest": blob.digest})
        http.put(url, content=blob.body).raise_for_status()

    def _manifest(self, http: httpx2.Client, repository: str, manifest: Blob, name: str) -> None:
        headers = {"Content-Type": manifest.media_type}
        url = f"{self.base}/v2/{repository}/manifests/{name}"
        http.put(url, content=manifest.body, headers=headers).raise_for_status()


@functools.cache
def _trusting(bundle: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(bundle))


@contextlib.contextmanager
def registry(
    folder: Path, *, tls: Authority | None, auth: dict[str, Any], headers: Mapping[str, str]
) -> Iterator[Registry]:
    """Run Debian's docker-registry on the loopback until the block ends."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("docker-registry is not installed")
    data, port = folder / "data", free_port()
    http: dict[str, Any] = {"addr": f"127.0.0.1:{port}", "secret": "loopback"}
    if tls:
        http["tls"] = {"certificate": str(tls.certificate), "key": str(tls.private)}
        if tls.bundle.parent != folder:
            shutil.copy(tls.bundle, folder)
    settings = {
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(data)}, "cache": {}},
        "http": http,
        **({"auth": auth} if auth else {}),
    }
    (folder / "registry.json").write_text(json.dumps(settings))  # JSON is YAML
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen([program, "serve", str(folder / "registry.json")], stdout=log, stderr=log)
    try:
        _wait(port, process)
        yield Registry(f"localhost:{port}", f"{'https' if tls else 'http'}://localhost:{port}", headers, data)
    finally:
        process.terminate()
        process.wait(timeout=_START_SECONDS)


def parts(content: Image | Blob) -> tuple[Blob, ...]:
    """Return the blobs of an image; an index has none."""
    return (content.config, *content.layers) if hasattr(content, "layers") else ()


def free_port() -> int:
    """Find a port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    pytest.fail(f"docker-registry did not start: exit {process.poll()}")


class Request(NamedTuple):
    """What a server was asked."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def query(self) -> dict[str, list[str]]:
        """The query, decoded."""
        return parse_qs(urlsplit(self.path).query)


class Reply(NamedTuple):
    """What a server answers. `length` is what it says of its length, true or not."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""
    length: int | None = None


class Server:
    """A web server on the loopback whose answers the test decides; it keeps what it was asked."""

    def __init__(self, answer: Callable[[Request], Reply | None], tls: Authority | None) -> None:
        """Listen at once."""
        self.requests: list[Request] = []
        self.ended = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10

            def do_GET(self) -> None:
                self.given(b"")

            def do_POST(self) -> None:
                self.given(self.rfile.read(int(self.headers["Content-Length"])))

            def given(self, body: bytes) -> None:
                request = Request(self.command, self.path, dict(self.headers.items()), body)
                outer.requests.append(request)
                reply = answer(request)
                if reply is None:  # hang, until the test is over
                    outer.ended.wait()
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                said = len(reply.body) if reply.length is None else reply.length
                self.send_header("Content-Length", str(said))
                self.end_headers()
                self.wfile.write(reply.body)
                self.close_connection = said != len(reply.body)

            def log_message(self, *_: object) -> None:
                pass

        class Listener(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass  # a client that goes away is part of the tests

        self._http = Listener(("127.0.0.1", 0), Handler)
        self.port = self._http.server_address[1]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.certificate, tls.private)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        self.host = f"localhost:{self.port}"
        self.base = f"{'https' if tls else 'http'}://{self.host}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __enter__(self) -> Self:
        """Return the server itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()


class Shelf:
    """A stand-in for a registry, for faults that no real one has on demand: it answers what was put on it.

    An answer that is a list is used up from its front, down to its last one.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.replies: dict[str, list[Reply | None]] = {}

    def put(self, repository: str, tag: str, *content: Image | Blob) -> None:
        """Lay down images and indexes as a registry would show them; the last one gets the tag."""
        for each in content:
            for blob in parts(each):
                self.replies[f"/v2/{repository}/blobs/{blob.digest}"] = [shown(blob, "application/octet-stream")]
            manifest = getattr(each, "manifest", each)
            self.replies[f"/v2/{repository}/manifests/{manifest.digest}"] = [shown(manifest)]
        self.replies[f"/v2/{repository}/manifests/{tag}"] = [shown(manifest)]

    def before(self, path: str, *faults: Reply) -> None:
        """Answer these first."""
        self.replies[path] = [*faults, *self.replies[path]]

    def __call__(self, request: Request) -> Reply | None:
        """Answer what lies at the path."""
        found = self.replies.get(urlsplit(request.path).path)
        if found is None:
            return Reply(404, {"Content-Type": "application/json"}, b'{"errors":[{"code":"NAME_UNKNOWN"}]}')
        return found.pop(0) if len(found) > 1 else found[0]


def shown(blob: Blob, media_type: str = "") -> Reply:
    """Answer with a blob."""
    return Reply(200, {"Content-Type": media_type or blob.media_type, "Docker-Content-Digest": blob.digest}, blob.body)


class Tokens:
    """A token endpoint that docker-registry believes: it signs JSON web tokens as distribution specifies them."""

    def __init__(self, made: Authority) -> None:
        """Sign with the key of an authority."""
        self._authority = made
        self.lifetime = timedelta(minutes=5)
        self.given: list[str] = []

    def __call__(self, request: Request) -> Reply:
        """Hand out what is asked for to the reader; to others nothing but repositories under public/."""
        asked = request.query
        if request.method == "POST":
            asked = parse_qs(request.body.decode())
            if asked.get("refresh_token") != [IDENTITY_TOKEN]:
                return Reply(401)
        basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        said = request.headers.get("Authorization", "")
        if said and said != f"Basic {basic}":
            return Reply(401)
        known = bool(said) or request.method == "POST"
        _, name, actions = asked["scope"][0].split(":")
        token = self.token(name, actions.split(",") if known or name.startswith("public/") else [])
        self.given.append(token)
        field = "access_token" if request.method == "POST" else "token"
        return Reply(200, {"Content-Type": "application/json"}, json.dumps({field: token}).encode())

    def token(self, name: str, actions: list[str]) -> str:
        """Sign a token for a repository."""
        now = datetime.now(UTC)
        root = x509.load_pem_x509_certificate(self._authority.bundle.read_bytes())
        chain = [base64.b64encode(root.public_bytes(serialization.Encoding.DER)).decode()]
        claims = {
            "iss": ISSUER,
            "sub": "reader",
            "aud": SERVICE,
            "exp": int((now + self.lifetime).timestamp()),
            "nbf": int((now - timedelta(minutes=10)).timestamp()),
            "iat": int(now.timestamp()),
            "jti": str(len(self.given)),
            "access": [{"type": "repository", "name": name, "actions": actions}] if actions else [],
        }
        head = {"typ": "JWT", "alg": "RS256", "x5c": chain}
        text = b".".join(_plain(json.dumps(part).encode()) for part in (head, claims))
        signature = self._authority.key.sign(text, padding.PKCS1v15(), hashes.SHA256())
        return b".".join((text, _plain(signature))).decode()


def _plain(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


class Proxy:
    """A stand-in for a company's proxy: it connects (RFC 9110, 9.3.6), and keeps what it was asked for.

    Whatever it is asked for, it finds on the loopback.
    """

    def __init__(self, *, refuses: bool = False) -> None:
        """Listen at once."""
        self.asked: queue.Queue[str] = queue.Queue()
        self._refuses = refuses
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        """Return the server itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._socket.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._socket.accept()
                threading.Thread(target=self._one, args=(near,), daemon=True).start()

    def _one(self, near: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += near.recv(4096)
        method, target, _ = head.split(b" ", 2)
        self.asked.put(f"{method.decode()} {target.decode()}")
        if self._refuses:
            near.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            near.close()
            return
        port = int(target.rpartition(b":")[2])
        with socket.create_connection(("127.0.0.1", port)) as far, near:
            near.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            while True:
                for ready in select.select([near, far], [], [], 10)[0]:
                    piece = ready.recv(65536)
                    if not piece:
                        return
                    (far if ready is near else near).sendall(piece)
