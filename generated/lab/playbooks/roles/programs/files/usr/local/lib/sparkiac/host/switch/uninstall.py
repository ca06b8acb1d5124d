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

from ..local import LocalHost, setting
from ..network.peers import PREFIX
from ..stage import prune
from . import drain, drift
from .install import ORIGINALS
from .owned import OWN, current_generation, data, installed, plan_files, read_json, there, units
from .owned import kept as own_kept
from .store import GENERATIONS, HOME

PROGRAMS = "/usr/local/lib/sparkiac"
SUFFIXES = (".service", ".timer")
FLEET_TREES = tuple(f"{above}/sparkiac-fleet" for above in ("/var/lib", "/var/lib/private", "/run", "/run/private"))
"""State of the fleet timer. Its user has no fixed ID; for such units, systemd makes a link to a private directory."""
TREES = ("/etc/sparkiac", "/var/cache/sparkiac", "/run/sparkiac", *FLEET_TREES)
USER = "sparkiac"
NETWORK = re.compile(r"sparkiac(?:[-_].*)?")
STAYS = {
    "image": "images stay unless their removal is requested",
    "model": "weights stay unless their removal is requested",
}


class Step(NamedTuple):
    """One item to remove. `remove` returns why it stays, or an empty text."""

    name: str
    remove: Callable[[], str]


def uninstall(machine: LocalHost, *, dry_run: bool, weights: bool = False, images: bool = False) -> dict[str, Any]:
    """Remove what sparkiac created, or with `dry_run` only list it; return what was removed and what stays."""
    if not dry_run:
        save_edited(machine)
    kept = [{"path": path, "because": because} for path, because in staying(machine, weights=weights, images=images)]
    removed = []
    for step in steps(machine, weights=weights, images=images):
        because = "" if dry_run else step.remove()
        if because:
            kept.append({"path": step.name, "because": because})
        else:
            removed.append(step.name)
    return {"removed": removed, "kept": kept}


def save_edited(machine: LocalHost) -> None:
    """Save the installed files that were edited by hand."""
    current = current_generation(machine)
    if current:
        drift.save_edited(machine, current)


def steps(machine: LocalHost, *, weights: bool, images: bool) -> Iterator[Step]:
    """Return everything that is removed, in this order."""
    found = installed(machine)
    yield from (unit_step(machine, name) for name in units(machine, found))
    if drain.drained(machine):
        yield Step("nftables table inet sparkiac_drain", partial(undrain, machine))
    yield from (table_step(machine, name) for name in stores(machine))
    yield from (file_step(machine, path) for path in found if not path.startswith(("etc/sparkiac/", "usr/")))
    yield from sysctl_steps(machine)
    yield from network_steps(machine)
    yield from staged_steps(machine, weights=weights, images=images)
    yield from (tree_step(machine, path) for path in TREES if there(machine, path))
    if machine.run("id", "--name", "--groups", USER).code == 0 and not data(machine):
        yield Step(f"user {USER}", partial(command, machine, "userdel", USER))
    yield from library_steps(machine)
    if there(machine, PROGRAMS):
        yield tree_step(machine, PROGRAMS)


def staying(machine: LocalHost, *, weights: bool, images: bool) -> Iterator[tuple[str, str]]:
    """Return path and reason of what an uninstall does not remove."""
    for item in staged(machine):
        if not chosen(item.kind, weights=weights, images=images):
            yield item.name, STAYS[item.kind]
    ours = set(installed(machine))
    yield from ((f"/{path}", "sparkiac did not write it") for path in drift.drop_ins(machine) if path not in ours)
    for name in data(machine):
        yield f"{HOME}/{name}", "it contains data of a service"
    if data(machine):
        yield f"user {USER}", "data of a service may belong to it"
    yield from own_kept(machine).items()
    plans = [read_json(machine, name, {}) for name in plan_files(machine)]
    originals = read_json(machine, ORIGINALS, {})
    for key in dict.fromkeys(each["key"] for plan in plans for each in plan.get("sysctls", [])):
        if key not in originals:
            yield key, "its value before sparkiac is unknown; the present one holds until the next boot"


