"""Test the links between hosts: their settings, pings of full size, iperf3, ib_write_bw and NCCL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_interface
from itertools import combinations
from typing import Final, NamedTuple

from sparkiac.fleet.fabric import checks
from sparkiac.fleet.fabric.checks import LinkCheck, gid_index
from sparkiac.fleet.machine import HostPorts
from sparkiac.fleet.query import HostFailure, endpoint, run
from sparkiac.model import answers
from sparkiac.model.answers import shown
from sparkiac.model.inventory import FabricLink
from sparkiac.model.records import MeasuredSpeed
from sparkiac.plan import HostPlan, Plan
from sparkiac.upstream import programs

_HEADERS_BYTES: Final = 28
"""Bytes of the IPv4 and ICMP headers that a ping adds to its data."""
_IPERF_PORT: Final = 7349
_RDMA_PORT: Final = 7350
_SECONDS: Final = 5
_TIMEOUT_S: Final = 120
_ROW: Final = re.compile(r"^[ \t]*+\d++[ \t]++\d++[ \t]++[\d.]++[ \t]++([\d.]++)[ \t]++[\d.]++[ \t]*+$", re.MULTILINE)
"""A row of ib_write_bw: bytes, iterations, peak, average, messages."""
_BUS: Final = re.compile(r"^# Avg bus bandwidth\s*:\s*([\d.]+)", re.MULTILINE)
_BITS: Final = 8

Result = tuple[LinkCheck, MeasuredSpeed | None]


class End(NamedTuple):
    """A link at its host."""

    host: HostPlan
    link: FabricLink

    @property
    def address(self) -> str:
        """Return the address of the link without its prefix length."""
        return str(ip_interface(self.link.address).ip)


class Pair(NamedTuple):
    """Two links in one network, of two hosts."""

    source: End
    target: End


def pairs(plan: Plan) -> tuple[Pair, ...]:
    """Return the pairs of links that a cable or a switch should connect."""
    ends = [End(host, link) for host in plan.hosts for link in host.links]
    return tuple(
        Pair(one, other)
        for one, other in combinations(ends, 2)
        if one.host.name != other.host.name
        and ip_interface(one.link.address).network == ip_interface(other.link.address).network
    )


def ping(pair: Pair, mtu: int | None) -> LinkCheck:
    """Send packets of the full size that must not be split."""
    size = (mtu or 1500) - _HEADERS_BYTES
    options = ("-c", "3", "-W", "2", "-M", "do", "-s", str(size), "-I", pair.source.address)
    name = f"full-size packets to {pair.target.host.name} over {pair.source.link.interface}"
    try:
        done = _run(pair.source, ("ping", *options, pair.target.address))
    except HostFailure as failure:
        return LinkCheck(pair.source.host.name, name, None, failure.reason)
    passed = done.returncode == 0
    evidence = f"{size} bytes arrive" if passed else shown(programs.last_line(done.stdout + done.stderr, "no answer"))
    return LinkCheck(pair.source.host.name, name, passed, evidence, f"MTU {mtu or 1500} at both ends")


def speeds(pair: Pair, read: Mapping[str, HostPorts]) -> Iterator[Result]:
    """Measure with each tool that both hosts have."""
    tools = {"iperf3": _iperf3, "ib_write_bw": _ib_write_bw, "all_reduce_perf": _all_reduce}
    for tool, measure in tools.items():
        name = f"{tool} to {pair.target.host.name} over {pair.source.link.interface}"
        host = pair.source.host.name
        missing = [end.host.name for end in pair if tool not in (read[end.host.name].tools or ())]
        if missing:
            yield LinkCheck(host, name, None, f"not installed on {', '.join(missing)}"), None
            continue
        try:
            found = measure(pair, read)
        except HostFailure as failure:
            yield LinkCheck(host, name, False, failure.reason), None  # noqa: FBT003
        else:
            speed = MeasuredSpeed(host, pair.target.host.name, pair.source.link.interface, tool, found)
            yield LinkCheck(host, name, True, f"{found:.2f} Gbit/s"), speed  # noqa: FBT003


def _iperf3(pair: Pair, _: Mapping[str, HostPorts]) -> float:
    listen = f"iperf3 --server --one-off --daemon --idle-timeout 30 --bind {pair.target.address} --port {_IPERF_PORT}"
    send = (
        f"sleep 1; exec iperf3 --client {pair.target.address} --bind {pair.source.address} --port {_IPERF_PORT} "
        f"--time {_SECONDS} --parallel 4 --json"
    )
    output = _between(pair, listen, send)
    try:
        return float(answers.plain(output)["end"]["sum_received"]["bits_per_second"]) / 1e9
    except (ValueError, LookupError, TypeError):
        raise _unexpected(shown(output)[:80]) from None


def _ib_write_bw(pair: Pair, read: Mapping[str, HostPorts]) -> float:
    options = [_rdma(end, read) for end in pair]
    if None in options:
        raise HostFailure("a link has no RDMA device with a GID of its address")
    common = f"--report_gbits --duration {_SECONDS} --port {_RDMA_PORT}"
    listen = f"setsid timeout 30 ib_write_bw {options[1]} {common} >/dev/null 2>&1 </dev/null &"
    output = _between(pair, listen, f"sleep 1; exec ib_write_bw {options[0]} {common} {pair.target.address}")
    rows = _ROW.findall(output)
    if not rows:
        raise _unexpected(shown(output)[:80])
    return float(rows[-1])


def _rdma(end: End, read: Mapping[str, HostPorts]) -> str | None:
    """Return the options that name the RDMA device of an end and its GID."""
    port = read[end.host.name].interfaces.get(end.link.interface)
    index = None if port is None else gid_index(port, end.link.address)
    return None if port is None or port.hca is None or index is None else f"--ib-dev {port.hca} --gid-index {index}"


def _all_reduce(pair: Pair, _: Mapping[str, HostPorts]) -> float:
    """Run NCCL's all-reduce on both hosts; the first one must reach the second one over ssh, as mpirun requires."""
    parts = [
        f"-np 1 -H {end.address} -x NCCL_SOCKET_IFNAME={end.link.interface}"
        f"{f' -x NCCL_IB_HCA={end.link.hca}' if end.link.hca else ''} all_reduce_perf -b 64M -e 512M -f 2 -g 1"
        for end in pair
    ]
    output = _command(pair.source, f"exec mpirun {' : '.join(parts)}")
    found = _BUS.search(output)
    if found is None:
        raise _unexpected(shown(output)[-80:])
    return float(found[1]) * _BITS


