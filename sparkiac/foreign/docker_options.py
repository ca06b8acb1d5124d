"""Options of `docker run` as documented for Docker 28.2: which take a value, and what replaces them in sparkiac.

Source: `docker run --help` of 28.2.2, and the undocumented spellings --net, --net-alias and --dns-opt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sparkiac.foreign import values
from sparkiac.foreign.launch import Note, lost
from sparkiac.plan.confinement import CONFINED, KEYED, SETTINGS

_VALUED: Final = """
    add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cidfile
    cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems
    detach-keys device device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns
    dns-option dns-search domainname entrypoint env env-file expose gpus group-add health-cmd health-interval
    health-retries health-start-interval health-start-period health-timeout hostname io-maxbandwidth io-maxiops ip ip6
    ipc isolation kernel-memory label label-file link link-local-ip log-driver log-opt mac-address memory
    memory-reservation memory-swap memory-swappiness mount name network network-alias oom-score-adj pid pids-limit
    platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs
    ulimit user userns uts volume volume-driver volumes-from workdir
"""
_FLAGS: Final = """
    detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all quiet
    read-only rm sig-proxy tty use-api-socket
"""
GPU: Final = "nvidia.com/gpu="
"""Prefix of GPU device names in the Container Device Interface."""
VALUED: Final = frozenset(_VALUED.split())
"""Options that take a value."""
FLAGS: Final = frozenset(_FLAGS.split())
"""Options that take no value."""
_ALIASES: Final = {"net": "network", "net-alias": "network-alias", "dns-opt": "dns-option"}
_LETTERS: Final = """
a=attach c=cpu-shares d=detach e=env h=hostname i=interactive l=label m=memory p=publish P=publish-all q=quiet t=tty
u=user v=volume w=workdir
"""
_SHORT: Final = values.table(_LETTERS)
_PINNED: Final = "the lock pins the image to a digest for this architecture"
_PROBED: Final = "sparkiac's probe sends requests to the server as clients do"
_WHY: Final = {
    "detach interactive tty rm sig-proxy init cidfile detach-keys attach quiet help disable-content-trust name": "",
    "privileged cap-add group-add": CONFINED,
    "pull platform": _PINNED,
    "health-cmd health-interval health-retries health-timeout health-start-period health-start-interval": _PROBED,
    "no-healthcheck": _PROBED,
    "log-driver log-opt": "the journal keeps the log and limits its size",
    "restart": "systemd supervises the container and restarts it on failure",
}
REPLACED: Final = {
    **{name: why for names, why in _WHY.items() for name in names.split()},
    **{each.docker: each.fixed for each in SETTINGS if not each.key and each.fixed},
}
"""Option → what sparkiac does instead. Empty if the report need not mention the option."""
READ: Final = {each.docker: each for each in KEYED}
"""Option → setting that the inventory has."""

ROOT: Final = frozenset({"0", "root", "0:0", "root:root"})
"""Users that mean root; server images run as root anyway."""
UNUSED: Final = dict.fromkeys(("label", "annotation"), "metadata of the container; it does not affect the server")
"""Options that do not affect what runs."""


class DockerOption(NamedTuple):
    """One option as written on the command line."""

    name: str
    value: str
    line: int


class DockerOptions(NamedTuple):
    """All options before the image."""

    options: tuple[DockerOption, ...]
    end: int
    """Index of the image in the command's words."""
    notes: tuple[Note, ...]


def read(words: Sequence[str], lines: Sequence[int], start: int) -> DockerOptions:
    """Read the options that begin at `start`. An unknown option is assumed to take no value and is noted."""
    options: list[DockerOption] = []
    notes: list[Note] = []
    at = start
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word, line = words[at], lines[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            at += _long(word[2:], words[at : at + 1], line, options, notes)
        else:
            at += _cluster(word[1:], words[at : at + 1], line, options, notes)
    return DockerOptions(tuple(options), at, tuple(notes))


def _long(word: str, following: Sequence[str], line: int, options: list[DockerOption], notes: list[Note]) -> int:
    """Read `--name` and return how many further words belong to it."""
    name, equals, value = word.partition("=")
    name = _ALIASES.get(name, name)
    if name in FLAGS:
        is_set = value.lower() not in {"false", "0", "f"}
        if is_set or name in READ:
            options.append(DockerOption(name, "true" if is_set else "false", line))
        return 0
    if name not in VALUED:
        notes.append(lost(line, f"--{name}", "docker run of Docker 28 has no such option"))
        return 0
    if not equals and not following:
        notes.append(lost(line, f"--{name}", "its value is missing"))
        return 0
    options.append(DockerOption(name, value if equals else following[0], line))
    return 0 if equals else 1


def _cluster(letters: str, following: Sequence[str], line: int, options: list[DockerOption], notes: list[Note]) -> int:
    """Read `-itd`, `-p 80:80`, `-p80:80` or `-p=80:80` and return how many further words belong to it."""
    while letters:
        name, letters = _SHORT.get(letters[0], letters[0]), letters[1:]
        if name in VALUED:
            value = letters.removeprefix("=")
            return _long(f"{name}={value}" if value else name, following, line, options, notes)
        if name not in FLAGS:
            notes.append(lost(line, f"-{name}", "docker run of Docker 28 has no such option"))
            return 0
        options.append(DockerOption(name, "true", line))
    return 0
