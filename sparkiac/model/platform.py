"""A hardware profile: what preflight expects of a host before an apply."""

from typing import Literal

from pydantic import Field

from sparkiac.model.base import Gib, KernelParameter, Model, ShortText, SysctlKey, SysctlValue, Version, Word


class Gpu(Model):
    """The GPU as nvidia-smi names it."""

    name: ShortText
    """Product name."""
    compute_capability: Version
    """Compute capability, such as '12.1'."""
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


class Platform(Model):
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
    """MemTotal in GiB of hosts that set no `memory.total_gib`."""
    requires: Requirements = Field(default_factory=Requirements)
    """Lowest versions of the software that a host must have."""
    kernel_parameters: dict[KernelParameter, Word] = {}
    """Required values of kernel module parameters, by name."""
    sysctl: dict[SysctlKey, int | SysctlValue] = {}
    """Kernel settings (sysctl) of hosts."""
    docker_free_gib: Gib | None = None
    """Free GiB that Docker's data directory must have before images are pulled."""
    sources: tuple[ShortText, ...] = ()
    """Sources of these values."""
