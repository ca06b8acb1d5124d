"""Checks of the machine itself: hardware, driver, versions, memory, and who may ask Docker."""

from __future__ import annotations

import re
import stat
from typing import Any, Iterator  # noqa: UP035 - Python 3.8

from preflight_host import CODES, Check, Host, Line, gib, judge, parse_gpus, parse_meminfo, parse_version

MEMORY_TOLERANCE = 0.03  # firmware and carve-outs differ a little between machines of one kind
VERSION_COMMANDS = {
    "docker": ("docker", "version", "--format", "{{.Server.Version}}"),
    "compose": ("docker", "compose", "version", "--short"),
    "container_toolkit": ("nvidia-ctk", "--version"),
    "systemd": ("systemctl", "--version"),
}
CONTESTED = "contested: the same thread calls a reboot the cure, and needs no tuning"
READ_AND_WRITE = stat.S_IRGRP | stat.S_IWGRP


def check_architecture(wanted: str, host: Host) -> Iterator[Line]:
    """Compare the kernel's architecture."""
    yield judge(host.machine == wanted, "architecture", host.machine, wanted, code="HST009")


def check_gpus(wanted: dict[str, Any], host: Host) -> Iterator[Line]:
    """Compare each GPU and the running driver. After an upgrade without a reboot nvidia-smi's text is the error."""
    query = host.run("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
    gpu = wanted["gpu"]
    for name, capability, driver in parse_gpus(query):
        if gpu:
            want = gpu["compute_capability"]
            yield judge(name == gpu["name"], "gpu", name, gpu["name"], code="HST009")
            yield judge(capability == want, "compute capability", capability, want, code="HST009")
        if wanted["driver"]:  # 580.142, or a series: 580
            yield judge(in_series(driver, wanted["driver"]), "driver", driver, wanted["driver"], code="DRV001")
        for doubt in wanted["doubted_drivers"]:
            if in_series(driver, doubt["series"]):
                yield Line("warn", "driver", driver, f"not {doubt['series']}", doubt["why"], "DRV001")
        for image in wanted["image_drivers"]:
            yield image_driver(driver, image)


def in_series(driver: str, series: str) -> bool:
    """Tell whether a driver is of a series: 580.142 of 580."""
    return f"{driver}.".startswith(f"{series}.")


def image_driver(driver: str, image: dict[str, str]) -> Line:
    """Compare the driver with what an image was built for."""
    label, least, older = f"driver for {image['unit']}", image["min_driver"], image["forward_compat"]
    if parse_version(driver) >= parse_version(least):
        return Line("ok", label, driver, f">= {least}", code="DRV003")
    if older and in_series(driver, older):
        hint = "its log must say CUDA Forward Compatibility mode ENABLED; UNAVAILABLE in each of many starts: it failed"
        return Line("warn", label, f"{driver}, by forward compatibility", f">= {least}", hint, "DRV002")
    also = f", or {older} by forward compatibility" if older else ""
    hint = "take another image, or a driver that both the image and the platform name"
    return Line("FAIL", label, driver, f">= {least}{also}", hint, "DRV003")


def check_kernel_parameter(wanted: tuple[str, str], host: Host) -> Iterator[Line]:
    """Compare a parameter of a loaded module. Sources disagree on what a value does, so another one only warns."""
    name = wanted[0].replace("-", "_")
    module, _, parameter = name.partition(".")
    code = CODES.get(name, "")
    try:
        found = host.read(f"/sys/module/{module}/parameters/{parameter}").strip()
    except OSError as error:
        yield Line("unknown", wanted[0], f"not known ({error.strerror})", wanted[1], code=code)
    else:
        hint = "" if found == wanted[1] else "set it in /etc/modprobe.d, run update-initramfs -u, reboot"
        yield Line("warn" if hint else "ok", wanted[0], found, wanted[1], hint, code)


def check_version(wanted: tuple[str, str], host: Host) -> Iterator[Line]:
    """Compare the version of a program with the lowest that will do."""
    found = parse_version(host.run(*VERSION_COMMANDS[wanted[0]]))
    lowest = parse_version(re.sub(r"(\.0)+$", "", wanted[1]))  # 28.0 is reached by 28
    yield judge(found >= lowest, wanted[0], ".".join(map(str, found)), f">= {wanted[1]}", code=CODES.get(wanted[0], ""))


def check_docker_access(wanted: dict[str, str], host: Host) -> Iterator[Line]:
    """See that the units' group may ask Docker, and that their user is in it."""
    user, group = wanted["user"], wanted["group"]
    gid = int(host.run("getent", "group", group).split(":")[2])
    status = host.path("/run/docker.sock").stat()
    good = status.st_gid == gid and status.st_mode & READ_AND_WRITE == READ_AND_WRITE
    found = f"{stat.S_IMODE(status.st_mode):04o} gid {status.st_gid}"
    yield judge(good, "docker socket", found, f"open to {group}, gid {gid}", code="HST001")
    try:
        groups = host.run("id", "-Gn", user).split()
    except RuntimeError:
        yield Line("ok", f"user {user}", "not there yet", f"in group {group}", code="HST001")
        return
    hint = "" if group in groups else f"the playbooks add it; by hand: usermod -aG {group} {user}"
    yield Line("warn" if hint else "ok", f"user {user}", "in " + ", ".join(groups), f"in {group}", hint, "HST001")


def check_memory(wanted: int, host: Host) -> Iterator[Line]:
    """Compare the memory of the machine with the declared one."""
    found = parse_meminfo(host.read("/proc/meminfo"))["MemTotal"]
    good = abs(found - wanted) <= wanted * MEMORY_TOLERANCE
    yield judge(good, "memory", gib(found), f"{gib(wanted)} ±3 %", code="HST009")


def check_idle_memory(wanted: int, host: Host) -> Iterator[Line]:
    """While no container runs, most memory must be available: what is not may be stuck in the driver."""
    if host.run("docker", "ps", "-q").split():
        return
    found = parse_meminfo(host.read("/proc/meminfo"))["MemAvailable"]
    hint = "" if found >= wanted else "see what else runs (top, nvidia-smi); if nothing does, reboot the host"
    want = f">= {gib(wanted)} while no container runs"
    yield Line("warn" if hint else "ok", "idle memory", gib(found), want, hint, "MEM017")


def check_load_tuning(wanted: dict[str, str], host: Host) -> Iterator[Line]:
    """Show the settings that one source tunes for large loads. Only a host that sets one of them is asked."""
    for key, value in wanted.items():
        found = host.read(f"/proc/sys/{key.replace('.', '/')}").strip()
        yield Line("info", key, found, value, CONTESTED, CODES.get(key, "MEM015"))
    for file in sorted(host.path("/sys/block").glob("nvme*/queue/read_ahead_kb")):
        found, name = file.read_text(encoding="ascii").strip(), file.parts[-3]
        hint = "lowered for a load, it must be raised again after it: blockdev --setra 256"
        yield Line("info", f"readahead {name}", f"{found} KiB", "128 KiB once all is loaded", hint, "MEM014")
    for file in sorted(host.path("/proc").glob("[0-9]*/cmdline")):
        if b"drop_caches" in file.read_bytes():
            hint = "a loop that drops the page cache must end with the load: later it only slows all reads"
            yield Line("info", "loop that drops caches", f"process {file.parts[-2]}", "none", hint, "MEM013")


EXPECTED = {
    "architecture": str,
    "gpu": ({"name": str, "compute_capability": str}, None),
    "driver": (str, None),
    "doubted_drivers": [{"series": str, "why": str}],
    "image_drivers": [{"unit": str, "min_driver": str, "forward_compat": (str, None)}],
    "kernel_parameters": {str: str},
    "versions": dict.fromkeys(VERSION_COMMANDS, (str, None)),
    "docker_access": ({"user": str, "group": str}, None),
    "memory_bytes": (int, None),
    "idle_memory_bytes": (int, None),
    "load_tuning": {str: str},
}
CHECKS = {
    "architecture": Check(check_architecture, "the images are built for another machine: is this the right host?"),
    "nvidia-smi": Check(
        check_gpus, "install and hold the driver that the inventory names, reboot; or name this one there", "HST002"
    ),
    "kernel_parameters": Check(check_kernel_parameter),
    "versions": Check(check_version, "install or upgrade it, and see that it runs"),
    "docker_access": Check(
        check_docker_access, "install Docker with its group; the socket must be root:docker, mode 0660", "HST001"
    ),
    "memory_bytes": Check(check_memory, "declare the host's true memory in the inventory", "HST009"),
    "idle_memory_bytes": Check(check_idle_memory, "see that Docker runs", "MEM017"),
    "load_tuning": Check(check_load_tuning, "take away a setting that this kernel does not have"),
}
