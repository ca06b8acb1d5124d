"""Read GRUB's menu and environment, keep one kernel as its default, and let it start another one once."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from .. import durable
from ..local import LocalHost
from ..software import PANIC, SAVED_DEFAULT

CONFIG = "/boot/grub/grub.cfg"
ENVIRONMENT = "/boot/grub/grubenv"
SCRIPT = "/etc/grub.d/45_sparkiac"
"""Adds the entry of a trial to the menu."""
NAMES = "/etc/grub.d/46_sparkiac"
"""Adds the entries that name the sets."""
TRIAL = "sparkiac-trial"
SAVED, NEXT = "saved_entry", "next_entry"
READS_SAVED = 'set default="${saved_entry}"'
SETTINGS_TEXT = """\
# Written by sparkiac: the default is the kernel that has passed its gate, not the newest one.
GRUB_DEFAULT=saved
GRUB_SAVEDEFAULT=false
"""
PARAMETERS_TEXT = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {}"\n'
SCRIPT_TEXT = '#!/bin/sh\n# Written by sparkiac while a kernel is tried.\nexec tail -n +4 "$0"\n'
NAMES_TEXT = "#!/bin/sh\n# Written by sparkiac: the sets that are installed, by name.\n"
NAMED_ENTRY = """\
if [ -e '{image}' ]; then cat <<'END'
menuentry '{title}' $menuentry_id_option 'sparkiac-set-{number}' {{
{body}
}}
END
fi
"""
HEAD = re.compile(r"\s*(?:submenu|menuentry)\s.*\$menuentry_id_option '([^']+)'\s*\{")
LINUX = re.compile(r"\s*linux\s+\S*vmlinuz-(\S+)")
RECOVERY = "-recovery-"
NOT_WRITABLE = ("btrfs", "cpiofs", "newc", "odc", "romfs", "squash4", "tarfs", "zfs")
"""File systems on which GRUB cannot write its environment, as its own scripts list them."""
ABSTRACTIONS = ("diskfilter", "lvm")


class GrubError(RuntimeError):
    """GRUB's menu or environment is not what a way back needs."""


class MenuEntry(NamedTuple):
    """An entry of the menu that starts a kernel."""

    name: str
    """Its ID, after those of the menus above it."""
    kernel: str
    body: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """Return the parameters of its kernel."""
        return next((line.split()[2:] for line in self.body if LINUX.match(line)), [])


def entries(machine: LocalHost) -> Iterator[MenuEntry]:
    """Yield the entries that are named after their kernel, and the entry of a trial; not those for recovery."""
    open_ids: list[str] = []
    body: list[str] = []
    for line in machine.lines(CONFIG):
        if head := HEAD.fullmatch(line):
            open_ids.append(head[1])
            body = []
        elif line.strip().endswith("{") and not open_ids:
            continue
        elif line.strip() == "}" and open_ids:
            kernel = next((found[1] for each in body if (found := LINUX.match(each))), None)
            if kernel and RECOVERY not in open_ids[-1] and (kernel in open_ids[-1] or open_ids == [TRIAL]):
                yield MenuEntry(">".join(open_ids), kernel, tuple(body))
            open_ids.pop()
            body = []
        else:
            body.append(line)


def entry_of(machine: LocalHost, kernel: str) -> MenuEntry:
    """Return the entry of a kernel; raise GrubError without one."""
    found = [each for each in entries(machine) if each.kernel == kernel and each.name != TRIAL]
    if not found:
        raise GrubError(f"{CONFIG} has no entry for the kernel {kernel}")
    return found[0]


def environment(machine: LocalHost) -> dict[str, str]:
    """Return GRUB's environment."""
    done = machine.run("grub-editenv", str(machine.path(ENVIRONMENT)), "list")
    if done.code:
        raise GrubError(f"{ENVIRONMENT} cannot be read: {done.errors.strip()}")
    return {key: value for key, _, value in (line.partition("=") for line in done.output.splitlines())}


def remember(machine: LocalHost, key: str, value: str) -> None:
    """Set a variable of the environment, or remove it with an empty value; raise GrubError if that is not kept."""
    path = machine.path(ENVIRONMENT)
    words = ("set", f"{key}={value}") if value else ("unset", key)
    done = machine.run("grub-editenv", str(path), *words)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    if done.code or environment(machine).get(key, "") != value:
        raise GrubError(f"{ENVIRONMENT} does not keep {key}: {done.errors.strip()}")


def update(machine: LocalHost) -> None:
    """Write the menu again, and let it reach the disk."""
    done = machine.run("update-grub")
    if done.code:
        raise GrubError(f"update-grub: {done.errors.strip()}")
    machine.run("sync", "--file-system", str(machine.path(CONFIG)))


