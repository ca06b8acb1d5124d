"""Readers against launches that were written down by hand: words, environment, mounts and ports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac import foreign
from sparkiac.foreign import docker, serving, shell_words

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
    assert len(LAUNCHES) >= 30
    assert {form(each) for each in LAUNCHES.values()} == {*foreign.IMPORTED} - {"docker-run"}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_is_read_as_it_was_written_down(name: str) -> None:
    given = LAUNCHES[name]
    assert read(given) == EMPTY | {key: value for key, value in given.items() if key in {*EMPTY, "words"}}


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
