"""The options of `vllm serve`, read from vLLM's own parser, and the keys of options that take JSON."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import enum
import importlib
import json
import re
import sys
import types
import typing

import standins

if typing.TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, typing.Any]
Reader = typing.Callable[[str], typing.Any]
TYPES = {"loads": "json", "parse_dataclass": "json", "union_dict_and_str": "json_or_str", "<lambda>": "callable"}
WRAPPERS = {"_optional_type": True, "_parse_type": False, "optional_type": True, "parse_type": False}
"""vLLM's wrappers around a type → whether the wrapper also takes the word None."""
DEPRECATED = re.compile(r"^\W*deprecated\b|\b(is|are) deprecated\b|\bhas been deprecated\b", re.IGNORECASE)


def collect(source: Path, version: str) -> tuple[dict[str, Record], dict[str, Record]]:
    """Return the options by name, and the keys of JSON-valued options as `Class.key`."""
    sys.argv = ["vllm", "serve", "--help=all"]  # vLLM leaves out help, and with it what is deprecated, without this
    standins.install(version)
    sys.path.insert(0, str(source))
    config = on_cuda()
    parser = parser_module(source).make_arg_parser(parser_class()(prog="vllm serve"))
    classes: dict[str, type] = {}
    options = {}
    for action in parser._actions:
        if action.option_strings:
            becomes = object_class(action, config)
            classes |= {becomes.__name__: becomes} if becomes else {}
            name, record = option(action, parser)
            options[name] = record | ({"object": becomes.__name__} if becomes else {})
            options[name] |= bounds(getattr(config, record.get("group", ""), None), action.dest)
    return options, keys(classes)


def on_cuda() -> types.ModuleType:
    """Make vLLM treat this machine as one with CUDA, and return its module of settings."""
    platforms: typing.Any = importlib.import_module("vllm.platforms")
    platforms._current_platform = importlib.import_module("vllm.platforms.cuda").NonNvmlCudaPlatform()
    config = importlib.import_module("vllm.config")
    config.DeviceConfig.__post_init__ = lambda _: None  # it would look for the GPU
    return config


def parser_module(source: Path) -> types.ModuleType:
    """Return the module that declares the options of `vllm serve`; it has moved between releases."""
    for path in sorted((source / "vllm/entrypoints").rglob("cli_args.py")):
        if "def make_arg_parser" in path.read_text():
            return importlib.import_module(".".join(path.relative_to(source).with_suffix("").parts))
    sys.exit("no cli_args.py with make_arg_parser")


def parser_class() -> typing.Any:
    """Return vLLM's own parser class; it has moved, too."""
    for name in ("vllm.utils.argparse_utils", "vllm.utils"):
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name).FlexibleArgumentParser
    sys.exit("no FlexibleArgumentParser")


def option(action: argparse.Action, parser: argparse.ArgumentParser) -> tuple[str, Record]:
    """Return the name and the record of one option. The record omits defaults."""
    every = [text for text, each in parser._option_string_actions.items() if each is action]
    pair = type(action).__name__ in {"BooleanOptionalAction", "EnableDisableAction"}
    negative = negations(action, every) if pair else set()
    name = next(text for text in action.option_strings if text.startswith("--") and text not in negative)
    group = next((each.title for each in parser._action_groups if action in each._group_actions), None)
    record: Record = {
        "kind": "pair" if pair else "switch" if action.nargs == 0 else "append" if appends(action) else "value",
        "aliases": sorted(set(action.option_strings) - negative - {name}),
        "negative": sorted(negative),
        "hidden": sorted(set(every) - set(action.option_strings)),
        "group": group if group not in {"options", "optional arguments"} else None,
        "deprecated": deprecated(action, parser),
        "default": default(action.default),
    }
    if record["kind"] in {"value", "append"}:
        read, optional = reader(action)
        lora = type(action).__name__ == "LoRAParserAction"
        record |= {
            "type": "lora" if lora else type_name(read),
            "choices": choices(action, optional=optional),
            "arity": action.nargs,
        }
        record["optional"] = optional and (action.choices is None or None in action.choices)
    return name, {key: value for key, value in record.items() if value not in (None, False, [])}


def negations(action: argparse.Action, every: list[str]) -> set[str]:
    """Return the negative spellings of an on/off pair."""
    said = set(getattr(action, "negative_option_strings", ()))
    return {text for text in every if text in said or text.startswith("--no-")}


def appends(action: argparse.Action) -> bool:
    """Return whether each use of an option adds to the earlier ones."""
    return type(action).__name__ in {"_AppendAction", "_ExtendAction"}


def reader(action: argparse.Action) -> tuple[Reader | None, bool]:
    """Return the function that parses a value, without vLLM's wrappers, and whether these parse None as null."""
    read: typing.Any = action.type
    optional = False
    while read is not None and getattr(read, "__name__", "") in WRAPPERS:
        optional |= WRAPPERS[read.__name__]
        read = next((cell.cell_contents for cell in read.__closure__ or () if callable(cell.cell_contents)), None)
    return read, optional


def type_name(read: Reader | None) -> str:
    """Return the type of a value, from the function that parses it."""
    name = "str" if read is None else getattr(read, "__name__", type(read).__name__)
    if name == "<lambda>" and read is not None and read("A-b") == "a_b":
        return "lowered"
    return TYPES.get(name, name)


