"""Check whether a vLLM release accepts options, from an inventory or from a command line.

Both go the same way: an option of an inventory is written as it will be on the command line, and read as that release
reads it. Nothing that vLLM takes is refused; what only the running server can judge is let through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sparkiac.catalog.interfaces import Interface, OptionSpec
from sparkiac.engines.tables import written
from sparkiac.engines.vllm_check import objects, values, words
from sparkiac.engines.vllm_check.words import Fault

__all__ = ["Fault", "check", "check_words"]


def check(options: Mapping[str, Any], interface: Interface) -> tuple[Fault, ...]:
    """Check options in snake_case, as written under `set` in an inventory."""
    given = frozenset(_spelling(name) for name in options)
    found: list[Fault] = []
    for name, value in options.items():
        unwritable = _unwritable(name, value, interface)
        if unwritable is not None:
            found.append(unwritable)
        else:
            faults = _faults(("model", *written({name: value})), interface, given)
            found += [fault._replace(option=name) for fault in faults]
    return tuple(found)


def check_words(argv: Sequence[str], interface: Interface) -> tuple[Fault, ...]:
    """Check the arguments of `vllm serve`, with or without the model."""
    line = tuple(argv)
    given = frozenset(each.option.name for each in words.read(line, interface).given)
    return _faults(line, interface, given)


@lru_cache(maxsize=words.REMEMBERED)
def _faults(line: tuple[str, ...], interface: Interface, given: frozenset[str]) -> tuple[Fault, ...]:
    """Check a command line beside the options `given`. The result is kept: a fleet repeats the same options."""
    read = words.read(line, interface)
    return (*read.faults, *_judged(read.given, interface, given))


def _judged(given: Sequence[words.Given], interface: Interface, others: frozenset[str]) -> Iterator[Fault]:
    last = {each.option.name: each for each in given}
    for each in given:
        if each.option.deprecated and each is last[each.option.name]:
            yield Fault("deprecated", each.option.name, "is deprecated")
        for word in each.words:
            if each is last[each.option.name] or values.fault(each.option, word) is not None:
                yield from _of_word(each.option, word, interface, others)


def _of_word(option: OptionSpec, word: str, interface: Interface, others: frozenset[str]) -> Iterator[Fault]:
    unknown = values.of_option(option.name, word, interface, given=others)
    wrong = values.fault(option, word)
    if unknown is not None:
        yield Fault("name", option.name, unknown.problem, (), word, unknown.known, unknown.registry)
    elif wrong is not None:
        yield Fault("value", option.name, wrong[0], (), word, wrong[1])
    elif limit := values.limit(option, word):
        yield Fault("range", option.name, limit, (), word)
    elif option.object is not None and not (option.optional and word in {"None", ""}):
        yield from objects.faults(option.name, values.loaded(word), option.object, interface)
    if option.name == "--quantization" and word in interface.quantization_deprecated:
        yield Fault("deprecated", option.name, f"names {word}, which is deprecated", (), word)


def _unwritable(name: str, value: object, interface: Interface) -> Fault | None:
    """Return what is wrong with a value that no command line can express: false for a switch without `--no-`."""
    option = interface.options.get(interface.spellings.get(_spelling(name), ""))
    if option is None or value is not False or option.kind == "pair":
        return None
    problem = "is a switch that cannot be turned off: remove it" if option.kind == "switch" else "is no switch"
    return Fault("value", name, problem)


def _spelling(name: str) -> str:
    return f"--{name.replace('_', '-')}"
