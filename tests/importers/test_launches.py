"""Readers against launches that were written down by hand: words, environment, mounts and ports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac import foreign
from sparkiac.foreign import (
    compose,
    docker,
    inspect,
    markdown,
    recipe_reader,
    serving,
    shell_lexer,
    shell_parts,
    shell_words,
    systemd,
)
from sparkiac.foreign.launch import Volume

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.foreign.launch import Launch, PublishedPort

LAUNCHES: Final[Mapping[str, Mapping[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("launches.yaml").read_text(encoding="utf-8")
)


def form(given: Mapping[str, Any]) -> str:
    """Return the format of a launch's file."""
    return next(name for name in foreign.IMPORTED if name in given)


def launch(given: Mapping[str, Any]) -> Launch:
    """Read the file of a launch."""
    kind = form(given)
    found = foreign.importer(kind).read(given[kind], name="a")
    servers = [each for each in found if serving.start(each) and given.get("name") in {None, each.name}]
    (only,) = servers
    return only


def port(found: PublishedPort) -> str:
    """Write a port as docker run does."""
    address = f"{found.address}:" if found.address else ""
    return f"{address}{found.host}:{found.container}"


def read(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the reader makes of a file, in the words of launches.yaml."""
    found = launch(given)
    start = serving.start(found)
    assert start is not None
    return {
        "image": found.image,
        "words": [*start.words],
        "env": {each.name: each.value for each in found.env} | dict(start.env),
        "mounts": {each.target: f"{each.source}{' ro' if each.read_only else ''}" for each in found.volumes},
        "ports": "host" if found.host_network else [port(each) for each in found.ports],
        "prelude": [[*each] for each in (*start.prelude, *found.prelude)],
    }


EMPTY: Final[Mapping[str, Any]] = {"image": None, "env": {}, "mounts": {}, "ports": [], "prelude": []}


def is_read(name: str) -> bool:
    """Return whether the reader makes of a file what was written down."""
    given = LAUNCHES[name]
    return read(given) == EMPTY | {key: value for key, value in given.items() if key in {*EMPTY, "words"}}


def test_there_are_launches_of_every_format() -> None:
    assert len(LAUNCHES) >= 60
    assert {form(each) for each in LAUNCHES.values()} == {*foreign.IMPORTED} - {"docker-run"}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_is_read_as_it_was_written_down(name: str) -> None:
    given = LAUNCHES[name]
    assert read(given) == EMPTY | {key: value for key, value in given.items() if key in {*EMPTY, "words"}}


NEVER: Final = re.compile(r"(?!)")


def without_mode(text: str, line: int, read: Any = docker.volume) -> Any:  # noqa: ANN401  docker.volume's
    found = read(text, line)
    return found._replace(read_only=False) if isinstance(found, Volume) else found


MUTANTS: Final = {
    "a reader without -e": (docker, "VALUED", docker.VALUED - {"env"}),
    "a reader without --mount": (docker, "VALUED", docker.VALUED - {"mount"}),
    "a reader without -p": (docker, "VALUED", docker.VALUED - {"publish"}),
    "a reader without -v": (docker, "VALUED", docker.VALUED - {"volume"}),
    "a reader of exports only": (shell_words, "_DECLARATIONS", frozenset({"export"})),
    "a reader that does not split": (shell_words, "_is_split", lambda *_: False),
    "a reader that splits all": (shell_words, "_is_split", lambda *_: True),
    "a reader of whole lists only": (shell_words, "_indexed", lambda _, value: value),
    "a reader of no case": (shell_words, "fnmatchcase", lambda *_: False),
    "a reader of every case": (shell_words, "fnmatchcase", lambda *_: True),
    "a reader without :ro": (docker, "volume", without_mode),
    "a reader without variables of units": (systemd, "_variables", lambda _: iter(())),
    "a reader of units that expands nothing": (systemd, "_expanded", lambda word, line, _: iter([(word, line)])),
    "a reader that takes all variables for the image's": (inspect, "_SET_BY_IMAGES", re.compile(".*")),
    "a reader without bash -c": (serving, "_in_shell", lambda *_: None),
    "a reader without steps before the server": (serving, "_not_in_prelude", lambda _: ("lost", "")),
    "a reader without sudo and timeout": (shell_parts, "WRAPPERS", frozenset()),
    "a reader without continued lines": (shell_lexer, "_CONTINUED", NEVER),
    "a reader of recipes without variables": (recipe_reader, "variables", lambda *_, **__: iter(())),
    "a reader of recipes that fills nothing": (recipe_reader, "_TOKEN", NEVER),
    "a reader of pages without prompts": (markdown, "_PROMPT", NEVER),
    "a reader of compose without defaults": (compose, "_VARIABLE", NEVER),
    "a reader without hosts of ports": (docker, "_PORT", re.compile(r"()(\\d+)?:?(\\d+)()")),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_reader_that_drops_something_fails_a_launch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    failed = 0
    for each in LAUNCHES:
        try:
            failed += not is_read(each)
        except (ValueError, AssertionError):
            failed += 1
    assert failed, name
