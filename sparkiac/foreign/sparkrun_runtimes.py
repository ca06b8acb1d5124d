"""The command that sparkrun generates for a recipe without one: a program, and an option for each known default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from sparkiac.foreign.shell_words import split
from sparkiac.model.tables import SparkrunRuntime


class GeneratedCommand(NamedTuple):
    """A command, and the defaults that it does not use."""

    argv: tuple[str, ...]
    keys: tuple[str, ...]
    """The default that each word comes from; `model` for the first words."""
    unknown: tuple[str, ...]


_FALSE: Final = frozenset({"false", "no", "off", "0", "none"})


def generate(runtime: SparkrunRuntime, model: str, settings: Mapping[str, object]) -> GeneratedCommand:
    """Build the command that sparkrun generates from these defaults."""
    is_file = model.lower().endswith(".gguf") or "/" not in model
    start = (runtime.start_file if is_file else ()) or runtime.start
    pairs = [(word, "model") for word in (*start, model)]
    unknown: list[str] = []
    for key, value in {**runtime.defaults, **settings}.items():
        option = _option(runtime, key, settings)
        if value is None:
            continue
        if option is None:
            unknown.append(key)
            continue
        words = _switch(runtime, key, option, value)
        words = [option, *_words(key, value)] if words is None else words
        pairs += [(word, key) for word in words]
    return GeneratedCommand(tuple(word for word, _ in pairs), tuple(key for _, key in pairs), tuple(unknown))


def _option(runtime: SparkrunRuntime, key: str, settings: Mapping[str, object]) -> str | None:
    switches = (*runtime.switches, *runtime.on_by_default, *runtime.written_if_false)
    spelled = {other: f"--{other.replace('_', '-')}" for other in (key, *settings)}
    renamed = runtime.renamed.get(key)
    if any(spelled[other] == renamed for other in settings if other != key and other in runtime.same_name):
        return None
    return renamed or (spelled[key] if key in (*runtime.same_name, *switches) else None)


def _switch(runtime: SparkrunRuntime, key: str, option: str, value: object) -> list[str] | None:
    """Return the words of a switch; None for an option with a value."""
    on, off = str(value).lower() not in _FALSE, [f"--no-{option.removeprefix('--')}"]
    if key in runtime.written_if_false:
        return [] if on else off
    if key in runtime.on_by_default:
        return [option] if on else off
    return ([option] if on else []) if key in runtime.switches else None


def _words(key: str, value: object) -> Iterator[str]:
    """Convert a value to words: JSON and collections to one word, booleans to lower case, text as a shell splits it."""
    text = str(value).strip()
    if isinstance(value, dict | tuple):
        yield json.dumps(value, separators=(",", ":"))
    elif isinstance(value, bool):
        yield {"flash_attn": "on" if value else "off"}.get(key, text.lower())
    elif text[:1] in {"{", "["}:
        yield text
    else:
        yield from split(text)
