"""Try a netplan file, and put the former one back unless it is confirmed in time.

usage: network try FILE SECONDS | network confirm | network revert

FILE is JSON: `text`, the netplan file, and `ethernets`, its interfaces. The tried file is in /run/netplan, where it
hides the file of the same name in /etc/netplan. So a reboot reverts it too. `try` starts a timer that runs `revert`,
and waits until the interfaces have what the file sets. `confirm` moves the file to /etc/netplan and stops the timer.
The former file is kept in /var/lib/sparkiac/network. `revert` also restores what netplan did not set and does not
restore: an MTU, an address that was added by hand. `try` does nothing if the file is equal to the installed one. Needs
durable.py.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

from .. import durable

Ethernets = dict[str, dict[str, Any]]

ROOT = Path(os.environ.get("SPARKIAC_NETWORK_ROOT", "/"))
NAME = "60-sparkiac.yaml"
TRIED = ROOT / "run/netplan" / NAME
INSTALLED = ROOT / "etc/netplan" / NAME
FORMER = ROOT / "var/lib/sparkiac/network" / NAME
BEFORE = ROOT / "run/sparkiac/network/before.json"
"""MTU and addresses of the interfaces before the first try that was not confirmed."""
LOCK = ROOT / "run/sparkiac/network/lock"
PROGRAM = Path(__file__).resolve().parents[2] / "network"
UNIT = "sparkiac-network-revert"
TIMEOUT_S = 120
SETTLE_S = 20
"""How long netplan's backend may take to set the interfaces; NetworkManager starts again."""
EMPTY = "network:\n  version: 2\n"
"""A file that sets nothing, for a host whose inventory no longer sets links."""


class Refused(Exception):  # noqa: N818
    """The file is not tried, or not kept; the message gives the reason."""


