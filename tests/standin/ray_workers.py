"""The workers of a model on Ray, as vLLM's executor places them: real actors of the real Ray, one on each node.

As vLLM 0.23.0 does (v1/executor/ray_utils.py and ray_executor.py): it finds the running Ray by itself, its first worker
is on the node with the address $VLLM_HOST_IP, each worker has one GPU, and it ends when a worker has died.
"""

from __future__ import annotations

import importlib
import os
import signal
from typing import Any

WORKERS: list[Any] = []
"""The actors, which end with the process."""


class Worker:
    """One part of the model."""

    def about(self) -> list[str]:
        """Return the address of its node, and the interface that its node was given."""
        ray = importlib.import_module("ray")
        return [ray.util.get_node_ip_address(), os.environ.get("GLOO_SOCKET_IFNAME", "")]


def place(count: int) -> dict[str, list[str]]:
    """Wait for so many nodes and place a worker on each; return what each worker is, by its number."""
    kept = signal.getsignal(signal.SIGTERM)
    ray: Any = importlib.import_module("ray")
    scheduling: Any = importlib.import_module("ray.util.scheduling_strategies")
    ray.init(address="auto", log_to_driver=False)
    signal.signal(signal.SIGTERM, kept)  # Ray has a handler of its own
    bundles = [{"GPU": 1.0} for _ in range(count)]
    bundles[0][f"node:{os.environ['VLLM_HOST_IP']}"] = 0.001
    group = ray.util.placement_group(bundles, strategy="STRICT_SPREAD")
    print(f"INFO [stand-in] waiting for {count} nodes of Ray", flush=True)  # noqa: T201 - the log
    ray.get(group.ready())
    remote = ray.remote(Worker)
    for bundle in range(count):
        there = scheduling.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
        WORKERS.append(remote.options(num_cpus=0, num_gpus=1, scheduling_strategy=there).remote())
    return {str(rank): ray.get(each.about.remote()) for rank, each in enumerate(WORKERS)}


def step() -> None:
    """Return when all workers have answered. If one has died, end: the engine of vLLM does, and its server with it."""
    if not WORKERS:
        return
    ray: Any = importlib.import_module("ray")
    try:
        ray.get([each.about.remote() for each in WORKERS])
    except ray.exceptions.RayError as error:
        print(f"EngineDeadError: {type(error).__name__} (stand-in)", flush=True)  # noqa: T201 - the log
        os._exit(1)
