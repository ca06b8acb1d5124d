"""Facts about the software of a host: the preflight there, the status, and the check of the lock say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.fleet import facts
from sparkiac.host.preflight.expectations import Expectations
from sparkiac.render import hosts, jsontext
from tests.host.expected import complete
from tests.host.known import about_software, planned
from tests.plan.fleets import PAIR, checked

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Make = Callable[..., Any]

NEW, OLD = "7.0.0-1019-nvidia", "6.17.0-1031-nvidia"
NVRM: Final = "NVRM version: NVIDIA UNIX {} for aarch64  {}  Release Build  (dvs-builder)\n"
OPEN, CLOSED = "Open Kernel Module", "Kernel Module"
PINNED: Final = """\
version: 1
images: {{}}
hosts:
  sets: {{a: {{{values}, since: "2026-09-01", review_by: "2026-10-01"}}}}
  members: {{spark-01: a, spark-02: a}}
"""
CASES: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "the kernel of September": ({"kernel": NEW}, "HST015", "FAIL"),
    "its HWE sister": ({"kernel": "7.0.0-31-generic"}, "HST015", "FAIL"),
    "the last option counts": ({"kernel": NEW, "cmdline": "kho=off kho=on"}, "HST015", "FAIL"),
    "the kernel of February": ({"kernel": "6.17.0-1008-nvidia"}, "HST016", "info"),
    "proprietary modules": ({"driver": "580.173.02", "modules": "proprietary"}, "DRV004", "warn"),
    "other libraries": (
        {"driver": "580.173.02", "packages": {"libnvidia-compute-580": "580.178.04-0ubuntu1"}},
        "DRV005",
        "info",
    ),
    "modules that nobody signed": (
        {"driver": None, "secure_boot": True, "packages": {"nvidia-dkms-580-open": "580.173.02-0ubuntu1"}},
        "DRV006",
        "info",
    ),
    "mode cdi": ({"toolkit_mode": "cdi"}, "HST017", "info"),
    "toolkit": ({"packages": {"nvidia-container-toolkit": "1.17.7-1"}}, "SEC014", "info"),
    "nvsm": ({"packages": {"nvsm": "25.06.01-1"}}, "HST018", "info"),
}
HEALTHY: Final[dict[str, dict[str, Any]]] = {
    "kho=off": {"kernel": NEW, "cmdline": "quiet kho=off"},
    "the last option": {"kernel": NEW, "cmdline": "kho=on kho=off"},
    "the HWE kernel before": {"kernel": "7.0.0-30-generic"},
    "another kernel": {"kernel": OLD},
    "another February": {"kernel": "6.17.0-1009-nvidia"},
    "open modules": {"driver": "580.173.02", "modules": "open"},
    "an older proprietary driver": {"driver": "580.159.03", "modules": "proprietary"},
    "its own libraries": {"driver": "580.173.02", "packages": {"libnvidia-compute-580": "580.173.02-0ubuntu1"}},
    "signed modules": {"driver": "580.173.02", "secure_boot": True, "packages": {"nvidia-dkms-580": "580.173.02-0"}},
    "no Secure Boot": {"driver": None, "secure_boot": False, "packages": {"nvidia-dkms-580": "580.173.02-0"}},
    "mode legacy": {"toolkit_mode": "legacy"},
}


def files(values: dict[str, Any]) -> dict[str, str]:
    """Return the files of a host with this software."""
    told = {"kernel": OLD, "cmdline": "ro quiet", "driver": None, "modules": "open", "packages": {}} | values
    stanzas = (f"Package: {name}\nStatus: install ok installed\nVersion: {version}\n"
               for name, version in told["packages"].items())  # fmt: skip
    found = {
        "proc/sys/kernel/osrelease": f"{told['kernel']}\n",
        "proc/cmdline": f"{told['cmdline']}\n",
        "var/lib/dpkg/status": "\n".join(stanzas),
    }
    if told["driver"]:
        flavour = OPEN if told["modules"] == "open" else CLOSED
        found["proc/driver/nvidia/version"] = NVRM.format(flavour, told["driver"])
    if "toolkit_mode" in told:
        section = f'[nvidia-container-runtime]\nmode = "{told["toolkit_mode"]}"\n'
        found["etc/nvidia-container-runtime/config.toml"] = f'[nvidia-ctk]\nmode = "x"\n{section}[other]\n'
    return found


def boots_securely(host: Any, on: bool) -> None:  # noqa: ANN401, FBT001
    """Write the variable of the firmware."""
    path = host.path("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\6\0\0\0" + bytes([on]))


def known() -> Any:  # noqa: ANN401  JSON
    """Return what is expected of a host of this group."""
    host, _ = planned()
    return jsontext.plain(host.preflight)["host_facts"]


def lines(preflight: ModuleType, machine: Make, values: dict[str, Any]) -> list[tuple[str, str]]:
    """Return code and state of what the preflight says."""
    host = machine(**files(values))
    if "secure_boot" in values:
        boots_securely(host, values["secure_boot"])
    wanted = complete(Expectations, {}) | {"host_facts": known()}
    return [(line.code, line.state) for line in preflight.check_host(wanted, host)]


@pytest.mark.parametrize(("values", "code", "state"), CASES.values(), ids=CASES)
def test_what_is_known_to_fail_is_said_before_an_apply(
    preflight: ModuleType, machine: Make, values: dict[str, Any], code: str, state: str
) -> None:
    assert lines(preflight, machine, values) == [(code, state)]


@pytest.mark.parametrize("values", HEALTHY.values(), ids=HEALTHY)
def test_what_is_not_known_to_fail_passes(preflight: ModuleType, machine: Make, values: dict[str, Any]) -> None:
    assert lines(preflight, machine, values) == [("", "ok")]


def pins(values: dict[str, Any]) -> str:
    """Return a lock that pins this software."""
    plain = {key: value for key, value in values.items() if value is not None}
    return PINNED.format(values=jsontext.dump(plain).decode().strip()[1:-1].replace("\n", " ").strip())


@pytest.mark.parametrize(("values", "code", "state"), CASES.values(), ids=CASES)
def test_the_lock_of_such_a_host_has_the_finding(values: dict[str, Any], code: str, state: str) -> None:
    del state
    assert code in planned(pins(values))[1]


@pytest.mark.parametrize("values", HEALTHY.values(), ids=HEALTHY)
def test_the_lock_of_another_host_has_none(values: dict[str, Any]) -> None:
    assert not {code for _, code, _ in CASES.values()} & set(planned(pins(values))[1])


def said(**software: Any) -> list[tuple[str, str]]:  # noqa: ANN401
    """Return kind and text of what the status says of a host of the group, on the tenth of October."""
    found = facts.Software.model_validate({"kernel": OLD, "cmdline": "ro", **software})
    plain = {"kernel": software.get("kernel", OLD), "cmdline": "ro"}
    pinned = pins({**plain, "packages": {"docker-ce": "5:29.2.1-1"}})
    return [(each.kind, each.text) for each in about_software(found, pinned)]


@pytest.mark.parametrize(("packages", "count"), [({"docker-ce": "5:29.2.1-1"}, 2), ({}, 0)])
def test_a_host_without_packages_gets_no_files_for_apt(packages: dict[str, str], count: int) -> None:
    host, _ = planned(pins({"kernel": OLD, "packages": packages}))
    paths = [each.path for each in hosts.render(host, {"big": "1"})]
    assert sum("/etc/apt/" in path for path in paths) == count


DUE: Final = ("warning", "the review of its pins was due on 2026-10-01")


def test_the_status_says_what_runs_and_what_the_next_boot_would_start() -> None:
    assert said() == [DUE]
    [(kind, text), _] = said(kernel=NEW)
    assert (kind, text.startswith(f"kernel {NEW} without kho=off keeps about 9.3 GiB")) == ("unhealthy", True)
    moved = facts.MovedPackage(
        package=f"linux-image-{NEW}", before=None, after="7.0.0-1019.19", at="2026-09-12 06:11:02",
        command="/usr/bin/unattended-upgrade",
    )  # fmt: skip
    [(kind, text), told, _] = said(next_kernel=NEW, moved=(moved,))
    assert (kind, text.startswith(f"after the next boot: kernel {NEW} without kho=off")) == ("warning", True)
    by = "installed on 2026-09-12 06:11:02 by /usr/bin/unattended-upgrade"
    assert told == ("warning", f"the next boot starts kernel {NEW} instead of {OLD}, {by}")


def test_the_status_compares_kernel_and_firmware_with_the_pins() -> None:
    pinned = pins({"kernel": OLD, "cmdline": "ro", "firmware": {"bios": "5.36", "connectx": "28.45.4028"}})
    found = facts.Software(kernel=OLD, cmdline="ro", firmware={"bios": "5.37", "connectx": "28.45.4028"})
    told = [(each.kind, each.text) for each in about_software(found, pinned)]
    assert told == [("drift", "firmware.bios is 5.37, pinned 5.36"), DUE]


def test_the_status_says_what_the_pins_withhold() -> None:
    held = [
        facts.AvailableUpdate(package="docker-ce", version="5:29.3.0-1", security=True),
        facts.AvailableUpdate(package="bash", version="5.3", security=True),
    ]
    text = "pinned for 39 days, its pins withhold 1 update, 1 of them for security: docker-ce 5:29.3.0-1 (security)"
    assert said(updates=tuple(held)) == [("warning", text), DUE]


def test_a_declared_parameter_counts_at_the_check_as_if_it_were_pinned() -> None:
    """`sparkiac os` tries it with the kernel; the preflight reads the command line of the host itself."""
    lock = pins({"kernel": NEW, "cmdline": "ro quiet"})
    declared = PAIR.replace("    address: 192.168.1", "    boot_parameters: {kho: 'off'}\n    address: 192.168.1")
    found = checked(declared, locked=lock, hidden=frozenset()).report.findings
    assert "HST015" not in [each.code for each in found]
    assert "HST015" in planned(lock)[1]


def test_the_status_says_which_parameters_the_running_kernel_lacks_or_still_has() -> None:
    still = facts.Software(kernel=OLD, cmdline="ro quiet a=1", own_parameters=("a=1",))
    [problem] = about_software(still)
    assert (problem.kind, problem.text) == ("drift", "every boot still has a=1, which the inventory no longer declares")
    assert about_software(facts.Software(kernel=OLD, cmdline="ro quiet b=1")) == [], "an owner has set it"
