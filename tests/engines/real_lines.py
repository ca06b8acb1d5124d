"""Asks an installed vLLM which command lines it takes: run by its own Python, with the lines on standard input.

It shares nothing with sparkiac. What vLLM's parser lets through is judged further by its classes of settings and its
registries, as the starting server does; a setting that only fails with a model or a GPU counts as taken.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import json
import sys
from typing import Any

PARSERS = ("vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
LOADERS = "vllm.model_executor.model_loader"


def parser() -> Any:  # noqa: ANN401  vLLM's own
    """Build the parser of `vllm serve`."""
    kind = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    for name in PARSERS:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name).make_arg_parser(kind(prog="vllm serve"))
    raise SystemExit(1)


def classes(names: list[str]) -> dict[str, Any]:
    """Find vLLM's classes of settings."""
    found = {}
    for module in [module for name, module in sys.modules.items() if name.startswith("vllm.")]:
        found.update({name: vars(module)[name] for name in names if dataclasses.is_dataclass(vars(module).get(name))})
    return found


def registries() -> dict[str, Any]:
    """Return the lower-case names that options take."""
    tools = importlib.import_module("vllm.tool_parsers").ToolParserManager
    reasoning = importlib.import_module("vllm.reasoning").ReasoningParserManager
    names = {
        "tool_call_parser": tools.lazy_parsers,
        "reasoning_parser": reasoning.list_registered(),
        "quantization": importlib.import_module("vllm.model_executor.layers.quantization").QUANTIZATION_METHODS,
        "load_format": vars(importlib.import_module(LOADERS))["_LOAD_FORMAT_TO_MODEL_LOADER"],
    }
    return {option: {name.lower() for name in listed} for option, listed in names.items()}


def fits(kind: Any, value: dict[str, Any]) -> bool:  # noqa: ANN401
    """Return whether a settings class has these keys and accepts their values."""
    pydantic = importlib.import_module("pydantic")
    if not value.keys() <= {field.name for field in dataclasses.fields(kind) if field.init}:
        return False
    try:
        pydantic.TypeAdapter(kind).validate_python(value)
    except pydantic.ValidationError as error:
        about = [each for each in error.errors() if each["loc"] and each["loc"][0] in value]
        return all(each["type"] == "value_error" for each in about)
    except Exception:  # noqa: BLE001  it lacks a model, or a GPU
        return True
    return True


def verdict(real: Any, words: list[str], known: dict[str, Any], named: dict[str, Any], asked: dict[str, str]) -> str:  # noqa: ANN401
    """Return `takes` if vLLM accepts the words, otherwise what refuses them."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            parsed = vars(real.parse_args(list(words)))
        except SystemExit as done:
            return "takes" if done.code == 0 else "parser"
        except Exception:  # noqa: BLE001  a type that raises is refused as well
            return "parser"
        for option, kind in asked.items():
            value = parsed.get(option)
            read = kind not in known or value is None or isinstance(value, known[kind])
            if not read and not (isinstance(value, dict) and fits(known[kind], value)):
                return "settings"
        return "name" if misnamed(parsed, known, named) else "takes"


def misnamed(parsed: dict[str, Any], known: dict[str, Any], named: dict[str, Any]) -> bool:
    """Return whether an option has a name that is in no registry."""
    try:
        known["AttentionConfig"](backend=parsed["attention_backend"])
    except Exception:  # noqa: BLE001  no such backend
        return True
    guessing = parsed["speculative_config"] or {}
    structured = parsed["structured_outputs_config"].reasoning_parser
    given = {option: parsed[option] for option in named} | {"quantization of the drafter": guessing.get("quantization")}
    given["reasoning_parser"] = given["reasoning_parser"] or structured
    return any(
        isinstance(value, str) and value.lower() not in {"", "none", *named[option.partition(" ")[0]]}
        for option, value in given.items()
    )


def main() -> None:
    """Answer in JSON."""
    asked = json.load(sys.stdin)
    sys.argv = ["vllm", "serve", "a/model"]
    with contextlib.redirect_stdout(sys.stderr):
        real, named = parser(), registries()
        known = classes(sorted(set(asked["objects"].values())))
        answer = [verdict(real, words, known, named, asked["objects"]) for words in asked["lines"]]
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