def keep(machine: LocalHost, kernel: str, parameters: Sequence[str]) -> None:
    """Make a kernel the default of every boot, without the entry of a trial; raise GrubError if it is not read back."""
    remember(machine, NEXT, "")
    configure(machine, parameters)
    durable.remove(machine.path(SCRIPT))
    remember(machine, SAVED, entry_of(machine, kernel).name)
    update(machine)
    if fault := default_fault(machine, kernel):
        raise GrubError(fault)


def configure(machine: LocalHost, parameters: Sequence[str]) -> None:
    """Let the next menu start the saved entry, and give these parameters to every kernel."""
    own = PARAMETERS_TEXT.format(" ".join(parameters)) if parameters else ""
    durable.write(machine.path(SAVED_DEFAULT), (SETTINGS_TEXT + own).encode(), 0o644)


def adopt(machine: LocalHost, kernel: str, parameters: Sequence[str]) -> None:
    """Make what was tried the default of every boot. At no time is one of the two the default without the other."""
    if any(each.name == TRIAL for each in entries(machine)):
        remember(machine, SAVED, TRIAL)
        configure(machine, parameters)
        update(machine)
        if lost := {*parameters} - {*entry_of(machine, kernel).words}:
            raise GrubError(f"{CONFIG} lacks {', '.join(sorted(lost))}: another file in /etc/default/grub.d sets them")
    keep(machine, kernel, parameters)


def name_sets(machine: LocalHost, name: str, kernels: tuple[str, str], parameters: Sequence[str]) -> None:
    """Add entries to the menu for the former kernel and the one of a set. They are for people: no default is one."""
    former, kept = kernels
    words = " ".join((f"sparkiac {f'set {name}' if name else 'kept'}: kernel {kept}", *parameters))
    titles, text = {former: f"sparkiac before it: kernel {former}", kept: words}, NAMES_TEXT
    for number, (kernel, title) in enumerate(titles.items(), start=1):
        body = "\n".join(entry_of(machine, kernel).body)
        image = machine.path(f"/boot/vmlinuz-{kernel}")
        text += NAMED_ENTRY.format(image=image, title=title, number=number, body=body)
    durable.write(machine.path(NAMES), text.encode(), 0o755)
    update(machine)


def default_fault(machine: LocalHost, kernel: str) -> str:
    """Return why a kernel is not the default of the next boots; empty if it is."""
    if not any(line.strip() == READS_SAVED for line in machine.lines(CONFIG)):
        return f"{CONFIG} does not start the saved entry: another file in /etc/default/grub.d sets GRUB_DEFAULT"
    saved, wanted = environment(machine).get(SAVED), entry_of(machine, kernel).name
    return "" if saved == wanted else f"the saved entry of GRUB is {saved or 'empty'}, not {wanted}"


def offer(machine: LocalHost, kernel: str, parameters: Sequence[str], former: Collection[str]) -> None:
    """Add an entry to the menu that starts a kernel with other parameters of sparkiac, and reboots after a panic."""
    own, dropped = entry_of(machine, kernel), {*former} - {*parameters}
    added = [word for word in parameters if word not in former]
    if foreign := sorted(each for each in dropped if own.words.count(each) > 1):
        raise GrubError(f"{', '.join(foreign)} is also set by another file of GRUB: remove it there")
    body = [changed(line, (*added, PANIC), dropped) if LINUX.match(line) else line for line in own.body]
    head = f"menuentry 'sparkiac: trial of {kernel}' $menuentry_id_option '{TRIAL}' {{"
    text = "\n".join([SCRIPT_TEXT + head, *body, "}", ""])
    durable.write(machine.path(SCRIPT), text.encode(), 0o755)
    update(machine)
    offered = [each.kernel for each in entries(machine) if each.name == TRIAL]
    if offered != [kernel]:
        raise GrubError(f"{CONFIG} does not have the entry {TRIAL} of the kernel {kernel}")


def changed(line: str, added: Sequence[str], dropped: Collection[str]) -> str:
    """Return the line of an entry that starts the kernel, with other parameters."""
    stays = re.sub(r"\s+(\S+)", lambda word: "" if word[1] in dropped else word[0], line)
    return " ".join((stays, *added))


def unwritable(machine: LocalHost) -> str:
    """Return why GRUB cannot write its environment at a boot; empty if it can."""
    path = machine.path(ENVIRONMENT)
    if path.is_symlink() or not path.is_file() or path.stat().st_size != 1024:  # noqa: PLR2004 - GRUB's fixed size
        return f"{ENVIRONMENT} is not a file of 1024 bytes"
    for target, refused in (("fs", NOT_WRITABLE), ("abstraction", ABSTRACTIONS)):
        done = machine.run("grub-probe", f"--target={target}", str(path.parent))
        if done.code:
            return f"grub-probe does not know where {path.parent} lies: {done.errors.strip()}"
        if bad := sorted({*done.output.split()} & {*refused}):
            return f"GRUB cannot write {ENVIRONMENT} on {', '.join(bad)}"
    return ""
