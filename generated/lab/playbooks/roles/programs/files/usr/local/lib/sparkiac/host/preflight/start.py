"""Prepare the start of one unit: free memory, and check that everything it needs exists."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from .. import local, software
from ..network import doors
from ..network.nft import DoorsError
from . import fabric, needs
from .host import Check, CheckResult, LocalHost, compare, gib, parse_meminfo, run_check

NO_NFT = "install nftables; without it, every host that reaches this one can connect"
MANIFESTS = "/etc/sparkiac"
MEMORY_WAIT_S = 60  # the driver releases the memory of a stopped container only after some seconds


def check_start(wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Free memory for a unit that is about to start, and check that everything it needs exists."""
    if wanted["gpu"]:
        yield one_set(host)
    # A container that a killed supervisor left running still uses the memory that the unit needs.
    project = f"label=com.docker.compose.project=sparkiac-{wanted['name']}"
    if leftovers := host.run("docker", "ps", "-aq", "--filter", project).split():
        host.run("docker", "rm", "--force", *leftovers)
    yield drop_caches(host)
    yield memory(wanted["memory_bytes"] or 0, host)
    if wanted["cache"]:  # /var/cache may be deleted at any time
        host.path(wanted["cache"]).mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in wanted["secrets"]:
        expected = {"name": name, "mode": "0600", "header": False}  # preflight has checked the keys of headers
        yield from run_check("secrets", needs.CHECKS["secrets"], expected, host)
    for path in wanted["files"]:
        there = host.path(path).is_file()
        yield compare(there, "extra file", "present" if there else "missing", path, code="HST014")
    for model in wanted["weights"]:
        yield weights(model, host)
    if wanted["fabric"]:
        yield from fabric.check_fabric(wanted["name"], wanted["fabric"], host)
    if wanted["group_ports"]:
        yield restrict(wanted["name"], {**wanted["group_ports"], "nft": wanted["nft"]}, host)
    yield image(wanted["image"], host)


def one_set(host: LocalHost) -> CheckResult:
    """Check that driver, libraries and Docker belong together: not while they change, and not before a reboot."""
    held = software.hold(host)
    hint = "reboot; if it stays, see journalctl --unit=sparkiac-packages --unit=sparkiac-kernel"
    return compare(not held, "packages of one set", held or "yes", "yes", hint, "DRV005")


def drop_caches(host: LocalHost) -> CheckResult:
    """Drop the page cache: with unified memory it reduces the memory for CUDA."""
    os.sync()
    try:
        host.path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
    except OSError as error:
        hint = "the start step must run as root"
        return CheckResult("FAIL", "page cache", str(error.strerror), "dropped", hint, "MEM002")
    return CheckResult("ok", "page cache", "dropped", "dropped", code="MEM002")


def memory(need: int, host: LocalHost) -> CheckResult:
    """Wait until enough memory is available. If it stays short while no container runs, the host needs a reboot."""
    deadline = time.monotonic() + MEMORY_WAIT_S
    while (found := parse_meminfo(host.read("/proc/meminfo"))["MemAvailable"]) < need:
        if time.monotonic() >= deadline:
            break
        time.sleep(1)
    hint = ""
    if found < need and not host.run("docker", "ps", "-q").split():
        hint = "no container runs: if no other program uses it, the driver has not released it, so reboot the host"
    return compare(found >= need, "available memory", gib(found), f">= {gib(need)}", hint, "MEM017")


def weights(model: dict[str, Any], host: LocalHost) -> CheckResult:
    """Compare the sizes of a model's files with its manifest, which is the same on all hosts of a group.

    A generation that was staged since then may have brought the manifest of another commit.
    """
    label, want = f"weights {model['path']}", "the sizes in the lock"
    manifest = json.loads(host.read(f"{MANIFESTS}/{model['manifest']}"))
    if manifest["commit"] != model["commit"]:
        return CheckResult("unknown", label, f"the manifest of commit {manifest['commit']}", want, code="MN008")
    files = manifest["files"]
    wrong = []
    for name, file in sorted(files.items()):
        place = host.path(f"{model['path']}/{name}")
        size = place.stat().st_size if place.is_file() else None
        if size != file["size_bytes"]:
            found = "missing" if size is None else f"{size} bytes"
            wrong.append(f"{name} {found}, not {file['size_bytes']} bytes")
    found = f"{len(wrong)} of {len(files)} files differ: {wrong[0]}" if wrong else "complete"
    return compare(not wrong, label, found, want, "apply again: it downloads what differs", "MN008")


def image(name: str, host: LocalHost) -> CheckResult:
    """Check that Docker has the image; a data-root that was emptied or moved has none."""
    try:
        host.run("docker", "image", "inspect", name)
    except RuntimeError as error:
        missing = "no such image" in str(error).lower()
        hint = "apply again: it brings the image" if missing else ""
        return CheckResult("FAIL", "image", "missing" if missing else str(error), name, hint)
    return CheckResult("ok", "image", "present", name)


def restrict(unit: str, wanted: dict[str, Any], host: LocalHost) -> CheckResult:
    """Let only the other nodes of a group connect to the ports that a node opens without a password."""
    port, peers = f"port {', '.join(wanted['ports'])}", ", ".join(wanted["peers"])
    try:
        doors.admit(local.LocalHost(host.root), unit, wanted["ports"], wanted["peers"])
    except DoorsError as error:
        state = "FAIL" if wanted["nft"] else "warn"
        return CheckResult(state, port, f"open: {error}", f"open for {peers} only", NO_NFT)
    return CheckResult("ok", port, f"open for {peers} only", f"open for {peers} only")


CHECKS = {"start": Check(check_start, "apply again; if memory is short, check what else uses it, or reboot the host")}
