"""Which secrets the hosts need, and which of them sparkiac can generate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.model.base import SECRET_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.report import Path

_ISSUED: Final = frozenset({"heartbeat", "password", "secret_url", "token"})
"""Keys of secrets that another service issues: a messenger, a mail server, a webhook."""
_HUB: Final = "hub"
"""The key of the model hub, whose `api_key` is a token that the hub issues."""


class NeededSecret(NamedTuple):
    """A secret that a host needs."""

    name: str
    hosts: tuple[str, ...]
    keys: tuple[str, ...]
    """Keys of the inventory that name it, such as `defaults.api_key`."""
    issued: bool
    """Whether another service issues its value, so that sparkiac cannot generate it."""


def secrets_of(plan: Plan, data: object) -> tuple[NeededSecret, ...]:
    """Return the secrets of all hosts of a plan, sorted; `data` is the inventory."""
    named: dict[str, list[Path]] = {}
    for path, name in _references(data, ()):
        named.setdefault(name, []).append(path)
    hosts: dict[str, list[str]] = {}
    for host in plan.hosts:
        for name in host.secrets:
            hosts.setdefault(name, []).append(host.name)
    return tuple(_secret(name, hosts[name], named.get(name, [])) for name in sorted(hosts))


def _secret(name: str, hosts: list[str], paths: list[Path]) -> NeededSecret:
    issued = any(path[-1] in _ISSUED or path[0] == _HUB for path in paths)
    return NeededSecret(name, tuple(hosts), tuple(".".join(map(str, path)) for path in paths), issued)


def _references(data: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield each key that refers to a secret, with the name of the secret."""
    if isinstance(data, tuple):
        for index, value in enumerate(data):
            yield from _references(value, (*path, index))
    if not isinstance(data, dict):
        return
    for key, value in data.items():
        if key in SECRET_KEYS and isinstance(value, dict) and "secret" in value:
            yield (*path, key), value["secret"]
        else:
            yield from _references(value, (*path, key))