def _unexpected(output: str) -> HostFailure:
    return HostFailure(f"unexpected output: {output!r}")


def _between(pair: Pair, listen: str, send: str) -> str:
    """Start a server on the target, which ends by itself, and a client on the source; return the client's output."""
    _command(pair.target, listen)
    return _command(pair.source, send)


def _command(end: End, script: str) -> str:
    """Return the output of a script. Raises HostFailure."""
    done = _run(end, ("sh", "-c", script))
    if done.returncode:
        evidence = shown(programs.last_line(done.stderr or done.stdout, f"exit status {done.returncode}"))
        raise HostFailure(f"{end.host.name}: {evidence}")
    return done.stdout


def _run(end: End, words: tuple[str, ...]) -> programs.Completed:
    return run(endpoint(end.host), words, "", timeout_s=_TIMEOUT_S)


def verify(plan: Plan, read: Mapping[str, HostPorts], *, speed: bool) -> tuple[list[LinkCheck], list[MeasuredSpeed]]:
    """Check the hosts that were read; one pair after the other, because a second one would slow the first one."""
    steps = [step for host in plan.hosts if host.name in read for step in checks.of_host(host, read[host.name])]
    steps += checks.of_groups(plan, read)
    found: list[MeasuredSpeed] = []
    for pair in pairs(plan):
        if not {pair.source.host.name, pair.target.host.name} <= read.keys():
            continue
        reached = ping(pair, _mtu(pair.source, read))
        steps.append(reached)
        if speed and reached.passed:
            for step, measured in speeds(pair, read):
                steps.append(step)
                found += [measured] if measured else []
    return steps, found


def _mtu(end: End, read: Mapping[str, HostPorts]) -> int | None:
    """Return the stated MTU of a link, otherwise that of the interface."""
    port = read[end.host.name].interfaces.get(end.link.interface)
    return end.link.mtu or (port.mtu if port else None)
