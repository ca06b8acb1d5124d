"""Changes of an inventory, one after the other, that an apply can bring to two hosts of the test bed.

The keys that change are drawn by a seed from tests/everyfield.py, between changes that no key has, such as a removed
deployment.
"""

from __future__ import annotations

import copy
import functools
import json
import random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from sparkiac import pipeline
from sparkiac.model.catalog import OwnerSettings
from sparkiac.model.inventory import Inventory
from tests.e2e.lab import IMAGES, KEY
from tests.everyfield import choices, places, put

if TYPE_CHECKING:
    from tests.everyfield import Place

    Data = dict[str, Any]

SEED: Final = 29
DRAWN: Final = 20
"""Keys between the other changes."""
TIMEOUTS: Final = {"drain_s": 0, "ready_s": 90}
SET: Final = {"gpu_memory_utilization": 0.43, "max_model_len": 32768}
ALLOW: Final = [{"code": "MEM100", "reason": "the stand-in takes no memory"}]
GEMMA: Final = "vllm/vllm-openai:gemma4-0505-arm64-cu130"
NEXT_VERSION: Final = "0.19.1"
SECRETS: Final = dict.fromkeys(("vllm_api_key", "key_one", "key_two", "smtp_password"), KEY)
ADDED: Final[Data] = {
    "deployments": {
        "small": {
            "recipe": "google/gemma-4-26b-a4b-it-fp8",
            "hosts": "spark-01",
            "port": 8002,
            "set": SET,
            "timeouts": TIMEOUTS,
            "allow": ALLOW,
        }
    },
    "services": {
        "front": {
            "kind": "container",
            "image": GEMMA,
            "hosts": "spark-02",
            "port": 3000,
            "command": ["example/front", "--host=0.0.0.0", "--port=3000"],
            "memory_gib": 1,
        }
    },
    "monitoring": {
        "timer": {"hosts": "spark-02"},
        "alerts": {"webhook": {"url": "http://127.0.0.1:9009/hook"}},
    },
}
FITTING: Final[dict[str, tuple[Any, ...]]] = {
    "sysctl": ({"vm.swappiness": 7}, {"net.core.rmem_max": 134217728}),
    "total_gib": (118.0,),
    "_size_gib": (1.5, 2.0),
    "ulimits.memlock": (65536,),
    "ulimits.stack": (16777216,),
    "ulimits.nofile": (4096,),
    ".port": (8011, 8012),
    "ready_s": (77,),
    "stop_s": (33,),
    "every_s": (5.0,),
}
"""End of a place → values with which the bed's hosts work."""
MISSING: Final[dict[str, tuple[str, ...]]] = {
    "a machine, a driver or software that the bed does not have": (
        *("platforms.*.architecture", "platforms.*.gpu", "platforms.*.requires", "platforms.*.kernel_parameters"),
        *(
            "platforms.*.docker_free_gib",
            "defaults.load_memory.read_ahead",
            "deployments.*.load_memory.read_ahead",
            "defaults.load_memory.sysctl",
            "deployments.*.load_memory.sysctl",
            "hosts.*.platform",
            "hosts.*.driver",
            "hosts.*.address",
            "hosts.*.images_from",
            *(f"{place}.*.{key}" for place in ("hosts", "platforms") for key in OwnerSettings.model_fields),
        ),
    ),
    "weights, images or files that are on no server of the bed": (
        *("registries", "defaults.image", "defaults.speculative", "defaults.model_store", "defaults.container.files"),
        *("hosts.*.model_store", "deployments.*.image", "deployments.*.speculative", "deployments.*.container.files"),
        *("deployments.*.model", "deployments.*.needs_models", "deployments.*.recipe", "monitoring.prometheus"),
        *("services.*<ContainerService>.image", "services.*<ContainerService>.kind"),
    ),
    "another server in the container than the stand-in": (
        *("defaults.container.prelude", "deployments.*.container.prelude", "services.*<ContainerService>.command"),
        *("services.*<ContainerService>.container_port", "services.*<ContainerService>.health"),
    ),
    "the folder of the tree": ("name",),
}
"""What a change of a key would need, so that it is not drawn."""


class Change(NamedTuple):
    """What one apply brings to the hosts."""

    name: str
    data: Data
    """The inventory."""
    secrets: dict[str, str] = SECRETS
    version: str = ""
    """Another version of the stand-in's image."""


