"""Options as a server reads them: words of a command line, or environment variables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sparkiac.engines.tables import Option


def written(
    options: Mapping[str, Any],
    known: Mapping[str, Option] | None = None,
    *,
    separator: str = "-",
    joined: bool = True,
) -> tuple[str, ...]:
    """Write options, sorted by name, each as `--option=value`: what argparse, click and gflags all read.

    True is a bare switch, False its `--no-` form, a list is several words, a mapping is compact JSON. `known` says
    how the engine spells an option that is not its name with `separator`, and which switches have a `--no-` form;
    of options that nothing is known about, all have. Without `joined` a value is a word of its own.
    """
    words: list[str] = []
    for name in sorted(options):
        option = (known or {}).get(name)
        flag = (option.spelling if option else None) or f"--{name.replace('_', separator)}"
        words += _words(flag, options[name], negated=option is None or option.negated, joined=joined)
    return tuple(words)


def variables(options: Mapping[str, Any], known: Mapping[str, Option]) -> dict[str, str]:
    """Write options as environment variables: a switch is 1 or 0, a list has commas, a mapping is compact JSON."""
    found = {}
    for name in sorted(options):
        option = known.get(name)
        found[(option.spelling if option else None) or name.upper()] = _text(options[name])
    return found


def _words(flag: str, value: object, *, negated: bool, joined: bool) -> list[str]:
    if value is True:
        return [flag]
    if value is False:
        return [f"--no-{flag[2:]}"] if negated else []
    if isinstance(value, tuple):
        return [flag, *(str(item) for item in value)]
    return [f"{flag}={_text(value)}"] if joined else [flag, _text(value)]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    return json.dumps(value, sort_keys=True, separators=(",", ":")) if isinstance(value, dict) else str(value)
