"""The engine stand-in behaves as vLLM does where sparkiac's tests rely on it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE = Path(__file__).parent
SOON_S = 600
"""Much less than a load or a hang here takes, and enough for a busy machine."""
VLLM = [sys.executable, str(HERE / "vllm")]
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
WITH_TOOLS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")


@dataclass(frozen=True)
class Engine:
    """A running stand-in."""

    process: subprocess.Popen[bytes]
    port: int

    def call(
        self, path: str, body: object = None, *, bearer: str | None = None, timeout: float = 60
    ) -> tuple[int, str]:
        """Return the status and the text of an answer."""
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def chat(self, text: str = "12*17", **more: object) -> dict[str, Any]:
        """Return the whole answer to one question."""
        status, answer = self.call("/v1/chat/completions", question(text, **more))
        assert status == 200, answer
        answered: dict[str, Any] = json.loads(answer)
        return answered

    def behave(self, name: str, **more: object) -> None:
        """Change the behaviour at run time."""
        assert self.call("/standin", {"behaviour": name, **more})[0] == 200


def question(text: str, **more: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text}], **more}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STANDIN_", "VLLM_"))}
    return {**kept, "STANDIN_LOAD_SECONDS": "0", **more}


@contextlib.contextmanager
def engine(*options: str, env: Mapping[str, str] | None = None, wait: bool = True) -> Iterator[Engine]:
    """Start a stand-in that serves `org/model` on a free port, and end it."""
    port = free_port()
    argv = [*VLLM, "serve", "org/model", "--host", "127.0.0.1", "--port", str(port), *options]
    with subprocess.Popen(argv, env=environment(**(env or {})), stdout=subprocess.PIPE) as process:
        try:
            if wait:
                wait_until_listening(process, port)
            yield Engine(process, port)
        finally:
            process.kill()


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + SOON_S
    while not listening(port):
        assert process.poll() is None, "the stand-in ended before it listened"
        assert time.monotonic() < deadline, "the stand-in does not listen"
        time.sleep(0.02)


def refusal(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Return the end of a stand-in that does not get as far as serving."""
    argv = [*VLLM, "serve", "org/model", *options]
    return subprocess.run(argv, env=environment(**env), check=False, capture_output=True, text=True, timeout=SOON_S)


# -- the command line ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--nope", "1"], "vllm: error: unrecognized arguments: --nope 1"),
        (["--swap-space", "4"], "unrecognized arguments: --swap-space 4"),  # gone since 0.18.1
        (["--tensor-parallel-size", "two"], "argument --tensor-parallel-size/-tp: Value two cannot be"),
        (["--kv-cache-dtype", "fp9"], "argument --kv-cache-dtype: invalid choice: 'fp9'"),
        (["--max-num", "3"], "ambiguous option: --max-num could match"),
        (["--speculative-config", "{method: mtp}"], "argument --speculative-config/-sc: Value {method"),
        (["--compilation-config", "[1]"], "argument --compilation-config/-cc: Value [1] cannot"),
        (["--kernel-config.nope", "1"], "argument --kernel-config: Value"),
        (["--lora-modules", "adapter"], "argument --lora-modules: Value adapter cannot"),
        (["--served-model-name"], "argument --served-model-name: expected at least one argument"),
        (["--enforce-eager", "yes"], "unrecognized arguments: yes"),
        (["--kv-cache-memory-bytes", "1.5G"], "argument --kv-cache-memory-bytes: Value 1.5G cannot"),
    ],
)
def test_an_argument_that_vllm_refuses_ends_with_2(options: list[str], message: str) -> None:
    ended = refusal(*options)
    assert (ended.returncode, message in ended.stderr) == (2, True), ended.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--enable-auto-tool-choice"], "--enable-auto-tool-choice requires --tool-call-parser"),
        (["--enable-auto-tool-choice", "--tool-call-parser", "nope"], "invalid tool call parser: nope"),
        (["--speculative-config", '{"disable_by_batch_size": 1}'], "disable_by_batch_size: unexpected"),
        (["--reasoning-parser", "nano_v3"], "invalid reasoning parser: nano_v3"),
    ],
)
def test_an_argument_that_fails_the_start_ends_with_1(options: list[str], message: str) -> None:
    ended = refusal(*options)
    assert (ended.returncode, message in ended.stderr) == (1, True), ended.stderr


