"""Recorded starts in the folder `measurements` beside an inventory: writing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.commands.inputs import measurements_path

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.model.records import StartRecord


def store(inventory: Path, deployment: str, record: StartRecord, records: tuple[StartRecord, ...]) -> Path:
    """Write a record and return its path; raise OSError.

    What an earlier one of `records` states about the same server, and this one does not, stays.
    """
    from sparkiac import write
    from sparkiac.plan import start_records

    found = record
    for before in reversed(records):
        found = start_records.merged(before, found)
    path = measurements_path(inventory) / start_records.file_name(deployment, record.subject)
    path.parent.mkdir(parents=True, exist_ok=True)
    write.replace(path, start_records.text(found).encode())
    return path
