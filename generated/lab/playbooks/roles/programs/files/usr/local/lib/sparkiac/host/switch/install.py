"""Install a generation: copy its files to their places, remove those and the units that it does not have, set it up.

Every step can be repeated: an installation that was interrupted ends with the same result when it is done again.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path, PurePosixPath

from .. import durable, settings
from ..generation import PlacedFile
from ..local import LocalHost, unit_file
from ..network.nft import DoorsError
from . import effects, opening
from .actions import same_file
from .effects import RECOVER
from .restart import leave
from .store import HOME, Generation

ORIGINALS = f"{HOME}/originals.json"
"""Settings before sparkiac changed them; restored when no generation sets them any more."""
OURS = ("/etc/sparkiac", "/usr/local/lib/sparkiac")
FREE_BYTES = 32 << 20
"""Space that must be free, so that a generation can be installed and the former one again."""


class SettingError(OSError):
    """A setting cannot be read or set; everything else of the generation is installed."""


def check_space(machine: LocalHost) -> None:
    """Raise OSError if there may not be enough space to install a generation and to go back."""
    for place in ("/etc", "/usr/local/lib", "/var/lib"):
        path = machine.path(place)
        free = shutil.disk_usage(str(path)).free if path.exists() else FREE_BYTES
        if free < FREE_BYTES:
            raise OSError(f"{place}: {free >> 20} MiB are free, {FREE_BYTES >> 20} MiB are needed; nothing was changed")


def prepare(machine: LocalHost, generation: Generation) -> None:
    """Install the unit that finishes an interrupted switch after a reboot, before the switch begins."""
    for file in [each for each in generation.files if each.path == RECOVER]:
        copy(machine, generation, file)
        programs = machine.path(f"{HOME}/programs")
        assert generation.directory is not None  # noqa: S101 - it has files
        durable.link(programs, generation.directory / "files/usr/local/lib/sparkiac")
        machine.run("systemctl", "daemon-reload")
        # Started now, before a switch is pending, so that the start of a unit does not start it.
        machine.run("systemctl", "enable", "--now", "sparkiac-recover.service")


def install(machine: LocalHost, new: Generation, other: Generation) -> None:
    """Make the host look like a generation; files of the other one may be installed now."""
    for unit in effects.leaving(new.plan, other.plan):
        leave(machine, unit, "disable", "--now")
        # A failed service would stay listed until the next boot, also that of a timer.
        machine.run("systemctl", "reset-failed", unit_file(unit["name"].removesuffix(effects.TIMER)))
        # docker compose made it
        machine.run("timeout", "10", "docker", "network", "rm", f"{unit['name']}_default")
    make_readable(machine, new)
    for file in new.files:
        copy(machine, new, file)
    for path in effects.going((each.path for each in new.files), (each.path for each in other.files)):
        durable.remove(machine.path(path))
        remove_empty(machine, machine.path(path).parent)
    machine.run("systemctl", "daemon-reload")
    try:
        put_settings(machine, new, other)
    except OSError as error:
        raise SettingError(str(error)) from error
    finally:
        opening.allow(machine, new.plan)


def reinstall(machine: LocalHost, old: Generation, new: Generation) -> list[str]:
    """Install the committed generation again, also if a setting or nft does not work; return why."""
    try:
        install(machine, old, new)
    except SettingError as error:
        return [f"a setting of the former generation is not set: {error}"]
    except DoorsError as error:
        return [str(error)]
    return []


def make_readable(machine: LocalHost, generation: Generation) -> None:
    """Create our directories, and let the user of the units read them; directories of the system stay as they are."""
    parents = {str(parent) for file in generation.files for parent in PurePosixPath(file.path).parents}
    for path in sorted(machine.path(each) for each in parents if "sparkiac" in each.split("/")):
        durable.make_directory(path)
        if path.stat().st_mode & 0o7777 != 0o755:  # noqa: PLR2004
            path.chmod(0o755)


def copy(machine: LocalHost, generation: Generation, file: PlacedFile) -> None:
    """Copy a file to its place unless it is already there with the right content and mode."""
    if not same_file(machine, *file):
        durable.write(machine.path(file.path), generation.content(file.path), int(file.mode, 8))


def remove_empty(machine: LocalHost, directory: Path) -> None:
    """Remove a directory in one of ours that is empty now, and then those above it."""
    with contextlib.suppress(OSError):
        while any(machine.path(each) in directory.parents for each in OURS):
            for left in directory.glob(".*.new"):  # a power cut left it half written
                left.unlink()
            directory.rmdir()
            directory = directory.parent


def put_settings(machine: LocalHost, new: Generation, other: Generation) -> None:
    """Set the settings of a generation, and restore those that only the other one has."""
    wanted = {each["key"]: each["value"] for each in new.plan["sysctls"]}
    former = {each["key"] for each in other.plan["sysctls"]}
    originals = originals_of(machine)
    added = {key: settings.read(machine, key) for key in wanted if key not in originals and key not in former}
    if added:
        durable.write(machine.path(ORIGINALS), json.dumps({**originals, **added}, indent=1).encode() + b"\n")
    restored = {key: originals[key] for key in effects.released(new.plan, other.plan) if key in originals}
    for key, value in {**restored, **wanted}.items():
        if settings.read(machine, key) != " ".join(value.split()):
            settings.put(machine, key, value)
        if key in wanted and (found := settings.read(machine, key)) != " ".join(value.split()):
            raise OSError(f"{key} is still {found} after setting it to {value}")


def originals_of(machine: LocalHost) -> dict[str, str]:
    """Return the settings as they were before sparkiac changed them."""
    path = machine.path(ORIGINALS)
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