def test_every_spelling_that_vllm_takes_is_taken() -> None:
    options = [
        "-tp", "1", "--max_model_len", "8k", "--gpu-memory-util", "0.85", "--no-enable-log-requests",
        "-O3", "--kernel-config.moe_backend", "marlin", "--compilation-config.custom_ops+", "a,b",
        "--hf-overrides", '{"a": 1}', "--moe-backend", "FlashInfer-CUTLASS", "--served-model-name", "a", "b",
        "--speculative-config", '{"method": "mtp", "num_speculative_tokens": 2}', "--api-server-count=1",
        "--kv-cache-memory-bytes", "8G", "--enable-prefix-caching", "--chat-template", "None",
    ]  # fmt: skip
    with engine(*options) as running:
        models = json.loads(running.call("/v1/models")[1])["data"]
    assert [(model["id"], model["root"], model["max_model_len"]) for model in models] == [
        ("a", "org/model", 8000),
        ("b", "org/model", 8000),
    ]


def test_version_is_the_one_it_stands_in_for() -> None:
    shown = subprocess.run(
        [*VLLM, "--version"], env=environment(), check=True, capture_output=True, text=True, timeout=SOON_S
    )
    assert shown.stdout == "0.19.0\n"


# -- life ---------------------------------------------------------------------------------------


def test_nothing_listens_while_the_model_loads() -> None:
    began = time.monotonic()
    with engine(wait=False, env={"STANDIN_LOAD_SECONDS": "1.5"}) as running:
        while time.monotonic() - began < 1:
            assert not listening(running.port)
            time.sleep(0.1)
        wait_until_listening(running.process, running.port)
        assert time.monotonic() - began >= 1.5


@pytest.mark.parametrize("load_seconds", ["0", "600"])
def test_sigterm_ends_it_with_0_and_without_delay(load_seconds: str) -> None:
    with engine(wait=load_seconds == "0", env={"STANDIN_LOAD_SECONDS": load_seconds}) as running:
        if load_seconds != "0":
            assert running.process.stdout
            running.process.stdout.readline()  # it says who it is once its signals are handled
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=SOON_S) == 0


def test_sigterm_does_not_wait_for_a_request() -> None:
    with (
        engine(env={"STANDIN_BEHAVIOUR": "hang"}) as running,
        socket.create_connection(("127.0.0.1", running.port)) as held,
    ):
        held.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.2)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=SOON_S) == 0


# -- routes -------------------------------------------------------------------------------------


def test_it_says_that_it_is_a_stand_in() -> None:
    with engine() as running:
        assert json.loads(running.call("/version")[1]) == {
            "version": "0.19.0",
            "standin": "sparkiac's engine stand-in, not vLLM",
        }
        assert running.call("/health") == (200, "")
        assert running.call("/nope")[0] == 404


def test_standin_shows_names_of_secrets_and_not_their_values() -> None:
    secrets = {"VLLM_API_KEY": "s3cret", "HF_TOKEN": "hf_abc", "NCCL_DEBUG": "WARN"}
    with engine(env=secrets) as running:
        status, text = running.call("/standin")
    told = json.loads(text)
    assert status == 200
    assert set(secrets) <= set(told["environment"])
    assert told["values"]["NCCL_DEBUG"] == "WARN"
    assert "s3cret" not in text
    assert "hf_abc" not in text
    assert told["argv"][:2] == ["serve", "org/model"]
    assert (told["uid"], told["behaviour"]) == (os.getuid(), "ok")


@pytest.mark.parametrize(("options", "env"), [(["--api-key", "a", "s3"], {}), ([], {"VLLM_API_KEY": "s3"})])
def test_only_v1_requires_the_key(options: list[str], env: dict[str, str]) -> None:
    with engine(*options, env=env) as running:
        assert running.call("/v1/models") == (401, '{"error": "Unauthorized"}')
        assert running.call("/v1/models", bearer="wrong")[0] == 401
        assert running.call("/v1/models", bearer="s3")[0] == 200
        assert running.call("/v1/chat/completions", question("a"))[0] == 401
        assert [running.call(path)[0] for path in ("/health", "/metrics", "/version", "/standin")] == [200] * 4


def test_the_option_takes_precedence_over_the_variable() -> None:
    with engine("--api-key", "option", env={"VLLM_API_KEY": "variable"}) as running:
        assert running.call("/v1/models", bearer="variable")[0] == 401
        assert running.call("/v1/models", bearer="option")[0] == 200


