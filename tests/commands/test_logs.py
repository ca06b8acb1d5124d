"""`sparkiac logs`: the journals of all hosts by time, without secrets. `ssh` and `journalctl` are stand-ins here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.host.sent import logs as program
from tests.conftest import ROOT
from tests.plan.fleets import LOCK, PAIR

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SSH: Final = """\
#!/bin/bash
# Stand-in for ssh: the last word runs in the folder of the host, with its secrets. What it prints is kept in `wire`.
set -o pipefail
while [ "$1" != -- ]; do shift; done
[ -e "$STUB/$2" ] || { printf 'ssh: connect to host %s port 22: No route to host\\033[2J\\n' "$2" >&2; exit 255; }
cd "$STUB/$2"
sh -c "$3" < <(sed -u "s#/etc/sparkiac/secrets#$PWD/secrets#") | tee wire
"""
JOURNALCTL: Final = """\
#!/bin/sh
# Stand-in for journalctl, in the folder of a host: `journal` has the lines that exist, `new` gets those that follow.
echo "$@" >>asked
for word; do
    case $word in
    --no-pager|--quiet|--output=json|--output-fields=*|--unit=*|--since=*|--no-tail|--after-cursor=*) ;;
    --lines=*) lines=${word#--lines=} ;;
    --follow) follow=1 ;;
    *) echo "unrecognized option '$word'" >&2; exit 1 ;;
    esac
done
[ -z "$follow" ] || { echo $$ >following; exec tail -n +1 -f new; }
[ ! -e journal ] || exec tail -n "$lines" journal
"""
VALUE: Final = "correct horse battery"
FIRST, SECOND = "192.168.1.11", "192.168.1.12"
DEADLINE_S: Final = 600


@pytest.fixture
def stub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the stand-ins before the real programs."""
    programs = folder / "bin"
    programs.mkdir()
    for name, text in {"ssh": SSH, "journalctl": JOURNALCTL, "sudo": "#!/bin/sh\nexit 1\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("STUB", str(folder))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (folder / "lab.yaml").write_text(PAIR)
    (folder / "lab.lock.yaml").write_text(LOCK)
    return folder


def entry(second: int, message: Any, unit: str = "sparkiac-big.service") -> str:  # noqa: ANN401
    """Return a line of journalctl's JSON."""
    time_us = str(1_795_000_000_000_000 + second * 1_000_000)
    found = {"__REALTIME_TIMESTAMP": time_us, "__CURSOR": f"s={second}", "_SYSTEMD_UNIT": unit, "MESSAGE": message}
    return json.dumps(found) + "\n"


def host(stub: Path, address: str, *entries: str) -> Path:
    """Make a host with a journal and a secret."""
    folder = stub / address
    (folder / "secrets").mkdir(parents=True)
    (folder / "secrets/key").write_text(f"{VALUE}\n")
    (folder / "journal").write_text("".join(entries))
    (folder / "new").touch()
    return folder


def test_the_lines_of_all_hosts_are_in_the_order_of_their_time(stub: Path, cli: Cli) -> None:
    host(stub, FIRST, entry(1, "loading"), entry(4, "ready"))
    host(stub, SECOND, entry(2, "worker joins"), entry(3, "worker ready"))
    outcome = cli("logs", "lab.yaml", "big")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "2026-11-18 11:06:41.000  spark-01  loading",
        "2026-11-18 11:06:42.000  spark-02  worker joins",
        "2026-11-18 11:06:43.000  spark-02  worker ready",
        "2026-11-18 11:06:44.000  spark-01  ready",
    ]


