"""What programs in user space ended for want of memory, from the journal."""

from __future__ import annotations

import contextlib
import json
from typing import NamedTuple

from .local import LocalHost

KILLERS = ("earlyoom.service", "systemd-oomd.service")
SAID = "sending SIG(TERM|KILL) to process|^Killed .* due to memory"
US = 1_000_000


class Kill(NamedTuple):
    """A process or unit that was ended."""

    at_s: float
    text: str
    """The killer and its message."""


def kills(machine: LocalHost, since: str, until: str = "now") -> list[Kill]:
    """Return what was ended between two times, the oldest first."""
    options = ("--no-pager", "--quiet", "--output=json", f"--since={since}", f"--until={until}", f"--grep={SAID}")
    try:
        done = machine.run("timeout", "10", "journalctl", *options, *(f"--unit={each}" for each in KILLERS))
    except OSError:
        return []
    found = []
    for line in done.output.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            killer = str(entry["_SYSTEMD_UNIT"]).partition(".")[0]
            found.append(Kill(int(entry["__REALTIME_TIMESTAMP"]) / US, f"{killer}: {entry['MESSAGE']}"))
    return found
