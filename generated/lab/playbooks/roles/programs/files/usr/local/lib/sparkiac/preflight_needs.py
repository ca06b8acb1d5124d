"""Checks of what units need beside the machine: room, ports, secrets, images, and the weights in the store."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import time
from typing import TYPE_CHECKING, Any, Iterator  # noqa: UP035 - Python 3.8

from preflight_host import EXPECTATIONS, Check, Host, Line, gib, judge

if TYPE_CHECKING:
    from pathlib import Path


COMMIT = 40  # hexadecimal digits of a commit


def check_disk(wanted: dict[str, Any], host: Host) -> Iterator[Line]:
    """Compare the free space where a directory is or will be."""
    place = host.path(wanted["path"])
    status = os.statvfs(str(next(p for p in (place, *place.parents) if p.exists())))
    free, need = status.f_bavail * status.f_frsize, wanted["free_bytes"]
    yield judge(free >= need, f"disk {wanted['path']}", f"{gib(free)} free", f">= {gib(need)}")


def port_holders(port: int, unit: str, host: Host) -> list[str]:
    """Return our active units that may hold a port: those which the last deployment gave it to."""
    try:  # its file may be one of another version
        former = json.loads(host.read(EXPECTATIONS)).get("ports", [])
        units = [entry["unit"] for entry in former if entry["port"] == port]
    except (OSError, ValueError, KeyError):
        units = [unit]
    states = {name: host.run("systemctl", "show", "--property=ActiveState", "--value", name) for name in units}
    return [name for name in units if states[name].strip() in ("active", "activating", "reloading")]


def check_port(wanted: dict[str, Any], host: Host) -> Iterator[Line]:
    """See that a port is free, or held by a unit of ours, which gives it up when it restarts."""
    port, address = wanted["port"], wanted["address"]
    found, ours = "free", []
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections do not count
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            ours = port_holders(port, wanted["unit"], host)
            found = "held by " + (", ".join(ours) or "somebody else")
    yield judge(found == "free" or bool(ours), f"port {address}:{port}", found, f"free for {wanted['unit']}")


def check_secret(wanted: dict[str, str], host: Host) -> Iterator[Line]:
    """See that a secret is there for root alone, or is about to be written."""
    label, mode = f"secret {wanted['name']}", wanted["mode"] + " root"
    if wanted["name"] in host.provided_secrets:
        yield Line("ok", label, "provided", mode)
        return
    status = host.path(f"/etc/sparkiac/secrets/{wanted['name']}").lstat()
    owner = "root" if status.st_uid == host.root_uid else f"uid {status.st_uid}"
    kind = "" if stat.S_ISREG(status.st_mode) and status.st_size else " empty, or no regular file"
    found = f"{stat.S_IMODE(status.st_mode):04o} {owner}{kind}"
    yield judge(found == mode, label, found, mode)


def check_login(wanted: dict[str, str], host: Host) -> Iterator[Line]:
    """See that root is logged in at the registry of an image that is still to be pulled."""
    registry, image = wanted["registry"], wanted["image"]
    try:
        host.run("docker", "image", "inspect", image)
    except RuntimeError:
        try:
            config = json.loads(host.read("/root/.docker/config.json"))
        except (OSError, ValueError):
            config = {}
        known = config.get("credsStore") or any(registry in config.get(key, {}) for key in ("auths", "credHelpers"))
        hint = f"if the pull answers 401: docker login {registry} --username '$oauthtoken', password: an NGC API key"
        found = f"missing, and {'a' if known else 'no'} login for {registry}"
        yield Line("ok" if known else "warn", "image", found, image, "" if known else hint, "HST003")
    else:
        yield Line("ok", "image", "present", image, code="HST003")


def check_store(wanted: dict[str, Any], host: Host) -> Iterator[Line]:
    """Look for models in a Hugging Face cache directory or its hub/ (models--…, …@commit), or beside it (org/name)."""
    path = wanted["path"]
    hub = f"{path}/hub" if host.path(f"{path}/hub").is_dir() else path
    for entry in wanted["models"]:
        name, _, commit = entry.partition("@")
        places = [f"{path}/{name}"] if "/" in name else [f"{root}/{name}/snapshots" for root in (path, hub)]
        staged = [place for root in places for place in [host.path(root) / commit] if filled(place)]
        model = name.replace("models--", "", 1).replace("--", "/")
        target = f"--local-dir {path}/{name}" if "/" in name else f"--cache-dir {hub}"
        hint = f"stage it: hf download {model}{' --revision ' + commit if commit else ''} {target}"
        code = "HST006"
        if name in wanted["gated"] and not staged:
            hint = f"accept its licence on https://huggingface.co/{model}, set HF_TOKEN to your token, then {hint}"
            code = "HST004"
        yield judge(bool(staged), f"store {entry}", "staged" if staged else "missing", path, hint, code)
        for place in staged[:1]:
            chosen = place if commit or "/" in name else served(place)
            if name in wanted["not_before"]:
                yield age(model, wanted["not_before"][name], chosen)
            for group in wanted["compared"].get(name, []):
                yield revision(f"{model} for {group}", chosen)


def filled(place: Path) -> bool:
    """Tell whether a directory holds anything."""
    return place.is_dir() and any(place.iterdir())


def served(snapshots: Path) -> Path:
    """Give the snapshot that an offline start takes: the one that main was when it was fetched, or the only one."""
    try:
        chosen = snapshots / (snapshots.parent / "refs/main").read_text(encoding="ascii").strip()
    except OSError:
        chosen = snapshots
    else:
        if chosen.is_dir():
            return chosen
    only = list(snapshots.iterdir())
    return only[0] if len(only) == 1 else snapshots


def age(model: str, limit: str, place: Path) -> Line:
    """Tell when a snapshot was fetched. Its commit can be older than that, and never younger."""
    newest = max(entry.lstat().st_mtime for entry in place.rglob("*"))
    fetched = time.strftime("%Y-%m-%d", time.gmtime(newest))
    hint = "a crash at long context was mended on that day: remove this copy and stage it anew"
    return judge(fetched >= limit, f"age of {model}", f"fetched {fetched}", f"fetched {limit} or later", hint, "SPD007")


def revision(what: str, place: Path) -> Line:
    """Name the commit of a group's model, which the playbook compares between the nodes."""
    # A directory that the playbooks staged is a link to one that is named after its commit.
    commit = place.resolve().name
    label, wanted = f"revision of {what}", "the same on every node"
    found = commit if len(commit) == COMMIT and set(commit) <= set("0123456789abcdef") else place.name
    if place.name == "snapshots":
        found = ", ".join(sorted(each.name for each in place.iterdir()))
    elif found == place.name and place.parent.name != "snapshots":
        try:  # hf download --local-dir notes the commit of each file
            note = place / ".cache/huggingface/download/config.json.metadata"
            found = note.read_text(encoding="ascii").split()[0]
        except (OSError, IndexError):
            return Line("unknown", label, "not recorded", wanted, code="MN008")
    return Line("ok", label, found, wanted, code="MN008")


EXPECTED = {
    "disk": [{"path": str, "free_bytes": int}],
    "ports": [{"address": str, "port": int, "unit": str}],
    "secrets": [{"name": str, "mode": str}],
    "logins": [{"registry": str, "image": str}],
    "store": [{"path": str, "models": [str], "gated": [str], "not_before": {str: str}, "compared": {str: [str]}}],
}
CHECKS = {
    "disk": Check(check_disk, "make room; docker system df shows what images take"),
    "ports": Check(check_port, "see who listens (ss -ltnp) and that the address is this host's (ip -br address)"),
    "secrets": Check(check_secret, "pass it in sparkiac_secrets (-e @vault.yml), or write it there: 0600, root"),
    "logins": Check(check_login, "see that Docker runs", "HST003"),
    "store": Check(check_store, "see that the model store can be read", "HST006"),
}
