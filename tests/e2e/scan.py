"""Which ports of an address take connections: `python -m tests.e2e.scan once|always SOURCE ADDRESS PORT…`.

A port may be a range such as 1-1024. `once` prints the open ports as a list, `always` prints one of them each time that
it is found open, until killed.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY_S = 0.1
TIMEOUT_S = 2


def ports(words: list[str]) -> Iterator[int]:
    """Return the ports of all ranges."""
    for first, _, last in (word.partition("-") for word in words):
        yield from range(int(first), int(last or first) + 1)


def is_open(source: str, address: str, port: int) -> bool:
    """Return whether a connection from an address of this machine is accepted."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as each:
        each.settimeout(TIMEOUT_S)
        each.bind((source, 0))
        try:
            each.connect((address, port))
        except OSError:
            return False
        return True


def main(mode: str, source: str, address: str, *words: str) -> None:
    """Scan once, or always."""
    if mode == "once":
        json.dump([port for port in ports([*words]) if is_open(source, address, port)], sys.stdout)
        return
    while True:
        for port in ports([*words]):
            if is_open(source, address, port):
                sys.stdout.write(f"{time.monotonic():.3f} {address} {port}\n")
                sys.stdout.flush()
        time.sleep(EVERY_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
