"""Network namespaces of this machine that stand for hosts, and cables between them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Namespaces:
    """Namespaces whose names begin alike."""

    prefix: str

    def ip(self, *words: str) -> None:
        """Run ip."""
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def ip_of(self, host: str, *words: str) -> None:
        """Run ip for the interfaces of a host."""
        self.ip("-n", self.prefix + host, *words)

    def within(self, host: str, *argv: str) -> list[str]:
        """Return the words that run a command on a host."""
        return ["ip", "netns", "exec", self.prefix + host, *argv]

    def cable(self, one: tuple[str, ...], other: tuple[str, ...]) -> None:
        """Connect two hosts. An end is the host, its new interface, and the addresses of that."""
        self.ip_of(
            one[0], "link", "add", one[1], "type", "veth", "peer", "name", other[1], "netns", self.prefix + other[0]
        )
        for host, interface, *addresses in (one, other):
            for address in addresses:
                # The kernel would first look for another host with the same IPv6 address.
                options = ["nodad"] if ":" in address else []
                self.ip_of(host, "address", "add", address, "dev", interface, *options)
            self.ip_of(host, "link", "set", interface, "up")


@contextlib.contextmanager
def namespaces(name: str, *hosts: str, tools: tuple[str, ...] = ()) -> Iterator[Namespaces]:
    """Make a namespace for each host, or skip the test where that, or one of the tools, is not possible."""
    needed = ("ip", *tools)
    if os.geteuid() != 0 or not all(shutil.which(each) for each in needed):
        pytest.skip(f"needs root, {', '.join(needed)}, to build network namespaces")
    found = Namespaces(f"{name}{os.getpid()}-")
    try:
        for host in hosts:
            found.ip("netns", "add", found.prefix + host)
            found.ip_of(host, "link", "set", "lo", "up")
        yield found
    finally:
        for host in hosts:
            subprocess.run(["ip", "netns", "delete", found.prefix + host], check=False, capture_output=True)
