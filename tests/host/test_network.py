"""The program `network`: a tried netplan file is confirmed, or the former one comes back by itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from pathlib import Path

NAME = "60-sparkiac.yaml"
FORMER = "network:\n  version: 2\n  ethernets:\n    enp1s0f0np0:\n      addresses: [10.1.0.1/24]\n"
WANTED = FORMER.replace("10.1.0.1", "10.2.0.1")
LINK = "enp1s0f0np0"
OTHER = "enP2p1s0f0np0"
NETPLAN = """\
#!/bin/sh
# Stands in for netplan: it accepts only what the real one does. `generate` is the real one, if it is installed.
echo "netplan $*" >> "$LOG"
case "$1 $2 $#" in
"generate --root-dir 3") ls "$3/etc/netplan" > "$LOG.tried"; [ -z "$REAL" ] || exec "$REAL" "$@" ;;
"apply  1") [ ! -e "$FAIL" ] || exit 1; [ ! -e "$LINKS.then" ] || mv "$LINKS.then" "$LINKS" ;;
*) echo "netplan: unknown arguments: $*" >&2; exit 64 ;;
esac
"""
OTHERS = {
    "systemd-run": '#!/bin/sh\n# Stands in for systemd-run.\necho "systemd-run $*" >> "$LOG"\n',
    "systemctl": '#!/bin/sh\n# Stands in for systemctl.\necho "systemctl $*" >> "$LOG"\n',
    "ip": """#!/bin/sh
