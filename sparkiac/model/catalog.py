"""Catalog entries: recipes, their variants, fragments that can be added to any recipe of an engine, and platforms."""

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import (
    BootParameter,
    BootValue,
    Code,
    EntryName,
    Gib,
    GpuClock,
    InterfaceName,
    KernelParameter,
    Model,
    Name,
    ShortText,
    SysctlKey,
    SysctlValue,
    Version,
    Word,
)
from sparkiac.model.facts import ModelFacts
from sparkiac.model.settings import Serving, Settings

UseCase = Literal[
    "agents",
    "any",
    "audio",
    "chat",
    "coding",
    "fast",
    "judge",
    "long-context",
    "multimodal",
    "quality",
    "reasoning",
    "retrieval",
    "vision",
]
Status = Literal["recipe", "mention", "superseded", "retired"]
Evidence = Literal["measured", "vendor-profile"]
"""`measured`: a source prints figures of this command on this hardware; `vendor-profile`: its vendor publishes it."""


class Measurement(Model):
    """A measurement that a source published. sparkiac has not repeated it."""

    what: ShortText
    """What was measured."""
    value: ShortText
    """Value with its unit."""
    source: ShortText
    """Source of the measurement."""


class Correction(Model):
    """A deliberate difference between this entry and the command in its source."""

    what: ShortText
    """What differs."""
    why: ShortText
    """Why it must differ."""


class GeneralNotes(Model):
    """Corrections and unverified claims that apply to every recipe; entries do not repeat them."""

    corrections: tuple[Correction, ...]
    """Differences from the commands in the sources, in every recipe."""
    not_verified: tuple[ShortText, ...]
    """Claims about every recipe that only a test on real hardware can verify."""


class ExpectedFinding(Model):
    """A finding that `check` reports for this entry on a reference host, and why it is accepted."""

    code: Code
    """Code of the rule."""
    why: ShortText
    """Why it is accepted."""
    needs: ShortText | None = None
    """What the inventory must add; set if the finding is an error, so that `check` refuses the entry without it."""


class CatalogEntry(Model):
    """Fields that recipes, variants and fragments share."""

    title: ShortText
    """Title, in one line."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Documents that the entry is based on."""
    evidence: Evidence | None = None
    """How its sources have tested it; omitted if they disagree or only name it."""
    status: Status = "recipe"
    """`recipe`: can be deployed; `mention`: a source names it without a command; `superseded`, `retired`: see `why`."""
    why: ShortText | None = None
    """Why the status is not `recipe`."""
    instead: EntryName | None = None
    """Entry to use instead: vendor/name, or vendor/name#variant."""
    notes: tuple[ShortText, ...] = ()
    """Notes to read before use."""
    measured: tuple[Measurement, ...] = ()
    """Measurements that the sources published."""
    corrections: tuple[Correction, ...] = ()
    """Deliberate differences from the sources."""
    not_verified: tuple[ShortText, ...] = ()
    """Claims that only a test on real hardware can verify."""
    findings: tuple[ExpectedFinding, ...] = ()
    """Findings that `check` reports for it on a reference host."""


class Recipe(CatalogEntry, Serving):
    """A model served by an engine in an image with known-good options, with its sources."""

    engine: Name
    """The serving engine."""
    nodes: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of hosts that it needs."""
    use_cases: tuple[UseCase, ...] = ()
    """Use cases that its sources name."""
    facts: ModelFacts = Field(default_factory=ModelFacts)
    """What is known about the model."""


class Variant(CatalogEntry, Serving):
    """Named changes to a recipe: model, image, options, environment. `null` removes a value."""

    nodes: Annotated[int, Field(ge=1, le=64)] | None = None
    """Number of hosts that it needs, if it differs from the recipe."""
    use_cases: tuple[UseCase, ...] = ()
    """Use cases in addition to those of the recipe."""
    facts: ModelFacts | None = None
    """What is known about the model, if the variant serves another model than the recipe."""
    solves: tuple[Code, ...] = ()
    """Codes of findings of the recipe that the variant avoids."""


class Fragment(CatalogEntry, Settings):
    """Settings that can be added to any recipe of an engine."""

    engine: Name | None = None
    """Engine that it is for; any engine if omitted."""
    nodes: Annotated[int, Field(ge=1, le=64)] | None = None
    """Number of hosts that it is for."""
    needs: tuple[Name, ...] = ()
    """Fragments that must be used together with it."""


class Gpu(Model):
    """The GPU as nvidia-smi names it."""

    name: ShortText
    """Product name."""
    compute_capability: Version
    """Compute capability, such as '12.1'."""
    max_clock_mhz: GpuClock | None = None
    """Highest clock that nvidia-smi reports, in MHz."""
    unified_memory: bool | None = None
    """Whether CPU and GPU have one memory; default: as on the catalog's platform with this compute capability."""


