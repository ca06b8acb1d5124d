"""Remove everything of sparkiac from this host, and undo its changes. What sparkiac did not create stays.

Each step can be repeated, so an uninstall that was killed is simply started again: the generations, which name what is
to be removed, and then these programs are removed last. No symbolic link is followed.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from .. import secrets, settings, state
from ..local import LocalHost, unit_file
from ..network import doors
from ..stage import prune
from . import drift
from .install import ORIGINALS
from .store import GENERATIONS, HOME

OWN = (
    "generations", "state.json", "history.json", "originals.json", "saved", "files", "metrics", "network", "passed",
    "programs", "kernel.json", "os", "watch",
)  # fmt: skip
"""What sparkiac itself keeps in its directory; the rest is data of services."""
PATH = re.compile(
    r"(?:etc/systemd/system|etc/sysctl\.d|etc/apt/(?:preferences|apt\.conf)\.d|etc/sparkiac|usr/local/lib/sparkiac)/[^\0]+"
)
UNIT = re.compile(r"etc/systemd/system/(sparkiac-[a-z0-9-]+\.(?:service|timer))")
PROGRAMS = "/usr/local/lib/sparkiac"
KERNEL_UNITS = tuple(f"etc/systemd/system/sparkiac-{name}.service" for name in ("kernel", "packages"))
OF_GRUB = ("etc/default/grub.d/90-sparkiac.cfg", "etc/grub.d/45_sparkiac", "etc/grub.d/46_sparkiac")
"""What `kernel` writes, besides its units: without them, GRUB starts the newest kernel again."""
SUFFIXES = (".service", ".timer")
FLEET_TREES = tuple(f"{above}/sparkiac-fleet" for above in ("/var/lib", "/var/lib/private", "/run", "/run/private"))
"""State of the fleet timer. Its user has no fixed ID; for such units, systemd makes a link to a private directory."""
TREES = ("/etc/sparkiac", "/var/cache/sparkiac", "/run/sparkiac", *FLEET_TREES)
USER = "sparkiac"
NETWORK = re.compile(r"sparkiac(?:[-_].*)?")
STAYS = {"image": "images stay", "model": "weights stay unless their removal is requested"}


class Step(NamedTuple):
    """One item to remove. `remove` returns why it stays, or an empty text."""

    name: str
    remove: Callable[[], str]


def uninstall(machine: LocalHost, *, dry_run: bool, weights: bool = False) -> dict[str, Any]:
    """Remove what sparkiac created, or with `dry_run` only list it; return what was removed and what stays."""
    current = current_generation(machine)
    if current and not dry_run:
        drift.save_edited(machine, current)
    kept = [{"path": path, "because": because} for path, because in staying(machine, weights=weights)]
    removed = []
    for step in steps(machine, weights=weights):
        because = "" if dry_run else step.remove()
        if because:
            kept.append({"path": step.name, "because": because})
        else:
            removed.append(step.name)
    return {"removed": removed, "kept": kept}


def steps(machine: LocalHost, *, weights: bool) -> Iterator[Step]:
    """Return everything that is removed, in this order."""
    found = installed(machine)
    yield from (Step(f"unit {name}", partial(stop, machine, name)) for name in units_of(machine, found))
    keeper = f"{doors.KEEPER}.service"
    if machine.run("systemctl", "is-active", "--quiet", keeper).code == 0:
        yield Step(f"unit {keeper}", partial(command, machine, "systemctl", "stop", keeper))
    for table in doors.tables(machine):
        yield Step(f"nftables table {table}", partial(command, machine, "nft", "delete", "table", *table.split()))
    for path in (path for path in found if not path.startswith(("etc/sparkiac/", "usr/"))):
        yield Step(f"/{path}", partial(remove_file, machine, path))
    if {*found} & {*OF_GRUB}:
        yield Step("the default kernel of GRUB", partial(command, machine, "update-grub"))
    yield from setting_steps(machine)
    yield from network_steps(machine)
    for item in staged(machine):
        if goes(item.kind, weights=weights):
            yield Step(f"{item.kind} {item.name}", partial(prune.remove, item))
    yield from (tree_step(machine, path) for path in TREES if there(machine, path))
    if machine.run("id", "--name", "--groups", USER).code == 0 and not data_of_services(machine):
        yield Step(f"user {USER}", partial(command, machine, "userdel", USER))
    yield from library_steps(machine)
    if there(machine, PROGRAMS):
        yield tree_step(machine, PROGRAMS)


def staying(machine: LocalHost, *, weights: bool) -> Iterator[tuple[str, str]]:
    """Return path and reason of what an uninstall does not remove."""
    for item in staged(machine):
        if not goes(item.kind, weights=weights):
            yield item.name, STAYS[item.kind]
    ours = set(installed(machine))
    yield from ((f"/{path}", "sparkiac did not write it") for path in drift.drop_ins(machine) if path not in ours)
    for name in data_of_services(machine):
        yield f"{HOME}/{name}", "it contains data of a service"
    if data_of_services(machine):
        yield f"user {USER}", "data of a service may belong to it"
    yield from own_kept(machine).items()
    plans = [read_json(machine, name, {}) for name in plan_files(machine)]
    originals = read_json(machine, ORIGINALS, {})
    for key in dict.fromkeys(each["key"] for plan in plans for each in plan.get("sysctls", [])):
        if key not in originals:
            yield key, "its value before sparkiac is unknown; the present one holds until the next boot"


def stop(machine: LocalHost, unit: str) -> str:
    """Stop and disable a unit."""
    failed = command(machine, "systemctl", "stop", unit) or command(machine, "systemctl", "disable", unit)
    command(machine, "systemctl", "reset-failed", unit)  # systemd would list it as failed until the next boot
    return failed


def remove_file(machine: LocalHost, name: str) -> str:
    """Remove an installed file, and a directory of drop-ins that is empty then."""
    path = machine.path(name)
    if path.parent.is_symlink():
        return f"/{Path(name).parent} is a symbolic link"
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(("sparkiac", "earlyoom")) and not any(path.parent.iterdir()):
        path.parent.rmdir()
    return command(machine, "systemctl", "daemon-reload") if path.suffix in SUFFIXES else ""


def setting_steps(machine: LocalHost) -> Iterator[Step]:
    """Return the steps that give the settings the values that they had before sparkiac."""
    for key, value in read_json(machine, ORIGINALS, {}).items():
        yield Step(f"{key} = {value}", partial(restored, machine, key, value))


def restored(machine: LocalHost, key: str, value: str) -> str:
    """Restore a setting; return why that is impossible."""
    try:
        if (settings.value_of(machine, key) or "").split() != value.split():
            settings.put(machine, key, value)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def network_steps(machine: LocalHost) -> Iterator[Step]:
    """Return the networks that sparkiac created."""
    try:
        found = machine.run("docker", "network", "ls", "--format", "{{.Name}}").output.split()
    except OSError:  # docker is not installed
        return
    for name in filter(NETWORK.fullmatch, found):
        yield Step(f"network {name}", partial(command, machine, "docker", "network", "rm", name))


def staged(machine: LocalHost) -> list[prune.Removable]:
    """Return the images, models, caches and extra files that the records name; no images if docker does not work."""
    roots = prune.roots_below(machine.root)
    found = prune.records(roots)
    if machine.path(GENERATIONS).is_dir() and command(machine, "docker", "version"):
        found = [record._replace(images={}) for record in found]
    return list(prune.removable([], found, roots))


def goes(kind: str, *, weights: bool) -> bool:
    """Return whether a kind of item is to be removed."""
    return kind not in STAYS or (kind == "model" and weights)


def tree_step(machine: LocalHost, name: str) -> Step:
    """Remove a directory with everything in it; of a link, only the link."""
    return Step(name, partial(remove_tree, machine.path(name)))


def remove_tree(path: Path) -> str:
    """Remove a directory or a link."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)
    return ""


