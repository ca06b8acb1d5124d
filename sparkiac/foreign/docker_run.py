"""`docker run`: command lines that are read, and a script that is written.

The script has one command; for a group, one command for each machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sparkiac.foreign import node, shell
from sparkiac.foreign.launch import Launch
from sparkiac.foreign.node import Exported, HostContainer
from sparkiac.plan import Container, confinement
from sparkiac.plan.confinement import ContainerOption
from sparkiac.render import escape

_BEGINS: Final = re.compile(
    r"\s*(?:[$#>] )?(?:sudo (?:-\w+ ){0,5})?(?:\S{0,200}/)?(?:docker|podman|nerdctl)(?: container)? (?:run|create)\b"
)
_SEPARATE_HOSTS: Final = 'echo "run each of these commands on its own machine" >&2\nexit 2\n'
"""Last lines of a script of several commands, which must not be run as a whole."""


def recognise(text: str, name: str) -> bool:
    """Return whether a text begins with a `docker run` command line."""
    return not name.endswith((".md", ".sh")) and _BEGINS.match(text) is not None


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:
    """Read the command lines of a text. Raises Unreadable if it has none."""
    return shell.read(text, name=name, given=given)


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Paths on the host are those of the inventory."""
    first = nodes[0].container
    notes = (*node.notes(nodes, "docker-run"), *node.weights(first), *node.cache_notes(first))
    head = node.as_comments((*node.heading(first), *notes))
    keys = "".join(f'export {name}="${{{name}:?must contain the key}}"\n' for name in node.secret_variables(first))
    if len(nodes) == 1:
        return Exported(f"#!/bin/sh\n{head}set -eu\n{keys}{_command(first)}", notes)
    parts = [f"\n# On {each.host.name}, {each.host.address}:\n{keys}{_command(each.container)}" for each in nodes]
    return Exported(f"#!/bin/sh\n{head}{_SEPARATE_HOSTS}{''.join(parts)}", notes)


def _command(container: Container) -> str:
    """Write one command, with one option on each line."""
    entrypoint, words = node.entrypoint(container)
    options = [*_options(container), *([("--entrypoint", entrypoint)] if entrypoint else [])]
    rows = [escape.shell_command(pair) for pair in options]
    server = [escape.shell_command((node.image(container), *words[:2])), *map(escape.shell_word, words[2:])]
    return " \\\n  ".join(["docker run --detach", *rows, *server]) + "\n"


def _options(container: Container) -> Iterator[tuple[str, ...]]:
    yield ("--name", container.name)
    yield ("--restart", "unless-stopped")
    yield ("--init",)
    yield from _network(container)
    yield from _settings(confinement.ACCESS, container)
    yield from (("--volume", f"{m.source}:{m.target}{':ro' if m.read_only else ''}") for m in node.mounts(container))
    if (volume := node.compile_cache(container)) is not None:
        yield ("--volume", ":".join(volume))
    yield from (("--env", name) for name in node.secret_variables(container))
    yield from (("--env", f"{name}={value}") for name, value in sorted(container.command.env.items()))
    if (check := node.health_command(container)) is not None:
        yield ("--health-cmd", " ".join(f'"{word}"' if " " in word else word for word in check))
        yield ("--health-start-period", f"{container.timeouts.ready_s}s")
    yield ("--stop-timeout", str(container.timeouts.stop_s))
    yield from _settings(confinement.LIMITS, container)
    yield ("--log-opt", "max-size=50m")


def _network(container: Container) -> Iterator[tuple[str, ...]]:
    published = container.network.published
    if container.network.host:
        yield ("--network", "host")
    elif published is not None:
        yield ("--publish", f"{published.address}:{published.port}:{published.container_port}")


def _settings(settings: Iterable[ContainerOption], container: Container) -> Iterator[tuple[str, ...]]:
    return (words for each in settings if not each.local for words in each.words(container.confinement))