def run(*argv: str) -> str:
    """Run a command and return its output. Raises Refused with the command's message."""
    pipe = subprocess.PIPE
    done = subprocess.run(argv, stdout=pipe, stderr=pipe, timeout=TIMEOUT_S, check=False)  # noqa: S603
    if done.returncode:
        said = b" ".join((done.stdout + b" " + done.stderr).split()).decode("utf-8", "replace")
        raise Refused(f"{' '.join(argv[:2])}: {said or done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def text(path: Path) -> str | None:
    """Return the text of a file; None if there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Wait until no other command of this program runs: the timer can end during `confirm`."""
    durable.make_directory(LOCK.parent, 0o700)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def wanted(file: str) -> tuple[str, Ethernets]:
    """Return the text of the netplan file to try and its interfaces; `-` is a file that sets nothing."""
    if file == "-":
        return EMPTY, {}
    found = json.loads(Path(file).read_text(encoding="utf-8"))
    return found["text"], found["ethernets"]


def interfaces() -> dict[str, dict[str, Any]]:
    """Return the interfaces of this host, as `ip` lists them."""
    found: list[dict[str, Any]] = json.loads(run("ip", "-json", "address", "show"))
    return {str(each["ifname"]): each for each in found}


def addresses(interface: dict[str, Any]) -> list[str]:
    """Return the addresses that were set: none that the kernel or a server gave."""
    listed = interface.get("addr_info", [])
    return [f"{each['local']}/{each['prefixlen']}" for each in listed if is_set(each)]


def is_set(address: dict[str, Any]) -> bool:
    """Return whether an address was set by a file or by hand."""
    given = address.get("dynamic") or (address.get("family") == "inet6" and address.get("scope") == "link")
    return "local" in address and not given


def refuse_bad(content: str) -> None:
    """Refuse a file that netplan does not accept together with the other files of this host."""
    with tempfile.TemporaryDirectory() as folder:
        beside = Path(folder, "etc/netplan")
        beside.mkdir(parents=True)
        for each in sorted((ROOT / "etc/netplan").glob("*.yaml")):
            shutil.copy2(str(each), str(beside / each.name))
        durable.write(beside / NAME, content.encode())
        run("netplan", "generate", "--root-dir", folder)


def refuse_missing(ethernets: Ethernets, there: Ethernets) -> None:
    """Refuse an interface that this host does not have: netplan would ignore it."""
    for name in ethernets:
        if name not in there:
            names = ", ".join(sorted(set(there) - {"lo"}))
            raise Refused(f"this host has no interface {name}; it has {names}")


def refuse_own_access(ethernets: Ethernets) -> None:
    """Refuse a file that sets an interface with a default route: the host is reached over it."""
    routes: list[dict[str, Any]] = json.loads(run("ip", "-json", "route", "show", "default") or "[]")
    for name in sorted({str(each["dev"]) for each in routes if "dev" in each}):
        if name in ethernets:
            raise Refused(f"{name} has the default route of this host, so it is no link between hosts")


def attempt(file: str, seconds: int) -> str:
    """Apply the file for a limited time; `-` for no file."""
    content, ethernets = wanted(file)
    if content == (text(INSTALLED) or EMPTY) and text(TRIED) is None:
        return "unchanged"
    there = interfaces()
    refuse_missing(ethernets, there)
    refuse_own_access(ethernets)
    refuse_bad(content)
    record({name: there[name] for name in ethernets})
    stop_timer()
    try:
        start_timer(seconds)
        durable.write(TRIED, content.encode())
        run("netplan", "apply")
        wait_for(ethernets)
    except (Refused, subprocess.TimeoutExpired):
        undo()
        raise
    return f"tried: without `network confirm` it is reverted in {seconds} s"


def record(there: Ethernets) -> None:
    """Record MTU and addresses of interfaces; what an earlier try recorded stays."""
    found = {name: {"mtu": each["mtu"], "addresses": addresses(each)} for name, each in there.items()}
    if text(TRIED) is not None:
        found.update(json.loads(text(BEFORE) or "{}"))
    durable.write(BEFORE, json.dumps(found).encode())


def start_timer(seconds: int) -> None:
    """Start the timer that runs `revert`."""
    timer = (f"--unit={UNIT}", f"--on-active={seconds}s", "--timer-property=AccuracySec=1s")
    run("systemd-run", "--collect", *timer, str(PROGRAM), "revert")


def wait_for(ethernets: Ethernets) -> None:
    """Wait until the interfaces have what the file sets. Raises Refused if they do not get it."""
    wrong = missing(ethernets)
    for _ in range(SETTLE_S):
        if not wrong:
            return
        time.sleep(1)
        wrong = missing(ethernets)
    if wrong:
        raise Refused(f"netplan has applied the file, but {'; '.join(wrong)}")


def missing(ethernets: Ethernets) -> list[str]:
    """Return the settings of a file that its interfaces lack. An interface without a cable gets no address."""
    there, found = interfaces(), []
    for name, settings in ethernets.items():
        now = there.get(name, {})
        if settings.get("mtu", now.get("mtu")) != now.get("mtu"):
            found.append(f"{name} has MTU {now.get('mtu')} instead of {settings['mtu']}")
        if "LOWER_UP" in now.get("flags", []):
            has = {ip_interface(each) for each in addresses(now)}
            lacks = [each for each in settings.get("addresses", []) if ip_interface(each) not in has]
            found += [f"{name} has no address {each}" for each in lacks]
    return found


def confirm() -> str:
    """Keep the tried file, and the former one as a copy."""
    content = text(TRIED)
    if content is None:
        raise Refused("nothing is tried: the time has passed, or the host was restarted")
    former = text(INSTALLED)
    if former is not None:
        durable.write(FORMER, former.encode())
    if content == EMPTY:
        durable.remove(INSTALLED)
    else:
        durable.write(INSTALLED, content.encode())
    durable.remove(TRIED)
    durable.remove(BEFORE)
    stop_timer()  # last: if a file cannot be written, the links are reverted
    return "confirmed"


def revert() -> str:
    """Return to the former links, unless they were confirmed."""
    if text(TRIED) is None:
        return "nothing is tried"
    undo()
    return "reverted"


def undo() -> None:
    """Remove the tried file, so that the former one is valid again, and give the interfaces what they had."""
    durable.remove(TRIED)
    try:
        run("netplan", "apply")
    finally:
        before: Ethernets = json.loads(text(BEFORE) or "{}")
        quiet = 0
        for _ in range(SETTLE_S):  # netplan's backend still changes the interfaces after `netplan apply`
            quiet = 0 if restored(before) else quiet + 1
            if quiet == 3:  # noqa: PLR2004
                break
            time.sleep(1)
        durable.remove(BEFORE)


def restored(before: Ethernets) -> list[tuple[str, ...]]:
    """Give interfaces the MTU and the addresses that they had; return the commands that this took."""
    there = interfaces()
    commands: list[tuple[str, ...]] = []
    for name in sorted(set(before) & set(there)):
        had, has = before[name], addresses(there[name])
        if there[name]["mtu"] != had["mtu"]:
            commands.append(("ip", "link", "set", name, "mtu", str(had["mtu"])))
        commands += [("ip", "address", "delete", each, "dev", name) for each in has if each not in had["addresses"]]
        commands += [("ip", "address", "add", each, "dev", name) for each in had["addresses"] if each not in has]
    for argv in commands:
        with contextlib.suppress(Refused):  # netplan's backend was faster
            run(*argv)
    return commands


def stop_timer() -> None:
    """Stop the timer of `try`, if it runs."""
    argv = ("systemctl", "stop", f"{UNIT}.timer")
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # noqa: S603


def main(argv: list[str]) -> int:
    """Run one of the three commands."""
    command: Callable[[], str]
    if len(argv) == 3 and argv[0] == "try" and argv[2].isdigit():  # noqa: PLR2004
        command = partial(attempt, argv[1], int(argv[2]))
    elif argv in (["confirm"], ["revert"]):
        command = confirm if argv == ["confirm"] else revert
    else:
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    try:
        with locked():
            print(command())  # noqa: T201
    except (Refused, OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(f"network: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0