def library_steps(machine: LocalHost) -> Iterator[Step]:
    """Return what sparkiac keeps for itself, without what stays and data of services; the generations are last."""
    names = sorted((name for name in OWN if there(machine, f"{HOME}/{name}")), key="generations".__eq__)
    stays = own_kept(machine)
    for name in names:
        if f"{HOME}/{name}" not in stays:
            yield tree_step(machine, f"{HOME}/{name}")
    if there(machine, HOME) and not data_of_services(machine) and not stays:
        yield tree_step(machine, HOME)


def command(machine: LocalHost, *argv: str) -> str:
    """Run a command; return its error."""
    try:
        done = machine.run(*argv)
    except OSError as error:
        return f"{argv[0]} cannot be run: {error.strerror}"
    return " ".join((done.errors or f"{argv[0]} exited with {done.code}").split()) if done.code else ""


def current_generation(machine: LocalHost) -> str | None:
    """Return the current generation, if its list of files exists."""
    current = state.readable(machine).current
    return current if current and machine.path(f"{GENERATIONS}/{current}/files.json").is_file() else None


def own_kept(machine: LocalHost) -> dict[str, str]:
    """Return what stays of an uninstall of sparkiac's own directory, with the reason."""
    found = {}
    path, current = machine.path(drift.SAVED), current_generation(machine)
    files = drift.files_of(machine, current) if current else []
    if (path.is_dir() and any(path.iterdir())) or any(drift.is_edited(machine, file) for file in files):
        found[drift.SAVED] = "it is for files that were edited by hand"
    if there(machine, f"{HOME}/network"):
        found[f"{HOME}/network"] = "it is the former network configuration; /etc/netplan/60-sparkiac.yaml stays too"
    return found


