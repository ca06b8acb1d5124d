"""What each release of vLLM takes: options, keys of JSON values, environment variables, and the names that it knows.

One file per release under `vllm/`, written by tools/vllm_interface from the released source.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ROOT: Final = Path(__file__).parent / "vllm"
_FORMAT: Final = 1
_MINOR: Final = 2
"""Numbers that name a minor release: 0 and 33 of 0.33.0."""
_RELEASE: Final = re.compile(r"v?(\d+(?:\.\d+)*)(\.?(?:a|b|rc|dev)\d*)?")


class OptionSpec(NamedTuple):
    """One option of `vllm serve`."""

    name: str
    """The spelling that stands for all: the first long one."""
    kind: Literal["switch", "pair", "value", "append"]
    """Takes no value; is one of two spellings, yes and no; takes a value; or takes one each time it is given."""
    aliases: tuple[str, ...] = ()
    """Other spellings."""
    negative: tuple[str, ...] = ()
    """Spellings that say no, shown or not."""
    hidden: tuple[str, ...] = ()
    """Spellings that are taken and shown nowhere."""
    type: str | None = None
    """What reads the value; None where there is none.

    str, int, float, bool, json, json_or_str, human_readable_int, human_readable_int_or_auto, lowered (a choice in any
    case, with - or _), lora (NAME=PATH or JSON), callable (not described).
    """
    optional: bool = False
    """Whether the word None is taken as no value."""
    choices: tuple[str, ...] = ()
    """What a value may be; anything if empty."""
    arity: int | str | None = None
    """Number of words, or ?, * or +; None means one."""
    object: str | None = None
    """What the JSON becomes, by which `objects` has its keys; None where any key goes."""
    default: str | None = None
    """As JSON; None where vLLM chooses at start, or where it is an object of its own."""
    group: str | None = None
    """Group in vLLM's help."""
    deprecated: bool = False
    """Whether vLLM says so."""


class KeySpec(NamedTuple):
    """One key of a JSON value."""

    type: str
    """As Python writes it. `Literal` allows the choices and nothing else; another type's choices are the names of an
    enumeration, which vLLM also takes in other forms; a name of `objects` is an object again."""
    choices: tuple[str, ...] = ()


class VariableSpec(NamedTuple):
    """One environment variable that vLLM declares."""

    type: str | None = None
    choices: tuple[str, ...] = ()


class Interface(NamedTuple):
    """All that one release takes."""

    version: str
    options: Mapping[str, OptionSpec]
    """By name."""
    spellings: Mapping[str, str]
    """Every spelling that is taken → name."""
    objects: Mapping[str, Mapping[str, KeySpec]]
    """Class → key → what it takes."""
    variables: Mapping[str, VariableSpec]
    previous_architectures: Mapping[str, str]
    """Architecture → last release that served it."""
    undeclared_variables: frozenset[str]
    """Read somewhere in the source, and not declared."""
    architectures: frozenset[str]
    plugin_architectures: frozenset[str]
    """Served once a plugin is installed."""
    tool_call_parsers: frozenset[str]
    reasoning_parsers: frozenset[str]
    quantization: frozenset[str]
    quantization_deprecated: frozenset[str]
    attention_backends: frozenset[str]
    """Upper case; an option takes them in any case."""
    mamba_attention_backends: frozenset[str]
    moe_backends: frozenset[str]
    linear_backends: frozenset[str]
    kv_cache_dtypes: frozenset[str]
    load_formats: frozenset[str]
    speculative_methods: frozenset[str]
    mtp_methods: frozenset[str]
    """The speculative methods that are names for `mtp`."""
    distributed_executor_backends: frozenset[str]
    metrics: frozenset[str]
    """Series as the source declares them: a counter's `_total` may be missing."""

    @property
    def release(self) -> str | None:
        """Name the release without what a vendor adds to it."""
        return named(self.version)

    def __hash__(self) -> int:
        """Hash it by its version, for tables of what was read with it."""
        return hash(self.version)


class Captured(NamedTuple):
    """What the vLLM of one image takes, asked of the image itself."""

    reference: str
    """Its name in the inventory for which it was asked."""
    digests: tuple[str, ...]
    """Digests that stand for the image: of its manifests, and its ID."""
    interface: Interface


