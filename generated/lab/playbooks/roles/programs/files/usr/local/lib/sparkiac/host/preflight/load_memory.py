"""Change settings of this host while a unit loads its model, and undo them.

load_memory begin NAME   set what /etc/sparkiac/NAME/load-memory.json says, and run `hold` in a unit of its own
load_memory hold NAME    drop the page cache again and again, and undo each step when its time is over
load_memory end NAME     undo everything: when the unit is ready, after a failed start, after a stop

Runs as root. The original value of each setting is recorded before the first change, for all units of the host
together. A start first undoes what an interrupted one left. The record is in /run, because a reboot undoes it all.
Exit status: 0 done, 1 a setting cannot be read or set (stderr says which one; nothing stays changed), 2 usage.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from .. import durable
from ..contract import validated
from ..local import LocalHost, launch, launcher
from ..settings import kernel_file
from .expectations import LoadGuard

RECORD = "/run/sparkiac/load-memory.json"
LOCK = "/run/sparkiac/load-memory.lock"
DROP = "/proc/sys/vm/drop_caches"
READ_AHEAD = "queue/read_ahead_kb"
LOOK_S = 1.0  # how often `hold` looks at the time while it does not drop the page cache
Record = dict[str, dict[str, Any]]  # "original": file → value before sparkiac; "wanted": unit → file → value


def read_guard(machine: LocalHost, unit: str) -> dict[str, Any]:
    """Return what the plan says about the load of a unit."""
    path = f"/etc/sparkiac/{unit}/load-memory.json"
    return dict(validated("load_memory", path, json.loads(machine.read(path)), LoadGuard))


def begin(machine: LocalHost, unit: str) -> None:
    """Record the present settings, change them, and start `hold`; undo everything if a step is impossible."""
    end(machine, unit)
    guard = read_guard(machine, unit)
    wanted = {**sysctls(machine, guard), **read_ahead(machine, guard)}
    try:
        change(machine, unit, wanted)
        # systemd ends what a start step leaves running in the unit itself.
        launch(machine, holder(unit), str(launcher("load_memory")), "hold", unit)
    except BaseException:
        undo(machine, unit)
        raise


def hold(machine: LocalHost, unit: str) -> None:
    """Drop the page cache while the unit loads; undo each step when its time is over, and then end."""
    guard, started = read_guard(machine, unit), time.monotonic()
    slower = list(read_ahead(machine, guard))
    every_s = guard["drop_every_s"]
    while is_held(machine, unit):
        elapsed = time.monotonic() - started
        if elapsed >= guard["for_s"]:
            undo(machine, unit)
            return
        if slower and elapsed >= guard["read_ahead_for_s"]:
            undo(machine, unit, slower)
            slower = []
        drops = every_s is not None and elapsed < guard["drop_for_s"]
        if drops:
            machine.path(DROP).write_text("3\n", encoding="ascii")
        time.sleep(every_s if drops else LOOK_S)


def end(machine: LocalHost, unit: str) -> None:
    """Stop `hold`, which may have been killed or not exist, and undo what the unit changed."""
    machine.run("systemctl", "stop", holder(unit))
    undo(machine, unit)


def holder(unit: str) -> str:
    """Return the name of the unit of `hold`; no unit of the plan has an `@` in its name."""
    return f"sparkiac-load-memory@{unit}.service"


def sysctls(machine: LocalHost, guard: dict[str, Any]) -> dict[str, str]:
    """Return the file and the value of each kernel setting."""
    root = machine.path("/")
    return {f"/{kernel_file(machine, each['key']).relative_to(root)}": each["value"] for each in guard["sysctls"]}


def read_ahead(machine: LocalHost, guard: dict[str, Any]) -> dict[str, str]:
    """Return the file and the value of the read-ahead of the disk that contains the model store."""
    if guard["read_ahead_kib"] is None:
        return {}
    number = machine.path(guard["store"]).stat().st_dev
    device = machine.path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    for place in (device, device.parent):  # a partition has the queue of its disk
        if (place / READ_AHEAD).exists():
            return {f"/{(place / READ_AHEAD).relative_to(machine.path('/').resolve())}": str(guard["read_ahead_kib"])}
    raise OSError(f"{guard['store']} is not on a block device with a read-ahead; remove load_memory.read_ahead_kib")


def change(machine: LocalHost, unit: str, wanted: dict[str, str]) -> None:
    """Change settings. The record is complete before the first change, so that an interrupted change is undone."""
    with locked(machine) as record:
        for file in wanted:
            record["original"].setdefault(file, value_of(machine, file))
        record["wanted"][unit] = wanted
        save(machine, record)
        for file, value in wanted.items():
            machine.path(file).write_text(f"{value}\n", encoding="ascii")
            if (found := value_of(machine, file)).split() != value.split():
                raise OSError(f"{file} is {found} after setting it to {value}; change it under load_memory")


def undo(machine: LocalHost, unit: str, files: list[str] | None = None) -> None:
    """Restore settings that the unit changed, all or the given files, unless another unit still needs them."""
    with locked(machine) as record:
        if unit not in record["wanted"]:
            return
        mine = record["wanted"].pop(unit)
        kept = {file: value for file, value in mine.items() if files is not None and file not in files}
        others = list(record["wanted"].values())
        for file in mine.keys() - kept.keys():
            needed = [each[file] for each in others if file in each]
            # Another value was set by somebody else, or the change was interrupted before this setting.
            if machine.path(file).exists() and value_of(machine, file).split() == mine[file].split():
                value = needed[-1] if needed else record["original"][file]
                machine.path(file).write_text(f"{value}\n", encoding="ascii")
            if not needed:
                del record["original"][file]
        if files is not None:  # the load goes on
            record["wanted"][unit] = kept
        save(machine, record)


def is_held(machine: LocalHost, unit: str) -> bool:
    """Return whether the load of the unit has not ended."""
    with locked(machine) as record:
        return unit in record["wanted"]


@contextlib.contextmanager
def locked(machine: LocalHost) -> Iterator[Record]:
    """Return the record, with a lock that ends with the process."""
    durable.make_directory(machine.path(LOCK).parent)
    with machine.path(LOCK).open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = machine.path(RECORD)
        yield json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"original": {}, "wanted": {}}


def save(machine: LocalHost, record: Record) -> None:
    """Write the record."""
    durable.write(machine.path(RECORD), json.dumps(record, indent=1).encode() + b"\n")


def value_of(machine: LocalHost, file: str) -> str:
    """Return the value of a setting."""
    return machine.path(file).read_text(encoding="ascii").strip()


COMMANDS = {"begin": begin, "hold": hold, "end": end}


def main(argv: list[str], machine: LocalHost | None = None) -> int:
    """Run a command and return its exit status."""
    parser = argparse.ArgumentParser(prog="load_memory", description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("unit", metavar="NAME")
    arguments = parser.parse_args(argv)
    try:
        COMMANDS[arguments.command](machine or LocalHost(), arguments.unit)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"load_memory: {error}\n")
        return 1
    return 0