def test_metrics_count_what_was_answered() -> None:
    with engine("--served-model-name", "chat") as running:
        running.chat(max_tokens=1)
        text = running.call("/metrics")[1]
    assert 'vllm:generation_tokens_total{engine="0",model_name="chat"} 1.0' in text
    assert 'vllm:request_success_total{finished_reason="stop",engine="0",model_name="chat"} 1.0' in text
    assert 'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="chat",le="+Inf"} 1.0' in text
    assert 'vllm:num_requests_running{engine="0",model_name="chat"} 0.0' in text


# -- answers ------------------------------------------------------------------------------------


def test_it_can_multiply() -> None:
    with engine() as running:
        answer = running.chat("What is 12*17? Answer with the number.")
    assert answer["choices"][0]["message"]["content"] == "204"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] == 1


def test_it_can_repeat_a_number() -> None:
    with engine() as running:
        answer = running.chat("Repeat this number and say nothing else: 371")
    assert answer["choices"][0]["message"]["content"] == "371"


def test_a_model_that_is_not_served_is_404() -> None:
    with engine() as running:
        status, text = running.call("/v1/chat/completions", question("a", model="other"))
    assert status == 404
    assert json.loads(text)["error"]["message"] == "The model `other` does not exist."


@pytest.mark.parametrize(
    "body", [{}, [], {"messages": "x"}, {"messages": ["x"]}, question("a", stream_options={"include_usage": True})]
)
def test_a_malformed_request_is_400(body: object) -> None:
    with engine() as running:
        assert running.call("/v1/chat/completions", body)[0] == 400


def test_with_a_reasoning_parser_few_tokens_leave_no_content() -> None:
    with engine("--reasoning-parser", "qwen3") as running:
        short = running.chat(max_tokens=2)["choices"][0]
        whole = running.chat()["choices"][0]
        plain = running.chat(chat_template_kwargs={"enable_thinking": False})["choices"][0]
    assert (short["message"]["content"], short["finish_reason"]) == (None, "length")
    assert (whole["message"]["content"], bool(whole["message"]["reasoning"])) == ("204", True)
    assert (plain["message"]["content"], plain["message"]["reasoning"]) == ("204", None)


def streamed(running: Engine, path: str, body: dict[str, object]) -> list[dict[str, Any]]:
    status, text = running.call(path, {**body, "stream": True})
    assert status == 200
    events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert events[-1] == "[DONE]"
    return [json.loads(event) for event in events[:-1]]


def test_a_stream_ends_with_its_usage_when_asked() -> None:
    with engine() as running:
        asked = question("Hello", stream_options={"include_usage": True})
        chunks = streamed(running, "/v1/chat/completions", asked)
        without = streamed(running, "/v1/chat/completions", question("Hello"))
    *parts, last = chunks
    assert parts[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(part["choices"][0]["delta"]["content"] for part in parts).startswith("Hello from")
    assert [part["choices"][0]["finish_reason"] for part in parts][-2:] == [None, "stop"]
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == len(parts) - 1
    assert not any("usage" in chunk for chunk in without)


def test_completions_are_plain_or_streamed() -> None:
    with engine() as running:
        status, text = running.call("/v1/completions", {"prompt": "12*17=", "model": "org/model"})
        chunks = streamed(running, "/v1/completions", {"prompt": "12*17="})
    assert (status, json.loads(text)["choices"][0]["text"]) == (200, "204")
    assert chunks[0]["choices"][0]["text"] == "204"


# -- tools --------------------------------------------------------------------------------------


def test_tools_are_called_with_arguments_of_their_schema() -> None:
    with engine(*WITH_TOOLS) as running:
        choice = running.chat(tools=[TOOL])["choices"][0]
        (_, chunk) = streamed(running, "/v1/chat/completions", question("a", tools=[TOOL]))
        ignored = running.chat(tools=[TOOL], tool_choice="none")["choices"][0]
    (call,) = choice["message"]["tool_calls"]
    assert (choice["finish_reason"], call["function"]["name"]) == ("tool_calls", "weather")
    assert json.loads(call["function"]["arguments"]) == {"city": "example"}
    assert chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] == "weather"
    assert ignored["message"]["content"] == "204"


def test_the_tool_result_is_answered_with_text() -> None:
    with engine(*WITH_TOOLS) as running:
        messages = [
            {"role": "user", "content": "12*17"},
            {"role": "tool", "tool_call_id": "x", "content": "ok"},
        ]
        answer = running.chat(messages=messages, tools=[TOOL])
    assert answer["choices"][0]["message"]["content"] == "204"