def is_discrete(gpu: Gpu | None) -> bool:
    """Return whether a GPU has its own memory, whose size is unknown."""
    return gpu is not None and not gpu.unified_memory


class Requirements(Model):
    """Lowest versions of the software that a host must have."""

    docker: Version | None = None
    """Docker Engine."""
    compose: Version | None = None
    """Docker Compose plug-in."""
    container_toolkit: Version | None = None
    """NVIDIA Container Toolkit."""
    systemd: Version | None = None
    """systemd."""


class PortHalf(Model):
    """One of the two PCIe devices of a port."""

    interface: InterfaceName
    """Network interface of the PCIe device, such as enP2p1s0f1np1."""
    hca: Word
    """RDMA device of the PCIe device, such as roceP2p1s0f1."""


class RdmaPort(PortHalf):
    """A port for direct links that is two PCIe devices: the first one."""

    twin: PortHalf
    """The second PCIe device."""


class OwnerSettings(Model):
    """Settings of a host that its owner may declare; those of a platform hold for its hosts."""

    max_gpu_clock_mhz: GpuClock | None = None
    """Highest clock of the GPU in MHz; without it, the driver decides."""
    headless: bool | None = None
    """Whether the host boots without a desktop; without it, the target of a boot stays as it is."""
    earlyoom_floor_gib: Gib | None = None
    """Available memory in GiB below which earlyoom ends a process; without it, earlyoom is left alone."""
    boot_parameters: dict[BootParameter, BootValue] = {}
    """Parameters of the kernel's command line, by name; `sparkiac os` tries them for one boot and then keeps them."""

    @property
    def boot_words(self) -> tuple[str, ...]:
        """Return the parameters as words of the command line."""
        return tuple(f"{name}={value}" if value else name for name, value in self.boot_parameters.items())


class Platform(OwnerSettings):
    """A hardware profile."""

    title: ShortText
    """Title, in one line."""
    architecture: Literal["arm64", "amd64"]
    """CPU architecture of hosts and images, by its OCI name."""
    gpu: Gpu | None = None
    """GPU; omitted for a machine without one."""
    driver: Version | None = None
    """Default NVIDIA driver series of hosts."""
    memory_gib: Gib | None = None
    """MemTotal in GiB of hosts that set no `memory.total_gib`; if omitted, it is unknown until that is set."""
    installed_gib: Gib | None = None
    """Installed memory in GiB, of which MemTotal is a part; tells machines with the same GPU apart."""
    requires: Requirements = Field(default_factory=Requirements)
    """Lowest versions of the software that a host must have."""
    kernel_parameters: dict[KernelParameter, Word] = {}
    """Required values of kernel module parameters, by name."""
    sysctl: dict[SysctlKey, int | SysctlValue] = {}
    """Kernel settings (sysctl) of hosts."""
    docker_free_gib: Gib | None = None
    """Free GiB that Docker's data directory must have before images are pulled."""
    rdma_ports: tuple[RdmaPort, ...] = ()
    """Ports that are two PCIe devices each, by the names that Linux gives them."""
    sources: tuple[ShortText, ...] = ()
    """Sources of these values."""

    def twin(self, interface: str) -> PortHalf | None:
        """Return the other PCIe device of the port of an interface, if its port has two."""
        for port in self.rdma_ports:
            if interface == port.interface:
                return port.twin
            if interface == port.twin.interface:
                return port
        return None
