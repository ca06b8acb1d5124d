"""Two hosts of a group, on which the commands of its containers run as they are rendered."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.host.conftest import SCRIPTS
from tests.namespaces import Namespaces, namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Nodes:
    """Two network namespaces as two hosts, `a` and `b`, and the processes in them."""

    spaces: Namespaces
    root: Path
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, host: str, *commands: tuple[str, ...], variables: dict[str, str]) -> subprocess.Popen[str]:
        """Run commands on a host as the entrypoint of its container does, in a PID namespace that ends with it."""
        lines = "; ".join(("set -eu", *(shlex.join(words) for words in commands)))
        own = lines.replace("/run/sparkiac/lib", str(SCRIPTS))
        argv = self.spaces.within(host, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", own)
        with (self.root / f"{host}.log").open("a") as log:
            found = subprocess.Popen(argv, env=os.environ | variables, stdout=log, stderr=log, text=True)
        self.running.append(found)
        return found

    def log(self, host: str) -> str:
        """Return the log of a host."""
        return (self.root / f"{host}.log").read_text()

    def wait(self, host: str, text: str) -> None:
        """Wait for a line in the log of a host; the limit only ends a test that fails."""
        end = time.monotonic() + 600
        while text not in self.log(host):
            assert time.monotonic() < end, self.log(host)
            time.sleep(0.2)

    def end(self) -> None:
        """End the processes."""
        for each in self.running:
            each.kill()
            each.wait()


@contextlib.contextmanager
def pair() -> Iterator[Nodes]:
    """Connect two hosts by a cable with the addresses of the rendered group."""
    # Ray makes sockets below this directory, whose paths must be short.
    directory = tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True)
    with namespaces("pair", "a", "b") as spaces, directory as root:
        spaces.cable(("a", "cable", "192.168.177.12/24"), ("b", "cable", "192.168.177.11/24"))
        found = Nodes(spaces, Path(root))
        try:
            yield found
        finally:
            found.end()
