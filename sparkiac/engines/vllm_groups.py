"""Groups of vLLM: its own processes on each host (`mp`), or Ray.

`mp` needs vLLM 0.11.1 or newer. With Ray, each container starts the Ray processes of its host; the leader then starts
`vllm serve`, which places one part of the model on each host. Sources: vLLM's config/parallel.py and
v1/executor/ray_executor.py (0.23.0), `ray start --help` and docs.ray.io (2.60.0).
"""

from __future__ import annotations

from typing import Final

from sparkiac.engines.engine import Groups, Member, Part

MASTER_PORT: Final = 29501
"""Port of the leader to which all nodes connect: vLLM's default for --master-port, with Ray that of its head."""
_STEP: Final = 100
"""Distance of the ports of one group to those of the next one on the same host: more than Ray's ports need."""
_RAY_PORTS: Final = {
    "node_manager_port": 29502,
    "object_manager_port": 29503,
    "runtime_env_agent_port": 29504,
    "dashboard_agent_grpc_port": 29505,
    "dashboard_agent_listen_port": 29506,
    "metrics_export_port": 29507,
    "min_worker_port": 29510,
    "max_worker_port": 29599,
}
"""Ports of the Ray processes of each host; Ray would choose free ones, which no filter can name."""
_RAY_HEAD_PORTS: Final = ("10001", "44217", "44227")
"""Ports that the head opens on all addresses if the image contains what they need: remote Ray clients, the metrics of
the autoscaler and those of the dashboard, also if that is off. vLLM uses none of them."""
_OBJECT_STORE_BYTES: Final = 1 << 30
"""Ray would take 30 % of the memory. vLLM passes only small messages through it."""
_JOIN: Final = ("python3", "/run/sparkiac/lib/ray_group.py")
_RAY_LIMITS: Final = (
    "--num-cpus=1",  # Ray starts a Python process for each processor in advance; vLLM's workers claim none
    "--num-gpus=1",
    f"--object-store-memory={_OBJECT_STORE_BYTES}",
)
_SPLIT: Final = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


def part(member: Member) -> Part:
    """Return the options of a node. By default each host gets an equal part of the model."""
    divided = {} if "pipeline_parallel_size" in member.options else {"tensor_parallel_size": member.size}
    return _ray(member, divided) if member.executor == "ray" else _native(member, divided)


def _port(member: Member) -> int:
    return MASTER_PORT + _STEP * member.number


def _native(member: Member, divided: dict[str, int]) -> Part:
    """Return the options of vLLM's own multi-node mode: all nodes but the first one serve no HTTP."""
    leader, port = member.addresses[0], _port(member)
    options = divided | {
        "distributed_executor_backend": "mp",
        "nnodes": member.size,
        "node_rank": member.rank,
        "master_addr": leader,
        "master_port": port,
    }
    return Part(
        options=options if member.leads else options | {"headless": True},
        store=f"{leader}:{port}",
        ports=(str(port),) if member.leads else (),
    )


def _ray(member: Member, divided: dict[str, int]) -> Part:
    """Return the commands of Ray: the leader waits for all nodes, a worker for the leader."""
    port, own = _port(member), member.addresses[member.rank]
    store = f"{member.addresses[0]}:{port}"
    named = {name: number + _STEP * member.number for name, number in _RAY_PORTS.items()}
    started = ("--include-dashboard=false", "--dashboard-host=127.0.0.1", f"--port={port}")
    role = ("--head", *started) if member.leads else (f"--address={store}",)
    ports = (f"--{name.replace('_', '-')}={number}" for name, number in named.items())
    ray = ("ray", "start", *role, f"--node-ip-address={own}", *_RAY_LIMITS, *ports, "--disable-usage-stats")
    single = tuple(str(number) for name, number in named.items() if not name.endswith("worker_port"))
    workers = f"{named['min_worker_port']}-{named['max_worker_port']}"
    heads = (str(port), *_RAY_HEAD_PORTS) if member.leads else ()
    # The head opens its store a while before its node has joined; a worker that starts between the two fails.
    joined = f"{member.addresses[0]}:{named['node_manager_port']}"
    wait = (*_JOIN, *(("nodes", str(member.size), store) if member.leads else ("head", store, joined)))
    return Part(
        options=divided | {"distributed_executor_backend": "ray"},
        before=(ray, wait) if member.leads else (wait,),
        program=() if member.leads else (*ray, "--block"),
        store=store,
        ports=(*heads, *single, workers),
    )


GROUPS: Final = Groups(
    executors=("mp", "ray"),
    part=part,
    split=_SPLIT,
    computed=("distributed_executor_backend", "nnodes", "node_rank", "master_addr", "master_port", "headless"),
)
