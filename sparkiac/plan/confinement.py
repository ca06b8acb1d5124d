"""What a container can use on its host: one record for each setting, in all the forms that sparkiac reads and writes.

Compose files, `docker run`, recipes of other tools, importers and the diff loop over these records.
`catalog/unwritten.yaml` says which targets do not get a key, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from sparkiac.memory.values import GIB
from sparkiac.model.resolved import ResolvedContainerSettings
from sparkiac.plan.parts import stated_bytes

Tree: TypeAlias = str | int | float | bool | Mapping[str, "Tree"] | Sequence["Tree"] | None
"""Plain data that JSON can represent."""
PodValues: TypeAlias = Mapping[tuple[str, ...], Tree]
"""Path in a container of a pod → value. Those under `emptyDir` are volumes, by the paths where they are mounted."""
Form: TypeAlias = Literal["text", "number", "switch", "size", "limits", "tmpfs"]
"""How other tools write a value: a size is in bytes or has a unit, limits are `name=number`, `tmpfs` is a mount of /tmp
with a size."""
_GPU: Final = {
    "resources": {"reservations": {"devices": [{"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}]}}
}
RDMA_RESOURCES: Final = {"/dev/infiniband": "rdma/rdma_shared_device_a"}
"""Device file → resource of the shared RDMA device plugin, as NVIDIA's Network Operator names it in its examples."""
LOCKING: Final = ("memlock", -1)
"""The only limit that a pod can have, as the capability IPC_LOCK."""
_OWN_TMP: Final = "every container has its own /tmp; container.tmp_size_gib limits it"
CONFINED: Final = "containers run without capabilities and privileges; they get the GPU without them"
_SAME: Final = "every container has the same limit"


class Confinement(NamedTuple):
    """What a container can use on its host."""

    read_only: bool
    """Whether the root file system is read-only."""
    gpu: bool
    ipc: str = "private"
    """`host` or `private`."""
    shm_size_bytes: int | None = None
    tmp_size_bytes: int = 1 << 28
    ulimits: Mapping[str, int] = {}
    """Limit → value; -1 is unlimited."""
    devices: tuple[str, ...] = ()
    user: str | None = None
    """User in the container, as uid:gid; None is that of the image."""


def confinement(stated: ResolvedContainerSettings, *, gpu: bool, devices: tuple[str, ...]) -> Confinement:
    """Return what the container of a deployment may use."""
    return Confinement(
        read_only=stated.read_only,
        gpu=gpu,
        ipc=stated.ipc,
        shm_size_bytes=stated_bytes(stated.shm_size_gib),
        tmp_size_bytes=int(stated.tmp_size_gib * GIB),
        ulimits={name: limit for name, limit in stated.ulimits or () if limit is not None},
        devices=devices,
    )


class ContainerOption(NamedTuple):
    """One setting of a container, as an option of each target."""

    compose: str
    """Key of a compose file."""
    docker: str
    """Option of `docker run`, without the hyphens."""
    value: Callable[[Confinement], Tree]
    """Value in a compose file; None and empty values are left out."""
    key: str = ""
    """Key under `container`; empty if the inventory has none."""
    form: Form = "text"
    inspected: str = ""
    """Key under HostConfig of `docker inspect`."""
    fixed: str = ""
    """Note of an importer on a value that it cannot use."""
    argument: Callable[[Confinement], Tree] | None = None
    """Value of the option, if it is not that of the compose file."""
    local: bool = False
    """Whether only hosts of sparkiac can have it."""
    pod: Callable[[Confinement], PodValues] | None = None
    """Values in a container of a pod, by their paths; None if no pod can have the setting."""

    @property
    def path(self) -> tuple[str, str]:
        """Return the path of the key in a deployment."""
        return ("container", self.key)

    def planned(self, found: Confinement) -> Tree:
        """Return the value as the plan has it; sizes are in bytes."""
        value: Tree = getattr(found, self.key.replace("_gib", "_bytes"))
        return value

    def words(self, found: Confinement) -> tuple[tuple[str, ...], ...]:
        """Return the options of `docker run`, one for each item of a list or a mapping."""
        option, value = f"--{self.docker}", (self.argument or self.value)(found)
        if isinstance(value, bool):
            return ((option if value else f"{option}=false",),)
        if isinstance(value, Mapping):
            return tuple((option, f"{name}={each}") for name, each in value.items())
        items = value if isinstance(value, list) else [] if value is None else [value]
        return tuple((option, str(each)) for each in items)


def _shm_size(found: Confinement) -> int | None:
    return None if found.ipc == "host" else found.shm_size_bytes


def _tmpfs(found: Confinement) -> list[str]:
    return [f"/tmp:rw,exec,nosuid,nodev,size={found.tmp_size_bytes},mode=1777"]  # noqa: S108  JIT compilers run code there