# Stands in for ip.
case "$*" in
"-json route show default") echo '[{"dst": "default", "dev": "enP7s7"}]' ;;
"-json address show") cat "$LINKS" ;;
*) echo "ip $*" >> "$LOG"; [ ! -e "$LINKS.set" ] || mv "$LINKS.set" "$LINKS" ;;
esac
""",
}


class Host:
    """A root directory, and the commands that the program calls."""

    def __init__(self, root: Path, program: Path) -> None:
        """Write the stand-ins and two netplan files."""
        self.root, self.program, self.log = root, program, root / "log"
        tools = root / "tools"
        tools.mkdir(parents=True)
        for name, text in {"netplan": NETPLAN, **OTHERS}.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        self.env = os.environ | {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "SPARKIAC_NETWORK_ROOT": str(root),
            "LOG": str(self.log),
            "REAL": shutil.which("netplan") or "",
            "FAIL": str(root / "fail"),
            "LINKS": str(root / "links"),
        }
        self.has("10.2.0.1/24")
        self.put("etc/netplan/" + NAME, FORMER)
        self.put("etc/netplan/01-dgx.yaml", "network: {version: 2}\n")

    def put(self, path: str, text: str) -> Path:
        """Write a file that only root can read."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        (self.root / path).chmod(0o600)
        return self.root / path

    def has(self, *addresses: str, mtu: int = 1500, name: str = "links", carrier: bool = True) -> None:
        """Set what `ip` lists for the link; it lists nothing for other interfaces."""
        found = [dict(zip(("local", "prefixlen"), each.split("/"), strict=True)) for each in addresses]
        link = {"ifname": LINK, "mtu": mtu, "flags": ["UP", *["LOWER_UP"] * carrier], "addr_info": found}
        others = [{"ifname": each, "mtu": 1500, "flags": ["UP"], "addr_info": []} for each in ("lo", "enP7s7", OTHER)]
        (self.root / name).write_text(json.dumps([link, *others]))

    def run(self, *words: str) -> tuple[int, str]:
        """Run the program; return its exit status and output."""
        done = subprocess.run((self.program, *words), env=self.env, capture_output=True, text=True, check=False)
        return done.returncode, (done.stdout + done.stderr).strip()

    def attempt(self, text: str) -> tuple[int, str]:
        """Try a file."""
        found = {"text": text, "ethernets": yaml.safe_load(text)["network"]["ethernets"]}
        return self.run("try", str(self.put("wanted.json", json.dumps(found))), "90")

    def calls(self) -> list[str]:
        """Return the commands that the program called."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def read(self, path: str) -> str | None:
        """Return the text of a file; None if there is none."""
        return (self.root / path).read_text() if (self.root / path).exists() else None


@pytest.fixture
def host(tmp_path: Path, scripts: Path) -> Host:
    return Host(tmp_path, scripts / "network")


def test_a_tried_file_hides_the_installed_one_and_a_timer_runs(host: Host) -> None:
    assert host.attempt(WANTED) == (0, "tried: without `network confirm` it is reverted in 90 s")
    assert (host.read(f"run/netplan/{NAME}"), host.read(f"etc/netplan/{NAME}")) == (WANTED, FORMER)
    timer = [each for each in host.calls() if each.startswith("systemd-run ")]
    assert len(timer) == 1
    assert "--on-active=90s" in timer[0]
    assert timer[0].endswith("/network revert")
    assert host.calls().index(timer[0]) < host.calls().index("netplan apply"), "the timer runs before the change"


def test_a_confirmed_file_is_installed_and_the_former_one_kept(host: Host) -> None:
    host.attempt(WANTED)
    assert host.run("confirm") == (0, "confirmed")
    assert (host.read(f"run/netplan/{NAME}"), host.read(f"etc/netplan/{NAME}")) == (None, WANTED)
    assert host.read(f"var/lib/sparkiac/network/{NAME}") == FORMER
    assert (host.root / f"etc/netplan/{NAME}").stat().st_mode & 0o777 == 0o600
    assert "systemctl stop sparkiac-network-revert.timer" in host.calls()
    assert host.attempt(WANTED) == (0, "unchanged")


def test_an_unconfirmed_file_is_removed(host: Host) -> None:
    host.attempt(WANTED)
    assert host.run("revert") == (0, "reverted")
    assert (host.read(f"run/netplan/{NAME}"), host.read(f"etc/netplan/{NAME}")) == (None, FORMER)
    assert host.calls()[-1] == "netplan apply"
    code, said = host.run("confirm")
    assert (code, said) == (1, "network: nothing is tried: the time has passed, or the host was restarted")


def test_files_that_cannot_be_written_are_reverted_by_the_timer(host: Host) -> None:
    host.attempt(WANTED)
    host.put("var/lib/sparkiac/network", "not a directory")
    began = len(host.calls())
    assert host.run("confirm")[0] == 1
    assert host.calls()[began:] == [], "the timer still runs"
    assert (host.read(f"run/netplan/{NAME}"), host.read(f"etc/netplan/{NAME}")) == (WANTED, FORMER)


def test_a_revert_restores_what_netplan_does_not(host: Host) -> None:
    """As netplan with systemd-networkd was seen to do: the MTU stays, and a link without a file loses its addresses."""
    had = ("10.9.0.1/24", "fd00::9/64")
    host.has(*had, mtu=1500)
    host.has("10.2.0.1/24", mtu=9000, name="links.then")
    assert host.attempt(WANTED)[0] == 0
    began = len(host.calls())
    host.has("10.2.0.1/24", mtu=9000, name="links.then")
    host.has(*had, mtu=1500, name="links.set")
    assert host.run("revert") == (0, "reverted")
    assert host.calls()[began:] == [
        "netplan apply",
        f"ip link set {LINK} mtu 1500",
        f"ip address delete 10.2.0.1/24 dev {LINK}",
        f"ip address add 10.9.0.1/24 dev {LINK}",
        f"ip address add fd00::9/64 dev {LINK}",
    ]


def test_a_second_try_is_reverted_to_what_was_before_the_first(host: Host) -> None:
    host.has("10.9.0.1/24")
    host.has("10.2.0.1/24", name="links.then")
    host.attempt(WANTED)
    host.has("10.3.0.1/24", name="links.then")
    host.attempt(WANTED.replace("10.2.0.1", "10.3.0.1"))
    host.has("10.9.0.1/24", name="links.set")
    host.run("revert")
    assert host.calls()[-1] == f"ip address add 10.9.0.1/24 dev {LINK}"


def test_a_link_without_a_cable_needs_no_address_yet(host: Host) -> None:
    host.has(carrier=False)
    assert host.attempt(WANTED)[0] == 0


def test_a_failing_apply_reverts_at_once(host: Host) -> None:
    (host.root / "fail").touch()
    assert host.attempt(WANTED)[0] == 1
    assert (host.read(f"run/netplan/{NAME}"), host.read(f"etc/netplan/{NAME}")) == (None, FORMER)


def test_the_interface_of_the_default_route_is_refused(host: Host) -> None:
    code, said = host.attempt(WANTED.replace("enp1s0f0np0", "enP7s7"))
    assert (code, said) == (1, "network: enP7s7 has the default route of this host, so it is no link between hosts")
    assert host.calls() == []


def test_an_interface_that_the_host_does_not_have_is_refused(host: Host) -> None:
    code, said = host.attempt(WANTED.replace("enp1s0f0np0", "enp9s9"))
    assert (code, said) == (1, f"network: this host has no interface enp9s9; it has {OTHER}, enP7s7, {LINK}")
    assert host.calls() == []


@pytest.mark.skipif(shutil.which("netplan") is None and "CI" not in os.environ, reason="netplan is not installed")
def test_what_netplan_refuses_changes_nothing(host: Host) -> None:
    code, said = host.attempt(WANTED.replace("addresses", "adresses"))
    assert code == 1
    assert "adresses" in said
    assert not any(each.startswith(("systemd-run", "netplan apply")) for each in host.calls())
    assert host.read(f"run/netplan/{NAME}") is None


def test_a_file_is_tried_together_with_the_others_of_the_host(host: Host) -> None:
    host.attempt(WANTED)
    assert host.log.with_name(f"{host.log.name}.tried").read_text().split() == ["01-dgx.yaml", NAME]


def test_a_host_without_links_gets_its_file_removed(host: Host) -> None:
    assert host.run("try", "-", "90")[0] == 0
    assert host.run("confirm") == (0, "confirmed")
    assert host.read(f"etc/netplan/{NAME}") is None
    assert host.read(f"var/lib/sparkiac/network/{NAME}") == FORMER
    assert host.run("try", "-", "90") == (0, "unchanged")


def test_no_links_after_an_unconfirmed_file_are_confirmed_as_well(host: Host) -> None:
    (host.root / f"etc/netplan/{NAME}").unlink()
    host.attempt(WANTED)
    assert host.run("try", "-", "90")[0] == 0
    assert host.run("confirm") == (0, "confirmed")
    assert (host.read(f"run/netplan/{NAME}"), host.read(f"etc/netplan/{NAME}")) == (None, None)


@pytest.mark.skipif(shutil.which("netplan") is None and "CI" not in os.environ, reason="netplan is not installed")
def test_netplan_prefers_the_tried_file(tmp_path: Path) -> None:
    """The whole procedure depends on this: a file in /run/netplan hides the one of the same name in /etc/netplan."""
    for folder, text in (("etc", FORMER), ("run", WANTED)):
        path = tmp_path / folder / "netplan" / NAME
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o600)
    subprocess.run(("netplan", "generate", "--root-dir", tmp_path), check=True, capture_output=True)
    found = "".join(each.read_text() for each in (tmp_path / "run/systemd/network").iterdir())
    assert "10.2.0.1" in found
    assert "10.1.0.1" not in found


@pytest.mark.parametrize("words", [("trial",), ("try", "-"), ("try", "-", "soon")])
def test_wrong_arguments_print_the_usage(host: Host, words: tuple[str, ...]) -> None:
    code, said = host.run(*words)
    assert code == 2
    assert "usage: network try FILE SECONDS" in said