def test_tools_without_the_option_are_refused_as_vllm_does() -> None:
    with engine() as running:
        status, text = running.call("/v1/chat/completions", question("a", tools=[TOOL]))
    assert status == 400
    assert json.loads(text)["error"]["message"] == (
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    )


# -- behaviours ---------------------------------------------------------------------------------


def test_crash_ends_the_load_with_1() -> None:
    ended = refusal("--port", str(free_port()), STANDIN_BEHAVIOUR="crash", STANDIN_LOAD_SECONDS="30")
    assert ended.returncode == 1
    assert "Engine core initialization failed" in ended.stderr


def test_crash_at_run_time_ends_it_at_once() -> None:
    with engine() as running:
        running.behave("crash")
        assert running.process.wait(timeout=SOON_S) == 1


def test_hang_never_answers_until_it_is_told_otherwise() -> None:
    with engine(env={"STANDIN_BEHAVIOUR": "hang"}) as running:
        with pytest.raises(TimeoutError):
            running.call("/health", timeout=0.5)
        running.behave("ok")
        assert running.call("/health")[0] == 200


def test_a_stalled_engine_lists_its_models_and_generates_nothing() -> None:
    with engine(env={"STANDIN_BEHAVIOUR": "stall"}) as running:
        with pytest.raises(TimeoutError):
            running.call("/v1/chat/completions", question("a"), timeout=0.5)
        assert [running.call(path)[0] for path in ("/health", "/v1/models")] == [200, 200]
        assert 'generation_tokens_total{engine="0",model_name="org/model"} 0.0' in running.call("/metrics")[1]


def test_a_base_model_has_no_chat() -> None:
    with engine(env={"STANDIN_BEHAVIOUR": "base"}) as running:
        status, text = running.call("/v1/chat/completions", question("a"))
        completed = running.call("/v1/completions", {"prompt": "12*17="})
    assert (status, "you must provide a chat template" in text) == (400, True)
    assert json.loads(completed[1])["choices"][0]["text"] == "204"


@pytest.mark.parametrize(
    ("behaviour", "content"),
    [("garbage", "!" * 64), ("repeating", " the" * 32), ("null", None), ("empty", ""), ("wrong", "forty-two")],
)
def test_a_faulty_engine_gives_the_same_answer_to_every_request(behaviour: str, content: str | None) -> None:
    with engine("--reasoning-parser", "qwen3", env={"STANDIN_BEHAVIOUR": behaviour}) as running:
        message = running.chat()["choices"][0]["message"]
    assert (message["content"], message["reasoning"]) == (content, None)


def test_refuse_tools_refuses_tools_only() -> None:
    with engine(*WITH_TOOLS, env={"STANDIN_BEHAVIOUR": "refuse-tools"}) as running:
        assert running.call("/v1/chat/completions", question("a", tools=[TOOL]))[0] == 400
        assert running.chat()["choices"][0]["message"]["content"] == "204"


def test_unhealthy_is_503_and_still_answers() -> None:
    with engine(env={"STANDIN_BEHAVIOUR": "unhealthy"}) as running:
        assert running.call("/health")[0] == 503
        assert running.chat()["choices"][0]["message"]["content"] == "204"


def test_slow_takes_its_time() -> None:
    with engine() as running:
        running.behave("slow", seconds=0.6)
        began = time.monotonic()
        running.chat()
        assert time.monotonic() - began >= 0.6


def test_an_unknown_behaviour_is_refused() -> None:
    with engine() as running:
        assert running.call("/standin", {"behaviour": "nope"})[0] == 400
    assert refusal(STANDIN_BEHAVIOUR="nope").returncode == 1


def test_the_ranks_of_a_group_wait_for_each_other() -> None:
    """Only the first one listens, when all have met; a rank lives on without its leader."""
    words = ["--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", str(free_port()), "--node-rank"]
    with (
        engine(*words, "0", wait=False) as leader,
        engine(*words, "1", "--headless", wait=False, env={"STANDIN_STOP_SECONDS": "0.5"}) as worker,
    ):
        wait_until_listening(leader.process, leader.port)
        ranks = json.loads(leader.call("/standin")[1])["ranks"]
        assert [ranks[rank][-1] for rank in ("0", "1")] == ["0", "--headless"]
        assert not listening(worker.port)
        with engine(*words, "1", "--headless", wait=False) as late:
            time.sleep(0.3)
            assert late.process.poll() is None
        leader.process.kill()
        leader.process.wait()
        assert worker.process.poll() is None
        began = time.monotonic()
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait() == 0
        assert time.monotonic() - began >= 0.5