def _in_memory(path: str, size_bytes: int | None) -> PodValues:
    limit = {} if size_bytes is None else {"sizeLimit": str(size_bytes)}
    return {("emptyDir", path): {"medium": "Memory", **limit}}


def _pod_shm(found: Confinement) -> PodValues:
    """Return /dev/shm if it is larger than the 64 MiB of the runtime; with `ipc: host` it is as large as the memory.

    It is not shared with other pods.
    """
    size_bytes = _shm_size(found)
    return {} if size_bytes is None and found.ipc != "host" else _in_memory("/dev/shm", size_bytes)  # noqa: S108


def _pod_lock(found: Confinement) -> PodValues:
    return {("securityContext", "capabilities", "add"): ["IPC_LOCK"]} if LOCKING in found.ulimits.items() else {}


def _pod_devices(found: Confinement) -> PodValues:
    names = (RDMA_RESOURCES[each] for each in found.devices if each in RDMA_RESOURCES)
    return {("resources", "limits", name): "1" for name in names}


def _pod_user(found: Confinement) -> PodValues:
    ids = zip(("runAsUser", "runAsGroup"), (found.user or "").split(":"), strict=False)
    return {("securityContext", key): int(number) for key, number in ids if number}


def _pod_gpu(found: Confinement) -> PodValues:
    return {("resources", "limits", "nvidia.com/gpu"): "1"} if found.gpu else {}


def _pod_root(found: Confinement) -> PodValues:
    return {("securityContext", "readOnlyRootFilesystem"): found.read_only}


def _pod_tmp(found: Confinement) -> PodValues:
    return _in_memory("/tmp", found.tmp_size_bytes)  # noqa: S108  in the container


def _pod_drop(_: Confinement) -> PodValues:
    return {("securityContext", "capabilities", "drop"): ["ALL"]}


def _pod_privileges(_: Confinement) -> PodValues:
    return {("securityContext", "allowPrivilegeEscalation"): False}


ACCESS: Final = (
    ContainerOption("ipc", "ipc", lambda it: it.ipc, "ipc", "text", "IpcMode", pod=_pod_shm),
    ContainerOption("shm_size", "shm-size", _shm_size, "shm_size_gib", "size", "ShmSize", pod=_pod_shm),
    ContainerOption(
        "ulimits", "ulimit", lambda it: dict(sorted(it.ulimits.items())), "ulimits", "limits", "Ulimits", pod=_pod_lock
    ),
    ContainerOption("devices", "device", lambda it: [*it.devices], pod=_pod_devices),
    ContainerOption(
        "deploy",
        "gpus",
        lambda it: _GPU if it.gpu else None,
        argument=lambda it: "all" if it.gpu else None,
        pod=_pod_gpu,
    ),
)
"""What the container shares with the host, and the devices it gets."""
LIMITS: Final = (
    ContainerOption("user", "user", lambda it: it.user, pod=_pod_user),
    ContainerOption(
        "read_only", "read-only", lambda it: it.read_only, "read_only", "switch", "ReadonlyRootfs", pod=_pod_root
    ),
    ContainerOption("tmpfs", "tmpfs", _tmpfs, "tmp_size_gib", "tmpfs", "Tmpfs", _OWN_TMP, pod=_pod_tmp),
    ContainerOption("cap_drop", "cap-drop", lambda _: ["ALL"], fixed=CONFINED, pod=_pod_drop),
    ContainerOption(
        "security_opt", "security-opt", lambda _: ["no-new-privileges:true"], fixed=CONFINED, pod=_pod_privileges
    ),
    ContainerOption("cgroup_parent", "cgroup-parent", lambda _: "sparkiac.slice", local=True),
    ContainerOption("oom_score_adj", "oom-score-adj", lambda _: 300, fixed=_SAME, local=True),
    ContainerOption("pids_limit", "pids-limit", lambda _: 4096, fixed=_SAME),
)
"""What restricts it: no capabilities, no new privileges, a read-only image, limited processes."""
SETTINGS: Final = (*ACCESS, *LIMITS)
KEYED: Final = tuple(each for each in SETTINGS if each.key)
"""Those that the inventory has."""


def compose(settings: Sequence[ContainerOption], found: Confinement, *, exported: bool = False) -> dict[str, Tree]:
    """Return keys and values of a compose file."""
    return {each.compose: each.value(found) for each in settings if not (exported and each.local)}


def pod(found: Confinement) -> dict[str, Any]:
    """Return the keys of a container of a pod: restrictions first, then access."""
    tree: dict[str, Any] = {}
    for each in reversed(SETTINGS):
        for (*above, key), value in (each.pod(found) if each.pod else {}).items():
            place = tree
            for name in above:
                place = place.setdefault(name, {})
            place[key] = value
    return tree
