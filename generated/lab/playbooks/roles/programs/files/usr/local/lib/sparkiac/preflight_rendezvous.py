"""Let only the other nodes of a group connect to the ports that a node opens for them without a password."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from preflight_host import CheckResult

if TYPE_CHECKING:
    from preflight_host import LocalHost

PREFIX = "sparkiac_store_"
"""Beginning of the names of the tables, which uninstall removes."""
RULES = "/run/sparkiac/store.nft"
FAMILIES = {4: "ip", 6: "ip6"}
HINT = "install nftables; without it, every host that reaches this one can connect"
EXPECTED = {"ports": [str], "peers": [str]}


def restrict(unit: str, wanted: dict[str, Any], host: LocalHost) -> CheckResult:
    """Replace the table of a unit. The start goes on without it, because nftables may be missing."""
    port, peers = f"port {', '.join(wanted['ports'])}", ", ".join(wanted["peers"])
    path = host.path(RULES)
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text("\n".join(commands(unit, wanted)) + "\n", encoding="ascii")
    try:
        host.run("nft", "--file", str(path))
    except (OSError, RuntimeError) as error:
        return CheckResult("warn", port, f"open: {error}", f"open for {peers} only", HINT)
    return CheckResult("ok", port, f"open for {peers} only", f"open for {peers} only")


def commands(unit: str, wanted: dict[str, Any]) -> list[str]:
    """Return the commands of nft, which are executed as one transaction."""
    table = f"inet {PREFIX}{unit.replace('-', '_')}"
    port = f"tcp dport {{ {', '.join(wanted['ports'])} }}"
    accepted = [f"{FAMILIES[ip_address(peer).version]} saddr {peer}" for peer in wanted["peers"]]
    return [
        f"add table {table}",
        f"delete table {table}",
        f"add table {table}",
        f"add chain {table} arriving {{ type filter hook input priority -10; }}",
        *(f"add rule {table} arriving {port} {each} accept" for each in ['iifname "lo"', *accepted]),
        f"add rule {table} arriving {port} drop",
    ]
