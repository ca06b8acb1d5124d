#!/usr/bin/env python3
"""Check that a server serves. Python 3.8 or newer, standard library only.

probe.py [options] URL [MODEL...]: /health answers 200, /v1/models lists every MODEL, and the first MODEL repeats a
number when it is asked to. An answer that is null, empty, one token again and again, unreadable or another number is
a failure; with --tools, so is a refused request with tools. The first answer may take a minute: engines compile then.

As a container's health check it keeps a state file with the time of the last good answer. When that is 5 minutes ago
and the engine's counters in /metrics stand still, it asks again, because /health stays 200 when an engine hangs.
On the host it verifies a deployment. Its other part lies beside it.
Exit: 0 it serves, 1 it does not (one line on stderr says why), 2 wrong usage.
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

sys.dont_write_bytecode = True  # the directory holds what was deployed, and nothing else
import probe_answers as answers  # noqa: E402

HEALTH_TIMEOUT_S = 4
FIRST_ANSWER_TIMEOUT_S = 120
"""For all requests of the first check together. Docker ends a health check after 150 s."""
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
"""Series that change while an engine works. During a long prefill only the use of the KV cache does."""


class NotServingError(Exception):
    """The server does not serve (yet)."""


class WrongError(NotServingError):
    """The server answers, but will never answer as wanted: waiting does not help."""


class RefusedError(WrongError):
    """The server refuses the request."""

    def __init__(self, message: str, text: str) -> None:
        """Keep the text of the answer."""
        super().__init__(message)
        self.text = text


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
            text = content.decode("utf-8", "replace")
            message = f"{path}: HTTP {answer.status} {text[:200]}".strip()
            if answer.status in CLIENT_ERRORS and answer.status != TOO_MANY_REQUESTS:
                raise RefusedError(message, text)
            raise NotServingError(message)
        return content

    def ask_json(self, path: str, *, within: int, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the JSON object that came back."""
        content = self.ask(path, within=within, body=body)
        try:
            return dict(json.loads(content))
        except (ValueError, TypeError):
            message = f"{path}: no JSON object: {content[:80]!r}"
            raise WrongError(message) from None

    def ask_model(self, path: str, *, within: int, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request to a model and return the first choice of its answer."""
        answer = self.ask_json(path, within=within, body=body)
        try:
            return dict(answer["choices"][0])
        except (KeyError, IndexError, TypeError, ValueError):
            message = f"{path}: an answer without choices"
            raise WrongError(message) from None


def check_models(server: Server, wanted: list[str]) -> None:
    """Compare the served names with the wanted ones. llama.cpp lists one model, and its other names as aliases."""
    data = server.ask_json("/v1/models", within=HEALTH_TIMEOUT_S).get("data") or []
    served = [name for entry in data for name in [entry.get("id"), *(entry.get("aliases") or ())]]
    missing = [name for name in wanted if name not in served]
    if missing:
        message = f"/v1/models: serves {', '.join(map(str, served)) or 'nothing'}, not {', '.join(missing)}"
        raise WrongError(message)


def check_answer(server: Server, model: str, *, within: int) -> None:
    """Ask for the known answer. A base model, which has no chat, continues a text; one without text is not asked."""
    path = CHAT
    try:
        choice = server.ask_model(path, within=within, body={"model": model, **answers.QUESTION})
        fault = answers.fault_of_answer(choice)
    except RefusedError as refusal:
        if answers.NO_CHAT.search(refusal.text):
            return
        if not answers.NO_TEMPLATE.search(refusal.text):
            raise
        path = COMPLETIONS
        choice = server.ask_model(path, within=within, body={"model": model, **answers.TEXT_TO_CONTINUE})
        fault = answers.fault_of_text(choice.get("text"))
    if fault:
        message = f"{path}: {fault}"
        raise WrongError(message)


def check_tools(server: Server, model: str, *, within: int) -> None:
    """Send a request with tools, as agents do. Whether the model calls one is its own decision."""
    try:
        server.ask_model(CHAT, within=within, body={"model": model, **answers.QUESTION_WITH_TOOLS})
    except RefusedError as refusal:
        message = f"a request with tools is refused: {refusal}"
        raise WrongError(message) from None


def check_all_answers(server: Server, model: str, *, tools: bool) -> None:
    """Ask everything that a model must answer."""
    end = time.monotonic() + FIRST_ANSWER_TIMEOUT_S
    check_answer(server, model, within=FIRST_ANSWER_TIMEOUT_S)
    if tools:
        check_tools(server, model, within=max(1, int(end - time.monotonic())))


def counters(server: Server) -> str:
    """Return the engine's counters; nothing where it has none of these metrics."""
    try:
        metrics = server.ask("/metrics", within=HEALTH_TIMEOUT_S).decode("utf-8", "replace")
    except NotServingError:
        return ""
    return "\n".join(COUNTERS.findall(metrics))


def watch(server: Server, model: str, *, tools: bool, state: Path) -> None:
    """Ask everything once; later ask again when the last good answer is old and the engine seems to do nothing.

    The state is the time of that answer and the counters that were read last. After a wrong answer there is none: then
    moving counters prove nothing, for the engine may generate garbage.
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
            check_all_answers(server, model, tools=tools)
    except WrongError:
        state.unlink(missing_ok=True)
        raise
    state.write_text(f"{time.monotonic()}\n{counters(server)}", encoding="utf-8")


def check(server: Server, arguments: argparse.Namespace) -> None:
    """Make every check once."""
    if arguments.health:
        server.ask(arguments.health, within=HEALTH_TIMEOUT_S)
    if not arguments.models:
        return
    check_models(server, arguments.models)
    if arguments.answer and arguments.state:
        watch(server, arguments.models[0], tools=arguments.tools, state=arguments.state)
    elif arguments.answer:
        check_all_answers(server, arguments.models[0], tools=arguments.tools)


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="probe.py", description=__doc__.partition("\n")[0])
    parser.add_argument("url", metavar="URL", help="http://host:port")
    parser.add_argument("models", metavar="MODEL", nargs="*", help="names that must be served")
    parser.add_argument("--health", default="/health", metavar="PATH", help="'' for none (default: %(default)s)")
    parser.add_argument("--token-file", type=Path, default=Path("/run/secrets/vllm_api_key"), metavar="FILE")
    parser.add_argument("--tools", action="store_true", help="clients send tools: a request with tools must be taken")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path("/tmp/sparkiac-answered"),  # noqa: S108 - inside the container
        metavar="FILE",
        help="when the model last answered: ask once, and then now and then",
    )
    parser.add_argument("--warm-up", dest="state", action="store_const", const=None, help="ask now, and keep no state")
    parser.add_argument("--no-warm-up", dest="answer", action="store_false", help="never ask for an answer")
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
