"""Memory that cannot be pinned: what /proc shows of kexec handover; the sizes are those of public reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.host.preflight.expectations import Expectations
from tests.host.expected import complete
from tests.host.test_preflight_start import DOCKER, FILES, prepared

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Make = Callable[..., Any]

NEW, OLD = "7.0.0-1019-nvidia", "6.17.0-1032-nvidia"
MEMINFO = "MemTotal:  125458392 kB\nMemAvailable:  98123456 kB\nCmaTotal: {:>8} kB\nCmaFree: {:>9} kB\n"
HINT = {"hint": "add kho=off", "code": "LOG149"}
RESERVED = (0, 9_699_328)


def proc(total: int, free: int, *, kernel: str = NEW, cmdline: str = "ro quiet") -> dict[str, str]:
    """Return the stand-ins for the files of /proc."""
    return {
        "proc/meminfo": MEMINFO.format(total, free),
        "proc/sys/kernel/osrelease": f"{kernel}\n",
        "proc/cmdline": f"BOOT_IMAGE=/vmlinuz root=UUID=1 {cmdline}\n",
    }


def check(preflight: ModuleType, host: object, *units: str) -> tuple[str, str, str, str]:
    """Return state, found, hint and code of the only line."""
    wanted = complete(Expectations, {"unpinnable": {"rdma_units": list(units), **HINT}})
    [line] = preflight.check_host(wanted, host)
    return line.state, line.found, line.hint, line.code


@pytest.mark.parametrize(
    ("cma", "said"),
    [
        (RESERVED, "at least 9.2 GiB of memory that cannot be pinned (CmaFree 9.2 GiB, CmaTotal 0.0 GiB, "),
        ((32_768, 9_784_000), "at least 9.3 GiB of memory that cannot be pinned (CmaFree 9.3 GiB, CmaTotal 0.0 GiB, "),
        ((0, 940_604), "at least 0.9 GiB of memory that cannot be pinned (CmaFree 0.9 GiB, CmaTotal 0.0 GiB, "),
    ],
    ids=["NV-Kernels 591", "259, the reporter", "259, another pair"],
)
def test_what_the_reports_show_fails_where_a_group_uses_rdma(
    preflight: ModuleType, machine: Make, cma: tuple[int, int], said: str
) -> None:
    host = machine(**proc(*cma))
    assert check(preflight, host, "big") == ("FAIL", f"{said}kernel {NEW} without kho=)", "add kho=off", "LOG149")
    assert check(preflight, host) == ("warn", f"{said}kernel {NEW} without kho=)", "add kho=off", "LOG149")


@pytest.mark.parametrize("cma", [(0, 0), (32_768, 32_768), (65_536, 60_000)])
@pytest.mark.parametrize("kernel", [NEW, OLD])
def test_the_counters_decide_and_not_the_release(
    preflight: ModuleType, machine: Make, cma: tuple[int, int], kernel: str
) -> None:
    """The same release with kho=off, or built without the default, works."""
    host = machine(**proc(*cma, kernel=kernel))
    assert check(preflight, host, "big") == ("ok", f"kernel {kernel}", "", "LOG149")


def test_a_kernel_without_cma(preflight: ModuleType, machine: Make) -> None:
    files = proc(0, 0) | {"proc/meminfo": "MemTotal:  125458392 kB\n"}
    assert check(preflight, machine(**files), "big")[0] == "ok"


@pytest.mark.parametrize(
    ("cmdline", "said"),
    [
        ("kho=on quiet", "kho=on"),
        ("kho=off nokho=1 kho=y", "kho=y"),
        ("nokho=1 systemd.kho=off", "without kho="),
        ("kho", "without kho="),
    ],
)
def test_the_option_of_the_command_line_is_named(preflight: ModuleType, machine: Make, cmdline: str, said: str) -> None:
    """The kernel uses the last one."""
    found = check(preflight, machine(**proc(*RESERVED, cmdline=cmdline)))[1]
    assert found.endswith(f", kernel {NEW} {said})")


def test_it_is_not_looked_for_where_nothing_is_expected(preflight: ModuleType, machine: Make) -> None:
    assert preflight.check_host(complete(Expectations), machine(**proc(*RESERVED))) == []


def test_a_host_that_rebooted_into_such_a_kernel_does_not_start_a_node(preflight: ModuleType, machine: Make) -> None:
    """No apply comes before that start, so it is checked again; a unit without RDMA starts."""
    host = machine(DOCKER, **{**FILES, **proc(*RESERVED)})
    wanted = {"rdma_units": ["big"], **HINT}
    states = {
        name: {line.check: line.state for line in prepared(preflight, host, name, unpinnable=wanted)}
        for name in ("big", "small")
    }
    assert states["big"]["pinnable memory"] == "FAIL"
    assert "pinnable memory" not in states["small"]
    good = machine(DOCKER, **{**FILES, **proc(0, 0)})
    assert {line.state for line in prepared(preflight, good, "big", unpinnable=wanted)} == {"ok"}
