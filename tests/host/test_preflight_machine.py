"""Preflight of driver, GPU, memory and Docker's socket: what two sources disagree on warns and does not fail."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sparkiac.host.preflight.expectations import Expectations
from tests.host.expected import complete

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType
    from typing import Any

    Make = Callable[..., Any]
    Check = Callable[..., list[tuple[str, str, str]]]

DOUBTS = [{"series": "590", "why": "graphs were seen to hang"}, {"series": "595", "why": "one model ran on it"}]
MEMINFO = "MemTotal:       125458392 kB\nMemAvailable:   {} kB\n"
GIB_KB = 1 << 20
TUNED = {"proc/sys/vm/min_free_kbytes": "5242880\n", "proc/sys/vm/dirty_ratio": "20\n"}


@pytest.fixture
def check(preflight: ModuleType) -> Check:
    """Return a function that checks expectations and returns (code, state, found) of each line."""

    def run(host: object, /, **wanted: object) -> list[tuple[str, str, str]]:
        return [
            (line.code, line.state, line.found) for line in preflight.check_host(complete(Expectations, wanted), host)
        ]

    return run


def smi(driver: str) -> dict[str, str]:
    return {"nvidia-smi": f"NVIDIA GB10, 12.1, {driver}\n"}


def test_what_is_no_spark_has_the_code_of_the_hardware_facts(check: Check, machine: Make) -> None:
    """(HST009) Architecture, GPU, compute capability and memory."""
    host = machine({"nvidia-smi": "NVIDIA H100, 9.0, 580.142\n"}, **{"proc/meminfo": MEMINFO.format(1)})
    gpu = {"name": "NVIDIA GB10", "compute_capability": "12.1"}
    assert check(host, architecture="x86_64", gpu=gpu, memory_bytes=1 << 30) == [
        ("HST009", "FAIL", "aarch64"),
        ("HST009", "FAIL", "NVIDIA H100"),
        ("HST009", "FAIL", "9.0"),
        ("HST009", "FAIL", "119.6 GiB"),
    ]


def test_a_gpu_that_the_host_does_not_see(check: Check, machine: Make) -> None:
    """(HST002) Neither does a container then; the toolkit is the other half of it."""
    found = check(machine(), driver="580", versions={"container_toolkit": "1.17.8"})
    assert [(code, state) for code, state, _ in found] == [("HST002", "FAIL"), ("HST002", "FAIL")]


@pytest.mark.parametrize(
    ("driver", "wanted", "lines"),
    [
        ("580.142", "580", [("DRV001", "ok", "580.142")]),
        ("590.44", "580", [("DRV001", "FAIL", "590.44"), ("DRV001", "warn", "590.44")]),
        ("590.44", "590.44", [("DRV001", "ok", "590.44"), ("DRV001", "warn", "590.44")]),
        ("595.71.05", "595.71.05", [("DRV001", "ok", "595.71.05"), ("DRV001", "warn", "595.71.05")]),
        ("5901.1", "5901", [("DRV001", "ok", "5901.1")]),
    ],
)
def test_a_driver_that_sources_disagree_on_warns_and_one_that_drifted_fails(
    check: Check, machine: Make, driver: str, wanted: str, lines: list[tuple[str, str, str]]
) -> None:
    """(DRV001) The inventory may pin 590; a host that has it without being asked fails."""
    assert check(machine(smi(driver)), driver=wanted, doubted_drivers=DOUBTS) == lines


def test_a_doubt_says_why(preflight: ModuleType, machine: Make) -> None:
    [line] = preflight.check_host(complete(Expectations, {"doubted_drivers": DOUBTS}), machine(smi("595.71.05")))
    assert (line.wanted, line.hint) == ("not 595", "one model ran on it")


@pytest.mark.parametrize(
    ("driver", "line"),
    [
        ("590.44", ("DRV003", "ok", "590.44")),
        ("595.71.05", ("DRV003", "ok", "595.71.05")),
        ("580.142", ("DRV002", "warn", "580.142, with forward compatibility")),
        ("590.43", ("DRV003", "FAIL", "590.43")),
        ("570.86", ("DRV003", "FAIL", "570.86")),
    ],
)
def test_an_image_that_requires_a_newer_driver(
    preflight: ModuleType, check: Check, machine: Make, driver: str, line: tuple[str, str, str]
) -> None:
    """(DRV002, DRV003) The series of its forward compatibility warns, and says which line of the log to look for."""
    image = {"unit": "nano", "min_driver": "590.44", "forward_compat": "580"}
    assert check(machine(smi(driver)), image_drivers=[image]) == [line]
    [found] = preflight.check_host(complete(Expectations, {"image_drivers": [image]}), machine(smi(driver)))
    assert ("CUDA Forward Compatibility mode ENABLED" in found.hint) is (line[0] == "DRV002")
    assert bool(found.hint) is (line[1] != "ok")


def test_an_image_without_forward_compatibility(check: Check, machine: Make) -> None:
    """(DRV003) Nothing is assumed of it."""
    found = check(machine(smi("580.142")), image_drivers=[{"unit": "nano", "min_driver": "590.44"}])
    assert found == [("DRV003", "FAIL", "580.142")]


def test_modeset_warns_under_its_code(check: Check, machine: Make) -> None:
    """(MEM009) Other parameters have no page."""
    files = {"sys/module/nvidia_drm/parameters/modeset": "N\n", "sys/module/kvm/parameters/x": "1\n"}
    wanted = {"nvidia-drm.modeset": "Y", "kvm.x": "1"}
    assert check(machine(**files), kernel_parameters=wanted) == [("MEM009", "warn", "N"), ("", "ok", "1")]


@pytest.mark.parametrize(
    ("running", "available_gib", "lines"),
    [
        ("", 110, [("MEM017", "ok", "110.0 GiB")]),
        ("", 19, [("MEM017", "warn", "19.0 GiB")]),
        ("abc\n", 19, []),
    ],
)
def test_memory_that_is_gone_while_nothing_runs(
    check: Check, machine: Make, running: str, available_gib: int, lines: list[tuple[str, str, str]]
) -> None:
    """(MEM017) Of a host on which a container runs nothing can be told."""
    host = machine({"docker ps -q": running}, **{"proc/meminfo": MEMINFO.format(available_gib * GIB_KB)})
    assert check(host, idle_memory_bytes=89 << 30) == lines


def test_load_tuning_is_shown_with_what_is_against_it(preflight: ModuleType, check: Check, machine: Make) -> None:
    """(MEM012, MEM013, MEM014, MEM015) None of it fails or warns."""
    files = {
        **TUNED,
        "sys/block/nvme0n1/queue/read_ahead_kb": "8\n",
        "sys/block/sda/queue/read_ahead_kb": "128\n",
        "proc/77/cmdline": "sh\0-c\0while sleep 0.1; do echo 3 >/proc/sys/vm/drop_caches; done\0",
        "proc/78/cmdline": "sleep\0" + "9\0",
    }
    wanted = {"vm.min_free_kbytes": "5242880", "vm.dirty_ratio": "5"}
    assert check(machine(**files), load_tuning=wanted) == [
        ("MEM012", "info", "5242880"),
        ("MEM015", "info", "20"),
        ("MEM014", "info", "8 KiB"),
        ("MEM013", "info", "process 77"),
    ]
    lines = preflight.check_host(complete(Expectations, {"load_tuning": wanted}), machine())
    assert all(line.hint for line in lines)
    assert lines[0].hint.startswith("disputed: ")


def test_load_tuning_is_not_looked_at_where_nobody_asks(check: Check, machine: Make) -> None:
    assert check(machine(**TUNED), load_tuning={}) == []


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    """Return a file in the place of Docker's socket."""
    path = tmp_path / "run/docker.sock"
    path.parent.mkdir()
    path.touch()
    path.chmod(0o660)
    return path