def test_no_secret_crosses_the_wire_and_no_line_moves_the_cursor(stub: Path, cli: Cli) -> None:
    coloured = list(b"\x1b[32mkey: correct \x1b[1mhorse battery\x1b[0m\x1b]0;pwn\x07")
    lines = [f"--api-key {VALUE} --port 8001", coloured, "HF_TOKEN=hf_abcdefghijkl", None, "a\rb\u202e"]
    first = host(stub, FIRST, *(entry(number, line) for number, line in enumerate(lines)))
    (first / "secrets/pem").write_text("-----BEGIN-----\nMIIEvQIBADANBg\n}\n")
    second = host(stub, SECOND, entry(9, "read MIIEvQIBADANBg"), entry(10, f"has {VALUE}"))
    (second / "secrets/pem").write_text("-----BEGIN-----\nMIIEvQIBADANBg\n}\n")
    outcome = cli("logs", "lab.yaml", "big")
    assert [line.split("  ")[-1] for line in outcome.out.splitlines()] == [
        "--api-key *** --port 8001",
        "key: ***\\x1b]0;pwn\\x07",
        "HF_TOKEN=***",
        "(a message of more than 4 kB)",
        "a\\rb\\u202e",
        "read ***",
        "has ***",
    ]
    sent = (first / "wire").read_text() + (second / "wire").read_text()
    assert not [each for each in (VALUE, "hf_abc", "MIIEv") if each in sent]


def test_a_host_has_the_lines_of_all_its_units_and_of_its_switch(stub: Path, cli: Cli) -> None:
    folder = host(stub, FIRST, entry(1, "x", "sparkiac-switch.service"), entry(2, "y"))
    outcome = cli("logs", "lab.yaml", "spark-01", "--since", "2h", "--lines", "1")
    assert outcome.out == "2026-11-18 11:06:42.000  spark-01  big: y\n"
    [asked] = (folder / "asked").read_text().splitlines()
    assert "--unit=sparkiac-big.service --unit=sparkiac-switch.service --lines=1 --since=-7200s" in asked


def test_exit_6_for_a_host_that_cannot_be_read_and_the_others_are_shown(stub: Path, cli: Cli) -> None:
    host(stub, SECOND, entry(1, "ready"))
    outcome = cli("logs", "lab.yaml", "big")
    assert outcome.code == 6
    assert outcome.out.endswith("spark-02  ready\n")
    assert "spark-01: ssh: connect to host 192.168.1.11 port 22: No route to host\\x1b[2J\n" in outcome.err
    (host(stub, FIRST) / "journal").write_text("no json\n")
    outcome = cli("logs", "lab.yaml", "spark-01")
    assert (outcome.code, outcome.out) == (6, "")
    assert "Traceback" not in outcome.err.replace("spark-01: ", "")


def test_a_host_whose_secrets_cannot_be_read_sends_no_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def denied(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", denied)
    assert program.main(["10", "", "", "sparkiac-big"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "sudo without a password" in printed.err


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bif"], "unknown host or deployment 'bif'; did you mean 'big'?"),
        (["big", "--lines", "10001"], "10001 is not in the range 1<=x<=10000"),
        (["big", "--since", "yesterday"], "'yesterday' is not of the form 90s, 10m, 2h or 1d"),
    ],
)
def test_exit_2_for_wrong_usage(cli: Cli, words: list[str], message: str) -> None:
    outcome = cli("logs", "lab.yaml", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def following(folder: Path) -> int:
    """Return the process of the stand-in for journalctl that follows; wait for it."""
    wait(lambda: (folder / "following").exists() and (folder / "following").read_text().strip() != "")
    return int((folder / "following").read_text())


def wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


def runs(process: int) -> bool:
    """Return whether a process runs; one that has ended may still wait for its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_new_lines_are_shown_until_an_interrupt_and_nothing_is_left_behind(stub: Path, how: signal.Signals) -> None:
    folders = host(stub, FIRST, entry(1, "ready")), host(stub, SECOND)
    argv = [sys.executable, "-m", "sparkiac", "logs", "lab.yaml", "big", "-f"]
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=stub, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().endswith("spark-01  ready\n")
        journals = [following(each) for each in folders]
        for number, folder in enumerate(folders, start=1):
            with (folder / "new").open("a") as file:
                file.write(entry(10 + number, f"request {number} with {VALUE}"))
            assert process.stdout.readline().endswith(f"spark-0{number}  request {number} with ***\n")
        assert "--after-cursor=s=1" in (folders[0] / "asked").read_text()
        assert "--since=@" in (folders[1] / "asked").read_text()
        process.send_signal(how)
        _, errors = process.communicate()
    wanted = (130, "sparkiac: interrupted") if how is signal.SIGINT else (-9, "")
    assert (process.returncode, errors.strip()) == wanted
    wait(lambda: not any(map(runs, journals)))
