"""Single option values: numbers, choices, JSON, and names that a release registers, parsed as vLLM does."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from sparkiac.catalog.interfaces import Interface, OptionSpec

_FACTORS: Final = {letter: 1000 ** (place + 1) for place, letter in enumerate("kmgt")} | {
    letter: 1024 ** (place + 1) for place, letter in enumerate("KMGT")
}
_STRINGS: Final = re.compile(r'("(?:[^"\\]|\\.)*")')
_BOUNDS: Final = {
    "ge": (operator.ge, "at least"),
    "gt": (operator.gt, "above"),
    "le": (operator.le, "at most"),
    "lt": (operator.lt, "below"),
}
"""Bound → its comparison, and its name in messages."""
_SIZE: Final = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")


def human(word: str) -> int | None:
    """Parse a number with a suffix: 8k is 8000 and 8K is 8192; None if it is not a number."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", word.strip())
    try:
        if found is None:
            return int(word)
        number = float(found[1]) if found[2].islower() else int(found[1])
    except ValueError:
        return None
    return int(number * _FACTORS[found[2]])


def loaded(word: str) -> Any:  # noqa: ANN401  any JSON
    """Read JSON; newer releases accept sizes such as 4K in it without quotes. Raises ValueError for invalid text."""
    try:
        return json.loads(word)
    except ValueError:
        parts = _STRINGS.split(word)
        parts[::2] = [_SIZE.sub(lambda found: str(human(found[0])), part) for part in parts[::2]]
        return json.loads("".join(parts))


def fault(option: OptionSpec, word: str) -> tuple[str, tuple[str, ...]] | None:
    """Return what an option requires instead of this word, with any choices; None if the word is valid."""
    if option.optional and word in {"None", ""}:
        return None
    if option.choices:
        listed = ", ".join(option.choices)
        return (
            None if _chosen(option, word) in option.choices else (f"is one of {listed}, not {word!r}", option.choices)
        )
    reads, wanted = _READERS.get(option.type or "", (_anything, ""))
    try:
        right = reads(word) is not None
    except ValueError:
        right = False
    return None if right else (f"takes {wanted}, not {word!r}", ())


def limit(option: OptionSpec, word: str) -> str:
    """Return which bound a valid word breaks, as the rest of a sentence; nothing if it breaks none."""
    reads = _READERS[option.type][0] if option.type in _READERS else _anything
    return outside(reads(word), option.bounds, word) if option.bounds and word not in {"None", ""} else ""


def outside(value: object, bounds: Mapping[str, float], written: object) -> str:
    """Return which bound a number breaks, as the rest of a sentence; nothing if it breaks none."""
    broken = [
        f"{words} {bounds[name]}"
        for name, (holds, words) in _BOUNDS.items()
        if name in bounds and isinstance(value, int | float) and not holds(value, bounds[name])
    ]
    return f"is {broken[0]}, not {written}" if broken else ""


def _chosen(option: OptionSpec, word: str) -> str:
    if option.type == "lowered":
        return lowered(word)
    return str(human(word)) if option.type == "int" and word.strip().isdigit() else word


def lowered(word: str) -> str:
    """Return a word as the type `lowered` reads it."""
    return word.lower().replace("-", "_")


def _anything(word: str) -> str:
    return word


def _json(word: str) -> bool:
    loaded(word)
    return True


def _json_or_text(word: str) -> bool:
    return not re.match(r"(?s)^\s*{.*}\s*$", word) or _json(word)


def _lora(word: str) -> dict[str, object] | None:
    found = {} if "=" in word or not word else json.loads(word)
    return found if isinstance(found, dict) else None


def _human_or_auto(word: str) -> int | None:
    return -1 if word.strip().lower() == "auto" else human(word)


_READERS: Final[dict[str, tuple[Callable[[str], object], str]]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "json": (_json, "JSON"),
    "json_or_str": (_json_or_text, "JSON"),
    "lora": (_lora, "name=path, or a mapping as JSON"),
    "human_readable_int": (human, "a whole number, or one such as 8k or 8K"),
    "human_readable_int_or_auto": (_human_or_auto, "a whole number, one such as 8k or 8K, or auto"),
}
"""Type → its parser and its name in messages. vLLM defines the other types; their values are not checked."""


