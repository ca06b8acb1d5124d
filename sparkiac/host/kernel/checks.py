"""Say why another kernel must not be tried on this host, before and after it is installed beside the running one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .. import local, software
from ..local import LocalHost
from . import grub

MIB = 1 << 20
INITRD_MOST = 128 * MIB
"""An initrd of 209 MB hung before the kernel started, one of 101 MB boots. A larger one that runs here is no limit."""
GPU_MODULE = "nvidia"
INSTALLED = re.compile(r"Inst (\S+) \[([^\]]+)\]")
REMOVED = re.compile(r"Remv (\S+)")


def image(kernel: str) -> str:
    """Return the path of the image of a kernel."""
    return f"/boot/vmlinuz-{kernel}"


def initrd(kernel: str) -> str:
    """Return the path of its initrd."""
    return f"/boot/initrd.img-{kernel}"


def release_of(packages: dict[str, str]) -> str | None:
    """Return the kernel that a set of packages names; None without one."""
    return next((found[1] for name in packages if (found := software.IMAGE.fullmatch(name))), None)


def beside(packages: dict[str, str], kernel: str) -> dict[str, str]:
    """Return the packages of a set that lie beside those of another kernel: image, headers, modules."""
    return {name: each for name, each in packages.items() if kernel_family(name) and names(name, kernel)}


def following(packages: dict[str, str], kernel: str) -> dict[str, str]:
    """Return the packages that go with the kernel and have one version at a time, such as the metapackages."""
    return {name: each for name, each in packages.items() if kernel_family(name) and not names(name, kernel)}


def kernel_family(name: str) -> bool:
    """Return whether a package belongs to a kernel."""
    return bool(software.KERNEL.fullmatch(name))


def names(package: str, kernel: str) -> bool:
    """Return whether the name of a package has the number of this kernel."""
    found = software.OF_RELEASE.search(package)
    return found is not None and kernel.startswith(f"{found[0]}-")


def booted(machine: LocalHost, kernel: str, these: list[str], others: list[str]) -> bool:
    """Return whether a kernel runs, with these parameters where others lack them, and without those of the others."""
    words = {*machine.read(software.CMDLINE).split()}
    runs = software.line(machine, software.RELEASE) == kernel
    return runs and {*these} - {*others} <= words and not ({*others} - {*these}) & words


def differs(machine: LocalHost, kernel: str, parameters: list[str]) -> bool:
    """Return whether a boot must change for this kernel and these declared parameters."""
    runs = software.line(machine, software.RELEASE) == kernel
    return not runs or any(software.parameter_faults(software.boot_parameters(machine), parameters))


def before(machine: LocalHost, running: str, packages: dict[str, str]) -> Iterator[str]:
    """Yield what is missing for a way back to the running kernel, and what the installation would change besides."""
    yield from (f"{path} is missing" for path in kept(running) if not machine.path(path).exists())
    if fault := grub.unwritable(machine):
        yield fault
    if not any(each.kernel == running for each in grub.entries(machine)):
        yield f"{grub.CONFIG} has no entry for the running kernel {running}"
    needed = 2 * sum(size(machine, path) for path in (image(running), initrd(running)))
    free = local.free_bytes(machine.path("/boot"))
    if free < needed:
        yield f"/boot has {free // MIB} MiB free, {needed // MIB} MiB are needed, twice the running kernel and initrd"
    if packages:
        yield from disturbed(machine, packages)


def kept(running: str) -> tuple[str, str, str]:
    """Return what the way back starts from."""
    return image(running), initrd(running), f"/lib/modules/{running}/modules.dep"


def size(machine: LocalHost, path: str) -> int:
    """Return the size of a file; 0 if it is missing."""
    found = machine.path(path)
    return found.stat().st_size if found.exists() else 0


def words(packages: dict[str, str]) -> list[str]:
    """Return packages with their versions, as APT takes them."""
    return [f"{name}={version}" for name, version in packages.items()]


def disturbed(machine: LocalHost, packages: dict[str, str]) -> Iterator[str]:
    """Yield the installed packages that the installation would change or remove, and why APT refuses it."""
    done = machine.run("apt-get", "install", "--simulate", "--no-install-recommends", *words(packages))
    if done.code:
        yield f"APT cannot install the packages of the set: {' '.join((done.errors or done.output).split())}"
    for line in done.output.splitlines():
        if found := INSTALLED.match(line) or REMOVED.match(line):
            yield f"the installation would change {found[1]}, which the running kernel may need"


def after(machine: LocalHost, running: str, kernel: str, packages: dict[str, str]) -> Iterator[str]:
    """Yield why the installed kernel must not be started."""
    yield from (f"{path} is missing" for path in kept(kernel) if not machine.path(path).exists())
    most = max(INITRD_MOST, size(machine, initrd(running)))
    if size(machine, initrd(kernel)) > most:
        yield f"{initrd(kernel)} has {size(machine, initrd(kernel)) // MIB} MiB, at most {most // MIB} MiB are tried"
    yield from modules(machine, running, kernel)
    manual = machine.run("apt-mark", "showmanual", *packages).output.split()
    if automatic := sorted({*packages} - {*manual}):
        yield f"APT could remove {', '.join(automatic)}: not marked as installed manually"


def modules(machine: LocalHost, running: str, kernel: str) -> Iterator[str]:
    """Yield why the GPU would not work with a kernel: its module is missing, of another version, or not trusted."""
    loaded = software.driver(machine)
    if loaded is None:
        return
    version = field(machine, "version", kernel)
    if version != loaded:
        yield f"the module {GPU_MODULE} of {kernel} has version {version or 'none'}, the libraries have {loaded}"
    if software.secure_boot(machine):
        signer, trusted = field(machine, "signer", kernel), field(machine, "signer", running)
        if not signer or signer != trusted:
            yield (
                f"Secure Boot is on, and the module {GPU_MODULE} of {kernel} is signed by {signer or 'nobody'}, "
                f"that of the running kernel by {trusted or 'nobody'}"
            )


def field(machine: LocalHost, name: str, kernel: str) -> str:
    """Return a field of the GPU's module of a kernel; empty without it."""
    base = str(machine.root)
    return machine.run("modinfo", "-b", base, "-F", name, "-k", kernel, GPU_MODULE).output.strip()
