"""The logs of a deployment over SSH: each host's journal and kernel log. `ssh` and `journalctl` are stand-ins here."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.plan.fleets import LOCK, PAIR

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SSH: Final = """\
#!/bin/sh
# Stand-in for ssh: the host is the last word before the command, which a shell runs.
echo "$@" >> "$STUB/ssh.log"
while [ "$1" != -- ]; do shift; done
host=${2#*@}
[ -e "$STUB/$host" ] || { printf 'ssh: connect to host %s port 22: No route to host\\033[2J\\n' "$host" >&2; exit 255; }
cd "$STUB/$host" && exec sh -c "$3"
"""
JOURNALCTL: Final = """\
#!/bin/sh
# Stand-in for journalctl, in the directory of a host. It refuses words that the real one does not document.
for word; do
    case $word in
    --no-pager|--quiet|--utc|--output=short-iso-precise|--boot|--lines=20000) ;;
    --unit=*) file=${word#--unit=} ;;
    --dmesg) file=kernel ;;
    *) echo "unrecognized option '$word'" >&2; exit 1 ;;
    esac
done
[ -e "$file" ] || exit 0
cat "$file"
"""
SUDO: Final = '#!/bin/sh\n[ "$1" = -n ] && shift && [ ! -e denied ] && exec "$@"\nexit 1\n'
AT: Final = "2026-11-22T17:00:0{}.000001+0000 {} docker[9]: "
OUT_OF_MEMORY: Final = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.96 GiB."
LOST: Final = "node0:1:2 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node2<42830>"
XID: Final = "2026-11-22T17:00:05.000001+0000 spark-02 kernel: NVRM: Xid (PCI:000f:01:00): 43, pid=39320, name=VLLM"


@pytest.fixture
def stub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put stand-ins of ssh, sudo and journalctl before the real ones."""
    programs = folder / "bin"
    programs.mkdir()
    for name, text in {"ssh": SSH, "journalctl": JOURNALCTL, "sudo": SUDO}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("STUB", str(folder))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    (folder / "lab.yaml").write_text(PAIR)
    (folder / "lab.lock.yaml").write_text(LOCK)
    return folder


def host(stub: Path, address: str, *lines: str, kernel: str = "") -> Path:
    """Make a host with the journal of the unit, each line a second after the one before."""
    folder = stub / address
    folder.mkdir()
    name = f"spark-{address[-2:]}"
    text = "".join(f"{AT.format(second, name)}{line}\n" for second, line in enumerate(lines))
    (folder / "sparkiac-big.service").write_text(text)
    (folder / "kernel").write_text(kernel)
    return folder


def diagnose(cli: Cli, *words: str) -> Outcome:
    return cli("diagnose", "--inventory", "lab.yaml", "--deployment", "big", *words)


def test_the_journals_of_all_ranks_are_read_and_the_first_error_of_any_is_the_cause(cli: Cli, stub: Path) -> None:
    host(stub, "192.168.1.12", "vLLM API server version 0.19.0", "ready", LOST)
    host(stub, "192.168.1.11", OUT_OF_MEMORY)
    outcome = diagnose(cli, "--format", "json")
    found: dict[str, Any] = json.loads(outcome.out)
    assert outcome.code == 1
    assert [each["name"] for each in found["logs"]] == ["spark-01", "spark-02"]
    assert [(each["code"], each["consequences"]) for each in found["symptoms"]] == [("MEM021", ["LOG120"])]
    asked = (stub / "ssh.log").read_text().splitlines()
    assert len(asked) == 2
    assert all(line.startswith("-o BatchMode=yes -o ConnectTimeout=10 -- ") for line in asked)


def test_the_kernel_log_is_read_too(cli: Cli, stub: Path) -> None:
    host(
        stub,
        "192.168.1.12",
        "vLLM API server version 0.19.0",
        kernel=f"{AT.format(5, 'spark-02')}ata1: link up\n{XID}\n",
    )
    host(stub, "192.168.1.11", "nothing")
    outcome = diagnose(cli)
    assert outcome.code == 1
    assert "spark-02 kernel:1 at 2026-11-22T17:00:05: " in outcome.out
    assert "MON009" in outcome.out
    assert "ata1" not in outcome.out


def test_without_sudo_the_user_reads_the_journal(cli: Cli, stub: Path) -> None:
    for address in ("192.168.1.11", "192.168.1.12"):
        (host(stub, address, OUT_OF_MEMORY) / "denied").touch()
    assert "MEM021" in diagnose(cli).out


def test_a_host_that_does_not_respond_is_named_and_the_others_are_read(cli: Cli, stub: Path) -> None:
    host(stub, "192.168.1.12", OUT_OF_MEMORY)
    outcome = diagnose(cli)
    assert outcome.code == 1
    assert "spark-01: ssh: connect to host 192.168.1.11 port 22: No route to host\\x1b[2J" in outcome.err
    assert "MEM021" in outcome.out


def test_exit_6_if_no_host_responds_or_has_a_journal(cli: Cli, stub: Path) -> None:
    host(stub, "192.168.1.12")
    outcome = diagnose(cli)
    assert (outcome.code, outcome.out) == (6, "")
    assert "spark-02: the journal has no lines: sparkiac-big has not started since the last boot" in outcome.err


def test_of_many_starts_the_last_two_are_read(cli: Cli, stub: Path) -> None:
    start = "vLLM API server version 0.19.0"
    host(stub, "192.168.1.11", "nothing")
    host(
        stub, "192.168.1.12", start, "OSError: [Errno 28] No space left on device", start, OUT_OF_MEMORY, start, "ready"
    )
    outcome = diagnose(cli)
    assert "MEM021" in outcome.out
    assert "LOG135" not in outcome.out


def test_a_port_of_the_inventory_is_used(cli: Cli, stub: Path) -> None:
    address = "address: 192.168.1.11"
    (stub / "lab.yaml").write_text(PAIR.replace(address, f"{address}\n    ssh: {{port: 2222}}"))
    host(stub, "192.168.1.11", "nothing")
    host(stub, "192.168.1.12", "nothing")
    diagnose(cli)
    assert "-p 2222 -- 192.168.1.11" in (stub / "ssh.log").read_text()


def test_without_ssh_the_message_says_so(cli: Cli, stub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(stub / "nothing"))
    outcome = diagnose(cli)
    assert (outcome.code, outcome.out) == (6, "")
    assert "spark-01: ssh is not installed on this machine" in outcome.err
