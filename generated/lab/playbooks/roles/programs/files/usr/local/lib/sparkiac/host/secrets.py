"""Keep the secrets of this host encrypted with its own key, and readable in memory.

/etc/sparkiac/secrets is a link to memory: what reads a secret there needs not know that its disk has only the encrypted
one. The unit that decrypts them at boot belongs to no generation, because the secrets belong to none.

secrets ROOT   write the secrets of standard input, {NAME: VALUE}; encrypt all of this host; print the names of those
               that were not encrypted
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import durable
from .contract import validated
from .local import SECRETS, LocalHost

ENCRYPTED = f"{SECRETS}.encrypted"
PLAIN = "/run/sparkiac/secrets"
FORMER = f"{SECRETS}.former"
"""Where a plain directory of former versions is until it is removed."""
NAME = re.compile(r"([a-z][a-z0-9_-]{0,39})(?:\.previous)?")
"""Name of a secret, or of its former value that is still valid. Other files in the directory are not sparkiac's."""
UNIT = "etc/systemd/system/sparkiac-secrets.service"
UNIT_TEXT = f"""\
# Written by sparkiac with the secrets of this host. Puts them into memory, for all units that read them.
[Unit]
Description=Decrypt the secrets of sparkiac with the key of this host
RequiresMountsFor=/etc/sparkiac /var/lib/systemd
Before=sparkiac-recover.service sparkiac-fleet.service
ConditionDirectoryNotEmpty={ENCRYPTED}

[Service]
Type=oneshot
RemainAfterExit=yes
RuntimeDirectory={PLAIN.removeprefix("/run/")}
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
UMask=0077
# A secret that cannot be decrypted is named here and missing there; the others do not wait for it.
ExecStart=/bin/sh -c 'for each in {ENCRYPTED}/*; do name="$${{each##*/}}"; \
systemd-creds decrypt --name="$$name" "$$each" "{PLAIN}/$$name" \
|| {{ failed=1; echo "the key of this host does not decrypt the secret $$name: pass it to an apply again" >&2; }}; \
done; exit $${{failed:-0}}'
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_DAC_OVERRIDE
ProtectSystem=strict
ReadWritePaths={PLAIN}
ProtectHome=yes
PrivateTmp=yes
PrivateNetwork=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
RestrictAddressFamilies=AF_UNIX
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
"""
MISSING = "systemd-creds, with which secrets are encrypted, is missing: it belongs to systemd 250 and newer"


class SecretsError(RuntimeError):
    """The secrets of this host cannot be encrypted; the text says why and what to do."""


def names(folder: Path) -> set[str]:
    """Return the names of the secrets in a directory that may be missing."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return {path.name for path in paths if path.is_file() and not path.name.startswith(".")}


def unencrypted(machine: LocalHost) -> list[str]:
    """Return the secrets that lie on the disk as plain text, or only in memory."""
    settled = machine.path(SECRETS).is_symlink() and not machine.path(FORMER).is_dir()
    return sorted(names(machine.path(SECRETS)) - (names(machine.path(ENCRYPTED)) if settled else set()))


def unread(machine: LocalHost, read: list[str]) -> list[str]:
    """Return the secrets of this host that are none of those that something on it reads, nor their former values."""
    found = names(machine.path(SECRETS)) | names(machine.path(ENCRYPTED))
    return sorted(each[0] for each in map(NAME.fullmatch, found) if each and each[1] not in read)


def keep(machine: LocalHost, given: dict[str, str]) -> list[str]:
    """Write secrets, encrypt all of this host, and return the names of those that were encrypted now.

    The encrypted ones are complete before anything that is plain goes, so that this can be interrupted and repeated.
    """
    view = machine.path(SECRETS)
    found = {name: (view / name).read_bytes() for name in names(view)}
    found.update((name, value.encode()) for name, value in given.items())
    changed = sorted(name for name, value in found.items() if decrypted(machine, name) != value)
    durable.make_directory(machine.path(ENCRYPTED), 0o700)
    for name in changed:
        sealed = creds("encrypt", "--with-key=host", f"--name={name}", "-", "-", given=found[name])
        durable.write(machine.path(f"{ENCRYPTED}/{name}"), sealed)
    install_unit(machine)
    durable.make_directory(machine.path(PLAIN), 0o700)
    for name, value in found.items():
        durable.write(machine.path(f"{PLAIN}/{name}"), value)
    link(machine)
    return changed


def decrypted(machine: LocalHost, name: str) -> bytes | None:
    """Return the value of an encrypted secret; None if there is none that the key of this host opens."""
    path = machine.path(f"{ENCRYPTED}/{name}")
    try:
        return creds("decrypt", f"--name={name}", str(path), "-") if path.is_file() else None
    except SecretsError:
        return None


def creds(*words: str, given: bytes = b"") -> bytes:
    """Run systemd-creds, whose errors have no value of a secret."""
    try:
        done = subprocess.run(["systemd-creds", *words], input=given, capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        raise SecretsError(MISSING) from None
    if done.returncode:
        raise SecretsError(f"systemd-creds {words[0]}: {' '.join(done.stderr.decode(errors='replace').split())}")
    return done.stdout


def install_unit(machine: LocalHost) -> None:
    """Install the unit that decrypts the secrets at boot. systemd reads it then."""
    path = machine.path(UNIT)
    if not path.is_file() or path.read_bytes() != UNIT_TEXT.encode():
        durable.write(path, UNIT_TEXT.encode(), 0o644)
    wanted = path.parent / "multi-user.target.wants" / path.name
    if not wanted.is_symlink():
        durable.make_directory(wanted.parent)
        durable.link(wanted, Path("..") / path.name)


def link(machine: LocalHost) -> None:
    """Point the place where secrets are read to memory, and remove the plain files of former versions."""
    view, former = machine.path(SECRETS), machine.path(FORMER)
    target = Path("../..") / PLAIN.lstrip("/")
    if not view.exists() and not view.is_symlink():
        durable.link(view, target)
    elif not view.is_symlink():
        durable.link(former, target)
        durable.exchange(former, view)
    if former.is_dir() and not former.is_symlink():
        shutil.rmtree(former)


def main(argv: list[str]) -> int:
    """Do what the arguments say."""
    given = validated("program", "secrets", json.load(sys.stdin), dict[str, str])
    try:
        sys.stdout.write(json.dumps(keep(LocalHost(Path(argv[0])), given)) + "\n")
    except (SecretsError, OSError) as error:
        sys.stderr.write(f"the secrets of this host cannot be kept: {error}\n")
        return 1
    return 0
