"""The stand-in's argv, parsed as strictly as the vLLM of `interface.json` parses it."""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

INTERFACE: dict[str, Any] = json.loads((Path(__file__).resolve().parent / "interface.json").read_text())
MULTIPLIERS = {
    "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
}  # fmt: skip
# Everything between the first `--` and the first dot: vLLM takes `--max_model_len` too.
NAME = re.compile(r"(?<=--)[^.=]*")


class StartError(Exception):
    """The arguments parse, but vLLM would fail with them while starting (exit 1)."""


def version() -> str:
    """Return the version that this stand-in claims to stand in for."""
    return os.environ.get("STANDIN_VERSION") or str(INTERFACE["version"])


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the namespace of `vllm serve …`, or end the process as argparse does (exit 2)."""
    parser = argparse.ArgumentParser(prog="vllm", description="vLLM CLI, sparkiac's engine stand-in")
    parser.add_argument("-v", "--version", action="version", version=version())
    commands = parser.add_subparsers(required=False, dest="subparser")
    serve = commands.add_parser("serve", usage="vllm serve [model_tag] [options]")
    serve.add_argument("model_tag", nargs="?")
    for option in INTERFACE["options"]:
        add(serve, option)
    rewritten = model_first(argv)
    following = [*rewritten[1:], ""]
    words = [word for pair in zip(rewritten, following, strict=True) for word in spelled(*pair)]
    args = parser.parse_args(join_dotted(parser, words))
    if args.subparser is None:
        parser.print_help()
        parser.exit(0)
    if args.config:
        parser.error("the stand-in reads no --config file: give the options themselves")
    check(args)
    return args


def add(parser: argparse.ArgumentParser, option: dict[str, Any]) -> None:
    """Declare one option of the table."""
    kind, type_name, flags = option["kind"], option.get("type", "str"), option["flags"]
    settings: dict[str, Any] = {"default": None}
    if kind == "store_true":
        settings = {"action": "store_true"}
    elif kind == "bool_optional":
        settings["action"] = argparse.BooleanOptionalAction  # which adds the `--no-…` itself
        flags = [flag for flag in flags if not flag.startswith("--no-")]
    else:
        type_name = "lora_module" if kind == "LoRAParserAction" else type_name
        settings["type"] = converter(type_name, optional=option.get("optional", False))
        if kind == "append":
            settings["action"] = "append"
        if "nargs" in option:
            settings["nargs"] = option["nargs"]
        if "choices" in option:
            settings["choices"] = option["choices"]
    parser.add_argument(*flags, **settings)


def converter(type_name: str, *, optional: bool) -> Callable[[str], object]:
    """Return the argparse type of an option, with vLLM's way to say None."""
    kind, _, config = type_name.partition(":")
    convert = functools.partial(json_object, config=config) if config else CONVERTERS.get(kind)
    if convert is None:
        message = f"interface.json: no converter for the type {type_name!r}"
        raise ValueError(message)

    def converted(text: str) -> object:
        if optional and text in {"", "None"}:
            return None
        try:
            return convert(text)
        except ValueError as error:
            message = f"Value {text} cannot be converted to {type_name}."
            raise argparse.ArgumentTypeError(message) from error

    return converted


def human_readable_int(text: str) -> int:
    """Return the number that `8k` (8000) or `8K` (8192) stands for."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", text.strip())
    if not match:
        return int(text)
    number, suffix = match.groups()
    return int(float(number) * MULTIPLIERS[suffix]) if suffix.islower() else int(number) * MULTIPLIERS[suffix]


def human_readable_int_or_auto(text: str) -> int:
    """Return a number, or -1 for `auto`."""
    return -1 if text.strip().lower() in {"-1", "auto"} else human_readable_int(text)


def json_object(text: str, *, config: str) -> object:
    """Return the object that sets a whole configuration; it has no keys but that configuration's."""
    value = json.loads(text)
    if not isinstance(value, dict) or not value.keys() <= set(INTERFACE["config_keys"][config]):
        message = f"not an object of {config}'s keys: {text}"
        raise ValueError(message)
    return value


