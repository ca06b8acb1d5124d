"""Checks of the machine: hardware, driver, software versions, memory, and access to Docker."""

from __future__ import annotations

import json
import re
import socket
import stat
from collections.abc import Iterator
from typing import Any

from .. import conditions, software
from ..conditions import HostFact
from .host import CODES, Check, CheckResult, LocalHost, compare, gib, gpus, parse_meminfo, parse_version

MEMORY_TOLERANCE = 0.03  # machines of one kind differ slightly in firmware and reserved memory
VERSION_COMMANDS = {
    "docker": ("docker", "version", "--format", "{{.Server.Version}}"),
    "compose": ("docker", "compose", "version", "--short"),
    "container_toolkit": ("nvidia-ctk", "--version"),
    "systemd": ("systemctl", "--version"),
}
CONTESTED = "disputed: the same thread says that a reboot helps and that no tuning is needed"
RELEASE = "/proc/sys/kernel/osrelease"
STATES = {"error": "FAIL", "warning": "warn", "info": "info"}
"""Severity of a fact → state of the check."""
READ_AND_WRITE = stat.S_IRGRP | stat.S_IWGRP


def check_architecture(wanted: str, host: LocalHost) -> Iterator[CheckResult]:
    """Check the CPU architecture."""
    yield compare(host.machine == wanted, "architecture", host.machine, wanted, code="HST009")


