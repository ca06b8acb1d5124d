#!/usr/bin/env python3
"""Say whether a server serves. Python 3.8 or newer, no other modules.

probe.py [options] URL [MODEL...]: /health answers 200, /v1/models lists every MODEL, and the first MODEL has
answered one short chat completion, so that healthy means warm: the first request may compile for a minute.

Runs inside the container as its health check, and on the host to verify a deployment.
Exit: 0 it serves, 1 it does not (one line on stderr says why), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import http.client
import json
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator  # noqa: UP035 - Python 3.8
from urllib.parse import urlsplit

HEALTH_TIMEOUT_S = 4
WARM_UP_TIMEOUT_S = 120
WAIT_STEP_S = 2
OK = 200
CLIENT_ERRORS = range(400, 500)
TOO_MANY_REQUESTS = 429
CHAT = {"messages": [{"role": "user", "content": "Say OK."}], "max_tokens": 8, "temperature": 0}


class NotServingError(Exception):
    """The server does not serve (yet)."""


class WrongError(NotServingError):
    """The server answers, but will never answer as wanted: waiting does not help."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Bound everything inside: a socket's timeout alone lets a server drip bytes for ever."""

    def stop(_signal: int, _frame: object) -> None:
        message = f"no answer within {seconds} s"
        raise NotServingError(message)

    former = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


class Server:
    """The server at a URL. Asked without a proxy, whatever the environment says."""

    def __init__(self, url: str, token_file: Path) -> None:
        """Remember where it is; the token is read when it is used."""
        self.parts = urlsplit(url)
        self.token_file = token_file

    def ask(self, path: str, *, within: int, body: dict[str, Any] | None = None) -> bytes:
        """Send a request and return what came back with a 200."""
        headers = {"Content-Type": "application/json"}
        if self.token_file.exists():
            headers["Authorization"] = "Bearer " + self.token_file.read_text(encoding="utf-8").strip()
        payload = None if body is None else json.dumps(body).encode()
        method, path_below = ("GET" if body is None else "POST"), self.parts.path.rstrip("/") + path
        connection = http.client.HTTPConnection(self.parts.hostname or "", self.parts.port)
        try:
            with limit(within):
                connection.request(method, path_below, payload, headers)
                answer = connection.getresponse()
                content = answer.read()
        except NotServingError as error:
            message = f"{path}: {error}"
            raise NotServingError(message) from None
        except (OSError, http.client.HTTPException) as error:
            message = f"{path}: {error!r}"
            raise NotServingError(message) from None
        finally:
            connection.close()
        if answer.status != OK:
            message = f"{path}: HTTP {answer.status} {content[:200].decode('utf-8', 'replace')}".strip()
            lasting = answer.status in CLIENT_ERRORS and answer.status != TOO_MANY_REQUESTS
            raise (WrongError if lasting else NotServingError)(message)
        return content

    def ask_json(self, path: str, *, within: int, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the JSON object that came back."""
        content = self.ask(path, within=within, body=body)
        try:
            return dict(json.loads(content))
        except (ValueError, TypeError):
            message = f"{path}: no JSON object: {content[:80]!r}"
            raise WrongError(message) from None


def check_models(server: Server, wanted: list[str]) -> None:
    """Compare the served names with the wanted ones. llama.cpp lists one model, and its other names as aliases."""
    data = server.ask_json("/v1/models", within=HEALTH_TIMEOUT_S).get("data") or []
    served = [name for entry in data for name in [entry.get("id"), *(entry.get("aliases") or ())]]
    missing = [name for name in wanted if name not in served]
    if missing:
        message = f"/v1/models: serves {', '.join(map(str, served)) or 'nothing'}, not {', '.join(missing)}"
        raise WrongError(message)


def warm_up(server: Server, model: str) -> None:
    """Ask for one short completion on the path that clients use."""
    answer = server.ask_json("/v1/chat/completions", within=WARM_UP_TIMEOUT_S, body={"model": model, **CHAT})
    if not answer.get("choices"):
        message = "/v1/chat/completions: an answer without choices"
        raise WrongError(message)


def check(server: Server, arguments: argparse.Namespace) -> None:
    """Make every check once; the warm-up only when its marker is not there."""
    if arguments.health:
        server.ask(arguments.health, within=HEALTH_TIMEOUT_S)
    if not arguments.models:
        return
    check_models(server, arguments.models)
    if not arguments.answer or (arguments.marker and arguments.marker.exists()):
        return
    warm_up(server, arguments.models[0])
    if arguments.marker:
        arguments.marker.touch()


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="probe.py", description=__doc__.partition("\n")[0])
    parser.add_argument("url", metavar="URL", help="http://host:port")
    parser.add_argument("models", metavar="MODEL", nargs="*", help="names that must be served")
    parser.add_argument("--health", default="/health", metavar="PATH", help="'' for none (default: %(default)s)")
    parser.add_argument("--token-file", type=Path, default=Path("/run/secrets/vllm_api_key"), metavar="FILE")
    parser.add_argument(
        "--marker",
        type=Path,
        default=Path("/tmp/sparkiac-warm"),  # noqa: S108 - inside the container
        metavar="FILE",
        help="warm up only when this file is missing, then make it",
    )
    parser.add_argument("--warm-up", dest="marker", action="store_const", const=None, help="warm up, marker or not")
    parser.add_argument("--no-warm-up", dest="answer", action="store_false", help="never ask for a completion")
    parser.add_argument("--wait", type=int, default=0, metavar="SECONDS", help="try again until then")
    arguments = parser.parse_args(argv)
    if urlsplit(arguments.url).scheme != "http":
        parser.error("URL must begin with http://")
    return arguments


def main(argv: list[str]) -> int:
    """Run the command."""
    arguments = parse(argv)
    server, deadline = Server(arguments.url, arguments.token_file), time.monotonic() + arguments.wait
    while True:
        try:
            check(server, arguments)
        except (NotServingError, OSError) as error:
            if isinstance(error, NotServingError) and not isinstance(error, WrongError) and time.monotonic() < deadline:
                time.sleep(WAIT_STEP_S)
                continue
            sys.stderr.write(" ".join(str(error).split()) + "\n")
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
