"""Measure with other programs, and read their output: `vllm bench serve`, llama-benchy and tool-eval-bench."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.bench import foreign
from sparkiac.upstream import tools
from sparkiac.upstream.streaming import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.bench.client import ApiEndpoint
    from sparkiac.bench.points import Sizes
    from sparkiac.bench.runner import BenchSession
    from sparkiac.model.bench import BenchRecord

_RESULT: Final = "result.json"


class Command(NamedTuple):
    """A command, and the file in its directory that contains the result; None if it prints the result."""

    words: tuple[str, ...]
    result: str | None = None


def run(session: BenchSession, tool: str, mode: str, sizes: Sizes) -> BenchRecord:
    """Run a program and return its result. Raises ServerError if it is missing or fails."""
    command = _COMMANDS[tool](session.endpoint, mode, sizes)
    session.on_progress(f"running {command.words[0]}")
    try:
        text = tools.output(command.words, command.result, key=session.endpoint.key, timeout_s=session.left_s)
        return foreign.read(text)
    except tools.ToolError as error:
        raise ServerError(str(error)) from None
    except ValueError as error:
        message = f"the result of {command.words[0]} cannot be read: {error}"
        raise ServerError(message) from None


def _vllm(endpoint: ApiEndpoint, mode: str, sizes: Sizes) -> Command:
    """Return `vllm bench serve` as in section 10 of the Spark guide, with the times of each request."""
    alone = mode == "single"
    words = (
        *("vllm", "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions"),
        *("--base-url", endpoint.url, "--model", endpoint.weights or endpoint.model),
        *("--served-model-name", endpoint.model, "--dataset-name", "random", "--ignore-eos"),
        *("--random-input-len", str(sizes.prompt_tokens or 1024)),
        *("--random-output-len", str(sizes.output_tokens or 256)),
        *("--num-prompts", "12" if alone else "100", "--num-warmups", "1"),
        *(("--max-concurrency", "1") if alone else ("--request-rate", "4")),
        *("--save-result", "--save-detailed", "--result-filename", _RESULT),
    )
    return Command(words, _RESULT)


def _benchy(endpoint: ApiEndpoint, mode: str, sizes: Sizes) -> Command:  # noqa: ARG001  the form of _COMMANDS
    """Return llama-benchy with the sizes of most published results."""
    depths = ("0", "4096", "8192", "16384", "32768", "65536")
    fits = [each for each in depths if endpoint.max_model_len is None or int(each) + 4096 <= endpoint.max_model_len]
    words = (
        *("llama-benchy", "--base-url", f"{endpoint.url}/v1", "--model", endpoint.model),
        *("--pp", str(sizes.prompt_tokens or 2048), "--tg", str(sizes.output_tokens or 128), "--depth", *fits),
    )
    return Command(words)


def _tool_eval(endpoint: ApiEndpoint, mode: str, sizes: Sizes) -> Command:  # noqa: ARG001  the form of _COMMANDS
    """Return tool-eval-bench: its 15 short scenarios, or its test of speculative decoding."""
    kind = "--spec-bench" if mode == "speculation" else "--short"
    return Command(("tool-eval-bench", kind, "--base-url", endpoint.url, "--model", endpoint.model))


_COMMANDS: Final[dict[str, Callable[[ApiEndpoint, str, Sizes], Command]]] = {
    "vllm-bench": _vllm,
    "llama-benchy": _benchy,
    "tool-eval-bench": _tool_eval,
}