def test_a_rank_alone_does_not_listen() -> None:
    port = str(free_port())
    words = ["--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={port}"]
    with engine(*words, wait=False) as alone:
        while not listening(int(port)):
            assert alone.process.poll() is None
        assert not listening(alone.port)


# -- agents -------------------------------------------------------------------------------------

RECORDED = json.loads((HERE.parent / "host/data/agents_vllm_0.23.0.json").read_text())
AGENT = {"role": "user", "content": "What time is it? Use the tool."}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
MESSAGES = {"model": "org/model", "max_tokens": 64, "tools": [{"name": "time", "input_schema": SCHEMA}]}
RESPONSES = {
    "model": "org/model",
    "store": False,
    "tools": [{"type": "function", "name": "time", "parameters": SCHEMA}],
}


def keys_of(parts: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return type → keys of the parts of a response."""
    return {part["type"]: {key for key, value in part.items() if value is not None} for part in parts}


@pytest.mark.parametrize(
    ("path", "key", "body"),
    [
        ("/v1/messages", "content", {**MESSAGES, "messages": [AGENT]}),
        ("/v1/responses", "output", {**RESPONSES, "input": [AGENT]}),
    ],
)
def test_agents_get_the_parts_that_vllm_gives(path: str, key: str, body: dict[str, Any]) -> None:
    recorded = keys_of([part for answer in RECORDED[path] for part in answer[key]])
    with engine(*WITH_TOOLS, "--reasoning-parser", "qwen3") as running:
        called = json.loads(running.call(path, body)[1])[key]
        said = json.loads(running.call(path, {**body, "tools": []})[1])[key]
    assert keys_of([*called, *said]) == recorded


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {"model": "org/model", "messages": [AGENT]}),
        ("/v1/messages", {**MESSAGES, "messages": [AGENT], "tools": [{"name": "time"}]}),
        ("/v1/messages", {**MESSAGES, "messages": [{"role": "user", "content": [{"type": "nonsense"}]}]}),
        ("/v1/messages", {**MESSAGES, "messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}),
        ("/v1/messages", {**MESSAGES, "messages": [AGENT], "stream": True}),
        ("/v1/responses", {**RESPONSES, "input": [AGENT, {"type": "nonsense"}]}),
        ("/v1/responses", {**RESPONSES, "input": [AGENT, {"type": "function_call_output", "call_id": "z"}]}),
    ],
)
def test_requests_of_agents_are_checked(path: str, body: dict[str, Any]) -> None:
    with engine(*WITH_TOOLS) as running:
        assert running.call(path, body)[0] == 400


def test_agents_without_their_paths() -> None:
    with engine(env={"STANDIN_BEHAVIOUR": "chat-only"}) as running:
        assert [running.call(path, {})[0] for path in RECORDED] == [404, 404]


def test_two_requests_at_once_disturb_each_other_and_one_alone_is_right() -> None:
    asked = question("Repeat this number and say nothing else: 371")
    with engine(env={"STANDIN_BEHAVIOUR": "crossed"}) as running:
        running.behave("crossed", seconds=0)
        assert '"content": "371"' in running.call("/v1/chat/completions", asked)[1]
        running.behave("crossed", seconds=SOON_S)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            both = list(pool.map(lambda _: running.call("/v1/chat/completions", asked, timeout=SOON_S), range(2)))
    assert all("forty-two" in text for _, text in both)


@pytest.mark.parametrize(
    ("behaviour", "content", "reasoning"),
    [
        ("orphan", "</think>371", None),
        ("spliced", "371<|im_end|>", "The stand-in pretends to think about this."),
        ("reasoned", None, "The stand-in pretends to think about this.371"),
        ("reasoned-stream", "371", "The stand-in pretends to think about this."),
    ],
)
def test_what_a_broken_parser_makes_of_an_answer(behaviour: str, content: str | None, reasoning: str | None) -> None:
    asked = question("Repeat this number and say nothing else: 371")
    with engine("--reasoning-parser", "qwen3", env={"STANDIN_BEHAVIOUR": behaviour}) as running:
        message = json.loads(running.call("/v1/chat/completions", asked)[1])["choices"][0]["message"]
    assert (message["content"], message["reasoning"]) == (content, reasoning)
