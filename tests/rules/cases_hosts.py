"""Cases of the rules about the pinned software of hosts."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import LOCK, ONES, PAIR, deployment
from tests.rules.pages import Case

DATES: Final = 'since: "2026-09-01", review_by: "2026-10-01"'
KHO: Final = "without kho=off keeps about 9.3 GiB in which no memory can be pinned"
ENDS: Final = "groups over RoCE end at their start"
UNSIGNED: Final = (
    "DRV006 3:19 spark-01: Secure Boot is on, the driver's modules were built on the host, and none is loaded: "
    "perhaps their key is not enrolled"
)
DRIVER, MUST = "DRV101 3:19 spark-01 has driver", "in the lock, and must run"
DIFFERS: Final = "MN105 4:3 big runs on spark-02 and spark-01, whose pinned software differs: "
MORE: Final = "modules - and open, docker_firewall - and nftables, and 1 more"
OLD_DRIVER: Final = (f"{DRIVER} 570.86 {MUST} 580", f"{DRIVER} 570.86 {MUST} 590.44 or newer for chat")
NEW: Final = "kernel: 7.0.0-1019-nvidia"
NEEDS_590: Final = deployment(f"image: nvcr.io/nvidia/vllm:25.12.post1-py3@{ONES}")


def pinned(first: str, second: str = "kernel: 6.17.0-1031-nvidia") -> str:
    """Write a lock that pins this software of spark-01, and of spark-02."""
    sets = f"hosts:\n  sets:\n    a: {{{first}, {DATES}}}\n    b: {{{second}, {DATES}}}\n"
    return f"{LOCK}{sets}  members: {{spark-01: a, spark-02: b}}\n"


def chat(software: str, *said: str) -> Case:
    """Make a case of one deployment on one Spark."""
    return Case(deployment(), said, locked=pinned(software))


HOSTS: Final[dict[str, tuple[Case, ...]]] = {
    "DRV005": (
        chat('packages: {libnvidia-compute-580: "580.173.02-0ubuntu1"}'),
        chat('driver: "580.173.02", packages: {docker-ce: "5:29.2.1-1"}'),
    ),
    "DRV006": (
        chat('secure_boot: false, packages: {nvidia-dkms-580: "580.173.02-0ubuntu1"}'),
        chat("secure_boot: true"),
        chat('secure_boot: true, packages: {nvidia-driver-580-open: "580.173.02-0ubuntu1"}'),
        chat('secure_boot: true, packages: {nvidia-dkms-580: "580.173.02-0ubuntu1"}', UNSIGNED),
    ),
    "DRV101": (
        Case(
            NEEDS_590,
            (f"{DRIVER} 570.86 {MUST} 580", f"{DRIVER} 570.86 {MUST} 590.44 or newer for chat"),
            locked=pinned('driver: "570.86"'),
        ),
        Case(NEEDS_590, (), locked=pinned('driver: "580.173.02"')),
        Case(NEEDS_590, (f"{DRIVER} 595.84 {MUST} 580",), locked=pinned('driver: "595.84"')),
        Case(NEEDS_590, (), locked=pinned("kernel: 6.17.0-1031-nvidia")),
    ),
    "HST015": (
        Case(PAIR, (f"HST015 4:3 spark-01: kernel 7.0.0-1019-nvidia {KHO}: {ENDS}",), locked=pinned(NEW)),
        Case(PAIR, (), locked=pinned("kernel: 7.0.0-30-generic")),
        Case(PAIR, (), locked=pinned(f"{NEW}, cmdline: kho=off")),
        chat(NEW, f"HST015 3:19 spark-01: kernel 7.0.0-1019-nvidia {KHO}"),
        chat("kernel: 6.17.0-1031-nvidia"),
        chat(f"{NEW}, cmdline: kho=off"),
        chat(
            "kernel: 7.0.0-31-generic, cmdline: quiet kho=on",
            f"HST015 3:19 spark-01: kernel 7.0.0-31-generic {KHO}",
        ),
    ),
    "MN105": (
        Case(
            PAIR,
            (f"{DIFFERS}kernel 6.17.0-1031-nvidia and 6.17.0-1032-nvidia, driver - and 580.142",),
            locked=pinned('kernel: 6.17.0-1032-nvidia, driver: "580.142"'),
        ),
        Case(PAIR, (), locked=pinned("kernel: 6.17.0-1031-nvidia")),
        Case(PAIR, (), locked=pinned(NEW).replace(", spark-02: b", "")),
        Case(
            PAIR,
            (f"{DIFFERS}kernel 6.17.0-1031-nvidia and x, driver - and 580.142, {MORE}",),
            locked=pinned('kernel: x, driver: "580.142", modules: open, toolkit_mode: cdi, docker_firewall: nftables'),
        ),
    ),
}
