"""The stand-in's HTTP routes: vLLM's, as far as sparkiac's tests use them, and `/standin`."""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import re
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agents
import answers
import arguments
import ray_workers
from metrics import Metrics

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

Json = dict[str, Any]

WHAT = "sparkiac's engine stand-in, not vLLM"
BEHAVIOURS = (
    *("ok", "base", "broken-arguments", "chat-only", "crash", "crossed", "hang", "kv-full", "leak", "lost-results"),
    *("odd", "orphan", "raw-calls", "reasoned", "reasoned-stream", "refuse-tools", "slow", "spliced", "stall"),
    *("unclosed", "unhealthy"),
    *answers.FAULTY,
)
NO_TEMPLATE = (
    "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the "
    "tokenizer does not define one."
)
HANG_SECONDS = 86_400
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


class Engine:
    """What the routes share: the arguments, the behaviour and the counters."""

    def __init__(self, args: argparse.Namespace, argv: list[str]) -> None:
        """Take parsed arguments; the behaviour is $STANDIN_BEHAVIOUR until somebody changes it.

        The content of $STANDIN_BEHAVIOUR_FILE comes first: another start of the same version may behave in another way.
        """
        self.args, self.argv = args, argv
        self.model = args.model_tag or args.model or "Qwen/Qwen3-0.6B"
        self.names = args.served_model_name or [self.model]
        keys = args.api_key or [os.environ.get("VLLM_API_KEY")]
        self.keys = [key for key in keys if key]
        self.metrics = Metrics(self.names[0], gpu_memory_utilization=args.gpu_memory_utilization or 0.9)
        self.metrics.drafted = int((args.speculative_config or {}).get("num_speculative_tokens") or 0)
        self.first_seconds = float(os.environ.get("STANDIN_FIRST_SECONDS", "0"))
        """Time to the first token."""
        self.token_seconds = float(os.environ.get("STANDIN_TOKEN_SECONDS", "0"))
        """Time of each further token."""
        self.prompt_token_seconds = float(os.environ.get("STANDIN_PROMPT_TOKEN_SECONDS", "0"))
        """Time of each token of a prompt, in which no other request gets a token."""
        self.step = threading.Lock()
        self.joined = threading.Condition()
        self.arrived = 0
        self.ranks: dict[str, list[str]] = {}
        """The command line of each rank of the group."""
        self.seconds = float(os.environ.get("STANDIN_SLOW_SECONDS", "3"))
        file = Path(os.environ.get("STANDIN_BEHAVIOUR_FILE") or os.devnull)
        told = file.read_text().strip() if file.exists() else ""
        self.set_behaviour(told or os.environ.get("STANDIN_BEHAVIOUR") or "ok")

    def set_behaviour(self, name: str, seconds: float | None = None) -> None:
        """Change how requests are answered from now on."""
        if name not in BEHAVIOURS:
            message = f"behaviour {name!r} is none of {', '.join(BEHAVIOURS)}"
            raise ValueError(message)
        self.behaviour = name
        self.metrics.full = name == "kv-full"
        self.seconds = float(seconds) if seconds is not None else self.seconds

    def is_crossed(self) -> bool:
        """Return whether another request runs with this one, which waits for it."""
        with self.joined:
            self.arrived += 1
            mine, others = self.arrived, self.metrics.running > 1
            self.joined.notify_all()
            return others or self.joined.wait_for(lambda: self.arrived > mine, self.seconds)

    def description(self) -> Json:
        """Return what a test wants to know of the process; secrets appear by name only."""
        environment = sorted(os.environ)
        status = Path("/proc/self/status").read_text().splitlines()
        facts = dict(line.split(":\t", 1) for line in status if ":\t" in line)
        return {
            "standin": WHAT,
            "version": arguments.version(),
            "argv": self.argv,
            "environment": environment,
            "values": {name: os.environ[name] for name in environment if not SECRET.search(name)},
            "uid": os.getuid(),
            "gid": os.getgid(),
            "pid": os.getpid(),
            "hardening": {name: facts.get(name) for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")},
            "behaviour": self.behaviour,
            "ranks": self.ranks,
        }


class Server(ThreadingHTTPServer):
    """An HTTP server that begins at once and ends without waiting for its requests."""

    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        """Bind without HTTPServer's look-up of the address's name, which may wait for a resolver."""
        socketserver.TCPServer.server_bind(self)
        host, self.server_port = self.server_address[:2]
        self.server_name = str(host)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    engine: Engine

    def do_GET(self) -> None:
        """Answer a GET."""
        self._route({
            "/health": self._health,
            "/metrics": self._metrics,
            "/ping": self._health,
            "/standin": lambda: self._json(self.engine.description()),
            "/v1/models": self._models,
            "/version": lambda: self._json({"version": arguments.version(), "standin": WHAT}),
        })  # fmt: skip

    def do_POST(self) -> None:
        """Answer a POST."""
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._route({
            "/ping": self._health,
            "/standin": self._change,
            "/v1/chat/completions": lambda: self._generate(chat=True),
            "/v1/completions": lambda: self._generate(chat=False),
            **({} if self.engine.behaviour == "chat-only" else dict.fromkeys(agents.PATHS, self._agent)),
        })  # fmt: skip

    def _route(self, routes: dict[str, Callable[[], None]]) -> None:
        path = self.path.partition("?")[0]
        if path != "/standin" and self.engine.behaviour == "hang":
            time.sleep(HANG_SECONDS)
        if path.startswith("/v1") and not self._authorized():
            self._json({"error": "Unauthorized"}, status=401)
        elif path not in routes:
            self._json({"detail": "Not Found"}, status=404)
        else:
            routes[path]()

    def _authorized(self) -> bool:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        known = [hmac.compare_digest(token.encode(), key.encode()) for key in self.engine.keys]
        return not known or (scheme.lower() == "bearer" and any(known))

    # -- routes -------------------------------------------------------------------------------

    def _health(self) -> None:
        self._send(b"", status=503 if self.engine.behaviour == "unhealthy" else 200)

    def _metrics(self) -> None:
        self._send(self.engine.metrics.text().encode(), content_type="text/plain; version=0.0.4; charset=utf-8")

    def _models(self) -> None:
        length = self.engine.args.max_model_len or 32_768
        card: Json = {"object": "model", "created": int(time.time()), "owned_by": "vllm", "root": self.engine.model,
                "parent": None, "max_model_len": length, "permission": []}  # fmt: skip
        self._json({"object": "list", "data": [{"id": name, **card} for name in self.engine.names]})

    def _change(self) -> None:
        try:
            wanted = json.loads(self.body)
            self.engine.set_behaviour(wanted["behaviour"], wanted.get("seconds"))
        except (ValueError, KeyError, TypeError) as error:
            self._json({"error": f"{type(error).__name__}: {error}"}, status=400)
            return
        self._json({"behaviour": self.engine.behaviour})
        if self.engine.behaviour == "crash":
            self.wfile.flush()
            print("stand-in: told to crash", file=sys.stderr, flush=True)  # noqa: T201 - the log
            os._exit(1)

    # -- generation ---------------------------------------------------------------------------

    def _agent(self) -> None:
        """Answer a request of an agent as the chat answers it."""
        read, write = agents.PATHS[self.path]
        self._generate(chat=True, read=read, write=write)

    def _generate(
        self, *, chat: bool, read: Callable[[Json], Json] = dict, write: Callable[[Json], Json] = dict
    ) -> None:
        try:
            request = read(json.loads(self.body))
            self._refuse_malformed(request, chat=chat)
            model = request.get("model")
            if model and model not in self.engine.names:
                self._error(404, f"The model `{model}` does not exist.", kind="NotFoundError", param="model")
                return
            tool = self._tool(request) if chat else None
            ray_workers.step()
            answer = answers.Answer(self.engine, request, chat=chat, tool=tool)
        except (answers.BadRequestError, ValueError, TypeError, KeyError, AttributeError) as error:
            self._error(400, str(error), kind="BadRequestError")
            return
        with contextlib.ExitStack() as running:
            self.engine.metrics.change_running(1)
            running.callback(self.engine.metrics.change_running, -1)
            if self.engine.behaviour == "crossed" and self.engine.is_crossed():
                answer.pieces = answers.tokens(answers.FAULTY["wrong"])
            self._answer(answer, running, write)

    def _refuse_malformed(self, request: Json, *, chat: bool) -> None:
        needed = "messages" if chat else "prompt"
        if not isinstance(request, dict) or not request.get(needed):
            refusal = f"Field required: {needed}"
            raise answers.BadRequestError(refusal)
        if chat and self.engine.behaviour == "base":
            raise answers.BadRequestError(NO_TEMPLATE)
        if self.engine.behaviour == "lost-results" and request.get("messages", [{}])[-1].get("role") == "tool":
            refusal = "'NoneType' object has no attribute 'get'"
            raise answers.BadRequestError(refusal)
        if (request.get("stream_options") or {}) and not request.get("stream"):
            refusal = "Stream options can only be defined when `stream=True`."
            raise answers.BadRequestError(refusal)

    def _tool(self, request: Json) -> Json | None:
        args = self.engine.args
        refusing = self.engine.behaviour == "refuse-tools"
        parser = None if refusing else args.tool_call_parser
        return answers.chosen_tool(
            request, parser=parser, automatic=bool(args.enable_auto_tool_choice and not refusing)
        )

    def _answer(self, answer: answers.Answer, running: contextlib.ExitStack, write: Callable[[Json], Json]) -> None:
        """Answer the request and count it, before its last bytes: whoever has them sees it in /metrics."""
        began = time.monotonic()
        if self.engine.behaviour in {"stall", "kv-full"}:
            time.sleep(HANG_SECONDS)
        if self.engine.behaviour == "slow":
            time.sleep(self.engine.seconds)
        with self.engine.step:
            time.sleep(answer.prompt_tokens * self.engine.prompt_token_seconds)
        time.sleep(self.engine.first_seconds)
        first = time.monotonic() - began
        # A server counts drafts in each step, so that all are counted when the response ends.
        self.engine.metrics.draft(answer.generated_tokens, answer.acceptance)

        def finish() -> None:
            self.engine.metrics.finish(
                prompt=answer.prompt_tokens, generated=answer.generated_tokens, reason=answer.reason,
                first_token_seconds=first, seconds=time.monotonic() - began,
            )  # fmt: skip
            running.close()

        if answer.streamed:
            self._stream(answer.chunks(), finish)
        else:
            finish()
            self._json(write(answer.whole()))

    def _stream(self, chunks: Iterator[Json], finish: Callable[[], None]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        began = time.monotonic()
        for place, chunk in enumerate([*map(json.dumps, chunks), "[DONE]"]):
            # The first chunk has the role; each token has a time of its own, so that delays do not add up.
            time.sleep(max(0.0, began + (place - 1) * self.engine.token_seconds - time.monotonic()))
            with self.engine.step:
                pass
            if chunk == "[DONE]":
                finish()
            self.wfile.write(f"data: {chunk}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    # -- output -------------------------------------------------------------------------------

    def _error(self, status: int, message: str, *, kind: str, param: str | None = None) -> None:
        error = {"message": message, "type": kind, "param": param, "code": status}
        self._json({"error": error}, status=status)

    def _json(self, document: Json, *, status: int = 200) -> None:
        self._send(json.dumps(document).encode(), status=status, content_type="application/json")

    def _send(self, content: bytes, *, status: int = 200, content_type: str | None = None) -> None:
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, form: str, *values: object) -> None:
        """Log as uvicorn does."""
        print(f"INFO:     {self.client_address[0]} - {form % values}", flush=True)  # noqa: T201 - the log
