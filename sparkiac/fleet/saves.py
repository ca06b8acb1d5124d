"""Read from a host what no apply can bring back, and put it back there; `host/sent/saved.py` says what that is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from sparkiac.fleet.query import AS_ROOT, endpoint
from sparkiac.host.contract import parsed, validated
from sparkiac.host.local import SECRETS
from sparkiac.host.sent.saved import BLOCK, LENGTH, DataDirectory, SavedItem
from sparkiac.host.switch.history import HISTORY
from sparkiac.model import answers
from sparkiac.plan import HostPlan
from sparkiac.upstream import programs
from sparkiac.upstream.programs import ProgramError, RunningProgram

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


FAULTS: Final = (ProgramError, ValueError)
"""What the functions below raise."""


def look(host: HostPlan) -> list[SavedItem]:
    """Return the items of a host as they are. Raises `FAULTS`."""
    with _answering(host, "look", directories(host)) as output:
        text = output.read(_LONGEST)
    return items(text)


def save(host: HostPlan, keep: Callable[[bytes], None]) -> list[SavedItem]:
    """Pass the archive of a host to `keep` in blocks, and return its items. Raises `FAULTS`."""
    with _answering(host, "save", directories(host)) as output:
        while size := int.from_bytes(output.read(LENGTH), "big"):
            keep(output.read(min(size, BLOCK)))
        text = output.read(_LONGEST)
    return items(text)


def restore(host: HostPlan, chosen: Iterable[SavedItem], parts: Iterable[bytes]) -> None:
    """Put items back on a host from its archive. Raises `FAULTS`."""
    with _answering(host, "restore", directories(host), chosen, more=parts) as output:
        output.read(_LONGEST)


def items(text: str | bytes) -> list[SavedItem]:
    """Return the items that a host printed. Raises ValueError."""
    found = validated("program", "its answer", parsed(text), list[SavedItem])
    return [SavedItem(**each)._replace(path=answers.shown(each["path"])) for each in found]


@contextmanager
def _answering(
    host: HostPlan, verb: str, *records: Iterable[Any], more: Iterable[bytes] | None = None
) -> Iterator[IO[bytes]]:
    """Run the program on a host, and yield its output. Raises ProgramError, also at the end if it has failed."""
    arguments = (json.dumps([each._asdict() for each in every]) for every in records)
    sent, there = programs.bundled("sent.saved", verb, *arguments), endpoint(host)
    words = ("sh", "-c", AS_ROOT, "sh", "python3", *sent.words)
    program = RunningProgram(there.target, words, program=sent.text, port=there.port)
    with program, program.started(more) as output:
        yield output
