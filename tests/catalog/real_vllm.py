"""Asks an installed vLLM what it takes: run by its own Python, with words to try for each option on standard input.

It shares nothing with tools/vllm_interface, so that the two can be held against each other.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import importlib
import io
import json
import sys
from typing import Any

PARSERS = ("vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")


def parser() -> Any:  # noqa: ANN401  vLLM's own
    """Build the parser of `vllm serve`."""
    kind = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    for name in PARSERS:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name).make_arg_parser(kind(prog="vllm serve"))
    raise SystemExit(1)


def plain(value: Any) -> Any:  # noqa: ANN401
    """Return a default as JSON has it."""
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, str | int) else value.name
    return sorted(value) if isinstance(value, set) else {"": type(value).__name__}


def takes(real: Any, words: list[str]) -> bool:  # noqa: ANN401
    """Return whether the parser accepts the words."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            real.parse_args(["a/model", *words])
        except SystemExit as done:
            return done.code == 0
        except Exception:  # noqa: BLE001  a type that raises is refused as well
            return False
    return True


def classes(names: list[str]) -> dict[str, list[str]]:
    """Return the keys of vLLM's classes of settings."""
    found = {}
    for module in [module for name, module in sys.modules.items() if name.startswith("vllm.")]:
        for name in names:
            each = vars(module).get(name)
            if dataclasses.is_dataclass(each):
                found[name] = sorted(field.name for field in dataclasses.fields(each) if field.init)
    return found


def main() -> None:
    """Answer in JSON."""
    asked = json.load(sys.stdin)
    sys.argv = ["vllm", "serve", "a/model"]
    with contextlib.redirect_stdout(sys.stderr):
        real = parser()
        actions = {id(action): action for action in real._option_string_actions.values()}  # noqa: SLF001
        answer = {
            "options": [
                {
                    "spellings": sorted(text for text, each in real._option_string_actions.items() if each is action),  # noqa: SLF001
                    "words": action.nargs,
                    "default": json.loads(json.dumps(action.default, default=plain)),
                }
                for action in actions.values()
            ],
            "takes": [takes(real, words) for words in asked["try"]],
            "objects": classes(asked["objects"]),
            "variables": sorted(importlib.import_module("vllm.envs").environment_variables),
            "quantization": importlib.import_module("vllm.model_executor.layers.quantization").QUANTIZATION_METHODS,
            "architectures": sorted(importlib.import_module("vllm").ModelRegistry.get_supported_archs()),
            "reasoning_parsers": importlib.import_module("vllm.reasoning").ReasoningParserManager.list_registered(),
            "tool_call_parsers": sorted(importlib.import_module("vllm.tool_parsers").ToolParserManager.lazy_parsers),
        }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
