"""Stand-ins for what receives messages of the fleet timer: Telegram's Bot API, a mail server, and a webhook."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import socketserver
import ssl
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage

    from tests.upstream.registry.servers import Authority

TOKEN = "123456789:AAcanary-of-the-bot_0123456789abcdef"  # noqa: S105 - of these tests alone
CHAT = -1001234567890
USER, PASSWORD = "timer@example.org", "canary-of-the-mail"
HOOK = "canary-of-the-hook"
TELEGRAM_FIELDS = {"chat_id": int, "text": str, "link_preview_options": dict}
ALERTMANAGER = {
    "version": str,
    "groupKey": str,
    "truncatedAlerts": int,
    "status": str,
    "receiver": str,
    "groupLabels": dict,
    "commonLabels": dict,
    "commonAnnotations": dict,
    "externalURL": str,
    "alerts": list,
}
ALERT = {
    "status": str,
    "labels": dict,
    "annotations": dict,
    "startsAt": str,
    "endsAt": str,
    "generatorURL": str,
    "fingerprint": str,
}


@dataclass
class Receiver:
    """What was received, and how the next requests are answered."""

    url: str = ""
    port: int = 0
    got: list[Any] = field(default_factory=list)
    """Messages that were accepted."""
    requests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What was not in the form that the real service requires."""
    broken: Any = None
    """Status and body of every answer; None to work."""

    @property
    def texts(self) -> list[str]:
        """Return the texts of the accepted messages."""
        return [str(each["text"]) for each in self.got]


def shaped(value: object, shape: dict[str, type]) -> str:
    """Return what is wrong with the keys and types of a JSON object."""
    if not isinstance(value, dict):
        return f"not an object: {value!r}"
    wrong = [key for key in shape if not isinstance(value.get(key), shape[key])]
    return f"unknown {sorted(set(value) - set(shape))}, wrong {wrong}" if wrong or set(value) - set(shape) else ""


def bot_api(receiver: Receiver, path: str, body: Any) -> tuple[int, Any]:  # noqa: ANN401  JSON
    """Answer as the Bot API: https://core.telegram.org/bots/api#sendmessage."""
    found = re.fullmatch(r"/bot(\d+:[\w-]+)/sendMessage", path)
    if found is None:
        return 404, {"ok": False, "error_code": 404, "description": "Not Found"}
    if found[1] != TOKEN:
        return 401, {"ok": False, "error_code": 401, "description": "Unauthorized"}
    if fault := shaped(body, TELEGRAM_FIELDS):
        receiver.faults.append(fault)
        return 400, {"ok": False, "error_code": 400, "description": "Bad Request: " + fault}
    if body["chat_id"] != CHAT:
        return 400, {"ok": False, "error_code": 400, "description": "Bad Request: chat not found"}
    units = len(body["text"].encode("utf-16-le")) // 2
    if not body["text"].strip() or units > 4096:
        reason = "message is too long" if units > 4096 else "message text is empty"
        return 400, {"ok": False, "error_code": 400, "description": f"Bad Request: {reason}"}
    receiver.got.append(body)
    return 200, {"ok": True, "result": {"message_id": len(receiver.got), "chat": {"id": CHAT}, "text": body["text"]}}


def alertmanager_receiver(receiver: Receiver, path: str, body: Any) -> tuple[int, Any]:  # noqa: ANN401
    """Accept what Alertmanager sends to a webhook: https://prometheus.io/docs/alerting/latest/configuration."""
    if path != f"/{HOOK}":
        return 404, "no such hook"
    faults = [shaped(body, ALERTMANAGER), *(shaped(each, ALERT) for each in body.get("alerts", ()))]
    stamps = [each[key] for each in body["alerts"] for key in ("startsAt", "endsAt")]
    faults += [stamp for stamp in stamps if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp)]
    receiver.faults += [fault for fault in faults if fault]
    receiver.got.append({"text": body["commonAnnotations"]["summary"], "body": body})
    return 200, "ok"