def lora_module(text: str) -> object:
    """Return a LoRA module, as `name=path` or as an object."""
    if not text or ("=" in text and "," not in text):
        return text
    value = json.loads(text)
    if not isinstance(value, dict) or not {"name", "path"} <= value.keys() <= {"name", "path", "base_model_name"}:
        message = f"no LoRA module: {text}"
        raise ValueError(message)
    return value


def object_or_text(text: str) -> object:
    """Return an object when the text is in braces."""
    return json.loads(text) if re.fullmatch(r"(?s)\s*{.*}\s*", text) else text


CONVERTERS: dict[str, Callable[[str], object]] = {
    "callable": lambda text: text.lower().replace("-", "_"),
    "float": float,
    "human_readable_int": human_readable_int,
    "human_readable_int_or_auto": human_readable_int_or_auto,
    "int": int,
    "json": json.loads,
    "lora_module": lora_module,
    "str": str,
    "union_dict_and_str": object_or_text,
}


def model_first(argv: list[str]) -> list[str]:
    """Return the words with a model given by `--model` where vLLM wants it: first, without the option."""
    for position, word in enumerate(argv):
        option, equals, model = word.partition("=")
        if argv[0] == "serve" and option == "--model" and (equals or argv[position + 1 :]):
            rest = argv[position + 1 if equals else position + 2 :]
            return ["serve", model if equals else argv[position + 1], *argv[1:position], *rest]
    return argv


def spelled(word: str, following: str) -> list[str]:
    """Return a word of the command line as vLLM's parser rewrites it before it looks at it."""
    if word.startswith("--"):
        return [NAME.sub(lambda name: name.group().replace("_", "-"), word, count=1)]
    if word == "-O" and following in {"0", "1", "2", "3"}:
        return ["--optimization-level"]
    if word.startswith("-O") and word != "-O":
        return ["--optimization-level", word[2:].removeprefix("=")]
    return [word]


def join_dotted(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """Return the words with `--config-option.key value` gathered into one JSON argument each."""
    rest: list[str] = []
    gathered: dict[str, dict[str, Any]] = {}
    pending = iter(words)
    for word in pending:
        name, equals, value = word.partition("=")
        if not (name.startswith("-") and "." in name and not re.fullmatch(r"-[\d.]+", name)):
            rest.append(word)
            continue
        if not equals:
            following = next(pending, None)
            if following is None:
                parser.error(f"argument {name}: expected one argument")
            value = following
        option, *keys = name.removesuffix("+").split(".")
        put(gathered.setdefault(option, {}), keys, value.split(",") if name.endswith("+") else text_or_json(value))
    return rest + [word for option, value in gathered.items() for word in (option, json.dumps(value))]


def put(target: dict[str, Any], keys: list[str], value: object) -> None:
    """Set a nested key; a list is added to the one that is there."""
    *above, last = keys
    for key in above:
        target = target.setdefault(key, {})
    present = target.get(last)
    both = isinstance(value, list) and isinstance(present, list)
    target[last] = present + value if both else value  # type: ignore[operator]


def text_or_json(text: str) -> object:
    """Return a value as JSON when it is some."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def check(args: argparse.Namespace) -> None:
    """Refuse what vLLM's parser takes and its start does not."""
    if args.enable_auto_tool_choice and not args.tool_call_parser:
        message = "TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser"
        raise StartError(message)
    if args.enable_auto_tool_choice and not args.tool_parser_plugin:
        _check_known("tool call", args.tool_call_parser)
    speculative = args.speculative_config or {}
    if not isinstance(speculative, dict):
        message = f"TypeError: SpeculativeConfig: not an object: {speculative}"
        raise StartError(message)
    unknown = set(speculative) - set(INTERFACE["config_keys"]["SpeculativeConfig"])
    if unknown:
        message = f"ValidationError for SpeculativeConfig: {', '.join(sorted(unknown))}: unexpected keyword argument"
        raise StartError(message)
    if args.reasoning_parser and not args.reasoning_parser_plugin:
        _check_known("reasoning", args.reasoning_parser)


def _check_known(kind: str, name: str) -> None:
    known = INTERFACE[f"{kind.replace(' ', '_')}_parsers"]
    if name not in known:
        message = f"KeyError: 'invalid {kind} parser: {name} (chose from {{ {','.join(known)} }})'"
        raise StartError(message)
