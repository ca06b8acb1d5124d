"""The hosts of one model: its ranks meet at `--master-addr`:`--master-port`, as those of vLLM do.

Measured with vLLM 0.23.0: a rank alone waits silently, and the API port opens only when all ranks have met. A rank that
comes later to a group that is complete waits for ever, and a rank whose leader has gone lives on.
"""

from __future__ import annotations

import json
import signal
import socket
import time
from typing import TYPE_CHECKING

import ray_workers

if TYPE_CHECKING:
    import argparse

RETRY_SECONDS = 0.2
KEPT: list[socket.socket] = []
"""Connections of the group; they end with the process."""


def meet(args: argparse.Namespace, argv: list[str]) -> dict[str, list[str]]:
    """Wait for the other ranks; return the command line of each rank, by its number. On Ray, what its worker is."""
    if args.distributed_executor_backend == "ray":
        return ray_workers.place((args.tensor_parallel_size or 1) * (args.pipeline_parallel_size or 1))
    count, rank = args.nnodes or 1, args.node_rank or 0
    if count == 1:
        return {}
    found = lead(args, count, argv) if rank == 0 else follow(args, rank, argv)
    print("INFO [stand-in] Kernel JIT monitor activated", flush=True)  # noqa: T201 - the last line of a real rank
    return found


def lead(args: argparse.Namespace, count: int, argv: list[str]) -> dict[str, list[str]]:
    """Accept the other ranks, on all addresses as the real one; then tell them all."""
    store = socket.create_server(("", args.master_port))
    KEPT.append(store)
    found = {"0": argv}
    joined = []
    while len(found) < count:
        connection, _ = store.accept()
        line = connection.makefile().readline()
        if line:  # the rank has not ended before it was accepted
            joined.append(connection)
            found.update(json.loads(line))
    for connection in joined:
        connection.sendall(json.dumps(found).encode() + b"\n")
    KEPT.extend(joined)
    return found


def follow(args: argparse.Namespace, rank: int, argv: list[str]) -> dict[str, list[str]]:
    """Connect to the leader, and wait until it has all ranks."""
    while True:
        try:
            connection = socket.create_connection((args.master_addr, args.master_port), timeout=5)
        except OSError:
            time.sleep(RETRY_SECONDS)
            continue
        connection.settimeout(None)
        KEPT.append(connection)
        connection.sendall(json.dumps({str(rank): argv}).encode() + b"\n")
        line = connection.makefile().readline()
        if line:
            found: dict[str, list[str]] = json.loads(line)
            return found
        signal.pause()  # the leader has gone: live on without it
