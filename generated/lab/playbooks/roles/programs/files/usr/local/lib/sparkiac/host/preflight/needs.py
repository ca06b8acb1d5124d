"""Checks of what units need: disk space, ports, secrets, registry logins, and weights in the model store."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..local import free_bytes
from ..network import rules
from .host import EXPECTATIONS, Check, CheckResult, LocalHost, compare, gib

COMMIT = 40  # hexadecimal digits of a commit
TOKENS = ("token", "stored_tokens")  # where `hf auth login` writes one
VPN = ("tailscale", "wg", "zt", "tun")  # the beginnings of the names of interfaces
HEADER = re.compile("[!-~]([ -~]*[!-~])?")  # an API key that an HTTP header carries unchanged


def check_disk(wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Check the free space on the file system of a directory, which need not exist yet."""
    free, need = free_bytes(host.path(wanted["path"])), wanted["free_bytes"]
    yield compare(free >= need, f"disk {wanted['path']}", f"{gib(free)} free", f">= {gib(need)}")


def port_holders(port: int, unit: str, host: LocalHost) -> list[str]:
    """Return the active units that use a port according to the expectations of the last apply."""
    try:  # another version of sparkiac may have written the file
        former = json.loads(host.read(EXPECTATIONS)).get("ports", [])
        units = [entry["unit"] for entry in former if entry["port"] == port]
    except (OSError, ValueError, KeyError):
        units = [unit]
    states = {name: host.run("systemctl", "show", "--property=ActiveState", "--value", name) for name in units}
    return [name for name in units if states[name].strip() in ("active", "activating", "reloading")]


