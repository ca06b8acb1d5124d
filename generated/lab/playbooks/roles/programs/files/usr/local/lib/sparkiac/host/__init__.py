"""Programs that hosts run. They use the standard library alone, and sparkiac imports from here what both sides compute.

On a host, this folder is `/usr/local/lib/sparkiac/host`. Beside it lies `launcher`, once for each name of `PROGRAMS`.
"""

PROGRAMS = {
    "fleet_check": "fleet.check",
    "gateway_keys": "preflight.gateway_keys",
    "group": "group.program",
    "host_metrics": "status.metrics",
    "kernel": "kernel.program",
    "load_memory": "preflight.load_memory",
    "network": "network.links",
    "preflight": "preflight.program",
    "probe.py": "probe.program",
    "ray_group.py": "group.ray_group",
    "stage": "stage.program",
    "status": "status.program",
    "switch": "switch.program",
    "watch": "watch.program",
}
"""The programs, and the module of each."""
