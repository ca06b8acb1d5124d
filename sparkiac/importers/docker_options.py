"""Options of `docker run` as Docker 28.2 documents them: which take a value, and what becomes of them here.

Source: `docker run --help` of 28.2.2, and the hidden spellings that it takes (--net, --net-alias, --dns-opt).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers.launch import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

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
"""What the GPU's devices are called where the container's engine knows it by the Container Device Interface."""
VALUED: Final = frozenset(_VALUED.split())
"""Options that take a value."""
FLAGS: Final = frozenset(_FLAGS.split())
"""Options that take none."""
_ALIASES: Final = {"net": "network", "net-alias": "network-alias", "dns-opt": "dns-option"}
_LETTERS: Final = """
a=attach c=cpu-shares d=detach e=env h=hostname i=interactive l=label m=memory p=publish P=publish-all q=quiet t=tty
u=user v=volume w=workdir
"""
_SHORT: Final = dict(pair.split("=") for pair in _LETTERS.split())
_CONFINED: Final = "the container has no capabilities and no privileges here, and gets the GPU all the same"
_PINNED: Final = "the lock pins the image to a digest for this architecture"
_PROBED: Final = "sparkiac's own probe asks the server, as clients would"
_WHY: Final = {
    "detach interactive tty rm sig-proxy init cidfile detach-keys attach quiet help disable-content-trust name": "",
    "privileged cap-add cap-drop security-opt group-add": _CONFINED,
    "pull platform": _PINNED,
    "health-cmd health-interval health-retries health-timeout health-start-period health-start-interval": _PROBED,
    "no-healthcheck": _PROBED,
    "tmpfs": "every container has a /tmp of its own; container.tmp_size_gib bounds it",
    "log-driver log-opt": "the journal keeps the log, and its size is bounded",
    "pids-limit oom-score-adj": "every container is bounded alike",
    "restart": "systemd is the one supervisor, and restarts what fails",
}
MEANT: Final = {name: why for names, why in _WHY.items() for name in names.split()}
"""Option → what is done instead, for what a unit of sparkiac's does in its own way; empty where it needs no word."""


ROOT: Final = frozenset({"0", "root", "0:0", "root:root"})
"""Users that images of servers run as anyway."""
UNUSED: Final = dict.fromkeys(("label", "annotation"), "a remark on the container; no part of the server")
"""Options that say nothing of what runs."""


class Given(NamedTuple):
    """One option as it is given."""

    name: str
    value: str
    line: int


class Options(NamedTuple):
    """All options before the image."""

    given: tuple[Given, ...]
    end: int
    """Index of the image's word."""
    notes: tuple[Note, ...]


def read(words: Sequence[str], lines: Sequence[int], start: int) -> Options:
    """Read the options that begin at `start`. One that is not known takes no word, and is a note."""
    given: list[Given] = []
    notes: list[Note] = []
    at = start
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word, line = words[at], lines[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            at += _long(word[2:], words[at : at + 1], line, given, notes)
        else:
            at += _cluster(word[1:], words[at : at + 1], line, given, notes)
    return Options(tuple(given), at, tuple(notes))


def _long(word: str, following: Sequence[str], line: int, given: list[Given], notes: list[Note]) -> int:
    """Read `--name`, and give how many further words it takes."""
    name, equals, value = word.partition("=")
    name = _ALIASES.get(name, name)
    if name in FLAGS:
        if value.lower() not in {"false", "0", "f"}:
            given.append(Given(name, "true", line))
        return 0
    if name not in VALUED:
        notes.append(Note("lost", line, f"--{name}", "docker run of Docker 28 has no such option"))
        return 0
    if not equals and not following:
        notes.append(Note("lost", line, f"--{name}", "its value is missing"))
        return 0
    given.append(Given(name, value if equals else following[0], line))
    return 0 if equals else 1


def _cluster(letters: str, following: Sequence[str], line: int, given: list[Given], notes: list[Note]) -> int:
    """Read `-itd`, `-p 80:80`, `-p80:80`, `-p=80:80`, and give how many further words it takes."""
    while letters:
        name, letters = _SHORT.get(letters[0], letters[0]), letters[1:]
        if name in VALUED:
            value = letters.removeprefix("=")
            return _long(f"{name}={value}" if value else name, following, line, given, notes)
        if name not in FLAGS:
            notes.append(Note("lost", line, f"-{name}", "docker run of Docker 28 has no such option"))
            return 0
        given.append(Given(name, "true", line))
    return 0
