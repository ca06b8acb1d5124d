"""Preflight of a whole host: each wrong value yields its own line, and nothing yields a traceback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from sparkiac.host.preflight import needs
from sparkiac.host.preflight.expectations import Expectations
from tests.host.expected import complete

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType
    from typing import Any

    Make = Callable[..., Any]
    States = Callable[..., dict[str, str]]

SMI = "nvidia-smi"
GOOD = "NVIDIA GB10, 12.1, 580.142\n"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch NVML library version: 580.142"
MEMINFO = "MemTotal:       125458392 kB\nMemAvailable:   98123456 kB\n"


@pytest.fixture
def states(preflight: ModuleType) -> Callable[..., dict[str, str]]:
    """Return a function that checks expectations and returns check → state: found."""

    def check(host: object, /, **wanted: object) -> dict[str, str]:
        lines = preflight.check_host(complete(Expectations, wanted), host)
        return {line.check: f"{line.state} {line.found}" for line in lines}

    return check


def test_nothing_is_checked_that_is_not_expected(states: States, machine: Make) -> None:
    assert states(machine(), host="spark-01", units={}) == {}


def test_architecture(states: States, machine: Make) -> None:
    assert states(machine(), architecture="aarch64") == {"architecture": "ok aarch64"}
    assert states(machine(), architecture="x86_64") == {"architecture": "FAIL aarch64"}


def test_gpu_and_driver(states: States, machine: Make) -> None:
    wanted = {"gpu": {"name": "NVIDIA GB10", "compute_capability": "12.1"}, "driver": "580.142"}
    assert states(machine({SMI: GOOD}), **wanted) == {
        "gpu": "ok NVIDIA GB10",
        "compute capability": "ok 12.1",
        "driver": "ok 580.142",
    }
    assert states(machine({SMI: "NVIDIA H100, 9.0, 590.44\n"}), **wanted) == {
        "gpu": "FAIL NVIDIA H100",
        "compute capability": "FAIL 9.0",
        "driver": "FAIL 590.44",
    }


@pytest.mark.parametrize(
    ("found", "wanted", "state"),
    [
        ("580.142", "580", "ok"),
        ("580.142", "580.142", "ok"),
        ("580.142.01", "580.142", "ok"),
        ("580.14", "580.142", "FAIL"),
        ("580.142", "580.14", "FAIL"),
        ("5801.1", "580", "FAIL"),
    ],
)
def test_driver_series(states: States, machine: Make, found: str, wanted: str, state: str) -> None:
    host = machine({SMI: f"NVIDIA GB10, 12.1, {found}\n"})
    assert states(host, driver=wanted) == {"driver": f"{state} {found}"}


def test_driver_that_does_not_answer_is_quoted(states: States, machine: Make) -> None:
    assert states(machine({SMI: RuntimeError(MISMATCH)}), driver="580") == {"nvidia-smi": f"FAIL {MISMATCH}"}
    assert states(machine(), driver="580") == {"nvidia-smi": "FAIL nvidia-smi: No such file or directory"}


def test_kernel_parameters(states: States, machine: Make) -> None:
    wanted = {"kernel_parameters": {"nvidia-drm.modeset": "Y"}}
    assert states(machine(), **wanted) == {"nvidia-drm.modeset": "unknown unknown (No such file or directory)"}
    path = "sys/module/nvidia_drm/parameters/modeset"
    assert states(machine(**{path: "Y\n"}), **wanted) == {"nvidia-drm.modeset": "ok Y"}
    assert states(machine(**{path: "N\n"}), **wanted) == {"nvidia-drm.modeset": "warn N"}


def test_versions(states: States, machine: Make) -> None:
    host = machine(
        {
            "docker version": "28.0.1\n",
            "docker compose version": "2.25.0\n",
            "systemctl": "systemd 255 (255.4-1ubuntu8.10)\n",
        }
    )
    wanted = {"docker": "28.0", "compose": "2.26", "container_toolkit": "1.17.8", "systemd": "254"}
    assert states(host, versions=wanted) == {
        "docker": "ok 28.0.1",
        "compose": "FAIL 2.25.0",
        "container_toolkit": "FAIL nvidia-ctk: No such file or directory",
        "systemd": "ok 255",
    }


def test_an_old_toolkit(states: States, machine: Make) -> None:
    """Containers leave it before 1.17.8 (CVE-2025-23266)."""
    host = machine({"nvidia-ctk": "NVIDIA Container Toolkit CLI version 1.17.7\n"})
    assert states(host, versions={"container_toolkit": "1.17.8"}) == {"container_toolkit": "FAIL 1.17.7"}


def test_a_bare_version_reaches_its_own_dot_zero(states: States, machine: Make) -> None:
    assert states(machine({"systemctl": "systemd 254"}), versions={"systemd": "254.0"}) == {"systemd": "ok 254"}


@pytest.mark.parametrize(("share", "state"), [(1, "ok"), (0.975, "ok"), (1.04, "FAIL"), (0.9, "FAIL")])
def test_memory(states: States, machine: Make, share: float, state: str) -> None:
    host = machine(**{"proc/meminfo": MEMINFO})
    wanted = int(125458392 * 1024 * share)
    assert states(host, memory_bytes=wanted) == {"memory": f"{state} 119.6 GiB"}


def test_disk_of_a_directory_to_be_made(states: States, machine: Make) -> None:
    found = states(machine(), disk=[{"path": "/a/b", "free_bytes": 1}, {"path": "/c", "free_bytes": 1 << 60}])
    assert found["disk /a/b"].startswith("ok ")
    assert found["disk /c"].startswith("FAIL ")


def expect(port: int) -> dict[str, object]:
    return {"ports": [{"port": port, "address": "127.0.0.1", "unit": "sparkiac-new"}]}


@pytest.mark.parametrize(
    ("former", "state", "result"),
    [
        (None, "active", "ok used by sparkiac-new"),
        (None, "inactive", "FAIL used by another program"),
        ("sparkiac-old", "activating", "ok used by sparkiac-old"),
        ("sparkiac-old", "failed", "FAIL used by another program"),
        ("not-this-port", "active", "FAIL used by another program"),
    ],
)
def test_a_port_in_use(states: States, machine: Make, former: str | None, state: str, result: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        entry = {"port": port if former != "not-this-port" else 1, "unit": former}
        files = {"etc/sparkiac/preflight.json": json.dumps({"ports": [entry]})} if former else {}
        host = machine({"systemctl show": state + "\n"}, **files)
        assert states(host, **expect(port)) == {f"port 127.0.0.1:{port}": result}


def test_a_free_port(states: States, machine: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert states(machine(), **expect(port)) == {f"port 127.0.0.1:{port}": "ok free"}


def test_an_address_of_another_host(states: States, machine: Make) -> None:
    found = states(machine(), ports=[{"port": 8001, "address": "192.0.2.1", "unit": "u"}])
    assert found == {"ports": "FAIL ports: Cannot assign requested address"}


def test_secrets(states: States, machine: Make, tmp_path: Path) -> None:
    file = tmp_path / "etc/sparkiac/secrets/key"
    host = machine(**{"etc/sparkiac/secrets/key": "x"})
    wanted = {"secrets": [{"name": "key", "mode": "0600", "header": False}]}
    file.chmod(0o600)
    assert states(host, **wanted) == {"secret key": "ok 0600 root"}
    file.chmod(0o644)
    assert states(host, **wanted) == {"secret key": "FAIL 0644 root"}
    file.write_text("")
    assert states(host, **wanted) == {"secret key": "FAIL 0644 root empty or not a regular file"}


@pytest.mark.parametrize(
    ("value", "header", "wrong"),
    [
        (b"a {{ b }} \n", False, ""),
        (b"a {{ b }} c", True, ""),
        (b"a\n", True, " with a line end, outer spaces or other characters that no HTTP header can carry"),
        (b" a", True, " with a line end, outer spaces or other characters that no HTTP header can carry"),
        ("\u00fc".encode(), True, " with a line end, outer spaces or other characters that no HTTP header can carry"),
        (b"a\0b", False, " with a NUL character, which no environment variable can contain"),
        (b"\xff", False, " not UTF-8 text"),
    ],
)
def test_the_value_of_a_secret(  # noqa: PLR0913
    states: States, machine: Make, tmp_path: Path, *, value: bytes, header: bool, wrong: str
) -> None:
    host = machine(**{"etc/sparkiac/secrets/key": ""})
    file = tmp_path / "etc/sparkiac/secrets/key"
    file.write_bytes(value)
    file.chmod(0o600)
    state = "FAIL" if wrong else "ok"
    wanted = [{"name": "key", "mode": "0600", "header": header}]
    assert states(host, secrets=wanted) == {"secret key": f"{state} 0600 root{wrong}"}


def test_a_secret_of_somebody_else(states: States, machine: Make, tmp_path: Path) -> None:
    host = machine(**{"etc/sparkiac/secrets/key": "x"})
    host.root_uid = os.getuid() + 1
    (tmp_path / "etc/sparkiac/secrets/key").chmod(0o600)
    assert states(host, secrets=[{"name": "key", "mode": "0600", "header": False}]) == {
        "secret key": f"FAIL 0600 uid {os.getuid()}"
    }


def test_a_missing_secret_unless_it_is_provided(states: States, machine: Make) -> None:
    host = machine()
    assert "No such file" in states(host, secrets=[{"name": "key", "mode": "0600", "header": False}])["secrets"]
    host.provided_secrets = ("key",)
    assert states(host, secrets=[{"name": "key", "mode": "0600", "header": False}]) == {"secret key": "ok provided"}


@pytest.mark.parametrize("hub", ["", "hub/"])
def test_store(preflight: ModuleType, machine: Make, hub: str) -> None:
    host = machine(**{f"srv/models/{hub}models--a--b/snapshots/abc/config.json": "{}"})
    wanted = ["models--a--b", "models--a--b@abc", "models--a--b@def", "models--c--d"]
    lines = preflight.check_host(complete(Expectations, {"store": [{"path": "/srv/models", "models": wanted}]}), host)
    assert [line.state for line in lines] == ["ok", "ok", "FAIL", "FAIL"]
    where = f"--cache-dir /srv/models{'/hub' if hub else ''}"
    assert lines[2].hint == f"download it: hf download a/b --revision def {where}"
    assert lines[3].hint == f"download it: hf download c/d {where}"


def test_a_store_with_a_plain_directory(preflight: ModuleType, machine: Make) -> None:
    host = machine(**{"srv/models/a/b/config.json": "{}"})
    wanted = {"store": [{"path": "/srv/models", "models": ["a/b", "c/d"]}]}
    lines = preflight.check_host(complete(Expectations, wanted), host)
    assert [line.state for line in lines] == ["ok", "FAIL"]
    assert lines[1].hint == "download it: hf download c/d --local-dir /srv/models/c/d"


def test_a_check_that_breaks_has_failed_and_the_others_go_on(states: States, machine: Make) -> None:
    found = states(machine(**{"proc/meminfo": ""}), driver="580", memory_bytes=5, architecture="aarch64")
    assert found["architecture"] == "ok aarch64"
    assert found["memory_bytes"] == "FAIL 'MemTotal'"
    assert found["nvidia-smi"].startswith("FAIL ")


def test_every_failure_says_what_to_do(preflight: ModuleType, machine: Make) -> None:
    wanted = {
        "architecture": "x",
        "driver": "1",
        "versions": {"docker": "1"},
        "secrets": [{"name": "k", "mode": "0600", "header": False}],
    }
    assert all(line.hint for line in preflight.check_host(complete(Expectations, wanted), machine()))


def run(scripts: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([scripts / "preflight", *arguments], capture_output=True, text=True, check=False)


def test_the_command(scripts: Path) -> None:
    wanted = complete(
        Expectations, {"architecture": "vax", "secrets": [{"name": "a", "mode": "0600", "header": False}]}
    )
    done = run(scripts, "--expect-json", json.dumps(wanted))
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].split()[:3] == ["FAIL", "HST009", "architecture:"]
    wanted = complete(Expectations, {"host": "h", "secrets": [{"name": "b", "mode": "0600", "header": False}]})
    done = run(scripts, "--json", "--provided-secrets", "a,b", "--expect-json", json.dumps(wanted))
    assert done.returncode == 0
    [found] = json.loads(done.stdout)["checks"]
    assert found.pop("lines") == ["ok               secret b: found provided, wanted 0600 root"]
    result = {"state": "ok", "check": "secret b", "found": "provided", "wanted": "0600 root", "hint": "", "code": ""}
    assert found == result


@pytest.mark.parametrize("text", ["{", "[1]", "5", '"x"', "null"])
def test_wrong_usage(scripts: Path, text: str) -> None:
    done = run(scripts, "--expect-json", text)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("families", "state"),
    [(["inet", "bridge"], "ok"), (["inet"], "FAIL"), ([], "FAIL")],
    ids=["works", "no bridge", "no"],
)
def test_nftables(preflight: ModuleType, machine: Make, families: list[str], state: str) -> None:
    chain = "arriving { type filter hook prerouting priority -300; }"
    asked = [f"nft --check add table {each} sparkiac; add chain {each} sparkiac {chain}" for each in families]
    lines = preflight.check_host(complete(Expectations, {"nft": True}), machine(dict.fromkeys(asked, "")))
    [line] = [line for line in lines if line.check == "nft"]
    assert line.state == state
    hint = (
        "install nftables: without it ports stay open, and nothing ensures that a model server connects to nothing, "
        "also one on loopback; or set `nft: optional` for this host"
    )
    assert line.hint == ("" if state == "ok" else hint)
    assert not [each for each in preflight.check_host(complete(Expectations, {}), machine()) if each.check == "nft"]


@pytest.mark.parametrize(
    ("answer", "files", "found"),
    [
        ('{"Driver":"nftables"}', ("tailscale0", "wg1", "enP7s7", "lo"), "Docker uses nftables; VPN tailscale0, wg1"),
        ("null", ("lo",), "no VPN"),
        (None, (), "ufw is active, which does not see ports that Docker publishes; no VPN"),
    ],
)
def test_other_firewalls_and_vpns_are_shown(
    machine: Make, answer: str | None, files: tuple[str, ...], found: str
) -> None:
    host = machine({} if answer is None else {"docker info --format {{json .FirewallBackend}}": answer})
    for name in files:
        host.path(f"/sys/class/net/{name}").mkdir(parents=True)
    if answer is None:
        host.path("/etc/ufw").mkdir(parents=True)
        host.path("/etc/ufw/ufw.conf").write_text("# ufw\nENABLED=yes\n")
    assert "; ".join(needs.firewall(host)) == found