def check_gpus(wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Check each GPU and the running driver. After a driver upgrade without reboot, nvidia-smi fails with a message."""
    gpu = wanted["gpu"]
    for name, capability, driver in gpus(host):
        if gpu:
            want = gpu["compute_capability"]
            yield compare(name == gpu["name"], "gpu", name, gpu["name"], code="HST009")
            yield compare(capability == want, "compute capability", capability, want, code="HST009")
        if wanted["driver"]:  # 580.142, or a series: 580
            yield compare(in_series(driver, wanted["driver"]), "driver", driver, wanted["driver"], code="DRV001")
        for doubt in wanted["doubted_drivers"]:
            if in_series(driver, doubt["series"]):
                yield CheckResult("warn", "driver", driver, f"not {doubt['series']}", doubt["why"], "DRV001")
        for image in wanted["image_drivers"]:
            yield image_driver(driver, image)


def in_series(driver: str, series: str) -> bool:
    """Return whether a driver version belongs to a series, such as 580.142 to 580."""
    return f"{driver}.".startswith(f"{series}.")


def image_driver(driver: str, image: dict[str, str]) -> CheckResult:
    """Check the driver against the oldest one that an image supports."""
    label, least, older = f"driver for {image['unit']}", image["min_driver"], image["forward_compat"]
    if parse_version(driver) >= parse_version(least):
        return CheckResult("ok", label, driver, f">= {least}", code="DRV003")
    if older and in_series(driver, older):
        hint = "its log must contain CUDA Forward Compatibility mode ENABLED; with UNAVAILABLE it does not work"
        return CheckResult("warn", label, f"{driver}, with forward compatibility", f">= {least}", hint, "DRV002")
    also = f", or {older} with forward compatibility" if older else ""
    hint = "use another image, or a driver that both the image and the platform support"
    return CheckResult("FAIL", label, driver, f">= {least}{also}", hint, "DRV003")


def check_kernel_parameter(wanted: tuple[str, str], host: LocalHost) -> Iterator[CheckResult]:
    """Check a parameter of a loaded kernel module. Sources disagree on its effect, so a difference is a warning."""
    name = wanted[0].replace("-", "_")
    module, _, parameter = name.partition(".")
    code = CODES.get(name, "")
    try:
        found = host.read(f"/sys/module/{module}/parameters/{parameter}").strip()
    except OSError as error:
        yield CheckResult("unknown", wanted[0], f"unknown ({error.strerror})", wanted[1], code=code)
    else:
        hint = "" if found == wanted[1] else "set it in /etc/modprobe.d, run update-initramfs -u and reboot"
        yield CheckResult("warn" if hint else "ok", wanted[0], found, wanted[1], hint, code)


def check_version(wanted: tuple[str, str], host: LocalHost) -> Iterator[CheckResult]:
    """Check that the version of a program is high enough."""
    found = parse_version(host.run(*VERSION_COMMANDS[wanted[0]]))
    lowest = parse_version(re.sub(r"(\.0)+$", "", wanted[1]))  # 28.0 is reached by 28
    version, code = ".".join(map(str, found)), CODES.get(wanted[0], "")
    yield compare(found >= lowest, wanted[0], version, f">= {wanted[1]}", code=code)


def check_docker_access(wanted: dict[str, str], host: LocalHost) -> Iterator[CheckResult]:
    """Check that the group of the units can access Docker and that their user is in this group."""
    user, group = wanted["user"], wanted["group"]
    gid = int(host.run("getent", "group", group).split(":")[2])
    status = host.path("/run/docker.sock").stat()
    accessible = status.st_gid == gid and status.st_mode & READ_AND_WRITE == READ_AND_WRITE
    found = f"{stat.S_IMODE(status.st_mode):04o} gid {status.st_gid}"
    yield compare(accessible, "docker socket", found, f"accessible for {group}, gid {gid}", code="HST001")
    try:
        groups = host.run("id", "-Gn", user).split()
    except RuntimeError:
        yield CheckResult("ok", f"user {user}", "does not exist yet", f"in group {group}", code="HST001")
        return
    hint = "" if group in groups else f"the playbooks add it; to do it now: usermod -aG {group} {user}"
    state, found = "warn" if hint else "ok", "in " + ", ".join(groups)
    yield CheckResult(state, f"user {user}", found, f"in {group}", hint, "HST001")


def check_memory(wanted: int, host: LocalHost) -> Iterator[CheckResult]:
    """Check the memory of the machine against the inventory."""
    found = parse_meminfo(host.read("/proc/meminfo"))["MemTotal"]
    good = abs(found - wanted) <= wanted * MEMORY_TOLERANCE
    yield compare(good, "memory", gib(found), f"{gib(wanted)} ±3 %", code="HST009")


def check_idle_memory(wanted: int, host: LocalHost) -> Iterator[CheckResult]:
    """Check that most memory is available while no container runs; otherwise the driver may not have released it."""
    if host.run("docker", "ps", "-q").split():
        return
    found = parse_meminfo(host.read("/proc/meminfo"))["MemAvailable"]
    hint = "" if found >= wanted else "check what else uses memory (top, nvidia-smi); if nothing does, reboot the host"
    want = f">= {gib(wanted)} while no container runs"
    yield CheckResult("warn" if hint else "ok", "idle memory", gib(found), want, hint, "MEM017")


def check_load_tuning(wanted: dict[str, str], host: LocalHost) -> Iterator[CheckResult]:
    """Report settings that one source recommends for loading large models, if the inventory sets one of them."""
    for key, value in wanted.items():
        found = host.read(f"/proc/sys/{key.replace('.', '/')}").strip()
        yield CheckResult("info", key, found, value, CONTESTED, CODES.get(key, "MEM015"))
    for file in sorted(host.path("/sys/block").glob("nvme*/queue/read_ahead_kb")):
        found, name = file.read_text(encoding="ascii").strip(), file.parts[-3]
        hint = "if it was lowered to load a model, raise it afterwards: blockdev --setra 256"
        yield CheckResult("info", f"readahead {name}", f"{found} KiB", "128 KiB after loading", hint, "MEM014")
    for file in sorted(host.path("/proc").glob("[0-9]*/cmdline")):
        if b"drop_caches" in file.read_bytes():
            hint = "stop a loop that drops the page cache after loading; it slows down all reads"
            yield CheckResult("info", "loop that drops caches", f"process {file.parts[-2]}", "none", hint, "MEM013")


def unpinnable(machine: Any) -> str | None:  # noqa: ANN401 - `LocalHost` of preflight or of status
    """Return how much memory cannot be pinned, with the kernel and its option kho; None without a sign of it.

    It is what the kernel reserved for kexec handover (KHO).

    CmaFree counts the free pages of all CMA blocks, CmaTotal the size of all CMA areas. Every block belongs to an area,
    except the blocks that KHO reserved, so a CmaFree above CmaTotal shows them. Used pages of such blocks are not
    counted: the size is a lower bound, and the sign can be absent while memory is full.
    """
    sizes = parse_meminfo(machine.read("/proc/meminfo"))
    free, total = sizes.get("CmaFree", 0), sizes.get("CmaTotal", 0)
    if free <= total:
        return None
    # The kernel uses the last one.
    options = re.findall(r"(?<!\S)kho=\S*", machine.read("/proc/cmdline"))
    option = options[-1] if options else "without kho="
    shown = f"CmaFree {gib(free)}, CmaTotal {gib(total)}, kernel {machine.read(RELEASE).strip()} {option}"
    return f"at least {gib(free - total)} of memory that cannot be pinned ({shown})"


def check_unpinnable(wanted: dict[str, Any], host: Any) -> Iterator[CheckResult]:  # noqa: ANN401 - as above
    """Check that all memory can be pinned. Without units that use RDMA, the memory is only lost: that is a warning."""
    found = unpinnable(host)
    state = "ok" if found is None else "FAIL" if wanted["rdma_units"] else "warn"
    hint = "" if found is None else wanted["hint"]
    kernel = f"kernel {host.read(RELEASE).strip()}"
    yield CheckResult(state, "pinnable memory", found or kernel, "CmaFree <= CmaTotal", hint, wanted["code"])


def check_facts(wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Check what is known about the software of this host."""
    found = software.read(host)
    known = [HostFact(**each) for each in wanted["facts"]]
    shown = f"kernel {found['kernel']}, driver {found['driver']}"
    applying = [*conditions.applying(known, software.HostValues(found, rdma=wanted["rdma"]))]
    for fact, text in applying:
        yield CheckResult(STATES[fact.severity], "software", text, "none such", fact.hint, fact.code)
    if not applying:
        yield CheckResult("ok", "software", shown, "nothing known against it")


def check_parameters(wanted: dict[str, list[str]], host: LocalHost) -> Iterator[CheckResult]:
    """Check that the running kernel has the declared parameters, and none that is no longer declared."""
    declared = wanted["declared"]
    for text in software.parameter_faults(software.boot_parameters(host), declared):
        hint = "sparkiac os tries the declared parameters for one boot, and keeps or removes them"
        yield CheckResult("warn", "kernel parameters", text, " ".join(declared) or "none of sparkiac", hint)


def check_headless(address: str, host: LocalHost) -> Iterator[CheckResult]:
    """Check that the host keeps its address without a desktop: NetworkManager gives a user's connection to its user."""
    running = host.run("systemctl", "show", "--property=ActiveState", "--value", "NetworkManager.service").strip()
    listing = ("nmcli", "--terse", "--fields=UUID,DEVICE", "connection", "show", "--active")
    listed = host.run(*listing) if running == "active" else ""
    active = [line.rpartition(":") for line in listed.splitlines()]
    serving = interfaces_of(address, host) & {device for _, _, device in active}
    own = [
        device
        for uuid, _, device in active
        if (device in serving or not serving)
        and host.run("nmcli", "--get-values=connection.permissions", "connection", "show", uuid).strip()
    ]
    hint = "let all users use it: nmcli connection modify NAME connection.permissions ''; or remove `headless`"
    found = f"a user's own connection on {', '.join(own)}" if own else "connections of the system"
    yield compare(not own, "address without a desktop", found, "connections of the system", hint)


def interfaces_of(address: str, host: LocalHost) -> set[str]:
    """Return the interfaces with an address of this host; none if only another machine translates it."""
    addresses = {each[4][0] for each in socket.getaddrinfo(address, None)}
    found = json.loads(host.run("ip", "-json", "address", "show"))
    return {each["ifname"] for each in found for one in each["addr_info"] if one.get("local") in addresses}


def check_earlyoom(_wanted: bool, host: LocalHost) -> Iterator[CheckResult]:  # noqa: FBT001
    """Check that earlyoom is installed: its unit gets other arguments."""
    found = host.run("systemctl", "show", "--property=LoadState", "--value", "earlyoom.service").strip()
    yield compare(found == "loaded", "earlyoom", found, "loaded", "install it: apt-get install earlyoom")


CHECKS = {
    "architecture": Check(check_architecture, "the images are for another architecture; check the address of the host"),
    "nvidia-smi": Check(
        check_gpus, "install and hold the driver in the inventory and reboot, or change the inventory", "HST002"
    ),
    "kernel_parameters": Check(check_kernel_parameter),
    "versions": Check(check_version, "install or upgrade it, and check that it runs"),
    "docker_access": Check(
        check_docker_access, "install Docker with its group; the socket needs owner root:docker and mode 0660", "HST001"
    ),
    "memory_bytes": Check(
        check_memory, "set memory.total_gib of the host in the inventory to the value found", "HST009"
    ),
    "idle_memory_bytes": Check(check_idle_memory, "check that Docker runs", "MEM017"),
    "load_tuning": Check(check_load_tuning, "remove the setting from the inventory; this kernel does not have it"),
    "headless": Check(check_headless),
    "earlyoom": Check(check_earlyoom),
    "parameters": Check(check_parameters),
    "unpinnable": Check(check_unpinnable),
    "host_facts": Check(check_facts),
}
