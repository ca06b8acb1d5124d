"""Wait in the container of a node until its group can start on Ray. Needs Ray.

ray_group.py head HOST:PORT…         a worker waits for all ports of the head; Ray itself gives up after some seconds
ray_group.py nodes COUNT HOST:PORT   the head waits until COUNT nodes have joined; then vLLM may start

vLLM copies the variables of NCCL from the head to all nodes, but interfaces and RDMA devices have other names there.
The head therefore lists them in a file that vLLM reads (vllm/ray/ray_env.py, 0.23.0). The timeout of the systemd unit
ends a wait.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

STEP_S = 2
CONFIG_ROOT = "VLLM_CONFIG_ROOT"
OWN_PREFIXES = ("NCCL_", "GLOO_")
KEPT = "ray_non_carry_over_env_vars.json"
"""Name of the file in the configuration directory of vLLM: variables that the nodes keep."""


def reached(address: str) -> bool:
    """Return whether something accepts connections at host:port."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=STEP_S).close()
    except OSError:
        return False
    return True


def wait_for_head(addresses: list[str]) -> None:
    """Wait until the head accepts connections at all addresses."""
    say(f"waiting for the head at {', '.join(addresses)}")
    while not all(map(reached, addresses)):
        time.sleep(STEP_S)


def wait_for_nodes(count: int, address: str) -> None:
    """Wait until all nodes have joined."""
    ray: Any = importlib.import_module("ray")
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    said = ""
    while True:
        joined = sorted(str(node["NodeManagerAddress"]) for node in ray.nodes() if node["Alive"])
        line = f"{len(joined)} of {count} nodes have joined: {', '.join(joined)}"
        if line != said:
            say(line)
        if len(joined) >= count:
            break
        said = line
        time.sleep(STEP_S)
    ray.shutdown()


def keep_own_variables() -> None:
    """Write the variables of NCCL and Gloo that vLLM must not copy to the other nodes."""
    root = Path(os.environ[CONFIG_ROOT])
    root.mkdir(parents=True, exist_ok=True)
    names = sorted(name for name in os.environ if name.startswith(OWN_PREFIXES))
    (root / KEPT).write_text(json.dumps(names), encoding="utf-8")


def say(text: str) -> None:
    """Write a line to the log."""
    sys.stdout.write(f"ray_group: {text}\n")
    sys.stdout.flush()


def main(argv: list[str]) -> int:
    """Wait, and return the exit status."""
    if len(argv) > 1 and argv[0] == "head":
        wait_for_head(argv[1:])
        return 0
    if len(argv) == 3 and argv[0] == "nodes" and argv[1].isdigit():  # noqa: PLR2004
        wait_for_nodes(int(argv[1]), argv[2])
        keep_own_variables()
        return 0
    sys.stderr.write((__doc__ or "").partition("\n\n")[2].partition("\n\n")[0] + "\n")
    return 2
