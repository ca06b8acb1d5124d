"""One container of a deployment as a person starts it who has no sparkiac: what every format writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import engines
from sparkiac.engines.vllm import CACHE
from sparkiac.model import references
from sparkiac.plan import BindMount
from sparkiac.render import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sparkiac.plan import Container, HostPlan

_OURS: Final = "/run/sparkiac/"
"""What is mounted here is for sparkiac's own probe."""
_ASKS: Final = "import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=4)"
"""Has no quotes, for it stands within some."""


class Unsayable(ValueError):  # noqa: N818  says what it is
    """A format has no words for this deployment at all."""


class Node(NamedTuple):
    """A container, and the host that it runs on."""

    host: HostPlan
    container: Container


class Exported(NamedTuple):
    """A text, and what it leaves to its reader."""

    text: str
    notes: tuple[str, ...]


def image(container: Container) -> str:
    """Give the pinned reference, with the tag for those who read it; an image that is not pinned as it is named."""
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


def start(container: Container) -> tuple[str | None, tuple[str, ...]]:
    """Give the entrypoint that takes the place of the image's, if one must, and the words after the image.

    What runs before the server stands in front of it in one shell. The key needs none: it is passed as a variable.
    """
    if not container.command.pre_start:
        return None, container.command.words
    return "/bin/sh", ("-c", " && ".join((*map(joined, container.command.pre_start), f"exec {joined(container.argv)}")))


def server(container: Container) -> tuple[str, ...]:
    """Give the command of the server from its program on, whatever the image's entrypoint. Raises Unsayable."""
    own = engines.named(container.server.engine or "").words
    if not own:
        message = f"{container.image.reference} is told everything by variables, and this format wants a command"
        raise Unsayable(message)
    words = container.command.words
    return words if words[: len(own)] == own else (*own, *words)


def joined(words: Iterable[str]) -> str:
    """Write words for a shell."""
    return " ".join(map(escape.shell_word, words))


def lines(container: Container) -> tuple[str, ...]:
    """Say in lines what it is: what its file begins with."""
    recipe = f", recipe {container.server.recipe.partition('#')[0]}" if container.server.recipe else ""
    return (f"{container.name}: {container.server.model}{recipe}.", "Exported by sparkiac from the inventory.")


def mounts(container: Container) -> tuple[BindMount, ...]:
    """Give what is mounted from the host, by target: directories and fetched files, but nothing of sparkiac's own."""
    own = (mount for mount in container.storage.mounts if not mount.target.startswith(_OURS))
    files = (BindMount(file.path, file.target, read_only=True) for file in container.storage.files)
    return tuple(sorted((*own, *files), key=lambda mount: mount.target))


def cache(container: Container) -> tuple[str, str] | None:
    """Give the name of the volume that keeps compiled code, and where it is mounted."""
    return None if container.storage.cache_key is None else (f"{container.name}-cache", CACHE)


def keys(container: Container) -> tuple[str, ...]:
    """Name the variables that secrets come in."""
    return tuple(export.variable for export in container.command.exports)


def asked(container: Container) -> tuple[str, ...] | None:
    """Give the words that ask the server for its health from inside the container."""
    if container.checks.health is None or container.checks.path is None:
        return None
    listen, published = container.network.listen, container.network.published
    here = published is not None or listen is None or listen[0] == "0.0.0.0"  # noqa: S104  compared
    address = "127.0.0.1" if here or listen is None else listen[0]
    port = published.container_port if published else (listen or ("", 0))[1]
    url = f"http://{address}:{port}{container.checks.path}"
    if engines.named(container.server.engine or "").python:
        return ("python3", "-c", _ASKS, url)
    return ("curl", "-fsS", "-m", "4", "-o", "/dev/null", url)


def notes(nodes: Sequence[Node]) -> tuple[str, ...]:
    """Say what holds for every format: what lies outside the command."""
    first = nodes[0].container
    found = []
    if first.image.digest is None:
        found.append("the image is not pinned: `sparkiac lock` finds its digest")
    elif first.image.build is not None:
        found.append(f"the image {first.image.build} is built from source on the host; no registry has it")
    found += [f"fetch {each.path} first: {_fetched(each.url, each.sha256)}" for each in first.storage.files]
    if unread := {secret.name for secret in first.secrets} - _exported(first):
        found.append(
            f"secret {', '.join(sorted(unread))}: the server takes a key in its arguments alone, so none is given"
        )
    return tuple(found)


def _exported(container: Container) -> set[str | None]:
    return {name for export in container.command.exports for name in export.secrets}


def _fetched(url: str, sha256: str | None) -> str:
    return f"{url} (sha256 {sha256})" if sha256 else url


def weights(container: Container) -> tuple[str, ...]:
    """Say what the host's model store must hold."""
    commits, store = container.weights.commits, container.weights.store
    cached = [
        f"{each}{f' at {commits[each]}' if each in commits else ''}, as `hf download` lays it out"
        for each in container.weights.models
    ]
    plain = [
        f"the plain directory {each}{f' of {commits[each]}' if each in commits else ''}"
        for each in container.weights.directories
    ]
    return tuple(f"weights: {store} must hold {each}" for each in (*cached, *plain))


def commented(text: Iterable[str]) -> str:
    """Write lines as comments of a shell or of YAML."""
    return "".join(f"# {line}\n" for line in text)
