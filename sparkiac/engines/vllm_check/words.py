"""Parse a command line as vLLM does: the options, their arguments, and what is wrong with one of them.

vLLM's parser is Python's argparse with three habits of its own: `_` is `-` in an option's name, `--config.key value`
is a key of a JSON value, and `-O3` is an option with its value.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, NoReturn

from sparkiac.catalog.interfaces import Interface, OptionSpec
from sparkiac.engines.vllm_check.values import human

_LEVEL: Final = "--optimization-level"
_LEVELS: Final = ("0", "1", "2", "3")
REMEMBERED: Final = 1 << 14
FaultKind = Literal["option", "short", "value", "range", "deprecated", "key", "ignored", "name"]


class Fault(NamedTuple):
    """One option, key or value that a release of vLLM rejects, ignores or has deprecated."""

    kind: FaultKind
    """`option`: unknown option. `short`: unambiguous abbreviation, which vLLM accepts. `value`: wrong value, and
    `range`: number that breaks a bound, with which the server does not start. `deprecated`: deprecated option, which
    vLLM accepts. `key`: unknown key of a JSON value, with which the server does not start. `ignored`: unknown key that
    vLLM ignores. `name`: unknown parser, backend, format or method."""
    option: str
    """The option as the user wrote it; for a known option on a command line, its name."""
    problem: str
    """The rest of the sentence that starts with the option."""
    path: tuple[str, ...] = ()
    """Keys of a JSON value that lead to it."""
    wrong: str = ""
    """The unknown word; empty if the fault is of another kind."""
    known: tuple[str, ...] = ()
    """The words that are known in its place."""
    registry: str = ""
    """What lists the known words: for `name`, a field of an interface; for another fault in a JSON value, its class."""


class Given(NamedTuple):
    """An option with its arguments."""

    option: OptionSpec
    spelling: str
    words: tuple[str, ...]


class Read(NamedTuple):
    """A command line."""

    given: tuple[Given, ...]
    """Options in the order of the command line; of a repeated option the last one counts."""
    faults: tuple[Fault, ...]


@lru_cache(maxsize=REMEMBERED)
def read(words: tuple[str, ...], interface: Interface) -> Read:
    """Parse the arguments of `vllm serve`, with or without the model.

    The result is cached: a fleet repeats the same options, and argparse compares each word with every known option.
    """
    try:
        plain = _collected([*_spelled(words, interface)])
    except IndexError:
        return Read((), (Fault("value", words[-1], "lacks its value"),))
    except RecursionError:  # an option with a thousand keys, or with a value that is as deep
        names = [word.partition("=")[0].replace("_", "-") for word in words if word.startswith("-")]
        option = max(names, key=lambda name: name.count(".")).partition(".")[0]
        return Read((), (Fault("value", option, "is nested too deeply"),))
    namespace = argparse.Namespace(given=[])
    try:
        _, stray = _parser(interface, _written_out(plain, interface)).parse_known_args(plain, namespace)
        faults = [*_strays(stray, interface), *_shortened(plain, interface)]
    except argparse.ArgumentError as error:
        faults = [_refused(error, interface)]
    return Read(tuple(Given(interface.options[name], *rest) for name, *rest in namespace.given), tuple(faults))


class _Recorded(argparse.Action):
    """Collects an option with its arguments, without interpreting them."""

    def __call__(self, _: object, namespace: argparse.Namespace, values: Any, spelling: str | None = None) -> None:  # noqa: ANN401
        words = tuple(values) if isinstance(values, list) else () if values is None else (values,)
        namespace.given.append((self.dest, spelling, words))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise argparse.ArgumentError(None, message)


def _written_out(words: Iterable[str], interface: Interface) -> frozenset[str]:
    """Return the options in a line; all known options if a name could be an abbreviation."""
    heads = {word.partition("=")[0] for word in words if word.startswith("-")}
    known = heads <= interface.spellings.keys()
    return frozenset(interface.spellings[head] for head in heads) if known else frozenset(interface.options)


@lru_cache(maxsize=512)
def _parser(interface: Interface, names: frozenset[str]) -> argparse.ArgumentParser:
    """Return a parser for these options; argparse is slow with many of them."""
    parser = _Parser(prog="vllm serve", add_help=False, exit_on_error=False, argument_default=argparse.SUPPRESS)
    parser.add_argument("model", nargs="?")
    for option in map(interface.options.__getitem__, sorted(names)):
        spellings = (option.name, *option.aliases, *option.negative, *option.hidden)
        words: Any = 0 if option.kind in {"switch", "pair"} else option.arity
        parser.add_argument(*spellings, action=_Recorded, nargs=words, dest=option.name)
    return parser


def _spelled(words: Sequence[str], interface: Interface) -> Iterator[str]:
    """Return the words with hyphens in option names, and -O3 as --optimization-level 3."""
    for place, word in enumerate(words):
        level = word[2:].removeprefix("=")
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            head, dot, keys = name.partition(".")
            yield head.replace("_", "-") + dot + keys + equals + value
        elif word.startswith("-O") and level and not word.startswith("-O."):
            # Releases without --optimization-level accepted the level as a key of the compilation config.
            yield from (_LEVEL, level) if _LEVEL in interface.spellings else ()
        elif word == "-O" and words[place + 1 : place + 2] and words[place + 1] in _LEVELS:
            yield _LEVEL if _LEVEL in interface.spellings else word
        else:
            yield word


def _collected(words: list[str]) -> list[str]:
    """Merge dotted keys into one JSON value for each option, at the end."""
    plain: list[str] = []
    objects: dict[str, dict[str, Any]] = {}
    waiting = iter(range(len(words)))
    for place in waiting:
        name, equals, value = words[place].partition("=")
        if not name.startswith("-") or "." not in name:
            plain.append(words[place])
            continue
        if not equals:
            value = words[next(waiting, len(words))]
        option, *keys = name.removesuffix("+").split(".")
        read: Any = value.split(",") if name.endswith("+") else _dotted(value)
        for key in reversed(keys):
            read = {key: read}
        _merge(objects.setdefault(option, {}), read)
    for option, found in objects.items():
        plain += [option, json.dumps(found)]
    return plain


def _dotted(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return human(value) if re.fullmatch(r"[\d.]+[kKmMgGtT]", value) and human(value) is not None else value


def _merge(into: dict[str, Any], update: dict[str, Any]) -> None:
    for key, value in update.items():
        known = into.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            _merge(known, value)
        elif isinstance(value, list) and isinstance(known, list):
            into[key] = known + value
        else:
            into[key] = value


def _strays(stray: list[str], interface: Interface) -> Iterator[Fault]:
    """Return an error for each unknown option, or else for the first unexpected argument."""
    names = [word.partition("=")[0] for word in stray if word.startswith("-")]
    for name in names:
        yield Fault("option", name, "is not known", wrong=name, known=tuple(interface.spellings))
    if stray and not names:
        yield Fault("value", stray[0], "is a word too many")


def _shortened(words: Iterable[str], interface: Interface) -> Iterator[Fault]:
    for name in (word.partition("=")[0] for word in words if word.startswith("--")):
        if name not in interface.spellings:
            for full in [each for each in interface.spellings if each.startswith(name)]:
                yield Fault("short", name, f"is short for {full}", wrong=name, known=(full,))


def _refused(error: argparse.ArgumentError, interface: Interface) -> Fault:
    """Return why a line cannot be parsed: an option without its value, or with a value that it does not accept."""
    if error.argument_name is None:
        name = re.sub(r".*?(--?[^\s=]+).*", r"\1", error.message, count=1)
        return Fault("option", name, "may be short for several options", wrong=name, known=tuple(interface.spellings))
    name = interface.spellings[error.argument_name.split("/")[0]]
    option = interface.options[name]
    return Fault("value", name, "takes no value" if option.kind in {"switch", "pair"} else "lacks its value")