def docker(gid: int, groups: str | Exception) -> dict[str, str | Exception]:
    return {"getent group docker": f"docker:x:{gid}:milo,sparkiac\n", "id -Gn sparkiac": groups}


ACCESS = {"user": "sparkiac", "group": "docker"}


@pytest.mark.parametrize(
    ("groups", "line"),
    [
        ("sparkiac docker\n", ("HST001", "ok", "in sparkiac, docker")),
        ("sparkiac\n", ("HST001", "warn", "in sparkiac")),
        (RuntimeError("id: 'sparkiac': no such user"), ("HST001", "ok", "does not exist yet")),
    ],
)
def test_the_units_user_and_dockers_group(
    check: Check, machine: Make, socket: Path, groups: str | Exception, line: tuple[str, str, str]
) -> None:
    """(HST001) The playbooks make the user and put it into the group, so that it lacks it is no failure."""
    gid = socket.stat().st_gid
    found = check(machine(docker(gid, groups)), docker_access=ACCESS)
    assert found == [("HST001", "ok", f"0660 gid {gid}"), line]


@pytest.mark.parametrize(("other_gid", "mode"), [(True, 0o660), (False, 0o600), (False, 0o640)])
def test_a_socket_that_the_group_may_not_use(
    check: Check, machine: Make, socket: Path, *, other_gid: bool, mode: int
) -> None:
    """(HST001) This is what `permission denied … docker.sock` comes from."""
    socket.chmod(mode)
    gid = os.stat(socket).st_gid  # noqa: PTH116
    found = check(machine(docker(gid + other_gid, "docker\n")), docker_access=ACCESS)
    assert found[0] == ("HST001", "FAIL", f"{mode:04o} gid {gid}")


def test_a_host_without_the_group_or_the_socket(preflight: ModuleType, machine: Make) -> None:
    """(HST001) Docker is not installed, or not as its packages do it."""
    no_group = machine({"getent": RuntimeError("getent failed with exit status 2")})
    no_socket = machine(docker(1, "docker\n"))
    for host in (no_group, no_socket):
        [line] = preflight.check_host(complete(Expectations, {"docker_access": ACCESS}), host)
        assert (line.code, line.state) == ("HST001", "FAIL")
        assert "install Docker with its group" in line.hint
