"""Intended differences between what a source runs and what sparkiac runs, and those that hold for every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tests.catalog.printed import Fact, flags
from tests.catalog.rendered import DEPLOYMENT, LEADER, PINNED, STORE

if TYPE_CHECKING:
    from collections.abc import Iterable


class Difference(NamedTuple):
    """Facts that only one side has, and what it is about."""

    about: str
    gone: frozenset[Fact]
    new: frozenset[Fact]


class Standing(NamedTuple):
    """A difference that holds for every command, as far as the command has what is to go."""

    about: str
    gone: tuple[Fact, ...] = ()
    """Beginnings of facts."""
    new: frozenset[Fact] = frozenset()
    """Facts that are rendered; the source may have them too."""
    only: Fact | None = None
    """Beginning of a fact that the source must have, or the difference is none."""

    def of(self, printed: frozenset[Fact]) -> Difference:
        """Return the difference from one command."""
        if self.only and not matching(printed, (self.only,)):
            return Difference(self.about, frozenset(), frozenset())
        gone = matching(printed, self.gone) - self.new
        return Difference(self.about, gone, self.new - printed)


def matching(printed: frozenset[Fact], beginnings: tuple[Fact, ...]) -> frozenset[Fact]:
    """Return the facts that begin so."""
    return frozenset(fact for fact in printed if any(fact[: len(each)] == each for each in beginnings))


def named(section: str, *names: str) -> frozenset[Fact]:
    """Make facts without a value."""
    return frozenset((section, name) for name in names)


def pairs(section: str, **values: str) -> frozenset[Fact]:
    """Make facts with a value."""
    return frozenset((section, name, value) for name, value in values.items())


PROBE: Final[frozenset[Fact]] = frozenset(
    fact
    for target, source in (("lib", "/usr/local/lib/sparkiac"), ("promise.json", "/etc/sparkiac/served/promise.json"))
    for fact in (("mount", f"/run/sparkiac/{target}", source), ("read-only", f"/run/sparkiac/{target}"))
)
"""What the health check needs in the container."""
CACHE: Final = (
    "~/vllm-compile-cache is not mounted; compiled code is kept in a cache named after image, command and environment"
)
CONFINED: Final = "the image's file system is read-only, and the container has no capabilities"
DOCKER_CLIENT: Final = "the Docker client runs as its own user, with access to one socket only"
OFFLINE: Final = "HF_HUB_OFFLINE=1, and the model store is mounted read-only"
_SUPERVISION: Final = (
    Standing(
        "--restart, --rm, -d and --name, docker stop and docker rm before a start: one systemd unit instead",
        gone=(
            *(("container", "detached"), ("container", "rm"), ("container", "restart"), ("container", "name")),
            *(("start step", "docker stop"), ("start step", "docker rm"), ("unit", "Restart")),
        ),
        new=pairs("container", restart="no", name=f"sparkiac-{DEPLOYMENT}")
        | pairs("unit", Restart="always", TimeoutStopSec="120")
        | {("unit", "After", name) for name in ("docker.service", "network-online.target", "sparkiac-recover.service")}
        | named("unit", "StartLimitIntervalSec", "WatchdogSec", "WatchdogSignal")
        | named("unit", "KillMode", "ExecStartPost", "ExecStopPost", "NotifyAccess", "Group")
        | {("start step", "+/usr/local/lib/sparkiac/switch")},
    ),
    Standing(
        "a unit restarts 2 s after its server exits, then after longer pauses of up to 60 s",
        gone=(("unit", "RestartSec"),),
        new=pairs("unit", RestartSec="2") | named("unit", "RestartSteps", "RestartMaxDelaySec"),
    ),
    Standing(
        "a unit is ready when the model answers, and waits 1200 s for it unless its recipe says otherwise",
        gone=(("unit", "Type"), ("unit", "TimeoutStartSec")),
        new=pairs("unit", Type="notify", TimeoutStartSec="1200"),
    ),
    Standing(
        "the page cache is dropped by a start step that runs as root",
        gone=(("unit", "PermissionsStartOnly"), ("start step", "drop the page cache, failing without root")),
        new=frozenset({("start step", "+/usr/local/lib/sparkiac/preflight")}),
    ),
    Standing(
        DOCKER_CLIENT,
        gone=(("unit", "User"),),
        new=pairs("unit", User="sparkiac"),
    ),
    Standing(
        DOCKER_CLIENT,
        new=named("unit", "Documentation", "Requires", "Wants", "PartOf", "RequiresMountsFor", "WantedBy", "Slice")
        | named(
            "unit",
            "OOMScoreAdjust",
            "RuntimeDirectory",
            "RuntimeDirectoryMode",
            "RuntimeDirectoryPreserve",
            "Environment",
            "UMask",
        )
        | named("unit", "NoNewPrivileges", "AmbientCapabilities", "CapabilityBoundingSet", "ProtectSystem")
        | named("unit", "ProtectHome", "PrivateTmp", "PrivateDevices", "DevicePolicy")
        | named("unit", "RestrictAddressFamilies", "PrivateUsers", "PrivateIPC", "ProtectHostname")
        | named("unit", "ProtectClock", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs")
        | named("unit", "ProtectControlGroups", "ProtectProc", "ProcSubset", "RestrictNamespaces", "RestrictRealtime")
        | named("unit", "RestrictSUIDSGID", "LockPersonality", "MemoryDenyWriteExecute", "RemoveIPC", "KeyringMode")
        | named("unit", "SystemCallArchitectures", "SystemCallFilter", "SystemCallErrorNumber"),
    ),
)
_CONTAINMENT: Final = (
    Standing(
        "images are pulled before the start, by the digest in the lock",
        new=frozenset({("container", "digest"), ("container", "pull_policy", "never")}),
    ),
    Standing(
        "the serving container gets no HF_TOKEN and no other login token",
        gone=(("env", "HF_TOKEN"),),
    ),
    Standing(OFFLINE, new=frozenset({("env", "HF_HUB_OFFLINE", "1")})),
    Standing(
        CONFINED,
        new=named("container", "init", "tmpfs", "cap_drop", "security_opt", "pids_limit")
        | named("container", "oom_score_adj", "cgroup_parent", "stop_grace_period", "logging"),
    ),
    Standing(
        CACHE,
        new=frozenset({("mount", "/cache", "/var/cache/sparkiac")}),
    ),
    Standing(
        "the health check sends the same requests as clients",
        new=PROBE | {("container", "healthcheck")},
    ),
    Standing(
        "--gpus all and --runtime nvidia are a device reservation",
        gone=(("container", "runtime"),),
        new=pairs("container", gpus="all"),
    ),
    *(
        Standing(
            "the inventory sets the model store, which is not in a home directory",
            gone=(printed,),
            new=frozenset({(*printed[:2], STORE)}),
            only=printed,
        )
        for printed in (("mount", "/models", "~/vllm"), ("mount", "/root/.cache/huggingface", "~/.cache/huggingface"))
    ),
)
ALL: Final = (*_SUPERVISION, *_CONTAINMENT)
READ_ONLY: Final = (Standing(CONFINED, new=frozenset({("container", "read_only", "true")})),)
PUBLISHED: Final = (
    Standing(
        "--ipc host and --shm-size are a /dev/shm of 16 GiB for the container of a server on one host",
        gone=(("container", "ipc"), ("container", "shm-size")),
        new=pairs("container", **{"shm-size": str(16 << 30)}),
        only=("container", "ipc", "host"),
    ),
    Standing(
        "a container with a published port has a MAC address that follows from the name of its unit",
        new=named("container", "mac_address"),
    ),
    Standing(
        "a port is published on one address, not on every interface",
        new=frozenset({("bind", "127.0.0.1")}),
    ),
    Standing(
        "--network host is a published port",
        gone=(("container", "network", "host"),),
        new=frozenset({("port", "8000", "8000")}),
        only=("container", "network", "host"),
    ),
    # The unit of a node of a group is connected to those of the other nodes.
    Standing(DOCKER_CLIENT, new=named("unit", "PrivateNetwork", "IPAddressDeny")),
)
CLOSED: Final = (
    Standing(
        "a server on one host connects to nothing that its egress does not name, and asks for no names",
        new=named("container", "dns"),
    ),
)
LISTENS: Final = (
    Standing(
        "host and port are always set; inside the container they are 0.0.0.0 and 8000",
        new=frozenset(flags(host="0.0.0.0", port=8000)),  # noqa: S104  compared, not bound
    ),
)
GROUP: Final = (
    Standing(
        "the leader of a group listens on one address of its host, not on every interface",
        gone=(("flag", "host"),),
        new=frozenset(flags(host=LEADER, port=8000)),
    ),
    Standing(
        "a node of a group runs as root without capabilities, whatever the user of its image is",
        new=named("container", "user"),
    ),
    Standing(
        "a step may take 15 minutes, because the first one of a large model compiles",
        new=pairs("env", VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS="900"),
    ),
)
UNPINNED: Final = (
    Standing("no usage statistics leave the machine", new=pairs("env", VLLM_NO_USAGE_STATS="1")),
    Standing(
        CACHE,
        new=pairs("env", VLLM_CACHE_ROOT="/cache/vllm", VLLM_CONFIG_ROOT="/cache/config")
        | pairs("env", TRITON_CACHE_DIR="/cache/triton", TORCHINDUCTOR_CACHE_DIR="/cache/inductor")
        | pairs("env", FLASHINFER_WORKSPACE_BASE="/cache/flashinfer", HF_MODULES_CACHE="/cache/modules"),
    ),
)
"""What vLLM is told beside the command, in an image that builds the command by itself as well."""
VLLM: Final = (
    *UNPINNED,
    Standing(
        "weights, tokenizer and drafter have the commits in the lock",
        new=frozenset({PINNED}),
    ),
)


def own_models(models: Iterable[str]) -> Difference:
    """Of the store, mount only these repositories."""
    about = "only the repositories of its models are mounted, not the whole model store"
    return Difference(about, frozenset(), frozenset(("store only", each) for each in models))


def read_only(printed: frozenset[Fact]) -> Difference:
    """Make every mount of a source read-only: a serving container has no business writing to weights."""
    mounts = {("read-only", fact[1]) for fact in printed if fact[0] == "mount"}
    return Difference(OFFLINE, frozenset(), frozenset(mounts - printed))