def object_class(action: argparse.Action, config: types.ModuleType) -> type | None:
    """Return the class into which a JSON value is converted: named by its parser, or else by the option."""
    read, _ = reader(action)
    name = getattr(read, "__name__", None)
    named = None
    if name == "parse_dataclass":
        named = next(iter(getattr(read, "__defaults__", None) or ()), None)
    elif name == "loads":
        named = getattr(config, "".join(part.capitalize() for part in action.dest.split("_")), None)
    return named if isinstance(named, type) and dataclasses.is_dataclass(named) else None


def choices(action: argparse.Action, *, optional: bool) -> list[str]:
    """Return the words that a parser accepts; if it parses None as null, the choice "None" can never match."""
    words = {str(plain(each)) for each in action.choices or () if each is not None}
    return sorted(words - {"None"} if optional else words)


def deprecated(action: argparse.Action, parser: argparse.ArgumentParser) -> bool:
    """Return whether an option is deprecated, formally or by its own help text."""
    formally = any(each is action for each in getattr(parser, "_deprecated", ()))
    text = " ".join((action.help or "").split())
    return formally or bool(getattr(action, "deprecated", False)) or bool(DEPRECATED.search(text))


def default(value: object) -> str | None:
    """Return a default as JSON text; None if vLLM chooses it at start, and for its own objects."""
    if value is None or value is argparse.SUPPRESS:
        return None
    try:
        return json.dumps(plain(value), sort_keys=True)
    except TypeError:
        return None


def plain(value: object) -> object:
    """Convert a value to its JSON form."""
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, str | int) else value.name
    if isinstance(value, set | frozenset):
        return sorted((plain(each) for each in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return value


def keys(roots: dict[str, type]) -> dict[str, Record]:
    """Return the keys of the classes, and of the classes nested in them."""
    found: dict[str, Record] = {}
    seen, waiting = set(roots.values()), list(roots.values())
    while waiting:
        each = waiting.pop()
        for field in dataclasses.fields(each):
            if field.init:
                found[f"{each.__name__}.{field.name}"] = key(each, field)
                inside = set() if "SkipValidation" in str(field.type) else set(dataclasses_in(field.type))
                waiting += inside - seen
                seen |= inside
    return found


def key(owner: type, field: dataclasses.Field[typing.Any]) -> Record:
    """Return the record of a key.

    Where the class reads it first, it takes the names of an enumeration, words in any case, and text for an object or
    a list. Where the class wraps its reading, it lets null through.
    """
    validators = getattr(getattr(owner, "__pydantic_decorators__", None), "field_validators", {}).values()
    modes = {each.info.mode for each in validators if {field.name, "*"} & {*each.info.fields}}
    kind, own = spelled(field.type), "before" in modes
    if own:
        kind = kind.replace("Literal", "lowered")
        kind += " | str" if dataclasses_in(field.type) or kind.startswith("list[") else ""
    if "wrap" in modes and not kind.endswith("None"):
        kind += " | None"
    words = sorted({str(plain(value)) for value in literal_values(field.type, named=own) if value is not None})
    return {"type": kind} | ({"choices": words} if words else {}) | bounds(owner, field.name)


def bounds(owner: type | None, name: str) -> Record:
    """Return the bounds that a class of settings declares for a number, each by the name of its comparison."""
    field = getattr(owner, "__pydantic_fields__", {}).get(name)
    given = field.metadata if field is not None else ()
    found = {word: getattr(each, word) for each in given for word in ("ge", "gt", "le", "lt") if hasattr(each, word)}
    return {"bounds": found} if found else {}


def dataclasses_in(kind: typing.Any) -> list[type]:
    """Return the settings classes in a type; none in a type that says itself how it is read."""
    if own_reading(kind):
        return []
    own = [kind] if isinstance(kind, type) and dataclasses.is_dataclass(kind) else []
    return own + [each for word in typing.get_args(kind) for each in dataclasses_in(word)]


def own_reading(kind: typing.Any) -> bool:
    """Return whether a type says itself how it is read: from a name, or nothing."""
    return any(type(word).__name__ == "GetPydanticSchema" for word in typing.get_args(kind))


def spelled(kind: typing.Any) -> str:
    """Return a type as short text."""
    origin, words = typing.get_origin(kind), typing.get_args(kind)
    if kind is type(None) or isinstance(kind, str):
        return kind if isinstance(kind, str) else "None"
    if origin is typing.Literal:
        return "Literal"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(sorted({spelled(word) for word in words}, key=lambda text: (text == "None", text)))
    if origin is typing.Annotated:
        return "str | None" if own_reading(kind) else spelled(words[0])
    if origin is not None:
        return f"{getattr(origin, '__name__', origin)}[{', '.join(spelled(word) for word in words)}]"
    return getattr(kind, "__name__", str(kind))


def literal_values(kind: typing.Any, *, named: bool) -> list[object]:
    """Return the values of all Literal types and enumerations in a type, or else the names of the latter."""
    if typing.get_origin(kind) is typing.Literal:
        return list(typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [member.name if named else plain(member) for member in kind]
    inside = [word for word in typing.get_args(kind) if not isinstance(word, str | int)]
    return [value for word in inside for value in literal_values(word, named=named)]