def whole(text: str) -> Data:
    """Return the inventory of the lab with a third deployment, a service and a timer."""
    data: Data = yaml.safe_load(text)
    for key, value in ADDED.items():
        data.setdefault(key, {}).update(copy.deepcopy(value))
    for name in ("qwen36", "gemma4"):
        data["deployments"][name] |= {"set": dict(SET), "timeouts": dict(TIMEOUTS)}
    data["deployments"]["gemma4"]["port"] = 8003
    return data


def swap(data: Data) -> None:
    one, two = data["deployments"]["qwen36"], data["deployments"]["small"]
    one["port"], two["port"] = two["port"], one["port"]


def rename(data: Data) -> None:
    data["deployments"]["tiny"] = data["deployments"].pop("small")


def move(data: Data) -> None:
    data["deployments"]["tiny"]["hosts"] = "spark-02"


def set_kernel(data: Data) -> None:
    data["hosts"]["spark-01"]["sysctl"] = {"vm.swappiness": 5}


def release_kernel(data: Data) -> None:
    del data["platforms"]["bed"]["sysctl"]["net.ipv4.tcp_keepalive_time"]


def canary(data: Data) -> None:
    """Change all units, because an order alone changes no host."""
    data["rollout"] = {"canary": "spark-02"}
    for deployment in data["deployments"].values():
        deployment["description"] = "changed on both hosts"


def remove(data: Data) -> None:
    del data["deployments"]["tiny"]


def retire(data: Data) -> None:
    data["retired"] = {"spark-02": {"address": data["hosts"].pop("spark-02")["address"], "user": "spark"}}
    del data["deployments"]["gemma4"], data["services"], data["monitoring"], data["rollout"]


PLANNED: Final = (swap, rename, move, set_kernel, release_kernel, canary, remove)
COUNT: Final = 1 + len(PLANNED) + DRAWN + 4
NEW_SECRETS: Final = SECRETS | {"vllm_api_key": KEY[::-1], "key_one": KEY[::-1]}


@functools.cache
def changes(text: str) -> tuple[Change, ...]:
    """Return all changes of an inventory, one after the other."""
    data, planned = whole(text), list(PLANNED)
    drawn = [each for each in places(Inventory) if not str(each).startswith(excluded())]
    random.Random(SEED).shuffle(drawn)
    left, found = iter(drawn), [Change("first", data)]
    for _ in range(DRAWN):
        if planned:
            wanted, data = planned.pop(0), copy.deepcopy(data)
            wanted(data)
            found.append(Change(wanted.__name__, data))
        name, data = next((str(place), new) for place in left if (new := changed(data, place)))
        found.append(Change(name, data))
    one = copy.deepcopy(data)
    retire(one)
    last = NEW_SECRETS, NEXT_VERSION
    ends = Change("secret", data, NEW_SECRETS), Change("image", data, *last)
    return (*found, *ends, Change("retire", one, *last), Change("return", data, *last))


def excluded() -> tuple[str, ...]:
    """Return the beginnings of places that are not drawn."""
    return tuple(place for found in MISSING.values() for place in found)


def changed(data: Data, place: Place) -> Data | None:
    """Return an inventory with another value of a field that changes a host; nothing if it has no such value."""
    fitting = next((values for end, values in FITTING.items() if str(place).endswith(end)), None)
    for value in fitting or choices(place.owner, place.steps[-1].key, place.hint):
        new = copy.deepcopy(data)
        if put(new, place.steps, copy.deepcopy(value)) and rendered(new) not in (None, rendered(data)):
            return new
    return None


def rendered(data: Data) -> dict[str, bytes] | None:
    """Return the files of the hosts; nothing for an inventory with errors."""
    pins = {name: {"digest": f"sha256:{1:064}", "entrypoint": list(entry)} for name, (_, entry) in IMAGES.items()}
    lock = json.dumps({"version": 1, "images": pins}).encode()
    inputs = pipeline.InputFile("lab.yaml", json.dumps(data).encode()), pipeline.InputFile("lab.lock.yaml", lock)
    outcome = pipeline.check(*inputs, allow_unlocked=True)
    if outcome.plan is None or outcome.report.failed:
        return None
    return {each.path: each.content for each in pipeline.render(outcome.plan) if each.path.startswith("hosts/")}
