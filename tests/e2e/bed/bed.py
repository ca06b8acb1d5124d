"""The test bed as the tests use it: `with Bed() as bed: bed.ssh("spark-01", "uptime")`."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import shlex
import shutil
import signal
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

from tests.e2e.bed import cgroups, images, registry, rootfs
from tests.e2e.bed.host import Machine
from tests.e2e.bed.network import HOSTS, Host, Network
from tests.e2e.bed.shell import BedError, locked, run, wait_for

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from tests.upstream.registry.servers import Authority

USER = "spark"
PREFIX = re.compile(r"[a-z][a-z0-9]{0,11}")
# A Unix socket's path ends at 108 characters; ssh adds its own name and a random end to the directory.
CONTROL_PATH_MAX = 60
# A file in the bed's directory, locked for as long as the process lives that will take the bed down.
OWNED = "owned"


class Bed:
    """Two hosts and a registry, in namespaces, cgroups and files named by `prefix`."""

    def __init__(self, prefix: str | None = None, *, suite: str = rootfs.SUITE) -> None:
        """Take a prefix (or $SPARKIAC_BED_PREFIX, or one of this process's own); start nothing yet."""
        self.suite = suite
        self.prefix = prefix or os.environ.get("SPARKIAC_BED_PREFIX") or f"sb{os.getpid()}"
        if not PREFIX.fullmatch(self.prefix):
            message = f"a prefix is 1 to 12 of a-z and 0-9, beginning with a letter: {self.prefix!r}"
            raise BedError(message)
        self.directory = rootfs.cache() / "beds" / self.prefix
        self.hosts: dict[str, Host] = {host.name: host for host in HOSTS}
        self.registry = registry.ADDRESS
        self.ssh_key = self.directory / "ssh/id"
        self.known_hosts = self.directory / "ssh/known_hosts"
        self.control_path = self.directory / "cp"
        self._network = Network(self.prefix)
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._owned: TextIO | None = None

    # -- life ---------------------------------------------------------------------------------

    def up(self) -> Self:
        """Start everything and return when sshd and dockerd answer on both hosts."""
        if missing := requirements():
            raise BedError("this machine cannot run the bed: " + "; ".join(missing))
        if len(str(self.control_path)) > CONTROL_PATH_MAX:
            message = f"too long for ssh's sockets, set SPARKIAC_BED_DIR: {self.control_path}"
            raise BedError(message)
        if self._exists():
            message = f"a bed {self.prefix!r} is already up, or was left: take it down first"
            raise BedError(message)
        root = self.rootfs
        atexit.register(self.down)
        try:
            with locked(rootfs.cache() / "beds.lock"):
                end_abandoned()
                self._write_identity()
            self._start(root)
        except BaseException:
            self.down()
            raise
        return self

    def down(self) -> None:
        """Stop and remove everything of this bed; a bed that is not up is no error."""
        atexit.unregister(self.down)
        with contextlib.ExitStack() as steps:
            # In reverse, and each even when another failed; the lock last: a bed without one counts as abandoned.
            steps.callback(self._disown)
            steps.callback(shutil.rmtree, self.directory, ignore_errors=True)
            steps.callback(self._network.down)
            for name in self.hosts:
                steps.callback(self._machine(name).down)
            # First: a keeper that is still on its way into its cgroups would make them busy.
            steps.callback(self._end_children)
            steps.callback(self._end_orphans)

    def keep(self) -> None:
        """Leave the bed up when this interpreter exits; someone calls `down` later."""
        atexit.unregister(self.down)
        (self.directory / OWNED).unlink()

    def _end_orphans(self) -> None:
        """Kill Ansible's workers whose controller was killed: they lead sessions of their own, and wait for ever."""
        mark = f"={self.ssh_key}\0".encode()
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (place / "environ").read_bytes():
                    os.kill(int(place.name), signal.SIGKILL)

    def __enter__(self) -> Self:
        """Start the bed."""
        return self.up()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the bed."""
        self.down()

    # -- use ----------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """Return what /etc/bed-id says on this bed's hosts, and on no other bed's."""
        return (self.directory / "id").read_text().strip()

    @property
    def rootfs(self) -> Path:
        """Return the hosts' built root, to be read only."""
        return rootfs.built(self.suite)

    @property
    def ssh_options(self) -> list[str]:
        """Return ssh's options for this bed's hosts, whose keys are known and checked."""
        return [
            "-F", "none", "-i", str(self.ssh_key), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
            "-o", f"UserKnownHostsFile={self.known_hosts}", "-o", "StrictHostKeyChecking=yes",
            "-o", "ConnectTimeout=5", "-o", "LogLevel=ERROR",
        ]  # fmt: skip

    def ssh(
        self, host: str, command: str, *, check: bool = True, root: bool = False, timeout: float = 900
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command on a host as `spark`, or as root through sudo."""
        if root:
            command = f"sudo -n sh -c {shlex.quote(command)}"
        target = f"{USER}@{self.hosts[host].address}"
        return self.run(["ssh", *self.ssh_options, target, command], check=check, timeout=timeout)

    def wait_until(self, host: str, condition: str, *, timeout: float = 600) -> None:
        """Return once a shell command succeeds on a host, which repeats it: a connection for each look costs more."""
        loop = f"until {condition}; do sleep 0.1; done"
        self.ssh(host, f"timeout {timeout} sh -c {shlex.quote(loop)}", root=True, timeout=timeout + 60)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 600,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of this machine on the control station, which reaches hosts and registry."""
        return run(self.inside(argv), cwd=cwd, env=env, timeout=timeout, check=check)

    def inside(self, argv: Sequence[str | Path], *, name: str = "control") -> list[str]:
        """Return the command that runs `argv` on the control station, or as the guest, for a caller's own Popen."""
        return self._network.inside(argv, name=name)

    def push(  # noqa: PLR0913  each is a part of an image
        self,
        repository: str,
        *,
        tag: str = "latest",
        entrypoint: Sequence[str] = images.NGC_ENTRYPOINT,
        version: str = images.VERSION,
        files: Mapping[str, bytes] | None = None,
        user: str = "",
    ) -> str:
        """Push the engine stand-in, or other files, as `repository`:`tag`; return the digest of its index."""
        layout = images.layout(entrypoint=list(entrypoint), version=version, files=files, user=user)
        return registry.push(self._network, layout, repository, tag)

    def push_with_ray(self, repository: str, *, tag: str) -> str:
        """Push the engine stand-in in an image that contains real Ray; return the digest of its index."""
        layout = images.layout(entrypoint=list(images.SERVE_ENTRYPOINT), version=images.VERSION, with_ray=True)
        return registry.push(self._network, layout, repository, tag)

    def prefer(self) -> None:
        """Give the hosts a larger share of the processors, for programs whose start has a fixed time limit."""
        for name in self.hosts:
            cgroups.prefer(self._machine(name).unique_name)

    def reboot(self, host: str, *, timeout: float = 600) -> None:
        """Reboot a host as an operator would and return when it is up again."""
        before = self._boot_id(host)
        self.ssh(host, "systemctl reboot", root=True, check=False)  # the connection may end first
        wait_for(lambda: self._boot_id(host) not in ("", before), f"{host} to come back", timeout=timeout)
        self._wait_until_ready(host)

    def cut_power(self, host: str) -> None:
        """End a host at once; `power_on` boots it again."""
        self._network.set_power(self.hosts[host], "down")
        keeper = self._children.pop(host)
        keeper.kill()
        keeper.wait(timeout=60)
        self._machine(host).cut_power()
        self._network.set_power(self.hosts[host], "up")

    def power_on(self, host: str, *, wait: bool = True) -> None:
        """Boot a host whose power was cut; return when it is up."""
        self._children[host] = self._machine(host).boot()
        if wait:
            self._wait_until_ready(host)

    def host_of(self, process: int) -> str | None:
        """Return the host on which a process of this machine runs; None if it has ended or is no host's."""
        try:
            groups = Path(f"/proc/{process}/cgroup").read_text()
        except OSError:
            return None
        return next((name for name in self.hosts if f":/{self._machine(name).unique_name}/" in groups), None)

    def stop_registry(self) -> None:
        """End the registry: nothing listens at its address any more."""
        child = self._children.pop("registry")
        child.kill()
        child.wait(timeout=60)

    def start_registry(self) -> None:
        """Start the registry with what was pushed to it."""
        self._children["registry"] = registry.start(self._network, self.directory / "registry")

    def start_tls_registry(self, authority: Authority) -> str:
        """Serve what was pushed over TLS as well, with a certificate that the hosts trust. Return the address."""
        self._children["tls registry"] = registry.start(self._network, self.directory / "registry", tls=authority)
        trusted = f"/etc/docker/certs.d/{registry.TLS_ADDRESS}"
        script = f"mkdir -p {trusted} && cat >{trusted}/ca.crt <<'END'\n{authority.bundle.read_text()}END"
        for host in self.hosts:
            self.ssh(host, script, root=True)
        return registry.TLS_ADDRESS

    def set_driver(self, host: str, version: str) -> None:
        """Give a host another NVIDIA driver; an empty version removes the driver."""
        self.ssh(host, f"echo {version} >/etc/nvidia-stub/driver; nvidia-stub-load", root=True)

    @contextlib.contextmanager
    def unplugged(self, host: str) -> Iterator[None]:
        """Unplug a host's management cable for a while: neither the control station nor a client reaches it."""
        self._network.set_link(host, "down")
        try:
            yield
        finally:
            self._network.set_link(host, "up")
            self._end_connections()

    def _end_connections(self) -> None:
        """End the connections that ssh shares: after an outage they wait longer than Ansible does."""
        for socket in self.control_path.iterdir():
            self.run(["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "host"], check=False)

    @contextlib.contextmanager
    def without_registry(self) -> Iterator[None]:
        """End the registry's process for a while; what was pushed is kept."""
        self.stop_registry()
        try:
            yield
        finally:
            self.start_registry()

    def cut_fabric(self) -> None:
        """Unplug the fabric cable."""
        self._network.set_fabric("down")

    def restore_fabric(self) -> None:
        """Plug the fabric cable in."""
        self._network.set_fabric("up")

    # -- parts --------------------------------------------------------------------------------

    def _start(self, root: Path) -> None:
        self._network.up()
        public_key = self.ssh_key.with_suffix(".pub").read_text().strip()
        known = []
        for host in HOSTS:
            machine = self._machine(host.name)
            self._children[host.name] = machine.up(root, bed_id=self.id, authorized_key=public_key)
            known.append(f"{host.address},{host.name} {machine.host_key()}\n")
        self.known_hosts.write_text("".join(known))
        self.start_registry()
        for name in self.hosts:
            self._wait_until_ready(name)

    def _write_identity(self) -> None:
        self.ssh_key.parent.mkdir(parents=True)
        self.control_path.mkdir(mode=0o700)
        self._owned = (self.directory / OWNED).open("w")
        fcntl.flock(self._owned, fcntl.LOCK_EX)
        (self.directory / "id").write_text(f"{self.prefix}-{uuid.uuid4()}\n")
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.prefix, "-f", self.ssh_key])

    def _machine(self, name: str) -> Machine:
        return Machine(name, self._network, self.directory / "hosts" / name)

    def _wait_until_ready(self, host: str) -> None:
        log = self.directory / "hosts" / host / "console.log"
        wait_for(lambda: bool(self._boot_id(host)), f"sshd on {host}; its log is {log}", timeout=600)
        self.wait_until(host, "docker info >/dev/null 2>&1")

    def _boot_id(self, host: str) -> str:
        answer = self.ssh(host, "cat /proc/sys/kernel/random/boot_id", check=False)
        return answer.stdout.strip() if answer.returncode == 0 else ""

    def _exists(self) -> bool:
        namespaces = any((Path("/run/netns") / name).exists() for name in self._network.namespaces)
        return namespaces or self.directory.exists()

    def _end_children(self) -> None:
        for child in self._children.values():
            child.kill()
            child.wait(timeout=60)
        self._children.clear()

    def _disown(self) -> None:
        if self._owned:
            self._owned.close()


def end_abandoned() -> None:
    """Take down the beds whose process was killed before it could; the lock of a living one holds."""
    for owned in (rootfs.cache() / "beds").glob(f"*/{OWNED}"):
        with contextlib.suppress(BlockingIOError, FileNotFoundError), owned.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            Bed(owned.parent.name).down()


def requirements() -> list[str]:
    """Return what this machine lacks to run a bed, each with the reason; nothing when it can."""
    missing = rootfs.missing_programs()
    if os.geteuid() != 0:
        missing.append("root (the bed makes namespaces, mounts and cgroups)")
    if not (cgroups.MOUNT / "memory/cgroup.procs").exists():
        missing.append("cgroup v1 hierarchies (the bed's hosts are not made for a v2-only machine)")
    if "overlay" not in Path("/proc/filesystems").read_text():
        missing.append("overlayfs")
    try:
        rootfs.compose_binary()
    except BedError as error:
        missing.append(str(error))
    return missing
