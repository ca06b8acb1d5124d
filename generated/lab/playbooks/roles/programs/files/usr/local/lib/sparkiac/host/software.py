"""Read the software of this host that belongs together: kernel, driver, container toolkit, Docker, and the firmware.

Everything is read from files that every user may read. A value that the host does not have is None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

RELEASE = "/proc/sys/kernel/osrelease"
CMDLINE = "/proc/cmdline"
DPKG = "/var/lib/dpkg/status"
DMI = "/sys/class/dmi/id"
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
TOOLKIT = "/etc/nvidia-container-runtime/config.toml"
DRIVER = re.compile(r"\s(\d{3}\.\d+(?:\.\d+)?)\s")
KERNEL = re.compile(r"linux-(?:image|headers|modules|tools|nvidia|generic|signatures|objects)(?:-.+)?")
NAMED = re.compile(
    r"nvidia-(?:driver-.+|fs.*|container-toolkit.*|docker2)|libnvidia-container.+|cuda-drivers.*"
    r"|docker-(?:ce.*|.+-plugin|compose-v2)|docker\.io|containerd(?:\.io)?|runc"
)
OF_DRIVER = re.compile(r"(?:lib)?nvidia-.+|xserver-xorg-video-nvidia-.+")
OF_RELEASE = re.compile(r"(?<![0-9])[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}-[0-9]{1,6}")
IMAGE = re.compile(r"linux-image-(?:unsigned-)?(\d+\.\d+\.\d+-\d+-[a-z0-9-]+)")
LIBRARY = re.compile(r"libnvidia-compute-\d+(?:-server)?")
SAVED_DEFAULT = "/etc/default/grub.d/90-sparkiac.cfg"
"""Lets GRUB start the kernel that has passed its gate, instead of the newest one."""
CHANGE = "/var/lib/sparkiac/os/state.json"
"""The last change of driver, container toolkit and Docker."""
MIXED = ("changing", "returning")
"""Its phases in which the installed packages may be of two sets."""
OTHERS = ("nvsm",)
"""Packages that facts are about and that no pin holds."""
OWN_PARAMETERS = re.compile(r'GRUB_CMDLINE_LINUX_DEFAULT="\$GRUB_CMDLINE_LINUX_DEFAULT ([^"]*)"')
"""The line of that file with the kernel parameters that have passed their gate."""
PANIC = "panic=30"
"""A trial reboots 30 s after a panic, and so goes back."""
OF_HOST = ("BOOT_IMAGE", "root", "resume", "initrd")
"""Kernel parameters that differ between hosts with the same software."""


def read(machine: Any) -> dict[str, Any]:  # noqa: ANN401 - `LocalHost` of preflight or of this package
    """Return all values."""
    kernel, loaded = line(machine, RELEASE), driver_line(machine)
    version = DRIVER.search(loaded)
    everything = installed(machine)
    return {
        "kernel": kernel,
        "next_kernel": None if machine.path(SAVED_DEFAULT).exists() else next_kernel(kernel, everything),
        **boot_parameters(machine),
        "kexec_crash_size": number(line(machine, "/sys/kernel/kexec_crash_size")),
        "driver": version[1] if version else None,
        "modules": ("open" if "Open Kernel Module" in loaded else "proprietary") if version else None,
        "secure_boot": secure_boot(machine),
        "docker_firewall": docker_firewall(machine),
        "toolkit_mode": toolkit_mode(machine),
        "packages": {name: each for name, each in everything.items() if belongs(name, each, kernel)},
        "others": {name: everything[name] for name in OTHERS if name in everything},
        "firmware": dict(firmware(machine)),
    }


def line(machine: Any, name: str) -> str | None:  # noqa: ANN401 - as above
    """Return the first line of a file; None if it is empty or cannot be read."""
    try:
        return next(iter(machine.read(name).splitlines()), "").strip() or None
    except (OSError, ValueError):
        return None


def driver_line(machine: Any) -> str:  # noqa: ANN401 - as above
    """Return what the loaded NVIDIA kernel module says of itself; an empty text without one."""
    return f" {line(machine, '/proc/driver/nvidia/version') or ''} "


def driver(machine: Any) -> str | None:  # noqa: ANN401 - as above
    """Return the version of the NVIDIA kernel module that is loaded."""
    found = DRIVER.search(driver_line(machine))
    return found[1] if found else None


def number(text: str | None) -> int | None:
    """Return a number; None for another text."""
    return int(text) if text and text.isdecimal() else None


def parameters(text: str | None) -> str | None:
    """Return the kernel parameters without those that name disks and files of this host."""
    if text is None:
        return None
    return " ".join(word for word in text.split() if word.partition("=")[0] not in OF_HOST and word != PANIC)


def boot_parameters(machine: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return the values of those that `read` returns which declared kernel parameters are compared with."""
    return {"cmdline": parameters(line(machine, CMDLINE)), "own_parameters": own_parameters(machine)}


def own_parameters(machine: Any) -> list[str]:  # noqa: ANN401 - as above
    """Return the kernel parameters that sparkiac has made a part of every boot."""
    try:
        found = OWN_PARAMETERS.search(machine.read(SAVED_DEFAULT))
    except OSError:
        return []
    return found[1].split() if found else []


def lacking(cmdline: str | None, declared: Collection[str]) -> list[str]:
    """Return the declared parameters that a command line does not have; the kernel uses the last one of a name."""
    last = {word.partition("=")[0]: word for word in (cmdline or "").split()}
    return [word for word in declared if last.get(word.partition("=")[0]) != word]


def undeclared(own: Collection[str], declared: Collection[str]) -> list[str]:
    """Return the parameters that sparkiac has set and that are no longer declared."""
    return [word for word in own if word not in declared]


