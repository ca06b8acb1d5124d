"""What a switch between two generations does besides starting units: what goes, what changes, and what stays.

The switch does what these functions return, the look announces it, and `sparkiac diff` computes it from two trees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from ..local import FILES
from ..settings import owner

RECOVER = "etc/systemd/system/sparkiac-recover.service"
"""Finishes an interrupted switch when the host boots. Stays installed even if a generation does not have it."""
PROGRAMS = "usr/local/lib/sparkiac/"
TIMER = ".timer"
LISTS = {"clients": ("everybody", "this host only"), "egress": ("everything", "nothing")}
"""Key of the plan → what it means for a unit that is not there, and for an empty list."""
NEW = "new on this host"
UNREAD = "nothing reads it any more; a generation that read it needs it again after a rollback"
PRUNED = "until sparkiac prune removes it"


class Effect(NamedTuple):
    """Something that a switch does to a host, and why or with what."""

    action: str
    subject: str
    because: str

    def line(self) -> str:
        """Return one line; that of a unit has the same form."""
        return f"{self.action} {self.subject}: {self.because}"


class Secrets(NamedTuple):
    """Names of secrets with which something happens."""

    given: Collection[str]
    """Those that the host does not have, or has with another value."""
    plain: Collection[str] = ()
    """Those that are not encrypted on its disk."""
    unread: Collection[str] = ()
    """Those that nothing on the host reads any more."""


class Change(NamedTuple):
    """The difference between a host with its former generation and a new one."""

    former: dict[str, Any]
    """Plan of the former generation."""
    former_files: Collection[str]
    plan: dict[str, Any]
    files: Collection[str]
    changed: Collection[str]
    """Files that the host does not have, or has with other content."""
    sysctls: Collection[str]
    """Settings with another value on the host."""
    secrets: Secrets
    restarting: Collection[str]
    """Units that start or restart."""
    exists: Callable[[str], bool]
    """Whether the host has a directory."""


def leaving(plan: dict[str, Any], former: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the units that only the former plan has, clients before their servers. They are stopped and removed."""
    names = {unit["name"] for unit in plan["units"]}
    return [unit for unit in reversed(former["units"]) if unit["name"] not in names]


def going(files: Iterable[str], former: Iterable[str]) -> list[str]:
    """Return the files that only the former generation has. They are deleted."""
    return sorted({*former} - {*files} - {RECOVER})


def released(plan: dict[str, Any], former: dict[str, Any]) -> set[str]:
    """Return the settings that only the former plan has. They get the value from before sparkiac."""
    return {each["key"] for each in former["sysctls"]} - {each["key"] for each in plan["sysctls"]}


def of(change: Change) -> Iterator[Effect]:
    """Return everything that the switch does, except what happens to units."""
    yield from ports(change.plan, change.former)
    wanted = {each["key"]: each["value"] for each in change.plan["sysctls"]}
    yield from (Effect("set", key, f"{owner(key)} setting, to {wanted[key]}") for key in change.sysctls)
    released_keys = sorted(released(change.plan, change.former))
    yield from (Effect("reset", key, f"{owner(key)} setting, to the value before sparkiac") for key in released_keys)
    yield from (Effect("write", f"secret {name}", "new or changed") for name in change.secrets.given)
    plain = [name for name in change.secrets.plain if name not in change.secrets.given]
    yield from (Effect("encrypt", f"secret {name}", "with the key of this host") for name in plain)
    yield from (Effect("delete", f"secret {name}", UNREAD) for name in change.secrets.unread)
    yield from files(change)
    yield from staying(change)


def ports(plan: dict[str, Any], former: dict[str, Any]) -> Iterator[Effect]:
    """Return the ports that open, close, or move to another unit, and the units whose clients change."""
    before, after = listening(former), listening(plan)
    for listen in sorted({*before, *after}):
        was, now = before.get(listen), after.get(listen)
        if now is None:
            yield Effect("close", listen, f"port of {was}")
        elif was is None:
            yield Effect("open", listen, f"port of {now}")
        elif was != now:
            yield Effect("move", listen, f"port of {was}, to {now}")
    yield from lists(plan, former)


def lists(plan: dict[str, Any], former: dict[str, Any]) -> Iterator[Effect]:
    """Return the units with other clients than before, or that may connect to something else."""
    known = {unit["name"] for unit in former["units"]}
    for key, (everything, nothing) in LISTS.items():
        before, after = former.get(key, {}), plan.get(key, {})
        for unit in (each["name"] for each in plan["units"] if each["name"] in known):
            if after.get(unit) != before.get(unit):
                listed = after.get(unit)
                parts = [*listed["networks"], *listed["units"]] if isinstance(listed, dict) else listed or []
                found = everything if listed is None else ", ".join(parts) or nothing
                yield Effect("reload", f"{key} of {unit}", f"{found}; no restart")


def listening(plan: dict[str, Any]) -> dict[str, str]:
    """Return address:port → its unit, or its units of different turns."""
    found: dict[str, list[str]] = {}
    for unit in plan["units"]:
        if unit["listen"] is not None:
            found.setdefault(unit["listen"], []).append(unit["name"])
    return {listen: " and ".join(names) for listen, names in found.items()}


def files(change: Change) -> Iterator[Effect]:
    """Return the files that change without a restart, by what reads them, and those that are deleted."""
    known = {unit["name"] for unit in change.former["units"]}
    read: set[str] = set()
    for unit in change.plan["units"]:
        name = unit["name"]
        found = sorted({*unit["files"]} & {*change.changed})
        if name in change.restarting:
            read.update(found)
        elif name.endswith(TIMER) and name in known and found:
            read.update(found)
            yield Effect("reload", name, f"changed: {named(found)}")
    for action, paths in (
        ("write", sorted({*change.changed} - read)),
        ("delete", going(change.files, change.former_files)),
    ):
        if paths:
            yield Effect(action, f"{len(paths)} file{'s' if len(paths) > 1 else ''}", named(paths))


def named(paths: Iterable[str]) -> str:
    """Return the paths as a list; the programs of sparkiac are one item."""
    return ", ".join(dict.fromkeys("its programs" if path.startswith(PROGRAMS) else f"/{path}" for path in paths))


def staying(change: Change) -> Iterator[Effect]:
    """Return the data of removed units that stays on the host; nothing if none is removed."""
    left = [unit["name"] for unit in leaving(change.plan, change.former)]
    names = [name.rpartition("sparkiac-")[2] for name in left if not name.endswith(TIMER)]
    if not names:
        return
    for path in (f"/var/lib/sparkiac/{name}" for name in names):
        if change.exists(path):
            yield Effect("keep", path, "data, which no playbook removes")
    kept = set(needed(change.plan["needs"]))
    yield from (Effect("keep", each, PRUNED) for each in needed(change.former["needs"]) if each not in kept)


def needed(needs: dict[str, Any]) -> Iterator[str]:
    """Return the images, models and directories that pruning keeps for a generation."""
    yield from (f"image {name}" for name in needs["images"])
    for store in needs["stores"]:
        yield from (f"model {each['model']}@{each['commit']} in {store['path']}" for each in store["models"])
    yield from needs["caches"]
    yield from (f"{FILES}/{path}" for path in needs["extra_files"])
