"""Options that each release of an engine accepts, their values, and how a server reads them: as words or variables.

There is one file for each engine, which tools/engine_options writes. Each property of an option has a range of
releases: `0.5.1..0.5.4` includes both ends, and `0.5.9..` extends to the newest release that was read. `kind` is one
of `Kind`; `pair` is a switch that also has a `--no-` form, `commas` a text with several of the choices, and `removed`
an option that only stops the server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast

from sparkiac import catalog
from sparkiac.report.hints import nearest, ranges

_DIGITS: Final = re.compile(r"\d+")
_PART: Final = re.compile(r"(rc|post)(\d+)")
_REMOVED: Final = "removed"


Kind = Literal["integer", "size", "number", "text", "commas", "optional", "switch", "json", "words", "many"]
"""`size` is a number or one such as 8k, `commas` several words in one text, `optional` a value or none, `many` words or
none."""
_INTEGER: Final = re.compile(r"\s*[-+]?\d+\s*")
_NUMBER: Final = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_FORMS: Final[Mapping[Kind, re.Pattern[str]]] = {
    "integer": _INTEGER,
    "size": re.compile(rf"{_INTEGER.pattern}|\s*(\d+(Ki|Mi|Gi|Ti)|\d+(\.\d+)?[kMGT])\s*"),
    "number": _NUMBER,
}
_WANTED: Final[Mapping[Kind, str]] = {
    "integer": "a whole number",
    "size": "a whole number, or one with a letter such as 8k",
    "number": "a number",
    "text": "a text",
    "commas": "a text with commas",
    "optional": "a text",
    "switch": "true or false",
    "json": "a mapping",
    "words": "a list",
    "many": "a list",
}


class Option(NamedTuple):
    """One option of a server, in the spelling of the inventory: snake_case under `set`."""

    kind: Kind
    choices: tuple[str, ...] = ()
    """Allowed values of a text; empty allows all."""
    spelling: str | None = None
    """Flag or environment variable, if it is not `--` and the name with hyphens."""
    negated: bool = False
    """Whether a switch has a `--no-` form; if it has none, false omits the switch."""

    def problem(self, value: object) -> str | None:
        """Return what to write instead of a value that the server does not accept; None if it accepts the value."""
        if not self._fits(value):
            return f"write {_WANTED[self.kind]}" + (f": {', '.join(self.choices)}" if self.choices else "")
        words = tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)
        if self.kind == "commas":
            words = tuple(part for word in words for part in word.split(","))
        unknown = next((word for word in words if word not in self.choices), None) if self.choices else None
        return None if unknown is None else nearest(unknown, self.choices)

    def _fits(self, value: object) -> bool:
        only = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        if isinstance(only, bool) or self.kind == "switch":
            return isinstance(only, bool) and self.kind in {"switch", "optional", "many"}
        if isinstance(only, tuple):
            return self.kind in {"words", "many"}
        form = _FORMS.get(self.kind)
        return form.fullmatch(str(only)) is not None if form else not (isinstance(only, dict) and self.choices)

    def begins(self, value: object) -> bool:
        """Return whether a text begins with a number that it accepts: some servers ignore the rest."""
        number = self.kind in {"integer", "number"} and not isinstance(value, bool)
        return number and _NUMBER.match(str(value)) is not None


def known(*, reversible: str = "", **names: str) -> dict[str, Option]:
    """Return options that only have a kind: kind → names. Reversible switches have a `--no-` form."""
    found = {name: Option(cast("Kind", kind)) for kind, listed in names.items() for name in listed.split()}
    return found | {name: Option("switch", negated=True) for name in reversible.split()}


def chosen(**choices: str) -> dict[str, Option]:
    """Return options with a fixed set of values: option → values."""
    return {name: Option("text", tuple(words.split())) for name, words in choices.items()}


class OptionTable(NamedTuple):
    """The options of one engine, by name in the inventory."""

    releases: tuple[str, ...]
    """Oldest first."""
    options: Mapping[str, Mapping[str, Option]]
    """Name → release → the option in that release."""
    earlier: frozenset[str] = frozenset()
    """Names that only releases before the first one in this table accepted."""
    aliases: Mapping[str, str] = {}
    """Alias → name of the option."""
    leading: bool = False
    """Whether the server reads a number at the start of a text and ignores the rest, as std::stoi does."""
    abbreviated: bool = False
    """Whether the server accepts unambiguous prefixes of names."""

    def option(self, name: str, release: str) -> Option | None:
        """Return the option in a release; None if the release does not have it."""
        found = self.options.get(name, {}).get(release)
        positive = self.options.get(name.removeprefix("no_"), {}).get(release)
        if found is None and name.startswith("no_") and positive is not None and positive.negated:
            return Option("switch")
        return found or (self._begun(name, release) if self.abbreviated else None)

    def _begun(self, name: str, release: str) -> Option | None:
        begun = {each for each, held in self.options.items() if each.startswith(name) and release in held}
        whole = {self.aliases.get(each, each) for each in begun}
        return self.options[begun.pop()][release] if len(whole) == 1 else None

    def names(self, release: str) -> list[str]:
        """Return the names that a release accepts."""
        return [name for name, held in self.options.items() if release in held]

    def where(self, holds: Callable[[str], bool]) -> str:
        """Return the releases for which a test is true, as text; empty if there are none."""
        return ranges([release for release in self.releases if holds(release)], self.releases)

    def neighbours(self, release: str) -> tuple[str, ...]:
        """Return the releases to compare with: the release itself if it was read, otherwise its two neighbours."""
        if release in self.releases:
            return (release,)
        lower = [each for each in self.releases if _order(each) < _order(release)]
        higher = [each for each in self.releases if _order(each) > _order(release)]
        return (*lower[-1:], *higher[:1])


@cache
def table(engine: str) -> OptionTable:
    """Return the table of an engine."""
    raw = catalog.engine_options(engine)
    releases = tuple(raw["releases"])
    facts = {_name(spelling): each for spelling, each in raw["options"].items() if spelling.startswith("--")}
    options = {name: _by_release(each, releases) for name, each in facts.items()}
    return OptionTable(
        releases,
        {name: held for name, held in options.items() if held},
        frozenset(name for name, held in options.items() if not held),
        {name: _name(each["alias"]) for name, each in facts.items() if "alias" in each},
        leading=raw["leading"],
        abbreviated=raw["abbreviated"],
    )


@cache
def newest(engine: str, *, without: frozenset[str]) -> Mapping[str, Option]:
    """Return every option of an engine, except for these, as it is in the newest release that has it."""
    found = table(engine)
    return {
        name: [*held.values()][-1]
        for name, held in found.options.items()
        if not {name, found.aliases.get(name)} & without
    }


def alone(options: Mapping[str, Option]) -> OptionTable:
    """Return a table for an engine without known releases: one release, without a name, has all options."""
    return OptionTable(("",), {name: {"": option} for name, option in options.items()})


def _by_release(facts: Mapping[str, Any], releases: tuple[str, ...]) -> dict[str, Option]:
    kinds = [(kind, _listed(text, releases)) for kind, text in facts["kind"].items() if kind != _REMOVED]
    choices = {word: _listed(text, releases) for word, text in facts.get("choices", {}).items()}
    found = {}
    for release in releases:
        kind = next((each for each, those in kinds if release in those), None)
        if kind is not None:
            words = tuple(word for word, those in choices.items() if release in those)
            plain = "switch" if kind == "pair" else kind
            found[release] = Option(cast("Kind", plain), words, negated=kind == "pair")
    return found


def _listed(text: str, releases: tuple[str, ...]) -> frozenset[str]:
    found: set[str] = set()
    for span in text.split(", "):
        first, dots, last = span.partition("..")
        end = releases.index(last) + 1 if last else len(releases) if dots else releases.index(first) + 1
        found.update(releases[releases.index(first) : end])
    return frozenset(found)


def _name(spelling: str) -> str:
    return spelling.lstrip("-").replace("-", "_")


def _order(release: str) -> tuple[tuple[int, ...], int]:
    """Return a sort key for a release: candidates sort below their release, post-releases above it."""
    part = _PART.search(release)
    numbers = tuple(map(int, _DIGITS.findall(_PART.sub("", release))))
    return numbers, 0 if part is None else int(part[2]) + 1 if part[1] == "post" else int(part[2]) - 1000


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
