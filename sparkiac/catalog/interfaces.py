"""Interfaces: options, JSON keys, environment variables and names that each vLLM release accepts.

One file per release under `vllm/`, written by tools/vllm_interface from the released source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

_ROOT: Final = Path(__file__).parent / "vllm"
_PUBLISHED: Final = Path(__file__).parent / "published.json"
_FORMAT: Final = 1
_MINOR: Final = 2
"""Numbers that name a minor release: 0 and 33 of 0.33.0."""
_AHEAD: Final = 2
"""Minor releases that a development build can become."""
_RELEASE: Final = re.compile(r"v?(\d+(?:\.\d+)*)(\.?(?:a|b|rc|dev)\d*)?")


class OptionSpec(NamedTuple):
    """One option of `vllm serve`."""

    name: str
    """The first long spelling."""
    kind: Literal["switch", "pair", "value", "append"]
    """Without a value; with a positive and a negative spelling; with a value; or repeatable with a value."""
    aliases: tuple[str, ...] = ()
    """Other spellings."""
    negative: tuple[str, ...] = ()
    """Spellings that set the option to false."""
    hidden: tuple[str, ...] = ()
    """Spellings that are accepted and not documented."""
    type: str | None = None
    """Type of the value; None without a value.

    str, int, float, bool, json, json_or_str, human_readable_int, human_readable_int_or_auto, lowered (a choice in any
    case, with - or _), lora (NAME=PATH or JSON), callable (unknown).
    """
    optional: bool = False
    """Whether the option accepts the text None for "no value"."""
    choices: tuple[str, ...] = ()
    """Allowed values; any value if empty."""
    arity: int | str | None = None
    """Number of arguments, or ?, * or +; None means one."""
    bounds: Mapping[str, float] = MappingProxyType({})
    """Bounds of a number: `ge`, `gt`, `le` and `lt`, as in pydantic."""
    object: str | None = None
    """Class of the JSON value, whose keys are in `objects`; None if any key is accepted."""
    default: str | None = None
    """Default as JSON; None if vLLM chooses it at start, or if it is an object."""
    group: str | None = None
    """Group in the help of vLLM."""
    deprecated: bool = False
    """Whether vLLM declares it deprecated."""


class KeySpec(NamedTuple):
    """One key of a JSON value."""

    type: str
    """Python type. `Literal` allows only the choices, and `lowered` the same in any case, with - or _; the choices of
    another type are words of an enumeration, which vLLM also accepts as numbers; a name in `objects` is a nested
    object."""
    choices: tuple[str, ...] = ()
    bounds: Mapping[str, float] = MappingProxyType({})
    """Bounds of a number, as of an option."""


class VariableSpec(NamedTuple):
    """One environment variable that vLLM declares."""

    type: str | None = None
    choices: tuple[str, ...] = ()


class Interface(NamedTuple):
    """Interface of one release."""

    version: str
    options: Mapping[str, OptionSpec]
    """By name."""
    spellings: Mapping[str, str]
    """Every accepted spelling → name."""
    objects: Mapping[str, Mapping[str, KeySpec]]
    """Class → key → type and choices."""
    variables: Mapping[str, VariableSpec]
    previous_architectures: Mapping[str, str]
    """Architecture → last release that supported it."""
    undeclared_variables: frozenset[str]
    """Variables that the source reads without declaring them."""
    architectures: frozenset[str]
    plugin_architectures: frozenset[str]
    """Architectures that need a plugin."""
    tool_call_parsers: frozenset[str]
    reasoning_parsers: frozenset[str]
    quantization: frozenset[str]
    quantization_deprecated: frozenset[str]
    attention_backends: frozenset[str]
    """Upper case; options accept any case."""
    mamba_attention_backends: frozenset[str]
    moe_backends: frozenset[str]
    linear_backends: frozenset[str]
    kv_cache_dtypes: frozenset[str]
    load_formats: frozenset[str]
    speculative_methods: frozenset[str]
    mtp_methods: frozenset[str]
    """Speculative methods that are aliases of `mtp`."""
    distributed_executor_backends: frozenset[str]
    metrics: frozenset[str]
    """Metrics as the source declares them; `_total` of a counter can be missing."""

    @property
    def release(self) -> str | None:
        """The release without the suffix of a vendor."""
        return named(self.version)

    def __hash__(self) -> int:
        """Return the hash of the version."""
        return hash(self.version)


class Captured(NamedTuple):
    """Interface that was read from an image."""

    reference: str
    """Reference in the inventory."""
    digests: tuple[str, ...]
    """Digests of the image: of its manifests, and its ID."""
    interface: Interface


@cache
def versions() -> tuple[str, ...]:
    """Return the known releases, oldest first."""
    return tuple(sorted((path.stem for path in _ROOT.glob("*.json")), key=release))


@cache
def interface(version: str) -> Interface | None:
    """Return the interface of a release, or None if it is unknown."""
    return _parsed(json.loads((_ROOT / f"{version}.json").read_bytes())) if version in versions() else None


@cache
def neighbours(version: str) -> tuple[str, ...]:
    """Return the known releases next to a version, lower first: the release itself if it is known.

    A series such as `0.19` is its first release, and a pre-release is below its release. A development build comes from
    the main branch, which becomes the next minor release, or the one after it: the version changes only some time after
    a release has branched off. Outside the known releases there is one neighbour. Raises ValueError if `version` is not
    a version.
    """
    wanted = release(version)
    if wanted in map(release, versions()):
        return tuple(each for each in versions() if release(each) == wanted)
    lower = [each for each in versions() if release(each) < wanted]
    higher = [each for each in versions() if release(each) > wanted]
    if "dev" in version:
        minors = {release(each)[0][:_MINOR]: each for each in reversed(higher)}
        minors.pop(wanted[0][:_MINOR], None)
        return (*lower[-1:], *sorted(minors.values(), key=release)[:_AHEAD])
    return (*lower[-1:], *higher[:1])


def nearest(version: str) -> str:
    """Return the first of the known releases next to a version."""
    return neighbours(version)[0]


def named(version: str) -> str | None:
    """Return the release of a version without the suffix of a vendor; None if it is not a release.

    A build from a clone without tags has the version 0.1.dev, whatever it contains.
    """
    found = version.partition("+")[0].removeprefix("v")
    return None if found.startswith("0.1.dev") or _RELEASE.match(found) is None else found


@cache
def release(version: str) -> tuple[tuple[int, ...], bool]:
    """Return a key that orders versions: a series is its first release, a pre-release is below its release.

    Raises ValueError if `version` is not a version.
    """
    found = _RELEASE.match(version)
    if found is None:
        raise ValueError(f"not a version: {version}")
    parts = [int(part) for part in found[1].split(".")]
    return (*parts, *[0] * (4 - len(parts))), found[2] is None


@cache
def published() -> dict[str, tuple[str, str]]:
    """Return the day on which each release was published, and the day a week later, both as YYYYMMDD; oldest first."""
    found: dict[str, list[str]] = json.loads(_PUBLISHED.read_bytes())
    return {version: (day, week_later) for version, (day, week_later) in found.items()}


def of_day(day: str) -> str | None:
    """Return the version of a build of the main branch on a day, YYYYMMDD; None if no later release is known.

    The build may be some days old, so it follows the last release that was published a week before.
    """
    days = published()
    before = [version for version, (_, week_later) in days.items() if week_later <= day]
    if not before or day > max(days.values())[0]:
        return None
    *first, patch = before[-1].split(".")
    return f"{'.'.join(first)}.{int(patch) + 1}.dev{day}"


def assumed(version: str | None) -> tuple[int, ...]:
    """Return the numbers of a release; for an unknown one, those of the newest known release."""
    return release(version or versions()[-1])[0]


def captured(raw: bytes) -> Captured:
    """Read a file of `sparkiac images capture`. Raises ValueError with the reason for any other file."""
    try:
        data = json.loads(raw)
        image = data.pop("image")
        digests = tuple(map(str, image["digests"]))
        found = data.pop("format"), Captured(str(image["reference"]), digests, _parsed(data))
        release(found[1].interface.version)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError("it was not written by `sparkiac images capture`") from error
    if found[0] != _FORMAT:
        raise ValueError(f"its format is {found[0]!r}; this version of sparkiac reads format {_FORMAT}")
    return found[1]


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
