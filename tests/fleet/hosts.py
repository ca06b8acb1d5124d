"""Stand-in hosts for `sparkiac status`: what ssh prints for each address is in files of a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sparkiac.report.artifact import hashes_file

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GIB: Final = 1 << 30
GENERATION: Final = "0123456789abcdef"
SSH: Final = """\
#!/bin/sh
# Stand-in for ssh: takes exactly the words that sparkiac passes, and prints what $STUB has for the address.
usage() { echo "stand-in for ssh: unexpected arguments: $*" >&2; exit 64; }
[ "$1 $2 $3 $4" = "-o BatchMode=yes -o ConnectTimeout=10" ] || usage "$@"
shift 4
port=22
if [ "$1" = -p ]; then port=$2; shift 2; fi
[ $# = 3 ] && [ "$1" = -- ] || usage "$@"
case $3 in "sh -c '"*"/usr/local/lib/sparkiac/status"*"vllm:num_requests_running"*) ;; *) usage "$@" ;; esac
echo "$port $2" >>"$STUB/asked"
answer=$STUB/${2##*@}
[ -e "$answer.sh" ] && . "$answer.sh"
now=$(date +%s.%N)
exec sed "s/\\"NOW\\"/$now/g" "$answer"
"""


def unit(name: str, **values: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the facts about a unit that is ready."""
    found = {"name": f"sparkiac-{name}", "group": False, "loaded": "loaded", "active": "active", "sub": "running"}
    found |= {"enabled": "enabled", "result": "success", "health": "healthy", "restarts": 0, "active_for_s": 90_000}
    found |= {"restart": {"ago_s": 180_000, "cause": "first start", "detail": None}, "asked": True, "fault": None}
    return found | {"served": ["example/model"], "readings": readings(), **values}


def readings(running: float = 2, tokens: float = 41.3) -> list[dict[str, Any]]:
    """Return two readings of vLLM's metrics, a second apart."""
    found = {"num_requests_running": [running], "num_requests_waiting": [0], "kv_cache_usage_perc": [0.12]}
    pages = [(at_s, {**found, "generation_tokens_total": [1000 + at_s * tokens]}) for at_s in (5.0, 6.0)]
    return [{"at_s": at_s, "values": {f"vllm:{key}": value for key, value in page.items()}} for at_s, page in pages]


def host(*units: dict[str, Any], **values: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the facts about a host that is healthy and as generated."""
    memory = {"total_bytes": 119 * GIB, "available_bytes": 61 * GIB, "page_cache_bytes": 30 * GIB}
    machine = {"driver": "580.142", "driver_fault": None, "firmware": "5.36_0ACUM018", "memory": memory, "uptime_s": 9}
    found = {"machine": machine, "drift": {"files": [], "sysctls": [], "units": []}, "units": list(units)}
    found["generation"] = {"current": GENERATION, "committed": GENERATION, "previous": None, "pending": None}
    return found | {"root": True, "unread": {}, "clock": {"begin_s": "NOW", "end_s": "NOW"}} | values


class Fleet:
    """Hosts by their addresses; the first one has the deployment `chat`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the stand-in for ssh on the path."""
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin/ssh").write_text(SSH)
        (folder / "bin/ssh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
        monkeypatch.setenv("STUB", str(folder))

    def answers(self, address: str, facts: dict[str, Any] | str) -> None:
        """Let the host at an address print these facts, or this text."""
        (self.folder / address).write_text(facts if isinstance(facts, str) else json.dumps(facts) + "\n")

    def runs(self, address: str, script: str) -> None:
        """Let the stand-in run this script for an address first."""
        (self.folder / f"{address}.sh").write_text(script + "\n")

    def fails(self, address: str, errors: str, *, code: int = 255) -> None:
        """Let ssh fail for an address."""
        (self.folder / f"{address}.err").write_text(errors)
        self.runs(address, f'cat "$answer.err" >&2; exit {code}')

    def asked(self) -> list[str]:
        """Return port and target of each call, sorted."""
        return sorted((self.folder / "asked").read_text().splitlines())


def generate(folder: Path, **generations: str) -> None:
    """Write what `status` reads of a generated directory: host → generation."""
    for name, generation in generations.items():
        path = folder / "generated/lab" / hashes_file(name.replace("_", "-"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'sparkiac_hashes:\n  generation: "{generation}"\n')