def read_json(machine: LocalHost, name: str, empty: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the content of a JSON file; `empty` if it is missing, damaged or of another type."""
    try:
        found = json.loads(machine.read(name))
    except (OSError, ValueError):
        return empty
    return found if isinstance(found, type(empty)) else empty


def installed(machine: LocalHost) -> list[str]:
    """Return the paths of all generations that exist on this host."""
    listed = [
        file.get("path", "")
        for path in sorted(machine.path(GENERATIONS).glob("*/files.json"))
        for file in read_json(machine, str(path.relative_to(machine.root)), [])
    ]
    listed.append(secrets.UNIT)
    ours = [path for path in dict.fromkeys(listed) if PATH.fullmatch(path) and ".." not in path.split("/")]
    return sorted(path for path in (*ours, *KERNEL_UNITS, *OF_GRUB) if there(machine, path))


def plan_files(machine: LocalHost) -> list[str]:
    """Return the plans of all generations; the last one is the current one."""
    paths = sorted(machine.path(GENERATIONS).glob("*/files/etc/sparkiac/generation.json"))
    kept = [str(path.relative_to(machine.root)) for path in paths]
    return [*kept, "/etc/sparkiac/generation.json"]


def units_of(machine: LocalHost, found: list[str]) -> list[str]:
    """Return the units that are installed: those of the plans in reverse start order, then the others."""
    ordered: dict[str, None] = {}
    for name in plan_files(machine):
        for unit in read_json(machine, name, {}).get("units", []):
            ordered.pop(unit_file(unit["name"]), None)
            ordered[unit_file(unit["name"])] = None
    present = [match[1] for path in found if (match := UNIT.fullmatch(path))]
    first = [name for name in reversed(list(ordered)) if name in present]
    return [*first, *(name for name in present if name not in first)]


def data_of_services(machine: LocalHost) -> list[str]:
    """Return the directories with data of services."""
    path = machine.path(HOME)
    found = [each.name for each in path.iterdir() if each.is_dir() and not each.is_symlink()] if path.is_dir() else []
    return sorted(name for name in found if name not in OWN)


def there(machine: LocalHost, name: str) -> bool:
    """Return whether there is a file, directory or link, also a broken one."""
    path = machine.path(name)
    return path.is_symlink() or path.exists()
