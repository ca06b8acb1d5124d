#!/usr/bin/env python3
"""Check that a model server works. Needs only Python 3.8 or newer.

probe.py [options] URL [MODEL...] checks that /health returns 200, that /v1/models lists every MODEL, and that the first
MODEL repeats a number. An answer that is null, empty, unreadable, wrong or one token repeated many times is a failure;
with --tools, so is a rejected request with tools. The first answer may take a minute because engines compile kernels.

As the health check of a container, it keeps a state file with the time of the last good answer. If that is 5 minutes
old and the engine's counters in /metrics have not changed, it requests another answer, because /health still returns
200 when an engine hangs. On the host, it verifies a deployment. The module probe_answers.py is in the same directory.
Exit status: 0 the server works, 1 it does not (one line on stderr says why), 2 usage.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator  # noqa: UP035 - Python 3.8
from urllib.parse import urlsplit

sys.dont_write_bytecode = True  # keep the directory free of files that were not deployed
import probe_answers as answers  # noqa: E402

HEALTH_TIMEOUT_S = 4
FIRST_ANSWER_TIMEOUT_S = 120
"""Default limit for all requests of the first check together. Docker stops a health check after 150 s."""
ANSWER_TIMEOUT_S = 60
ANSWER_PERIOD_S = 300
WAIT_STEP_S = 2
OK = 200
CLIENT_ERRORS = range(400, 500)
TOO_MANY_REQUESTS = 429
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
COUNTERS = re.compile(
    r"^(?:vllm|sglang):(?:prompt_tokens_total|generation_tokens_total|kv_cache_usage_perc|token_usage)[{ ].*$",
    re.MULTILINE,
)
"""Metrics that change while an engine works. During a long prefill only the KV cache usage changes."""


class NotServingError(Exception):
    """The server does not work, or not yet."""


class WrongError(NotServingError):
    """The server gives a wrong answer; waiting does not help."""


class RefusedError(WrongError):
    """The server rejects the request."""

    def __init__(self, message: str, text: str) -> None:
        """Store the text of the response."""
        super().__init__(message)
        self.text = text


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Limit the total time of a block; a socket timeout alone would not stop a server that sends single bytes."""

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
    """HTTP client for the server at a URL; it ignores proxy settings in the environment."""

    def __init__(self, url: str, token_file: Path) -> None:
        """Store the URL and the path of the token file, which is read for each request."""
        self.parts = urlsplit(url)
        self.token_file = token_file

    def request(self, path: str, *, within: int, body: dict[str, Any] | None = None) -> bytes:
        """Send a request and return the body of a 200 response."""
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
            text = content.decode("utf-8", "replace")
            message = f"{path}: HTTP {answer.status} {text[:200]}".strip()
            if answer.status in CLIENT_ERRORS and answer.status != TOO_MANY_REQUESTS:
                raise RefusedError(message, text)
            raise NotServingError(message)
        return content

    def request_json(self, path: str, *, within: int, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the JSON object of the response."""
        content = self.request(path, within=within, body=body)
        try:
            return dict(json.loads(content))
        except (ValueError, TypeError):
            message = f"{path}: response is not a JSON object: {content[:80]!r}"
            raise WrongError(message) from None

    def request_choice(self, path: str, *, within: int, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request to a model and return the first choice of the response."""
        answer = self.request_json(path, within=within, body=body)
        try:
            return dict(answer["choices"][0])
        except (KeyError, IndexError, TypeError, ValueError):
            message = f"{path}: response has no choices"
            raise WrongError(message) from None


def check_models(server: Server, wanted: list[str]) -> None:
    """Check that all names are served. llama.cpp lists one model and its other names as aliases."""
    data = server.request_json("/v1/models", within=HEALTH_TIMEOUT_S).get("data") or []
    served = [name for entry in data for name in [entry.get("id"), *(entry.get("aliases") or ())]]
    missing = [name for name in wanted if name not in served]
    if missing:
        message = f"/v1/models: serves {', '.join(map(str, served)) or 'nothing'}, not {', '.join(missing)}"
        raise WrongError(message)


def check_answer(server: Server, model: str, *, within: int) -> None:
    """Request the known answer. A model without a chat template must continue a text; one without text is skipped."""
    path = CHAT
    try:
        choice = server.request_choice(path, within=within, body={"model": model, **answers.QUESTION})
        fault = answers.fault_of_answer(choice)
    except RefusedError as refusal:
        if answers.NO_CHAT.search(refusal.text):
            return
        if not answers.NO_TEMPLATE.search(refusal.text):
            raise
        path = COMPLETIONS
        choice = server.request_choice(path, within=within, body={"model": model, **answers.TEXT_TO_CONTINUE})
        fault = answers.fault_of_text(choice.get("text"))
    if fault:
        message = f"{path}: {fault}"
        raise WrongError(message)


def check_tools(server: Server, model: str, *, within: int) -> None:
    """Send a request with tools, as agents do. The model need not call a tool."""
    try:
        server.request_choice(CHAT, within=within, body={"model": model, **answers.QUESTION_WITH_TOOLS})
    except RefusedError as refusal:
        message = f"a request with tools is rejected: {refusal}"
        raise WrongError(message) from None


def check_all_answers(server: Server, model: str, *, tools: bool, within: int) -> None:
    """Check all answers that a model must give, in `within` seconds together."""
    end = time.monotonic() + within
    check_answer(server, model, within=within)
    if tools:
        check_tools(server, model, within=max(1, int(end - time.monotonic())))


def counters(server: Server) -> str:
    """Return the engine's counters; empty if it has none of these metrics."""
    try:
        metrics = server.request("/metrics", within=HEALTH_TIMEOUT_S).decode("utf-8", "replace")
    except NotServingError:
        return ""
    return "\n".join(COUNTERS.findall(metrics))


def watch(server: Server, model: str, *, tools: bool, within: int, state: Path) -> None:
    """Check all answers once; check one answer again if the last good one is old and the engine seems idle.

    The state file has the time of the last good answer and the counters of the last check. After a wrong answer it is
    deleted, because changing counters do not prove that the engine generates correct answers.
    """
    answered, _, before = state.read_text(encoding="utf-8").partition("\n") if state.exists() else ("", "", "")
    if answered and time.monotonic() - float(answered) < ANSWER_PERIOD_S:
        return
    now = counters(server) if answered else ""
    if now and now != before:
        state.write_text(f"{answered}\n{now}", encoding="utf-8")
        return
    try:
        if answered:
            check_answer(server, model, within=ANSWER_TIMEOUT_S)
        else:
            check_all_answers(server, model, tools=tools, within=within)
    except WrongError:
        state.unlink(missing_ok=True)
        raise
    state.write_text(f"{time.monotonic()}\n{counters(server)}", encoding="utf-8")


def check(server: Server, arguments: argparse.Namespace) -> None:
    """Run every check once."""
    if arguments.health:
        server.request(arguments.health, within=HEALTH_TIMEOUT_S)
    if not arguments.models:
        return
    check_models(server, arguments.models)
    wanted = {"tools": arguments.tools, "within": arguments.within}
    if arguments.answer and arguments.state:
        watch(server, arguments.models[0], state=arguments.state, **wanted)
    elif arguments.answer:
        check_all_answers(server, arguments.models[0], **wanted)


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="probe.py", description=__doc__.partition("\n")[0])
    parser.add_argument("url", metavar="URL", help="http://host:port")
    parser.add_argument("models", metavar="MODEL", nargs="*", help="names that must be served")
    parser.add_argument(
        "--health", default="/health", metavar="PATH", help="'' to skip the check (default: %(default)s)"
    )
    parser.add_argument("--token-file", type=Path, default=Path("/run/secrets/vllm_api_key"), metavar="FILE")
    parser.add_argument("--tools", action="store_true", help="check that the server accepts a request with tools")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path("/tmp/sparkiac-answered"),  # noqa: S108 - inside the container
        metavar="FILE",
        help="state file with the time of the last answer; limits how often an answer is requested",
    )
    parser.add_argument(
        "--warm-up", dest="state", action="store_const", const=None, help="request an answer now, and keep no state"
    )
    parser.add_argument("--no-warm-up", dest="answer", action="store_false", help="do not request an answer")
    parser.add_argument(
        "--within",
        type=int,
        default=FIRST_ANSWER_TIMEOUT_S,
        metavar="SECONDS",
        help="limit for the first answers together (default: %(default)s)",
    )
    parser.add_argument("--wait", type=int, default=0, metavar="SECONDS", help="retry for so long")
    arguments = parser.parse_args(argv)
    if urlsplit(arguments.url).scheme != "http":
        parser.error("URL must begin with http://")
    return arguments


def main(argv: list[str]) -> int:
    """Run the probe and return its exit status."""
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