@cache
def versions() -> tuple[str, ...]:
    """Give the releases that are known, oldest first."""
    return tuple(sorted((path.stem for path in _ROOT.glob("*.json")), key=release))


@cache
def interface(version: str) -> Interface | None:
    """Give what exactly this release takes, or None if it is not known."""
    return _read(version) if version in versions() else None


@cache
def neighbours(version: str) -> tuple[str, ...]:
    """Give the known releases that a version is compared with: itself, or else the ones on both sides, lower first.

    A series such as `0.19` is its first release, and a pre-release is below its release. A development build is made
    from the main branch, which leads to the next minor release. Outside of all known releases there is one neighbour.
    Raises ValueError for what is no version.
    """
    wanted = release(version)
    if wanted in map(release, versions()):
        return tuple(each for each in versions() if release(each) == wanted)
    lower = [each for each in versions() if release(each) < wanted]
    higher = [each for each in versions() if release(each) > wanted]
    if "dev" in version:
        higher = [each for each in higher if release(each)[0][:_MINOR] > wanted[0][:_MINOR]]
    return (*lower[-1:], *higher[:1])


def nearest(version: str) -> str:
    """Give the known release that a version is most like: the first of its neighbours."""
    return neighbours(version)[0]


def named(version: str) -> str | None:
    """Give the release that a version names, without what a vendor adds; None where it names no release.

    A build from a clone without tags calls itself 0.1.dev, whatever it holds.
    """
    found = version.partition("+")[0].removeprefix("v")
    return None if found.startswith("0.1.dev") or _RELEASE.match(found) is None else found


@cache
def release(version: str) -> tuple[tuple[int, ...], bool]:
    """Give a version as what can be compared: a series counts from its first release, a pre-release is below its own.

    Raises ValueError for what is no version.
    """
    found = _RELEASE.match(version)
    if found is None:
        message = f"not a version: {version}"
        raise ValueError(message)
    parts = [int(part) for part in found[1].split(".")]
    return (*parts, *[0] * (4 - len(parts))), found[2] is None


def assumed(version: str | None) -> tuple[int, ...]:
    """Give the numbers of the release to calculate with: where it is unknown, those of the newest known one."""
    return release(version or versions()[-1])[0]


def captured(raw: bytes) -> Captured:
    """Read what `sparkiac images capture` wrote. Raises ValueError, with what is wrong, for anything else."""
    try:
        data = json.loads(raw)
        image = data.pop("image")
        digests = tuple(map(str, image["digests"]))
        found = data.pop("format"), Captured(str(image["reference"]), digests, _parsed(data))
        release(found[1].interface.version)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = "it is not what `sparkiac images capture` writes"
        raise ValueError(message) from error
    if found[0] != _FORMAT:
        message = f"its format is {found[0]!r}, and this version of sparkiac reads {_FORMAT}"
        raise ValueError(message)
    return found[1]


def _read(version: str) -> Interface:
    return _parsed(json.loads((_ROOT / f"{version}.json").read_bytes()))


def _parsed(raw: dict[str, Any]) -> Interface:
    options = {name: OptionSpec(name, **_record(record)) for name, record in raw["options"].items()}
    objects: dict[str, dict[str, KeySpec]] = {}
    for name, record in raw["keys"].items():
        owner, _, key = name.partition(".")
        objects.setdefault(owner, {})[key] = KeySpec(**_record(record))
    return Interface(
        version=raw["version"],
        options=MappingProxyType(options),
        spellings=MappingProxyType(dict(pair for option in options.values() for pair in _spellings(option))),
        objects=MappingProxyType({name: MappingProxyType(keys) for name, keys in objects.items()}),
        variables=MappingProxyType(
            {name: VariableSpec(**_record(record)) for name, record in raw["variables"].items()}
        ),
        previous_architectures=MappingProxyType(raw["previous_architectures"]),
        **{name: frozenset(names) for name, names in raw.items() if isinstance(names, list)},
    )


def _record(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}


def _spellings(option: OptionSpec) -> Iterator[tuple[str, str]]:
    for spelling in (option.name, *option.aliases, *option.negative, *option.hidden):
        yield spelling, option.name
