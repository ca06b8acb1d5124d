"""The facts that the program `status` on a host reports.

Facts that an older version of the program lacks are None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from sparkiac import engines
from sparkiac.model.answers import Number, ReportedFacts, Text

QUANTITIES: Final = ("running", "waiting", "kv_use", "generated_tokens", "generation_rate")


class Memory(ReportedFacts):
    """Memory of a host, in bytes."""

    total_bytes: Number
    available_bytes: Number
    page_cache_bytes: Number


class GpuState(ReportedFacts):
    """State of a GPU; None if the driver does not report it."""

    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None


class AvailableUpdate(ReportedFacts):
    """The newest available version of an installed package."""

    package: Text
    version: Text
    security: bool
    """Whether a source of security updates has a newer version than the installed one."""


class MovedPackage(ReportedFacts):
    """A change of a package in APT's log."""

    package: Text
    before: Text | None
    after: Text | None
    at: Text
    command: Text


class Software(ReportedFacts):
    """The software of a host that belongs together; None for a value that it does not have."""

    kernel: Text | None = None
    next_kernel: Text | None = None
    """Kernel of the next boot, if a newer one than the running one is installed."""
    cmdline: Text | None = None
    own_parameters: tuple[Text, ...] = ()
    """Kernel parameters that sparkiac has made a part of every boot."""
    kexec_crash_size: int | None = None
    driver: Text | None = None
    modules: Text | None = None
    """`open` or `proprietary`."""
    secure_boot: bool | None = None
    docker_firewall: Text | None = None
    toolkit_mode: Text | None = None
    packages: Mapping[Text, Text] = Field(default_factory=dict)
    others: Mapping[Text, Text] = Field(default_factory=dict)
    """Packages that are not pinned and that facts are about."""
    firmware: Mapping[Text, Text] = Field(default_factory=dict)
    updates: tuple[AvailableUpdate, ...] = ()
    moved: tuple[MovedPackage, ...] = ()
    """The last changes, the oldest first."""


class MachineState(ReportedFacts):
    """Facts about a machine; None if it does not have them."""

    driver: Text | None = None
    driver_fault: Text | None = None
    """Why nvidia-smi fails."""
    gpu: GpuState | None = None
    kernel: Text | None = None
    """Release of the running kernel."""
    unpinnable: Text | None = None
    """How much memory cannot be pinned, and how that shows."""
    links: Mapping[Text, Text] = Field(default_factory=dict)
    """Network interface → operational state; empty if the host runs an older version."""
    firmware: Text | None = None
    memory: Memory | None = None
    uptime_s: int | None = None
    software: Software | None = None


class Pending(ReportedFacts):
    """A switch that has not ended."""

    generation: Text
    phase: Text


class Generations(ReportedFacts):
    """Generations of a host by their role."""

    current: Text | None = None
    committed: Text | None = None
    turn: Text | None = None
    pending: Pending | None = None


class ChangedFile(ReportedFacts):
    """A file that differs from the current generation."""

    path: Text
    kind: Text


class DriftedPackage(ReportedFacts):
    """A package with another version than pinned."""

    package: Text
    found: Text
    wanted: Text
    because: Text
    """Time and command of the last change."""


class Drift(ReportedFacts):
    """What differs from the current generation."""

    files: tuple[ChangedFile, ...] = ()
    sysctls: tuple[Text, ...] = ()
    units: tuple[Text, ...] = ()
    """Units that run from other files than those of the generation, or do not start at boot."""
    packages: tuple[DriftedPackage, ...] = ()


class Sick(ReportedFacts):
    """Something that is wrong with the machine."""

    kind: Text
    unit: Text | None = None
    """Unit that it is about; None for the machine."""
    text: Text
    remedy: Text

    @property
    def words(self) -> str:
        """Return what is wrong."""
        return f"{self.kind}: {self.text}"


class Restart(ReportedFacts):
    """The last start or failure of a unit since the boot."""

    ago_s: int
    cause: Text
    detail: Text | None = None


class WrongAnswer(ReportedFacts):
    """The last wrong answer that the health check recorded, at most a day old."""

    ago_s: int
    fault: Text


class Reading(ReportedFacts):
    """Metrics of a server at one time of the host's clock."""

    at_s: float
    values: dict[Text, tuple[float, ...]]
    """Name → values of its series."""


class Unit(ReportedFacts):
    """Facts about a unit."""

    name: Text
    group: bool = False
    """Whether it is a node of a group."""
    resting: bool = False
    """Whether it does not run because it is not in the current turn."""
    turns: tuple[Text, ...] = ()
    """Turns in which it runs; empty if it always runs."""
    loaded: Text | None = None
    """Whether systemd has read its file: `loaded` or `not-found`."""
    active: Text | None = None
    sub: Text | None = None
    enabled: Text | None = None
    result: Text | None = None
    health: Text | None = None
    """State of its container, with the output of the last health check."""
    restarts: int | None = None
    """How often systemd restarted it since it was started last on request."""
    active_for_s: int | None = None
    restart: Restart | None = None
    asked: bool = False
    """Whether the API of the unit was checked."""
    fault: Text | None = None
    """What is wrong with the API of the unit, such as a missing model name."""
    served: tuple[Text, ...] | None = None
    """Expected model names that the server lists."""
    wrong: WrongAnswer | None = None
    closed: bool = False
    """Whether its port is closed because its server has not passed."""
    drained: bool = False
    """Whether its port refuses new connections until somebody undrains it."""
    gave_up: Text | None = None
    """Why it failed and does not start again by itself."""
    readings: tuple[Reading, ...] | None = None


class Clock(ReportedFacts):
    """Time of the host when the program began and ended, in seconds since the epoch."""

    begin_s: float
    end_s: float


class KernelTrial(ReportedFacts):
    """The last trial of a kernel."""

    phase: Text
    kernel: Text
    former: Text
    why: Text
    parameters: tuple[Text, ...] = ()
    former_parameters: tuple[Text, ...] = ()


class PackageChange(ReportedFacts):
    """The last change of driver, container toolkit and Docker."""

    phase: Text
    why: Text
    new: Mapping[Text, Text]


class HostFacts(ReportedFacts):
    """Everything that a host reports."""

    clock: Clock
    machine: MachineState = MachineState()
    generation: Generations | None = None
    drift: Drift | None = None
    kernel: KernelTrial | None = None
    packages: PackageChange | None = None
    doors: Text | None = None
    """What is wrong with the table of nftables that closes ports."""
    sick: tuple[Sick, ...] = ()
    """What its watch found lately."""
    units: tuple[Unit, ...] | None = None
    root: bool = True
    """Whether the program ran as root."""
    unread: dict[Text, Text] = {}  # noqa: RUF012  pydantic copies it
    """Part that could not be read → reason."""


def metric_names() -> tuple[str, ...]:
    """Return the names of the metrics that are read."""
    return engines.metric_names(*QUANTITIES)