def parameter_faults(values: Mapping[str, Any], declared: Collection[str]) -> Iterator[str]:
    """Yield what the kernel lacks of the declared parameters, or has in spite of them; `values` are those of `read`."""
    if lacks := lacking(values["cmdline"], declared):
        yield f"the running kernel does not have {', '.join(lacks)}, which the inventory declares"
    if left := undeclared(values["own_parameters"], declared):
        yield f"every boot still has {', '.join(left)}, which the inventory no longer declares"


def installed(machine: Any) -> dict[str, str]:  # noqa: ANN401 - as above
    """Return the installed packages with their versions, in the order of their names."""
    found, name, there = {}, "", False
    try:
        with machine.path(DPKG).open(encoding="utf-8", errors="replace") as file:
            for text in file:
                key, _, value = text.partition(": ")
                if key == "Package":
                    name, there = value.strip(), False
                elif key == "Status":
                    there = value.split()[1:] == ["ok", "installed"]
                elif key == "Version" and there:
                    found[name] = value.strip()
    except OSError:
        return {}
    return dict(sorted(found.items()))


def related(name: str, version: str) -> bool:
    """Return whether a package is one of the kernel, the driver, the container toolkit or Docker."""
    if KERNEL.fullmatch(name) or NAMED.fullmatch(name):
        return True
    return bool(OF_DRIVER.fullmatch(name) and DRIVER.search(f" {upstream(version)} "))


def belongs(name: str, version: str, kernel: str | None) -> bool:
    """Return whether a package is pinned: of the kernels, only the running one with what it needs, and metapackages."""
    release = OF_RELEASE.search(name) if KERNEL.fullmatch(name) else None
    return related(name, version) and (release is None or f"{kernel}-".startswith(f"{release[0]}-"))


def upstream(version: str) -> str:
    """Return the version of a package without its epoch and the revision of the distribution."""
    return version.rpartition(":")[2].partition("-")[0]


def next_kernel(running: str | None, packages: dict[str, str]) -> str | None:
    """Return the newest installed kernel if it is newer than the running one: GRUB starts it at the next boot."""
    found = [match[1] for name in packages if (match := IMAGE.fullmatch(name))]
    newest = max(found, key=numbers, default=None)
    return newest if newest and running and numbers(newest) > numbers(running) else None


def numbers(release: str) -> list[int]:
    """Return the numbers in the release of a kernel, by which GRUB sorts them."""
    return [int(each) for each in re.findall(r"\d+", release)]


def secure_boot(machine: Any) -> bool | None:  # noqa: ANN401 - as above
    """Return whether Secure Boot is on: the value follows four bytes of attributes."""
    try:
        return bool(machine.path(SECURE_BOOT).read_bytes()[4:5] == b"\1")
    except OSError:
        return None


def docker_firewall(machine: Any) -> str | None:  # noqa: ANN401 - as above
    """Return the firewall backend that Docker's configuration names; None without Docker."""
    with suppress(OSError, ValueError, AttributeError):
        return str(json.loads(machine.read("/etc/docker/daemon.json")).get("firewall-backend", "iptables"))
    return "iptables" if machine.path("/etc/docker").is_dir() else None


def toolkit_mode(machine: Any) -> str | None:  # noqa: ANN401 - as above
    """Return the mode of the NVIDIA container runtime; None without its configuration."""
    try:
        text = machine.read(TOOLKIT)
    except (OSError, ValueError):
        return None
    section = re.search(r"^\[nvidia-container-runtime\]$(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    found = re.search(r'^\s*mode\s*=\s*"([^"]*)"', section[1], re.MULTILINE) if section else None
    return found[1] if found else "auto"


def libraries(packages: dict[str, str]) -> tuple[str, ...] | None:
    """Return the versions of the driver's libraries; None without one."""
    return tuple(sorted({upstream(each) for name, each in packages.items() if LIBRARY.fullmatch(name)})) or None


def unlike(loaded: str | None, packages: dict[str, str]) -> str:
    """Return that the loaded kernel module and the libraries of the driver differ; empty if they do not."""
    found = libraries(packages) or ()
    if loaded is None or not found or loaded in found:
        return ""
    return f"the kernel module {loaded} is loaded, the libraries of the driver have version {', '.join(found)}"


def hold(machine: Any) -> str:  # noqa: ANN401 - as above
    """Return why no unit that uses the GPU may start: packages of two sets may be installed. Empty if it may."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        phase = json.loads(machine.read(CHANGE))["phase"]
        if phase in MIXED:
            return f"packages of two sets may be installed ({phase})"
    return unlike(driver(machine), installed(machine))


class HostValues:
    """The values of a host's software, by the names that conditions use: host.kernel, host.package.NAME."""

    def __init__(self, found: dict[str, Any], *, rdma: bool) -> None:
        """Store what was read, or pinned; `rdma`: whether a unit of the host uses RDMA."""
        self.packages = {**found["packages"], **found.get("others", {})}
        self.values = {**found, "rdma": rdma, "libraries": libraries(found["packages"])}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - plain data
        """Return a value; None for a package that is not installed. Raise KeyError for a name that facts lack."""
        space, _, key = name.partition(".")
        if space != "host":
            raise KeyError(name)
        package = key.partition("package.")[2]
        return self.packages.get(package) if package else self.values[key]


def firmware(machine: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - as above
    """Yield part and version of the firmware that the kernel knows."""
    for part, file in (("bios", "bios_version"), ("ec", "ec_firmware_release")):
        if found := line(machine, f"{DMI}/{file}"):
            yield part, found
    ports = sorted(machine.path("/sys/class/infiniband").glob("*/fw_ver"))
    if versions := sorted({path.read_text(encoding="ascii", errors="replace").strip() for path in ports}):
        yield "connectx", ", ".join(versions)
