"""A host: systemd as PID 1 in systemd-nspawn, on an overlay of the built root.

It is started by hand and not by a service manager, so this module does what one would do: a cgroup
of its own, starting again after a reboot, and an end that leaves nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.bed import cgroups
from tests.e2e.bed.shell import PATH, run

if TYPE_CHECKING:
    from tests.e2e.bed.network import Network

# A reboot inside ends systemd-nspawn with this status when no unit of its own keeps it (--keep-unit).
REBOOT_STATUS = 133

# Moves itself into the host's cgroups (the arguments before `--`), then keeps the host running.
KEEPER = f"""
while [ "$1" != -- ]; do echo $$ >"$1"; shift; done
shift
while :; do
  "$@" && exit
  status=$?
  [ $status = {REBOOT_STATUS} ] || exit $status
  # The network is the bed's and stays; the rules of a real host go with its kernel.
  ip netns exec "$BED_NETWORK" nft flush ruleset
done
"""

# Keys that belong to the whole machine, so that each host gets a file of its own to read and write.
SYSCTL_DIRECTORIES = ("vm", "net/core")
SYSCTL_FILES = (
    "fs/aio-max-nr", "fs/file-max", "fs/inotify/max_user_instances", "fs/inotify/max_user_watches",
    "fs/nr_open", "kernel/numa_balancing", "kernel/panic", "kernel/panic_on_oops", "kernel/pid_max",
    "kernel/sched_autogroup_enabled", "kernel/threads-max",
)  # fmt: skip

# What a DGX Spark shows: 119.7 of its 128 GB; the rest is the firmware's and the GPU's.
MEMINFO = {
    "MemTotal": 125_513_528, "MemFree": 112_876_040, "MemAvailable": 117_440_512, "Buffers": 131_072,
    "Cached": 5_242_880, "SwapCached": 0, "SwapTotal": 0, "SwapFree": 0, "Shmem": 65_536,
    "SReclaimable": 262_144, "HugePages_Total": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """One running or stopped host, with its files under `directory`."""

    name: str
    network: Network
    directory: Path

    @property
    def unique_name(self) -> str:
        """Return the name of its cgroups and its machine: one bed's differ from another's."""
        return self.network.namespace(self.name)

    @property
    def view(self) -> Path:
        """Return where the host's own root is mounted while it is up."""
        return self.directory / "root"

    def up(self, root: Path, *, bed_id: str, authorized_key: str) -> subprocess.Popen[bytes]:
        """Boot on an overlay of `root`, and return the process that keeps the host running."""
        self._prepare(bed_id=bed_id)
        self._authorize(authorized_key, home=root / "home/spark")
        options = f"lowerdir={root},upperdir={self.directory / 'upper'},workdir={self.directory / 'work'}"
        run(["mount", "-t", "overlay", "overlay", "-o", options, self.view])
        return self.boot()

    def boot(self) -> subprocess.Popen[bytes]:
        """Boot from the files that the host has, and return the process that keeps the host running."""
        doors = cgroups.make(self.unique_name)
        with (self.directory / "console.log").open("ab") as log:
            return subprocess.Popen(
                ["sh", "-uc", KEEPER, "keeper", *map(str, doors), "--", *self._nspawn()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={
                    "PATH": PATH,
                    "BED_NETWORK": self.network.namespace(self.name),
                    "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "0",
                    # `yes` would let writes to vm.* and kernel.* reach the machine.
                    "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network",
                },
            )  # fmt: skip

    def cut_power(self) -> None:
        """End every process of the host at once. Its disk keeps what was written, also if it was not synced."""
        cgroups.end(self.unique_name)
        self._forget_lock()
        self.network.forget_own(self.name)

    def down(self) -> None:
        """Stop everything of this host, at once, and remove its files."""
        cgroups.end(self.unique_name)
        while str(self.view) in _mount_points():
            self._forget_lock()
            run(["umount", self.view])
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(Path("/run/systemd/nspawn/propagate") / self.unique_name, ignore_errors=True)

    def _forget_lock(self) -> None:
        # A killed systemd-nspawn leaves its lock file, which is named by what it locked.
        status = self.view.stat()
        lock = Path("/run/systemd/nspawn/locks") / f"inode-{status.st_dev}:{status.st_ino}"
        lock.unlink(missing_ok=True)

    def host_key(self) -> str:
        """Return the public key that its sshd will answer with."""
        return (self.directory / "upper/etc/ssh/ssh_host_ed25519_key.pub").read_text().strip()

    def _prepare(self, *, bed_id: str) -> None:
        upper = self.directory / "upper"
        for directory in (upper / "etc/ssh", self.directory / "work", self.view, self.directory / "docker"):
            directory.mkdir(parents=True)
        (upper / "etc/hostname").write_text(f"{self.name}\n")
        (upper / "etc/bed-id").write_text(f"{bed_id}\n")
        host_key = upper / "etc/ssh/ssh_host_ed25519_key"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", host_key])
        _write_kernel_stand_ins(upper / "var/lib/bed")

    def _authorize(self, key: str, *, home: Path) -> None:
        owner, group = home.stat().st_uid, home.stat().st_gid
        keys = self.directory / "upper/home/spark/.ssh/authorized_keys"
        keys.parent.mkdir(mode=0o700, parents=True)
        keys.write_text(f"{key}\n")
        keys.chmod(0o600)
        for path in (keys, keys.parent, keys.parent.parent):
            os.chown(path, owner, group)

    def _nspawn(self) -> list[str]:
        return [
            "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--console=read-only",
            f"--machine={self.unique_name}", f"--hostname={self.name}", f"--directory={self.view}",
            f"--network-namespace-path=/run/netns/{self.network.namespace(self.name)}",
            # dockerd needs all of these; what they reach is the host's own namespaces.
            "--capability=all", "--system-call-filter=@keyring bpf",
            # The machine's own name server is not reached from here: a look-up would wait for it.
            "--resolv-conf=off", "--timezone=off",
            # overlay2 cannot lie on an overlay.
            f"--bind={self.directory / 'docker'}:/var/lib/docker",
            "/usr/sbin/bed-init",
        ]  # fmt: skip


def _write_kernel_stand_ins(target: Path) -> None:
    source = Path("/proc/sys")
    keys = [path for name in SYSCTL_DIRECTORIES for path in (source / name).iterdir()]
    keys += [source / name for name in SYSCTL_FILES]
    for path in keys:
        if not path.is_file():
            continue
        copy = target / "sysctl" / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            value = path.read_bytes()
        except OSError:  # write-only keys, such as vm.compact_memory
            value = b""
        copy.write_bytes(value)
    (target / "meminfo").write_text("".join(f"{key + ':':<16}{kib:>8} kB\n" for key, kib in MEMINFO.items()))


def _mount_points() -> list[str]:
    return [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