def unit_step(machine: LocalHost, name: str) -> Step:
    """Stop and disable a unit."""

    def remove() -> str:
        return command(machine, "systemctl", "stop", name) or command(machine, "systemctl", "disable", name)

    return Step(f"unit {name}", remove)


def undrain(machine: LocalHost) -> str:
    """Remove the rules that refuse new connections."""
    drain.undrain(machine)
    return "nft cannot remove it" if drain.drained(machine) else ""


def stores(machine: LocalHost) -> list[str]:
    """Return the tables of nftables that protect the rendezvous stores of groups."""
    try:
        listed = machine.run("nft", "--json", "list", "tables").output
    except OSError:
        return []
    tables = [entry["table"] for entry in json.loads(listed or "{}").get("nftables", []) if "table" in entry]
    return sorted(table["name"] for table in tables if table["name"].startswith(PREFIX))


def table_step(machine: LocalHost, name: str) -> Step:
    """Remove a table of nftables."""
    return Step(f"nftables table inet {name}", partial(command, machine, "nft", "delete", "table", "inet", name))


def file_step(machine: LocalHost, name: str) -> Step:
    """Remove an installed file, and a directory of drop-ins that is empty then."""
    path = machine.path(name)

    def remove() -> str:
        if path.parent.is_symlink():
            return f"/{Path(name).parent} is a symbolic link"
        path.unlink(missing_ok=True)
        if path.parent.name.startswith("sparkiac") and not any(path.parent.iterdir()):
            path.parent.rmdir()
        return command(machine, "systemctl", "daemon-reload") if path.suffix in SUFFIXES else ""

    return Step(f"/{name}", remove)


def sysctl_steps(machine: LocalHost) -> Iterator[Step]:
    """Return the steps that give the kernel settings the values that they had before sparkiac."""
    for key, value in read_json(machine, ORIGINALS, {}).items():
        yield Step(f"{key} = {value}", partial(written, setting(machine, key), value))


def written(path: Path, value: str) -> str:
    """Write a value to a file of the kernel; return why that is impossible."""
    try:
        if path.read_text(encoding="utf-8").split() != value.split():
            path.write_text(value, encoding="utf-8")
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


def staged_steps(machine: LocalHost, *, weights: bool, images: bool) -> Iterator[Step]:
    """Return the images, models, caches and extra files that the records name and that are to be removed."""
    for item in staged(machine):
        if chosen(item.kind, weights=weights, images=images):
            yield Step(f"{item.kind} {item.name}", partial(prune.remove, item))


def staged(machine: LocalHost) -> list[prune.Removable]:
    """Return the images, models, caches and extra files that the records name; no images if docker does not work."""
    roots = prune.roots_below(machine.root)
    found = prune.records(roots)
    if machine.path(GENERATIONS).is_dir() and command(machine, "docker", "version"):
        found = [record._replace(images={}) for record in found]
    return list(prune.removable([], found, roots))


def chosen(kind: str, *, weights: bool, images: bool) -> bool:
    """Return whether a kind of item is to be removed."""
    return {"image": images, "model": weights}.get(kind, True)


def tree_step(machine: LocalHost, name: str) -> Step:
    """Remove a directory with everything in it; of a link, only the link."""
    path = machine.path(name)

    def remove() -> str:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path)
        return ""

    return Step(name, remove)


def library_steps(machine: LocalHost) -> Iterator[Step]:
    """Return what sparkiac keeps for itself, without what stays and data of services; the generations are last."""
    names = sorted((name for name in OWN if there(machine, f"{HOME}/{name}")), key="generations".__eq__)
    stays = own_kept(machine)
    for name in names:
        if f"{HOME}/{name}" not in stays:
            yield tree_step(machine, f"{HOME}/{name}")
    if there(machine, HOME) and not data(machine) and not stays:
        yield tree_step(machine, HOME)


def command(machine: LocalHost, *argv: str) -> str:
    """Run a command; return its error."""
    try:
        done = machine.run(*argv)
    except OSError as error:
        return f"{argv[0]} cannot be run: {error.strerror}"
    return " ".join((done.errors or f"{argv[0]} exited with {done.code}").split()) if done.code else ""