def check_port(wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Check that a port is free or used by a unit of sparkiac, which releases it when it restarts."""
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
            found = "used by " + (", ".join(ours) or "another program")
    yield compare(found == "free" or bool(ours), f"port {address}:{port}", found, f"free for {wanted['unit']}")


def check_secret(wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Check that a secret exists and only root can read it, or that the playbook will write it."""
    label, mode = f"secret {wanted['name']}", wanted["mode"] + " root"
    if wanted["name"] in host.provided_secrets:
        yield CheckResult("ok", label, "provided", mode)
        return
    path = host.path(f"/etc/sparkiac/secrets/{wanted['name']}")
    status = path.lstat()
    owner = "root" if status.st_uid == host.root_uid else f"uid {status.st_uid}"
    kind = "" if stat.S_ISREG(status.st_mode) and status.st_size else " empty or not a regular file"
    wrong = kind or wrong_value(path.read_bytes(), header=wanted["header"])
    found = f"{stat.S_IMODE(status.st_mode):04o} {owner}{wrong}"
    yield compare(found == mode, label, found, mode)


def wrong_value(value: bytes, *, header: bool) -> str:
    """Return what is wrong with the value of a secret, or an empty text; no message contains the value."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return " not UTF-8 text"
    if "\0" in text:
        return " with a NUL character, which no environment variable can contain"
    if header and not HEADER.fullmatch(text):
        return " with a line end, outer spaces or other characters that no HTTP header can carry"
    return ""


def check_login(wanted: dict[str, str], host: LocalHost) -> Iterator[CheckResult]:
    """Check that root is logged in to the registry of an image that must still be pulled."""
    registry, image = wanted["registry"], wanted["image"]
    try:
        host.run("docker", "image", "inspect", image)
    except RuntimeError:
        try:
            config = json.loads(host.read("/root/.docker/config.json"))
        except (OSError, ValueError):
            config = {}
        known = config.get("credsStore") or any(registry in config.get(key, {}) for key in ("auths", "credHelpers"))
        hint = f"if the pull fails with 401: docker login {registry} --username '$oauthtoken', password: an NGC API key"
        found = f"missing, and {'a' if known else 'no'} login for {registry}"
        yield CheckResult("ok" if known else "warn", "image", found, image, "" if known else hint, "HST003")
    else:
        yield CheckResult("ok", "image", "present", image, code="HST003")


def check_store(wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Check that a store has the models: in a Hugging Face cache, with or without hub/, or as directories org/name."""
    path = wanted["path"]
    hub = f"{path}/hub" if host.path(f"{path}/hub").is_dir() else path
    for name in (each for each in TOKENS if host.path(f"{path}/{each}").is_file()):
        hint = f"move {path}/{name} away: a container that sees the whole store reads it"
        yield CheckResult("warn", f"store {path}", f"has a token of the hub: {name}", "weights only", hint)
    for entry in wanted["models"]:
        name, _, commit = entry.partition("@")
        places = [f"{path}/{name}"] if "/" in name else [f"{root}/{name}/snapshots" for root in (path, hub)]
        staged = [place for root in places for place in [host.path(root) / commit] if has_content(place)]
        model = name.replace("models--", "", 1).replace("--", "/")
        target = f"--local-dir {path}/{name}" if "/" in name else f"--cache-dir {hub}"
        hint = f"download it: hf download {model}{' --revision ' + commit if commit else ''} {target}"
        code = "HST006"
        if name in wanted["gated"] and not staged:
            hint = f"accept its licence on https://huggingface.co/{model}, set HF_TOKEN to your token, then {hint}"
            code = "HST004"
        yield compare(bool(staged), f"store {entry}", "staged" if staged else "missing", path, hint, code)
        for place in staged[:1]:
            chosen = place if commit or "/" in name else offline_snapshot(place)
            if name in wanted["not_before"]:
                yield age(model, wanted["not_before"][name], chosen)
            for group in wanted["compared"].get(name, []):
                yield revision(f"{model} for {group}", chosen)


def has_content(place: Path) -> bool:
    """Return whether a directory exists and is not empty."""
    return place.is_dir() and any(place.iterdir())


def offline_snapshot(snapshots: Path) -> Path:
    """Return the snapshot that an offline start loads: the one that refs/main names, or the only one."""
    try:
        chosen = snapshots / (snapshots.parent / "refs/main").read_text(encoding="ascii").strip()
    except OSError:
        chosen = snapshots
    else:
        if chosen.is_dir():
            return chosen
    only = list(snapshots.iterdir())
    return only[0] if len(only) == 1 else snapshots


def age(model: str, limit: str, place: Path) -> CheckResult:
    """Check when a snapshot was downloaded. The download date is an upper bound for the age of its commit."""
    newest = max(entry.lstat().st_mtime for entry in place.rglob("*"))
    fetched = time.strftime("%Y-%m-%d", time.gmtime(newest))
    hint = "a crash at long context was fixed on that day: remove this copy and download it again"
    good = fetched >= limit
    return compare(good, f"age of {model}", f"downloaded {fetched}", f"downloaded {limit} or later", hint, "SPD007")


def revision(what: str, place: Path) -> CheckResult:
    """Return the commit of a group's model; the playbook compares it between the hosts of the group."""
    # A directory that the playbooks downloaded is a link to a directory with the commit as its name.
    commit = place.resolve().name
    label, wanted = f"revision of {what}", "the same on every node"
    found = commit if len(commit) == COMMIT and set(commit) <= set("0123456789abcdef") else place.name
    if place.name == "snapshots":
        found = ", ".join(sorted(each.name for each in place.iterdir()))
    elif found == place.name and place.parent.name != "snapshots":
        try:  # hf download --local-dir records the commit of each file
            note = place / ".cache/huggingface/download/config.json.metadata"
            found = note.read_text(encoding="ascii").split()[0]
        except (OSError, IndexError):
            return CheckResult("unknown", label, "not recorded", wanted, code="MN008")
    return CheckResult("ok", label, found, wanted, code="MN008")


def check_nft(_wanted: bool, host: LocalHost) -> Iterator[CheckResult]:  # noqa: FBT001
    """Check that nftables works, also in bridges: it closes ports, and keeps servers from connecting to others."""
    for table in (rules.TABLE, rules.BRIDGES):
        chain = f"add chain {table} arriving {{ type filter hook prerouting priority -300; }}"
        host.run("nft", "--check", f"add table {table}; {chain}")
    yield CheckResult("ok", "nft", "works", "works")
    yield CheckResult("ok", "firewall", "; ".join(firewall(host)), "known: sparkiac changes none of it")


def firewall(host: LocalHost) -> Iterator[str]:
    """Return which other programs filter packets on this host, and its interfaces of VPNs."""
    with contextlib.suppress(
        RuntimeError, OSError, ValueError, KeyError, TypeError
    ):  # Docker before 29 has only iptables
        backend = json.loads(host.run("docker", "info", "--format", "{{json .FirewallBackend}}"))["Driver"]
        yield f"Docker uses {backend}"
    ufw = host.path("/etc/ufw/ufw.conf")
    if ufw.is_file() and re.search("^ENABLED=yes", ufw.read_text(encoding="utf-8"), re.MULTILINE):
        yield "ufw is active, which does not see ports that Docker publishes"
    names = sorted(each.name for each in host.path("/sys/class/net").glob("*"))
    vpn = [name for name in names if name.startswith(VPN)]
    yield f"VPN {', '.join(vpn)}" if vpn else "no VPN"


CHECKS = {
    "nft": Check(
        check_nft,
        "install nftables: without it ports stay open, and nothing ensures that a model server connects to nothing, "
        "also one on loopback; or set `nft: optional` for this host",
    ),
    "disk": Check(check_disk, "free disk space; docker system df shows the size of images"),
    "ports": Check(check_port, "check what listens (ss -ltnp) and that this host has the address (ip -br address)"),
    "secrets": Check(
        check_secret, "pass it in sparkiac_secrets (-e @vault.yml), or create the file with mode 0600 and owner root"
    ),
    "logins": Check(check_login, "check that Docker runs", "HST003"),
    "store": Check(check_store, "check that the model store is readable", "HST006"),
}
