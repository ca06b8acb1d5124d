"""Run nft in the network of the host."""

from __future__ import annotations

from pathlib import Path

from ..local import LocalHost


class DoorsError(RuntimeError):
    """nft does not work, or what it should write is refused."""


def nft(machine: LocalHost, *words: str) -> str:
    """Run nft and return its output; raise DoorsError if it does not work."""
    try:
        done = machine.run(*outside(), "nft", *words)
    except OSError as error:
        raise DoorsError(f"nft cannot be run ({error.strerror}): install nftables") from error
    if done.code:
        raise DoorsError(f"nft does not work on this host: {' '.join(done.errors.split())}")
    return done.output


def outside() -> list[str]:
    """Return what runs a command in the network of the host: a unit with PrivateNetwork has its own, also as root."""
    try:
        own, host = (Path(f"/proc/{process}/ns/net").readlink() for process in ("self", "1"))
    except OSError:  # not root
        return []
    return [] if own == host else ["nsenter", "--net=/proc/1/ns/net"]