class Registry(NamedTuple):
    """A kind of names that vLLM registers, such as tool call parsers."""

    field: str
    """Field of the interface that lists the names."""
    title: str
    plugin: str | None = None
    """Option that loads a plugin, which can register more names."""
    others: tuple[str, ...] = ()
    """Names that vLLM accepts although the interface does not list them."""
    exact: bool = False
    """Whether vLLM distinguishes upper and lower case, and - and _."""


_TOOL_PARSER: Final = Registry("tool_call_parsers", "tool call parser", "--tool-parser-plugin", exact=True)
_REASONING_PARSER: Final = Registry("reasoning_parsers", "reasoning parser", "--reasoning-parser-plugin", exact=True)
_QUANTIZATION: Final = Registry("quantization", "quantization")
_LOAD_FORMAT: Final = Registry("load_formats", "load format")
_ATTENTION: Final = Registry("attention_backends", "attention backend", others=("auto",))
_MOE: Final = Registry("moe_backends", "MoE backend")
_LINEAR: Final = Registry("linear_backends", "linear backend")
_KV_CACHE: Final = Registry("kv_cache_dtypes", "KV cache format")
_METHOD: Final = Registry("speculative_methods", "method of speculation")

OF_OPTION: Final[Mapping[str, Registry]] = {
    "--tool-call-parser": _TOOL_PARSER,
    "--reasoning-parser": _REASONING_PARSER,
    "--quantization": _QUANTIZATION,
    "--load-format": _LOAD_FORMAT,
    "--attention-backend": _ATTENTION,
    "--moe-backend": _MOE,
    "--linear-backend": _LINEAR,
    "--kv-cache-dtype": _KV_CACHE,
}
"""Option → the names that it accepts."""
_OF_KEY: Final[Mapping[tuple[str, str], Registry]] = {
    ("SpeculativeConfig", "method"): _METHOD,
    ("SpeculativeConfig", "quantization"): _QUANTIZATION,
    ("SpeculativeConfig", "moe_backend"): _MOE,
    ("SpeculativeConfig", "attention_backend"): _ATTENTION,
    ("SpeculativeConfig", "kv_cache_dtype"): _KV_CACHE,
    ("AttentionConfig", "backend"): _ATTENTION,
    ("KernelConfig", "moe_backend"): _MOE,
    ("KernelConfig", "linear_backend"): _LINEAR,
    ("StructuredOutputsConfig", "reasoning_parser"): _REASONING_PARSER,
    ("LoadConfig", "load_format"): _LOAD_FORMAT,
}
_NONE: Final = frozenset({"", "none"})
"""Values that leave the choice to vLLM."""


class UnknownName(NamedTuple):
    """A name that the release does not have."""

    problem: str
    known: tuple[str, ...]
    registry: str


def of_option(option: str, word: str, interface: Interface, *, given: frozenset[str]) -> UnknownName | None:
    """Return what is wrong with a name after an option; None if the name is known or can come from a plugin."""
    registry = OF_OPTION.get(option)
    return None if registry is None or registry.plugin in given else _unknown(registry, word, interface)


def of_key(name: str, key: str, value: object, interface: Interface) -> UnknownName | None:
    """Return what is wrong with a name in a JSON value; None if the name is known."""
    registry = _OF_KEY.get((name, key))
    return None if registry is None or not isinstance(value, str) else _unknown(registry, value, interface)


def _unknown(registry: Registry, word: str, interface: Interface) -> UnknownName | None:
    names = getattr(interface, registry.field)
    taken = {*names, *registry.others}
    if word in taken or _plain(word) in _NONE or not names:
        return None
    if not registry.exact and _plain(word) in {_plain(name) for name in taken}:
        return None
    return UnknownName(f"names {word}, and there is no such {registry.title}", tuple(sorted(names)), registry.field)


def _plain(name: str) -> str:
    """Normalize a name for the comparison: in lower case, with - for _, unless vLLM compares exactly."""
    return name.lower().replace("-", "_")
