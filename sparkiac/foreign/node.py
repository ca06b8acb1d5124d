"""What every format writes for the containers of a deployment, so that they run without sparkiac."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sparkiac import engines
from sparkiac.engines.engine import CACHE
from sparkiac.model import references
from sparkiac.plan import BindMount, Container, HostPlan, Plan, unwritten
from sparkiac.plan.topology import EVERY, LOOPBACK
from sparkiac.render import escape

_SPARKIAC_MOUNTS: Final = "/run/sparkiac/"
"""Mounts below this path are for sparkiac's own probe."""
_REQUEST: Final = "import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=4)"
"""Has no quotes, because it is written inside quotes."""
_WAITING: Final = frozenset({"ray"})
"""Executors that need a sparkiac program inside each container, which other tools do not have."""


class ExportError(ValueError):
    """The format cannot express this deployment."""


class HostContainer(NamedTuple):
    """A container and its host."""

    host: HostPlan
    container: Container
    build: Mapping[str, Any] | None
    """How its image is built from source."""


class Exported(NamedTuple):
    """The exported text, and notes on what the reader must do."""

    text: str
    notes: tuple[str, ...]


def nodes(plan: Plan, name: str) -> tuple[HostContainer, ...]:
    """Return the containers of a deployment with their hosts, the leader of a group first. Raises ExportError."""
    builds = {each.name: each.spec for each in plan.builds}
    found = [
        HostContainer(host, each, builds.get(each.image.build or ""))
        for host in plan.hosts
        for each in host.containers
        if (each.kind, each.name) == ("deployment", name)
    ]
    if any(each.container.server.executor in _WAITING for each in found):
        raise ExportError(f"the nodes of {name} wait for each other with a program that only sparkiac installs")
    return tuple(sorted(found, key=lambda node: node.container.server.node or (0, 1)))


def image(container: Container) -> str:
    """Return the pinned reference with its tag, or the plain reference of an image that is not pinned."""
    found = container.image
    if found.digest is None:
        return found.reference
    if found.build is not None:
        return found.digest
    plain = found.reference.partition("@")[0]
    repository, tag = references.split(plain)
    if found.repository != repository:
        plain = f"{found.repository}:{tag}" if tag else found.repository
    return f"{plain}@{found.digest}"


def entrypoint(container: Container) -> tuple[str | None, tuple[str, ...]]:
    """Return the entrypoint, if it must override the image's, and the words after the image.

    Commands before the server run in one shell with it. The API key needs no shell: it is passed as a variable.
    """
    if not container.command.pre_start:
        return None, container.command.words
    before = map(escape.shell_command, container.command.pre_start)
    return "/bin/sh", ("-c", " && ".join((*before, f"exec {escape.shell_command(container.argv)}")))


def server_command(container: Container) -> tuple[str, ...]:
    """Return the server's command including its program, independent of the image's entrypoint. Raises ExportError."""
    own = engines.named(container.server.engine).words
    if not own:
        message = f"{container.image.reference} is configured by variables only, and this format needs a command"
        raise ExportError(message)
    words = container.command.words
    return words if words[: len(own)] == own else (*own, *words)


def heading(container: Container) -> tuple[str, ...]:
    """Return the first lines of the file, which describe the deployment."""
    recipe = f", recipe {container.server.recipe.partition('#')[0]}" if container.server.recipe else ""
    return (f"{container.name}: {container.server.model}{recipe}.", "Exported by sparkiac from the inventory.")


def mounts(container: Container) -> tuple[BindMount, ...]:
    """Return the mounts from the host, sorted by target: directories and fetched files, without sparkiac's own."""
    own = (mount for mount in container.storage.mounts if not mount.target.startswith(_SPARKIAC_MOUNTS))
    files = (BindMount(file.path, file.target, read_only=True) for file in container.storage.files)
    return tuple(sorted((*own, *files), key=lambda mount: mount.target))


def compile_cache(container: Container) -> tuple[str, str] | None:
    """Return the volume that keeps compiled code, and its path in the container."""
    return None if container.storage.cache_key is None else (f"{container.name}-cache", CACHE)


def secret_variables(container: Container) -> tuple[str, ...]:
    """Return the names of the variables that contain secrets."""
    return tuple(export.variable for export in container.command.exports)


def health_command(container: Container) -> tuple[str, ...] | None:
    """Return the command that checks the server's health from inside the container."""
    if container.checks.health is None or container.checks.path is None:
        return None
    listen, published = container.network.listen, container.network.published
    here = published is not None or listen is None or listen[0] == EVERY
    address = LOOPBACK if here or listen is None else listen[0]
    port = published.container_port if published else (listen or ("", 0))[1]
    url = f"http://{address}:{port}{container.checks.path}"
    if engines.named(container.server.engine).python:
        return ("python3", "-c", _REQUEST, url)
    return ("curl", "-fsS", "-m", "4", "-o", "/dev/null", url)


def notes(nodes: Sequence[HostContainer], kind: str) -> tuple[str, ...]:
    """Return the notes that apply to every format, and those on what the format `kind` leaves out."""
    first = nodes[0].container
    found = [f"not exported: {key}: {why}" for key, why in unwritten.notes(first, kind)]
    if first.image.digest is None:
        found.append("the image is not pinned: `sparkiac lock` resolves its digest")
    elif first.image.build is not None:
        found.append(f"the image {first.image.build} is built from source on the host; it is in no registry")
    found += [
        f"fetch {each.path} first: {each.url}{f' (sha256 {each.sha256})' if each.sha256 else ''}"
        for each in first.storage.files
    ]
    read = {name for export in first.command.exports for name in export.secrets}
    if unread := {secret.name for secret in first.secrets} - read:
        found.append(
            f"secret {', '.join(sorted(unread))}: the server accepts a key only as an argument, so the file "
            "contains none"
        )
    return tuple(found)


def weights(container: Container) -> tuple[str, ...]:
    """Return notes on what the model store of the host must contain."""
    commits, store = container.weights.commits, container.weights.store
    cached = [
        f"{each}{f' at {commits[each]}' if each in commits else ''}, in the layout of `hf download`"
        for each in container.weights.models
    ]
    plain = [
        f"the plain directory {each}{f' of {commits[each]}' if each in commits else ''}"
        for each in container.weights.directories
    ]
    return tuple(f"weights: {store} must contain {each}" for each in (*cached, *plain))


def cache_notes(container: Container) -> tuple[str, ...]:
    """Return the note on the volume that keeps compiled code."""
    volume = compile_cache(container)
    stale = "keeps compiled code: remove it when the image, the model or an option changes"
    return () if volume is None else (f"the volume {volume[0]} {stale}",)


def as_comments(text: Iterable[str]) -> str:
    """Write lines as comments of a shell script or of YAML."""
    return "".join(f"# {line}\n" for line in text)
