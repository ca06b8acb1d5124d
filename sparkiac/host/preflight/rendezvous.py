"""Let only the other nodes of a group connect to the ports that a node opens for them without a password."""

from __future__ import annotations

from typing import Any

from ..network.peers import commands
from .host import CheckResult, LocalHost

RULES = "/run/sparkiac/store.nft"
HINT = "install nftables; without it, every host that reaches this one can connect"


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
