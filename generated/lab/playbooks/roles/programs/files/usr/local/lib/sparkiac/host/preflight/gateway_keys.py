"""Write the keys of the gateway NAME where only its container sees them, when its unit starts and when it reloads.

HAProxy compares the SHA-256 of a key, so that the file of the clients has no key. If the file SECRET.previous exists,
clients may send the key in it as well, until it is removed and the unit reloads. Servers get a new key one after the
other: the key that they had before this reload is kept until the next one.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from .. import durable
from ..contract import decoded, validated
from ..local import SECRETS, LocalHost
from .expectations import GatewayKeys

FORMER = ".previous"
READABLE = 0o444
"""The container does not run as root; the directory above is closed to other users of the host."""


def write(machine: LocalHost, name: str) -> None:
    """Write all files. Raises OSError if a secret cannot be read, and ValueError if one is not one line of text."""
    path = f"/etc/sparkiac/{name}/config/keys.json"
    wanted = GatewayKeys(**validated("gateway_keys", path, decoded(path, machine.read(path)), GatewayKeys))
    clients = [(found, client) for secret, client in wanted.clients.items() for found in values(machine, secret)]
    hashes = {hashlib.sha256(key.encode()).hexdigest().upper(): client for key, client in clients}
    servers = {secret: value(machine, secret) for secret in wanted.servers}
    directory = machine.path(f"/run/sparkiac-{name}/keys")
    former = {secret: key for secret, key in sent(directory).items() if servers.get(secret, key) != key}
    files = {"clients.map": lines(hashes), "servers.map": lines(servers), "former.map": lines(former)}
    if wanted.tls is not None:
        files["tls.pem"] = machine.read(wanted.tls)
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    for file, text in files.items():
        durable.write(directory / file, text.encode(), READABLE)


def values(machine: LocalHost, secret: str) -> list[str]:
    """Return the key of a client, and its former key if there is one."""
    former = f"{secret}{FORMER}"
    return [
        value(machine, each)
        for each in (secret, former)
        if each == secret or machine.path(f"{SECRETS}/{each}").exists()
    ]


def value(machine: LocalHost, secret: str) -> str:
    """Return a key; raise ValueError if it is empty or cannot be a header."""
    found = machine.read(f"{SECRETS}/{secret}").strip()
    if not found or not found.isprintable():
        raise ValueError(f"the secret {secret} must be one line of printable text")
    return found


def sent(directory: Path) -> dict[str, str]:
    """Return the keys that servers get until now; none before the first start."""
    path = directory / "servers.map"
    found = path.read_text().splitlines() if path.exists() else []
    return dict(line.split(" ", 1) for line in found)


def lines(entries: Mapping[str, str]) -> str:
    """Return a map as HAProxy reads it."""
    return "".join(f"{key} {text}\n" for key, text in entries.items())


def main(argv: list[str], machine: LocalHost | None = None) -> int:
    """Write the keys of the gateway NAME and return the exit status."""
    try:
        [name] = argv
        write(machine or LocalHost(), name)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"gateway_keys: {error}\n")
        return 1
    return 0
