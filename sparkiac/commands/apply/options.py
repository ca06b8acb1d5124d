"""The Ansible options after `--`: which are refused, and which also apply to the comparison before the apply."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from sparkiac.commands.inputs import reject

_SHORT: Final = {
    "-b": "--become",
    "-C": "--check",
    "-c": "--connection",
    "-D": "--diff",
    "-e": "--extra-vars",
    "-f": "--forks",
    "-h": "--help",
    "-i": "--inventory",
    "-J": "--ask-vault-pass",
    "-K": "--ask-become-pass",
    "-k": "--ask-pass",
    "-l": "--limit",
    "-M": "--module-path",
    "-T": "--timeout",
    "-t": "--tags",
    "-u": "--user",
    "-v": "--verbose",
}
_WITHOUT_VALUE: Final = frozenset(
    {
        *("--ask-become-pass", "--ask-pass", "--ask-vault-pass", "--ask-vault-password", "--become", "--check"),
        *("--diff", "--flush-cache", "--force-handlers", "--help", "--list-hosts", "--list-tags", "--list-tasks"),
        *("--step", "--syntax-check", "--verbose", "--version"),
    }
)
_WITH_VALUE: Final = frozenset(
    {
        *("--become-method", "--become-pass-file", "--become-password-file", "--become-user", "--conn-pass-file"),
        *("--connection", "--connection-password-file", "--extra-vars", "--forks", "--inventory", "--inventory-file"),
        *("--key-file", "--limit", "--module-path", "--private-key", "--scp-extra-args", "--sftp-extra-args"),
        *("--skip-tags", "--ssh-common-args", "--ssh-extra-args", "--start-at-task", "--tags", "--timeout", "--user"),
        *("--vault-id", "--vault-pass-file", "--vault-password-file"),
    }
)
_REFUSED: Final = frozenset(
    {"--help", "--list-hosts", "--list-tags", "--list-tasks", "--step", "--syntax-check", "--version"}
)
"""Refused options: with them, Ansible only prints, or asks before each task."""
_NOT_FOR_LOOK: Final = frozenset({"--check", "--diff", "--force-handlers", "--skip-tags", "--start-at-task", "--tags"})
"""Options for the tasks of site.yml. They do not apply to look.yml, which changes nothing."""
_SHORTEST_SECRET: Final = 4
"""A shorter value, such as `yes`, would be hidden in every message that contains it by chance."""


class AnsibleOption(NamedTuple):
    """One option."""

    name: str
    """Its long name, such as --limit."""
    words: tuple[str, ...]
    """The words of the command line that set it."""
    value: str = ""


class AnsibleOptions(NamedTuple):
    """The options after `--`."""

    words: tuple[str, ...]
    """As given."""
    found: tuple[AnsibleOption, ...]

    @property
    def for_look(self) -> tuple[str, ...]:
        """Options that look.yml gets as well: connection, variables, hosts."""
        return tuple(word for option in self.found if option.name not in _NOT_FOR_LOOK for word in option.words)

    @property
    def check(self) -> bool:
        """Whether Ansible only shows what it would change."""
        return any(option.name == "--check" for option in self.found)

    @property
    def wants_output(self) -> bool:
        """Whether Ansible's own output is shown even if nothing fails."""
        return any(option.name in {"--check", "--diff", "--verbose"} for option in self.found)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Values of variables given on the command line, longest first: no message may contain them."""
        values = {text for option in self.found if option.name == "--extra-vars" for text in _values(option.value)}
        return tuple(sorted((text for text in values if len(text) >= _SHORTEST_SECRET), key=len, reverse=True))


def parse(words: Sequence[str]) -> AnsibleOptions:
    """Read the options after `--`. Raises click.UsageError for those that cannot be passed on."""
    found = tuple(_options(list(words)))
    for option in found:
        if option.name in _REFUSED:
            reject(f"sparkiac cannot use {option.name}: run ansible-playbook with it in the generated directory")
    return AnsibleOptions(tuple(words), found)


def _options(words: list[str]) -> Iterator[AnsibleOption]:
    """Return the options of ansible-playbook with their values.

    A message does not contain the word itself: it may be part of a value without quotes.
    """
    count = len(words)
    while words:
        word = words.pop(0)
        if word.startswith("--") and word != "--":
            yield _long(word, words)
        elif word.startswith("-") and word not in {"-", "--"}:
            yield from _short(word, words)
        else:
            reject(
                f"word {count - len(words)} after -- is not an option of ansible-playbook; put a value with spaces in "
                "quotes, and name no playbook"
            )


def _long(word: str, rest: list[str]) -> AnsibleOption:
    """Read an option with a long name; like Ansible, accept unambiguous abbreviations."""
    given, equals, value = word.partition("=")
    every = _WITH_VALUE | _WITHOUT_VALUE
    near = {given} & every or {name for name in every if name.startswith(given)}
    name = min(near, default=given)
    if equals or name not in _WITH_VALUE:
        return AnsibleOption(name, (word,), value)
    value = _next(word, rest)
    return AnsibleOption(name, (word, value), value)


def _short(word: str, rest: list[str]) -> Iterator[AnsibleOption]:
    """Return the options of a word such as -vvK, -l spark-01 or -lspark-01."""
    for index, letter in enumerate(word[1:], start=1):
        name = _SHORT.get(f"-{letter}", f"-{letter}")
        if name not in _WITH_VALUE:
            yield AnsibleOption(name, (f"-{letter}",))
        elif inside := word[index + 1 :]:
            yield AnsibleOption(name, (f"-{letter}{inside}",), inside.removeprefix("="))
            return
        else:
            value = _next(f"-{letter}", rest)
            yield AnsibleOption(name, (f"-{letter}", value), value)


def _next(word: str, rest: list[str]) -> str:
    if not rest:
        reject(f"{word} after -- needs a value")
    return rest.pop(0)


def _values(text: str) -> Iterator[str]:
    """Return the values of an argument of --extra-vars: KEY=VALUE words or JSON. That of a file is its path."""
    if text.startswith("@"):
        return
    yield text
    with suppress(ValueError):
        yield from _leaves(json.loads(text))
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    yield from (word.partition("=")[2] for word in words)


def _leaves(data: Any) -> Iterator[str]:  # noqa: ANN401  JSON
    if isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from _leaves(each)
    else:
        yield str(data)
