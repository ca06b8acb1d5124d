"""Run a node of a group: start its server when all nodes are there, and end it when another node has ended.

group FILE COMMAND…   FILE is /etc/sparkiac/NAME/group.json, COMMAND runs the server: the main process of the unit

COMMAND starts only when all nodes of the group start the same version of it: image, options, environment and weights.
A node whose files were edited since they were generated does not start, as it would start something else.
If one node ends, the others end their COMMAND as well, and systemd starts all units again. How the nodes find this out
is in link.py. Exit status: 0 after a requested stop, 1 another node ended or starts another version, otherwise
that of COMMAND; 2 usage.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from .. import local
from ..contract import ContractError, validated
from ..generation import GroupNode
from ..local import LocalHost, notify, say
from ..switch import record
from ..switch.opening import SILENT
from . import link as group_link

STEP_S = 0.5
PLACE = Path(os.environ.get("RUNTIME_DIRECTORY", "/run/sparkiac"))
"""Runtime directory of the unit."""


class Stop:
    """Whether systemd has requested the end of the unit."""

    requested = False

    def __init__(self) -> None:
        """Listen for the signals."""
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._request)

    def _request(self, _signal: int, _frame: object) -> None:
        self.requested = True


def run(link: group_link.Leader | group_link.Worker, command: list[str]) -> int:
    """Run the command between the start of the last node and the end of the first one; return the exit status."""
    stop, said, server = Stop(), "", None
    while not stop.requested and not link.fault and (server is None or server.poll() is None):
        if link.complete and server is None:
            server = subprocess.Popen(command)  # noqa: S603 - the unit states it
            continue
        if not link.complete and link.waiting() != said:
            said = link.waiting()
            say(f"group: {said}")
            notify(f"STATUS=starting {said}")  # like the one of `supervise`, it begins with the state of the server
        link.step(STEP_S)
        tell(link.silent())
    link.close()
    status = ended(server)
    if stop.requested:
        return status
    if link.fault:
        say(f"group: {link.fault}")
        (PLACE / "ran").unlink(missing_ok=True)  # this start does not count (switch/starts.py)
        return 1
    return status if status > 0 else 1


def tell(silent: list[str]) -> None:
    """Say which nodes are not reached. The server is not ready until all are, and keeps running: a link comes back."""
    if silent:
        local.write(LocalHost(), f"{PLACE}/{SILENT}", f"no word from {', '.join(silent)}")
    else:
        (PLACE / SILENT).unlink(missing_ok=True)


def ended(server: subprocess.Popen[bytes] | None) -> int:
    """End the server if it runs, and return its exit status."""
    if server is None:
        return 0
    if server.poll() is None:
        server.terminate()
    return server.wait()


def edited(machine: LocalHost, files: dict[str, str]) -> list[str]:
    """Return the files that are missing, or in which something that counts is not as it was generated."""
    return [f"/{path}" for path, wanted in files.items() if record.digest(machine, path) != wanted]


def main(argv: list[str]) -> int:
    """Run the node and return the exit status."""
    if len(argv) < 2:  # noqa: PLR2004
        sys.stderr.write((__doc__ or "").partition("\n\n")[2].partition("\n\n")[0] + "\n")
        return 2
    path, *command = argv
    try:
        node: dict[str, Any] = validated("group", path, json.loads(Path(path).read_text(encoding="utf-8")), GroupNode)
        if changed := edited(LocalHost(), node["files"]):
            say(f"group: edited on this host: {', '.join(changed)}; sparkiac apply installs the generated files again")
            return 1
        leads = node["host"] == node["leader"]
        link = group_link.Leader(node) if leads else group_link.Worker(node)
    except ContractError as error:
        say(f"group: {error}")
        return 1
    except (OSError, ValueError) as error:
        say(f"group: cannot connect the nodes of the group: {error}")
        return 1
    return run(link, command)