@contextlib.contextmanager
def http(answer: Any) -> Iterator[Receiver]:  # noqa: ANN401  one of the two functions above
    """Run an HTTP receiver."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond(None)

        def do_POST(self) -> None:
            if self.headers["Content-Type"] != "application/json":
                receiver.faults.append("Content-Type is not application/json")
            self.respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def respond(self, body: Any) -> None:  # noqa: ANN401
            receiver.requests.append(f"{self.command} {self.path}")
            status, found = receiver.broken or answer(receiver, self.path, body)
            content = found.encode() if isinstance(found, str) else json.dumps(found).encode()
            self.send_response(status)
            if status // 100 == 3:
                self.send_header("Location", found)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write no log."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        receiver.port = server.server_port
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        yield receiver


@contextlib.contextmanager
def mail_server(authority: Authority) -> Iterator[Receiver]:
    """Run a mail server that accepts mail over TLS from a user who has logged in."""
    receiver = Receiver()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate, authority.private)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            session = _Session(self, receiver, context)
            with contextlib.suppress(OSError):
                session.run()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with serving(Server(("127.0.0.1", 0), Handler)) as server:
        receiver.port = server.server_address[1]
        yield receiver


class _Session:
    """One connection of a mail client: RFC 5321, with STARTTLS of RFC 3207 and AUTH PLAIN of RFC 4954."""

    def __init__(self, handler: Any, receiver: Receiver, context: ssl.SSLContext) -> None:  # noqa: ANN401
        self.socket, self.file = handler.connection, handler.rfile
        self.receiver, self.context = receiver, context
        self.tls = self.known = False
        self.to: list[str] = []

    def run(self) -> None:
        self.say("220 stand-in ESMTP")
        while line := self.file.readline().decode().strip():
            verb, _, rest = line.partition(" ")
            self.receiver.requests.append(verb.upper())
            if self.receiver.broken and verb.upper() in self.receiver.broken:
                self.say(self.receiver.broken[verb.upper()])
            else:
                getattr(self, f"do_{verb.lower()}", self.unknown)(rest)

    def say(self, text: str) -> None:
        self.socket.sendall(text.encode() + b"\r\n")

    def unknown(self, _rest: str) -> None:
        self.say("502 unknown command")

    def do_ehlo(self, _rest: str) -> None:
        self.say("250-stand-in\r\n" + ("250 AUTH PLAIN" if self.tls else "250 STARTTLS"))

    def do_starttls(self, _rest: str) -> None:
        self.say("220 go ahead")
        self.socket = self.context.wrap_socket(self.socket, server_side=True)
        self.file, self.tls = self.socket.makefile("rb"), True

    def do_auth(self, rest: str) -> None:
        wanted = base64.b64encode(f"\0{USER}\0{PASSWORD}".encode()).decode()
        self.known = self.tls and rest == f"PLAIN {wanted}"
        self.say("235 welcome" if self.known else f"535 wrong credentials {PASSWORD}")

    def do_mail(self, _rest: str) -> None:
        self.say("250 ok" if self.known else "530 log in first")

    def do_rcpt(self, rest: str) -> None:
        self.to.append(rest)
        self.say("250 ok")

    def do_data(self, _rest: str) -> None:
        self.say("354 end with a dot")
        lines = []
        while (line := self.file.readline()) not in {b".\r\n", b""}:
            lines.append(line.removeprefix(b"."))
        mail: EmailMessage = message_from_bytes(b"".join(lines), policy=policy.default)  # type: ignore[assignment]
        self.receiver.faults += [name for name in ("From", "To", "Subject", "Date", "Message-ID") if not mail[name]]
        self.receiver.got.append({"text": mail.get_content(), "mail": mail, "to": self.to})
        self.say("250 queued")

    def do_quit(self, _rest: str) -> None:
        self.say("221 bye")
