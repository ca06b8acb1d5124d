"""Read from a host what no apply can bring back, and put it back there; `host/sent/saved.py` says what that is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from sparkiac.fleet.query import AS_ROOT, HostFailure, endpoint, run
from sparkiac.host.contract import parsed, validated
from sparkiac.host.local import SECRETS
from sparkiac.host.sent.saved import BLOCK, LENGTH, DataDirectory, SavedItem
from sparkiac.host.switch.history import HISTORY
from sparkiac.plan import HostPlan
from sparkiac.upstream import programs
from sparkiac.upstream.programs import ProgramError, RunningProgram

_FILES: Final = (
    *("__init__.py", "contract.py", "durable.py", "local.py", "sent/__init__.py", "sent/saved.py"),
    *("switch/__init__.py", "switch/history.py", "switch/lease.py"),
)
"""What `sent.saved` imports."""
_TIMEOUT_S: Final = 600
"""The look reads all data of services."""
_LONGEST: Final = 1 << 20


def directories(host: HostPlan) -> list[DataDirectory]:
    """Return the directories with data of a host's services, except weights that a service downloads again."""
    containers = [
        DataDirectory(each.storage.data, each.unit, None)
        for each in host.containers
        if each.storage.data is not None and not each.server.pulls
    ]
    return [*containers, *(DataDirectory(each.state, each.unit, each.user) for each in host.programs)]


def has_place(host: HostPlan, path: str) -> bool:
    """Return whether an item belongs to a host as it is planned."""
    folder, _, name = path.rpartition("/")
    is_secret = folder == SECRETS and name not in {"", ".."}
    return is_secret or path == HISTORY or path in {each.path for each in directories(host)}


FAULTS: Final = (HostFailure, ProgramError, ValueError)
"""What the functions below raise."""


def look(host: HostPlan) -> list[SavedItem]:
    """Return the items of a host as they are. Raises HostFailure, ProgramError and ValueError."""
    late = HostFailure(f"no answer within {_TIMEOUT_S} s", reachable=False)
    sent = programs.bundled("sent.saved", _FILES, "look", _json(directories(host)))
    done = run(endpoint(host), _words(sent), sent.text, timeout_s=_TIMEOUT_S, late=late)
    if done.returncode:
        raise ProgramError(programs.last_line(done.stderr, f"exit code {done.returncode}"))
    return items(done.stdout)


def save(host: HostPlan, keep: Callable[[bytes], None]) -> list[SavedItem]:
    """Pass the archive of a host to `keep` in blocks, and return its items. Raises ProgramError and ValueError."""
    with _running(host, "save", _json(directories(host))) as program, program.started() as output:
        while size := int.from_bytes(output.read(LENGTH), "big"):
            block = output.read(min(size, BLOCK))
            if len(block) != size:
                raise ProgramError("the archive ends early")
            keep(block)
        text = output.read(_LONGEST)
    return items(text)


def restore(host: HostPlan, chosen: Iterable[SavedItem], parts: Iterable[bytes]) -> None:
    """Put items back on a host from its archive. Raises ProgramError."""
    with (
        _running(host, "restore", _json(directories(host)), _json(chosen)) as program,
        program.started(parts) as output,
    ):
        output.read(_LONGEST)


def items(text: str | bytes) -> list[SavedItem]:
    """Return the items that a host printed. Raises ValueError."""
    found = validated("program", "its answer", parsed(text), list[SavedItem])
    return [SavedItem(**each)._replace(path=programs.shown(each["path"])) for each in found]


@contextmanager
def _running(host: HostPlan, *arguments: str) -> Iterator[RunningProgram]:
    sent = programs.bundled("sent.saved", _FILES, *arguments)
    there = endpoint(host)
    try:
        program = RunningProgram(there.target, _words(sent), program=sent.text, port=there.port)
    except FileNotFoundError:
        raise ProgramError("ssh is not installed on this machine") from None
    try:
        yield program
    finally:
        program.end()


def _words(sent: programs.Bundle) -> tuple[str, ...]:
    return ("sh", "-c", AS_ROOT, "sh", "python3", *sent.words)


def _json(records: Iterable[Any]) -> str:
    return json.dumps([each._asdict() for each in records])
