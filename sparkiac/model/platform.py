"""A hardware profile: what a machine must be before anything is put on it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sparkiac.model.base import Gib, KernelParameter, Model, ShortText, SysctlKey, SysctlValue, Version, Word


class Gpu(Model):
    """The GPU as nvidia-smi names it."""

    name: ShortText
    """Product name."""
    compute_capability: Version
    """Compute capability, such as '12.1'."""


class Requirements(Model):
    """Lowest versions of what the host must bring."""

    docker: Version | None = None
    """Docker Engine."""
    compose: Version | None = None
    """Docker Compose plug-in."""
    container_toolkit: Version | None = None
    """NVIDIA Container Toolkit."""
    systemd: Version | None = None
    """systemd."""


class Platform(Model):
    """One kind of machine."""

    title: ShortText
    """What it is."""
    architecture: Literal["arm64", "amd64"]
    """Architecture of images and hosts, in the words of OCI."""
    gpu: Gpu | None = None
    """The GPU, or nothing for a machine without one."""
    driver: Version | None = None
    """Driver series that hosts run unless they say otherwise."""
    memory_gib: Gib | None = None
    """MemTotal to assume for a host that states none."""
    requires: Requirements = Field(default_factory=Requirements)
    """Lowest versions."""
    kernel_parameters: dict[KernelParameter, Word] = {}
    """Module parameters that must have this value."""
    sysctl: dict[SysctlKey, int | SysctlValue] = {}
    """Kernel settings."""
    docker_free_gib: Gib | None = None
    """Free space that Docker's data directory must have before images are pulled."""
    sources: tuple[ShortText, ...] = ()
    """Where these figures come from."""
