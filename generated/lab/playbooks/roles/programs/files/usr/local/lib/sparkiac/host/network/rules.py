"""The commands of nft that write our tables, from what is closed, drained, and open for some addresses only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from ..generation import Clients, mac_address

TABLE, BRIDGES = "inet sparkiac", "bridge sparkiac"
SYN = "tcp flags & (fin | syn | rst | ack) == syn"
SETS = {
    "places4": ("ipv4_addr . inet_service", "ip daddr . tcp dport"),
    "places6": ("ipv6_addr . inet_service", "ip6 daddr . tcp dport"),
    "ports": ("inet_service", "fib daddr type local tcp dport"),
}
"""Set → its type, and what it matches. `ports` has the ports of units that listen on all addresses."""
HOOKS = {"arriving": ("prerouting", 'iifname != "lo"'), "leaving": ("output", "meta skuid != 0")}
FAMILIES = {4: "ip", 6: "ip6"}
FORMER_DRAIN, FORMER_PEERS = "inet sparkiac_drain", "inet sparkiac_store_"
"""Tables of former versions; the second is the beginning of a name."""
REFUSALS = ("reject with tcp reset", "drop")
"""What happens to a packet in a bridge. Some kernels cannot answer it there."""
ANSWERS = (
    "meta l4proto tcp",
    "ether type arp",
    "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report }",
)
"""What a container sends that may not connect to anything, apart from the first packet of a connection."""
EVERY = "0.0.0.0"  # noqa: S104


class ControlGroup(NamedTuple):
    """The control group of a program of the host, below the mount of all control groups."""

    path: str
    number: int
    """Inode of its directory: another one after each start."""
    level: int
    """How many groups its path has."""


class PeerPorts(NamedTuple):
    """Ports that only some addresses may connect to."""

    ports: list[str]
    """Port numbers, and ranges such as 29510-29599."""
    peers: list[str]


def commands(
    refused: Mapping[str, list[str]],
    peers: Mapping[str, PeerPorts],
    clients: Mapping[str, Clients],
    of_programs: list[str],
) -> list[str]:
    """Return the commands that write the first table and remove former ones; `refused` is set → address:port."""
    former = [FORMER_DRAIN, *(f"{FORMER_PEERS}{owner.replace('-', '_')}" for owner in peers)]
    found = [f"{verb} table {table}" for table in (TABLE, BRIDGES, *former) for verb in ("add", "delete")]
    if not any((*refused.values(), peers, clients, of_programs)):
        return found
    found.append(f"add table {TABLE}")
    found += [f"add set {TABLE} {name}_{kind} {{ type {SETS[kind][0]}; }}" for name in refused for kind in SETS]
    found += [
        f"add element {TABLE} {name}_{element(listen)}" for name, listens in refused.items() for listen in listens
    ]
    for chain, (hook, where) in HOOKS.items():
        found.append(f"add chain {TABLE} {chain} {{ type filter hook {hook} priority -300; policy accept; }}")
        found += [
            f"add rule {TABLE} {chain} {where} {match} @{name}_{kind} {SYN} reject with tcp reset"
            for name in refused
            for kind, (_, match) in SETS.items()
        ]
    for number, (listen, listed) in enumerate(sorted(clients.items())):
        found += from_clients(number, listen, listed)
    return [*found, *of_programs, *between_hosts(peers.values())]


def from_programs(programs: Mapping[str, ControlGroup], egress: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Return the commands for programs of the host that may connect to some networks only: answers go everywhere."""
    for unit, group in sorted(programs.items()):
        rule = f'add rule {TABLE} leaving {HOOKS["leaving"][1]} socket cgroupv2 level {group.level} "{group.path}"'
        yield from (f"{rule} {FAMILIES[ip_network(each).version]} daddr {each} accept" for each in egress[unit])
        yield f"{rule} {SYN} reject with tcp reset"
        yield f"{rule} meta l4proto != tcp reject"


def from_clients(number: int, listen: str, clients: Clients) -> Iterator[str]:
    """Return the commands for a port that is open for its clients only, after the rules about what is closed."""
    address, port = split(listen)
    parsed = ip_address(address)
    everywhere = parsed.is_unspecified
    place = (
        f"fib daddr type local tcp dport {port}"
        if everywhere
        else f"{FAMILIES[parsed.version]} daddr {parsed} tcp dport {port}"
    )
    rule = f'add rule {TABLE} arriving iifname != "lo" {place}'
    for unit in clients.units:
        yield f'{rule} meta iifkind "bridge" ether saddr {mac_address(unit)} accept'
    for version, family in FAMILIES.items():
        if everywhere or version == parsed.version:
            name = f"clients{version}_{port}_{number}"
            yield f"add set {TABLE} {name} {{ type ipv{version}_addr; flags interval; auto-merge; }}"
            known = [each for each in clients.networks if ip_network(each).version == version]
            yield from (f"add element {TABLE} {name} {{ {each} }}" for each in known)
            yield f"{rule} {family} saddr != @{name} {SYN} reject with tcp reset"


def between_hosts(wanted: Iterable[PeerPorts]) -> Iterator[str]:
    """Return the commands for ports that are open for peers only."""
    chain = f"{TABLE} peers"
    yield f"add chain {chain} {{ type filter hook input priority -10; policy accept; }}"
    yield f'add rule {chain} iifname "lo" accept'
    ports = [(f"tcp dport {{ {', '.join(each.ports)} }}", each.peers) for each in wanted]
    for port, peers in ports:
        sources = [f"{FAMILIES[ip_address(peer).version]} saddr {peer}" for peer in peers]
        yield from (f"add rule {chain} {port} {source} accept" for source in sources)
    yield from (f"add rule {chain} {port} {SYN} drop" for port, _ in ports)


def of_bridges(refused: list[str], egress: Mapping[str, Iterable[str]], refusal: str) -> Iterator[str]:
    """Return the commands of the second table: units to whom, and units from whom no connection is accepted."""
    if not (refused or egress):
        return
    yield f"add table {BRIDGES}"
    yield f"add chain {BRIDGES} arriving {{ type filter hook prerouting priority -300; policy accept; }}"
    for name, units in (("refused", refused), ("confined", [*egress])):
        yield f"add set {BRIDGES} {name} {{ type ether_addr; }}"
        yield from (f"add element {BRIDGES} {name} {{ {mac_address(unit)} }}" for unit in units)
    yield f"add rule {BRIDGES} arriving ether daddr @refused {SYN} {refusal}"
    for unit, networks in sorted(egress.items()):
        for network in networks:
            place = f"{FAMILIES[ip_network(network).version]} daddr {network}"
            yield f"add rule {BRIDGES} arriving ether saddr {mac_address(unit)} {place} accept"
    rule = f"add rule {BRIDGES} arriving ether saddr @confined"
    yield f"{rule} {SYN} {refusal}"
    yield from (f"{rule} {answer} accept" for answer in ANSWERS)
    yield f"{rule} drop"


def element(listen: str) -> str:
    """Return the set and the element of address:port."""
    address, port = split(listen)
    parsed = ip_address(address)
    return f"ports {{ {port} }}" if parsed.is_unspecified else f"places{parsed.version} {{ {parsed} . {port} }}"


def split(listen: str) -> tuple[str, int]:
    """Return address and port; a name counts as all addresses."""
    address, _, port = listen.rpartition(":")
    try:
        return str(ip_address(address.strip("[]"))), int(port)
    except ValueError:
        return EVERY, int(port)
