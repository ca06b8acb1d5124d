"""What is rendered for the lab and for solo is what their sources run, but for the differences named here.

Both sides are sets of facts, and the differences must account for every fact that only one side has.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac.__main__ import run
from tests.catalog.printed import BASELINE, SPARK_1, SPARK_2, Fact, value_of
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Difference:
    """An intended difference from a printed command, with its reason."""

    why: str
    gone: frozenset[Fact] = frozenset()
    new: frozenset[Fact] = frozenset()


def differs(why: str, *, gone: set[Fact] | None = None, new: set[Fact] | None = None) -> Difference:
    """Name a difference."""
    return Difference(why, frozenset(gone or ()), frozenset(new or ()))


def units(*directives: str) -> set[Fact]:
    """Make facts of directives whose value is not compared here but in the unit's own tests."""
    return {("unit", directive) for directive in directives}


SUPERVISION: Final = units(
    *("RestartSteps", "RestartMaxDelaySec", "StartLimitIntervalSec", "WatchdogSec", "WatchdogSignal", "KillMode"),
    *("ExecStopPost", "NotifyAccess", "Group"),
)
READY: Final = differs(
    "D9: a unit is ready when the model answers, and the wait covers a load of 10 to 15 minutes",
    gone={("unit", "Type", "simple"), ("unit", "TimeoutStartSec", "900")},
    new={("unit", "Type", "notify"), ("unit", "TimeoutStartSec", "1200")},
)
ROOT_STEP: Final = differs(
    "D8: PermissionsStartOnly is deprecated; one start step has the + prefix, and drops the page cache",
    gone={("unit", "PermissionsStartOnly", "true"), ("start step", "drop the page cache as root, failing without it")},
    new={("start step", "+/usr/local/lib/sparkiac/preflight")},
)
ONE_SUPERVISOR: Final = differs(
    "systemd is the one supervisor, of a compose project: it replaces the container and restarts on every exit",
    gone={
        ("start step", "docker stop"),
        ("start step", "docker rm"),
        ("container", "rm"),
        ("unit", "Restart", "on-failure"),
    },
    new={("unit", "Restart", "always"), ("container", "restart", "no")} | SUPERVISION,
)
OWN_USER: Final = differs(
    "the Docker client runs as a user of its own",
    gone={("unit", "User", "milo")},
    new={("unit", "User", "sparkiac")},
)
WEIGHTS_FIRST: Final = differs(
    "weights are staged before: nothing is fetched at start, and the store is only read",
    new={("env", "HF_HUB_OFFLINE", "1"), ("read-only", "model store")},
)
PINNED: Final = differs(
    "the image is pulled before, by its digest",
    new={("container", "digest"), ("container", "pull_policy", "never")},
)
CACHE: Final = differs(
    "compiled code is kept in a directory whose name changes with image, command and environment",
    new={
        ("mount", "/cache", "/var/cache/sparkiac"),
        ("env", "VLLM_CACHE_ROOT", "/cache/vllm"),
        ("env", "VLLM_CONFIG_ROOT", "/cache/config"),
        ("env", "TRITON_CACHE_DIR", "/cache/triton"),
        ("env", "TORCHINDUCTOR_CACHE_DIR", "/cache/inductor"),
        ("env", "FLASHINFER_WORKSPACE_BASE", "/cache/flashinfer"),
    },
)
QUIET: Final = differs("no usage statistics leave the machine", new={("env", "VLLM_NO_USAGE_STATS", "1")})
PROBE: Final = differs(
    "the container is asked whether it answers as clients would ask",
    new={("mount", "/run/sparkiac/probe.py", "/usr/local/lib/sparkiac/probe.py"), ("read-only", "probe")}
    | {("container", "healthcheck")},
)
KEY: Final = differs(
    "clients present a key, which reaches the server as a file and then its environment",
    new={("container", "secrets"), ("container", "entrypoint")} | units("LoadCredential"),
)
CONFINED: Final = differs(
    "the container can change nothing but /tmp and its cache",
    new={
        ("container", key)
        for key in (
            *("init", "read_only", "tmpfs", "cap_drop", "security_opt", "pids_limit", "oom_score_adj"),
            *("cgroup_parent", "stop_grace_period", "logging"),
        )
    },
)
CONFINED_UNIT: Final = differs(
    "the Docker client needs one socket and gets nothing else",
    new=units(
        *("Documentation", "Requires", "Wants", "PartOf", "RequiresMountsFor", "WantedBy", "Slice", "OOMScoreAdjust"),
        *("RuntimeDirectory", "RuntimeDirectoryMode", "Environment", "UMask", "NoNewPrivileges", "AmbientCapabilities"),
        *("CapabilityBoundingSet", "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "DevicePolicy"),
        *("PrivateNetwork", "IPAddressDeny", "RestrictAddressFamilies", "PrivateUsers", "PrivateIPC"),
        *("ProtectHostname", "ProtectClock", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs"),
        *("ProtectControlGroups", "ProtectProc", "ProcSubset", "RestrictNamespaces", "RestrictRealtime"),
        *("RestrictSUIDSGID", "LockPersonality", "MemoryDenyWriteExecute", "RemoveIPC", "KeyringMode"),
        *("SystemCallArchitectures", "SystemCallFilter", "SystemCallErrorNumber"),
    ),
)
ALWAYS: Final = (WEIGHTS_FIRST, PINNED, CACHE, QUIET, PROBE, CONFINED, CONFINED_UNIT)


def renamed(old: str, new: str) -> Difference:
    """Name the container's new name."""
    gone: set[Fact] = {("container", "name", old)}
    return differs("Compose names the container after its project", gone=gone, new={("container", "name", new)})


def published(address: str) -> Difference:
    """Name the address that the port is published on."""
    return differs("a port is published on one address, not on every interface", new={("bind", address)})


SOLO: Final = (
    differs(
        "a serving container needs no token for staged weights and gets none",
        gone={("env", "HF_TOKEN", "the caller's")},
    ),
    differs(
        "`~` depends on who starts the container",
        gone={("mount", "/models", "~/vllm")},
        new={("mount", "/models", "/srv/models")},
    ),
    differs(
        "systemd is the one supervisor; there was no unit",
        gone={("container", "restart", "unless-stopped")},
        new={
            ("container", "restart", "no"),
            ("unit", "After", "docker.service"),
            ("unit", "After", "network-online.target"),
            ("unit", "Type", "notify"),
            ("unit", "User", "sparkiac"),
            ("unit", "Restart", "always"),
            ("unit", "RestartSec", "30"),
            ("unit", "TimeoutStartSec", "1200"),
            ("unit", "TimeoutStopSec", "120"),
            ("start step", "+/usr/local/lib/sparkiac/preflight"),
        }
        | SUPERVISION,
    ),
    differs("the shipped example names a model", new={("model", "RedHatAI/Qwen3.6-35B-A3B-NVFP4")}),
)
LAB: Final = (READY, ROOT_STEP, ONE_SUPERVISOR, OWN_USER, KEY)
CASES: Final = {
    "lab/spark-01/qwen36": (
        SPARK_1,
        (*ALWAYS, *LAB, renamed("vllm-qwen36", "sparkiac-qwen36"), published("192.168.1.11")),
    ),
    "lab/spark-02/gemma4": (
        SPARK_2,
        (*ALWAYS, *LAB, renamed("vllm-gemma4", "sparkiac-gemma4"), published("192.168.1.12")),
    ),
    "solo/spark-01/chat": (BASELINE, (*ALWAYS, *SOLO, renamed("vllm", "sparkiac-chat"), published("127.0.0.1"))),
}
VALUED: Final = {"After", "Type", "User", "Restart", "RestartSec", "TimeoutStartSec", "TimeoutStopSec"}


def rendered(name: str, tmp_path: Path) -> set[Fact]:
    """Render an inventory; give the facts of one container and its unit, read by PyYAML and line by line."""
    inventory, host, container = name.split("/")
    assert run(["generate", str(ROOT / f"inventories/{inventory}.yaml"), "--output", str(tmp_path / "out")]) == 0
    root = tmp_path / "out" / "hosts" / host / "etc"
    project = yaml.safe_load((root / f"sparkiac/{container}/compose.yaml").read_text())
    unit = (root / f"systemd/system/sparkiac-{container}.service").read_text()
    lock = yaml.safe_load((ROOT / f"inventories/{inventory}.lock.yaml").read_text())
    pins = {pin["digest"]: reference for reference, pin in lock["images"].items()}
    return of_unit(unit) | of_container(project, pins)


def of_unit(text: str) -> set[Fact]:
    facts: set[Fact] = set()
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if not separator or key.startswith("#") or key in {"Description", "ExecStart"}:
            continue
        if key == "ExecStartPre":
            facts.add(("start step", value.split()[0]))
        elif key in VALUED:
            facts |= {("unit", key, word) for word in value.split()}
        else:
            facts.add(("unit", key))
    return facts


def of_container(project: dict[str, Any], pins: dict[str, str]) -> set[Fact]:
    [server] = project["services"].values()
    facts: set[Fact] = {("container", "name", project["name"])}
    digest = server.pop("image").partition("@")[2]
    facts |= {("image", pins[digest]), ("container", "digest")}
    facts |= of_command(server.pop("command"))
    facts |= {("env", key, value) for key, value in server.pop("environment").items()}
    facts |= {("ulimit", key, str(value)) for key, value in server.pop("ulimits", {}).items()}
    for port in server.pop("ports"):
        facts |= {("port", port["published"], str(port["target"])), ("bind", port["host_ip"])}
    for volume in server.pop("volumes"):
        source = "/var/cache/sparkiac" if volume["target"] == "/cache" else volume["source"]
        facts.add(("mount", volume["target"], source))
        if volume.get("read_only"):
            facts.add(("read-only", "probe" if source.endswith("probe.py") else "model store"))
    [device] = server.pop("deploy")["resources"]["reservations"]["devices"]
    facts.add(("container", "gpus", device["count"]))
    facts |= {("container", key, str(server.pop(key))) for key in ("ipc", "restart", "pull_policy")}
    return facts | {("container", key) for key in server}


def of_command(words: list[str]) -> set[Fact]:
    facts: set[Fact] = set()
    if words[:2] == ["vllm", "serve"]:
        facts.add(("words", "vllm serve"))
        words = words[2:]
    facts.add(("model", words[0]))
    for word in words[1:]:
        name, _, value = word.removeprefix("--").partition("=")
        try:
            facts.add(("flag", name, value_of(json.loads(value) if value else True)))
        except json.JSONDecodeError:
            facts.add(("flag", name, value_of(value)))
    return facts


@pytest.mark.parametrize("name", CASES)
def test_what_runs_is_what_the_source_runs_but_for_named_differences(name: str, tmp_path: Path) -> None:
    printed, differences = CASES[name]
    found = rendered(name, tmp_path)
    gone = frozenset[Fact]().union(*(difference.gone for difference in differences))
    new = frozenset[Fact]().union(*(difference.new for difference in differences))
    assert sorted(printed - found) == sorted(gone), "what the source has and the rendered files have not"
    assert sorted(found - printed) == sorted(new), "what the rendered files have and the source has not"


@pytest.mark.parametrize("name", CASES)
def test_every_difference_has_a_reason_and_is_counted_once(name: str) -> None:
    _, differences = CASES[name]
    facts = [fact for difference in differences for fact in (*difference.gone, *difference.new)]
    assert len(facts) == len(set(facts))
    assert all(difference.why and (difference.gone or difference.new) for difference in differences)


def test_the_start_step_drops_the_page_cache() -> None:
    """The printed step that the preflight took over."""
    assert "/proc/sys/vm/drop_caches" in (ROOT / "templates/host/usr/local/lib/sparkiac/preflight").read_text()
