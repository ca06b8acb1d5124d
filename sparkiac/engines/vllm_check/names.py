"""Check names that a release registers: parsers, formats, backends, methods.

vLLM's parser lets most of them through; the server ends later, after a minute or after the weights have been loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from sparkiac.catalog.interfaces import Interface


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
